"""Generative models: typed heads, held-out bounds, what is given, what a label subspace holds back, files."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Problem, Schema, Target
from wayforward.errors import FileFormatError, MethodError, ProblemError
from wayforward.streams import Streams

torch = pytest.importorskip("torch")

from wayforward.density.generative import Coding, Identity, load_generator, save_generator  # noqa: E402
from wayforward.density.generative.adversary import Adversary  # noqa: E402
from wayforward.problem.learned import fit_generator  # noqa: E402

KINDS = ("vae", "cvae", "chvae", "csvae")


def mixed() -> Schema:
    """Every kind of feature; two of them may be missing; `group` never changes."""
    return Schema(
        (
            Feature(name="group", kind="binary", levels=(0, 1), actionability="immutable"),
            Feature(name="height", kind="real", low=-10, high=10),
            Feature(name="money", kind="real", low=0, high=1e6),
            Feature(name="count", kind="integer", low=0, high=100, missing=True),
            Feature(name="grade", kind="ordinal", levels=("a", "b", "c", "d"), missing=True),
            Feature(name="place", kind="categorical", levels=("x", "y", "z")),
        )
    )


def draw(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    hidden = rng.normal(size=n)  # what the features have in common
    height = 2 * group - 1 + 0.7 * hidden + 0.5 * rng.normal(size=n)
    money = np.exp(7 + hidden + 0.3 * rng.normal(size=n))
    count = rng.poisson(np.exp(1 + 0.3 * hidden)).astype(float)
    count[rng.random(n) < 0.2] = np.nan
    grade = np.digitize(hidden + 0.5 * rng.normal(size=n), [-1, 0, 1]).astype(float)
    grade[rng.random(n) < 0.1] = np.nan
    place = np.where(rng.random(n) < 0.6, np.where(hidden > 0, 0, 1), 2)
    return np.stack([group, height, money, count, grade, place], axis=1)


@pytest.fixture(scope="module")
def problem() -> Problem:
    schema = mixed()

    def yes(rows: np.ndarray) -> np.ndarray:
        return (rows[:, 1] > 0).astype(np.int64)

    return Problem(schema, wf.wrap(yes, schema, output="label", classes=(0, 1)), Target(1), data=draw(2400))


@pytest.mark.parametrize("kind", KINDS)
def test_the_held_out_bound_improves_and_beats_independent_features(problem, kind):
    report = fit_generator(kind, problem, epochs=25).report
    assert report.bounds[-1] > report.bounds[0] + 1
    assert report.bound > report.baseline + 0.3
    assert report.held_out == 480
    assert report.rows == 1920
    assert report.to_dict()["bounds"][report.best] == report.bound


@pytest.mark.parametrize("kind", ["vae", "chvae"])
def test_typed_heads_recover_the_marginals(problem, kind):
    """Draws from the model have the means, spreads, shares and gaps of the people it learnt from."""
    x = draw(4000, seed=1)
    got = fit_generator(kind, problem, epochs=25).sample(x, seed=2)
    for j in (1, 2, 3):
        middle = [np.log1p(a[:, j][~np.isnan(a[:, j])].clip(0) if j > 1 else a[:, j] + 10) for a in (x, got)]
        assert abs(middle[0].mean() - middle[1].mean()) < 0.15 * middle[0].std()
        assert 0.8 < middle[1].std() / middle[0].std() < 1.25
    for j in (4, 5):
        share = [np.array([np.mean(a[:, j] == level) for level in range(4)]) for a in (x, got)]
        np.testing.assert_allclose(share[1], share[0], atol=0.06)
    np.testing.assert_allclose(np.isnan(got).mean(0), np.isnan(x).mean(0), atol=0.04)
    assert problem.schema.legal(got[~np.isnan(got).any(1)]).all()


def test_what_is_given_stays_and_matters(problem):
    """Height is 2 apart between the groups; the same latent points decode to each group's own."""
    model = fit_generator("chvae", problem, epochs=25)
    np.testing.assert_array_equal(model.given, problem.never_moves)
    x = draw(2000, seed=3)
    got = model.sample(x, seed=1)
    np.testing.assert_array_equal(got[:, 0], x[:, 0])
    apart = got[x[:, 0] == 1, 1].mean() - got[x[:, 0] == 0, 1].mean()
    assert apart == pytest.approx(2, abs=0.35)
    mean, _ = model.prior_of(torch.as_tensor(model.coding.code(x[:1])))
    assert mean.abs().max() > 0  # a prior that has learnt something of its own


def test_skewed_numbers_get_a_logarithm_and_come_back(problem):
    x = draw(500)
    scales = Coding.scales_of(problem.schema, x)
    assert (scales["unit"] > 0).tolist() == [False, True, scales["unit"][2] > 0]
    none = np.zeros(6, dtype=bool)
    coding = Coding(problem.schema, none, none, scales)
    scaled = coding.scaled(x)
    assert abs(np.nanmean(scaled, axis=0)).max() < 1e-9
    back = coding.unscaled(torch.as_tensor(scaled)).numpy()
    np.testing.assert_allclose(back, x[:, [1, 2, 3]], rtol=1e-9, atol=1e-9)


