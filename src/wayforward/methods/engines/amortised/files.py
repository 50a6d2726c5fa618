"""Files of amortised networks: numbers as safetensors, everything else as JSON in the header. Nothing is executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import FileFormatError, MethodError
from wayforward.tensor_files import (
    broken_networks,
    in_order,
    numbered,
    plain,
    read_networks,
    require_same,
    unplain,
    write_networks,
)

if TYPE_CHECKING:
    from wayforward.methods.engines.amortised.engine import Amortised
    from wayforward.methods.engines.amortised.report import Report


def save(path: str | Path, engine: Amortised, report: Report, told: Mapping[str, Any]) -> Path:
    """Write the networks that answer."""
    assert engine._answering is not None
    _, mask, action = engine._answering
    tensors = numbered("mask", mask.parameters) | numbered("action", action.parameters)
    head = {**told, "ground": engine.ground.stored(), "report": report.to_dict()}
    return write_networks(path, tensors, "networks", head)


def load(path: str | Path, method: str) -> tuple[dict[str, Any], list[Any]]:
    """What the file tells, and the tensors of the networks. Raises: FileFormatError, MethodError."""
    told, tensors = read_networks(path, "networks")
    if told.get("method") != method:
        raise MethodError(
            f"'{Path(path).name}' holds a '{told.get('method')}', not a '{method}'. Load it as such."
        )
    try:
        for name in ("features", "settings", "ground", "report"):
            told[name]
        told["settings"] = unplain(told["settings"])
        state = [*in_order(tensors, "mask"), *in_order(tensors, "action")]
    except (KeyError, TypeError, ValueError) as error:
        raise broken_networks(path, error) from error
    return told, state


def put(path: str | Path, engine: Amortised, state: Sequence[Any]) -> None:
    """Let these networks answer. Raises: FileFormatError where they do not fit the engine."""
    expected = [tuple(p.shape) for p in engine.state()]
    if [tuple(p.shape) for p in state] != expected:
        raise FileFormatError(
            f"'{Path(path).name}' holds networks of other sizes than it says. Save it again."
        )
    engine.choose(state, 0)


# -- checkpoints -------------------------------------------------------------------------------------------------


def pause(
    path: Path,
    engine: Amortised,
    told: Mapping[str, Any],
    checks: Sequence[Any],
    kept: Sequence[Any],
    spent: float,
) -> None:
    """Write everything that training needs to go on."""
    tensors = numbered("now", engine.state())
    tensors["first"], tensors["second"] = engine.optimiser.first, engine.optimiser.second
    for c, state in enumerate(kept):
        tensors |= numbered(f"kept{c}", state)
    tensors["multiplier"] = engine.multiplier.clone()
    rows = [[None if v != v else v for v in row] for row in checks]
    head = {
        "told": plain(told),
        "epoch": engine.epoch,
        "steps": engine.optimiser.steps,
        "checks": rows,
        "kept": len(kept),
        "spent": spent,
    }
    write_networks(path, tensors, "training", head)


def resume(
    path: Path, engine: Amortised, told: Mapping[str, Any]
) -> tuple[list[Any], list[list[Any]], float]:
    """Go on from `pause`: the engine's state is put back; checks, states at checks and seconds spent are returned.

    Raises: FileFormatError for a broken file, MethodError for the training of something else.
    """
    head, tensors = read_networks(path, "training")
    then, now = head.get("told", {}), plain(told)
    require_same(path, then, now, tuple(now))
    try:
        split = len(engine.mask.parameters)
        state = in_order(tensors, "now")
        engine.mask.put(state[:split])
        engine.action.put(state[split:])
        engine.optimiser.first.copy_(tensors["first"])
        engine.optimiser.second.copy_(tensors["second"])
        engine.optimiser.steps = int(head["steps"])
        engine.multiplier = tensors["multiplier"]
        engine.epoch = int(head["epoch"])
        kept = [in_order(tensors, f"kept{c}") for c in range(int(head["kept"]))]
        checks = [tuple(np.nan if v is None else float(v) for v in row) for row in head["checks"]]
        return checks, kept, float(head["spent"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise broken_networks(path, error) from error
