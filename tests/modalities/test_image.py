"""Images: the exact image is judged, units and fills are what they say, and pictures are drawn the same each time."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import wayforward as wf
from wayforward.errors import DataError, ModelError, ProblemError
from wayforward.modalities.arrays import ArrayUnits, decode_array, encode_array
from wayforward.modalities.image import Grid, Quickshift
from wayforward.modalities.image.segments import BlurFill, DistractorFill, MeanFill
from wayforward.modalities.image.sets import digits, shapes

DIGITS = digits()
X, Y = DIGITS.images, DIGITS.labels
TRAIN, TEST = X[:900], X[1200:1240]


@pytest.fixture(scope="module")
def line():
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)).fit(
        TRAIN.reshape(900, -1), Y[:900]
    )


@pytest.fixture(scope="module")
def blanked(line):
    return wf.ImageProblem(line, TRAIN, favourable=8, span=DIGITS.span)


@pytest.fixture(scope="module")
def answers(blanked):
    return blanked.recommend(TEST, "sedc-t", k=2)


def test_arrays_are_texts_and_back():
    for values in (np.arange(6, dtype=np.uint8).reshape(1, 2, 3), np.array([[0.1, -1e300]])):
        again = decode_array(encode_array(values))
        assert again.dtype == values.dtype and (again == values).all()
    with pytest.raises(DataError, match="no array"):
        decode_array("what")


def test_cells_of_a_grid_cover_the_image_row_by_row():
    label = Grid(2, 3)(np.zeros((4, 6, 1)))
    np.testing.assert_array_equal(label[::2, ::2], [[0, 1, 2], [3, 4, 5]])
    assert Grid(3, 3)(np.zeros((8, 7, 3))).max() == 8
    with pytest.raises(ProblemError, match="more cells"):
        Grid(9, 1)(np.zeros((8, 8, 1)))


def test_segments_join_what_is_alike_and_near():
    """Two flat halves: no segment lies in both, and the same image has the same segments."""
    image = np.zeros((16, 16, 1))
    image[:, 8:] = 1.0
    label = Quickshift(span=(0, 1))(image)
    assert not set(label[:, :8].ravel()) & set(label[:, 8:].ravel())
    np.testing.assert_array_equal(label, Quickshift(span=(0, 1))(image))
    assert (np.unique(label) == np.arange(label.max() + 1)).all()
    assert Quickshift(4.0, 200.0, 0.0)(image).max() < label.max()  # colour counts for nothing


def test_quickshift_is_the_plain_definition():
    """Each pixel's parent is the nearest denser one within reach; looked for pixel by pixel."""
    image = np.random.default_rng(0).random((6, 7, 2))
    kernel, distance, ratio = 1.0, 12.0, 0.3
    label = Quickshift(kernel, distance, ratio, (0.0, 1.0))(image)
    place = np.array([(r, c) for r in range(6) for c in range(7)])
    point = np.concatenate([place, image.reshape(42, 2) * 100 * ratio], axis=1)
    apart = ((point[:, None] - point) ** 2).sum(2)
    window = (np.abs(place[:, None] - place) <= 3).all(2)
    density = (np.exp(-apart / (2 * kernel**2)) * window).sum(1).round(9)
    parent = np.arange(42)
    for i in range(42):
        denser = window[i] & ((density > density[i]) | ((density == density[i]) & (np.arange(42) < i)))
        denser &= apart[i] <= distance**2
        if denser.any():
            parent[i] = np.where(denser, apart[i], np.inf).argmin()
    root = parent
    while (root[root] != root).any():
        root = root[root]
    same = root[:, None] == root
    np.testing.assert_array_equal(same, label.ravel()[:, None] == label.ravel())


def test_what_takes_a_place():
    image = TEST[0][..., None]
    np.testing.assert_allclose(MeanFill()(image), image.mean())
    assert BlurFill()(image).std() < image.std()
    other = DistractorFill(TEST[1:6][..., None], Grid(4, 4))
    cells = other(image)
    assert cells.shape == (16, 8, 8, 1)
    nearest = other.distractor(image)
    np.testing.assert_array_equal(cells[5, 2:4, 4:6], nearest[2:4, 2:4])  # cell 5 is row 1, column 1


