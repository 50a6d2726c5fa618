"""Generative models of people, for the methods that search them; `fit_generator` of `problem` trains a problem's own.

kinds: 'vae' generates everything; 'cvae' is told the features that never change; 'chvae' has a prior p(z | given)
besides; 'csvae' splits the latent space into z, which says nothing about the label, and w, which does; 'ibr' has a z
that says as little as can be about people's groups.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

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
from wayforward.shapes import FeatureMask, People

if TYPE_CHECKING:
    from wayforward.density.generative.training import Settings
    from wayforward.schema import Schema

Kind = Literal["vae", "cvae", "chvae", "csvae", "ibr"]


def train_generator(
    kind: Kind,
    schema: Schema,
    rows: People,
    *,
    settings: Settings,
    given: FeatureMask,
    hidden: FeatureMask,
    labels: np.ndarray | None = None,
    device: str | None = None,
) -> Generator:
    """Train a generative model of people and freeze it.

    rows (N, d): people to learn from. given (d,): features that condition and are not generated. hidden (d,): neither
    generated nor shown. labels (N,): bool for 'csvae', groups for 'ibr'. Everything random hangs on settings.seed.
    """
    from wayforward.density.generative.training import networks, train

    coding = Coding(schema, given, hidden, Coding.scales_of(schema, rows))
    make: type[Generator] = {"csvae": Split, "ibr": GroupBlind}.get(kind, Generator)
    model = make(coding, settings.latent, device=device or "cpu")
    if make is Generator:
        model.kind = kind
    networks(model, settings)
    train(model, rows, settings, labels)
    return model


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


__all__ = [
    "Coding",
    "Decoded",
    "Generator",
    "GroupBlind",
    "Identity",
    "Kind",
    "Split",
    "TrainingReport",
    "load_generator",
    "save_generator",
    "train_generator",
]
