"""Proofs that no recourse exists are sound: brute force over small lattices never contradicts one."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from wayforward.methods import method as make_method
from wayforward.model import wrap
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target
from wayforward.problem.proofs import out_of_reach, settled
from wayforward.recourse import Outcome
from wayforward.schema import Feature, Schema
from wayforward.world import SCM
from wayforward.world.scm import BoundSCM

sklearn = pytest.importorskip("sklearn")


def lattice(schema, free):
    axes = [
        np.arange(schema.low[j], schema.high[j] + 1) if free[j] else np.array([np.nan])
        for j in range(schema.d)
    ]
    return np.array(list(itertools.product(*axes)))


def trained(kind, schema, x, y, seed):
    from wayforward.model import train

    if kind == "xgb":
        xgboost = pytest.importorskip("xgboost")
        return xgboost.XGBClassifier(n_estimators=40, max_depth=3, random_state=seed, n_jobs=1).fit(x, y)
    if kind == "lgbm":
        lightgbm = pytest.importorskip("lightgbm")
        return lightgbm.LGBMClassifier(n_estimators=40, max_depth=3, n_jobs=1, verbose=-1).fit(x, y)
    return train(kind, schema, x, y, seed=seed)


def make(seed, kind):
    rng = np.random.default_rng(seed)
    schema = Schema(
        (
            Feature(name="a", kind="integer", low=0, high=6),
            Feature(name="b", kind="integer", low=0, high=6, direction="increase"),
            Feature(name="c", kind="categorical", levels=("x", "y", "z")),
            Feature(name="d", kind="ordinal", levels=("l", "m", "h"), direction="decrease"),
            Feature(name="e", kind="integer", low=0, high=9, actionability="immutable"),
        ),
        ("after.a + after.b <= 9",) if seed % 2 else (),
    )
    x = np.column_stack(
        [
            rng.integers(0, 7, 300),
            rng.integers(0, 7, 300),
            rng.integers(0, 3, 300),
            rng.integers(0, 3, 300),
            rng.integers(0, 10, 300),
        ]
    ).astype(float)
    score = x @ np.array([0.4, 0.5, 0.3, -0.4, 0.6]) + rng.normal(0, 0.5, 300)
    y = (score > np.quantile(score, 0.75)).astype(int)
    return schema, x, trained(kind, schema, x, y, seed)


def exists_by_force(problem, people):
    """(n,) bool: every action on the lattice, holding a value where it is included, judged by the model itself."""
    schema, out = problem.schema, np.zeros(people.n, dtype=bool)
    for i in range(people.n):
        axes = [
            [np.nan, *np.arange(schema.low[j], schema.high[j] + 1)] if people.may[i, j] else [np.nan]
            for j in range(schema.d)
        ]
        action = np.array(list(itertools.product(*axes)))[1:]
        who = np.full(len(action), i)
        if problem.independent:
            action = np.where(schema.differs(action, people.x[who]), action, np.nan)
        after = people.after(who, action)
        ok = people.allowed(who, action, after) & ~np.isnan(action).all(1)
        out[i] = bool(ok.any() and problem.reached(np.unique(after[ok], axis=0))[0].any())
    return out


@pytest.mark.parametrize("kind", ["lr", "rf", "mlp", "gb"])
@pytest.mark.parametrize("seed", [0, 1])
def test_proofs_agree_with_brute_force(kind, seed):
    schema, x, pipeline = make(seed, kind)
    problem = Problem(schema, pipeline, Target(1), data=x)
    refused = x[~problem.reached(x)[0]][:60]
    people = problem.population(
        refused, Preferences.none(schema, len(refused)).freeze("a", who=list(range(0, 60, 3)))
    )
    proved = out_of_reach(people)
    exists = np.zeros(len(refused), dtype=bool)
    for i in range(len(refused)):
        actions = lattice(schema, people.free[i])
        who = np.full(len(actions), i)
        after = people.after(who, actions)
        ok = people.allowed(who, actions, after)
        exists[i] = bool(ok.any() and problem.reached(after[ok])[0].any())
    assert not (proved & exists).any()
    assert (proved | exists).mean() > 0.9  # and it settles nearly all of these small cases
    if kind != "mlp":
        assert proved.any()


@pytest.mark.parametrize("kind", ["lr", "rf", "mlp", "gb", "xgb", "lgbm"])
def test_a_threshold_that_a_row_attains_is_never_disproved(kind):
    """The best score that somebody can reach is the threshold, to the last bit of the model's own precision."""
    schema, x, model = make(1, kind)
    base = Problem(schema, model, Target(1), data=x)
    some = base.population(x[:25])
    highest = np.zeros(some.n)
    for i in range(some.n):
        action = lattice(schema, some.free[i])
        who = np.full(len(action), i)
        after = some.after(who, action)
        highest[i] = base.model.native(after[some.allowed(who, action, after)])[0][:, 1].max()
    for level in np.unique(highest)[::4]:
        problem = Problem(schema, base.model, Target(1, threshold=float(level)))
        refused = np.flatnonzero(~problem.reached(x[:25])[0])
        proved = out_of_reach(problem.population(x[refused]))
        np.testing.assert_array_equal(proved, highest[refused] < level)