def test_rows_and_images_are_one_to_one(line):
    asked = wf.ImageProblem(line, TRAIN, favourable=8, labels=Y[:900], replace="cells", span=DIGITS.span)
    problem, rows = asked.problem(TEST[0]), asked.rows(TEST)
    assert isinstance(asked.units, ArrayUnits)
    np.testing.assert_array_equal(asked.units.compose(rows, problem.schema), TEST.reshape(len(TEST), -1))
    rows[:, 3] = 7  # the third cell becomes the eighth of the distractor
    changed = asked.units.compose(rows, problem.schema).reshape(-1, 8, 8)
    others = asked.distractors[..., 0]
    for i in range(5):
        nearest = others[((others - TEST[i]) ** 2).sum((1, 2)).argmin()]
        np.testing.assert_array_equal(changed[i][:2, 4:6], nearest[2:4, 6:8])
        whole = changed[i].copy()
        whole[:2, 4:6] = TEST[i][:2, 4:6]
        np.testing.assert_array_equal(whole, TEST[i])
    assert (line.predict(asked.distractors.reshape(-1, 64)) == 8).all()


def test_the_model_itself_said_yes_to_the_exact_image(line, answers):
    refused = line.predict(TEST.reshape(-1, 64)) != 8
    assert (answers.recourse.refused == refused).all() and answers.recourse.found[:, 0].sum() >= 5
    for i in np.flatnonzero(answers.recourse.found[:, 0]):
        for option in answers.options(i):
            after = answers.after(i, option)
            assert line.predict(after.reshape(1, -1))[0] == 8
            mask = answers.mask(i, option)
            np.testing.assert_array_equal(after[~mask], TEST[i][~mask])
            np.testing.assert_allclose(after[mask], TEST[i].mean())
    np.testing.assert_array_equal(answers.before(0), TEST[0])
    assert wf.evaluate(answers.recourse, answers.recourse.problem) is not None


@pytest.mark.parametrize("name", ["sedc-t", "visual-counterfactuals", "scout"])
@pytest.mark.parametrize("replace", ["mean", "distractor"])
def test_who_can_be_served_is_served(line, name, replace):
    """All 65,536 sets of 16 cells on a line, beside what three methods find: everybody whom some set serves."""
    if name == "scout":
        pytest.importorskip("torch")
    asked = wf.ImageProblem(line, TRAIN, favourable=8, labels=Y[:900], replace=replace, span=DIGITS.span)
    got = asked.recommend(TEST[:16], name)
    sets = ((np.arange(1 << 16)[:, None] >> np.arange(16)) & 1).astype(float)
    weight = line[-1].coef_ / line[0].scale_
    for i in np.flatnonzero(got.recourse.refused):
        parts = asked.units.parts(got.contents[i])
        step = (parts.fills[0] - parts.values) * weight
        cells = np.stack([step[:, parts.label == unit].sum(1) for unit in range(16)])
        scores = line.decision_function(TEST[i].reshape(1, -1)) + sets @ cells
        assert got.recourse.found[i, 0] == (scores.argmax(1) == 8).any()


def test_modules_functions_and_estimators_of_one_line_are_asked_alike(line):
    """The same numbers by a torch module of (n, c, h, w), a function of (n, h, w), and the pipeline on flat rows."""
    torch = pytest.importorskip("torch")
    scale, head = line[0], line[-1]
    layer = torch.nn.Linear(64, 10)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(head.coef_ / scale.scale_))
        layer.bias.copy_(torch.tensor(head.intercept_ - head.coef_ @ (scale.mean_ / scale.scale_)))

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, images):
            assert images.ndim == 4 and images.shape[1:] == (1, 8, 8)
            return self.layer(images.flatten(1))

    def function(images):
        assert images.shape[1:] == (8, 8)
        return line.predict_proba(images.reshape(len(images), -1))

    rows, outputs = None, []
    for model in (line, Module(), function):
        asked = wf.ImageProblem(model, TRAIN, favourable=8, span=DIGITS.span)
        problem = asked.problem(TEST[0])
        rows = asked.rows(TEST) if rows is None else rows
        rows[:, 1:] = np.random.default_rng(0).integers(0, 2, rows[:, 1:].shape)
        outputs.append(problem.model.outputs(rows))
        np.testing.assert_allclose(outputs[-1], problem.model.native(rows)[0], atol=2e-5)
        if model is not function:
            net = problem.model.network
            np.testing.assert_allclose(net.outputs(net.encode(rows)).detach().numpy(), outputs[-1], atol=2e-5)
    for other in outputs[1:]:
        np.testing.assert_allclose(other, outputs[0], atol=2e-5)


