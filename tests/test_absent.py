"""Without pandas, without numba, and with a clock that was set back: the same answers, and no raw traceback."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import cache

import numpy as np
import pytest

import wayforward as wf
from wayforward.testing.problems import case

RUN = """
import json, sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] in {absent!r} else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
import numpy as np
import wayforward as wf
from wayforward.testing.problems import case
it = case("forest", "independent", 0, 8)
people = it.problem.schema.decode(it.x, "dict") if {table!r} else it.x
got = wf.recommend(it.problem, people, k=2)
frame = got.to_frame("dict")
got.explain(0)
assert not {{m.split(".")[0] for m in sys.modules}} & set({absent!r}), "it was there"
print(json.dumps([np.nan_to_num(got.action, nan=-1.0).tolist(), [o.name for o in got.outcome.ravel()]]))
"""


@cache
def here() -> list[object]:
    it = case("forest", "independent", 0, 8)
    got = wf.recommend(it.problem, it.x, k=2)
    return [np.nan_to_num(got.action, nan=-1.0).tolist(), [o.name for o in got.outcome.ravel()]]


@pytest.mark.parametrize("absent", [("pandas",), ("numba", "llvmlite")], ids=["pandas", "numba"])
def test_without_a_library_the_answers_are_the_same(absent: tuple[str, ...]) -> None:
    code = RUN.format(absent=absent, table="pandas" in absent)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == here()


def test_a_clock_that_is_set_back_changes_no_answer_and_no_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the wall clock is an hour earlier than the one before."""
    clock = iter(range(2_000_000_000, 0, -3600))
    monkeypatch.setattr(time, "time", lambda: float(next(clock)))
    it = case("forest", "independent", 0, 8)
    got = wf.recommend(it.problem, it.x, k=2, deadline=3600)
    assert [np.nan_to_num(got.action, nan=-1.0).tolist(), [o.name for o in got.outcome.ravel()]] == here()
    assert (got.seconds >= 0).all() and not got.cut_short.any()