@pytest.mark.parametrize("kind", ["rf", "xgb", "mlp"])
def test_every_impossible_case_of_a_small_lattice_is_proved(kind):
    """With rules and every kind of wish, the number of changes among them; and alone as in any batch."""
    schema, x, model = make(3, kind)
    problem = Problem(schema, model, Target(1, margin=0.2), data=x)
    refused = x[~problem.reached(x)[0]][:60]
    wish = Preferences.none(schema, len(refused)).freeze("a", who=list(range(0, 60, 3))).limit("b", high=5)
    wish = wish.at_most(1, who=list(range(0, 60, 2))).at_most(2, who=[1, 5, 9])
    people = problem.population(refused, wish)
    before = problem.model.counter.native_rows
    proved = out_of_reach(people)
    assert problem.model.counter.native_rows - before < 20 * people.n
    np.testing.assert_array_equal(proved, ~exists_by_force(problem, people))
    assert proved.any() and not proved.all()
    turned = np.random.default_rng(0).permutation(people.n)
    np.testing.assert_array_equal(out_of_reach(people.take(turned)), proved[turned])
    alone = [out_of_reach(people.take(np.array([i])))[0] for i in range(12)]
    np.testing.assert_array_equal(alone, proved[:12])


def test_a_proof_stays_however_long_the_others_take(monkeypatch):
    """Somebody proved with many boxes is not taken back while others are still searched."""
    from wayforward.problem import proofs

    monkeypatch.setattr(proofs, "_TIGHT_BOXES", 6)
    monkeypatch.setattr(proofs, "none_among_all", lambda people, most: np.zeros(people.n, dtype=bool))
    schema, x, model = make(1, "mlp")
    problem = Problem(schema, model, Target(1), data=x)
    people = problem.population(x[~problem.reached(x)[0]][:64])
    alone = [out_of_reach(people.take(np.array([i])))[0] for i in range(people.n)]
    np.testing.assert_array_equal(out_of_reach(people), alone)
    assert any(alone) and not all(alone)


def test_a_model_without_bounds_is_asked_about_every_action():
    """A function that nobody can look into: all of few actions are tried, of many none."""
    schema, x, _ = make(1, "lr")
    decide = wrap(lambda r: (r.sum(1) > 15).astype(int), schema, output="label", classes=(0, 1))
    problem = Problem(schema, decide, Target(1), data=x)
    people = problem.population(x[~problem.reached(x)[0]][:20])
    np.testing.assert_array_equal(out_of_reach(people), ~exists_by_force(problem, people))
    assert out_of_reach(people).any()
    wide = Schema(
        (Feature(name="a", kind="real", low=0, high=1), Feature(name="b", kind="integer", low=0, high=9))
    )
    never = wrap(lambda r: np.zeros(len(r), dtype=int), wide, output="label", classes=(0, 1))
    assert not out_of_reach(Problem(wide, never, Target(1)).population(np.array([[0.5, 3.0]]))).any()


