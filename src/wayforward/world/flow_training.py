"""Fitting the layer of a causal flow: Adam, a rate that falls on plateaus, the best weights, a checkpoint.

An interrupted fit that goes on from its checkpoint gives the same weights as one that was never stopped: all
that a step depends on is stored, and the order of the rows in an epoch follows from the seed and the epoch.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.devices import device_of
from wayforward.errors import FileFormatError, WorldError, require
from wayforward.plain_files import as_path, make_folder
from wayforward.public import public
from wayforward.shapes import Floats, Rows
from wayforward.streams import generator
from wayforward.tensor_files import read, write
from wayforward.world.flow_plan import FlowPlan
from wayforward.world.flow_torch import layer, prepared

Progress = Callable[[int, int], None]
FACTOR, PATIENT = 0.95, 60  # the rate falls by this after so many epochs without a better held-out likelihood
_EVERY = 25  # epochs between two writings of the checkpoint


@public
@dataclass(frozen=True)
class FlowReport:
    """How a fit went. Likelihoods are means in nats a person, feature units.

    epochs: done; best: the one whose weights are the flow's. rate: the last learning rate. held_out: mean
    log-density of the held-out rows, with a 95% interval (low, high).
    """

    kind: str
    rows: int
    held_out_rows: int
    epochs: int
    best: int
    rate: float
    seconds: float
    train: float
    held_out: float
    interval: tuple[float, float]

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.kind} flow: {self.rows:,} rows, {self.epochs} epochs (best {self.best}), "
            f"{self.seconds:.1f} s; mean log-density {self.train:.3f} on them, "
            f"{self.held_out:.3f} ({low:.3f} to {high:.3f}) on {self.held_out_rows:,} held-out rows"
        )


@dataclass
class _State:
    """All that the next epoch depends on."""

    epoch: int
    weights: dict[str, Any]
    best: dict[str, Any]
    adam: dict[str, Any]
    numbers: dict[str, Any]  # scheduler, best likelihood and its epoch, epochs without a better one, seconds


def _clone(tensors: dict[str, Any]) -> dict[str, Any]:
    return {name: value.detach().clone() for name, value in tensors.items()}


class _Run:
    """One fit: the module, its optimiser, and how to store and restore both."""

    def __init__(self, plan: FlowPlan, seed: int, rate: float, device: Any) -> None:
        torch = require("torch", extra="torch")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.module = layer(plan).to(device)
        self.names = [name for name, _ in self.module.named_parameters()]
        self.optimiser = torch.optim.Adam(self.module.parameters(), lr=rate)
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
            self.optimiser, factor=FACTOR, patience=PATIENT
        )
        self.numbers: dict[str, Any] = {"best": float("inf"), "best_epoch": 0, "worse": 0, "seconds": 0.0}
        self.best = self.parameters()
        self.epoch = 0

    def parameters(self) -> dict[str, Any]:
        """Copy the weights that are trained."""
        return _clone(dict(self.module.named_parameters()))

    def state(self) -> _State:
        """A copy of everything."""
        adam = {}
        for name, parameter in self.module.named_parameters():
            for key, value in self.optimiser.state.get(parameter, {}).items():
                adam[f"{key}.{name}"] = value.detach().clone()
        plateau = {
            key: value
            for key, value in self.scheduler.state_dict().items()
            if key in ("best", "num_bad_epochs", "cooldown_counter", "last_epoch")
        }
        numbers = {**self.numbers, "plateau": plateau, "rate": self.optimiser.param_groups[0]["lr"]}
        return _State(self.epoch, self.parameters(), dict(self.best), adam, numbers)

    def restore(self, state: _State) -> None:
        """Go on from there."""
        torch = require("torch", extra="torch")
        with torch.no_grad():
            for name, parameter in self.module.named_parameters():
                parameter.copy_(state.weights[name])
                if f"step.{name}" in state.adam:
                    adam = {
                        key: state.adam[f"{key}.{name}"].to(parameter.device, copy=True)
                        for key in ("exp_avg", "exp_avg_sq")
                    }
                    step = state.adam[f"step.{name}"].clone()  # Adam counts on the CPU
                    self.optimiser.state[parameter] = adam | {"step": step}
        numbers = dict(state.numbers)
        self.scheduler.load_state_dict({**self.scheduler.state_dict(), **numbers.pop("plateau")})
        self.optimiser.param_groups[0]["lr"] = numbers.pop("rate")
        self.epoch, self.best, self.numbers = state.epoch, dict(state.best), numbers


def _fingerprint(plan: FlowPlan, x: np.ndarray, held: np.ndarray, settings: dict[str, Any]) -> str:
    """What a checkpoint belongs to: the plan, the rows and the settings that steps depend on."""
    digest = hashlib.sha256(json.dumps([plan.to_dict(), settings], sort_keys=True).encode())
    for part in (x, held):
        digest.update(np.ascontiguousarray(part, np.float64).tobytes())
    return digest.hexdigest()


def _write(path: Path, state: _State, fingerprint: str) -> None:
    groups = {"weights": state.weights, "best": state.best, "adam": state.adam}
    tensors = {
        f"{group}/{name}": value.cpu().contiguous()
        for group, parts in groups.items()
        for name, value in parts.items()
    }
    stored = {"epoch": state.epoch, "numbers": state.numbers, "fingerprint": fingerprint}
    make_folder(path.parent)
    write(path, tensors, {"flow checkpoint": stored}, framework="pt")


def _read(path: Path, fingerprint: str) -> _State:
    try:
        header, tensors = read(path, framework="pt")
        stored = header["flow checkpoint"]
        groups: dict[str, dict[str, Any]] = {"weights": {}, "best": {}, "adam": {}}
        for name, value in tensors.items():
            group, _, rest = name.partition("/")
            groups[group][rest] = value
        state = _State(
            int(stored["epoch"]), groups["weights"], groups["best"], groups["adam"], stored["numbers"]
        )
        belongs_to = stored["fingerprint"]
    except Exception as error:
        raise FileFormatError(
            f"'{path.name}' is no readable checkpoint of a causal flow ({error!s:.120}). Delete it to start again."
        ) from None
    if belongs_to != fingerprint:
        raise WorldError(
            f"The checkpoint '{path.name}' belongs to another fit: other rows, graph, schema or settings. Give "
            "another path, or delete it to start again."
        )
    return state


def train(
    plan: FlowPlan,
    x: Rows,
    held: Floats,
    *,
    epochs: int,
    batch: int,
    rate: float,
    patience: int,
    seed: int,
    device: str | None,
    checkpoint: str | os.PathLike[str] | None,
    progress: Progress | None,
) -> tuple[dict[str, np.ndarray], FlowReport]:
    """x (n, d), held (m, d) rows -> the weights with the best held-out likelihood, and the report."""
    torch = require("torch", extra="torch")
    where = device_of(device)
    run = _Run(plan, seed, rate, where)
    path = None if checkpoint is None else as_path(checkpoint)
    fingerprint = _fingerprint(plan, x, held, {"batch": batch, "rate": rate, "seed": seed})
    if path is not None and path.exists():
        run.restore(_read(path, fingerprint))
    rows, unseen_rows = prepared(plan, x, where), prepared(plan, held, where)
    n, before, start = len(x), run.numbers["seconds"], time.perf_counter()
    state = run.state()
    try:
        while run.epoch < epochs and run.numbers["worse"] < patience:
            order = torch.as_tensor(generator(seed, run.epoch).permutation(n), device=where)
            for part in order.split(batch):
                run.optimiser.zero_grad()
                loss = run.module({name: value[part] for name, value in rows.items()}).mean()
                loss.backward()
                run.optimiser.step()
            with torch.no_grad():
                now = float(run.module(unseen_rows).mean())
            if not np.isfinite(now):
                raise WorldError(
                    f"The fit of the causal flow went astray in epoch {run.epoch + 1} (held-out likelihood "
                    f"{now}). Use a lower rate than {rate:g}, or look for extreme values in the table."
                )
            run.scheduler.step(now)
            run.epoch += 1
            if now < run.numbers["best"]:
                run.numbers |= {"best": now, "best_epoch": run.epoch, "worse": 0}
                run.best = run.parameters()
            else:
                run.numbers["worse"] += 1
            run.numbers["seconds"] = before + time.perf_counter() - start
            state = run.state() if path is not None else state
            if path is not None and run.epoch % _EVERY == 0:
                _write(path, state, fingerprint)
            if progress is not None:
                progress(run.epoch, epochs)
    finally:  # also on Ctrl-C: the last whole epoch is kept
        if path is not None and state.epoch:
            _write(path, state, fingerprint)
    with torch.no_grad():
        for name, parameter in run.module.named_parameters():
            parameter.copy_(run.best[name])
        unseen, seen = (-run.module(part) for part in (unseen_rows, rows))
    mean, error = float(unseen.mean()), 1.96 * float(unseen.std()) / len(held) ** 0.5
    report = FlowReport(
        kind=plan.kind,
        rows=n,
        held_out_rows=len(held),
        epochs=run.epoch,
        best=run.numbers["best_epoch"],
        rate=run.optimiser.param_groups[0]["lr"],
        seconds=run.numbers["seconds"],
        train=float(seen.mean()),
        held_out=mean,
        interval=(mean - error, mean + error),
    )
    return run.module.weights(), report
