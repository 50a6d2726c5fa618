"""Slopes and descent of dense networks whose weights are known, in compiled code: no torch, no padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.engines.gradient.relaxed_state import Layout, RelaxedState
from wayforward.methods.engines.gradient.steps import ELLS, Loss
from wayforward.model import kernels

if TYPE_CHECKING:
    from wayforward.methods.engines.gradient import _descent_jit
    from wayforward.model import DenseForm
    from wayforward.problem import Population, Problem


class Compiled(Layout):
    """Gradients of a linear score or a dense network in the independent world. See `slopes.Slopes`.

    Make it with `Compiled.of`, which returns None where the model, the target or the world is of another kind.
    """

    exact = True
    runs_itself = True

    @classmethod
    def of(cls, problem: Problem, span: np.ndarray) -> Compiled | None:
        """Compile a problem's score; None unless two classes or a regression, weights known and numba installed."""
        form = problem.model.dense
        if not problem.independent or kernels.jit() is None or form is None or form.encoder.ufuncs:
            return None
        target, bound = problem.target, problem.bound_target
        regression = target.interval is not None
        if not regression and (bound.n_classes != 2 or len(bound.columns) != 1):
            return None
        if form.link not in (("identity",) if regression else ("logistic", "softmax")):
            return None
        return cls(problem, span, form)

    def __init__(self, problem: Problem, span: np.ndarray, form: DenseForm) -> None:
        from wayforward.model.network import code_blocks, fold_encoder

        super().__init__(problem.schema, span)
        self.problem = problem
        weights, biases = list(form.weights), list(form.biases)
        if weights[-1].shape[1] == 2:  # softmax of two: their difference is the log-odds of the second
            weights[-1] = weights[-1][:, 1:] - weights[-1][:, :1]
            biases[-1] = biases[-1][1:] - biases[-1][:1]
        blocks = code_blocks(form.encoder)
        matrix, shift, _ = fold_encoder(form.encoder, blocks)
        self.bias = np.ascontiguousarray(shift @ weights[0] + biases[0], dtype=np.float64)
        self.weight = np.ascontiguousarray(matrix @ weights[0], dtype=np.float64)  # (e, h)
        self.blocks = blocks
        self.flat = np.concatenate([w.ravel() for w in weights[1:]]) if weights[1:] else np.empty(0)
        self.flat_t = np.concatenate([w.T.ravel() for w in weights[1:]]) if weights[1:] else np.empty(0)
        self.shift = np.concatenate(biases[1:]) if biases[1:] else np.empty(0)
        self.shapes = np.array([w.shape[1] for w in weights], dtype=np.int64)
        self.kinds = np.array([kernels.ACTIVATIONS[a] for a in form.activations], dtype=np.int64)
        self.side, self.low, self.high = 1.0, 0.0, np.inf
        target = problem.target
        if target.interval is not None:
            low, high = target.edges()
            self.low, self.high = low + target.margin, high - target.margin
        else:
            level = problem.bound_target.level
            self.side = 1.0 if problem.bound_target.columns[0] == 1 else -1.0
            self.low = float(np.log(level / (1 - level)))

    # -- coordinates ---------------------------------------------------------------------------------------

    def _code(self, x: np.ndarray) -> np.ndarray:
        """Encode rows (m, d) as the network reads them, (m, e)."""
        out = np.zeros((len(x), self.weight.shape[0]))
        rows = np.arange(len(x))
        for block in self.blocks:
            value = x[:, block.feature]
            gone = np.isnan(value)
            first = block.columns.start
            if block.kind == "numeric":
                out[:, first] = np.where(gone, 0.0, (value - block.offset) / block.scale)
                if block.missing is not None:
                    out[:, block.missing] = gone
                continue
            last = block.columns.stop - first - 1
            out[rows, first + np.where(gone, last, np.nan_to_num(value)).astype(np.int64)] = 1.0
        return out

    def _open(self, free: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Select the coordinates that some search may move; the numbers of a search do not depend on the others.

        Returns: numeric features (p,), blocks (b,), where these begin (b + 1,), weights into the first layer (c, h).
        """
        some = np.asarray(free.any(axis=0))
        numeric, place = self.numeric[some[self.numeric]], np.flatnonzero(some[self.level])
        begin = np.concatenate([[0], np.cumsum(self.size[place])]) + len(numeric)
        parts = [
            self.weight[[self.blocks[j].columns.start]] * (self.span[j] / self.blocks[j].scale)
            for j in numeric
        ]
        parts += [self.weight[self.blocks[j].columns] for j in self.level[place]]
        first = np.concatenate(parts) if parts else np.zeros((0, self.weight.shape[1]))
        return numeric, place, begin, np.ascontiguousarray(first)

    def _flat(
        self, move: np.ndarray, share: np.ndarray, numeric: np.ndarray, place: np.ndarray
    ) -> np.ndarray:
        """Join moves (m, d) and shares (m, f, l) into coordinates (m, c)."""
        parts = [move[:, numeric].astype(np.float64)]
        parts += [share[:, f, : self.size[f]] for f in place]
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    def _layers(self, first: np.ndarray) -> _descent_jit.Layers:
        from wayforward.methods.engines.gradient import _descent_jit as jit

        return jit.Layers(
            first, np.ascontiguousarray(first.T), self.flat, self.flat_t, self.shift, self.shapes, self.kinds,
            self.side, self.low, self.high,
        )  # fmt: skip

    def _start(self, x: np.ndarray) -> np.ndarray:
        from wayforward.methods.engines.gradient import _descent_jit as jit

        out = np.empty((len(x), len(self.bias)))
        jit.base(self._code(x), self.weight, self.bias, out)
        return out

    # -- slopes and steps ----------------------------------------------------------------------------------

    def __call__(
        self, people: Population, state: RelaxedState, *, turn: int = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `Slopes`."""
        from wayforward.methods.engines.gradient import _descent_jit as jit

        x = people.x[state.who]
        numeric, place, begin, first = self._open(state.free)
        z = self._flat(state.move, state.share, numeric, place)
        own = self._flat(np.zeros_like(state.move), self.own(x), numeric, place)
        score, flat = np.empty(len(x)), np.empty(z.shape)
        jit.gradients(
            self._start(x), z, own, self._layers(first), score, flat,
        )  # fmt: skip
        slope, slope_share = np.zeros_like(state.move), np.zeros_like(state.share)
        slope[:, numeric] = flat[:, : len(numeric)]
        for b, f in enumerate(place):
            slope_share[:, f, : self.size[f]] = flat[:, begin[b] : begin[b + 1]]
        if people.aim is not None:
            score -= people.aim[state.who]
        people.rows += np.bincount(state.who, minlength=people.n)
        return score, np.where(state.free, slope, 0.0), slope_share * state.free[:, self.level, None]

    def run(self, people: Population, state: RelaxedState, loss: Loss, *, steps: int, rate: float) -> None:
        """Descend as `steps.run` does, to the last rounding."""
        from wayforward.methods.engines.gradient import _descent_jit as jit

        x = people.x[state.who]
        numeric, place, begin, first = self._open(state.free)
        floor, ceiling, may = self.bounds(people, state.who)
        open_ = state.free & ~self.schema.has_levels
        own = self.own(x)
        loose = state.free[:, self.level, None] & may
        away = loss.level_price(self.away(own), self.level)
        nothing = np.zeros_like(state.move)
        more = np.zeros(len(x)) if people.aim is None else people.aim[state.who]
        z = self._flat(state.move, state.share, numeric, place)
        jit.descend(
            self._start(x), z, self._flat(nothing, own, numeric, place),
            self._flat(open_, loose, numeric, place) > 0, begin,
            np.where(open_, floor, 0.0)[:, numeric], np.where(open_, ceiling, 0.0)[:, numeric],
            np.maximum(loss.price, 1e-12)[:, numeric], self._flat(nothing, away, numeric, place),
            np.asarray(loss.weight, dtype=np.float64), more,
            self._layers(first), self.problem.target.interval is not None, ELLS.index(loss.ell),
            loss.norm == "l2", loss.aim, steps, rate,
        )  # fmt: skip
        state.move[:, numeric] = np.where(
            state.free[:, numeric], z[:, : len(numeric)], state.move[:, numeric]
        )
        for b, f in enumerate(place):
            state.share[:, f, : self.size[f]] = z[:, begin[b] : begin[b + 1]]
        people.rows += np.bincount(state.who, minlength=people.n) * steps
