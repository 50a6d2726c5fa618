"""Generative models of people, for the methods that search them; `fit_generator` of `problem` trains a problem's own.

kinds: 'vae' generates everything; 'cvae' conditions on the features that never change; 'chvae' has a prior p(z | given)
besides; 'csvae' splits the latent space into z, which says nothing about the label, and w, which does; 'ibr' has a z
that says as little as can be about people's groups.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from wayforward.density.generative.adversary import Form
from wayforward.density.generative.coding import Coding, Decoded
from wayforward.density.generative.files import load_generator, save_generator
from wayforward.density.generative.generator import (
    Generator,
    GroupBlind,
    Identity,
    Split,
    TrainingReport,
)
from wayforward.density.generative.training import Settings, networks, train
from wayforward.devices import device_of
from wayforward.schema import Schema
from wayforward.shapes import FeatureMask, People

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
    Raises: DeviceError.
    """
    coding = Coding(schema, given, hidden, Coding.scales_of(schema, rows))
    make: type[Generator] = {"csvae": Split, "ibr": GroupBlind}.get(kind, Generator)
    model = make(coding, settings.latent, device=device_of(device))
    if make is Generator:
        model.kind = kind
    networks(model, settings)
    train(model, rows, settings, labels)
    return model


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
