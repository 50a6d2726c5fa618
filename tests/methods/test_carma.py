"""carma: one engine for all seeds, masks that are exact, files, checkpoints, models without gradients."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Outcome, Problem, Schema, Target
from wayforward.errors import FileFormatError, MethodError, ProblemError
from wayforward.methods.carma import Carma
from wayforward.methods.engines.amortised.masks import other_masks
from wayforward.preferences import Preferences
from wayforward.problem import AtLeastAsLikely, SquaredShift
from wayforward.testing import MethodContract
from wayforward.world.scm import linear_chain

torch = pytest.importorskip("torch")
QUICK = {"seeds": (1000, 2000), "epochs": 12, "batch": 64, "rate": 0.02}


class TestContract(MethodContract):
    method = "carma"
    parameters = QUICK
    worlds = ("causal",)
    finds = 0.3


def chain(n=400, **more):
    """x1 -> x2 -> x3 and a lender who looks at x3 and x2."""
    world = linear_chain(1.0, 0.5, 0.3)
    x = world.sample(n, rng=0)
    feature = [Feature(name=f"x{j}", kind="real", low=-30, high=30) for j in (1, 2, 3)]
    schema = Schema(tuple(feature))

    def decide(rows):
        return (rows[:, 1] + rows[:, 2] > 1.0).astype(np.int64)

    model = (
        wf.wrap(decide, schema, output="label", classes=(0, 1))
        if more.pop("label", False)
        else _logit(schema)
    )
    return Problem(schema, model, Target(favourable=1), data=x, world=world, cost=SquaredShift(), **more)


def _logit(schema):
    module = torch.nn.Sequential(torch.nn.Linear(3, 1)).double()
    with torch.no_grad():
        module[0].weight.copy_(torch.tensor([[0.0, 3.0, 3.0]]))
        module[0].bias.fill_(-3.0)
    return wf.wrap(module, schema, output="logit", classes=(0, 1))


@pytest.fixture(scope="module")
def problem():
    return chain()


@pytest.fixture(scope="module")
def trained(problem):
    return Carma(seeds=(1000, 2000, 3000), epochs=30, batch=64, rate=0.01).fit(problem)


def refused(problem, n=60):
    x = problem.world.sample(4 * n, rng=9)
    return x[~problem.reached(x)[0]][:n]


def test_it_learns_to_turn_decisions_cheaply(problem, trained):
    """Nearly everybody by the networks alone, and not far from what a search finds."""
    x = refused(problem)
    assert problem.reached(trained.propose(x).after)[0].mean() > 0.95
    ours, best = trained.recommend(x), wf.recommend(problem, x)
    assert ours.found.all()
    assert ours.cost.mean() < 3 * best.cost.mean()


def test_seeds_trained_together_are_what_they_are_alone(problem):
    """The second of three seeds, trained with the others and by itself: the same up to float rounding."""
    plan = {"epochs": 3, "batch": 64, "tie": 1.0}
    together = Carma(seeds=(1000, 2000, 3000), **plan).fit(problem)
    alone = Carma(seeds=(2000,), **plan).fit(problem)
    for many, one in zip(together.engine_.state(), alone.engine_.state(), strict=True):
        torch.testing.assert_close(many[1:2], one, rtol=2e-3, atol=2e-5)


def test_training_twice_gives_the_same_networks(problem):
    one, other = (Carma(seeds=(7,), epochs=2, batch=64).fit(problem) for _ in range(2))
    for a, b in zip(one.engine_.state(), other.engine_.state(), strict=True):
        assert torch.equal(a, b)


def test_forced_masks_are_acted_on_exactly(problem, trained):
    """masks name the features; what a person cannot act on stays out."""
    x = refused(problem)
    masks = np.random.default_rng(0).random(x.shape) < 0.5
    got = trained.propose(x, masks=masks)
    assert not (~np.isnan(got.action) & ~masks).any()
    frozen = Preferences.none(problem.schema, len(x)).freeze("x1")
    assert np.isnan(trained.propose(x, frozen, masks=masks).action[:, 0]).all()
    with pytest.raises(MethodError, match="masks"):
        trained.propose(x, masks=masks[:, :2])


def test_a_shift_of_the_latents_is_an_intervention(problem, trained):
    """What the networks see in training, x'(z + shift), is where do() with the proposed values leads."""
    x = refused(problem)
    engine, people = trained.engine_, problem.population(x)
    ground = engine.answering[0]
    rows = torch.as_tensor(x)
    u = ground.abduct(rows)
    shift, acted = torch.full((len(x), 3), 0.7).double(), torch.as_tensor([1.0, 0.0, 1.0]).double()
    after, _ = ground.lead(rows, u, shift, acted.expand(len(x), 3))
    action = np.where(acted.numpy() > 0, after.numpy(), np.nan)
    np.testing.assert_allclose(people.after(np.arange(len(x)), action), after.numpy(), atol=1e-9)


