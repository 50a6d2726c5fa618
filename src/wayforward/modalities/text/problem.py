"""What a text's answer would take to be another: a text is its different words, and each may be taken out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from wayforward.errors import DataError, ProblemError, is_list
from wayforward.lazy import cached_property
from wayforward.methods import Method
from wayforward.modalities.problem import UnitProblem, widened
from wayforward.modalities.text.answers import TextRecourse
from wayforward.modalities.text.documents import document, document_schema, is_word, rows_of
from wayforward.modalities.text.model import TextModel
from wayforward.model import wrap
from wayforward.model.wrapping import Wrapped
from wayforward.problem import Problem, Target
from wayforward.problem.cost import LpMix
from wayforward.public import public
from wayforward.recourse import Recourse

_LOOKED_AT = 64  # texts on which what was read of the model is compared with the model itself


@public
class TextProblem(UnitProblem[TextRecourse]):
    """A text model, and the answer that is wanted of it: which words would have to go?

    pipeline: a fitted scikit-learn pipeline on raw strings (vectoriser and classifier), or a function of a list of
    strings that gives probabilities. texts: some of the kind it is asked about; a fast path is used where it agrees
    with the model on them. favourable: the answer that is wanted, or target: a `wf.Target` in its place. classes: of a
    function, its labels in column order. keep: words that stay in every text, whatever their capitals.

    A unit is a word with all its places; taking one out costs 1. What is said of a text was judged on the exact string
    that is returned, by the pipeline itself.
    Example: ``TextProblem(pipeline, texts, favourable="yes").recommend(texts, method="sedc", k=3)``.
    In `recommend`, `keep` names further words that stay, and `most` says how many may go.
    Raises: ProblemError, DataError, ModelError.
    """

    things: ClassVar[str] = "texts"
    thing: ClassVar[str] = "text"

    def __init__(
        self,
        pipeline: Any,
        texts: Sequence[str],
        favourable: Any = None,
        *,
        target: Target | None = None,
        classes: Sequence[Any] | None = None,
        keep: Collection[str] = (),
    ) -> None:
        super().__init__(favourable, target)
        self.model = TextModel(pipeline, classes)
        self.texts = self._all(texts)
        self.keep = _words(keep)
        self._quick = True

    def _content(self, thing: Any) -> str:
        if not isinstance(thing, str):
            raise DataError(f"it is a {type(thing).__name__}. Give a string.")
        return document(thing).text

    def _size(self, content: str) -> int:
        return document(content).size

    def _rows(self, contents: Sequence[str], problem: Problem) -> np.ndarray:
        return rows_of(contents, problem.schema)

    def _fixed_units(self, content: str, keep: Collection[str]) -> list[int]:
        return document(content).named(self.keep | _words(keep))

    def _answer(self, contents: list[str], recourse: Recourse) -> TextRecourse:
        return TextRecourse(recourse, tuple(contents))

    def _answered(
        self,
        contents: list[str],
        method: str | Method,
        k: int,
        keep: Any,
        most: int | None,
        how: dict[str, Any],
    ) -> Recourse:
        got = super()._answered(contents, method, k, keep, most, how)
        who, option = np.nonzero(got.found)
        wide = got.problem
        if (
            not who.size
            or wide is None
            or not (isinstance(wide.model, Wrapped) and wide.model.native_path.steps_read)
        ):
            return got
        # Searches and the judge count words by themselves: the pipeline itself reads the very strings that are told.
        whole = self._by_strings.of_size(wide.schema.d - 1)
        odd = np.unique(who[~whole.reached(got.after[who, option])[0]])
        if not odd.size:
            return got
        again = self._by_strings._answered([contents[i] for i in odd], method, k, keep, most, how)
        rest = np.setdiff1d(np.arange(got.n), odd)
        parts = [got[rest], widened(again, wide)] if rest.size else [widened(again, wide)]
        place = np.argsort(np.concatenate([rest, odd]))
        return replace(Recourse.concat(parts)[place], problem=wide)

    @cached_property
    def _by_strings(self) -> TextProblem:
        """The same, by strings alone: nothing of the pipeline is read."""
        other = self.copied()
        other._quick = False
        return other

    def _make(self, size: int) -> Problem:
        schema = document_schema(size)
        some = [text for text in self.texts if document(text).size <= size][:_LOOKED_AT]
        looked_at = rows_of(some, schema) if some else None
        model = wrap(self.model, schema, verify_on=looked_at, fast=self._quick)
        return Problem(schema, model, self.target, cost=LpMix(l0=1.0, l1=0.0))


def _words(words: Collection[str]) -> frozenset[str]:
    if isinstance(words, str):
        raise ProblemError(f"keep={words!r} is one string. Give a list of words: [{words!r}].")
    if not is_list(words, texts=True):
        raise ProblemError(f"keep={words!r} is a {type(words).__name__}. Give a list of words.")
    found = list(words)
    for word in found:
        if not isinstance(word, str) or not is_word(word):
            raise ProblemError(f"keep names {word!r}, which is no single word. Give words one by one.")
    return frozenset(found)
