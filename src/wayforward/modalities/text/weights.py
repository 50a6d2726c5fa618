"""Pipelines that add up weights of single words, read: what each word adds, and what it adds to the length of the text.

Counts or tf-idf of single words, with or without a norm, before a linear classifier or multinomial naive Bayes. A text
whose words do not stand for themselves there (two of them share a term, or a term reaches over two) is asked about as
it is.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from wayforward.modalities.text.documents import document, texts_of
from wayforward.model.adapters.sklearn_estimator import linear_parts
from wayforward.model.base import Access, Scorer
from wayforward.model.encoder import NotRead
from wayforward.model.fast import Fast, apply_link
from wayforward.model.forms import Link
from wayforward.schema import Schema
from wayforward.schema.carried import values_of
from wayforward.shapes import Floats, Ints, Mask, Outputs, Who

_REMEMBERED, _SPELLINGS = 8192, 1 << 18  # texts whose weights are kept, words whose terms are
_DEFAULT_PATTERN = r"(?u)\b\w\w+\b"
_EMPTY = 1e-12  # a share of the squares this small is what subtraction leaves of none


class _Weights(NamedTuple):
    """Of one text: adds (u, q) to the margin and size (u,) to the norm, of each of its u units; and its terms, in
    order, term, unit, often (t,): which they are, of which unit, how often they stand there."""

    adds: Floats
    size: Floats
    term: Ints
    unit: Ints
    often: Ints


def read_weights(model: Any, schema: Schema, native: Callable[[Floats], tuple[Outputs, Ints]]) -> WordWeights:
    """Read a fitted pipeline. Raises: NotRead."""
    steps = [step for _, step in getattr(model, "steps", ())]
    if len(steps) < 2 or not hasattr(steps[0], "vocabulary_"):
        raise NotRead("it is no pipeline of a vectoriser with a vocabulary and a classifier")
    vectoriser, *between, head = steps
    if vectoriser.ngram_range != (1, 1) or vectoriser.analyzer != "word":
        raise NotRead("its terms are not single words")
    scale = [vectoriser] if hasattr(vectoriser, "sublinear_tf") else []
    scale += between
    if len(scale) > 1 or any(
        type(step).__name__ not in ("TfidfVectorizer", "TfidfTransformer") for step in scale
    ):
        raise NotRead("a step stands between the words and the classifier")
    if type(head).__name__ == "MultinomialNB" and type(head).__module__.startswith("sklearn."):
        linear: tuple[Floats, Floats, Link] | None = (
            head.feature_log_prob_,
            head.class_log_prior_,
            "softmax",
        )
    else:
        linear = linear_parts(head)
    if linear is None:
        raise NotRead(f"{type(head).__name__} is not linear")
    return WordWeights(vectoriser, scale[0] if scale else None, linear, schema, native, between)


class WordWeights(Fast):
    """The margin of a text as a sum over its words, divided by a norm where there is one."""

    kind = "weights of words"
    access = Access.PROBABILITY

    def __init__(
        self, vectoriser: Any, scale: Any, linear: tuple[Floats, Floats, Link], schema: Schema,
        native: Callable[[Floats], tuple[Outputs, Ints]], between: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        self.schema, self.native = schema, native
        self.coef, self.intercept, self.link = linear
        self.analyse, self.vocabulary = vectoriser.build_analyzer(), vectoriser.vocabulary_
        # terms that are runs of letters, as units are: each unit can be looked at alone
        self.whole_words = vectoriser.token_pattern == _DEFAULT_PATTERN and all(
            part is None for part in (vectoriser.tokenizer, vectoriser.preprocessor, vectoriser.strip_accents)
        )
        self.binary = bool(vectoriser.binary)
        self.sublinear = bool(getattr(scale, "sublinear_tf", False))
        self.norm = getattr(scale, "norm", None)
        weighted = scale is not None and scale.use_idf
        self.idf = np.asarray(scale.idf_) if weighted else np.ones(len(self.vocabulary))
        self.encoder: Any = WordCounts(self, vectoriser, between)
        self._terms: dict[str, tuple[int, ...]] = {}
        self._known: OrderedDict[str, _Weights | None] = OrderedDict()

    # -- of texts ------------------------------------------------------------------------------------------

    def weights(self, text: str) -> _Weights | None:
        """What each unit of a text adds; None where units do not stand for themselves."""
        if text not in self._known:
            self._known[text] = self._worked_out(text)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return self._known[text]

    def _worked_out(self, text: str) -> _Weights | None:
        one, known = document(text), self._terms
        if len(known) >= _SPELLINGS:
            known.clear()
        for word in one.unit.keys() - known.keys():
            self._terms_of(word)
        terms, many = list(map(known.__getitem__, one.unit)), len(one.unit)
        units = np.fromiter(one.unit.values(), np.int64, many)
        often = np.array(one.times, dtype=np.int64)
        several = np.fromiter(map(len, terms), np.int64, many)
        every = np.fromiter(chain.from_iterable(terms), np.int64, int(several.sum()))
        if len(every) < many or several.max(initial=1) > 1:
            units, often = np.repeat(units, several), np.repeat(often, several)
        order = every.argsort(kind="stable")
        term, unit, times = every[order], units[order], often[order]
        again = (
            np.flatnonzero(term[1:] == term[:-1]) + 1
        )  # another spelling, or a term that stands in several words
        if again.size:
            if (unit[again] != unit[again - 1]).any():
                return None
            first = np.flatnonzero(np.r_[True, term[1:] != term[:-1]])
            term, unit, times = term[first], unit[first], np.add.reduceat(times, first)
        count = times.astype(np.float64)
        if not self.whole_words:
            places = map(self.vocabulary.get, self.analyse(text))
            whole = Counter(at for at in places if at is not None)
            if whole != dict(zip(term.tolist(), count.tolist(), strict=True)):
                return None
        if self.binary:
            count = np.ones(len(count))
        value = (1 + np.log(count) if self.sublinear else count) * self.idf[term]
        many = len(one.words)
        adds = np.stack([np.bincount(unit, value * coef[term], many) for coef in self.coef], axis=1)
        size: Floats = np.zeros(many)
        if self.norm:
            size = np.bincount(unit, value**2 if self.norm == "l2" else np.abs(value), many)
        return _Weights(adds, size, term, unit, times)

    def _terms_of(self, word: str) -> tuple[int, ...]:
        places = (self.vocabulary.get(term) for term in self.analyse(word))
        found = self._terms[word] = tuple(at for at in places if at is not None)
        return found

    def of_texts(self, keys: Floats) -> tuple[Floats, Floats, Mask]:
        """keys (n,) -> adds (n, u, q), size (n, u) and (n,) bool: units of the text stand for themselves."""
        values, which = values_of(keys, self.schema.features[0])
        u = self.schema.d - 1
        adds, size = np.zeros((len(values), u, len(self.coef))), np.zeros((len(values), u))
        plain = np.ones(len(values), dtype=bool)
        for i, text in enumerate(values):
            found = self.weights(text or "")
            if found is None:
                plain[i] = False
                continue
            adds[i, : len(found.size)], size[i, : len(found.size)] = found.adds, found.size
        return adds[which], size[which], plain[which]

    # -- of rows -------------------------------------------------------------------------------------------

    def outputs(self, x: Floats) -> Floats:
        """See `Fast`."""
        keys, which = np.unique(x[:, 0], return_inverse=True)
        return self.ask(self.of_texts(keys), which, x)

    def ask(self, texts: tuple[Floats, Floats, Mask], who: Who, x: Floats) -> Floats:
        """(m, c) outputs of rows x (m, d) of these texts."""
        adds, size, plain = texts
        total, length = np.empty((len(x), adds.shape[2])), np.zeros(len(x))
        for q in range(adds.shape[2]):
            total[:, q] = np.einsum("mu,mu->m", x[:, 1:], adds[who, :, q])
        if self.norm:
            length = np.einsum("mu,mu->m", x[:, 1:], size[who])
        out = apply_link(self.margin(total, length, size[who].sum(1) if self.norm else length), self.link)
        odd = np.flatnonzero(~plain[who])
        if odd.size:
            out[odd] = self.native(x[odd])[0]
        return out

    def margin(self, total: Floats, length: Floats, whole: Floats) -> Floats:
        """(..., q) sums and (...) what the norm is made of, of the whole text too -> (..., q) margins."""
        if not self.norm:
            return np.asarray(total + self.intercept)
        words = length > _EMPTY * whole
        norm = np.sqrt(np.where(words, length, 1.0)) if self.norm == "l2" else np.where(words, length, 1.0)
        return np.asarray(np.where(words[..., None], total / norm[..., None], 0.0) + self.intercept)

    def specialise(self, x: Floats, free: Mask, default: Scorer) -> Scorer:
        """See `Fast`."""
        texts = self.of_texts(x[:, 0])
        return _TextScorer(self, texts, default) if texts[2].all() else default


class WordCounts:
    """The counts of words in rows, made from what is known of their texts: the first step of a pipeline, computed.

    What stands between the counts and the classifier does its own work.
    """

    def __init__(self, weights: WordWeights, vectoriser: Any, between: Sequence[Any]) -> None:
        self.weights, self.between = weights, list(between)
        self.dtype, self.terms = vectoriser.dtype, len(vectoriser.vocabulary_)
        own = getattr(vectoriser, "_tfidf", None)  # of a vectoriser that counts and weighs in one
        if own is not None:
            self.between.insert(0, own)

    def plain(self, rows: Floats) -> Mask:
        """(m, d) -> (m,) bool: units of the text stand for themselves."""
        known, which = self._known(rows)
        return np.asarray(np.array([one is not None for one in known], dtype=bool)[which])

    def ready(self, rows: Floats) -> Any:
        """(m, d) of plain texts -> what the classifier is asked about, (m, terms) sparse."""
        from scipy.sparse import csr_matrix

        known, which = self._known(rows)
        texts = [one for one in known if one is not None]
        size = np.array([len(one.term) for one in texts], dtype=np.int64)
        term, unit, count = (
            np.concatenate([one[i] for one in texts]) if texts else np.zeros(0, np.int64) for i in (2, 3, 4)
        )
        many = size[which]
        owner = np.repeat(np.arange(len(rows)), many)
        place = np.arange(len(owner)) + np.repeat(
            (np.cumsum(size) - size)[which] - np.cumsum(many) + many, many
        )
        there = rows[owner, 1 + unit[place]] != 0
        ends = np.concatenate([[0], np.cumsum(np.bincount(owner[there], minlength=len(rows)))])
        place = place[there]
        made: Any = csr_matrix(
            (count[place].astype(self.dtype), term[place].astype(np.int32), ends.astype(np.int32)),
            shape=(len(rows), self.terms),
        )
        if self.weights.binary:
            made.data.fill(1)
        for step in self.between:
            made = step.transform(made)
        return made

    def agrees(self, rows: Floats, front: Any) -> bool:
        """Whether a pipeline's own first steps make the same bits of rows (m, d), whole and with words taken out."""
        fewer = rows.copy()
        fewer[:, 1:] *= np.random.default_rng(0).random(fewer[:, 1:].shape) < 0.5
        both = np.concatenate([rows, fewer])
        both = both[self.plain(both)]
        if not len(both):
            return False
        own, mine = front.transform(texts_of(both, self.weights.schema)), self.ready(both)
        return bool(
            own.shape == mine.shape
            and own.dtype == mine.dtype
            and all(
                np.array_equal(getattr(own, part), getattr(mine, part))
                for part in ("indptr", "indices", "data")
            )
        )

    def _known(self, rows: Floats) -> tuple[list[_Weights | None], Ints]:
        """What is known of the different texts of rows (m, d), and which of them each row has (m,)."""
        keys, which = np.unique(rows[:, 0], return_inverse=True)
        values, place = values_of(keys, self.weights.schema.features[0])
        return [self.weights.weights(text or "") for text in values], place[which]