def test_a_world_without_latents_is_learned_through_its_consequences(problem, trained, monkeypatch):
    """Values proposed directly: the same gradients reach masks and moves."""
    monkeypatch.setattr(type(problem.world), "abduct_torch", wf.world.World.abduct_torch)
    other = Carma(seeds=(1000, 2000), epochs=30, batch=64, rate=0.01).fit(problem)
    assert other.engine_.torch_world.sets_values
    assert problem.reached(other.propose(refused(problem)).after)[0].mean() > 0.9


def test_a_model_of_labels_is_learned_by_a_stand_in():
    """The judge asks the model itself."""
    it = chain(label=True)
    got = Carma(**{**QUICK, "epochs": 30}).fit(it)
    assert got.report_.stand_in
    x = refused(it)
    answers = got.recommend(x)
    assert answers.found.mean() > 0.8
    assert it.reached(answers.after[answers.found])[0].all()


def test_population_weights_move_the_burden(problem):
    """Eq. 9: what is dear for everybody is acted on less."""
    plan = {"seeds": (1000,), "epochs": 25, "batch": 64, "rate": 0.01, "kl": 0.5}
    x = refused(problem)
    plain = Carma(**plan).fit(problem).propose(x).chance.mean(0)
    dear = Carma(**plan, weights={"x1": 10.0}).fit(problem).propose(x).chance.mean(0)
    assert dear[0] < plain[0]
    with pytest.raises(MethodError, match="x9"):
        Carma(**plan, weights={"x9": 2.0}).fit(problem)


def test_everything_forbidden_is_a_proof(problem, trained):
    x = refused(problem, 10)
    nothing = Preferences.none(problem.schema, len(x)).freeze(*problem.schema.names)
    got = trained.recommend(x, preferences=nothing)
    assert (got.outcome == Outcome.NONE_EXISTS).all()
    assert np.isnan(trained.propose(x, nothing).action).all()


def test_further_options_act_on_other_features(problem, trained):
    got = trained.recommend(refused(problem), 3, minimal=False)
    assert got.found[:, 1].mean() > 0.9
    two = got.found[:, 1]
    acts = ~np.isnan(got.action)
    assert (acts[two, 0] != acts[two, 1]).any(1).mean() > 0.9


def test_other_masks_keep_to_what_a_person_can_do():
    rng = np.random.default_rng(0)
    for a in (4, 11):
        chance, can = rng.random((50, a)), rng.random((50, a)) < 0.6
        limit = rng.integers(0, a + 1, 50)
        masks = other_masks(chance, can, limit, 9)
        assert masks.shape[1] <= 9
        assert not (masks & ~can[:, None]).any()
        assert (masks.sum(2) <= limit[:, None]).all()


# -- files, checkpoints, errors ------------------------------------------------------------------------------


def test_saved_networks_answer_the_same(problem, trained, tmp_path):
    x = refused(problem)
    file = trained.save(tmp_path / "carma.safetensors")
    again = Carma.load(file, problem)
    np.testing.assert_array_equal(again.propose(x).action, trained.propose(x).action)
    np.testing.assert_array_equal(again.recommend(x).cost, trained.recommend(x).cost)
    assert again.report_.best == trained.report_.best


