"""Files of amortised networks: numbers as safetensors, everything else as JSON in the header. Nothing is executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayforward.errors import FileFormatError, MethodError
from wayforward.methods.engines.amortised.report import Report, plain_checks, read_checks
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


def save(path: str | Path, engine: Amortised, report: Report, header: Mapping[str, Any]) -> Path:
    """Write the networks that answer."""
    _, mask, action = engine.answering
    tensors = numbered("mask", mask.parameters) | numbered("action", action.parameters)
    head = {**header, "ground": engine.torch_world.stored(), "report": report.to_dict()}
    return write_networks(path, tensors, "networks", head)


def load(path: str | Path, method: str) -> tuple[dict[str, Any], list[Any]]:
    """Read a file's header and the tensors of the networks. Raises: FileFormatError, MethodError."""
    header, tensors = read_networks(path, "networks")
    if header.get("method") != method:
        raise MethodError(
            f"'{Path(path).name}' holds a '{header.get('method')}', not a '{method}'. Load it as such."
        )
    try:
        for name in ("features", "settings", "ground", "report"):
            header[name]
        header["settings"] = unplain(header["settings"])
        state = [*in_order(tensors, "mask"), *in_order(tensors, "action")]
    except (KeyError, TypeError, ValueError) as error:
        raise broken_networks(path, error) from error
    return header, state


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
    header: Mapping[str, Any],
    checks: Sequence[Any],
    states: Sequence[Any],
    spent: float,
) -> None:
    """Write everything that training needs to go on."""
    tensors = numbered("now", engine.state())
    tensors["first"], tensors["second"] = engine.optimiser.first.cpu(), engine.optimiser.second.cpu()
    for c, state in enumerate(states):
        tensors |= numbered(f"kept{c}", state)
    tensors["multiplier"] = engine.multiplier.cpu().clone()
    head = {
        "told": plain(header),
        "epoch": engine.epoch,
        "steps": engine.optimiser.steps,
        "checks": plain_checks(checks),
        "kept": len(states),
        "spent": spent,
    }
    write_networks(path, tensors, "training", head)


def resume(
    path: Path, engine: Amortised, header: Mapping[str, Any]
) -> tuple[list[Any], list[list[Any]], float]:
    """Put the engine's state back; return the checks, the states at the checks, and the seconds spent.

    Raises: FileFormatError for a broken file, MethodError for the training of something else.
    """
    head, tensors = read_networks(path, "training")
    then, now = head.get("told", {}), plain(header)
    require_same(path, then, now, tuple(now))
    try:
        split = len(engine.mask.parameters)
        state = in_order(tensors, "now")
        engine.mask.put(state[:split])
        engine.action.put(state[split:])
        engine.optimiser.first.copy_(tensors["first"])
        engine.optimiser.second.copy_(tensors["second"])
        engine.optimiser.steps = int(head["steps"])
        engine.multiplier = tensors["multiplier"].to(engine.device)
        engine.epoch = int(head["epoch"])
        states = [in_order(tensors, f"kept{c}") for c in range(int(head["kept"]))]
        return read_checks(head["checks"]), states, float(head["spent"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise broken_networks(path, error) from error
