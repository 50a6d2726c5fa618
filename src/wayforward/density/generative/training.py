"""Train a generative model: warm-up of the KL term, a held-out bound every epoch, the best networks used."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wayforward.density.generative.adversary import Adversary, Form
from wayforward.density.generative.generator import (
    Generator,
    GroupBlind,
    Split,
    TrainingReport,
    whole,
)
from wayforward.density.nets import Adam, Stack
from wayforward.errors import require

if TYPE_CHECKING:
    from wayforward.shapes import People

_HELD = 2000  # rows held out at most


@dataclass(frozen=True)
class Settings:
    """Of one training. warm: share of the epochs in which the KL term grows to its full weight. patience: epochs
    without a better held-out bound (after the warm-up) that end it. most_rows: rows learnt from, drawn once.
    weight, form, classes: of the adversary, where there is one."""

    latent: int
    hidden: tuple[int, ...]
    epochs: int
    batch: int = 256
    rate: float = 2e-3
    warm: float = 0.3
    patience: int = 6
    most_rows: int = 12_000
    weight: float = 10.0
    form: Form = "entropy"
    classes: int = 2
    seed: int = 0


def train(model: Generator, rows: People, settings: Settings, label: np.ndarray | None = None) -> None:
    """Fit the networks of a model in place and write its report.

    rows (N, d); label (N,) of whole numbers where the kind needs it. Deterministic given the settings, on one machine.
    """
    torch, started = require("torch", extra="torch"), time.perf_counter()
    rng = np.random.default_rng([settings.seed, 0x6E6])
    order = rng.permutation(len(rows))
    held = order[: max(1, min(_HELD, len(rows) // 5))]
    learn = order[len(held) :][: settings.most_rows] if len(rows) > 1 else order
    coding, device = model.coding, model.device
    model.extra = coding.parameters(rows[learn], device)
    code = [torch.as_tensor(coding.code(rows[part]), device=device) for part in (learn, held)]
    targets = [coding.targets(rows[part], device) for part in (learn, held)]
    tags = [
        None if label is None else torch.as_tensor(np.asarray(label, np.int64)[part], device=device)
        for part in (learn, held)
    ]
    noise = torch.Generator().manual_seed(settings.seed * 2 + 1)
    fixed = torch.randn((len(held), model.latent), generator=noise).to(device)
    parameters = [p for net in model.networks.values() for p in net.parameters] + model.learned()
    optimiser = Adam(parameters, settings.rate)
    warm = max(1, round(settings.warm * settings.epochs))
    bounds: list[float] = []
    best, state = -1, [p.detach().clone() for p in parameters]
    for epoch in range(settings.epochs):
        # The rate falls to a twentieth by the end: the last epochs settle instead of wandering.
        optimiser.rate = settings.rate * (0.05 + 0.475 * (1 + np.cos(np.pi * epoch / settings.epochs)))
        warmth = min(1.0, (epoch + 1) / warm)
        mixed = torch.as_tensor(rng.permutation(len(learn)), device=device)
        for part in mixed.split(settings.batch):
            eps = torch.randn((len(part), model.latent), generator=noise).to(device)
            some = tuple(t[part] for t in targets[0])
            tag = None if tags[0] is None else tags[0][part]
            bound, z = model.bound(code[0][part], some, eps, tag, warmth=warmth, price=model.price)
            optimiser.step(model.objective(bound, z, tag))
        with torch.no_grad():
            value, _ = model.bound(code[1], targets[1], fixed, tags[1])
        bounds.append(float(value.mean()))
        if epoch + 1 < warm:
            continue
        if best < 0 or bounds[-1] > bounds[best] or model.keeps == "last":
            best, state = epoch, [p.detach().clone() for p in parameters]
        elif epoch - best >= settings.patience:
            break
    with torch.no_grad():
        for parameter, value in zip(parameters, state, strict=True):
            parameter.copy_(value)
    for parameter in parameters:
        parameter.requires_grad_(False)
    model.report = TrainingReport(
        kind=model.kind,
        rows=len(learn),
        held_out=len(held),
        bounds=tuple(bounds),
        best=max(best, 0),
        baseline=coding.baseline(rows[learn], rows[held]),
        seconds=time.perf_counter() - started,
        settings={"latent": settings.latent, "hidden": list(settings.hidden), "epochs": settings.epochs,
                  "batch": settings.batch, "rate": settings.rate, "seed": settings.seed},
    )  # fmt: skip


def networks(model: Generator, settings: Settings) -> None:
    """Give a model fresh networks of the right widths, in whole tiles, on its device."""
    coding, seed, hidden = model.coding, settings.seed, list(settings.hidden)
    seen, known = len(coding.shown), len(coding.known)

    def stack(salt: int, *sizes: int) -> Stack:
        return Stack([seed], [whole(size) for size in sizes], salt=salt, device=model.device)

    model.decoder = stack(2, model.latent + known, *hidden[::-1], coding.n_out)
    if isinstance(model, Split):
        model.encoder = stack(1, seen, *hidden, 2 * model.n_z)
        model.encoder_w = stack(3, seen + 1, *hidden, 2 * model.n_w)
        model.adversary = Adversary(model.n_z, 2, weight=settings.weight, seed=seed, device=model.device)
        return
    blind = isinstance(model, GroupBlind)
    model.encoder = stack(1, len(coding.generated) if blind else seen, *hidden, 2 * model.latent)
    if blind:
        model.adversary = Adversary(
            model.latent, settings.classes, weight=settings.weight, form=settings.form, seed=seed,
            device=model.device,
        )  # fmt: skip
    if model.kind in ("chvae", "ibr") and known:
        model.prior = stack(4, known, 32, 2 * model.latent)
