"""Gradient descent for everybody at once: relaxed codes, proximal Adam, bounds, and who is done leaves the batch.

A *lane* is one search (a person may have several). Its state is one number for each numeric feature, in widths of
the feature's range from where the person stands, and one point on the simplex for each feature with levels. Blocks of
lanes have a fixed size, padded where needed: a matrix product may round differently for another number of rows, and a
person's answer must not depend on the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wayforward.errors import MethodError, UnsupportedModel, require
from wayforward.methods.engines.lanes import Lanes, Layout

if TYPE_CHECKING:
    from wayforward.model.network import TorchNetwork
    from wayforward.problem import Population, Problem, Target

Norm = Literal["l1", "l2"]
Ell = Literal["logit", "squared", "hinge", "probability"]


@dataclass(frozen=True)
class Loss:
    """weight x ell(score) + effort.

    ell: 'logit' (aim - score)^2 below the aim, 'squared' on both sides, 'hinge' (aim - score) below the aim,
    'probability' (1 - sigmoid(score))^2. aim: score aimed at; 0 is the decision's boundary. norm: the effort is
    the sum of price x |move| ('l1') or of (price x move)^2 ('l2'). weight (m,), price (m, d).
    """

    ell: Ell
    aim: float
    norm: Norm
    weight: np.ndarray
    price: np.ndarray


class Descent(Layout):
    """Relaxed search on one problem's network.

    span (d,): width of each feature's range. block: lanes a tensor. Raises: UnsupportedModel if there is no network.
    """

    def __init__(
        self, problem: Problem, method: str, *, device: str | None, span: np.ndarray, block: int = 256
    ) -> None:
        self.torch = torch = require("torch", extra="torch")
        super().__init__(problem.schema, span)
        self.problem, self.block = problem, block
        self.network = net = network_of(problem, method, device)
        self.dtype, self.device = net.dtype, net.device
        numeric = [b for b in net.blocks if b.kind == "numeric"]
        levels = [b for b in net.blocks if b.kind == "levels"]
        # The code is put together as [numeric | missing flags | levels] and then brought into the network's order.
        order = [b.columns.start for b in numeric] + [b.missing for b in numeric if b.missing is not None]
        order += [c for b in levels for c in range(b.columns.start, b.columns.stop)]
        self._order = torch.as_tensor(np.argsort(np.array(order, dtype=np.int64)), device=self.device)
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

    def _tensor(self, array: np.ndarray, dtype: Any = None) -> Any:
        return self.torch.as_tensor(
            np.ascontiguousarray(array), dtype=dtype or self.dtype, device=self.device
        )

    # -- the model and the world ---------------------------------------------------------------------------

    def score(self, logits: Any) -> Any:
        """(m, c) -> (m,) the problem's score, differentiable: log-odds, or units of the prediction."""
        return score_of(self.problem.target, logits, self.favourable, self.others)

    def _level_code(self, after: Any) -> Any:
        """(m, d) rows -> (m, f, l) one-hot levels."""
        value = after[:, self._level]
        value = self.torch.where(self.torch.isnan(value), self._last, value)
        return (value[:, :, None] == self._place).to(self.dtype)

    def _code(self, after: Any, levels: Any) -> Any:
        """Rows (m, d) for the numbers, level coordinates (m, f, l) -> code (m, e)."""
        torch = self.torch
        value = after[:, self._numeric]
        gone = torch.isnan(value)
        value = torch.where(gone, torch.zeros_like(value), (value - self._offset) / self._scale)
        flags = gone[:, self._flagged].to(self.dtype)
        return torch.cat([value, flags, levels[:, self._exists]], dim=1)[:, self._order]

    def relaxed_score(self, x: Any, move: Any, share: Any, free: Any) -> Any:
        """(m,) score of where lanes lead, differentiable in move (m, d) and share (m, f, l).

        Where acts have consequences, what the lanes set is sent through the world twice: with those features set that
        have moved so far, for the effect of moving them further; and with everything set that may move, for the
        effect of beginning to move the rest. The value is that of the first, the gradient the sum of both.
        """
        torch = self.torch
        hard = self._hard(x, move, share, free)
        if self.problem.independent:
            code = self._code(hard, share)
            return self.score(self.network.logits(code))
        chosen = torch.nn.functional.one_hot(share.detach().argmax(2), self.wide).to(self.dtype)
        moved = (move.detach() != 0) | (self._level_moved(x, hard) & free)
        out: Any = 0.0
        for acted, value in (
            (free & moved, torch.where(moved, hard, hard.detach())),
            (free, torch.where(moved, hard.detach(), hard)),
        ):
            after = self._after(x, value, acted)
            code = self._code(after, self._level_code(after.detach()) + share - chosen)
            score = self.score(self.network.logits(code))
            out = score if isinstance(out, float) else out + score - score.detach()
            # The levels' own gradient is the same in both passes: it counts once.
            share = share.detach()
        return out

    def _hard(self, x: Any, move: Any, share: Any, free: Any) -> Any:
        """(m, d) what lanes set: numbers differentiable, levels the largest coordinate; x where a lane may not act."""
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

    def _after(self, x: Any, value: Any, acted: Any) -> Any:
        after = self.problem.world.consequences_torch(x, value, acted)
        if self.schema.rules and self.schema.compiled_rules.links:
            after = self.schema.compiled_rules.drag(x, after, acted)
        return after

    # -- the steps -----------------------------------------------------------------------------------------

    def run(self, people: Population, lanes: Lanes, loss: Loss, *, steps: int, rate: float) -> None:
        """Descend every lane for some steps; the lanes are changed in place.

        rate: the widest step, in ranges (times the price: in effort); it falls to a hundredth. Deterministic for each
        lane. Counts one model row a step.
        """
        low, high, may = self.bounds(people, lanes.who)
        ordered = lanes.free & ~self.schema.has_levels
        low, high = np.where(ordered, low, 0.0), np.where(ordered, high, 0.0)
        own = self.start(people, lanes.who, lanes.free).share
        away = self.away(own)
        m = len(lanes.who)
        for begin in range(0, m, self.block):
            rows = np.arange(begin, min(begin + self.block, m))
            pad = np.concatenate([rows, np.full(self.block - len(rows), rows[0])])  # a fixed number of rows
            block = _Block(
                x=self._tensor(people.x[lanes.who[pad]]),
                free=self._tensor(lanes.free[pad], self.torch.bool),
                low=self._tensor(low[pad]),
                high=self._tensor(high[pad]),
                may=self._tensor(may[pad] & lanes.free[pad][:, self.level, None], self.torch.bool),
                fixed=self._tensor(~lanes.free[pad][:, self.level, None], self.torch.bool),
                own=self._tensor(own[pad]),
                away=self._tensor(
                    away[pad] * (loss.price[pad] ** (2 if loss.norm == "l2" else 1))[:, self.level, None]
                ),
                price=self._tensor(loss.price[pad]),
                weight=self._tensor(loss.weight[pad]),
            )
            move, share = self._descend(
                block, self._tensor(lanes.move[pad]), self._tensor(lanes.share[pad]), loss, steps, rate
            )
            lanes.move[rows] = move[: len(rows)].cpu().double().numpy()
            lanes.share[rows] = share[: len(rows)].cpu().double().numpy()
        people.rows += np.bincount(lanes.who, minlength=people.n) * steps

    def _descend(
        self, block: _Block, move: Any, share: Any, loss: Loss, steps: int, rate: float
    ) -> tuple[Any, Any]:
        torch = self.torch
        # Moves are measured in effort: a step of equal effort on every feature, and the price of each is 1.
        price = block.price.clamp(min=1e-12)
        first, second = torch.zeros_like(move), torch.zeros_like(move)
        first_share = torch.zeros_like(share)
        size: Any = None
        pace: Any = None
        for step in range(1, steps + 1):
            move, share = move.requires_grad_(True), share.requires_grad_(True)
            score = self.relaxed_score(block.x, move, share, block.free)
            if size is None:
                size = score.detach().abs().clamp(min=1e-6)
                pace = self._pace(score, move, block, loss, rate, size)
            total = (block.weight * self._ell(score, size, loss)).sum() + (share * block.away).sum()
            if loss.norm == "l2":
                total = total + ((move * block.price) ** 2).sum()
            slope, slope_share = torch.autograd.grad(
                total, [move, share], allow_unused=True, materialize_grads=True
            )
            move, share = move.detach(), share.detach()
            fall = 0.01 + 0.495 * (1 + float(np.cos(np.pi * step / steps)))
            first = 0.8 * first + 0.2 * slope
            mean = first / (1 - 0.8**step)
            here = pace * fall
            if loss.norm == "l1":
                # Normalised proximal gradient in units of effort: no step is wider than the pace, and near the
                # optimum, where slopes come down to the price 1, what is not worth it walks back at the pace.
                steep = self._open(mean / price, move, block)
                wide = here / steep.abs().amax(1, keepdim=True).clamp(min=1.0)
                effort = move * price - wide * steep
                move = torch.sign(effort) * torch.relu(effort.abs() - wide) / price
            else:
                second = 0.95 * second + 0.05 * slope**2
                root = (second / (1 - 0.95**step)).sqrt()
                move = move - here / (root + 1e-12) * mean
            move = torch.minimum(torch.maximum(move, block.low), block.high)
            if len(self.level):
                first_share = 0.8 * first_share + 0.2 * slope_share
                steep = first_share / (1 - 0.8**step)
                wide = rate * fall / steep.abs().amax(2, keepdim=True).clamp(min=1e-12)
                share = torch.where(block.fixed, block.own, self._simplex(share - wide * steep, block.may))
        return move, share

    def _open(self, slope: Any, move: Any, block: _Block) -> Any:
        """Slopes, 0 where the descent would only push against a bound."""
        shut = ((move <= block.low) & (slope > 0)) | ((move >= block.high) & (slope < 0))
        return self.torch.where(shut, self.torch.zeros_like(slope), slope)

    def _pace(self, score: Any, move: Any, block: _Block, loss: Loss, rate: float, size: Any) -> Any:
        """(m, 1) widest step of each lane: an eighth of the way to the aim by the steepest feature, `rate` at most."""
        torch = self.torch
        (slope,) = torch.autograd.grad(
            score.sum(), [move], retain_graph=True, allow_unused=True, materialize_grads=True
        )
        # Towards more score, without what stands at its bound already.
        steep = self._open(-slope / block.price.clamp(min=1e-12), move.detach(), block).abs()
        aim = loss.aim * (size if self.problem.target.interval is not None else 1.0)
        way = (aim - score.detach()).abs().clamp(min=1e-3 * size) / steep.amax(1).clamp(min=1e-12)
        return (way / 8).clamp(min=1e-6, max=rate)[:, None]

    def _ell(self, score: Any, size: Any, loss: Loss) -> Any:
        torch = self.torch
        if self.problem.target.interval is not None:
            score = score / size  # a prediction has any unit: measure in what was missing at the start
        short = loss.aim - score
        if loss.ell == "squared":
            return short**2
        if loss.ell == "hinge":
            return torch.relu(short)
        if loss.ell == "probability":
            return (1 - torch.sigmoid(score)) ** 2
        return torch.relu(short) ** 2

    def _simplex(self, point: Any, may: Any) -> Any:
        """(m, f, l) -> the nearest point on the simplex of the allowed levels of each block.

        Source: J. Duchi et al. (2008), Efficient Projections onto the l1-Ball, ICML.
        """
        torch = self.torch
        point = torch.where(may, point, torch.full_like(point, -1e6))
        falling = point.sort(dim=2, descending=True).values
        over = (falling.cumsum(2) - 1) / (self._place + 1)
        last = ((falling > over).sum(2, keepdim=True) - 1).clamp(min=0)
        return (point - over.gather(2, last)).clamp(min=0)


