"""The state of a dialogue in a file: whole or not at all, checked for tampering, and tied to its problem."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DialogueError, FileFormatError, ProblemError
from wayforward.language import use_language
from wayforward.plain_files import make_folder, name_of, no_file, write_text

if TYPE_CHECKING:
    from wayforward.problem import Problem
    from wayforward.problem.plausibility import Plausibility

FORMAT, VERSION = "wayforward/dialogue", 2
_READ = (1, 2)  # the first has no snapshots: its replies are given again
_PROBE = 48  # observed people whose answers tell one model from another
_DIGITS = 7


def digest(*things: Any) -> str:
    """A short hash of arrays and plain data; numbers to nine digits that count."""
    out = hashlib.sha256()
    for thing in things:
        if isinstance(thing, np.ndarray):
            near = _near(thing)
            out.update(str(thing.shape).encode())
            out.update(near.data if near.size else b"")
        else:
            out.update(json.dumps(thing, sort_keys=True, ensure_ascii=False).encode())
        out.update(b"\0")
    return out.hexdigest()[:16]


def _near(thing: np.ndarray) -> np.ndarray:
    """Numbers to nine digits that count, NaN for what is not finite; whole ones are that already."""
    near = np.array(thing, dtype=np.float64, order="C")
    near += 0.0  # no -0
    other = np.flatnonzero((np.rint(near) != near) | (np.abs(near) >= 1e9))
    rest = near.reshape(-1)[other]
    good = np.isfinite(rest)
    place = np.floor(np.log10(np.abs(rest[good]))).astype(np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.take(10.0 ** np.arange(332.0, -301.0, -1.0), place + 324)  # a power for each row costs more
        rest[good] = np.round(rest[good] * size) / size + 0.0
    rest[~good] = np.nan
    near.reshape(-1)[other] = rest
    return near


def numbers(row: np.ndarray) -> tuple[float | None, ...]:
    """A row as plain data: None for NaN."""
    return tuple(None if np.isnan(value) else float(value) for value in row)


def row_of(values: Sequence[float | None]) -> np.ndarray:
    """(d,) the row that `numbers` told."""
    return np.array(values, dtype=np.float64)


def probe(problem: Problem, x: np.ndarray) -> np.ndarray:
    """(m, d) rows whose answers tell one model from another: the person (1, d) and some observed people."""
    if problem.reference is None:
        return x
    rows = problem.reference
    pick = np.unique(np.linspace(0, len(rows) - 1, min(_PROBE, len(rows))).astype(int))
    return np.concatenate([x, rows[pick]])


def answers_of(
    problem: Problem, x: np.ndarray, shown: Sequence[np.ndarray] = ()
) -> tuple[dict[str, Any], bool]:
    """What the model itself says about the probe, short enough to keep; and whether it says yes to all rows shown."""
    rows = probe(problem, x)
    yes, value = problem.reached(np.concatenate([rows, *(row[None] for row in shown)]))
    m = len(rows)
    answers = {
        "yes": "".join("1" if one else "0" for one in yes[:m]),
        "value": np.round(value[:m], _DIGITS).tolist(),
    }
    return answers, bool(yes[m:].all())


def same_answers(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Do two models say the same about the probe, up to the last digits?"""
    if a["yes"] != b["yes"] or len(a["value"]) != len(b["value"]):
        return False
    return bool(np.allclose(a["value"], b["value"], rtol=1e-5, atol=2 * 10.0**-_DIGITS))


def features_of(problem: Problem) -> dict[str, str]:
    """A fingerprint of each feature, by name, in order."""
    return problem.shared(
        ("dialogue", "features"),
        lambda: {entry["name"]: digest(entry) for entry in problem.schema.to_dict()["features"]},
    )


def fingerprints(problem: Problem, x: np.ndarray, answers: dict[str, Any] | None = None) -> dict[str, Any]:
    """What a dialogue hangs on, each as something that can be compared and named.

    answers: what the model says about the probe, where it was asked already (`answers_of`).
    """
    with use_language("en"):  # a state hangs on no language
        return _fingerprints(problem, x, answers)


def _fingerprints(problem: Problem, x: np.ndarray, answers: dict[str, Any] | None) -> dict[str, Any]:
    from wayforward.methods.base import versions

    rows = problem.reference
    data = None if rows is None else problem.shared(("dialogue", "data"), lambda: digest(rows))
    act = np.where(
        problem.schema.actionable & ~problem.schema.has_levels,
        problem.schema.snap(x[0] + 0.01 * problem.schema.span),
        np.nan,
    )
    return {
        "features": features_of(problem),
        "rules": list(problem.schema.rules),
        "data": data,
        "target": problem.target.describe(),
        "cost": digest(problem.cost.to_dict()["cost"], problem.cost.describe()),
        "world": [type(problem.world).__name__, digest(problem.consequences(x, act[None]))],
        "plausibility": None if problem.plausibility is None else problem.plausibility.name,
        "plausibility settings": None if problem.plausibility is None else _settings(problem.plausibility),
        "confidence": None if problem.confidence is None else problem.confidence.describe(),
        "robust": None if problem.robust is None else problem.robust.fingerprint(probe(problem, x)),
        "model": answers_of(problem, x)[0] if answers is None else answers,
        "versions": versions(),
    }


