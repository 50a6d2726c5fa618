"""favourite: what is shown is minimal, new and undominated; the last plan is the best of those seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayforward.errors import MethodError
from wayforward.people.elicitor import Kind, converse
from wayforward.people.elicitors import elicitor
from wayforward.people.elicitors.effort_tastes import ScreenChoices, dislike, tastes
from wayforward.people.plan_order import alike, asks_more
from wayforward.people.simulated import PersonalCost
from wayforward.streams import Streams
from wayforward.testing import ElicitorContract, case


class TestFavourite(ElicitorContract):
    elicitor = "favourite"
    parameters = {"tastes": 3}
    cases = (("linear", "independent"),)


def weights(n: int, d: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).exponential(size=(n, d)) + 0.05


@settings(max_examples=3)
@given(
    kind=st.sampled_from(["linear", "forest"]),
    world=st.sampled_from(["independent", "causal"]),
    seed=st.integers(0, 50),
)
def test_what_is_shown_is_minimal_undominated_and_new_and_the_last_is_the_best_seen(kind, world, seed):
    it = case(kind, world)
    x = it.x[it.refused][:2]
    session = elicitor("favourite", tastes=6).fit(it.problem).begin(x, seed=seed)
    people = PersonalCost(session.people, weights(2, x.shape[1], seed))
    seen: list[list[np.ndarray]] = [[] for _ in x]
    pairs: list[set[bytes]] = [set() for _ in x]

    def look(session):
        questions = session.pending
        for i in np.flatnonzero(questions.kind == Kind.CHOOSE):
            rows = questions.action[i, questions.exists[i]]
            key = b"".join(sorted(row.tobytes() for row in rows))
            assert key not in pairs[i]
            pairs[i].add(key)
            new = [
                row for row in rows if not any(np.array_equal(row, old, equal_nan=True) for old in seen[i])
            ]
            assert len(new) >= len(rows) - 1 or not seen[i]  # only the favourite comes again
            for row in new:
                for j in np.flatnonzero(~np.isnan(row)):
                    less = row.copy()
                    less[j] = np.nan
                    assert np.isnan(less).all() or not it.problem.check(x[[i]], less[None, None]).found[0, 0]
                for old in seen[i]:
                    both = np.stack([old, row])[None]
                    rival = np.array([[[False, False], [True, False]]])
                    assert not asks_more(session.people, np.array([i]), both, rival)[0, 1]
                    assert not alike(session.people, np.array([i]), old[None], row[None])[0]
            seen[i] += new

    look(session)
    converse(session, people, each=look)
    for i in range(len(x)):
        if seen[i]:
            who = np.full(len(seen[i]) + 1, i)
            rows = np.stack([*seen[i], session.best[i]])
            cost = people.dislike(who, rows, rows)
            assert cost[-1] <= cost[:-1].min() + 1e-12


def test_choices_move_the_weights():
    """Somebody who always takes the change of the first feature finds it easier than the second."""
    parts = np.tile(np.eye(2)[None, None], (1, 4, 1, 1))  # (1, 4 screens, 2 plans, 2 features)
    said = ScreenChoices(parts, np.ones((1, 4, 2), dtype=bool), np.zeros((1, 4), dtype=np.int64))
    streams = Streams.of(np.zeros((1, 2)), 0)
    before = np.exp(
        tastes(streams, 2, ScreenChoices(parts, said.there, said.chosen - 1), np.ones(1))[0, :, :2]
    )
    after = np.exp(tastes(streams, 2, said, np.ones(1))[0, :, :2])
    assert abs((before[:, 0] > before[:, 1]).mean() - 0.5) < 0.15
    assert (after[:, 0] < after[:, 1]).mean() > 0.95


def test_dislike_by_hand():
    taste = np.log(np.array([[[2.0, 1.0, 0.5]]]))
    parts = np.array([[[3.0, 0.0], [1.0, 2.0]]])
    np.testing.assert_allclose(
        dislike(taste, parts, np.array([2.0])), [[[2 * 1.5 + 0.5 * 2, 2 * 0.5 + 1 + 0.5 * 3]]]
    )


def test_a_session_goes_on_from_what_it_stored():
    it = case("forest", "independent")
    x = it.x[it.refused][:1]
    asker = elicitor("favourite", tastes=8).fit(it.problem)
    session = asker.begin(x, seed=1)
    for reply in (1, 0):
        again = asker.resume(x, session.stored(), seed=1)
        for one in (session, again):
            said = np.where(one.pending.exists.sum(1) > reply, reply, 0)
            one.answer(said)
        np.testing.assert_array_equal(again.pending.action, session.pending.action)
        np.testing.assert_array_equal(again.best, session.best)
        assert again.stored() == session.stored()


@pytest.mark.parametrize(("what", "value"), [("budget", 0), ("side", 1), ("tastes", 2.5), ("worth", 1.0)])
def test_parameters_out_of_range_are_named(what, value):
    with pytest.raises(MethodError, match=f"'favourite' has {what}="):
        elicitor("favourite", **{what: value})
