"""Time series to try things on: made by published recipes and by one of ours, and files of the UCR and UEA archives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wayforward.errors import DataError, is_whole, require_whole, shown
from wayforward.plain_files import as_path, name_of, read_text
from wayforward.public import public
from wayforward.streams import generator

CHARTS = ("normal", "cyclic", "increasing", "decreasing", "upward", "downward")
FUNNELS = ("cylinder", "bell", "funnel")
SENSORS = ("pressure", "flow", "oil", "noise", "current", "voltage", "humidity", "light")
_DECIDE = 2  # of the sensors, the first
MOST_CHARACTERS = 400_000_000  # of a file that is read
MOST_NUMBERS = 50_000_000  # of the series in it


@public
@dataclass(frozen=True, eq=False)
class SeriesSet:
    """series (n, channels, times), labels (n,), and a card: what they are, whose, what to know. channels: names."""

    series: np.ndarray
    labels: np.ndarray
    card: str
    channels: tuple[str, ...] | None = None


_CARD_CHARTS = """# Control charts

{n} made-up series of one channel and {times} times, drawn with seed {seed} by the recipe of R. J. Alcock and
Y. Manolopoulos (1999), Time-Series Similarity Queries Employing a Feature-Based Approach: a level of 30 with noise,
and a cycle, a trend or a shift. Labels: {labels}. The UCR archive has a set by the same recipe, SyntheticControl.
"""
_CARD_FUNNELS = """# Cylinder, bell, funnel

{n} made-up series of one channel and {times} times, drawn with seed {seed} by the recipe of N. Saito (1994), Local
Feature Extraction and Its Applications Using a Library of Bases: noise, and somewhere a plateau, a rise or a fall.
Labels: {labels}. The UCR archive has a set by the same recipe, CBF.
"""
_CARD_MACHINES = """# Machines

