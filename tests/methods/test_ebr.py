"""ebr: the product of two normals, what people may change, budgets, groups that have no density."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Problem, Schema, Target
from wayforward.errors import DataError, MethodError, ProblemError
from wayforward.groups import Groups
from wayforward.methods.ebr import Ebr
from wayforward.preferences import Preferences
from wayforward.schema import SchemaWarning
from wayforward.testing import MethodContract, case

pytest.importorskip("torch")


class TestContract(MethodContract):
    method = "ebr"
    parameters = {"groups": "region", "proposals": 48, "rounds": 5, "density": "kernel", "beta": 0.1}
    finds = 0.35


@pytest.mark.parametrize("world", ["independent", "causal"])
def test_densities_by_networks_answer_a_person_alone_as_among_others(world):
    """The contract looks at densities by kernels, which are fitted at once."""
    it = case("network", world, 0, 16)
    method = Ebr(groups="region", proposals=48, rounds=5).fit(it.problem)
    got = method.recommend(it.x, 2, seed=3)
    assert got.found[it.refused, 0].mean() > 0.3
    order = np.random.default_rng(1).permutation(16)[:9]
    for who in (order, np.flatnonzero(it.refused)[1:2]):
        again = method.recommend(it.x[who], 2, seed=3)
        np.testing.assert_array_equal(again.action, got.action[who])
        np.testing.assert_array_equal(again.cost, got.cost[who])


LINE = Schema((Feature(name="a", kind="real", low=-20, high=20),))


def line(n: int = 1500, *, far: float = 1.0, g: int = 2) -> tuple[Problem, Groups]:
    """Accepted people of group i are N((2i - 1) far, 1); the refused stand at -12 and below."""
    rng = np.random.default_rng(0)
    centre = np.linspace(-far, far, g)
    member = np.r_[np.repeat(np.arange(g), n), rng.integers(0, g, 100)]
    x = np.r_[centre.repeat(n) + rng.normal(size=g * n), rng.uniform(-19, -12, 100)][:, None]
    model = wf.wrap(lambda r: (r[:, 0] > -10).astype(np.int64), LINE, output="label", classes=(0, 1))
    return Problem(LINE, model, Target(1), data=x), Groups("side", tuple("abcdef"[:g]), member)


@pytest.mark.parametrize("density", ["mixture", "kernel", "flow"])
def test_draws_follow_the_product_of_two_normals(density):
    """P0 = N(-1, 1), P1 = N(1, 1): what is kept has mean 0 and variance 1/2.

    Gao & Lakkaraju (2023), ICML, Algorithm 1, steps 2 and 3, with beta 0.
    """
    problem, groups = line()
    method = Ebr(groups=groups, density=density, beta=0.0, beta_scale="absolute", enough=200).fit(problem)
    got = method.recommend(np.linspace(-19, -13, 6)[:, None], 2000)
    kept = got.after[got.found][:, 0]
    assert len(kept) > 1000
    assert kept.mean() == pytest.approx(0.0, abs=0.12)
    assert kept.var() == pytest.approx(0.5, abs=0.1)


def test_more_draws_are_left_where_groups_are_alike():
    """Everybody gets the same proposals: of q = (P0 + P1) / 2 the share that rejection keeps is integral P0 P1 / max.

    For N(-m, 1) and N(m, 1) that is exp(-m m) / (2 sqrt(pi)) over the middle density exp(-m m / 2) / sqrt(2 pi).
    """
    share = {}
    for far in (0.1, 2.0):
        problem, groups = line(far=far)
        method = Ebr(groups=groups, beta=0.0, beta_scale="absolute", proposals=2048, rounds=1).fit(problem)
        got = method.recommend(np.linspace(-19, -13, 8)[:, None], 2000)
        share[far] = got.found.sum(1).mean() / 2048
        expected = np.exp(-(far**2) / 2) / np.sqrt(2)
        assert share[far] == pytest.approx(expected, rel=0.35)
    assert share[0.1] > 4 * share[2.0]


def test_three_groups_meet_in_the_middle():
    """N(-1, 1) N(0, 1) N(1, 1) is N(0, 1/3)."""
    problem, groups = line(g=3)
    method = Ebr(groups=groups, beta=0.0, beta_scale="absolute", enough=300).fit(problem)
    got = method.recommend(np.linspace(-19, -13, 6)[:, None], 2000)
    kept = got.after[got.found][:, 0]
    assert kept.mean() == pytest.approx(0.0, abs=0.12)
    assert kept.var() == pytest.approx(1 / 3, abs=0.1)


def test_more_beta_costs_more_and_stays_above():
    """Higher density for both groups is dearer to reach.

    Gao & Lakkaraju (2023), ICML, section 6.4 and Table 5.
    """
    problem, groups = line()
    x = np.linspace(-19, -13, 40)[:, None]
    cost = []
    for beta in (0.05, 0.3, 0.6, 0.9):
        method = Ebr(groups=groups, beta=beta).fit(problem)
        got = method.recommend(x)
        assert got.found.all()
        assert method.density_.above(got.after[:, 0], beta).all()
        cost.append(got.cost[:, 0].mean())
    assert (np.diff(cost) > 0).all()


def test_the_scales_of_beta_are_what_they_say():
    """'absolute' in densities of shares of the range, 'relative' to the greatest, 'mass' of the product itself."""
    problem, groups = line()
    density = Ebr(groups=groups).fit(problem).density_
    grid = np.linspace(-3, 3, 601)[:, None]
    log = density.log_product(grid)
    true = np.log(1600) - np.log(2 * np.pi) - 1 - grid[:, 0] ** 2  # the range is 40 wide
    assert abs(log - true)[np.abs(grid[:, 0]) < 1].max() < 0.4
    np.testing.assert_array_equal(density.above(grid, 50.0, "absolute"), log > np.log(50.0))
    high = density.threshold(grid, 0.5, "relative")
    assert high == pytest.approx(log.max() + np.log(0.5), abs=0.05)
    inside = density.above(grid, 0.3, "mass")
    share = np.exp(log) / np.exp(log).sum()
    assert share[inside].sum() == pytest.approx(0.7, abs=0.06)


def test_polished_options_stay_above_beta_and_are_not_dearer():
    problem, groups = line()
    x = np.linspace(-19, -13, 30)[:, None]
    plain = Ebr(groups=groups).fit(problem)
    less = Ebr(groups=groups, shrink=True).fit(problem)
    a, b = plain.recommend(x), less.recommend(x)
    assert less.density_ is plain.density_  # fitted once for a problem
    assert less.density_.above(b.after[:, 0], 0.3).all()
    assert (b.cost[:, 0] <= a.cost[:, 0] + 1e-12).all()
    assert b.cost[:, 0].mean() < a.cost[:, 0].mean()


def test_limits_and_levels_of_the_person_hold_inside_the_search():
    """What is put back counts: every option is still likely in all groups, as it stands."""
    it = case("network", "independent", 0, 40)
    schema = it.problem.schema
    wish = Preferences.none(schema, len(it.x)).allow("housing", "rent", "free").freeze("phone").at_most(3)
    method = Ebr(groups="region", beta=0.1, proposals=128, rounds=6).fit(it.problem)
    got = method.recommend(it.x, 2, preferences=wish)
    who, slot = np.nonzero(got.found)
    assert (~np.isnan(got.action[who, slot])).sum(1).max() <= 3
    assert np.isnan(got.action[who, slot, schema.index("phone")]).all()
    j = schema.index("housing")
    assert (got.after[who, slot, j][~np.isnan(got.action[who, slot, j])] != 1).all()
    assert method.density_.above(got.after[who, slot], 0.1).all()
    assert got.found[it.refused, 0].mean() > 0.5


def test_the_budget_counts_model_rows():
    it = case("network", "independent", 0, 40)
    method = Ebr(groups="region", proposals=128, rounds=5).fit(it.problem)
    before = it.problem.model.counter.rows
    method.recommend(it.x, budget=20)
    assert it.problem.model.counter.rows - before <= 22 * len(it.x)


def test_nearest_by_the_root_of_squares():
    """Steps 4: the L2 distance in shares of the ranges; the options of both measures are among the same draws."""
    it = case("network", "independent", 0, 24)
    own = {"groups": "region", "proposals": 128, "rounds": 5}
    got = [Ebr(**own, nearest=how).fit(it.problem).recommend(it.x) for how in ("cost", "l2")]
    both = got[0].found[:, 0] & got[1].found[:, 0]
    far = [
        np.sqrt(
            (np.nan_to_num((g.after[both, 0] - g.x[both]) / it.problem.schema.span) ** 2)[
                :, it.problem.schema.ordered
            ].sum(1)
            + (g.after[both, 0] != g.x[both])[:, ~it.problem.schema.ordered].sum(1)
        )
        for g in got
    ]
    assert (far[1] <= far[0] + 1e-9).all()
    assert (got[0].cost[both, 0] <= got[1].cost[both, 0] + 1e-9).all()


# -- groups ----------------------------------------------------------------------------------------------------


def society(kinds: int = 2) -> tuple[Schema, np.ndarray]:
    rng = np.random.default_rng(0)
    schema = Schema(
        (
            Feature(name="sex", kind="categorical", levels=("f", "m", "x"), actionability="immutable"),
            Feature(name="title", kind="categorical", levels=("Ms", "Mr", "Mx"), actionability="immutable"),
            Feature(name="age", kind="integer", low=18, high=80, actionability="immutable"),
            Feature(name="pay", kind="real", low=0, high=10),
        )
    )
    sex = rng.integers(0, kinds, 300)
    return schema, np.c_[sex, sex, rng.integers(18, 81, 300), rng.uniform(0, 10, 300) * 0.8 + sex].astype(
        float
    )


def asked(schema, x, yes=lambda r: r[:, 3] > 5) -> Problem:
    model = wf.wrap(lambda r: yes(r).astype(np.int64), schema, output="label", classes=(0, 1))
    return Problem(schema, model, Target(1), data=x)


def test_what_tells_the_group_by_itself_is_not_shown():
    """Labels from outside that a feature tells: the feature would ask a group about people whom it does not have."""
    schema, x = society()
    labels = Groups.of("gender", np.where(x[:, 0] == 1, "man", "woman"))
    density = Ebr(groups=labels, density="kernel").fit(asked(schema, x)).density_
    assert [n for n, h in zip(schema.names, density.hidden, strict=True) if h] == ["sex", "title"]
    assert density.given.tolist() == [False, False, True, False]


def test_the_attribute_may_be_unknown_to_the_model_or_unknown_of_some():
    schema, x = society()
    labels = np.random.default_rng(1).choice(["north", "south", None], 300)
    with pytest.warns(SchemaWarning, match="no label for 'side'"):
        groups = Groups.of("side", labels)
    problem = asked(schema, x)
    got = Ebr(groups=groups, density="kernel").fit(problem)
    assert got.density_.accepted.sum() == (problem.reference_reached & (groups.member >= 0)).sum()
    assert got.recommend(x[:20]).found[~problem.reached(x[:20])[0], 0].all()


def test_an_empty_group_is_named_and_left_out():
    schema, x = society()
    with pytest.warns(SchemaWarning, match="'x' of 'sex'"):
        density = Ebr(groups="sex", density="kernel").fit(asked(schema, x)).density_
    assert density.names == ("f", "m")


def test_a_group_without_accepted_people_has_no_density():
    schema, x = society()
    problem = asked(schema, x, lambda r: (r[:, 3] > 5) & (r[:, 0] == 1))
    with (
        pytest.warns(SchemaWarning),
        pytest.raises(ProblemError, match="'f' of 'sex' has nobody whom the model accepts"),
    ):
        Ebr(groups="sex").fit(problem)


def test_a_group_of_one_needs_kernels():
    schema, x = society()
    x[7] = [2, 2, 40, 9.0]
    problem = asked(schema, x)
    with pytest.raises(ProblemError, match=r"'x' of 'sex' has 1 accepted people.*too few.*kernel"):
        Ebr(groups="sex").fit(problem)
    got = Ebr(groups="sex", density="kernel", beta=0.1).fit(problem)
    assert got.density_.accepted.tolist()[2] == 1
    assert got.recommend(x[:30]).found.any()


@pytest.mark.parametrize(
    ("groups", "error", "words"),
    [
        ("age", DataError, "cut="),
        ("colour", DataError, "no feature 'colour'"),
        (None, ProblemError, "no feature is sensitive"),
        (Groups("side", ("a", "b"), np.zeros(5, int)), DataError, "groups 5 people"),
        (3, MethodError, "the name of a feature, or wayforward.groups.Groups"),
    ],
)
def test_what_is_no_group_is_told(groups, error, words):
    schema, x = society()
    with pytest.raises(error, match=words):
        Ebr(groups=groups).fit(asked(schema, x))


def test_the_sensitive_feature_is_the_default():
    it = case("linear", "independent", 0, 24)
    assert len(Ebr(density="kernel").fit(it.problem).density_.names) >= 3


def test_nothing_that_may_change_is_no_balance():
    schema = Schema(
        (
            Feature(name="a", kind="binary", levels=(0, 1)),
            Feature(name="b", kind="real", low=0, high=1, actionability="immutable"),
        )
    )
    x = np.random.default_rng(0).random((50, 2)).round()
    problem = asked(schema, x, lambda r: r[:, 1] > 0.5)
    with pytest.raises(ProblemError, match="No feature but 'a' may change"):
        Ebr(groups="a", density="kernel").fit(problem)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"beta": -0.1}, "beta=-0.1"),
        ({"beta": 1.0}, "less than 1"),
        ({"beta_scale": "log"}, "mass, relative, absolute"),
        ({"density": "histogram"}, "mixture, kernel, flow"),
        ({"nearest": "far"}, "cost, l2"),
        ({"rounds": 0}, "rounds=0"),
        ({"proposals": 1}, "proposals=1"),
    ],
)
def test_settings_that_cannot_be_are_told(parameters, words):
    with pytest.raises(MethodError, match=words):
        Ebr(**parameters)
