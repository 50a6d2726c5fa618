"""Problem(robust=...): conditions that the judge and every search obey, against closed forms and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import wayforward as wf
from wayforward import Feature, Outcome, Schema, Target
from wayforward.errors import ProblemError
from wayforward.methods.local_search import LocalSearch
from wayforward.problem import AllModels, Problem, Robust, Stable, UnderNoise, WithinDelta
from wayforward.testing import case

SAME = ("action", "after", "cost", "score", "outcome")


def plane(d=3, high=1.0):
    return Schema(tuple(Feature(name=f"x{j}", kind="real", low=0, high=high) for j in range(d)))


RNG = np.random.default_rng(0)
X = RNG.uniform(size=(600, 3))
Y = (X @ [1.5, -0.5, 1.0] + 0.2 * RNG.normal(size=600) > 1.0).astype(int)
REFUSED = X[:80][(X[:80] @ [1.5, -0.5, 1.0] < 0.85)]


@pytest.fixture(scope="module")
def models():
    return {
        "linear": make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y),
        "network": make_pipeline(
            StandardScaler(), MLPClassifier((8, 6), max_iter=400, random_state=0, activation="tanh")
        ).fit(X, Y),
        "forest": RandomForestClassifier(30, min_samples_leaf=5, random_state=0).fit(X, Y),
    }


def problem(model, robust=None, target=None, **more):
    return Problem(plane(), model, target or Target(1), data=X, robust=robust, **more)


def answers(model, robust, method="local-search", **more):
    return wf.recommend(problem(model, robust), REFUSED, method=method, **more)


# -- within delta --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["linear", "network"])
@pytest.mark.parametrize("method", ["local-search", "wachter", "growing-spheres"])
def test_delta_zero_is_the_plain_problem(models, kind, method):
    """For searches by scans, by slopes and by shells; a lowered score may round differently in the last bit."""
    if method == "local-search":  # in lockstep, as whatever asks for more than a yes is searched
        method = LocalSearch(compiled=False)
    one, other = answers(models[kind], None, method), answers(models[kind], WithinDelta(0.0), method)
    for name in SAME[:-1]:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12)
    assert (one.outcome == other.outcome).all()


def perturbed(pipeline, delta, m, corners, seed=0):
    """(m) score functions of models whose weights lie within delta, some of them in its corners."""
    rng = np.random.default_rng(seed)
    scaler, head = pipeline[0], pipeline[-1]
    weights = [head.coef_.T] if hasattr(head, "coef_") else head.coefs_
    biases = [head.intercept_] if hasattr(head, "coef_") else head.intercepts_

    def draw(a):
        shift = rng.uniform(-1, 1, size=a.shape)
        return a + delta * (np.sign(shift) if corners else shift)

    for _ in range(m):
        w, b = [draw(a) for a in weights], [draw(a) for a in biases]

        def score(x, w=w, b=b):
            h = scaler.transform(x)
            for i, (one, bias) in enumerate(zip(w, b, strict=True)):
                h = h @ one + bias
                h = np.tanh(h) if i + 1 < len(w) else h
            return h[:, 0]

        yield score


@pytest.mark.parametrize(("kind", "delta"), [("linear", 0.1), ("network", 0.02)])
def test_robust_options_stay_a_yes_under_a_thousand_weights(models, kind, delta):
    """Jiang et al. (2023): every model within delta; plain options do not stand it."""
    got, plain = answers(models[kind], WithinDelta(delta)), answers(models[kind], None)
    assert got.found[:, 0].mean() > 0.9
    assert (got.cost[got.found[:, 0], 0] >= plain.cost[got.found[:, 0], 0] - 1e-9).all()
    broken = 0
    for corners in (False, True):
        for score in perturbed(models[kind], delta, 500, corners):
            assert (score(got.after[got.found]) > 0).all()
            broken += int((score(plain.after[plain.found]) <= 0).any())
    assert broken > 100


def test_the_linear_bound_is_exact(models):
    """The worst corner is a model, and its score is the bound."""
    it = problem(models["linear"], WithinDelta(0.1))
    rows = X[:50]
    scaler, head = models["linear"]
    code = scaler.transform(rows)
    worst = code @ head.coef_[0] + head.intercept_[0] - 0.1 * (np.abs(code).sum(1) + 1)
    np.testing.assert_allclose(it.robust.worst(rows), worst, atol=1e-9)
    for norm, size in (("linf", np.abs(code).sum(1)), ("l2", np.sqrt((code**2).sum(1)))):
        told = WithinDelta(0.1, norm, bias=False).fit(it)
        worst = code @ head.coef_[0] + head.intercept_[0] - 0.1 * size
        np.testing.assert_allclose(told.worst(rows), worst, atol=1e-9)


def test_the_network_bound_is_below_every_draw_and_grows_tight(models):
    """Sound for random weights; for a tiny delta equal to the plain score to first order."""
    it = problem(models["network"])
    plain = it.bound_target.score(it.model.outputs(X[:50]))
    bound = WithinDelta(0.05).fit(it).worst(X[:50])
    for score in perturbed(models["network"], 0.05, 200, True):
        assert (score(X[:50]) >= bound - 1e-9).all()
    np.testing.assert_allclose(WithinDelta(1e-9).fit(it).worst(X[:50]), plain, atol=1e-5)


def test_the_bound_takes_the_side_that_is_wanted(models):
    """Favourable class 0: the greatest margin is the worst."""
    it = problem(models["linear"], target=Target(0))
    plain = it.bound_target.score(it.model.outputs(X[:50]))
    assert (WithinDelta(0.1).fit(it).worst(X[:50]) < plain).all()


def test_several_classes_and_regressions_are_bounded():
    """Softmax of three against its worst corner, and both sides of an interval."""
    three = np.digitize(X @ [1.5, -0.5, 1.0], [0.8, 1.3])
    model = LogisticRegression(max_iter=500).fit(X, three)
    it = problem(model, target=Target(2))
    worst = WithinDelta(0.05).fit(it).worst(X[:40])
    rng = np.random.default_rng(1)
    for _ in range(300):
        z = X[:40] @ (model.coef_ + 0.05 * np.sign(rng.normal(size=model.coef_.shape))).T
        z += model.intercept_ + 0.05 * np.sign(rng.normal(size=3))
        assert (z[:, 2] - z[:, :2].max(1) >= worst - 1e-9).all()
    line = LinearRegression().fit(X, X @ [1.0, 1.0, 0.0])
    it = Problem(plane(), line, Target(interval=(0.5, 1.0)), data=X)
    value = line.predict(X[:40])
    reach = 0.05 * (X[:40].sum(1) + 1)
    np.testing.assert_allclose(
        WithinDelta(0.05).fit(it).worst(X[:40]),
        np.minimum(value - reach - 0.5, 1.0 - value - reach),
        atol=1e-9,
    )


def test_delta_is_measured(models):
    """The largest delta that holds, in closed form for a linear score."""
    it = problem(models["linear"])
    scaler, head = models["linear"]
    rows = X[Y == 1][:30]
    rows = rows[it.reached(rows)[0]]
    code = scaler.transform(rows)
    most = (code @ head.coef_[0] + head.intercept_[0]) / (np.abs(code).sum(1) + 1)
    told = WithinDelta(0.1).fit(it).measure(it, rows, rows, rows)
    np.testing.assert_allclose(told, most, atol=1e-3)


def test_models_without_weights_are_refused(models):
    """The message says what to use instead."""
    with pytest.raises(ProblemError, match="AllModels"):
        problem(models["forest"], WithinDelta(0.1))


# -- all models ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["local-search", "wachter", "nearest-observable", "dice", "face"])
def test_every_model_of_the_list_says_yes(models, method):
    """Leofante et al. (2023): a flip for each of a set of models, whatever searches."""
    others = [models["network"], models["forest"]]
    got, plain = answers(models["linear"], AllModels(others), method), answers(models["linear"], None, method)
    assert got.found[:, 0].mean() > 0.9
    for model in others:
        assert (model.predict(got.after[got.found]) == 1).all()
    assert not all((model.predict(plain.after[plain.found]) == 1).all() for model in others)


def test_nobody_can_please_models_that_disagree(models):
    """A model that accepts nobody: no option, and no proof unless the plain problem has one."""
    schema = plane()
    never = wf.wrap(lambda x: np.zeros(len(x)), schema, classes=(0, 1), output="probability")
    got = answers(models["linear"], AllModels([never]))
    assert not got.found.any()
    assert (got.outcome[~got.accepted] == Outcome.NOT_FOUND).all()


def test_a_proof_about_the_plain_problem_stays_one(models):
    """Out of reach for today's model is out of reach for more than that."""
    wishes = wf.Preferences.none(plane(), len(REFUSED)).freeze("x0", "x2")
    for robust in (None, WithinDelta(0.05), AllModels([models["forest"]])):
        got = answers(models["linear"], robust, preferences=wishes)
        if robust is None:
            proved = got.outcome[:, 0] == Outcome.NONE_EXISTS
            assert proved.any()
        assert (got.outcome[proved, 0] == Outcome.NONE_EXISTS).all()


