"""Generative models of people, trained once on a problem's reference rows and shared by the methods that search them.

kinds: 'vae' generates everything; 'cvae' is told the features that never change; 'chvae' has a prior p(z | given)
besides; 'csvae' splits the latent space into z, which says nothing about the label, and w, which does; 'ibr' has a z
that says as little as can be about people's groups.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from wayforward.density.generative.adversary import Form
from wayforward.density.generative.coding import Coding, Decoded
from wayforward.density.generative.generator import (
    Generator,
    GroupBlind,
    Identity,
    Split,
    TrainingReport,
)
from wayforward.errors import MethodError, require
from wayforward.shapes import People

if TYPE_CHECKING:
    from wayforward.problem import Problem
    from wayforward.schema import Schema

Kind = Literal["vae", "cvae", "chvae", "csvae", "ibr"]


def never_moves(problem: Problem) -> np.ndarray:
    """(d,) bool: features that no act changes, neither directly nor as a consequence."""
    actionable = problem.schema.actionable
    moved = (actionable.astype(np.int64) @ problem.descendants.astype(np.int64)) > 0
    return np.asarray(~actionable & ~moved)


def fit_generator(
    kind: Kind,
    problem: Problem,
    rows: People | None = None,
    *,
    labels: np.ndarray | None = None,
    given: np.ndarray | None = None,
    hide: np.ndarray | None = None,
    weight: float = 10.0,
    form: Form = "loglik",
    latent: int | None = None,
    hidden: tuple[int, ...] = (64, 64),
    epochs: int = 40,
    seed: int = 0,
    device: str | None = None,
) -> Generator:
    """A generative model of a problem's people, trained once: the same call later returns the same model.

    rows (N, d): people to learn from; left out, the problem's reference. labels (N,) bool for 'csvae': left out, what
    the model decides about them; for 'ibr' groups (N,) int, -1 for people who belong to none and are left out. given
    (d,) bool: features that condition and are not generated; left out, none for 'vae' and what no act can change for
    the others. hide (d,) bool: neither generated nor shown. weight, form: of the adversary of 'ibr'. latent: dimensions
    of z; left out, 8 or the number of features. hidden: widths of the encoder's layers, reversed in the decoder.
    device: 'cpu', 'cuda'; None: the CPU.
    Example: ``fit_generator("chvae", problem).report.bounds``.
    Raises: MethodError for an unknown kind or fewer than 10 rows; ProblemError without rows; MissingExtra.
    """
    if kind not in get_args(Kind):
        raise MethodError(
            f"There is no generative model of kind {kind!r}. Choose one of {', '.join(get_args(Kind))}."
        )
    require("torch", extra="torch")
    from wayforward.density.generative.training import Settings, networks, train

    schema = problem.schema
    own = rows is None
    data: People = problem._needs_reference() if rows is None else np.asarray(rows, dtype=np.float64)
    if len(data) < 10:
        raise MethodError(
            f"A generative model cannot be learnt from {len(data)} rows. Give the problem a larger table."
        )
    if given is None:
        given = never_moves(problem)
        if kind == "vae" or given.all():  # where nothing ever moves there is still a model of people
            given = np.zeros(schema.d, dtype=bool)
    hidden_from = np.zeros(schema.d, dtype=bool) if hide is None else np.asarray(hide, dtype=bool)
    given = np.asarray(given, dtype=bool) & ~hidden_from
    if (given | hidden_from).all():
        raise MethodError("Every feature is given, so there is nothing to generate. Free at least one.")
    settings = Settings(
        latent=min(8, int((~given & ~hidden_from).sum())) if latent is None else latent,
        hidden=tuple(hidden),
        epochs=epochs,
        seed=seed,
    )
    if settings.latent < 1 or epochs < 1 or min(settings.hidden, default=1) < 1:
        raise MethodError(
            f"A generative model with latent={latent}, hidden={hidden}, epochs={epochs} has nothing to learn. "
            "Use 1 or more everywhere."
        )
    told = None if labels is None else np.asarray(labels, dtype=np.int64 if kind == "ibr" else bool)
    if kind == "ibr":
        if told is None:
            raise MethodError("A model of kind 'ibr' needs labels: the group of each row, -1 for none.")
        data, told, own = data[told >= 0], told[told >= 0], False
        settings = replace(settings, weight=weight, form=form, classes=int(told.max(initial=0)) + 1)
    key = (
        kind,
        None if own else _digest(data),
        None if told is None else _digest(told),
        given.tobytes(),
        hidden_from.tobytes(),
        settings,
        device,
    )
    kept: dict[Any, Generator] = problem.__dict__.setdefault("_generators", {})
    if key not in kept:
        coding = Coding(schema, given, hidden_from, Coding.scales_of(schema, data))
        model: Generator
        if kind == "csvae":
            told = problem.reference_reached if own and told is None else told
            told = problem.reached(data)[0] if told is None else told
            model = Split(coding, settings.latent, device=device or "cpu")
        elif kind == "ibr":
            model = GroupBlind(coding, settings.latent, device=device or "cpu")
        else:
            model = Generator(coding, settings.latent, device=device or "cpu")
            model.kind = kind
        networks(model, settings)
        train(model, data, settings, told)
        kept[key] = model
    return kept[key]


def save_generator(path: str | Path, model: Generator) -> Path:
    """Write a trained model as safetensors. Raises: MethodError for an `Identity`, which has nothing to keep."""
    from wayforward.density.generative import files

    return files.save_generator(path, model)


def load_generator(path: str | Path, schema: Schema) -> Generator:
    """A model from a file, for the schema that it was trained for; nothing in the file is executed.

    Raises: FileFormatError for a file that is missing or broken, MethodError for another schema.
    """
    from wayforward.density.generative import files

    return files.load_generator(path, schema)


def _digest(array: np.ndarray) -> str:
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=16).hexdigest()


__all__ = [
    "Coding",
    "Decoded",
    "Generator",
    "GroupBlind",
    "Identity",
    "Kind",
    "Split",
    "TrainingReport",
    "fit_generator",
    "load_generator",
    "never_moves",
    "save_generator",
]