def test_a_broken_file_and_another_schema_are_told_apart(problem, trained, tmp_path):
    file = trained.save(tmp_path / "carma.safetensors")
    with pytest.raises(MethodError, match="another schema"):
        names = ("x1", "x2", "x4")
        other = Schema(tuple(Feature(name=name, kind="real", low=-30, high=30) for name in names))
        Carma.load(file, Problem(other, _logit(other), problem.target, data=problem.reference))
    raw = file.read_bytes()
    for broken in (raw[: len(raw) // 2], b"hello", raw[:8] + b"\xff" * 64 + raw[72:]):
        file.write_bytes(broken)
        with pytest.raises(FileFormatError, match="carma.safetensors"):
            Carma.load(file, problem)
    with pytest.raises(FileFormatError, match="no file"):
        Carma.load(tmp_path / "none", problem)


def test_a_training_that_was_cut_off_goes_on(problem, tmp_path):
    """Interrupted in the middle, taken up again: the networks of an undisturbed training."""
    plan = {"seeds": (1, 2), "epochs": 8, "batch": 64}

    def stop(done, total):
        if done == 5:
            raise KeyboardInterrupt

    file = tmp_path / "training.safetensors"
    with pytest.raises(KeyboardInterrupt):
        Carma(**plan, checkpoint=file, progress=stop).fit(problem)
    seen = []
    on = Carma(**plan, checkpoint=file, progress=lambda done, total: seen.append(done)).fit(problem)
    assert seen == [6, 7, 8]
    whole = Carma(**plan).fit(problem)
    for a, b in zip(on.engine_.state(), whole.engine_.state(), strict=True):
        assert torch.equal(a, b)
    assert on.report_.checks == whole.report_.checks
    with pytest.raises(MethodError, match="other settings"):
        Carma(**{**plan, "epochs": 9}, checkpoint=file).fit(problem)


def test_what_cannot_be_trained_is_said(problem):
    everybody = problem.reference[problem.reference_reached]
    easy = Problem(
        problem.schema, problem.model, problem.target, data=everybody, world=linear_chain(1.0, 0.5, 0.3)
    )
    with pytest.raises(ProblemError, match="accepts everybody"):
        Carma(**QUICK).fit(easy)
    with pytest.raises(ProblemError, match="table"):
        Carma(**QUICK).fit(Problem(problem.schema, problem.model, problem.target))
    with pytest.raises(MethodError, match="epochs=0"):
        Carma(epochs=0)
    with pytest.raises(MethodError, match="seeds"):
        Carma(seeds=(1, 1))
    words = Schema((Feature(name="job", kind="categorical", levels=("a", "b")),))
    model = wf.wrap(lambda rows: rows[:, 0].astype(int), words, output="label", classes=(0, 1))
    with pytest.raises(MethodError, match="ordered level"):
        Carma(**QUICK).fit(Problem(words, model, Target(favourable=1), data=np.array([[0.0], [1.0]] * 20)))


def test_settings_can_be_searched(problem):
    """Optuna, two goals; the best of the front comes back fitted."""
    pytest.importorskip("optuna")
    seen = []
    got = Carma.tune(problem, 2, epochs=3, seeds=(1,), progress=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 2), (2, 2)]
    assert got.epochs == 3
    assert got.report_.best[2] >= 0
    with pytest.raises(MethodError, match="trials=0"):
        Carma.tune(problem, 0)


def test_plausibility_is_learned_where_the_world_tells_densities(problem):
    """More options are at least as likely as before when the loss says so."""
    x = refused(problem)
    likely = AtLeastAsLikely(problem.world).fit(problem.schema, problem.reference)
    share = {}
    for weight in (0.0, 2.0):
        got = (
            Carma(seeds=(1000, 2000), epochs=30, batch=64, rate=0.01, plausibility=weight)
            .fit(problem)
            .propose(x)
        )
        share[weight] = likely.holds(x, got.after).mean()
    assert share[2.0] > share[0.0]
