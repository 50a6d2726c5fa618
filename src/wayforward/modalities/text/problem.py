"""What a text's answer would take to be another: one problem for texts of each size, asked as any other problem is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wayforward.deadline import Deadline
from wayforward.errors import DataError, ProblemError
from wayforward.methods import Method, recommend
from wayforward.modalities.text.answers import TextRecourse
from wayforward.modalities.text.documents import document, document_schema, is_word, rows_of
from wayforward.modalities.text.model import TextModel
from wayforward.model import wrap
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target
from wayforward.problem.cost import LpMix
from wayforward.recourse import Recourse

_LOOKED_AT = 64  # texts on which what was read of the model is compared with the model itself


class TextProblem:
    """A text model, and the answer that is wanted of it: which words would have to go?

    pipeline: a fitted scikit-learn pipeline on raw strings (vectoriser and classifier), or a function of a list of
    strings that gives probabilities. texts: some of the kind it is asked about; a fast path is used where it agrees
    with the model on them. favourable: the answer that is wanted, or target: a `wf.Target` in its place. classes: of a
    function, its labels in column order. keep: words that stay in every text, whatever their capitals.

    A unit is a word with all its places; taking one out costs 1. What is said of a text was judged on the exact string
    that is returned, by the pipeline itself.
    Example: ``TextProblem(pipeline, texts, favourable="yes").recommend(texts, method="sedc", k=3)``.
    Raises: ProblemError, DataError, ModelError.
    """

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
        if (favourable is None) == (target is None):
            raise ProblemError("Say which answer is wanted: favourable='yes', or a target in its place.")
        self.target = Target(favourable=favourable) if target is None else target
        self.model = TextModel(pipeline, classes)
        self.texts = strings(texts)
        self.keep = _words(keep)
        self._problems: dict[int, Problem] = {}

    def problem(self, text: str) -> Problem:
        """Return the problem that a text belongs to: that of texts of about as many different words."""
        return self._of_size(_largest(strings([text])))

    def rows(self, texts: Sequence[str]) -> np.ndarray:
        """Return texts as rows (n, d) of the problem of the longest."""
        texts = strings(texts)
        return rows_of(texts, self._of_size(_largest(texts)).schema)

    def wishes(
        self, texts: Sequence[str], keep: Collection[str] = (), most: int | None = None
    ) -> Preferences | None:
        """Return the wishes in the rows of `rows`: words that stay, and how many may go at most; None without any."""
        words, texts = self.keep | _words(keep), strings(texts)
        if not words and most is None:
            return None
        schema = self._of_size(_largest(texts)).schema
        wish = Preferences.none(schema, len(texts))
        frozen = wish.frozen.copy()
        for i, text in enumerate(texts):
            frozen[i, [1 + unit for unit in document(text).named(words)]] = True
        wish = replace(wish, frozen=frozen)
        return wish if most is None else wish.at_most(most)

    def recommend(
        self,
        texts: Sequence[str],
        method: str | Method = "sedc",
        k: int = 1,
        *,
        keep: Collection[str] = (),
        most: int | None = None,
        **how: Any,
    ) -> TextRecourse:
        """Return for each text up to k sets of words without which the model gives the answer that is wanted.

        keep: words that stay, besides those of the problem. most: words that may go, at most. how: as of
        `wf.recommend`: seed, budget, deadline, workers, parameters of the method.
        Raises: DataError for what is no text; ProblemError; MethodError.
        """
        texts = strings(texts)
        if "preferences" in how:
            raise ProblemError("preferences cannot be given for texts. Say keep= and most= in their place.")
        wide = self._of_size(_largest(texts))
        sizes = np.array([document(text).size for text in texts])
        problems = {int(size): self._of_size(int(size)) for size in np.unique(sizes)}
        time_given = Deadline.of(how.get("deadline"))
        whole_time = None if time_given is None else time_given.begun(len(texts))
        parts, order = [], []
        for size, problem in problems.items():
            at = np.flatnonzero(sizes == size)
            some = [texts[i] for i in at]
            wishes = self.wishes(some, keep, most)
            if whole_time is not None:  # texts of all sizes share it
                how["deadline"] = whole_time.part(float((sizes <= size).mean()))
            got = recommend(problem, rows_of(some, problem.schema), method, k, preferences=wishes, **how)
            parts.append(_widened(got, wide))
            order.append(at)
        place = np.argsort(np.concatenate(order))
        whole = replace(Recourse.concat(parts)[place], problem=wide)
        return TextRecourse(tuple(texts), whole)

    def _of_size(self, size: int) -> Problem:
        if size not in self._problems:
            schema = document_schema(size)
            some = [text for text in self.texts if document(text).size <= size][:_LOOKED_AT]
            model = wrap(self.model, schema, verify_on=rows_of(some, schema) if some else None)
            self._problems[size] = Problem(schema, model, self.target, cost=LpMix(l0=1.0, l1=0.0))
        return self._problems[size]


def strings(texts: Any) -> list[str]:
    """Return texts as a list. Raises: DataError for one string alone, and for what is no text."""
    if isinstance(texts, (str, bytes)):
        raise DataError("texts is one string. Give a list of texts: [text].")
    if not isinstance(texts, Iterable):
        raise DataError(f"texts is a {type(texts).__name__}. Give a list of texts.")
    found = list(texts)
    for i, text in enumerate(found):
        if not isinstance(text, str):
            raise DataError(f"Entry {i} of texts is a {type(text).__name__}. Give strings.")
    return found


def _words(words: Collection[str]) -> frozenset[str]:
    if isinstance(words, str):
        raise ProblemError(f"keep={words!r} is one string. Give a list of words: [{words!r}].")
    if not isinstance(words, Iterable):
        raise ProblemError(f"keep={words!r} is a {type(words).__name__}. Give a list of words.")
    found = list(words)
    for word in found:
        if not isinstance(word, str) or not is_word(word):
            raise ProblemError(f"keep names {word!r}, which is no single word. Give words one by one.")
    return frozenset(found)


def _largest(texts: Sequence[str]) -> int:
    if not texts:
        raise DataError("texts is empty. Give at least one.")
    return max(document(text).size for text in texts)


def _widened(got: Recourse, problem: Problem) -> Recourse:
    """Return answers about texts in the rows of longer ones."""
    schema, more = problem.schema, problem.schema.d - got.d
    if not more:
        return got

    def wide(values: np.ndarray, empty: float) -> np.ndarray:
        return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, more)], constant_values=empty)

    after = wide(got.after, 0.0)
    after[np.isnan(got.after).all(2)] = np.nan
    wishes = got.preferences
    if wishes is not None:
        blank = Preferences.none(schema, got.n)
        wishes = replace(
            blank,
            frozen=wide(wishes.frozen, False),
            weight=wide(wishes.weight, 1.0),
            max_changes=wishes.max_changes,
        )
    return replace(
        got, schema=schema, x=wide(got.x, 0.0), action=wide(got.action, np.nan), after=after,
        path=wide(got.path, 0.0), preferences=wishes, problem=problem,
    )  # fmt: skip