def test_probabilities_of_levels_sum_to_one_and_the_missing_level_counts(problem):
    model = fit_generator("vae", problem, epochs=25)
    x = draw(500, seed=5)
    got = model.decode(torch.randn(500, model.latent, generator=torch.Generator().manual_seed(0)), x)
    share = got.share.numpy()
    np.testing.assert_allclose(share.sum(2), 1, atol=1e-5)
    assert (share[:, ~model.exists] < 1e-6).all()
    grade = model.level.tolist().index(4)
    assert share[:, grade, 4].mean() == pytest.approx(0.1, abs=0.05)
    assert got.gone[:, 2].mean().item() == pytest.approx(0.2, abs=0.06)


def test_it_encodes_what_it_decodes(problem):
    """Through z and back: most of what varies is there again."""
    model, x = fit_generator("vae", problem, epochs=25), draw(800, seed=7)
    back = model.rows(model.encode(x), x)
    for j, least in ((1, 0.8), (2, 0.8)):
        bent = np.log if j == 2 else np.asarray
        assert np.corrcoef(bent(back[:, j]), bent(x[:, j]))[0, 1] > least
    assert (back[:, 5] == x[:, 5]).mean() > 0.5  # the commonest place alone is right for 0.4


def test_gradients_reach_z(problem):
    model, x = fit_generator("vae", problem, epochs=25), draw(10)
    noise = torch.randn(10, model.latent, generator=torch.Generator().manual_seed(0))
    z = noise.double().requires_grad_(True)
    got = model.decode(z, x)
    (slope,) = torch.autograd.grad(got.value[:, 1].sum() + got.share[:, :, 0].sum(), z)
    assert slope.dtype == torch.float64
    assert (slope.abs().sum(1) > 0).all()
    h = 1e-3
    step = torch.zeros_like(z)
    step[:, 0] = h
    up, down = (model.decode(z.detach() + s * step, x) for s in (1, -1))
    by_hand = (up.value[:, 1] - down.value[:, 1] + (up.share - down.share)[:, :, 0].sum(1)) / (2 * h)
    assert (
        np.median(np.abs(slope[:, 0].numpy() - by_hand.detach().numpy())) < 1e-2
    )  # the median: ReLU has kinks


@pytest.mark.parametrize("kind", KINDS)
def test_a_person_alone_is_encoded_decoded_and_judged_the_same(problem, kind):
    model, x = fit_generator(kind, problem, epochs=25), draw(300, seed=8)
    z = model.encode(x)
    many, bound = model.rows(z, x), model.log_bound(x)
    step = torch.randn(7, model.latent, generator=torch.Generator().manual_seed(0))
    around = model.rows_around(z, step, x)
    for who in ([0], [299, 17]):
        assert torch.equal(model.encode(x[who]), z[who])
        assert torch.equal(model.decode(z[who], x[who]).share, model.decode(z, x).share[who])
        np.testing.assert_array_equal(model.rows(z[who], x[who]), many[who])
        np.testing.assert_array_equal(model.log_bound(x[who]), bound[who])
        np.testing.assert_array_equal(model.rows_around(z[who], step, x[who]), around[who])
    for empty in (model.encode(x[:0]), model.rows(z[:0], x[:0]), model.log_bound(x[:0])):
        assert len(empty) == 0


@pytest.mark.parametrize("kind", ["vae", "chvae"])
def test_many_steps_at_once_decode_as_one_by_one(problem, kind):
    model, x = fit_generator(kind, problem, epochs=25), draw(40, seed=9)
    z, step = model.encode(x), torch.randn(5, model.latent, generator=torch.Generator().manual_seed(0))
    got = problem.schema.snap(model.rows_around(z, step, x))
    for s in range(5):
        one = np.where(model.coding.made, model.rows(z + step[s], x), np.nan)
        same = np.isclose(got[:, s], one, rtol=1e-3, atol=1e-3, equal_nan=True)
        assert same.mean() > 0.99  # float32 rounds differently for another order of sums
    may = np.zeros((40, len(model.level), model.wide), dtype=bool)
    may[:, :, 1] = True
    assert (model.rows_around(z, step, x, may)[:, :, [4, 5]] == 1).all()


def test_training_is_deterministic_and_shared(problem):
    one = fit_generator("vae", problem, epochs=3)
    assert fit_generator("vae", problem, epochs=3) is one
    assert fit_generator("vae", problem, epochs=3, seed=1) is not one
    again = Problem(problem.schema, problem.model, problem.target, data=problem.reference)
    other = fit_generator("vae", again, epochs=3)
    assert other is not one
    assert other.report.bounds == one.report.bounds
    x = draw(20, seed=4)
    assert torch.equal(one.encode(x), other.encode(x))