@pytest.mark.parametrize("links", [("a drags e by 0.5", "b drags a by -0.7"), ()])
@pytest.mark.parametrize("kind", ["lr", "rf"])
def test_what_follows_is_part_of_a_proof(kind, links):
    """Linked rules, and a causal world: every impossible case of a small lattice, and no other."""
    schema, x, model = make(1, kind)
    movable = tuple(replace(f, actionability="mutable") if f.name == "e" else f for f in schema.features)
    schema = Schema(movable, ("after.a + after.b <= 9", *links))
    world = None if links else SCM({"a": "u", "b": "0.4 * a + u", "d": "u", "e": "0.5 * b - (d == 'h') + u"})
    problem = Problem(schema, wrap(model, schema), Target(1, threshold=0.7), data=x, world=world)
    people = problem.population(x[~problem.reached(x)[0]][:24])
    proved = out_of_reach(people)
    np.testing.assert_array_equal(proved, ~exists_by_force(problem, people))
    assert proved.any() and not proved.all()


def test_rules_alone_can_prove_it():
    schema = Schema((Feature(name="a", kind="integer", low=0, high=6),), ("after.a >= before.a + 3",))
    problem = Problem(
        schema, wrap(lambda r: (r[:, 0] > 2).astype(int), schema, output="label", classes=(0, 1)), Target(1)
    )
    people = problem.population(np.array([[0.0], [2.0]]), Preferences.none(schema, 2).limit("a", high=2))
    assert out_of_reach(people).tolist() == [True, True]


def allowed_yes(problem, x, actions):
    """Whether one of the actions (m, d) is a way forward for the person x (1, d), by the judge alone."""
    return bool(problem.check(np.repeat(x, len(actions), axis=0), actions[:, None]).found.any())


def test_standing_between_two_steps_is_not_split_away():
    schema = Schema(
        (
            Feature(name="pay", kind="real", low=0, high=10, step=1),
            Feature(name="years", kind="integer", low=0, high=9),
        )
    )
    rng = np.random.default_rng(0)
    data = np.column_stack([rng.uniform(0, 10, 3000), rng.integers(0, 10, 3000)])
    from sklearn.tree import DecisionTreeClassifier

    y = ((data[:, 0] > 2.2) & (data[:, 0] < 2.8) & (data[:, 1] > 5)).astype(int)
    problem = Problem(schema, DecisionTreeClassifier(random_state=0).fit(data, y), Target(1), data=data)
    for pay in (2.3, 2.5, 2.7):
        x = np.array([[pay, 2.0]])
        assert allowed_yes(problem, x, np.array([[np.nan, 8.0]]))
        assert not out_of_reach(problem.population(x)).any()


def test_a_missing_value_may_stay_missing():
    schema = Schema(
        (
            Feature(name="a", kind="integer", low=0, high=6, missing=True),
            Feature(name="b", kind="integer", low=0, high=9),
        ),
        ("after.a >= 4",),
    )
    decide = wrap(lambda r: (r[:, 1] > 5).astype(int), schema, output="label", classes=(0, 1))
    problem, x = Problem(schema, decide, Target(1)), np.array([[np.nan, 2.0]])
    wish = Preferences.none(schema, 1).limit("a", high=2)
    assert problem.check(x, np.array([[[np.nan, 8.0]]]), preferences=wish).found.all()
    assert not out_of_reach(problem.population(x, wish)).any()


