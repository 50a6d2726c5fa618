"""What is documented is public: an error that escapes it names the argument that does not fit, and no other does."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from benchmarks.documented import documented

from wayforward.errors import DataError
from wayforward.public import is_public, misfit, public
from wayforward.shapes import Floats, Mask, People, PerPerson
from wayforward.testing.problems import case

OWN_WAYS = (
    "wayforward.errors.",  # the floor below
    "wayforward.streams.",
    "wayforward.testing.",  # for pytest
    "wayforward.training.",  # estimators, which raise ValueError as scikit-learn's do
)


@public
def summed(
    x: People, weight: PerPerson, names: Sequence[str] = (), *, n: int = 0, more: Mapping[str, float] | None = None,
    way: Literal["a", "b"] = "a", good: Mask | None = None, path: Path | str = "", of: float = 0.0,
) -> float:  # fmt: skip
    """Fail, unless told otherwise by n."""
    if n != 1:
        raise IndexError("as it were")
    return float((x * weight[:, None]).sum())


X, W = np.zeros((3, 2)), np.zeros(3)


@pytest.mark.parametrize(
    "given, said",
    [
        ({"x": np.zeros(3), "weight": W}, r"\) got x=a ndarray of shape \(3,\). Give an array of numbers, shape"),
        ({"x": X, "weight": np.zeros(2)}, "got weight=a ndarray"),  # a person has one weight
        ({"x": "x", "weight": W}, "got x='x'"),
        ({"x": X.tolist(), "weight": W}, "got x=a list. Give an array of numbers"),
        ({"x": np.array([["a"]]), "weight": W}, "got x=a ndarray"),
        ({"x": np.ma.zeros((3, 2)), "weight": W}, "got x=a MaskedArray"),
        ({"x": X, "weight": W, "names": "age"}, "got names='age'. Give a sequence of a text"),
        ({"x": X, "weight": W, "names": [1]}, "got names=a list"),
        ({"x": X, "weight": W, "n": False}, "got n=False. Give a whole number"),
        ({"x": X, "weight": W, "n": 10**30}, "got n=1000"),
        ({"x": X, "weight": W, "n": np.timedelta64(2)}, "got n="),
        ({"x": X, "weight": W, "more": {"age": "x"}}, "got more=a dict"),
        ({"x": X, "weight": W, "more": [1]}, "got more=a list. Give a mapping of a text, a number or None"),
        ({"x": X, "weight": W, "way": "c"}, "got way='c'. Give one of 'a', 'b'"),
        ({"x": X, "weight": W, "good": np.zeros(3)}, "got good=a ndarray of shape"),
        ({"x": X, "weight": W, "path": 3}, "got path=3. Give a path or a text"),
        ({"x": X, "weight": W, "of": "3"}, "got of='3'. Give a number"),
    ],
)  # fmt: skip
def test_the_argument_that_does_not_fit_is_named(given, said):
    with pytest.raises(DataError, match=said) as found:
        summed(**given)
    assert isinstance(found.value.__cause__, IndexError)


@pytest.mark.parametrize(
    "given",
    [
        {"x": X, "weight": W},
        {"x": X, "weight": np.arange(3), "names": ["a"], "n": np.int64(3), "of": 1, "path": Path("x")},
        {"x": X, "weight": W, "names": np.array(["a"]), "more": {"a": np.float32(1)}, "good": np.ones(3, bool)},
        {"x": X, "weight": W, "of": np.inf},
    ],
)  # fmt: skip
def test_where_everything_fits_the_error_is_ours(given):
    with pytest.raises(IndexError, match="as it were"):
        summed(**given)


def test_what_works_is_not_looked_at():
    assert summed(np.ones((2, 2)), np.ones(2), names=3, n=1) == 4.0  # type: ignore[arg-type]


def test_python_says_which_argument_is_missing():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'weight'"):
        summed(X)  # type: ignore[call-arg]
    assert misfit(summed, (), {"no": 1}) is None


def test_methods_and_constructors_are_public_and_what_is_private_is_not():
    @public
    class Kept:
        def __init__(self, size: int):
            self.size = np.zeros(size)

        def of(self, values: Floats) -> Floats:
            return self._of(values)

        @classmethod
        def made(cls, size: int) -> Kept:
            return cls(size)

        def _of(self, values: Floats) -> Floats:
            return self.size + values

    with pytest.raises(DataError, match=r"Kept.made\(\) got size=2.5|Kept\(\) got size=2.5"):
        Kept.made(2.5)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"Kept.of\(\) got values='x'"):
        Kept(2).of("x")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Kept(2)._of(object())  # type: ignore[arg-type]


def test_what_comes_as_any_table_is_not_blamed_for_our_errors():
    @public
    def asked(people: Any, k: int = 1) -> None:
        raise KeyError("ours")

    for people in ({"a": [1]}, [[1.0]], np.array([["a", 1]], dtype=object), pd.DataFrame({"a": [1]}), None):
        with pytest.raises(KeyError):
            asked(people)


def test_no_row_of_a_person_is_shown():
    with pytest.raises(DataError) as found:
        summed(np.full((3, 1, 1), 4321.5), W)
    assert "4321" not in str(found.value)


def test_everything_that_is_documented_is_public():
    left = [
        name for name, held in documented()
        if not name.startswith(OWN_WAYS) and (inspect.isfunction(held) or any(map(inspect.isfunction, _own(held))))
        and not is_public(held)
    ]  # fmt: skip
    assert left == []


def _own(held: type) -> list[object]:
    return [one for name, one in vars(held).items() if not name.startswith("_")]


def test_names_that_are_imported_for_types_alone_are_known():
    from wayforward.answers import figure_coverage, steps

    it = case("linear", "independent", 0, 4)
    with pytest.raises(DataError, match="Give a Evaluation or a mapping"):
        figure_coverage({"a": 1})  # type: ignore[dict-item]
    with pytest.raises(DataError, match="recourse is a Problem"):
        steps(it.problem, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("x", [pd.DataFrame({"age": [1.0]}), memoryview(b"x"), pd.Index(["age"])])
def test_what_is_no_tensor_is_none(x):
    from wayforward.testing.worlds import WORLD_SCHEMA, sample_graph, sample_people
    from wayforward.world import LinearWorld

    world = LinearWorld.fit(sample_graph(), sample_people(60), WORLD_SCHEMA)
    with pytest.raises(DataError, match="cannot use x, a"):
        world.log_density_torch(x)


def test_rows_without_dimensions_are_none():
    it = case("linear", "independent", 0, 4)
    with pytest.raises(DataError, match="people"):
        it.problem.reached(np.array(1.0))
