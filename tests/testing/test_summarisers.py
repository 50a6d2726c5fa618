"""The contract of summarisers: an honest one passes, and each promise that is broken is noticed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from wayforward.errors import DataError
from wayforward.impact.summaries import SUMMARISERS, Rules, Summariser, register, summariser
from wayforward.problem import Population
from wayforward.testing import SummariserContract


@dataclass(frozen=True)
class Raises(Rules):
    """Everybody raises income to a value. fault: of `OneRaise`."""

    values: tuple[float, ...]
    column: int
    fault: str = ""

    @property
    def words(self) -> Any:
        return tuple(
            ((), (f"earn {1 if self.fault == 'same words' else value:g} EUR",)) for value in self.values
        )

    def actions(self, people: Population) -> tuple[np.ndarray, np.ndarray]:
        action = np.full((people.n, len(self.values), people.d), np.nan)
        action[:, :, self.column] = self.values
        if self.fault == "crowd":
            action[0] = np.nan
        return action, np.tile(np.arange(len(self.values)), (people.n, 1))


@dataclass(frozen=True)
class OneRaise(Summariser):
    """Tell everybody to earn a round sum."""

    lines: int = 2
    fault: str = ""

    name: ClassVar[str] = "one-raise"
    summary: ClassVar[str] = "a round sum for everybody"
    citation: ClassVar[str] = "made up"

    def learn(self, people: Population, seed: int) -> Raises:
        n = self.lines + (self.fault == "many")
        values = 9000.0 - 500.0 * np.arange(n)
        if self.fault == "unseeded":
            values -= 250.0 * np.random.default_rng().integers(0, 12)
        return Raises(tuple(values.tolist()), people.schema.index("income"), self.fault)


class TestOneRaise(SummariserContract):
    summariser, serves = OneRaise(), 0.5


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        ("many", "test_there_are_as_many_lines_as_allowed_and_each_says_what_to_do"),
        ("same words", "test_there_are_as_many_lines_as_allowed_and_each_says_what_to_do"),
        ("crowd", "test_a_person_is_told_the_same_alone_and_in_any_order"),
        ("unseeded", "test_the_same_seed_gives_the_same_lines"),
    ],
)
def test_a_broken_promise_is_noticed(fault: str, test: str) -> None:
    """Of budget, words, a person's own answer, and seeds."""
    contract = type("Broken", (SummariserContract,), {"summariser": OneRaise(fault=fault)})()
    given = () if "seed" in test else ("linear",)
    with pytest.raises(AssertionError):
        for _ in range(3):  # chance may draw the same twice
            contract.ask.cache_clear()
            getattr(contract, test)(*given)


def test_numbers_that_are_made_up_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A summary whose share is not what the model says."""
    from dataclasses import replace

    contract = type("Claims", (SummariserContract,), {"summariser": OneRaise()})()
    it, got, learnt = contract.ask("linear")
    line = got.lines[0]
    claimed = replace(
        got, lines=(replace(line, works=replace(line.works, value=line.works.value / 2)), *got.lines[1:])
    )
    monkeypatch.setattr(type(contract), "ask", lambda self, kind: (it, claimed, learnt))
    with pytest.raises(AssertionError):
        contract.test_every_number_is_what_the_model_says("linear")


def test_a_summariser_is_registered_once() -> None:
    """One line makes it known by name; a name that is taken and a place that is none are errors."""
    here = f"{__name__}:OneRaise"
    register("one-raise", here)
    try:
        register("one-raise", here)  # twice the same is no other
        assert summariser("one-raise") == OneRaise()
        with pytest.raises(DataError, match="already"):
            register("one-raise", "elsewhere:OneRaise")
        with pytest.raises(DataError, match="my_package.mine:Mine"):
            register("another", "elsewhere")
    finally:
        del SUMMARISERS._places["one-raise"]