# -- under noise ---------------------------------------------------------------------------------------------


def test_the_invalidation_rate_of_the_paper():
    """PROBE (2023), arXiv:2203.06768: f = 1, |w| = sqrt 5, sigma = .5 -> .1855; here on ranges of 1."""
    model = LogisticRegression().fit(X[:, :2], Y)
    model.coef_, model.intercept_ = np.array([[2.0, 1.0]]), np.zeros(1)
    it = Problem(plane(2), model, Target(1))
    row = np.array([[0.3, 0.4]])
    told = UnderNoise(0.5, on="numbers").fit(it)
    assert 1 - told.measure(it, row, row, row)[0] == pytest.approx(0.1855, abs=1e-4)


@pytest.mark.parametrize("kind", ["linear", "network", "forest"])
def test_options_hold_when_carried_out_with_errors(models, kind):
    """Counted on errors that no search has seen: nine in ten, where plain options hold one time in two."""
    if kind == "forest":
        robust = UnderNoise(0.05, share=0.8, draws=40)
    else:
        robust = UnderNoise(0.05, share=0.9)
    got, plain = answers(models[kind], robust), answers(models[kind], None)
    assert got.found[:, 0].mean() > 0.9
    rng = np.random.default_rng(5)

    def chance(r):
        at = r.found[:, 0]
        after, acted = r.after[at, 0], r.acted[at, 0]
        noisy = after + acted * rng.normal(size=(1000, *after.shape)) * 0.05
        yes = models[kind].predict(np.clip(noisy, 0, 1).reshape(-1, 3)).reshape(1000, -1)
        return yes.mean(0)

    assert (chance(got) > robust.share - 0.1).all()
    assert chance(got).mean() > robust.share - 0.005
    assert chance(plain).mean() < 0.8


