"""The score of a problem at relaxed rows, differentiable in torch, with the consequences of a world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.devices import device_of
from wayforward.errors import MethodError, UnsupportedModel, require
from wayforward.methods.engines.gradient.relaxed_state import Layout
from wayforward.shapes import Ints

if TYPE_CHECKING:
    from wayforward.model import Network
    from wayforward.problem import Problem
    from wayforward.problem.target import BoundTarget


class Descent(Layout):
    """A problem's network and world on tensors of relaxed rows.

    span (d,): width of each feature's range. block: rows a tensor, filled up where needed. Raises: UnsupportedModel if
    there is no network.
    """

    def __init__(
        self, problem: Problem, method: str, *, device: str | None, span: np.ndarray, block: int = 256
    ) -> None:
        self.torch = torch = require("torch", extra="torch")
        super().__init__(problem.schema, span)
        self.problem, self.block = problem, block
        self.network = net = self._network(method, device)
        self.dtype, self.device = net.dtype, net.device
        numeric, _, columns = code_parts(net.blocks)
        self._order = torch.as_tensor(np.argsort(columns), device=self.device)
        self._flagged = [i for i, b in enumerate(numeric) if b.missing is not None]
        self._offset = self._tensor(np.array([b.offset for b in numeric]))
        self._scale = self._tensor(np.array([b.scale for b in numeric]))
        self._span = self._tensor(span)
        self._exists = self._tensor(self.exists, torch.bool)
        self._last = self._tensor(self.size - 1.0)
        self._known = self._tensor(self.schema.n_levels[self.level].astype(np.float64))
        self._level = self._tensor(self.level, torch.int64)
        self._numeric = self._tensor(self.numeric, torch.int64)
        self._has_levels = self._tensor(self.schema.has_levels, torch.bool)
        self._place = torch.arange(self.wide, dtype=self.dtype, device=self.device)
        target = problem.bound_target
        self.favourable = [int(c) for c in target.columns]
        self.others = [c for c in range(target.n_classes) if c not in self.favourable]

    def _network(self, method: str, device: str | None) -> Any:
        return network_of(self.problem, method, device)

    def _tensor(self, array: np.ndarray, dtype: Any = None) -> Any:
        return self.torch.as_tensor(
            np.ascontiguousarray(array), dtype=dtype or self.dtype, device=self.device
        )

    # -- the model and the world ---------------------------------------------------------------------------

    def score(self, logits: Any) -> Any:
        """Return the problem's score (m,) of logits (m, c), differentiable: log-odds, or units of the prediction."""
        return score_of(self.problem.bound_target, logits, self.favourable, self.others)

    def level_code(self, after: Any) -> Any:
        """Return the levels of rows (m, d), one-hot (m, f, l)."""
        value = after[:, self._level]
        value = self.torch.where(self.torch.isnan(value), self._last, value)
        return (value[:, :, None] == self._place).to(self.dtype)

    def code(self, after: Any, levels: Any) -> Any:
        """Encode the numbers of rows (m, d) and level coordinates (m, f, l) as the network reads them, (m, e)."""
        torch = self.torch
        value = after[:, self._numeric]
        gone = torch.isnan(value)
        value = torch.where(gone, torch.zeros_like(value), (value - self._offset) / self._scale)
        flags = gone[:, self._flagged].to(self.dtype)
        return torch.cat([value, flags, levels[:, self._exists]], dim=1)[:, self._order]

    def relaxed_score(self, x: Any, move: Any, share: Any, free: Any) -> Any:
        """Return the score (m,) of where searches lead, differentiable in move (m, d) and share (m, f, l).

        Where acts have consequences, what the searches set is sent through the world twice: with those features set
        that have moved so far, for the effect of moving them further; and with everything set that may move, for the
        effect of beginning to move the rest. The value is that of the first, the gradient the sum of both.
        """
        torch = self.torch
        hard = self._hard(x, move, share, free)
        if self.problem.independent:
            return self.score(self.network.logits(self.code(hard, share)))
        chosen = torch.nn.functional.one_hot(share.detach().argmax(2), self.wide).to(self.dtype)
        moved = (move.detach() != 0) | (self._level_moved(x, hard) & free)
        out: Any = 0.0
        for acted, value in (
            (free & moved, torch.where(moved, hard, hard.detach())),
            (free, torch.where(moved, hard.detach(), hard)),
        ):
            after = self.after(x, value, acted)
            code = self.code(after, self.level_code(after.detach()) + share - chosen)
            score = self.score(self.network.logits(code))
            out = score if isinstance(out, float) else out + score - score.detach()
            # The levels' own gradient is the same in both passes: it counts once.
            share = share.detach()
        return out

    def _hard(self, x: Any, move: Any, share: Any, free: Any) -> Any:
        """Return the values (m, d) that are set: numbers differentiable, largest levels; x where nobody may act."""
        torch = self.torch
        value = x + move * self._span
        if len(self.level):
            level = share.detach().argmax(2).to(self.dtype)
            level = torch.where(level >= self._known, torch.full_like(level, float("nan")), level)
            value = value.index_copy(1, self._level, level)
        return torch.where(free, value, x)

    def _level_moved(self, x: Any, hard: Any) -> Any:
        apart = (hard.detach() != x) & ~(self.torch.isnan(hard.detach()) & self.torch.isnan(x))
        return apart & self._has_levels

    def after(self, x: Any, value: Any, acted: Any) -> Any:
        """Return the rows (m, d) that follow where `acted` (m, d) features are set to values (m, d)."""
        after = self.problem.world.consequences_torch(x, value, acted)
        unknown = ~self.torch.isfinite(after) & ~self.torch.isnan(x)  # an act that leads nowhere is no option
        after = self.torch.where(unknown, x, after)
        if self.schema.rules and self.schema.compiled_rules.links:
            after = self.schema.compiled_rules.drag(x, after, acted)
        return after


