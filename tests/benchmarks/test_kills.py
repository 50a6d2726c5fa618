"""Server and worker are killed at drawn moments, and nothing is lost: `benchmarks.kills`, a few times."""

from __future__ import annotations

import pytest

pytest.importorskip("uvicorn", reason="the web application needs the extra web")

from benchmarks.kills import killed


@pytest.mark.slow
@pytest.mark.published  # asserts the figures of docs/benchmarks.md; the gate kills workers in tests/serve/test_jobs.py
def test_nothing_is_lost_and_no_job_is_left_half_done(tmp_path):
    found = killed(tmp_path, 4, seed=1)
    assert found["jobs"] == 4 and found["accepted"] > 8
    assert (found["lost"], found["half_done"], found["unsound"]) == (0, 0, 0)
    assert sum(found["killed"].values()) == 4 > found["killed"]["worker"]