@pytest.mark.parametrize("seed", range(12))
def test_whose_value_is_missing_may_do_something_else_and_leave_it_so(seed):
    """Every action tried: nobody with a way has a proof, most without one do. Of 1,100 proofs 199 were false."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

    rng = np.random.default_rng(seed)
    told = ("may be told", True)[seed % 2]
    schema = Schema(
        (
            Feature(name="a", kind="integer", low=0, high=4),
            Feature(name="b", kind="binary", levels=("no", "yes"), missing=told),
            Feature(name="c", kind="ordinal", levels=("x", "y", "z"), missing=told),
            Feature(name="d", kind="integer", low=0, high=2, missing=told),
        )
    )
    top = np.array([4, 1, 2, 2])
    data = rng.integers(0, top + 1, (200, 4)).astype(float)
    data[:, 1:][rng.random((200, 3)) < 0.35] = np.nan
    score = np.where(np.isnan(data), 2 * rng.normal(size=4), np.nan_to_num(data) * rng.normal(size=4)).sum(1)
    kind = RandomForestClassifier(5, max_depth=4, random_state=0)
    if seed % 3:
        kind = HistGradientBoostingClassifier(max_iter=int(rng.integers(3, 12)), min_samples_leaf=3)
    problem = Problem(schema, kind.fit(data, score > np.quantile(score, 0.9)), Target(True), data=data)
    x = data[~problem.reached(data)[0] & np.isnan(data).any(1)][:12]
    people = problem.population(x)
    action = np.array(list(itertools.product(*([np.nan, *range(n + 1)] for n in top))))[1:]
    exists = np.array([allowed_yes(problem, x[[i]], action) for i in range(len(x))])
    proved = out_of_reach(people)
    assert not (proved & exists).any()
    assert (proved | exists).mean() >= 0.9


@pytest.mark.parametrize("method", ["local-search", "actionable-recourse"])
@pytest.mark.parametrize("known", [True, False])
def test_nothing_is_proved_beyond_the_range_that_was_seen(known, method):
    from sklearn.linear_model import LogisticRegression

    from wayforward.methods import recommend

    schema = Schema((Feature(name="a", kind="real"), Feature(name="b", kind="integer", low=0, high=9)))
    rng = np.random.default_rng(0)
    data = np.column_stack([rng.uniform(0, 10, 400), rng.integers(0, 10, 400)])
    model = LogisticRegression(C=0.01).fit(data, data[:, 0] > 9.5)
    if not known and method == "actionable-recourse":
        pytest.skip("needs a reference")
    problem = Problem(schema, model, Target(True, threshold=0.95), data=data if known else None)
    x = np.array([[2.0, 2.0]])
    assert allowed_yes(problem, x, np.array([[100.0, np.nan]]))
    wish = Preferences.none(schema, 1).freeze("b")
    for wishes in (None, wish):
        assert recommend(problem, x, method=method, preferences=wishes).outcome[0, 0].name != "NONE_EXISTS"
    assert recommend(problem, x, preferences=wish.limit("a", high=5)).outcome[0, 0].name == "NONE_EXISTS"


@pytest.mark.parametrize("kind", ["lr", "rf"])
@pytest.mark.parametrize("soft", [False, True])
def test_amounts_in_a_causal_world_are_proved_by_bounds(kind, soft):
    """No list of actions: boxes are led through the equations. Random actions, and a search, find nobody proved."""
    from wayforward.methods import recommend
    from wayforward.testing.worlds import WORLD_SCHEMA, sample_people, sample_world

    rng = np.random.default_rng(1)
    x = sample_people(400, 1)
    score = x @ np.array([0.02, 1, 0.05, 0.05, -0.1, 0.05]) + rng.normal(0, 1, 400)
    model = trained(kind, WORLD_SCHEMA, x, (score > np.quantile(score, 0.7)).astype(int), 0)
    problem = Problem(WORLD_SCHEMA, model, Target(1, threshold=0.8), data=x, world=sample_world(soft))
    refused = x[~problem.reached(x)[0]][:40]
    wish = Preferences.none(WORLD_SCHEMA, len(refused)).freeze("course", "income")
    room = np.where(
        np.isin(WORLD_SCHEMA.names, ["savings", "debt"]), rng.uniform(2, 30, (len(refused), 1)), np.inf
    )
    wish = replace(wish, low=np.round(refused - room), high=np.round(refused + room))
    people = problem.population(refused, wish)
    proved = out_of_reach(people)
    found = recommend(problem, refused, preferences=wish).found[:, 0]
    everybody = np.arange(people.n)
    for _ in range(60):
        share = np.where(
            rng.random(people.x.shape) < 0.4, rng.integers(0, 2, people.x.shape), rng.random(people.x.shape)
        )
        action = people.low + share * (people.high - people.low)
        action = people.snap(everybody, np.where(rng.random(action.shape) < 0.6, action, np.nan))
        after = people.after(everybody, action)
        good = people.allowed(everybody, action, after)
        found[good] |= problem.reached(after[good])[0]
    assert not (proved & found).any()
    assert proved.sum() >= 0.9 * (~found).sum() and found.any() and proved.any()


def test_a_world_without_bounds_lets_everything_move_that_may():
    """Nothing is known of what follows, so that any legal value counts; the rest still decides."""
    schema = Schema(
        tuple(
            Feature(
                name=name,
                kind="real",
                low=0,
                high=10,
                actionability="actionable" if name == "a" else "mutable",
            )
            for name in "abc"
        )
    )

    class Silent(BoundSCM):
        bounded = False

        def bind(self, schema):
            return Silent(self.scm, schema)

    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, (400, 3))
    x[:, 1] = x[:, 0] / 2
    model = LogisticRegression().fit(x, (x @ [1, 1, 3] > 30).astype(int))
    scm = SCM({"a": "u", "b": "0.5 * a + u", "c": "u"})
    problem = Problem(schema, model, Target(1), data=x, world=Silent(scm, schema))
    rows = np.array([[2.0, 1.0, 7.0], [2.0, 1.0, 0.5]])  # c stays: nobody can act on it
    assert not problem.reached(rows)[0].any()
    assert out_of_reach(problem.population(rows)).tolist() == [False, True]
    assert allowed_yes(problem, rows[:1], np.array([[9.0, np.nan, np.nan]]))


def wide(seed=0):
    """A net of two hidden layers on more rows than anybody would list, and the best that four people can reach."""
    from sklearn.neural_network import MLPClassifier

    rng = np.random.default_rng(seed)
    free = tuple(Feature(name=name, kind="integer", low=0, high=15) for name in "abcd")
    schema = Schema((*free, Feature(name="e", kind="integer", low=0, high=9, actionability="immutable")))
    x = np.column_stack([rng.integers(0, 16, (600, 4)), rng.integers(0, 10, 600)]).astype(float)
    y = np.sin(x[:, 0] / 3) + np.abs(x[:, 1] - 8) / 4 - x[:, 2] * x[:, 3] / 60 + x[:, 4] / 5 > 2.5
    net = MLPClassifier((32, 32), max_iter=60, learning_rate_init=0.02, random_state=seed).fit(x / 10, y)
    net.coefs_ = [net.coefs_[0] / 5, 2 * net.coefs_[1], net.coefs_[2]]
    model = wrap(net, schema)
    people = x[[int(np.flatnonzero(x[:, 4] == e)[0]) for e in (0, 3, 6, 9)]]
    rows = np.array(list(itertools.product(range(16), repeat=4)), dtype=float)
    best = [model.native(np.column_stack([rows, np.full(len(rows), e)]))[0][:, 1].max() for e in people[:, 4]]
    return schema, model, people, np.array(best)


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_nets_on_more_rows_than_can_be_listed(seed):
    """65,536 rows each, tried by force: who cannot reach a threshold, somebody's best score itself, is proved."""
    schema, model, people, best = wide(seed)
    for level in np.unique(best[best < 1]):
        problem = Problem(schema, model, Target(1, threshold=float(level)))
        refused = np.flatnonzero(~problem.reached(people)[0])
        proved, way = settled(problem.population(people[refused]))
        np.testing.assert_array_equal(proved, best[refused] < level)
        there = np.flatnonzero(~np.isnan(way).all(1))
        if there.size:
            assert problem.check(people[refused[there]], way[there, None]).found.all()


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_a_way_that_only_bounds_lead_to():
    """A yes in a ball of 1/500 of each range, beside a plateau where no slope shows where it is."""
    from sklearn.neural_network import MLPClassifier

    schema = Schema(tuple(Feature(name=name, kind="real", low=0, high=1) for name in "abc"))
    data = np.random.default_rng(0).uniform(0, 1, (50, 3))
    net = MLPClassifier((6, 1), max_iter=1).fit(data, np.arange(50) % 2)
    fold = np.repeat(np.eye(3), 2, axis=1) * np.tile([1.0, -1.0], 3)
    net.coefs_ = [fold, np.full((6, 1), -500.0), np.ones((1, 1))]
    net.intercepts_ = [-(np.array([0.317, 0.741, 0.893]) @ fold), np.ones(1), np.array([-0.5])]
    problem = Problem(schema, wrap(net, schema), Target(1), data=data)
    got = make_method("local-search").fit(problem).recommend(data[:3], budget=4000)
    assert got.found.all()
    assert (np.abs(got.after[:, 0] - [0.317, 0.741, 0.893]) < 0.002).all()


