"""The file that a society goes on from: arrays and JSON in one .npz, no code."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import FileFormatError
from wayforward.impact.society.history import History
from wayforward.plain_files import write_bytes
from wayforward.tensor_files import read_npz

_FORMAT = "wayforward society state 1"


def write_checkpoint(path: Path, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> Path:
    """Write arrays and plain values, whole or not at all; return the path."""
    text = json.dumps({"format": _FORMAT, **meta}, allow_nan=False)
    content = io.BytesIO()
    everything: dict[str, Any] = {**arrays, "meta": np.frombuffer(text.encode(), dtype=np.uint8)}
    np.savez(content, **everything)
    write_bytes(path, content.getvalue())
    return path


def read_checkpoint(path: Path, names: set[str]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays and the values that `write_checkpoint` wrote. Raises: FileFormatError for a broken file.

    names: of the arrays that must be there.
    """
    try:
        arrays = read_npz(path)
        stored = json.loads(bytes(arrays.pop("meta")).decode())
        known = stored["format"] == _FORMAT and names <= set(arrays)
        meta = {name: int(stored[name]) for name in ("round", "model_version", "decided_by")} | {
            "identity": stored["identity"],
            "radius": {int(i): float(r) for i, r in stored["radius"].items()},
            "history": History.from_dict(stored["history"]),
        }
    except MemoryError:
        raise
    except Exception as error:  # whatever a broken archive makes its readers say
        raise FileFormatError(
            f"'{path.name}' does not hold the state of a society ({type(error).__name__}). Take it away, or name "
            "another file."
        ) from None
    if not known:
        raise FileFormatError(f"'{path.name}' is the state of another version. Take it away.")
    return arrays, meta