{n} made-up series of {channels} sensors and {times} times, drawn by this library with seed {seed}. Each sensor is a
control chart by itself (see `control_charts`). A machine is 'worn' where {decide} rises or is shifted upwards, else
'fine'; what the other sensors do says nothing. What a classifier should look at is therefore known.
"""


@public
def control_charts(n: int = 300, times: int = 60, seed: int = 0) -> SeriesSet:
    """Return n control charts (n, 1, times) of six kinds, evenly. Raises: DataError for fewer than 12 times."""
    _check(n, times, 12, seed)
    rng = generator(seed)
    kind = rng.permutation(np.arange(n) % len(CHARTS))
    card = _CARD_CHARTS.format(n=n, times=times, seed=seed, labels=", ".join(CHARTS))
    return SeriesSet(_charts(rng, kind, times)[:, None], np.array(CHARTS)[kind], card)


@public
def cylinder_bell_funnel(n: int = 300, times: int = 128, seed: int = 0) -> SeriesSet:
    """Return n series (n, 1, times), a cylinder, a bell or a funnel. Raises: DataError for fewer than 16 times."""
    _check(n, times, 16, seed)
    rng = generator(seed)
    kind = rng.permutation(np.arange(n) % len(FUNNELS))
    start = rng.integers(times // 8, times // 4 + 1, n)
    end = start + rng.integers(times // 4, 3 * times // 4 + 1, n)
    t, a, b = np.arange(1, times + 1), start[:, None], end[:, None]
    form = np.stack([np.ones((n, times)), (t - a) / (b - a), (b - t) / (b - a)])[kind, np.arange(n)]
    height = 6 + rng.normal(size=(n, 1))
    series = height * form * ((t >= a) & (t <= b)) + rng.normal(size=(n, times))
    card = _CARD_FUNNELS.format(n=n, times=times, seed=seed, labels=", ".join(FUNNELS))
    return SeriesSet(series[:, None], np.array(FUNNELS)[kind], card)


@public
def machines(n: int = 300, channels: int = 6, times: int = 60, seed: int = 0) -> SeriesSet:
    """Return n machines (n, channels, times), 'worn' or 'fine' by their first two sensors.

    Raises: DataError for fewer than 12 times, and for channels other than 3 to 8.
    """
    _check(n, times, 12, seed)
    if not is_whole(channels, _DECIDE + 1, len(SENSORS)):
        raise DataError(f"channels={shown(channels)} is not known. Use {_DECIDE + 1} to {len(SENSORS)}.")
    rng = generator(seed)
    kind = rng.choice(len(CHARTS), (n, channels), p=(0.5, 0.1, 0.1, 0.1, 0.1, 0.1))
    worn = np.isin(kind[:, :_DECIDE], [CHARTS.index("increasing"), CHARTS.index("upward")]).any(1)
    series = np.stack([_charts(rng, kind[:, c], times) for c in range(channels)], axis=1)
    card = _CARD_MACHINES.format(
        n=n, channels=channels, times=times, seed=seed, decide=" or ".join(SENSORS[:_DECIDE])
    )
    return SeriesSet(series, np.where(worn, "worn", "fine"), card, SENSORS[:channels])


def _charts(rng: np.random.Generator, kind: np.ndarray, times: int) -> np.ndarray:
    """(n,) kinds -> (n, times)."""
    n, t = len(kind), np.arange(1, times + 1)
    base = 30 + 2 * rng.uniform(-3, 3, (n, times))
    size, period = rng.uniform(10, 15, (n, 1)), rng.uniform(10, 15, (n, 1))
    slope, shift = rng.uniform(0.2, 0.5, (n, 1)), rng.uniform(7.5, 20, (n, 1))
    moved = t >= rng.integers(times // 3, 2 * times // 3 + 1, (n, 1))
    added = [
        0 * base,
        size * np.sin(2 * np.pi * t / period),
        slope * t,
        -slope * t,
        shift * moved,
        -shift * moved,
    ]
    return np.asarray(base + np.stack(added)[kind, np.arange(n)])


def _check(n: int, times: int, least: int, seed: int) -> None:
    require_whole(n=n, times=times, seed=seed)
    if n < 1 or times < least:
        raise DataError(f"n={n}, times={times} leaves nothing to draw. Use n >= 1 and times >= {least}.")
    if n * times > MOST_NUMBERS:
        raise DataError(f"n={n}, times={times} would be more than {MOST_NUMBERS:,} numbers. Draw fewer.")


@public
def read_series(path: str | Path) -> SeriesSet:
    """Read a file of the UCR or UEA archive, as text: .tsv or .txt (the label first), .ts or .arff (the label last).

    Series of equal length without gaps, each with a label. Files of up to 400 million characters and series of up to 50
    million numbers are read. Labels are text.
    Raises: FileFormatError for a file that is no text, missing or too large; DataError that names the line.
    """
    at = as_path(path)
    found: list[list[np.ndarray]] = []
    labels: list[str] = []
    for number, values, label in _lines(at):
        if not all(np.isfinite(one).all() for one in values):
            raise DataError(
                f"'{at.name}', line {number} has a value that is no number, or a gap. Fill gaps first, or leave the "
                "line out."
            )
        lengths = [len(one) for one in values]
        if not lengths or not lengths[0]:
            raise DataError(f"'{at.name}', line {number} has no numbers beside its label. Add them.")
        like = [len(one) for one in found[0]] if found else lengths[:1] * len(lengths)
        if lengths != like:
            raise DataError(
                f"'{at.name}', line {number}: channels of {lengths[:8]} numbers, and {like[:8]} are needed. Make all "
                "series equally long first."
            )
        if not label:
            raise DataError(f"'{at.name}', line {number} has no label. Add one.")
        found.append(values)
        labels.append(label)
    if not found:
        raise DataError(f"'{at.name}' holds no series. Check that it is a file of the archive.")
    series = np.array(found)
    card = (
        f"# {at.stem}\n\n{len(series):,} series of {series.shape[1]} channels and {series.shape[2]} times, read from a "
        "file. What they are and who may use them stands where the file comes from.\n"
    )
    return SeriesSet(series, np.array(labels), card)


def read_series_alone(path: str | Path) -> list[np.ndarray]:
    """Read each series (channels, times) of such a file by itself, whatever its length, NaN where there is a gap.

    Labels are not looked at, channels of several lengths end in gaps. Raises: as `read_series`, but for odd lines.
    """
    at, out = as_path(path), []
    for _, values, _ in _lines(at):
        longest = max(map(len, values), default=0)
        if len(values) * longest > MOST_NUMBERS:
            raise DataError(f"'{at.name}' holds a series of more than {MOST_NUMBERS:,} numbers. Cut it.")
        one = np.full((len(values), longest), np.nan)
        for channel, numbers in zip(one, values, strict=True):
            channel[: len(numbers)] = numbers
        out.append(one)
    if not out:
        raise DataError(f"'{at.name}' holds no series. Check that it is a file of the archive.")
    return out


def _lines(at: Path) -> Iterator[tuple[int, list[np.ndarray], str]]:
    """Yield number, channels and label of each line that holds a series, NaN for what is no number."""
    readers = {".tsv": _of_tsv, ".txt": _of_tsv, ".ts": _of_ts, ".arff": _of_arff}
    if at.suffix.lower() not in readers:
        raise DataError(
            f"'{name_of(at)}' ends in none of {', '.join(readers)}. Give a file of the UCR or UEA archive."
        )
    lines = read_text(at, "file of series", MOST_CHARACTERS).splitlines()
    count = 0
    for number, channels, label in readers[at.suffix.lower()](lines, at.name):
        values = [_numbers(channel) for channel in channels]
        count += sum(map(len, values))
        if count > MOST_NUMBERS:
            raise DataError(f"'{at.name}' holds more than {MOST_NUMBERS:,} numbers. Give a part of it.")
        yield number, values, label


Line = tuple[int, list[str], str]  # number, channels, label


def _of_tsv(lines: list[str], name: str) -> list[Line]:
    out = []
    for i, line in enumerate(lines, 1):
        parts = line.split("\t") if "\t" in line else line.replace(",", " ").split()
        if any(part.strip() for part in parts):
            out.append((i, [",".join(parts[1:])], _label(parts[0])))
    return out


def _of_ts(lines: list[str], name: str) -> list[Line]:
    out, data = [], False
    for i, line in enumerate(lines, 1):
        text = line.strip()
        lower = text.lower()
        if not text or text.startswith("#"):
            continue
        if data:
            *channels, label = text.split(":")
            out.append((i, channels, label.strip()))
        elif lower.startswith("@timestamps") and lower.split()[-1] == "true":
            raise DataError(
                f"'{name}' has time stamps, which are not read. Give series at equal steps of time."
            )
        elif lower.startswith("@classlabel") and lower.split()[1:2] == ["false"]:
            raise DataError(f"'{name}' has no labels. Give a set for classification.")
        elif lower.startswith("@targetlabel"):
            raise DataError(f"'{name}' is of a regression. Give a set for classification.")
        data = data or lower.startswith("@data")
    return out


def _of_arff(lines: list[str], name: str) -> list[Line]:
    out, data = [], False
    for i, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        if data and text[0] in "'\"":
            body, _, label = text[1:].rpartition(text[0])
            out.append((i, body.split("\\n"), _label(label.lstrip(", \t"))))
        elif data:
            values, _, label = text.rpartition(",")
            out.append((i, [values], _label(label)))
        data = data or text.lower().startswith("@data")
    return out


def _label(text: str) -> str:
    """A label as text; a whole number that is written as 1.0 or 1.0000e+00 is '1'."""
    clean = text.strip().strip("'\"")
    try:
        value = float(clean)
    except ValueError:
        return clean
    return str(int(value)) if np.isfinite(value) and value == int(value) else clean


def _numbers(text: str) -> np.ndarray:
    """The numbers of a channel, NaN for what is none."""
    parts = text.split(",") if text.strip() else []
    try:
        return np.array(parts, dtype=np.float64)
    except ValueError:
        return np.array([_number(part) for part in parts])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
