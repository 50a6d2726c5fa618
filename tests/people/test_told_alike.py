"""A dialogue tells the plans that letters tell: minimal, with room where it costs little, in the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward.answers import letter, steps
from wayforward.people.dialogue import Dialogue
from wayforward.problem import as_told, minimal_actions
from wayforward.testing.problems import case


def rows_of(question) -> list[np.ndarray]:
    shown = [o for o in (*question.options, question.plan) if o is not None and o.action is not None]
    return [np.array(o.action, dtype=np.float64) for o in shown]


@pytest.mark.parametrize(("kind", "world"), [("linear", "independent"), ("forest", "causal")])
def test_a_dialogue_and_a_letter_tell_the_same_plan(kind, world):
    it = case(kind, world, 1, 40)
    x = it.x[it.refused][:10]
    got = as_told(wf.recommend(it.problem, x, method="local-search"))
    assert got.meta["room"]["moved"] > 1
    for i in np.flatnonzero(got.found[:, 0]):
        d = Dialogue(it.problem, x[i], elicitor=None, questionnaire=None)
        assert list(d.ask().plan.steps) == steps(got, i)
        d.answer("yes")
        np.testing.assert_array_equal(d.plan.action, got.action[[i]])
        assert all(line in letter(it.problem, d.plan, 0, reasons=False) for line in steps(got, i))
        farther = any("goes a little farther than it must" in line for line in d.end.assumes)
        assert farther == (
            got.margin[i, 0] >= 0.9 - 1e-9 and any("off these" in line for line in d.end.assumes)
        )


def test_what_is_seen_needs_every_act_and_what_is_told_at_the_end_was_seen():
    it = case("forest", "independent", 1, 40)
    for x in it.x[it.refused][:4]:
        d, seen = Dialogue(it.problem, x, questionnaire=None), list[np.ndarray]()
        while (question := d.ask()) is not None:
            seen += rows_of(question)
            d.answer(question.options[-1].key if question.stage == "choices" else "no")
        if not seen:
            continue
        people = it.problem.population(np.repeat(x[None], len(seen), axis=0))
        np.testing.assert_array_equal(minimal_actions(people, np.stack(seen)[:, None])[:, 0], np.stack(seen))
        assert any(np.array_equal(d.plan.action[0, 0], row, equal_nan=True) for row in seen)
