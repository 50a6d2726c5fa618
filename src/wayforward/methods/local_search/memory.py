"""What an opaque model said about each person's rows, and what a stand-in would get wrong about others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.local_search.surrogate import Surrogate
from wayforward.model.kernels import jit
from wayforward.ranks import rank_in_run
from wayforward.shapes import Mask, PerRow, Rows, Who
from wayforward.streams import keys_of

if TYPE_CHECKING:
    from wayforward.problem import Population

_SIZE = 400  # rows of a person that are remembered
_NEAREST = 40  # rows that a guess goes by
_LEVEL, _SLOPE, _LOCAL = 0.2, 0.3, 0.5  # shares of the variance of what the stand-in gets wrong
_RANGE = 0.3  # how far a local error reaches, in costs of the incumbent
_NUGGET = 1e-2  # share of the variance that belongs to single rows
_PRIOR = 6.0  # rows that the stand-in's error at large counts for
_HARD = 0.7  # of the error: how far beyond the boundary a label that was not expected is taken to lie


class Memory:
    """Errors of the stand-in on each person's rows, as a Gaussian process: a level, a slope, and what is local.

    Two rows are as far apart as what the changes cost differs, feature by feature, so that scales do not matter.
    """

    def __init__(self, stand_in: Surrogate, people: Population) -> None:
        self.stand_in, self.people = stand_in, people
        n, d = people.n, people.d
        self.count = np.zeros(n, dtype=np.int64)
        self.key = np.zeros((n, 0), dtype=np.uint64)
        self.seen = np.empty(0, dtype=np.uint64)  # what was asked about, by person
        self.miss = np.zeros((n, 0))
        self.place = np.zeros((n, 0, d))
        self.value = np.zeros((n, 0, d))

    def guess(self, who: Who, action: Rows) -> PerRow:
        """Return what the stand-in alone says (m,)."""
        return self.stand_in.score(self.people.after(who, action))

    def unknown(self, who: Who, action: Rows) -> Mask:
        """(m,) bool: the model was not asked about this action of the person, and no row before it is the same."""
        key = self._keys(who, action)
        at = np.minimum(np.searchsorted(self.seen, key), len(self.seen) - 1)
        new = self.seen[at] != key if len(self.seen) else np.ones(len(who), dtype=bool)
        new[new] = first_of_each(key[new])
        return np.asarray(new)

    @staticmethod
    def _keys(who: Who, action: Rows) -> np.ndarray:
        return keys_of(np.column_stack([action, who]), 0)

    def learn(self, who: Who, action: Rows, guess: PerRow, score: PerRow) -> None:
        """Remember what the model scored (m,) where the stand-in said `guess`."""
        there = np.isfinite(score)
        who, action, guess, score = who[there], action[there], guess[there], score[there]
        if not len(who):
            return
        if self.stand_in.labels:  # a label speaks only where something else was expected
            hard = np.where(score > 0, 1.0, -1.0) * _HARD * self.stand_in.error
            score = np.where((score > 0) == (guess > 0), guess, hard)
        score = np.clip(score, -6.0, 6.0)
        order = np.argsort(who, kind="stable")
        who, action, guess, score = who[order], action[order], guess[order], score[order]
        at = self.count[who] + rank_in_run(who)
        short = int(min(at.max() + 1, _SIZE)) - self.key.shape[1]
        if short > 0:
            short = min(max(short, _NEAREST), _SIZE - self.key.shape[1])
            n, d = self.people.n, self.people.d
            self.key = np.concatenate([self.key, np.zeros((n, short), np.uint64)], axis=1)
            self.miss = np.concatenate([self.miss, np.zeros((n, short))], axis=1)
            self.place = np.concatenate([self.place, np.zeros((n, short, d))], axis=1)
            self.value = np.concatenate([self.value, np.zeros((n, short, d))], axis=1)
        at %= _SIZE
        key = self.key[who, at] = self._keys(who, action)
        self.seen = np.sort(np.concatenate([self.seen, key]))
        self.miss[who, at] = score - guess
        self.place[who, at], self.value[who, at] = self._place(who, action)
        self.count += np.bincount(who, minlength=len(self.count))

    def shift(self, who: np.ndarray, centre: Rows, there: Mask) -> PerRow:
        """Return by how much the stand-in errs at actions (c, d) that were asked about; 0 where not `there`."""
        out = np.zeros(len(who))
        some = np.flatnonzero(there & (self.count[who] > 0))
        key = self._keys(who[some], centre[some])
        if not some.size:
            return out
        same = self.key[who[some]] == key[:, None]
        hit = same.any(1)
        out[some[hit]] = self.miss[who[some[hit]], same[hit].argmax(1)]
        return out

    def _place(self, who: Who, action: Rows) -> tuple[Rows, Rows]:
        """Return where actions are (m, d): what each change costs, with its direction; and the levels that they set."""
        x = self.people.x[who]
        part = self.people.parts(who, action)
        with np.errstate(invalid="ignore"):
            down = action < x
        levels = self.people.schema.is_categorical
        return np.where(down & ~levels, -part, part), np.where(levels & (part > 0), action, -1.0)

    def corrected(
        self,
        who: np.ndarray,
        owner: np.ndarray,
        action: np.ndarray,
        guess: np.ndarray,
        centre: Rows,
        scale: PerRow,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what the model would score, as far as is known, and how uncertain that is: (m,), (m,).

        who (c,): people; owner (m,): position of each row's person in who, sorted; guess (m,): what the stand-in says.
        centre (c, d), scale (c,): an action near to which rows matter, and its cost.
        """
        near, there = self._nearest(who, centre, scale)
        place, value = self.place[who[:, None], near], self.value[who[:, None], near]
        miss = np.where(there, self.miss[who[:, None], near], 0.0)
        size = there.sum(1)
        error = self.stand_in.error + 1e-3
        var = (_PRIOR * error**2 + (miss**2).sum(1)) / (_PRIOR + size)
        gram = self._kernel(place, value, place, value, scale)
        gram *= there[:, :, None] & there[:, None, :]
        each = np.arange(gram.shape[1])
        gram[:, each, each] = np.where(there, gram[:, each, each] + _NUGGET, 1.0)
        inverse = np.linalg.inv(gram)
        weight = (inverse @ miss[:, :, None])[:, :, 0]
        # rows of one person side by side
        rank = rank_in_run(owner)
        width = int(rank.max()) + 1
        own_place, own_value = self._place(who[owner], action)
        pad_place, pad_value = (np.zeros((len(who), width, self.people.d)) for _ in range(2))
        pad_place[owner, rank], pad_value[owner, rank] = own_place, own_value
        cross = self._kernel(pad_place, pad_value, place, value, scale) * there[:, None, :]
        more = (cross * weight[:, None, :]).sum(2)
        # one product a row, and matrices of one size, so that nobody's bits hang on who else is asked about
        known = (np.einsum("cpi,cij->cpj", cross, inverse) * cross).sum(2)
        left = np.maximum(self._alone(pad_place, scale) - known, _NUGGET)
        mean = guess + more[owner, rank]
        return mean.round(9), np.sqrt(var[owner] * left[owner, rank]).round(9)

    def _nearest(self, who: np.ndarray, centre: Rows, scale: PerRow) -> tuple[np.ndarray, Mask]:
        """Return positions (c, r) of the rows that are remembered nearest to a centre, and where there is one."""
        size = self.key.shape[1]
        there = np.arange(size) < np.minimum(self.count[who], _SIZE)[:, None]
        place, value = self._place(who, centre)
        levels = self.people.schema.is_categorical
        own, code = self.place[who], self.value[who]
        gap = np.abs(own - place[:, None])
        same = code == value[:, None]
        gap = np.where(levels, np.where(same, 0.0, np.maximum(own, place[:, None])), gap).sum(2)
        gap = np.where(there, gap, np.inf)
        near = np.argsort(gap, axis=1, kind="stable")[:, :_NEAREST]
        return near, np.take_along_axis(there, near, 1)

    def _kernel(
        self, a: np.ndarray, a_value: np.ndarray, b: np.ndarray, b_value: np.ndarray, scale: PerRow
    ) -> np.ndarray:
        """(c, p, d) and (c, q, d) -> (c, p, q): how alike errors are, in units of their variance."""
        gap = np.zeros((len(a), a.shape[1], b.shape[1]))
        dot = np.zeros_like(gap)
        (_gaps if jit() is None else _compiled_gaps)(
            a, a_value, b, b_value, self.people.schema.is_categorical, gap, dot
        )
        unit = scale[:, None, None]
        return np.asarray(_LEVEL + _SLOPE * dot / unit**2 + _LOCAL * np.exp(-gap / (_RANGE * unit)))

    def _alone(self, a: np.ndarray, scale: PerRow) -> np.ndarray:
        return np.asarray(_LEVEL + _LOCAL + _SLOPE * (a**2).sum(2) / scale[:, None] ** 2)


