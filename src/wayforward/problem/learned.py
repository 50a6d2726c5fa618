"""Models of a problem's people, trained once and shared by every method that asks: generative ones and densities."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from wayforward.density.base import Densities
from wayforward.density.base import Kind as DensityKind
from wayforward.density.fitting import fit_density
from wayforward.density.generative import Generator, Kind, train_generator
from wayforward.density.generative.adversary import Form
from wayforward.density.grouping import present_groups, resolve_groups
from wayforward.devices import device_of
from wayforward.errors import MethodError, is_one_of
from wayforward.shapes import People

if TYPE_CHECKING:
    from wayforward.groups import Groups
    from wayforward.problem.problem import Problem


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
    device: see `device_of`; None: the CPU.
    Example: ``fit_generator("chvae", problem).report.bounds``.
    Raises: MethodError for an unknown kind or fewer than 10 rows; ProblemError without rows; MissingExtra; DeviceError.
    """
    if not is_one_of(kind, get_args(Kind)):
        raise MethodError(
            f"There is no generative model of kind {kind!r}. Choose one of {', '.join(get_args(Kind))}."
        )
    where = str(device_of(device))
    from wayforward.density.generative.training import Settings

    schema = problem.schema
    own = rows is None
    data: People = problem.require_reference() if rows is None else np.asarray(rows, dtype=np.float64)
    if len(data) < 10:
        raise MethodError(
            f"A generative model cannot be learnt from {len(data)} rows. Give the problem a larger table."
        )
    if given is None:
        given = problem.never_moves
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
    given_labels = None if labels is None else np.asarray(labels, dtype=np.int64 if kind == "ibr" else bool)
    if kind == "ibr":
        if given_labels is None:
            raise MethodError("A model of kind 'ibr' needs labels: the group of each row, -1 for none.")
        data, given_labels, own = data[given_labels >= 0], given_labels[given_labels >= 0], False
        settings = replace(settings, weight=weight, form=form, classes=int(given_labels.max(initial=0)) + 1)
    key = (
        kind,
        None if own else _digest(data),
        None if given_labels is None else _digest(given_labels),
        given.tobytes(),
        hidden_from.tobytes(),
        settings,
        where,
    )

    def train() -> Generator:
        decided = given_labels
        if kind == "csvae" and given_labels is None:
            decided = problem.reference_reached if own else problem.reached(data)[0]
        return train_generator(
            kind,
            schema,
            data,
            settings=settings,
            given=given,
            hidden=hidden_from,
            labels=decided,
            device=where,
        )

    return problem.shared(("generator", *key), train)


def problem_density(
    problem: Problem, groups: Groups | str | None, kind: DensityKind = "mixture",
    *, device: str | None = None, **options: Any,
) -> Densities:  # fmt: skip
    """Densities of a problem's accepted reference people, fitted once: the same call later returns the same ones.

    x'_I are the features that no act can move in the problem's world. Raises: as `resolve_groups` and `fit_density`.
    """
    if kind in ("mixture", "flow"):
        options["device"] = str(device_of(device))
    reference = problem.require_reference()
    found = present_groups(resolve_groups(groups, problem.schema, reference))
    accepted = problem.reference_reached

    def fit() -> Densities:
        some = np.flatnonzero(accepted & (found.member >= 0))
        return fit_density(
            kind, problem.schema, reference[some], found.take(some), given=problem.never_moves, **options
        )

    key = ("density", kind, found.name, found.names, _digest(found.member), tuple(sorted(options.items())))
    return problem.shared(key, fit)


def _digest(array: np.ndarray) -> str:
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=16).hexdigest()
