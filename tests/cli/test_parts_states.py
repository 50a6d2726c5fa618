"""The store of finished parts beside a plain dict: whatever was written, broken, reopened or asked otherwise."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import wayforward as wf
from wayforward.cli.parts import Parts, forget
from wayforward.errors import FileFormatError
from wayforward.testing import case

_SIZE = 4
_STARTS = st.sampled_from([0, _SIZE, 2 * _SIZE])


@cache  # made in a test: here it would be made, and what it needs compiled, while tests are collected
def answer() -> wf.Recourse:
    it = case("linear")
    return wf.recommend(it.problem, it.x[: 3 * _SIZE])


def of(start: int) -> wf.Recourse:
    return answer()[np.arange(start, start + _SIZE)]


class Stored(RuleBasedStateMachine):
    """A part is there, whole and of the same people, or it is not there at all."""

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        self.folder, self.key = Path(self.place.name) / "o.parts", "one"
        self.parts = Parts(self.folder, self.key, _SIZE)
        self.kept: set[int] = set()

    @rule(start=_STARTS)
    def save(self, start: int) -> None:
        self.parts.save(start, of(start))
        self.kept.add(start)

    @rule(start=_STARTS, how=st.sampled_from(["cut", "flip", "empty", "other", "gone"]))
    def spoil(self, start: int, how: str) -> None:
        files = list(self.folder.glob(f"people-{start:09d}.*"))
        if not files:
            return
        content = files[0].read_bytes()
        made = {"cut": content[: len(content) // 2], "empty": b"", "flip": b"\0" + content[1:]}
        if how == "gone":
            files[0].unlink()
        elif how == "other":  # of other people
            self.parts.save(start, of((start + _SIZE) % (3 * _SIZE)))
        else:
            files[0].write_bytes(made[how])
        self.kept.discard(start)

    @rule(key=st.sampled_from(["one", "two"]), manifest=st.sampled_from([None, "", "{", "[" * 100_000, "5"]))
    def reopen(self, key: str, manifest: str | None) -> None:
        self.parts.__exit__()
        if manifest is not None:
            (self.folder / "manifest.json").write_text(manifest)
        if key != self.key or manifest is not None:
            self.kept.clear()
        self.key = key
        self.parts = Parts(self.folder, key, _SIZE)

    @rule()
    def another(self) -> None:
        with pytest.raises(FileFormatError, match="Another command"):
            Parts(self.folder, self.key, _SIZE)

    @rule()
    def forget(self) -> None:
        self.parts.__exit__()
        forget(self.folder)
        assert not self.folder.exists()
        self.kept.clear()
        self.parts = Parts(self.folder, self.key, _SIZE)

    @invariant()
    def whole_or_not_there(self) -> None:
        for start in range(0, 3 * _SIZE, _SIZE):
            part = self.parts.load(start, of(start).x)
            assert (part is not None) == (start in self.kept)
            if part is not None:
                np.testing.assert_array_equal(part.x, of(start).x)
                assert (part.outcome == of(start).outcome).all()

    def teardown(self) -> None:
        self.parts.__exit__()
        self.place.cleanup()


TestStored = Stored.TestCase
TestStored.settings = settings(max_examples=6, stateful_step_count=8, deadline=None)
