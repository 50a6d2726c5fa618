"""The parts of evolution by hand: who is repeated, roulette, where values come from, budgets."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward import Preferences, Problem, Target
from wayforward.methods import method
from wayforward.methods.engines import breeding
from wayforward.methods.engines.population import Evolution, Values, by_chance, crossed, repeated, united
from wayforward.streams import Streams
from wayforward.testing import case

NAN = np.nan


def test_of_the_same_action_the_better_one_counts():
    key = np.array([[7, 5, 7, 7, 5]])
    worth = np.array([[2.0, 1, 1, 2, 1]])
    assert repeated(key, worth).tolist() == [[True, False, False, True, True]]


def test_roulette_gives_everyone_their_share():
    share = (np.arange(1000) + 0.5) / 1000
    place = by_chance(np.array([[1.0, 0, 3]]), share[None])
    assert np.bincount(place[0]).tolist() == [250, 0, 750]


def test_crossing_takes_what_is_left_alone_too():
    one, other = np.array([[[1.0, NAN, 3]]]), np.array([[[NAN, 5.0, 6]]])
    swap = np.array([[[True, False, True]]])
    np.testing.assert_array_equal(crossed(one, other, swap), [[[NAN, NAN, 6]]])
    np.testing.assert_array_equal(united(one, other), [[[1, 5, 3]]])


def test_observed_values_come_as_often_as_people_have_them_and_within_wishes():
    it = case("linear", "independent", 0, 40)
    schema = it.problem.schema
    x = it.x[it.x[:, schema.index("income")] < 1500][:1]
    wish = Preferences.none(schema, 1).limit("income", high=4000.0).forbid("housing", "own")
    people = it.problem.population(x, wish)
    values = Values(people, it.problem.reference, observed=True)
    share, zero = (np.arange(400) + 0.5) / 400, np.zeros(400, dtype=np.int64)
    income, housing = schema.index("income"), schema.index("housing")
    drawn = values.draw(zero, np.full(400, income), share)
    column = it.problem.reference[:, income]
    reach = column[(column >= people.low[0, income]) & (column <= people.high[0, income])]
    assert len(reach) > 5 and np.isin(drawn, reach).all() and (drawn <= 4000).all()
    often = np.array([(drawn == value).mean() - (reach == value).mean() for value in np.unique(reach)])
    assert np.abs(often).max() <= 1 / 400 + 1e-9
    levels = values.draw(zero, np.full(400, housing), share)
    assert not np.isin(levels, [x[0, housing], schema["housing"].levels.index("own")]).any()


def test_a_budget_is_kept_to_the_row_and_nothing_is_shown_twice():
    it = case("linear", "independent", 0, 40)
    x = it.x[it.refused][:3]
    people = Problem(it.problem.schema, it.problem.model, Target(1), data=it.problem.reference).population(x)
    at = np.arange(3)
    search = Evolution(people, Streams.of(x, 0), people.rows + 1 + np.array([50, 5, 0]), 4)
    values = Values(people, None, observed=False)
    income = np.zeros((3, 20, people.d), dtype=bool)
    income[:, :, people.schema.index("income")] = True
    action = search.drawn(at, values, income, 0)
    found = search.evaluate(at, np.concatenate([action, action], axis=1))
    assert found.there.sum(1)[1:].tolist() == [5, 0]
    distinct = len(
        np.unique(people.snap(np.zeros(20, dtype=np.int64), action[0])[:, people.schema.index("income")])
    )
    assert people.rows[0] - 1 <= distinct
    assert (people.rows <= 1 + np.array([50, 5, 0])).all()


@pytest.mark.parametrize("name", ["geco", "certifai", "permute-attack", "moc"])
def test_so_many_people_at_once_as_fit_into_memory(name, monkeypatch):
    it = case("linear", "independent", 0, 24)
    small = {"generations": 4} if name != "geco" else {"rounds": 2}
    fitted = method(name, **small).fit(it.problem)
    whole = fitted.recommend(it.x, 2)
    sizes, bred = [], type(fitted)._bred

    def counted(self, people, *rest):
        sizes.append(people.n)
        return bred(self, people, *rest)

    monkeypatch.setattr(type(fitted), "_bred", counted)
    monkeypatch.setattr(breeding, "_CELLS", 5 * fitted._width(it.problem.schema.d) * it.problem.schema.d)
    parts = fitted.recommend(it.x, 2)
    assert max(sizes) == 5 and len(sizes) > 1
    np.testing.assert_array_equal(parts.action, whole.action)
    assert parts.meta["model_rows"] == whole.meta["model_rows"]
