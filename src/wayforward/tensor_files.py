"""Files of arrays: numbers as safetensors, everything else as JSON in the header. Nothing in a file is executed.

What the package learns and saves (worlds, networks, generative models, checkpoints) is written and read here, so that
every file is checked for its size and for numbers that are not finite, and appears only when it is whole.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from wayforward.errors import FileFormatError, MethodError, require
from wayforward.plain_files import as_path, write_bytes

_MOST_BYTES = 1 << 30
_NETWORKS = 1  # version of the files of networks


def plain(value: Any) -> Any:
    """Return plain data for JSON; infinities become text."""
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
    """Reverse `plain`; tuples come back as lists."""
    if isinstance(value, Mapping):
        return float(value["float"]) if set(value) == {"float"} else {k: unplain(v) for k, v in value.items()}
    return [unplain(part) for part in value] if isinstance(value, list) else value


def write(
    path: str | Path, tensors: Mapping[str, Any], header: Any, *, framework: Literal["pt", "np"] = "np"
) -> Path:
    """Write arrays or tensors and a JSON header to one file, whole or not at all; return its path."""
    module = "safetensors.torch" if framework == "pt" else "safetensors.numpy"
    safetensors = require(module, extra="torch")
    text = json.dumps(header, allow_nan=False)
    write_bytes(path, safetensors.save(dict(tensors), metadata={"wayforward": text}))
    return Path(path)


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of a file of `numpy.savez`, after a look at what each says of its size: no more memory is taken
    than the file has bytes. Raises: OSError; ValueError or BadZipFile for a broken file, packed or boxed values.
    """
    with path.open("rb") as opened, zipfile.ZipFile(opened) as archive:
        members, size = archive.infolist(), os.fstat(opened.fileno()).st_size
        if any(one.compress_type != zipfile.ZIP_STORED for one in members):
            raise ValueError("packed")
        if sum(one.file_size for one in members) > size:
            raise ValueError("more than the file holds")
        return {one.filename.removesuffix(".npy"): _member(archive, one) for one in members}


def _member(archive: zipfile.ZipFile, one: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(one) as stream:
        readers: dict[tuple[int, int], Any] = {
            (1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0,
        }  # fmt: skip
        shape, columns_first, kind = readers[np.lib.format.read_magic(stream)](stream)
        if kind.hasobject or math.prod(shape) * kind.itemsize != one.file_size - stream.tell():
            raise ValueError(f"{one.filename} is not of the size that it says")
        return np.ndarray(shape, kind, bytearray(stream.read()), order="F" if columns_first else "C")


def header(path: str | Path) -> Any:
    """Read the JSON header alone. Raises: as `read`."""
    return _open(path, None, "np", "cpu")[0]


def read(
    path: str | Path, *, framework: Literal["pt", "np"] = "np", device: str = "cpu"
) -> tuple[Any, dict[str, Any]]:
    """Read a header and the arrays or tensors beside it.

    Raises: FileNotFoundError; ValueError, KeyError or safetensors' own error for a file that is too large, broken, or
    holds numbers that are not finite. Callers say in their own words what the file should have been.
    """
    return _open(path, True, framework, device)


def _open(path: str | Path, numbers: bool | None, framework: str, device: str) -> tuple[Any, dict[str, Any]]:
    safetensors = require("safetensors", extra="torch")
    file = as_path(path)
    if not file.is_file() and file.exists():
        raise ValueError("it is no file")
    if file.stat().st_size > _MOST_BYTES:
        raise ValueError(f"it is larger than {_MOST_BYTES >> 20:,} MiB")
    with safetensors.safe_open(os.fspath(file), framework=framework, device=device) as stream:
        found = json.loads((stream.metadata() or {})["wayforward"])
        names = stream.keys() if numbers else ()
        tensors = {name: stream.get_tensor(name) for name in names}
    for name, value in tensors.items():
        finite = value.isfinite() if framework == "pt" else np.isfinite(value)
        if not bool(finite.all()):
            raise ValueError(f"'{name:.60}' holds numbers that are not finite")
    return found, tensors


# -- networks ----------------------------------------------------------------------------------------------------


def write_networks(path: str | Path, tensors: Mapping[str, Any], kind: str, head: Mapping[str, Any]) -> Path:
    """Write torch tensors of networks of a kind, with what they were trained for; return the path."""
    return write(
        path,
        tensors,
        {"format": f"wayforward/amortised-{kind}", "version": _NETWORKS, **plain(head)},
        framework="pt",
    )


def read_networks(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what `write_networks` wrote. Raises: FileFormatError for a file that is missing, broken or another."""
    path = as_path(path)
    try:
        head, tensors = read(path, framework="pt")
        if head["format"] != f"wayforward/amortised-{kind}" or head["version"] != _NETWORKS:
            raise ValueError("it holds something else, or another version")
    except FileNotFoundError:
        raise FileFormatError(f"There is no file '{path}'. Save networks there first.") from None
    except Exception as error:
        raise broken_networks(path, error) from error
    return head, tensors


def broken_networks(path: str | Path, error: Exception) -> FileFormatError:
    """Make the error for a file that cannot be read as networks."""
    return FileFormatError(
        f"'{Path(path).name}' cannot be read as amortised networks ({type(error).__name__}: {error!s:.120}). "
        "Train and save them again."
    )


def numbered(prefix: str, tensors: Sequence[Any]) -> dict[str, Any]:
    """Name torch tensors ``prefix.0``, ``prefix.1``, ... as a file holds them: those of the CPU, for any machine."""
    return {f"{prefix}.{i}": tensor.detach().cpu().contiguous() for i, tensor in enumerate(tensors)}


def in_order(tensors: Mapping[str, Any], prefix: str) -> list[Any]:
    """Reverse `numbered`: the tensors of a prefix in their order."""
    count = sum(name.startswith(f"{prefix}.") for name in tensors)
    return [tensors[f"{prefix}.{i}"] for i in range(count)]


def require_same(
    path: str | Path, stored: Mapping[str, Any], now: Mapping[str, Any], keys: Sequence[str]
) -> None:
    """Check that a file was made for the same schema, world and settings. Raises: MethodError where it was not."""
    for key in keys:
        if stored.get(key) != plain(now[key]):
            what = {
                "features": "another schema",
                "world": f"a world of another kind ({stored.get(key)})",
            }.get(key, f"other settings ({key})")
            raise MethodError(
                f"'{Path(path).name}' was trained for {what}. Use the problem that it was trained for, or train anew."
            )
