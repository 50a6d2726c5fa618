"""Every argument of every function that the fuzzer calls, with every odd value, once and in order.

``python -m benchmarks.sweep`` (a part of `make fuzz`). The fuzzer draws; this leaves nothing to a draw: whoever mends
what it names knows that no other of these values breaks these places. Exit code 1: a failure.
"""

from __future__ import annotations

import argparse
import datetime
import decimal
import fractions
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import documented
from benchmarks.fuzz import JUNK, Hang, Target, spent, targets, told

WRAPPED = (None, True, 0, -1, 0.5, float("nan"), 10**30, "", "x", "age", "\x85", b"x", [], {}, object, 1j)


def itself() -> list[Any]:
    """Return a list that holds itself."""
    made: list[Any] = []
    made.append(made)
    return made


def odd() -> list[Callable[[], Any]]:
    """Return what makes each odd value anew: a call may change or use up what it is given."""
    made: list[Callable[[], Any]] = [lambda one=one: one for one in JUNK]
    for one in WRAPPED:
        made += [
            lambda one=one: [one],
            lambda one=one: (one, one),
            lambda one=one: {"age": one},
            lambda one=one: {"income": [one]},
            lambda one=one: {one if getattr(one, "__hash__", None) else "x": 1},
            lambda one=one: np.array([one, one], dtype=object),
        ]
    made += [
        lambda: np.ma.masked, lambda: np.ma.array([1.0, 2.0], mask=[True, False]), lambda: np.array(1.0),
        lambda: np.array(["age"]), lambda: np.array([True]), lambda: np.zeros((2, 2, 2)), lambda: np.zeros((0, 5)),
        lambda: np.full((2, 5), np.nan), lambda: np.zeros((2, 5), complex), lambda: np.ones((2, 5)),
        lambda: np.array(["2020"], "M8[D]"), lambda: np.float32("nan"), lambda: np.int64(-1), lambda: np.str_("x"),
        lambda: np.bool_(True), lambda: np.timedelta64(1, "D"), lambda: np.array([(1, 2)], "i4,i4"),
        lambda: pd.NA, lambda: pd.NaT, lambda: pd.DataFrame(), lambda: pd.DataFrame({"age": [1, None]}),
        lambda: pd.Series([1, 2]), lambda: pd.Series(["a"], dtype="category"), lambda: pd.Index(["age"]),
        lambda: pd.Timestamp("2020-01-01"), lambda: datetime.date(2020, 1, 1), lambda: decimal.Decimal("NaN"),
        lambda: fractions.Fraction(1, 3), lambda: iter([1, 2]), lambda: (one for one in "ab"), itself,
        lambda: type("Odd", (), {}), lambda: frozenset({"age"}), lambda: {"age": {"age": {}}}, lambda: [[]],
        lambda: [[1, 2], [3]], lambda: [["age"]], lambda: memoryview(b"x"), lambda: bytearray(b"x"),
        lambda: "x" * 10_000, lambda: "\ud800", lambda: -0.0, lambda: 5e-324, lambda: (0.2, 0.1), lambda: (np.nan, 1),
        lambda: [1, "1"], lambda: [True, 1], lambda: ["age", "age"], lambda: {"no": 1}, lambda: open, lambda: sys,
    ]  # fmt: skip
    return made


def shown(value: Any) -> str:
    """What a value is, in one line."""
    try:
        return f"{type(value).__name__} {value!r}".replace("\n", " ")[:80]
    except Exception:
        return type(value).__name__


def sweep(target: Target, values: list[Callable[[], Any]]) -> dict[tuple[Any, str], str]:
    """Return what broke a target, by its place and the error's kind and line."""
    failed: dict[tuple[Any, str], str] = {}
    for place in target.places:
        for make in values:
            value = make()
            try:
                target((place, value))
            except KeyboardInterrupt:
                raise
            except (Exception, Hang, SystemExit) as error:
                last = error.__traceback__
                while last is not None and last.tb_next is not None:
                    last = last.tb_next
                where = f"{last.tb_frame.f_code.co_filename}:{last.tb_lineno}" if last is not None else ""
                key = (place, f"{type(error).__name__} {where}")
                if key not in failed:
                    failed[key] = f"{shown(value)}\n{told(error)}"
                    print(f"== {target.name} {place}: {failed[key]}", flush=True)
    return failed


def run(only: str) -> int:
    """Sweep all targets; print what failed."""
    values, failed, seen = odd(), 0, Counter[str]()
    with tempfile.TemporaryDirectory() as place, chdir(place):
        more, left = documented.calls(Path(place))
        everything = [t for t in (*targets(Path(place)), *more) if t.places and only in t.name]
        print(f"documented: {len(more)} can be called as they are documented, {len(left)} are left out")
        for target in everything:
            begun = spent()
            failed += len(sweep(target, values))
            seen += target.seen
            print(f"{target.name}: {len(target.places)} places, {spent() - begun:.0f} s", flush=True)
    print(f"{len(everything)} targets, {sum(seen.values()):,} tries, {dict(seen)}, failed: {failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="", help="targets whose name holds this")
    sys.exit(run(options.parse_args().only))