def test_identity_loses_nothing(problem):
    x = draw(30)
    x[:, 3] = np.nan_to_num(x[:, 3])
    for unit in (None, 1.0):
        model = Identity(problem.schema, unit=unit)
        np.testing.assert_allclose(model.rows(model.encode(x), x), x, rtol=1e-12)
    known = Identity(problem.schema, given=problem.never_moves, unit=1.0)
    z = known.encode(x)
    np.testing.assert_array_equal(z[:, 0], x[:, 1])
    moved = known.rows_around(z, torch.eye(known.latent)[:1], x)
    np.testing.assert_allclose(moved[:, 0, 1], x[:, 1] + 1)
    assert np.isnan(moved[:, :, 0]).all()


def test_the_label_is_in_w_and_not_in_z():
    """CRUD probe: the first coordinate decides y; a fresh linear probe reads y off w and not off z.

    Downs et al. (2020), CRUDS.
    """
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    schema = Schema(tuple(Feature(name=f"x{j}", kind="real", low=-6, high=6) for j in range(2)))
    model = wf.wrap(lambda r: (r[:, 0] > 0).astype(np.int64), schema, output="label", classes=(0, 1))
    problem = Problem(schema, model, Target(1), data=rng.normal(size=(3000, 2)))
    split = fit_generator("csvae", problem)
    x = rng.normal(size=(2000, 2))
    y = x[:, 0] > 0
    u = split.encode(x, y).numpy()
    u = u + rng.normal(size=u.shape) * np.exp(0.5 * split.encode_spread(x, y).numpy())
    z, w = u[:, : split.n_z], u[:, split.n_z :]

    def probe(seen: np.ndarray) -> float:
        return LogisticRegression().fit(seen[:1000], y[:1000]).score(seen[1000:], y[1000:])

    assert probe(z) <= 0.6
    assert probe(w) >= 0.95
    # Drawing w of the other label moves the coordinate that decides, and little else.
    no = x[~y][:200]
    streams = Streams.of(no, 0)
    drawn = split.draw_w(True, streams, np.arange(len(no)), 1)[:, 0]
    got = split.rows(split.join(split.encode(no), drawn), no)
    assert (got[:, 0] > 0).mean() > 0.9
    assert np.corrcoef(got[:, 1], no[:, 1])[0, 1] > 0.9
    alone = split.draw_w(True, streams.take(np.array([3])), np.array([0]), 1)[:, 0]
    assert torch.equal(alone[0], drawn[3])


@pytest.mark.parametrize("form", ["entropy", "loglik"])
def test_an_adversary_reads_groups_and_its_penalty_drives_them_out(form):
    """Three groups, apart along one axis: descending the penalty brings their means together."""
    g = torch.Generator().manual_seed(0)
    label = torch.arange(600) % 3
    noise = torch.randn(600, 2, generator=g)
    place = torch.tensor([[-2.0, 0], [0, 0], [2, 0]], requires_grad=True)
    adversary = Adversary(2, 3, weight=1.0, form=form, rate=2e-2, steps=3)
    for _ in range(40):
        adversary.penalty((place[label] + noise).detach(), label)
    read = adversary.log_odds(place[label] + noise).argmax(1)
    assert (read == label).float().mean() > 0.6
    for _ in range(150):
        (slope,) = torch.autograd.grad(adversary.penalty(place[label] + noise, label), place)
        with torch.no_grad():
            place -= 0.1 * slope / slope.norm().clamp(min=1.0)
    assert place.detach().std(0).max() < 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_is_the_same(problem, kind, tmp_path):
    model, x = fit_generator(kind, problem, epochs=25), draw(30, seed=6)
    file = save_generator(tmp_path / "model.safetensors", model)
    back = load_generator(file, problem.schema)
    z = model.encode(x)
    assert torch.equal(back.encode(x), z)
    np.testing.assert_array_equal(back.rows(z, x), model.rows(z, x))
    np.testing.assert_array_equal(back.log_bound(x), model.log_bound(x))
    assert back.report == model.report


def test_files_for_something_else_are_told(problem, tmp_path):
    model = fit_generator("vae", problem, epochs=3)
    file = save_generator(tmp_path / "m.safetensors", model)
    with pytest.raises(MethodError, match="another schema"):
        load_generator(file, problem.schema.drop("money"))
    with pytest.raises(FileFormatError, match="no file"):
        load_generator(tmp_path / "none.safetensors", problem.schema)
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(FileFormatError, match="broken"):
        load_generator(broken, problem.schema)
    with pytest.raises(MethodError, match="no networks"):
        save_generator(tmp_path / "i.safetensors", Identity(problem.schema))


def test_errors_name_the_next_step(problem):
    with pytest.raises(MethodError, match="no generative model of kind 'gan'"):
        fit_generator("gan", problem)
    with pytest.raises(MethodError, match="from 3 rows"):
        fit_generator("vae", problem, draw(3))
    with pytest.raises(MethodError, match="nothing to generate"):
        fit_generator("cvae", problem, given=np.ones(6, dtype=bool))
    with pytest.raises(MethodError, match="latent=0"):
        fit_generator("vae", problem, latent=0)
    bare = Problem(problem.schema, problem.model, problem.target)
    with pytest.raises(ProblemError, match="data=train"):
        fit_generator("vae", bare)
