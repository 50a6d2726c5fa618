"""The score of a forest whose splits are sigmoids, and its slopes: trees as a gradient method sees them.

Source: A. Lucic, H. Oosterhuis, H. Haned, M. de Rijke (2022), FOCUS: Flexible Optimizable Counterfactual Explanations
for Tree Ensembles, AAAI; arXiv:1911.12199.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from wayforward.methods.engines.gradient.relaxed_state import Layout, RelaxedState
from wayforward.methods.engines.padding import padded_blocks
from wayforward.model import kernels
from wayforward.model.fast import apply_link
from wayforward.shapes import Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.model import FlatForest
    from wayforward.model.forms import Link
    from wayforward.problem import Population, Problem

_BLOCK = 16  # searches in one piece of work: always so many, so that no answer depends on the others
_LEAST = 1e-3  # of a row: smaller parts are not followed down a tree
_NUDGE = 1e-6  # of a margin, for the slope of the score by it


class SoftTrees(Layout):
    """Slopes of a forest's score where a split at t passes sigmoid(sharpness (t - x)) of a row to the left.

    Numbers are measured in widths of their range, what cannot move is split as ever; a mixture of levels is passed as
    its levels are. A leaf counts as much as of the row arrives there. As sharpness grows the score becomes the forest's
    own. In a world with consequences the splits are taken where an act leads, and slopes are those of the act itself.
    See `slopes.Slopes`.
    """

    exact = True

    def __init__(self, problem: Problem, flat: FlatForest, span: Floats, sharpness: float) -> None:
        super().__init__(problem.schema, span)
        self.problem, self.flat, self.sharpness = problem, flat, sharpness
        interval = problem.target.interval is not None
        self.link: Link = flat.link if flat.link != "identity" or interval else "probability"
        self.sides = np.zeros((max(len(flat.left_levels), 1), self.wide))
        have = flat.left_levels[:, : self.wide]
        self.sides[: len(have), : have.shape[1]] = have
        self.block = np.full(self.schema.d, -1)
        self.block[self.level] = np.arange(len(self.level))

    def __call__(
        self, people: Population, state: RelaxedState, *, turn: int = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `Slopes`."""
        value = people.x[state.who] + np.where(state.free, state.move * self.span, 0.0)
        if not self.problem.independent:
            value = people.after(state.who, self.hard(people, state))
        score, slope, slope_share = self._slopes(
            value, people.changeable[state.who], state.share, state.free[:, self.level]
        )
        people.rows += np.bincount(state.who, minlength=people.n)
        if people.aim is not None:
            score = score - people.aim[state.who]
        number = state.free & ~self.schema.has_levels
        return score, np.where(number, slope * self.span, 0.0), slope_share * state.free[:, self.level, None]

    def margins(self, value: Floats, soft: Mask, share: Floats) -> Floats:
        """Rows (m, d), level coordinates (m, f, l) -> (m, q) margins of the forest whose splits are soft (m, d)."""
        flat = self.flat
        out = np.zeros((len(value), flat.value.shape[1]))
        if kernels.jit() is None:
            for rows, pad in padded_blocks(len(value), _BLOCK):
                arrived, _ = self._down(value[pad], soft[pad], share[pad])
                leaf = np.flatnonzero(flat.leaf >= 0)
                for c in range(out.shape[1]):
                    each = arrived[leaf] * flat.value[flat.leaf[leaf], c][:, None]
                    out[rows, c] = each.sum(0)[: len(rows)]
        else:
            _jit().margins(value, soft, share, self._nodes(), *self._room(4), out)
        return np.asarray(flat.base + flat.scale * out)

    def _slopes(self, value: Floats, soft: Mask, share: Floats, both: Mask) -> tuple[Floats, Floats, Floats]:
        """Return the score (m,) of rows (m, d) and shares (m, f, l), and its slopes; both (m, f): shares that move."""
        margin, bound = self.margins(value, soft, share), self.problem.bound_target
        score = bound.score(apply_link(margin, self.link))
        pull = np.empty_like(margin)
        for c in range(margin.shape[1]):
            size = _NUDGE * max(1.0, float(np.abs(self.flat.value[:, c]).max(initial=0.0)))
            more = margin.copy()
            more[:, c] += size
            pull[:, c] = self.flat.scale * (bound.score(apply_link(more, self.link)) - score) / size
        slope, slope_share = np.zeros_like(value), np.zeros_like(share)
        if kernels.jit() is None:
            for rows, pad in padded_blocks(len(value), _BLOCK):
                got = self._up(value[pad], soft[pad], share[pad], pull[pad])
                slope[rows], slope_share[rows] = (part[: len(rows)] for part in got)
        else:
            _jit().slopes(value, soft, share, both, self._nodes(), pull, *self._room(5), slope, slope_share)
        return np.asarray(score), slope, slope_share

    # -- kernels and their twin ----------------------------------------------------------------------------

    def _nodes(self) -> Any:
        flat = self.flat
        return _jit().SoftNodes(
            flat.feature, flat.threshold, flat.left, flat.right, flat.missing_left, flat.level_set, self.sides,
            flat.leaf, flat.value, flat.roots, self.span, self.block, float(self.sharpness), _LEAST,
        )  # fmt: skip

    def _room(self, many: int) -> tuple[Any, ...]:
        nodes = len(self.flat.feature)
        return (np.empty(nodes, np.int64), *(np.empty(nodes) for _ in range(many - 1)))

    def _down(self, value: Floats, soft: Mask, share: Floats) -> tuple[Floats, list[tuple[Ints, Floats]]]:
        """NumPy twin: what of each row arrives at nodes (nodes, m); of each depth its splits and what goes left."""
        flat = self.flat
        arrived = np.zeros((len(flat.feature), len(value)))
        arrived[flat.roots] = 1.0
        floors, node = [], flat.roots[flat.feature[flat.roots] >= 0]
        while node.size:
            j = flat.feature[node]
            here = value.T[j]
            left = expit(self.sharpness * (flat.threshold[node][:, None] - here) / self.span[j][:, None])
            left = np.where(soft.T[j], left, here <= flat.threshold[node][:, None])
            left = np.where(np.isnan(here), flat.missing_left[node][:, None], left)
            some = np.flatnonzero(flat.level_set[node] >= 0)
            left[some] = 0.0
            for level in range(self.wide if some.size else 0):
                sides = self.sides[flat.level_set[node[some]], level]
                left[some] += sides[:, None] * share[:, self.block[j[some]], level].T
            arrived[flat.left[node]] = arrived[node] * left
            arrived[flat.right[node]] = arrived[node] * (1.0 - left)
            floors.append((node, left))
            node = np.concatenate([flat.left[node], flat.right[node]])
            node = node[flat.feature[node] >= 0]
        return arrived, floors

    def _up(self, value: Floats, soft: Mask, share: Floats, pull: Floats) -> tuple[Floats, Floats]:
        """NumPy twin: slopes of pull (m, q) . margins by the numbers (m, d) and the shares (m, f, l)."""
        flat = self.flat
        arrived, floors = self._down(value, soft, share)
        worth, leaf = np.zeros_like(arrived), np.flatnonzero(flat.leaf >= 0)
        for c in range(pull.shape[1]):
            worth[leaf] += flat.value[flat.leaf[leaf], c][:, None] * pull[:, c]
        slope, slope_share = np.zeros_like(value), np.zeros_like(share)
        for node, left in floors[::-1]:
            j = flat.feature[node]
            worth[node] = left * worth[flat.left[node]] + (1.0 - left) * worth[flat.right[node]]
            gain = arrived[node] * (worth[flat.left[node]] - worth[flat.right[node]])
            level = flat.level_set[node] >= 0
            steep = np.where(np.isnan(value.T[j]) | level[:, None] | ~soft.T[j], 0.0, left * (1.0 - left))
            np.add.at(slope.T, j, -self.sharpness / self.span[j][:, None] * gain * steep)
            if level.any():
                sides = self.sides[flat.level_set[node[level]]]
                np.add.at(
                    slope_share.transpose(1, 2, 0),
                    self.block[j[level]],
                    gain[level][:, None] * sides[:, :, None],
                )
        return slope, slope_share


def _jit() -> Any:
    from wayforward.methods.engines.gradient import _soft_jit

    return _soft_jit