def code_parts(blocks: Any) -> tuple[list[Any], list[Any], Ints]:
    """Return numeric blocks, level blocks, and the columns of a code put together as [numbers | missing | levels]."""
    numeric, levels = ([b for b in blocks if b.kind == kind] for kind in ("numeric", "levels"))
    columns = [b.columns.start for b in numeric] + [b.missing for b in numeric if b.missing is not None]
    columns += [c for b in levels for c in range(b.columns.start, b.columns.stop)]
    return numeric, levels, np.array(columns, dtype=np.int64)


def score_of(bound: BoundTarget, logits: Any, favourable: Any, others: Any, unit: float = 1.0) -> Any:
    """Return a target's score (m,) of logits (m, c), differentiable: log-odds, or predictions in `unit`s."""
    torch, target = require("torch", extra="torch"), bound.target
    if target.interval is not None:
        low, high = target.edges()
        value = logits[:, 0]
        sides = [value - low - target.margin] if np.isfinite(low) else []
        sides += [high - target.margin - value] if np.isfinite(high) else []
        return torch.stack(sides).min(0).values / unit
    if target.threshold is not None or len(favourable) + len(others) == 2:
        level = bound.level
        odds = torch.logsumexp(logits[:, favourable], 1) - torch.logsumexp(logits[:, others], 1)
        return odds - float(np.log(level / (1 - level)))
    best, rest = logits[:, favourable].max(1).values, logits[:, others].max(1).values
    return best - rest - 4 * target.margin  # a probability moves by at most a quarter of its log-odds


def network_of(problem: Problem, method: str, device: str | None) -> Network:
    """Put the model's network on a device. Raises: UnsupportedModel, MethodError, MissingExtra, DeviceError."""
    require("torch", extra="torch")
    model = problem.model
    network = model.network
    if network is None:
        from wayforward.methods import methods_table

        fit = [row["name"] for row in methods_table() if row["needs"] <= 2]
        raise UnsupportedModel(
            f"'{method}' needs gradients, and {model.name} has none (it is piecewise constant, or its parts could not "
            f"be read). These methods would do: {', '.join(fit)}."
        )
    where = device_of(device, near=network.device)
    if where == network.device:
        return network
    if model.dense is None:
        raise MethodError(
            f"'{method}' was asked to run on {where}, but the torch module lives on {network.device}. "
            f"Move it before wrapping it: module.to('{where}')."
        )
    from wayforward.model.network import dense_network

    return dense_network(model.dense, device=where)
