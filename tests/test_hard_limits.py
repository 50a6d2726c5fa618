"""No result of any method breaks what a person said they cannot do: frozen, ranges, levels, number of changes.

Judged here by hand, from the arrays of the answer, and not by the library's judge.
"""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from wayforward.answers import rounded
from wayforward.errors import WayforwardError
from wayforward.methods import method, methods_table, names
from wayforward.preferences import Preferences
from wayforward.recourse import Outcome, Recourse
from wayforward.testing import WORLDS, Case, case

pytest.importorskip("sklearn")

PEOPLE = 8
# So that what learns or searches a grid stays small: the fields that a method has are set to these.
SMALL = {
    "epochs": 2,
    "seeds": (0,),
    "bins": 4,
    "trials": 1,
    "finer": 0,
    "steps": 15,
    "rounds": 1,
    "samples": 200,
    "prototypes": 3,
    "values": 6,
    "learners": 10,
    "generations": 8,
    "runs": 2,
    "patience": 2,
    "work": 50_000,
    "constants": 2,
    "proposals": 96,
}


@lru_cache(maxsize=64)
def fitted(name: str, world: str):
    """A case and a method fitted to it: a linear model, or trees where it asks for them; else None."""
    made = method(name)
    own = {one.name: getattr(made, one.name) for one in fields(made)}
    small = {
        k: v
        for k, v in SMALL.items()
        # a field of another kind under the same name stays as it is
        if k in own and not isinstance(own[k], str) and isinstance(own[k], tuple) == isinstance(v, tuple)
    }
    for kind in ("linear", "forest"):
        it = case(kind, world, 1, PEOPLE)
        try:
            return it, method(name, **small).fit(it.problem)
        except WayforwardError:
            continue
    return None


@st.composite
def limits(draw, it: Case) -> Preferences:
    """Random hard limits of every kind, some of them leaving nothing to do, and weights beside them."""
    schema, x = it.problem.schema, it.x
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n = len(x)
    wish = Preferences.none(schema, n)
    share = draw(st.sampled_from([0.0, 0.3, 0.8]))
    for j in np.flatnonzero(schema.actionable):
        feature = schema.features[j]
        wish = wish.freeze(feature.name, who=rng.random(n) < share)
        some = np.flatnonzero(rng.random(n) < 0.4)
        if feature.kind == "categorical":
            wish = wish.forbid(feature.name, *rng.choice(feature.levels, 1), who=some)
        elif not feature.has_levels:
            text = draw(st.sampled_from(["+10%", "+5% of range", "+0"]))
            wish = wish.limit(feature.name, high=text, x=x, who=some)
            wish = wish.limit(feature.name, low="-15%", x=x, who=some)
        wish = wish.weigh({feature.name: rng.uniform(1, 10, n)})
    return wish.at_most(rng.integers(0, schema.d + 1, n))


def broken(got: Recourse, wish: Preferences) -> list[str]:
    """What a result breaks, in words; empty where it keeps everything."""
    schema, found = got.schema, got.found
    who = np.nonzero(found)[0]
    x, action, after = got.x[who], got.action[found], got.after[found]
    slack = 1e-9 * schema.span
    acted = ~np.isnan(action)
    differs = np.abs(after - x) > slack
    moved = acted & (np.abs(action - x) > slack)
    out = []
    if (acted & wish.frozen[who]).any():
        out.append("acts on what somebody cannot change")
    if (differs & ((after > wish.high[who] + slack) | (after < wish.low[who] - slack))).any():
        out.append("leaves somebody's range")
    for j, ok in wish.levels.items():
        if (differs[:, j] & ~ok[who, after[:, j].astype(int)]).any():
            out.append("takes a forbidden level")
    if (moved.sum(1) > wish.most[who]).any():
        out.append("changes too much")
    return out


@pytest.mark.parametrize("name", names())
@given(data=st.data(), world=st.sampled_from(WORLDS))
@settings(max_examples=4, deadline=None)
def test_no_result_breaks_a_hard_limit(name: str, data: st.DataObject, world: str) -> None:
    found = fitted(name, world)
    assume(found is not None)
    it, search = found
    wish = data.draw(limits(it))
    got = search.recommend(it.x, 2, preferences=wish, seed=1)
    assert broken(got, wish) == []
    assert broken(rounded(it.problem, got), wish) == []  # nor do the numbers that people are shown
    stuck = it.refused & ~it.problem.population(it.x, wish).may.any(1)
    assert (got.outcome[stuck, 0] == Outcome.NONE_EXISTS).all()


def test_the_hand_check_sees_what_is_broken() -> None:
    """The check is no rubber stamp: answers that were made without limits break them."""
    it = case("linear", "independent", 1, PEOPLE)
    got = method("local-search").fit(it.problem).recommend(it.x, 2)
    schema = it.problem.schema
    none = Preferences.none(schema, len(it.x))
    everything = [schema.names[j] for j in np.flatnonzero(schema.actionable)]
    assert broken(got, none) == []
    assert "acts on what somebody cannot change" in broken(got, none.freeze(*everything))
    assert "changes too much" in broken(got, none.at_most(0))
    tight = none
    for j in np.flatnonzero(schema.actionable & ~schema.has_levels):
        tight = tight.limit(schema.names[j], low="-0%", high="+0%", x=it.x)
    assert "leaves somebody's range" in broken(got, tight)


def test_every_registered_method_is_asked() -> None:
    """A method that joins the table joins the test above, which fails where it answers in none of the worlds."""
    assert {row["name"] for row in methods_table()} == set(names())