def differences(before: dict[str, Any], now: dict[str, Any]) -> dict[str, str]:
    """What is not the same, each in a few words; {} if nothing that matters is different."""
    out = {}
    old, new = before["features"], now["features"]
    if list(old) != list(new) or old != new or before["rules"] != now["rules"]:
        gone, come = [n for n in old if n not in new], [n for n in new if n not in old]
        other = [n for n in old if n in new and old[n] != new[n]]
        parts = [
            f"{what} {', '.join(repr(n) for n in names[:4])}"
            for what, names in (("without", gone), ("with", come), ("another", other))
            if names
        ]
        if before["rules"] != now["rules"]:
            parts.append("other rules")
        out["schema"] = f"the schema ({'; '.join(parts) or 'another order of features'})"
    if not same_answers(before["model"], now["model"]):
        a, b = before["model"], now["model"]
        m = len(a["value"])
        if m == len(b["value"]):
            apart = int((~np.isclose(a["value"], b["value"], rtol=1e-5, atol=1e-6)).sum())
            flips = sum(one != two for one, two in zip(a["yes"], b["yes"], strict=True))
            out["model"] = (
                f"the model (it answers differently for {apart} of {m} people that were tried, and decides "
                f"otherwise about {flips})"
            )
        else:
            out["model"] = "the model"
    for key, text in (
        ("data", "the table of observed people"),
        ("target", "what a yes is"),
        ("cost", "the cost"),
        ("world", "the world"),
        ("plausibility", "plausibility"),
        ("confidence", "how sure a plan must be"),
    ):
        if before[key] != now[key]:
            shown = (
                f" ({before[key]}; now {now[key]})" if key in ("target", "plausibility", "confidence") else ""
            )
            out[key] = text + shown
    old, new = before.get("plausibility settings"), now.get("plausibility settings")
    if "plausibility" not in out and old and new and old != new:  # not there in files of older releases
        words = f"{old[0]}; now {new[0]}" if old[0] != new[0] else f"{new[0]}, with other settings now"
        out["plausibility"] = f"plausibility ({words})"
    old, new = before.get("robust"), now.get("robust")  # not there in files of older releases
    if old != new:
        out["robust"] = f"what a plan must withstand ({_withstood(old, new)})"
    return out


def _settings(plausibility: Plausibility) -> list[str]:
    """What tells one rule of a kind from another: its words, and a hash of its settings."""
    words = plausibility.describe()
    try:
        return [words, digest(plausibility.to_dict())]
    except (ProblemError, TypeError):  # a world, or labels of people: those are told apart elsewhere
        return [words, digest(plausibility.strict)]


def _withstood(before: Any, now: Any) -> str:
    """Two conditions in words; their settings where the words are the same."""
    a, b = (_words(one) for one in (before, now))
    return f"{a}; now {b}" if a != b else f"{a}; with other settings or models now"


def _words(one: Any) -> str:
    if not one:
        return "nothing"
    return str(one[1]) if isinstance(one[0], str) else ", and ".join(_words(part) for part in one)


def versions_apart(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Libraries whose version is another, as "numpy 2.1.0, now 2.2.0"."""
    old, new = before.get("versions", {}), now.get("versions", {})
    return [
        f"{name} {old.get(name, 'absent')}, now {new.get(name, 'absent')}"
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]


# -- files -------------------------------------------------------------------------------------------------


def sealed(content: dict[str, Any]) -> dict[str, Any]:
    """The content with its checksum."""
    return {**content, "checksum": _checksum(content)}


def opened(stored: Any, name: str = "The state") -> dict[str, Any]:
    """The content of what `sealed` made. Raises: FileFormatError for what is none, DialogueError if
    it was changed."""
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise FileFormatError(f"{name} holds no dialogue. Give a file that Dialogue.save wrote.")
    if stored.get("version") not in _READ:
        raise DialogueError(
            f"{name} holds a dialogue of version {stored.get('version')!r}; this release reads 1 and 2. "
            "Open it with the release that wrote it, or begin a new dialogue."
        )
    content = {key: value for key, value in stored.items() if key != "checksum"}
    try:
        right = stored.get("checksum") == _checksum(content)
    except (TypeError, ValueError):
        right = False
    if not right:
        raise DialogueError(
            f"{name} was changed after it was written: its checksum does not fit. Use the copy that was kept "
            "before, or begin a new dialogue."
        )
    return content


def _checksum(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def write(path: Path, content: dict[str, Any]) -> None:
    """Write beside, reach the disk, move into place: whoever reads sees the old state or the new
    one, whole."""
    if path.is_dir():
        raise FileFormatError(f"'{name_of(path)}' is a folder; name a file in it.")
    make_folder(path.parent)
    text = json.dumps(sealed(content), ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n", private=True)  # what somebody said about themselves is for the owner alone


def read(path: Path) -> dict[str, Any]:
    """What `write` wrote. Raises: FileFormatError, DialogueError."""
    if not path.is_file():
        raise FileFormatError(no_file(path))
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise FileFormatError(
            f"'{name_of(path)}' cannot be read as a dialogue ({type(error).__name__}). Use the copy that "
            "was kept before, "
            "or begin a new dialogue."
        ) from None
    return opened(stored, f"'{name_of(path)}'")
