"""Files of a replication: CSV, JSON and figures that are the same for the same numbers."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save(figure: Figure, folder: Path, name: str) -> list[str]:
    """Write SVG and PNG without dates, so that the same numbers give the same files. Returns the names."""
    import matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None}, dpi=110)
    figure.savefig(folder / f"{name}.png", metadata={"Software": None}, dpi=110)
    return [f"{name}.svg", f"{name}.png"]


def csv_text(data: Sequence[Mapping[str, Any]]) -> str:
    """Rows of equal keys as CSV; numbers with six digits, nothing for NaN and None."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(data[0]) if data else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: _cell(v) for k, v in row.items()} for row in data)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else ""
    return "" if value is None else value


def plain(value: Any) -> Any:
    """What JSON can hold; NaN becomes null and numbers keep six digits."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (bool, str, int)) or value is None:
        return value
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return str(value)


def put(path: Path, text: str) -> None:
    """Write a whole file or none."""
    half = path.with_name(path.name + ".half")
    half.write_text(text, encoding="utf-8")
    half.replace(path)