@pytest.mark.parametrize("layers", [1, 2, "rectified", "two outputs"])
def test_a_net_in_single_precision_attains_its_best_scores(layers):
    """What rounds to a score in float32 is no proof against it; one float above the best is out of reach."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    schema = Schema(
        (
            Feature(name="a", kind="integer", low=0, high=6),
            Feature(name="year", kind="integer", low=400, high=408),
            Feature(name="c", kind="real", low=0, high=1, step=0.25),
        )
    )
    net = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
    if layers == 1:
        net = torch.nn.Sequential(torch.nn.Linear(3, 1))
    elif layers != 2:
        relu, last = torch.nn.ReLU(), torch.nn.Linear(6, 2 if layers == "two outputs" else 1)
        net = torch.nn.Sequential(torch.nn.Linear(3, 6), relu, torch.nn.Linear(6, 6), relu, last)
    with torch.no_grad():  # a large part that cancels out: what a sum in single precision loses most on
        net[0].bias -= 404 * net[0].weight[:, 1]
    model = wrap(net, schema)
    assert model.bounded
    rows = lattice(schema, np.ones(3, dtype=bool))
    score = model.native(rows)[0][:, 1]
    x = rows[[score.argmin()]]
    best = np.sort(np.unique(score))[-12:]
    for level in best:
        problem = Problem(schema, model, Target(1, threshold=float(level)))
        assert not out_of_reach(problem.population(x)).any()
    wish = Preferences.none(schema, 1).limit("a", high=int(x[0, 0])).freeze("c")
    inside = (rows[:, 0] <= x[0, 0]) & (rows[:, 2] == x[0, 2])
    beyond = Target(1, threshold=float(np.nextafter(score[inside].max(), 1)))
    assert out_of_reach(Problem(schema, model, beyond).population(x, wish)).all()


@pytest.mark.parametrize("kind", ["ordinal", "integer", "real"])
def test_who_stands_beyond_their_own_limit_may_hold_it_there(kind):
    """Doing b lowers a, which is to stay high; the limit, which the person is beyond already, allows no move of a."""
    level = {"levels": ("k", "l", "m", "n")} if kind == "ordinal" else {"low": 0, "high": 3}
    features = (
        Feature(name="a", kind=kind, direction="increase", step=1.0 if kind == "real" else None, **level),
        Feature(name="b", kind="integer", low=0, high=3),
    )

    def high_a_and_b(rows):
        yes = (rows[:, 0] > 1.5) & (rows[:, 1] > 1.5)
        return np.column_stack([~yes, yes]).astype(float)

    schema = Schema(features, ("b drags a by -1",))
    problem = Problem(schema, wrap(high_a_and_b, schema), Target(favourable=1))
    person, wish = (
        np.array([[2.0, 0.0]]),
        Preferences.none(schema, 1).limit("a", high="l" if kind == "ordinal" else 1),
    )
    judged = problem.check(person, np.array([[[2.0, 2.0]]]), 1, preferences=wish)
    assert judged.found[0, 0]  # what stays as it is is no move, so that the judge takes it
    got = make_method("local-search").fit(problem).recommend(person, preferences=wish)
    assert got.outcome[0, 0] is Outcome.FOUND and got.after[0, 0].tolist() == [2.0, 2.0]


@pytest.mark.parametrize("kind", ["ordinal", "integer", "real"])
def test_who_stands_at_the_end_of_a_range_may_hold_it_there(kind):
    """Doing b lowers a, which may only go up and is at its top already: the only way is b with a held where it is."""
    level = {"levels": ("k", "l", "m", "n")} if kind == "ordinal" else {"low": 0, "high": 3}
    features = (
        Feature(name="a", kind=kind, direction="increase", step=1.0 if kind == "real" else None, **level),
        Feature(name="b", kind="integer", low=0, high=3),
    )

    def high_a_and_b(rows):
        yes = (rows[:, 0] > 2.5) & (rows[:, 1] > 1.5)
        return np.column_stack([~yes, yes]).astype(float)

    schema = Schema(features, ("b drags a by -1",))
    problem = Problem(schema, wrap(high_a_and_b, schema), Target(favourable=1))
    method = make_method("local-search").fit(problem)
    got = method.recommend(np.array([[3.0, 0.0]]))
    assert got.outcome[0, 0] is Outcome.FOUND and got.after[0, 0].tolist() == [3.0, 2.0]
    frozen = Preferences.none(schema, 1).freeze("a")
    assert method.recommend(np.array([[3.0, 0.0]]), preferences=frozen).outcome[0, 0] is Outcome.NONE_EXISTS
