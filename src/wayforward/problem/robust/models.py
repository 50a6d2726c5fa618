"""A yes from other models, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from wayforward.errors import DataError, ProblemError, is_list, shown
from wayforward.language import in_english, ngettext
from wayforward.problem.robust.base import Again, Robust
from wayforward.problem.robust.spelling import Spelling, convert, whole
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.model import Model, Scorer
    from wayforward.problem.population import Population
    from wayforward.problem.problem import Problem
    from wayforward.problem.target import BoundTarget

_MOST_TRAINED = 100  # more is a slip of the finger
ROWS = 1 << 18  # shown to a model at once
_TOGETHER = 4096  # rows at most that all models are asked about in one step: what they say is held at once
_CLEAR = 100.0  # times what a verified fast path may be off


@public
@dataclass(frozen=True, eq=False)
class AllModels(Robust):
    """A yes from this model and from each of a list: retrained, competing, or next year's candidates.

    models: whatever `wf.wrap` takes, for the same schema and with the same classes. The target is asked of each.
    `measure`: the share of the listed models that say yes.

    Example: ``Problem(schema, model, target, robust=AllModels([forest, boosted]))``.
    Raises: ProblemError for an empty list or a model of another schema, task or classes.
    Source: F. Leofante, E. Botoeva, V. Rajani (2023), Counterfactual Explanations and Model Multiplicity, KR.
    """

    name: ClassVar[str] = "all-models"
    spelling: ClassVar[Spelling | None] = Spelling("models:5", "how many models to train again")

    models: Sequence[Any]
    _bound: tuple[tuple[Model, BoundTarget, float], ...] = field(default=(), init=False, repr=False)
    _alike: bool = field(default=False, init=False, repr=False)  # one schema, one reading of the outputs

    def __post_init__(self) -> None:
        if not is_list(self.models):
            raise ProblemError(f"AllModels takes a list of models; got {type(self.models).__name__}.")
        object.__setattr__(self, "models", tuple(self.models))
        if not self.models:
            raise ProblemError("AllModels was given no model. Give one or more, besides the problem's own.")

    @classmethod
    def from_text(cls, name: str, value: str, settings: dict[str, Any], again: Again | None) -> Robust:
        """See `Robust`; the value is how many models are trained again."""
        m = convert(name, name, value, whole)
        if not 1 <= m <= _MOST_TRAINED:
            raise ValueError(f"{m} models cannot be trained. Ask for 1 to {_MOST_TRAINED}.")
        if again is None:
            raise ValueError(
                "there is no way to train the model again here. Use a condition that needs no other models, or "
                "Problem(robust=AllModels([...])) with models of your own."
            )
        return cls(again(m))

    def fit(self, problem: Problem) -> Self:
        """See `Robust`."""
        from wayforward.model import wrap

        bound = []
        for place, given in enumerate(self.models):
            model = wrap(given, problem.schema)
            model.schema.require_read_alike(
                problem.schema,
                f"Model {place} of AllModels was wrapped with another schema",
                "Wrap it with the problem's.",
                ProblemError,
            )
            if model.task != problem.model.task:
                raise ProblemError(
                    f"Model {place} of AllModels does {model.task}; the problem's model does {problem.model.task}."
                )
            model = problem.target.decided_by(model)
            bound.append((model, problem.target.bind(model), model.tolerance - problem.slack))
        first, read, _ = bound[0]
        alike = all(model.schema == first.schema and target.reads_as(read) for model, target, _ in bound)
        return self.with_state(_bound=tuple(bound), _alike=alike)

    def score(
        self,
        people: Population,
        who: np.ndarray,
        after: np.ndarray,
        action: np.ndarray | None,
        plain: np.ndarray,
    ) -> np.ndarray:
        """See `Robust`."""
        from wayforward.model import Scorer

        found = self.scorers(people)
        if self._alike and len(after) <= _TOGETHER and all(type(one) is Scorer for one, _, _ in found):
            scores = self._scores(after) - np.array([[slack] for _, _, slack in found])
        else:
            scores = np.stack([target.score(one.outputs(who, after)) - slack for one, target, slack in found])
        return np.asarray(np.minimum(plain, self.left(scores)))

    def _scores(self, after: np.ndarray) -> np.ndarray:
        """(m, d) -> (models, m) by the fast paths; models that are alike are asked together."""
        if not self._alike:
            return np.stack([target.score(model.outputs(after)) for model, target, _ in self._bound])
        from wayforward.model import panel_outputs

        outputs = panel_outputs([model for model, _, _ in self._bound], after)
        flat = self._bound[0][1].score(outputs.reshape(-1, outputs.shape[2]))
        return np.asarray(flat.reshape(len(outputs), -1))

    def left(self, scores: np.ndarray) -> np.ndarray:
        """(models, m) scores -> (m,) what is left of them: above zero where the condition holds."""
        return np.asarray(scores.min(0))

    def scorers(self, people: Population) -> list[tuple[Scorer, BoundTarget, float]]:
        """Return for each model what scores these people's candidates, its target and its slack; made once."""
        found: list[tuple[Scorer, BoundTarget, float]] | None = people.cache.get(self)
        if found is None:
            found = [
                (model.specialise(people.x, people.changeable), target, slack)
                for model, target, slack in self._bound
            ]
            people.cache[self] = found
        return found

    def votes(self, after: np.ndarray) -> np.ndarray:
        """(m, d) -> (models, m) bool: who says yes; where it is close, by the models themselves."""
        return np.stack([_says_yes(model, target, after) for model, target, _ in self._bound])

    def _clear(self, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(m, d) -> (m,) what is left of the scores of fast paths, and bool: no such path could be off by so much."""
        fast = all(model.has_fast_path and model.task != "regression" for model, _, _ in self._bound)
        if not fast:
            return np.full(len(after), np.nan), np.zeros(len(after), dtype=bool)
        left = self.left(self._scores(after))
        return left, np.abs(left) > _CLEAR * max(model.tolerance for model, _, _ in self._bound)

    def _native(self, after: np.ndarray, read: Callable[..., np.ndarray]) -> np.ndarray:
        """(m, d) -> (models, m) what is read of each target and the outputs and labels of its model itself."""
        parts = [after[start : start + ROWS] for start in range(0, max(len(after), 1), ROWS)]
        return np.stack(
            [
                np.concatenate([read(target, *model.native(part)) for part in parts])
                for model, target, _ in self._bound
            ]
        )

    def holds(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """See `Robust`."""
        return np.asarray(self.votes(after).all(0))

    def measure(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """(m,) share of the listed models that say yes."""
        return np.asarray(self.votes(after).mean(0))

    def fingerprint(self, rows: np.ndarray) -> list[Any]:
        """See `Robust`: models are told apart by what they say of these people, to four digits."""
        answers = [np.round(target.value(model.native(rows)[0]), 4) + 0.0 for model, target, _ in self._bound]
        return [*super().fingerprint(rows), [one.tolist() for one in answers]]

    def describe(self) -> str:
        """The condition in English words."""
        return in_english(self.text)

    def text(self) -> str:
        """The condition in words, in the language in use."""
        return ngettext(
            "a yes from {n} other model, too", "a yes from {n} other models, too", len(self.models)
        )


def models_in(models: Any, problem: Problem, name: str) -> list[Model]:
    """Return an argument as wrapped models that answer as the problem's does; an empty list where there are none.

    Raises: DataError for what is no list of models; ModelError, ProblemError for one that is none, or of other people.
    """
    if isinstance(models, (str, bytes)) or not isinstance(models, Sequence):
        raise DataError(
            f"{name}={shown(models)} is no list of models. Give those that were trained again, in a list."
        )
    from wayforward.model import wrap

    wrapped = [wrap(model, problem.schema) for model in models]
    if wrapped:
        AllModels(wrapped).fit(problem)
    return wrapped


def _says_yes(model: Model, target: BoundTarget, rows: np.ndarray) -> np.ndarray:
    """(m, d) -> (m,) bool, by the fast path where that is beyond doubt, else by the model itself."""
    yes, close = np.zeros(len(rows), dtype=bool), np.arange(len(rows))
    if model.has_fast_path and model.task != "regression":
        score = target.score(model.outputs(rows))
        yes, close = score > 0, np.flatnonzero(~(np.abs(score) > _CLEAR * model.tolerance))
    for start in range(0, len(close), ROWS):
        part = close[start : start + ROWS]
        yes[part] = target.reached(*model.native(rows[part]))
    return np.asarray(yes)
