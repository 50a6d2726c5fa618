"""icarma: formulas of the paper, masks that are exact, networks that see what people say."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Outcome, Problem, Schema, Target
from wayforward.density.nets import bernoulli, kl_bernoulli
from wayforward.errors import FileFormatError, MethodError, PreferencesError
from wayforward.methods.carma import Carma
from wayforward.methods.icarma import PRESETS, ICarma
from wayforward.preferences import PreferenceLaw, Preferences, score_priors, score_weights
from wayforward.problem import SquaredShift
from wayforward.testing import MethodContract
from wayforward.world.scm import linear_chain

torch = pytest.importorskip("torch")
QUICK = {"seeds": (1000,), "epochs": 10, "batch": 64, "rate": 0.02}


class TestContract(MethodContract):
    method = "icarma"
    parameters = QUICK
    worlds = ("independent",)
    finds = 0.3


@pytest.fixture(scope="module")
def problem():
    """x1 -> x2 -> x3 and a lender who adds x2 and x3."""
    world = linear_chain(1.0, 0.5, 0.3)
    schema = Schema(tuple(Feature(name=f"x{j}", kind="real", low=-30, high=30) for j in (1, 2, 3)))
    module = torch.nn.Sequential(torch.nn.Linear(3, 1)).double()
    with torch.no_grad():
        module[0].weight.copy_(torch.tensor([[0.0, 3.0, 3.0]]))
        module[0].bias.fill_(-3.0)
    model = wf.wrap(module, schema, output="logit", classes=(0, 1))
    people = world.sample(400, rng=0)
    return Problem(schema, model, Target(favourable=1), data=people, world=world, cost=SquaredShift())


@pytest.fixture(scope="module")
def trained(problem):
    return ICarma(seeds=(1000, 2000), epochs=60, batch=64, rate=0.01).fit(problem)


@pytest.fixture(scope="module")
def refused(problem):
    x = problem.world.sample(240, rng=9)
    return x[~problem.reached(x)[0]][:80]


# -- formulas --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("linear", (1, 4, 7, 10)),
        ("convex", (1, 2, 5, 10)),
        ("concave", (1, 6.196, 8.348, 10)),
        ("constant", (1,) * 4),
    ],
)
def test_weights_of_four_ranks(problem, profile, expected):
    """Eqs. 4, 11, 12 with K = 4 and w_max = 10, and the networks' own view of them."""
    np.testing.assert_allclose(score_weights([1, 2, 3, 4], 4, profile=profile), expected, atol=5e-4)
    method = ICarma(law=lambda n, rng: (np.tile([1.0, 2.0, 3.0], (n, 1)), 4), profile=profile)
    wish, may = method._law(problem)(5, np.random.default_rng(0))
    np.testing.assert_allclose(1 + 9 * wish[0], expected[:3], atol=5e-4)
    assert may.all()


def test_priors_fall_as_the_weights_rise(problem):
    """Eq. 14, the same in `score_priors` and in the engine."""
    method = ICarma(seeds=(1,), profile="convex")
    engine = method._engine(problem)
    np.testing.assert_allclose(score_priors([1, 2, 3, 4], 4), (0.5, 0.35, 0.2, 0.05))
    t = torch.tensor([0.0, 1 / 3, 2 / 3, 1.0])
    expected = score_priors([1, 2, 3, 4], 4, profile="convex")
    np.testing.assert_allclose(engine._prior(t**2).numpy(), expected, atol=1e-6)


def test_masks_are_bernoulli_by_the_gumbel_trick():
    """Logistic noise: the law and the gradient of two logits with Gumbel noise and a softmax at temperature tau."""
    g = torch.Generator().manual_seed(0)
    logits = torch.tensor([0.3, -0.8], dtype=torch.float64)  # class 0, class 1
    gumbel = -torch.log(-torch.log(torch.rand(200_000, 2, generator=g, dtype=torch.float64)))
    logit = (logits[1] - logits[0]).requires_grad_(True)
    ours = bernoulli(logit, gumbel[:, 1] - gumbel[:, 0], 0.36)
    theirs = (logits + gumbel).argmax(1)
    assert (ours.detach() == theirs).double().mean() > 0.9999  # rounding where the two are equal
    assert abs(ours.mean().item() - torch.sigmoid(logit).item()) < 0.005
    own = logits.clone().requires_grad_(True)
    soft = torch.softmax((own + gumbel) / 0.36, 1)[:, 1]
    (slope,) = torch.autograd.grad(ours.sum(), logit)
    (expected,) = torch.autograd.grad(soft.sum(), own)
    torch.testing.assert_close(slope, expected[1])


def test_kl_of_masks_against_the_library():
    q, p = torch.tensor([0.9, 0.2, 0.5]), torch.tensor([0.5, 0.05, 0.5])
    made = torch.distributions.kl_divergence(
        torch.distributions.Bernoulli(q), torch.distributions.Bernoulli(p)
    )
    torch.testing.assert_close(kl_bernoulli(torch.logit(q), p), made)


