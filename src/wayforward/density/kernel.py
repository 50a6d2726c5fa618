"""A conditional kernel density for each group of people."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from wayforward.density.base import Densities, jacobian, unscale
from wayforward.density.generative.coding import Coding
from wayforward.groups import Groups
from wayforward.model.kernels import jit
from wayforward.scaling import thinned
from wayforward.shapes import Floats, People, PerFeature, Rows
from wayforward.streams import Streams, keys_of

_PAIRS = 1 << 21  # proposals times people that the NumPy twin of the kernels holds at once


@dataclass(frozen=True)
class _Part:
    """Some features of the people R of a group, as kernels see them: numbers by p, levels by k.

    width (p,): of the Gaussian kernels. value (R, p): numbers over their width, 0 where missing. gone (R, p): missing.
    miss (k,): chance of another level. level (R, k): coordinates.
    """

    width: np.ndarray
    value: np.ndarray
    gone: np.ndarray
    miss: np.ndarray
    level: np.ndarray


class _Column(NamedTuple):
    """A feature of x_f: its rank among numbers or levels, values (n,), which are missing, and log kernels where two
    people are alike, where both miss it, and where one does or the level is another."""

    rank: int
    value: np.ndarray
    lost: np.ndarray
    is_level: bool
    log: tuple[float, float, float]


class _Tree(NamedTuple):
    """Different x_f as the compiled sums read them. of: rank, and whether it is a level, of each column. top: greatest
    log kernel there can be. parts: the arguments of `_kernel_jit.sums` in order."""

    of: list[tuple[int, bool]]
    top: float
    parts: dict[str, np.ndarray]


@dataclass(frozen=True)
class _Group:
    """n people of a group: x_f (made), the different x'_I (given), and whose x'_I is which, kin (n,)."""

    n: int
    made: _Part
    given: _Part
    kin: np.ndarray
    tree: _Tree | None


class Kernel(Densities):
    """A conditional product kernel estimate: people of the group, weighted by how like x'_I they are.

    Gaussian kernels on numbers, in their scaled space, with Scott's bandwidth; Aitchison and Aitken's on levels (their
    share of other levels falls with the number of people). Source: P. Hall, J. Racine, Q. Li (2004), Cross-Validation
    and the Estimation of Conditional Probability Densities, JASA 99, for the form; bandwidths are by rule here.
    """

    kind = "kernel"

    def __init__(
        self,
        coding: Coding,
        rows: Rows,
        groups: Groups,
        span: PerFeature,
        *,
        bandwidth: float,
        most: int,
        seed: int,
    ) -> None:
        super().__init__(coding, groups.names, groups.sizes, span)
        self.bandwidth = bandwidth
        self._made_number = coding.mean_of
        self._given_number = np.flatnonzero(coding.given[coding.numeric])
        self._made_level = np.flatnonzero(coding.made[coding.level])
        self._given_level = np.flatnonzero(coding.given[coding.level])
        self.learnt = []
        for g in range(self.n_groups):
            own = rows[groups.member == g]
            self.learnt.append(self._group(own[thinned(len(own), most, seed)], rows))

    def _group(self, own: Rows, everyone: People) -> _Group:
        """Scale and code the people of a group, for x_f and for x'_I."""
        n = len(own)
        wide = self.coding.scaled(everyone)
        made = self._part(own, self.coding.scaled(own), self._made_number, self._made_level)
        # how alike people must be in x'_I is a question about all of them
        given = self._part(own, wide, self._given_number, self._given_level)
        first, kin = _alike([*given.value.T, *given.gone.T, *given.level.T], n)
        given = replace(given, value=given.value[first], gone=given.gone[first], level=given.level[first])
        return _Group(n, made, given, kin, self._tree(made, n))

    def _part(self, own: Rows, spread_of: Floats, numbers: np.ndarray, levels: np.ndarray) -> _Part:
        """Code some features of people own (n, d); bandwidths of numbers by the spread of scaled numbers (N, p)."""
        coding, n = self.coding, len(own)
        shrink = self.bandwidth * n ** (-1 / (max(len(numbers), 1) + 4))
        width = np.maximum(_spread(spread_of[:, numbers]), 0.1) if n > 1 else np.ones(len(numbers))
        width = np.nan_to_num(width, nan=1.0) * shrink
        miss = [
            min(0.5 * self.bandwidth * n ** (-1 / 5), (c - 1) / c) if c > 1 else 0.0
            for c in coding.size[levels].tolist()
        ]
        value = coding.scaled(own)[:, numbers]
        return _Part(
            width, np.nan_to_num(value) / width, np.isnan(value), np.array(miss), coding.own(own)[:, levels]
        )

    def _tree(self, made: _Part, n: int) -> _Tree | None:
        """The different x_f of a group as `_kernel_jit.sums` reads them, few values first; None for one alone."""
        columns = self._tree_columns(made, n)
        if not columns:  # only features of one level: there is one profile, of probability 1
            return None
        codes = [_alike([column.value, column.lost], n) for column in columns]
        # Few values first: rows that begin alike share the product so far. Numbers that hardly anybody shares go last.
        one, _ = _alike([code for _, code in codes], n)
        few = [
            column.is_level or len(some) <= len(one) // 2
            for column, (some, _) in zip(columns, codes, strict=True)
        ]
        order = sorted(range(len(columns)), key=lambda i: (not few[i], len(codes[i][0])))
        columns, codes = [columns[i] for i in order], [codes[i] for i in order]
        q, h = len(columns), sum(few)
        one, leaf = _alike([code for _, code in codes], n)
        start = np.r_[0, np.cumsum([len(some) for some, _ in codes[:h]])].astype(np.int64)
        index = np.stack([code[one] for _, code in codes], axis=1)[:, :h] + start[:-1]
        last = index[:, -1] if h == q else np.zeros(0, dtype=np.int64)
        index = index[:, : min(h, q - 1)]
        unlike = np.zeros(index.shape, dtype=bool)
        unlike[1:] = np.logical_or.accumulate(index[1:] != index[:-1], axis=1)
        branch = np.r_[True, unlike[1:].any(1)]
        unlike, index = unlike[branch], index[branch]
        unlike[0] = True
        skip = np.empty(index.shape, dtype=np.int64)
        for j in range(index.shape[1]):  # the next branch, if any, where this column or one before differs
            place = np.r_[np.flatnonzero(unlike[:, j]), len(index)]
            skip[:, j] = place[np.searchsorted(place, np.arange(len(index)), side="right")]
        costs = np.array([column.log for column in columns])
        shared = [(c.value[of], c.lost[of]) for c, (of, _) in zip(columns[:h], codes[:h], strict=True)]
        parts = {
            "leaf": leaf.astype(np.uint32),
            "level": np.array([column.is_level for column in columns]),
            "cost": costs.max(1, keepdims=True) - costs,
            "table": np.concatenate([np.zeros(0), *[value for value, _ in shared]]),
            "lost": np.concatenate([np.zeros(0, dtype=bool), *[lost for _, lost in shared]]),
            "start": start,
            "index": index.astype(np.uint32),
            "first": unlike.argmax(1) if index.shape[1] else np.zeros(len(index), dtype=np.int64),
            "skip": skip,
            "begin": np.r_[np.flatnonzero(branch), len(one)].astype(np.int64),
            "last": last.astype(np.uint32),
            "own": np.array([c.value[one] for c in columns[h:]]).reshape(q - h, len(one)),
            "absent": np.array([c.lost[one] for c in columns[h:]], dtype=bool).reshape(q - h, len(one)),
        }
        of = [(column.rank, column.is_level) for column in columns]
        return _Tree(of, float(costs.max(1).sum()), parts)

    def _tree_columns(self, made: _Part, n: int) -> list[_Column]:
        """The features of x_f with more than one value there can be, numbers first."""
        coding, schema = self.coding, self.coding.schema
        columns: list[_Column] = []
        for j, f in enumerate(self._made_number):
            peak = -math.log(made.width[j] * math.sqrt(2 * math.pi))
            lost, log = made.gone[:, j], (peak, peak, peak)
            if schema.missing[coding.numeric[f]]:
                log = (peak + math.log(0.95), math.log(0.95), math.log(0.05))
            else:
                lost = np.zeros(n, dtype=bool)
            columns.append(_Column(j, made.value[:, j], lost, False, log))
        for j, f in enumerate(self._made_level):
            h, c = made.miss[j], int(coding.size[f])
            if c > 1:
                same, other = math.log(1 - h), math.log(max(h, 1e-12) / (c - 1))
                level, there = made.level[:, j].astype(float), np.zeros(n, bool)
                columns.append(_Column(j, level, there, True, (same, same, other)))
        return columns

    def _log_kernels(self, g: int, part: Literal["made", "given"], rows: Rows) -> Floats:
        """(m, R) log kernels between rows and the people of a group over x_f ('made'), or over x'_I ('given') its
        R different x'_I."""
        coding, own = self.coding, self.learnt[g].made if part == "made" else self.learnt[g].given
        numbers, levels = (
            (self._made_number, self._made_level)
            if part == "made"
            else (self._given_number, self._given_level)
        )
        scaled = coding.scaled(rows)[:, numbers]
        gone = np.isnan(scaled)
        here = np.nan_to_num(scaled) / own.width
        out = np.zeros((len(rows), len(own.value)))
        for j in range(len(numbers)):  # feature by feature: the same rounding whatever else is worked out
            far = here[:, j, None] - own.value[None, :, j]
            term = -0.5 * far * far - math.log(own.width[j] * math.sqrt(2 * math.pi))
            if coding.schema.missing[coding.numeric[numbers[j]]]:
                lost = gone[:, j, None] != own.gone[None, :, j]
                none = gone[:, j, None] | own.gone[None, :, j]
                term = np.where(none, 0.0, term) + np.where(lost, math.log(0.05), math.log(0.95))
            out += term
        level = coding.own(rows)[:, levels]
        for j in range(len(levels)):
            h, c = own.miss[j], int(coding.size[levels[j]])
            if c < 2:
                continue
            same = level[:, j, None] == own.level[None, :, j]
            out += np.where(same, math.log(1 - h), math.log(max(h, 1e-12) / (c - 1)))
        return out

    def log_density(self, rows: Rows) -> Floats:
        """(m, d) -> (m, g), see the class."""
        out = np.empty((len(rows), self.n_groups))
        shift = jacobian(self.coding, rows, self.span)
        # Proposals share their x'_I with many others: how like it people are is worked out once.
        _, first, same = np.unique(
            keys_of(np.where(self.given, rows, 0.0), 0), return_index=True, return_inverse=True
        )
        order = np.argsort(same, kind="stable")
        fast = jit()
        step = _PAIRS // max(group.n for group in self.learnt)
        for begin in range(0, len(rows), max(1, step)):
            at = order[begin : begin + max(1, step)]
            lowest = same[at[0]]
            askers, key = rows[first[lowest : same[at[-1]] + 1]], same[at] - lowest
            some = rows[at]
            scaled, level = (
                self.coding.scaled(some)[:, self._made_number],
                self.coding.own(some)[:, self._made_level],
            )
            for g in range(self.n_groups):
                like = self._log_kernels(g, "given", askers)
                if fast is not None:
                    out[at, g] = self._sums(g, scaled, level, key, like)
                    continue
                like = like[:, self.learnt[g].kin]
                like = like - like.max(1, keepdims=True)  # else a far x'_I would round what is of x_f away
                total = _log_sum(like)
                out[at, g] = _log_sum(like[key] + self._log_kernels(g, "made", some)) - total[key]
        return np.asarray(out + shift[:, None])

    def _sums(
        self, g: int, scaled: np.ndarray, level: np.ndarray, key: np.ndarray, like: np.ndarray
    ) -> np.ndarray:
        """Scaled numbers (m, p) and levels (m, k) of rows, which x'_I (m,) of like (K, G) is theirs -> (m,)."""
        from wayforward.density import _kernel_jit as fast

        own, out = self.learnt[g], np.empty(len(key))
        tree, width = own.tree, own.made.width
        if tree is None:
            return np.zeros(len(key))
        value = np.empty((len(key), len(tree.of)))
        gone = np.zeros(value.shape, dtype=bool)
        for c, (j, is_level) in enumerate(tree.of):
            if is_level:
                value[:, c] = level[:, j]
            else:
                value[:, c] = np.nan_to_num(scaled[:, j]) / width[j]
                if self.schema.missing[self.coding.numeric[self._made_number[j]]]:
                    gone[:, c] = np.isnan(scaled[:, j])
        parts = (value, gone, key, like, own.kin.astype(np.uint32), *tree.parts.values(), out)
        fast.sums(*parts)
        if np.isnan(out).any():
            fast.far_sums(*parts)
        return np.asarray(out + tree.top)

    def sample(self, x: People, s: int, streams: Streams, *, tag: int = 0) -> Floats:
        """(n, s, d): a person of the group by their likeness in x'_I, then the kernel's noise."""
        coding, n = self.coding, len(x)
        out, who = np.repeat(x[:, None, :], s, axis=1), np.arange(n)
        if not n:
            return out
        numbers, levels = coding.numeric[self._made_number], coding.level[self._made_level]
        pick = streams.uniform(who, s, tag=tag * 4 + 1)
        noise = streams.normal(who, s, max(len(numbers), 1), tag=tag * 4 + 2)
        swap = streams.uniform(who, s, max(len(levels), 1), 2, tag=tag * 4 + 3)
        for g in range(self.n_groups):
            slot = np.arange(g, s, self.n_groups)
            own = self.learnt[g]
            like = self._log_kernels(g, "given", x)[:, own.kin]
            total = np.exp(like - like.max(1, keepdims=True)).cumsum(1)
            total /= total[:, -1:]
            chosen = _below(total, pick[:, slot]).clip(max=own.n - 1)  # (n, slots)
            base = own.made.value[chosen] * own.made.width
            value = base + noise[:, slot, : len(numbers)] * own.made.width
            value = np.where(own.made.gone[chosen], np.nan, unscale(coding, self._made_number, value))
            out[:, slot[:, None], numbers[None, :]] = value
            level = own.made.level[chosen]
            for j in range(len(levels)):
                c, h = int(coding.size[self._made_level[j]]), own.made.miss[j]
                if c > 1:
                    other = (level[..., j] + 1 + (swap[:, slot, j, 1] * (c - 1)).astype(np.int64)) % c
                    level[..., j] = np.where(swap[:, slot, j, 0] < h, other, level[..., j])
            known = self.schema.n_levels[levels]
            out[:, slot[:, None], levels[None, :]] = np.where(level < known, level, np.nan)
        return out