@dataclass(frozen=True)
class _Block:
    """Tensors of one block of lanes, which stay as they are during a descent."""

    x: Any
    free: Any
    low: Any
    high: Any
    may: Any
    fixed: Any
    own: Any
    away: Any
    price: Any
    weight: Any


def score_of(target: Target, logits: Any, favourable: Any, others: Any, unit: float = 1.0) -> Any:
    """(m, c) -> (m,) what a target makes of logits, differentiable: log-odds, or predictions in `unit`s."""
    torch = require("torch", extra="torch")
    if target.interval is not None:
        low, high = target._edges()
        value = logits[:, 0]
        sides = [value - low - target.margin] if np.isfinite(low) else []
        sides += [high - target.margin - value] if np.isfinite(high) else []
        return torch.stack(sides).min(0).values / unit
    if target.threshold is not None or len(favourable) + len(others) == 2:
        level = (0.5 if target.threshold is None else target.threshold) + target.margin
        odds = torch.logsumexp(logits[:, favourable], 1) - torch.logsumexp(logits[:, others], 1)
        return odds - float(np.log(level / (1 - level)))
    best, rest = logits[:, favourable].max(1).values, logits[:, others].max(1).values
    return best - rest - 4 * target.margin  # a probability moves by at most a quarter of its log-odds


def network_of(problem: Problem, method: str, device: str | None) -> TorchNetwork:
    """The model as a network on a device. Raises: UnsupportedModel, MethodError, MissingExtra."""
    torch = require("torch", extra="torch")
    model = problem.model
    network = model.network
    if network is None:
        from wayforward.methods import methods_table

        fit = [row["name"] for row in methods_table() if row["needs"] <= 2]
        raise UnsupportedModel(
            f"'{method}' needs gradients, and {model.name} has none (it is piecewise constant, or its parts could not "
            f"be read). These methods would do: {', '.join(fit)}."
        )
    if device is None or torch.device(device) == network.device:
        return network
    fast: Any = getattr(model, "fast", None)
    if fast is None or fast.kind not in ("linear", "dense"):
        raise MethodError(
            f"'{method}' was asked to run on {device}, but the torch module lives on {network.device}. "
            f"Move it before wrapping it: module.to({device!r})."
        )
    from wayforward.model.network import from_fast

    return from_fast(fast, device=device)