def test_printed_presets_are_the_published_numbers():
    """Appendices C.2.4 and C.3.3; our own presets keep what does not fight with our additions."""
    ranks, scores = ICarma.loan_ranks(printed=True), ICarma.loan_scores(printed=True)
    gmsc = ICarma.gmsc(printed=True)
    assert (ranks.batch, ranks.epochs, ranks.rate, ranks.margin, ranks.tau) == (128, 450, 0.005, 0.013, 0.36)
    assert (ranks.cost, ranks.kl, ranks.plausibility, ranks.feasibility) == (1.1, 1.5, 0.225, 0.1)
    assert (ranks.cap, ranks.implausible, ranks.schedule) == (np.inf, "hinge", "constant")
    assert (scores.epochs, scores.rate, scores.action_layers, scores.plausibility) == (900, 0.001, 4, 0.125)
    assert (gmsc.batch, gmsc.epochs, gmsc.kl, gmsc.mask_width) == (256, 400, 1.1, 32)
    assert ranks.seeds == tuple(range(1000, 11_000, 1000))
    assert ICarma.loan_ranks(epochs=3).epochs == 3
    assert ICarma.loan_scores().tau == 0.49
    assert len(PRESETS) == 6
    with pytest.raises(MethodError, match="preset"):
        ICarma(preset="loans")


# -- people ----------------------------------------------------------------------------------------------------


def test_what_somebody_cannot_change_is_never_acted_on(problem, trained, refused):
    """Hard limits are exact: for every mask, in proposals and in answers."""
    for can in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 0, 0]):
        wish = Preferences.from_yes_no(problem.schema, np.tile(can, (len(refused), 1)))
        proposal, got = trained.propose(refused, wish), trained.recommend(refused, 2, preferences=wish)
        closed = np.array(can) == 0
        assert np.isnan(proposal.action[:, closed]).all()
        assert (proposal.chance[:, closed] == 0).all()
        assert np.isnan(got.action[..., closed]).all()
        if not any(can):
            assert (got.outcome == Outcome.NONE_EXISTS).all()


def test_masks_in_training_are_exact(problem):
    """b is 0 wherever the drawn preferences forbid it, whatever the networks say."""
    engine = ICarma(**QUICK)._engine(problem)
    engine.start()
    _, noise, wish, may = engine.draws(0)
    logit = engine.decide(engine.mask, engine.train.z[None], wish, may)
    acted = bernoulli(logit + 50, noise, 0.36) * may
    assert ((acted == 0) == (may == 0)).all()


def test_networks_answer_what_people_say(problem, trained, refused):
    """Somebody for whom x2 is hardest acts on it less than somebody for whom it is easiest."""
    n = len(refused)
    share = {}
    for rank in (1, 3):
        ranks = np.tile([3.0 if rank == 1 else 1.0, float(rank), 2.0], (n, 1))
        said = Preferences.from_rankings(problem.schema, ranks, profile="linear")
        got = trained.propose(refused, said)
        moved = np.nan_to_num(np.abs(got.action - refused))[:, 1]
        share[rank] = moved.mean()
    assert share[3] < share[1]


def test_most_people_are_helped_by_the_networks_alone(problem, trained, refused):
    assert problem.reached(trained.propose(refused).after)[0].mean() > 0.9
    law = PreferenceLaw("ranks", threshold="random")
    said = law.draw(problem.schema, len(refused), np.random.default_rng(1))
    assert trained.recommend(refused, preferences=said).found.mean() > 0.85


def test_limits_on_how_far_are_kept(problem, trained, refused):
    """The networks do not see ranges; their answers stay within them."""
    wish = Preferences.none(problem.schema, len(refused)).limit("x2", high=0.5).at_most(1)
    got = trained.propose(refused, wish)
    assert not (got.action[:, 1] > 0.5 + 1e-9).any()
    assert ((~np.isnan(got.action)).sum(1) <= 1).all()


# -- laws, files, tuning -----------------------------------------------------------------------------------------


def test_a_law_of_ones_own_and_scores(problem):
    """Scores 1 to 4 or cannot; a function; a law that draws nonsense is told so."""
    scores = PreferenceLaw("scores", levels=4, cannot=True, profile="concave")
    wish, may = ICarma(law=scores, profile=None)._law(problem)(500, np.random.default_rng(0))
    assert may.any(1).all()
    np.testing.assert_allclose(np.unique(wish), [0, 3**-0.5, (2 / 3) ** 0.5, 1], atol=1e-9)
    with pytest.raises(PreferencesError, match="shape"):
        ICarma(**QUICK, law=lambda n, rng: (np.ones((n, 7)), 2)).fit(problem)
    with pytest.raises(MethodError, match="profile"):
        ICarma(profile="steep")
    with pytest.raises(MethodError, match="prior_max"):
        ICarma(prior_min=0.9)


def test_printed_settings_are_read_back(problem, refused, tmp_path):
    """Their multiplier has no cap; a file says so, too."""
    assert ICarma(cap=np.inf).cap == np.inf
    method = ICarma.loan_ranks(printed=True, seeds=(1000,), epochs=1).fit(problem)
    again = ICarma.load(method.save(tmp_path / "printed.safetensors"), problem)
    assert again.parameters()["cap"] == np.inf and again.plan() == method.plan()
    np.testing.assert_array_equal(again.propose(refused).action, method.propose(refused).action)


def test_saved_networks_answer_the_same(problem, trained, refused, tmp_path):
    file = trained.save(tmp_path / "icarma.safetensors")
    again = ICarma.load(file, problem)
    said = PreferenceLaw("ranks", profile="linear").draw(
        problem.schema, len(refused), np.random.default_rng(2)
    )
    np.testing.assert_array_equal(again.propose(refused, said).action, trained.propose(refused, said).action)
    assert again.law == trained.law
    with pytest.raises(MethodError, match="icarma"):
        Carma.load(file, problem)
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(FileFormatError, match="icarma.safetensors"):
        ICarma.load(file, problem)
