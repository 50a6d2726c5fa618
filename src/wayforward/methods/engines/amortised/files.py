"""Files of amortised networks: numbers as safetensors, everything else as JSON in the header. Nothing is executed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import FileFormatError, MethodError, require

if TYPE_CHECKING:
    from wayforward.methods.engines.amortised.engine import Amortised
    from wayforward.methods.engines.amortised.training import Report

_VERSION = 1
_MOST_BYTES = 1 << 30


def plain(value: Any) -> Any:
    """Plain data for JSON; infinities as text."""
    if is_dataclass(value) and not isinstance(value, type):
        return {key: plain(part) for key, part in asdict(value).items()}
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": repr(value)}
    return value


def unplain(value: Any) -> Any:
    """The reverse of `plain`."""
    if isinstance(value, Mapping):
        return float(value["float"]) if set(value) == {"float"} else {k: unplain(v) for k, v in value.items()}
    return [unplain(part) for part in value] if isinstance(value, list) else value


def save(path: str | Path, engine: Amortised, report: Report, told: Mapping[str, Any]) -> Path:
    """Write the networks that answer."""
    assert engine._answering is not None
    _, mask, action = engine._answering
    tensors = _named("mask", mask.parameters) | _named("action", action.parameters)
    head = {**told, "ground": engine.ground.stored(), "report": report.to_dict()}
    return _write(path, tensors, "networks", head)


def load(path: str | Path, method: str) -> tuple[dict[str, Any], list[Any]]:
    """What the file tells, and the tensors of the networks. Raises: FileFormatError, MethodError."""
    told, tensors = _read(path, "networks")
    if told.get("method") != method:
        raise MethodError(
            f"'{Path(path).name}' holds a '{told.get('method')}', not a '{method}'. Load it as such."
        )
    try:
        for name in ("features", "settings", "ground", "report"):
            told[name]
        told["settings"] = unplain(told["settings"])
        state = [*_listed(tensors, "mask"), *_listed(tensors, "action")]
    except (KeyError, TypeError, ValueError) as error:
        raise _broken(path, error) from error
    return told, state


def put(path: str | Path, engine: Amortised, state: Sequence[Any]) -> None:
    """Let these networks answer. Raises: FileFormatError where they do not fit the engine."""
    expected = [tuple(p.shape) for p in engine.state()]
    if [tuple(p.shape) for p in state] != expected:
        raise FileFormatError(
            f"'{Path(path).name}' holds networks of other sizes than it says. Save it again."
        )
    engine.choose(state, 0)


def same_question(
    path: str | Path, told: Mapping[str, Any], now: Mapping[str, Any], keys: Sequence[str]
) -> None:
    """Raise MethodError if a file was made for another schema, world or setting."""
    for key in keys:
        if told.get(key) != plain(now[key]):
            what = {"features": "another schema", "world": f"a world of another kind ({told.get(key)})"}.get(
                key, f"other settings ({key})"
            )
            raise MethodError(
                f"'{Path(path).name}' was trained for {what}. Use the problem that it was trained for, or train anew."
            )


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
    tensors = _named("now", engine.state())
    tensors["first"], tensors["second"] = engine.optimiser.first, engine.optimiser.second
    for c, state in enumerate(kept):
        tensors |= _named(f"kept{c}", state)
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
    _write(path, tensors, "training", head)


def resume(
    path: Path, engine: Amortised, told: Mapping[str, Any]
) -> tuple[list[Any], list[list[Any]], float]:
    """Go on from `pause`: the engine's state is put back; checks, states at checks and seconds spent are returned.

    Raises: FileFormatError for a broken file, MethodError for the training of something else.
    """
    head, tensors = _read(path, "training")
    then, now = head.get("told", {}), plain(told)
    same_question(path, then, now, tuple(now))
    try:
        split = len(engine.mask.parameters)
        state = _listed(tensors, "now")
        engine.mask.put(state[:split])
        engine.action.put(state[split:])
        engine.optimiser.first.copy_(tensors["first"])
        engine.optimiser.second.copy_(tensors["second"])
        engine.optimiser.steps = int(head["steps"])
        engine.multiplier = tensors["multiplier"]
        engine.epoch = int(head["epoch"])
        kept = [_listed(tensors, f"kept{c}") for c in range(int(head["kept"]))]
        checks = [tuple(np.nan if v is None else float(v) for v in row) for row in head["checks"]]
        return checks, kept, float(head["spent"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise _broken(path, error) from error


# -- one file ----------------------------------------------------------------------------------------------------


def _named(prefix: str, tensors: Sequence[Any]) -> dict[str, Any]:
    return {f"{prefix}.{i}": tensor.detach().contiguous() for i, tensor in enumerate(tensors)}


def _listed(tensors: Mapping[str, Any], prefix: str) -> list[Any]:
    count = sum(name.startswith(f"{prefix}.") for name in tensors)
    return [tensors[f"{prefix}.{i}"] for i in range(count)]


def _write(path: str | Path, tensors: dict[str, Any], kind: str, head: Mapping[str, Any]) -> Path:
    safetensors = require("safetensors.torch", extra="torch")
    file = Path(path)
    told = {"format": f"wayforward/amortised-{kind}", "version": _VERSION, **plain(head)}
    fresh = file.with_name(file.name + ".part")
    safetensors.save_file(tensors, fresh, metadata={"wayforward": json.dumps(told, allow_nan=False)})
    os.replace(fresh, file)
    return file


def _read(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    safetensors = require("safetensors", extra="torch")
    file = Path(path)
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise ValueError("it is larger than any of these")
        with safetensors.safe_open(os.fspath(file), framework="pt") as stream:
            told = json.loads((stream.metadata() or {})["wayforward"])
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
        if told["format"] != f"wayforward/amortised-{kind}" or told["version"] != _VERSION:
            raise ValueError("it holds something else, or another version")
        if not all(bool(t.isfinite().all()) for t in tensors.values()):
            raise ValueError("it holds numbers that are not finite")
    except FileNotFoundError:
        raise FileFormatError(f"There is no file '{file}'. Save networks there first.") from None
    except Exception as error:
        raise _broken(path, error) from error
    return told, tensors


def _broken(path: str | Path, error: Exception) -> FileFormatError:
    return FileFormatError(
        f"'{Path(path).name}' cannot be read as amortised networks ({type(error).__name__}: {error!s:.120}). "
        "Train and save them again."
    )