def test_a_linear_probability_is_exact_and_the_search_ends_at_it(models):
    """No dearer than asked for: the probability of the cheapest option is the share itself."""
    it = problem(models["linear"], UnderNoise(0.05, share=0.9))
    got = wf.recommend(it, REFUSED)
    at = got.found[:, 0]
    told = it.robust.measure(it, got.x[at], got.action[at, 0], got.after[at, 0])
    assert (told >= 0.9 - 1e-9).all()
    assert np.median(told) < 0.91


def test_errors_go_through_a_causal_world():
    """What follows from an error follows; the answer is robust in the world, for different methods."""
    it = case("linear", "causal", 0, 40)
    robust = Problem(
        it.problem.schema, it.problem.model, it.problem.target, data=it.problem.reference,
        world=it.problem.world, robust=UnderNoise(0.03, share=0.8, draws=40),
    )  # fmt: skip
    for method in ("local-search", "wachter"):
        got, plain = (wf.recommend(p, it.x, method=method) for p in (robust, it.problem))
        assert got.found[:, 0].mean() > 0.6 * plain.found[:, 0].mean()
        who = got.found[:, 0]
        told = robust.robust.measure(robust, got.x[who], got.action[who, 0], got.after[who, 0])
        assert (told >= 0.8 - 1e-9).all()


def test_a_person_alone_gets_the_same_answer(models):
    """Draws belong to the person, not to the batch."""
    for robust in (UnderNoise(0.05, draws=30, closed=False), Stable(0.3, 0.05, draws=30), WithinDelta(0.02)):
        it = problem(models["network"], robust)
        method = wf.method("local-search").fit(it)
        everyone = method.recommend(REFUSED)
        for i in (0, 7):
            np.testing.assert_array_equal(method.recommend(REFUSED[i : i + 1]).action[0], everyone.action[i])


# -- stable --------------------------------------------------------------------------------------------------


def test_the_stability_of_a_constant_is_the_constant():
    """Hamman et al. (2023), arXiv:2305.11997: nothing varies, nothing is taken off."""
    schema = plane()
    flat = wf.wrap(lambda x: np.full(len(x), 0.7), schema, classes=(0, 1), output="probability")
    it = Problem(schema, flat, Target(1), data=X)
    for kind in ("trex", "robx"):
        told = Stable(0.5, 0.1, kind).fit(it).measure(it, X[:5], X[:5], X[:5])
        np.testing.assert_allclose(told, 0.7)


def test_stable_options_are_stable(models):
    """Each found option has the stability that was asked for, and plain ones do not."""
    robust = Stable(0.55, 0.05, draws=40)
    got, plain = answers(models["forest"], robust), answers(models["forest"], None)
    it = problem(models["forest"], robust)

    def told(r):
        at = r.found[:, 0]
        return it.robust.measure(it, r.x[at], r.action[at, 0], r.after[at, 0])

    assert got.found[:, 0].mean() > 0.9
    assert (told(got) >= 0.55).all()
    assert (told(plain) < 0.55).mean() > 0.5