def _gaps(
    a: np.ndarray,
    a_value: np.ndarray,
    b: np.ndarray,
    b_value: np.ndarray,
    categorical: Mask,
    gap: np.ndarray,
    dot: np.ndarray,
) -> None:
    """Add up how far rows (c, p, d) are from rows (c, q, d), and their products, in gap and dot (c, p, q)."""
    for j in range(a.shape[2]):
        one, two = a[:, :, None, j], b[:, None, :, j]
        if not (one.any() or two.any()):
            continue
        if categorical[j]:
            same = a_value[:, :, None, j] == b_value[:, None, :, j]
            gap += np.where(same, 0.0, np.maximum(one, two))
            dot += np.where(same, one * two, 0.0)
        else:
            gap += np.abs(one - two)
            dot += one * two


def _compiled_gaps(*given: np.ndarray) -> None:
    from wayforward.methods.local_search._memory_jit import gaps

    # copies of what is laid out otherwise, or may not be written to: it would be compiled for anew
    gaps(*(part if part.flags.c_contiguous and part.flags.writeable else np.array(part) for part in given))


def first_of_each(key: np.ndarray) -> Mask:
    """(m,) bool: no key before this one is the same."""
    out = np.zeros(len(key), dtype=bool)
    out[np.unique(key, return_index=True)[1]] = True
    return out
