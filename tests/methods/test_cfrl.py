"""cfrl: limits that hold for every decoded row, a linear toy, files without code, and its contract."""

from __future__ import annotations

import numpy as np
import pytest

import wayforward as wf
from wayforward import Feature, Problem, Schema, Target
from wayforward.errors import FileFormatError, MethodError, ProblemError
from wayforward.methods.cfrl import Cfrl
from wayforward.preferences import Preferences
from wayforward.schema import SchemaWarning
from wayforward.streams import Streams
from wayforward.testing import MethodContract, case

torch = pytest.importorskip("torch")

from wayforward.methods.engines.amortised.actor_critic import drawn_limits  # noqa: E402

QUICK = {"steps": 25, "people": 200, "width": 16, "batch": 64, "epochs": 3, "tries": 2}
AS_PUBLISHED = {"tries": 0, "adopt": "all"}


class TestContract(MethodContract):
    method = "cfrl"
    parameters = QUICK
    finds = 0.9
    people = 10


@pytest.fixture(scope="module")
def toy(linear):
    """Two numbers that help alike: yes where x0 + x1 is 2 or more."""
    schema = Schema(tuple(Feature(name=n, kind="real", low=-6, high=6) for n in ("x0", "x1")))
    data = np.random.default_rng(0).uniform(-4, 4, size=(1500, 2))
    return linear(schema, -4.0, {"x0": 2.0, "x1": 2.0}, data=data)


@pytest.fixture(scope="module")
def trained(toy):
    return Cfrl(steps=300, people=512, width=32, epochs=20, **AS_PUBLISHED).fit(toy)


@pytest.mark.parametrize("held", [None, "x0", "x1"])
def test_whole_rows_turn_the_decision_of_a_line_whatever_is_held(toy, trained, held):
    """Validity of at least .95 on a linear toy (the published setting: whole rows of one pass)."""
    x = np.random.default_rng(1).normal(0, 0.5, size=(200, 2))
    x = x[~toy.reached(x)[0]]
    wish = Preferences.none(toy.schema, len(x))
    got = trained.recommend(x, preferences=wish.freeze(held) if held else wish, minimal=False)
    assert got.found.mean() >= 0.95
    assert got.meta["model_rows"] <= 4 * len(x)
    assert trained.report_.turned > 0.5


@pytest.mark.parametrize("kind", ["network", "label"])
def test_no_decoded_row_breaks_a_limit(kind):
    """Constraints hold for all rows, before anybody judges them: frozen features, ends, levels."""
    it = case(kind, "independent", 0, 60)
    problem, x = it.problem, it.x[it.refused]
    wish = drawn_limits(problem, x, problem.range_widths, np.random.default_rng(3))
    people = problem.population(x, wish)
    method = Cfrl(**QUICK).fit(problem)
    rows = method.proposals(people, Streams.of(x, 0), 4)
    acts = ~np.isnan(rows)
    assert acts.any()
    assert not (acts & ~people.free[:, None]).any()
    assert not (acts & (rows < people.low[:, None] - 1e-9)).any()
    assert not (acts & (rows > people.high[:, None] + 1e-9)).any()
    for j, ok in people.level_ok.items():
        who, turn = np.nonzero(acts[:, :, j])
        assert ok[who, rows[who, turn, j].astype(int)].all()


def test_a_person_with_a_missing_value_is_answered_beside_the_others():
    """A missing number stays missing; the answers of the others are those that they get without this person."""
    schema = Schema(
        (
            Feature(name="a", kind="real", low=0, high=10, missing=True),
            Feature(name="b", kind="real", low=0, high=10),
        )
    )
    rng = np.random.default_rng(0)
    data = rng.uniform(0, 6, size=(300, 2))
    data[::10, 0] = np.nan
    model = wf.wrap(
        lambda r: (0.2 * np.nan_to_num(r[:, 0]) + 1.5 * r[:, 1] > 8).astype(np.int64),
        schema, output="label", classes=(0, 1),
    )  # fmt: skip
    problem = Problem(schema, model, Target(1), data=data)
    x = np.array([[np.nan, 1.0], [2.0, 2.0], [1e12, 0.5], [0.0, 3.0]])
    method = Cfrl(**QUICK).fit(problem)
    with pytest.warns(SchemaWarning, match="Row 2"):
        got = method.recommend(x)
    assert got.found[[0, 1, 3], 0].all()
    assert np.isnan(got.after[0, 0, 0])
    np.testing.assert_array_equal(got.action[[1, 3]], method.recommend(x[[1, 3]]).action)


def test_training_is_the_same_again_and_files_bring_it_back(tmp_path):
    it = case("network", "independent", 0, 40)
    one = Cfrl(**QUICK).fit(it.problem)
    again = Cfrl(**QUICK).fit(
        Problem(it.problem.schema, it.problem.model, Target(1), data=it.problem.reference)
    )
    file = one.save(tmp_path / "actor.safetensors")
    read = Cfrl.load(file, it.problem)
    assert read.report_ == one.report_
    assert read.parameters().items() <= one.parameters().items()
    expected = one.recommend(it.x, 2, seed=4)
    for other in (again, read):
        np.testing.assert_array_equal(other.recommend(it.x, 2, seed=4).action, expected.action)
    file.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(FileFormatError, match="cannot be read"):
        Cfrl.load(file, it.problem)


def test_files_of_another_schema_are_refused(tmp_path, toy, trained):
    file = trained.save(tmp_path / "actor.safetensors")
    with pytest.raises(MethodError, match="another schema"):
        Cfrl.load(file, case("linear", "independent", 0, 40).problem)


def test_settings_and_tables_that_teach_nothing_are_named(linear, toy):
    with pytest.raises(MethodError, match="noise=2"):
        Cfrl(noise=2)
    with pytest.raises(MethodError, match="steps"):
        Cfrl(steps=0)
    accepted = toy.reference[toy.reference_reached]
    with pytest.raises(ProblemError, match="accepts everybody"):
        Cfrl(**QUICK).fit(linear(toy.schema, -4.0, {"x0": 2.0, "x1": 2.0}, data=accepted))