@pytest.mark.parametrize(
    "robust",
    [
        UnderNoise(0.08, share=0.8, on="numbers", closed=False),
        UnderNoise(0.08, share=0.3, on="numbers", draws=30, closed=False),
        Stable(0.5, 0.08),
        Stable(0.4, 0.08, "robx", draws=40),
    ],
    ids=lambda r: f"{r.name} {r.draws}",
)
@pytest.mark.parametrize("kind", ["network", "forest"])
def test_draws_that_cannot_help_are_left_out(models, kind, robust):
    """A search stops drawing early, never turns a row that all draws keep into a no, and asks for fewer rows."""
    it = problem(models[kind], robust)
    rows = X[it.reached(X)[0]]
    people, who = it.population(rows), np.arange(len(rows))
    shown = []
    outputs, native = type(people).drawn_outputs, it.model.outputs
    people.drawn_outputs = lambda who, rows: (shown.append(len(who)), outputs(people, who, rows))[1]
    it.model.outputs = lambda rows: (shown.append(len(rows)), native(rows))[1]
    score = it.robust.score(people, who, rows, rows, it.bound_target.score(people.outputs(who, rows)))
    told = it.robust.measure(it, rows, rows, rows)
    spare = (
        np.ceil(0.5 * np.sqrt(robust.draws * 0.25)) / robust.draws if robust.name == "under-noise" else 0.0
    )
    asked = robust.share if robust.name == "under-noise" else robust.tau
    del it.model.outputs
    assert (told[score > 0] >= asked).all()
    few = max(robust.draws // 10, 10)
    hopeful = told > asked + spare + 1e-6
    lost = hopeful & (score <= 0)
    assert lost.mean() < 0.02  # by the first tenth of the draws, far below what is asked for
    assert hopeful.sum() > 20
    assert sum(shown) < (few + 1 + 0.9 * robust.draws) * len(rows) or hopeful.mean() > 0.8


def test_a_row_that_no_draw_can_save_is_no_longer_drawn(models):
    """All draws but the first stage are left out for people far from a yes."""
    it = problem(models["forest"], UnderNoise(0.05, on="numbers"))
    rows = X[~it.reached(X)[0]]
    people, who = it.population(rows), np.arange(len(rows))
    shown = []
    outputs = type(people).drawn_outputs
    people.drawn_outputs = lambda who, rows: (shown.append(len(who)), outputs(people, who, rows))[1]
    score = people.score(who, rows)
    assert (score <= 0).all()
    assert sum(shown) == 10 * len(rows)


# -- together, errors, meta ----------------------------------------------------------------------------------


def test_conditions_add_up_and_are_told(models):
    """A list of conditions holds all of them; the answer's meta says which; rounding for people keeps them."""
    it = problem(models["linear"], [WithinDelta(0.05), AllModels([models["forest"]]), UnderNoise(0.03)])
    got = wf.recommend(it, REFUSED)
    at = got.found[:, 0]
    assert at.mean() > 0.9
    for part in it.robust.parts:
        assert part.holds(it, got.x[at], got.action[at, 0], got.after[at, 0]).all()
    assert "within 0.05" in got.meta["robust"]
    assert "other model" in got.meta["robust"]
    from wayforward.problem.rounding import rounded

    told = rounded(it, got)
    assert it.robust.holds(it, told.x[at], told.action[at, 0], told.after[at, 0]).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda m: WithinDelta(-1), "delta"),
        (lambda m: WithinDelta(0.1, "l3"), "norm"),
        (lambda m: problem(m["network"], WithinDelta(0.1, "l2")), "linear"),
        (lambda m: AllModels([]), "no model"),
        (lambda m: AllModels("lr"), "list"),
        (lambda m: problem(m["linear"], AllModels([LinearRegression().fit(X, Y)])), "class|regression"),
        (lambda m: UnderNoise(-0.1), "sigma"),
        (lambda m: UnderNoise(0.1, share=1.5), "share"),
        (lambda m: UnderNoise(0.1, draws=2), "draws"),
        (lambda m: problem(m["linear"], UnderNoise({"height": 0.1})), "height"),
        (lambda m: problem(m["forest"], UnderNoise(0.1, closed=True)), "closed"),
        (lambda m: Stable(1.5), "tau"),
        (lambda m: problem(m["linear"], "very"), "robust"),
        (lambda m: Robust.of([1, 2]), "robust"),
    ],
)
def test_what_makes_no_sense_is_named(models, make, words):
    """With the value and the next step."""
    with pytest.raises(wf.WayforwardError, match=words):
        make(models)


def test_observed_people_who_last_come_first(models):
    """Methods that start from accepted people start from those whose yes is robust."""
    plain, robust = problem(models["linear"]), problem(models["linear"], WithinDelta(0.2))
    assert 0 < len(robust.reference_accepted) < len(plain.reference_accepted)
    assert (robust.robust.worst(robust.reference_accepted) > 0).all()