class _TextScorer(Scorer):
    """Rows of known texts, and all texts with one word less at once."""

    def __init__(self, weights: WordWeights, texts: tuple[Floats, Floats, Mask], default: Scorer) -> None:
        super().__init__(default.model)
        self.weights, self.texts = weights, texts

    def outputs(self, who: Who, rows: Floats) -> Floats:
        """See `Scorer`."""
        self.model.counter.add(len(rows))
        return self.weights.ask(self.texts, who, rows)

    def each_change(self, who: Who, rows: Floats, values: Floats) -> Floats:
        """See `Scorer`."""
        adds, size, _ = self.texts
        self.model.counter.add(int((~np.isnan(values)).sum()))
        adds, size, words = adds[who], size[who], rows[:, 1:]
        step = np.nan_to_num(values[:, 1:] - words)  # (m, u)
        total = np.einsum("mu,muq->mq", words, adds)[:, None] + step[:, :, None] * adds
        length = np.einsum("mu,mu->m", words, size)[:, None] + step * size
        whole = np.broadcast_to(size.sum(1)[:, None], length.shape)
        margin = self.weights.margin(total, length, whole)
        flat = apply_link(margin.reshape(-1, margin.shape[2]), self.weights.link)
        out = np.zeros((*values.shape, flat.shape[1]))
        out[:, 1:] = flat.reshape(*step.shape, -1)
        return out
