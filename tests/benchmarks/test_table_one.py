"""Beside public implementations: what peers that know no fixed features are shown, and the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.cells import HERE
from benchmarks.table_one import PAIRS, table
from benchmarks.tracks import TaskCell

from wayforward.methods import names
from wayforward.tracks import Task


def test_a_peer_sees_what_can_be_acted_on_and_its_numbers_are_put_on_steps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    ready = Task("loan-lr", "contrastive", "loan", "lr", n=12).build()
    TaskCell(ready).exchange(tmp_path)
    monkeypatch.syspath_prepend(str(HERE / "peers"))
    import common
    from part import Part

    part = Part(common.Task(tmp_path))
    schema, x = ready.problem.schema, ready.x[0]
    free = [schema.names[j] for j in np.flatnonzero(schema.actionable)]
    assert part.names == free and len(free) < schema.d
    part.x = x
    shown = part.frame(ready.x)
    back = part.codes(shown)
    np.testing.assert_array_equal(back[:, part.columns], ready.x[:, part.columns])
    fixed = ~schema.actionable
    np.testing.assert_array_equal(back[:, fixed], np.tile(x[fixed], (12, 1)))  # the person's own
    np.testing.assert_allclose(part.ask(ready.x)[:, 1], ready.problem.reached(ready.x)[1], atol=1e-9)
    j, feature = next((j, f) for j, f in zip(part.columns, part.features, strict=True) if not f["levels"])
    feature["step"] = 0.5
    moved = np.tile(x, (3, 1))
    moved[:, j] += [0.3, -1.2, 0.0]
    np.testing.assert_allclose(part.stepped(moved)[:, j] - x[j], [0.5, -1.5, 0.0])


def test_the_table_tells_both_sides_on_the_same_people():
    part = {"n": 4, "validity": 1.0, "usable": 0.5, "l1_usable": 0.25, "l0_usable": 1.0}
    got = {
        "peer": "other", "people_a_second": 200.0, "peer_people_a_second": 0.5, "times": 400.0,
        "ours": part | {"n": 1000, "usable": 1.0}, "theirs": part, "ours_on_theirs": part | {"l1_usable": None},
    }  # fmt: skip
    assert set(PAIRS) <= set(names())
    line = table({"geco/lr": got, "moc/lr": {"peer": "absent"}}).splitlines()
    assert len(line) == 3
    assert line[2] == "| `geco` | other | lr | 200 | 0.5 | 400 | 1.000 | 0.50 (1.00), 4 | –, 0.25 |"