def _alike(columns: list[np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that agree in all columns (n,): one row of each kind, in the order of the values, and each row's kind."""
    kind = np.zeros(n, dtype=np.int64)
    for column in columns:
        _, code = np.unique(column, return_inverse=True)
        _, kind = np.unique(kind * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    return np.unique(kind, return_index=True)[1], kind.astype(np.int64)


def _below(total: np.ndarray, luck: np.ndarray) -> np.ndarray:
    """How many of each row's ascending numbers (n, R) are below luck (n, s) -> (n, s)."""
    if jit() is None:
        return np.asarray((total[:, None, :] < luck[:, :, None]).sum(2))
    from wayforward.density import _kernel_jit as fast

    out = np.empty(luck.shape, dtype=np.int64)
    fast.below(total, np.ascontiguousarray(luck), out)
    return out


def _spread(number: np.ndarray) -> np.ndarray:
    """(n, p) -> (p,) standard deviations of what is there; 0 where nothing is."""
    there = ~np.isnan(number)
    count = np.maximum(there.sum(0), 1)
    mean = np.where(there, number, 0.0).sum(0) / count
    return np.asarray(np.sqrt(np.where(there, (number - mean) ** 2, 0.0).sum(0) / count))


def _log_sum(log: np.ndarray) -> np.ndarray:
    top = log.max(1, keepdims=True)
    return np.asarray(np.log(np.exp(log - top).sum(1)) + top[:, 0])