def test_colours_bytes_and_channels_of_a_module():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (12, 6, 8, 3), dtype=np.uint8)
    seen = []

    class Red(torch.nn.Module):
        def forward(self, given):
            seen.append(tuple(given.shape[1:]))
            lead = (given[:, 0].mean((1, 2)) - given[:, 1:].mean((1, 2, 3))) / 16
            return torch.stack([-lead, lead], 1)

    asked = wf.ImageProblem(Red(), images, favourable=1, units=Grid(2, 2), replace="distractor")
    got = asked.recommend(images, "sedc-t", k=2)
    assert set(seen) == {(3, 6, 8)} and asked.span == (0.0, 255.0)
    for i in np.flatnonzero(got.recourse.found[:, 0]):
        after = got.after(i)
        assert after.shape == (6, 8, 3) and (after == after.round()).all()
        assert after[..., 0].mean() > after[..., 1:].mean()
    assert "<svg" in got.svg(int(np.flatnonzero(got.recourse.found[:, 0])[0]))


def test_an_image_gets_the_same_answer_alone_in_a_crowd_and_in_another_process(line):
    asked = wf.ImageProblem(
        line, TRAIN[:100], favourable=8, units="quickshift", replace="blur", span=DIGITS.span
    )
    together = asked.recommend(TEST[:8], "sedc-t", k=2)
    again = pickle.loads(pickle.dumps(asked))
    for i in range(4):
        alone = again.recommend(TEST[i : i + 1], "sedc-t", k=2)
        assert [alone.changed(0, o) for o in alone.options(0)] == [
            together.changed(i, o) for o in together.options(i)
        ]


def test_pixels_that_stay_stay_and_no_more_change_than_are_allowed(line, blanked):
    stays = np.zeros((8, 8), dtype=bool)
    stays[:, :4] = True
    got = blanked.recommend(TEST, "sedc", keep=stays, most=2)
    assert got.recourse.found.any()
    for i in np.flatnonzero(got.recourse.found[:, 0]):
        assert not got.mask(i)[:, :4].any() and len(got.changed(i)) <= 2
    plain = wf.ImageProblem(line, TRAIN, favourable=8, units="pixels", span=DIGITS.span, keep=stays)
    got = plain.recommend(TEST[:8], "gradual-construction", most=6)
    assert got.recourse.found.any()
    for i in np.flatnonzero(got.recourse.found[:, 0]):
        assert not got.mask(i)[:, :4].any() and len(got.changed(i)) <= 6
        assert ((got.after(i) >= 0) & (got.after(i) <= 16)).all()


def test_pictures_letters_and_pages(blanked, answers, tmp_path):
    some = [*np.flatnonzero(answers.recourse.found[:, 0])[:1], *np.flatnonzero(answers.recourse.accepted)[:1]]
    answers = blanked.recommend(TEST[some], "sedc-t")
    i = int(np.flatnonzero(answers.recourse.found[:, 0])[0])
    drawn = answers.svg(i)
    assert drawn == answers.svg(i)
    alt = re.search("<desc[^>]*>(.*)</desc>", drawn)[1]
    assert answers.sentence(i) in alt and "Three pictures" in alt
    assert len(answers.figure(i).axes) == 3
    first, second = (answers.save(i, tmp_path / name).read_bytes() for name in ("a.png", "b.png"))
    assert first == second and first.startswith(b"\x89PNG")
    assert answers.save(i, tmp_path / "a.svg").read_text(encoding="utf-8") == drawn
    letter = answers.letter(i, style="html", language="en")
    assert drawn in letter and letter.startswith("<!doctype html>")
    plain = answers.letter(i)
    assert answers.sentence(i) in plain and "<svg" not in plain
    assert "Bildes geändert" in answers.letter(i, language="de")
    page = answers.page(tmp_path / "images.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == int(answers.recourse.found.sum()) and drawn in page
    with pytest.raises(DataError, match="neither .png nor .svg"):
        answers.save(i, tmp_path / "a.bmp")
    with pytest.raises(DataError, match="no option"):
        answers.sentence(int(np.flatnonzero(answers.recourse.accepted)[0]))
    with pytest.raises(DataError, match="no image 2"):
        answers.after(2)


def test_places_are_told_by_thirds_of_the_picture():
    """A model that says no to light at the top left, and quarters that a function cuts."""

    def quarters(image):
        return np.add.outer(np.arange(8) // 4 * 2, np.arange(8) // 4)

    asked = wf.ImageProblem(
        lambda images: np.where(images[:, :4, :4].mean((1, 2)) > 2, 0.2, 0.8), TEST, favourable=1, units=quarters,
        replace=0.0, span=DIGITS.span,
    )  # fmt: skip
    got = asked.recommend(TEST[:1], "sedc")
    assert got.sentence(0).endswith("would be yes: top left.")


def test_what_is_wrong_is_said_with_the_next_step(line):
    with pytest.raises(DataError, match="Image 0: it has nan at row 0"):
        wf.ImageProblem(line, np.full((2, 8, 8), np.nan), favourable=8)
    with pytest.raises(DataError, match="is one image"):
        wf.ImageProblem(line, TRAIN, favourable=8).recommend(TEST[0])
    with pytest.raises(DataError, match="Give numbers of shape"):
        wf.ImageProblem(line, TRAIN, favourable=8).recommend(TEST[:2, :4])
    with pytest.raises(DataError, match="is no range"):
        wf.ImageProblem(line, TRAIN, favourable=8, span=(3, 3))
    with pytest.raises(DataError, match="images is empty"):
        wf.ImageProblem(line, TRAIN, favourable=8).recommend(TEST[:0])
    with pytest.raises(ProblemError, match="replace='what' is not known"):
        wf.ImageProblem(line, TRAIN, favourable=8, replace="what")
    with pytest.raises(ProblemError, match="units='what' is not known"):
        wf.ImageProblem(line, TRAIN, favourable=8, units="what")
    with pytest.raises(ProblemError, match="cells have one size|whose cells"):
        wf.ImageProblem(line, TRAIN, favourable=8, units=Grid(3, 3), replace="cells")
    with pytest.raises(ProblemError, match="none of the 20 images"):
        wf.ImageProblem(line, TRAIN[Y[:900] == 3][:20], favourable=8, replace="distractor", span=DIGITS.span)
    with pytest.raises(ProblemError, match="keep has shape"):
        wf.ImageProblem(line, TRAIN, favourable=8).recommend(TEST[:1], keep=np.ones((2, 2), dtype=bool))
    with pytest.raises(ModelError, match="cannot be called"):
        wf.ImageProblem(3, TRAIN, favourable=8).problem(TRAIN[0])
    with pytest.raises(ModelError, match="failed on 8x8 arrays: ZeroDivisionError"):
        wf.ImageProblem(lambda images: 1 / 0, TRAIN, favourable=1).problem(TRAIN[0])


def test_sets_are_what_their_cards_say():
    assert X.shape == (1797, 8, 8) and "1,797" in DIGITS.card and (X.min(), X.max()) == DIGITS.span
    made = shapes(50, seed=3)
    again = shapes(50, seed=3)
    np.testing.assert_array_equal(made.images, again.images)
    assert set(made.labels) == {"circle", "square", "triangle"} and "seed 3" in made.card
    has = made.marks[:, 0] >= 0
    assert 10 < has.sum() < 40 and ((made.images.max((1, 2)) == 1.0) == has).all()
    with pytest.raises(DataError, match="size >= 16"):
        shapes(3, size=4)
