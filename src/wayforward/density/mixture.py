"""Networks for densities of mixed features: levels one after another, then numbers, by a mixture or by a flow.

For each group: every level of x_f has a softmax network that sees x'_I and the levels before it; whether a number is
missing is one more such level; last, a network that sees x'_I and all levels says the weights, means and deviations of
a Gaussian mixture for the numbers; or, for each number in turn, a network that sees the numbers before it says the
spline that makes it normal. All networks of all groups are one batched product.

Training stops where held-out people say so. A group of fewer than 1,500 has four sets of networks, each stopped by
another quarter of its people, and the density is their mean: German's held-out log-density rises from 0.69 to 0.92 for
the mixture and from 8.0 to 9.2 for the flow (6.3 learnt, -1.2 held out for kernels).
Sources: C. M. Bishop (1994), Mixture Density Networks, NCRG/94/004; B. L. Trippe, R. E. Turner (2018), Conditional
Density Estimation with Bayesian Normalising Flows; C. Durkan et al. (2019), Neural Spline Flows, NeurIPS.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.density.base import Densities, jacobian, mixed, unscale
from wayforward.density.generative.coding import Coding
from wayforward.density.generative.generator import whole
from wayforward.density.nets import Adam
from wayforward.devices import device_of
from wayforward.errors import require
from wayforward.portable import Portable
from wayforward.streams import Streams, generator

if TYPE_CHECKING:
    from wayforward.groups import Groups

_OFF = -1e9
_NARROW = math.log(0.1)  # least log deviation of a number, in standard deviations of the data
_STEPS, _EVERY, _PATIENCE = 1500, 25, 12
_BATCH, _RATE, _DECAY = 128, 4e-3, 1e-3
_FAR = 8.0  # standard deviations beyond which an outlier teaches no more
_MOST, _HELD = 6000, 1000  # people of a group learnt from, and held out
_COPIES, _PLENTY = 4, 1500  # networks of a group with fewer people than that


class MixtureNetwork(Portable, Densities):
    """A mixture density network for each group; see the module."""

    kind = "mixture"
    block = 128  # rows of every product: few are asked about at a time by searches, and many cost no more

    def __init__(
        self,
        coding: Coding,
        rows: np.ndarray,
        groups: Groups,
        span: np.ndarray,
        *,
        components: int,
        hidden: int,
        seed: int,
        device: str | None = None,
    ) -> None:
        super().__init__(coding, groups.names, groups.sizes, span)
        self.torch, self.device = require("torch", extra="torch"), device_of(device)
        self.components, self.wide = components, whole(hidden)
        made = np.flatnonzero(coding.made[coding.level])
        self._level = made  # rank among the features with levels
        self._flag = coding.gone_of  # rank among the numbers
        self.size = np.r_[coding.size[made], np.full(len(self._flag), 2)].astype(
            np.int64
        )  # (k,) of each discrete
        # Few people: several networks, each stopped by another part of them; all teach, and none is trusted alone.
        copies = np.where(groups.sizes < _PLENTY, _COPIES, 1)
        self._of = np.repeat(np.arange(len(copies)), copies)  # (v,) group of each set of networks
        self.k, self.p = len(self.size), len(coding.mean_of)
        self.tail = self._tail()
        self._at = np.cumsum(np.r_[0, self.size])  # where each discrete's coordinates begin
        self._n_given = len(coding.known)
        self._first_number = self._n_given + int(self.size.sum())
        self._in = whole(self._first_number + (self.p if self.tail > 1 else 0) + 1)
        self._out = whole(max(int(self.size.max(initial=1)), self._number_out()))
        self._start(rows, groups, seed)
        self._train(rows, groups, seed)

    def _tail(self) -> int:
        """How many networks say the numbers."""
        return 1

    def _number_out(self) -> int:
        return self.components * (1 + 2 * self.p) if self.p else 1

    def _put(self, array: np.ndarray) -> Any:
        return self.torch.as_tensor(array, device=self.device)

    # -- codes ---------------------------------------------------------------------------------------------

    def _discrete(self, rows: np.ndarray) -> np.ndarray:
        """(m, k) coordinates of levels, then which numbers are missing."""
        own = self.coding.own(rows)[:, self._level]
        gone = np.isnan(rows[:, self.coding.numeric[self._flag]])
        return np.concatenate([own, gone.astype(np.int64)], axis=1)

    def _code(self, rows: np.ndarray, level: np.ndarray, number: np.ndarray | None = None) -> np.ndarray:
        """(m, in) float32: x'_I, one-hot coordinates of the discretes, where it matters the numbers, and a one."""
        out = np.zeros((len(rows), self._in), dtype=np.float32)
        out[:, : self._n_given] = self.coding.code(rows)[:, self.coding.known]
        out[:, -1] = 1.0
        if self.k:
            np.put_along_axis(out, self._n_given + self._at[:-1] + level, 1.0, axis=1)
        if self.tail > 1 and number is not None:
            out[:, self._first_number : self._first_number + self.p] = np.clip(np.nan_to_num(number), -10, 10)
        return out

    # -- networks ------------------------------------------------------------------------------------------

    def _start(self, rows: np.ndarray, groups: Groups, seed: int) -> None:
        """Networks that say each group's own frequencies, and a mixture around some of its people."""
        rng = generator(seed, 0xDE5)
        g, k, h = len(self._of), self.k + self.tail, self.wide
        mask = np.zeros((k, self._in), dtype=np.float32)
        mask[:, : self._n_given] = 1.0
        mask[:, -1] = 1.0
        for i in range(k):
            mask[i, self._n_given : self._n_given + self._at[min(i, self.k)]] = 1.0
            if i > self.k:
                mask[i, self._first_number : self._first_number + i - self.k] = 1.0
        first = rng.uniform(-1, 1, (g, k, self._in, h)) * math.sqrt(6.0 / (self._n_given + self.k + h))
        last = rng.uniform(-1, 1, (g, k, h, self._out)) * 0.1 / math.sqrt(h)
        bias = np.full((g, k, 1, self._out), 0.0)
        for i, group in enumerate(self._of):
            own = rows[groups.mask(groups.names[group])]
            level = self._discrete(own)
            for j, size in enumerate(self.size.tolist()):
                share = np.bincount(level[:, j], minlength=size) + 0.5
                bias[i, j, 0, :size] = np.log(share / share.sum())
            if self.p:
                number = np.nan_to_num(self.coding.scaled(own)[:, self.coding.mean_of])
                self._start_numbers(bias[i, self.k :, 0], number, rng)
        there = np.zeros((k, self._out), dtype=bool)
        for j, size in enumerate(self.size.tolist()):
            there[j, :size] = True
        there[self.k :] = True
        self._mask = self._put(np.tile(mask, (g, 1)))[:, :, None]  # (g k, in, 1)
        off = np.where(np.tile(there, (g, 1)), 0.0, _OFF).astype(np.float32)
        self._off = self._put(off)[:, None, :]

        def leaf(array: np.ndarray) -> Any:
            flat = array.reshape(g * k, *array.shape[2:]).astype(np.float32)
            return self._put(flat).requires_grad_(True)

        self.first, self.last, self.bias = leaf(first), leaf(last), leaf(bias)

    def _start_numbers(self, bias: np.ndarray, number: np.ndarray, rng: np.random.Generator) -> None:
        """Biases (tail, out) at which the numbers (m, p) of a group are roughly right."""
        c, p = self.components, self.p
        some, centre = number[rng.integers(0, len(number), c)], number.mean(0)
        bias[0, c : c + c * p] = (centre + 0.7 * (some - centre)).reshape(-1)
        bias[0, c + c * p : c + 2 * c * p] = np.tile(np.log(np.maximum(number.std(0) * 0.7, 0.15)), c)

    def _heads(self, code: Any, first: Any, which: slice | Any = slice(None)) -> Any:
        """Codes (s, B, in) -> outputs (s, B, out) of the networks `which`; first: their masked first layers."""
        torch = self.torch
        hidden = (
            torch.tanh_(torch.bmm(code, first)) if not first.requires_grad else torch.bmm(code, first).tanh()
        )
        return torch.baddbmm(self.bias[which] + self._off[which], hidden, self.last[which])

    def _log(self, out: Any, level: Any, number: Any) -> Any:
        """Outputs (g, nets, B, out), level (g, B, k), number (g, B, p), NaN where missing -> (g, B) log-density."""
        torch = self.torch
        total = out.new_zeros((out.shape[0], out.shape[2]))
        if self.k:
            logs = torch.log_softmax(out[:, : self.k], dim=3)
            total = total + logs.gather(3, level.permute(0, 2, 1)[..., None])[..., 0].sum(1)
        return total + self._log_numbers(out[:, self.k :], number) if self.p else total

    def _parts(self, out: Any) -> tuple[Any, Any, Any]:
        """(..., out) -> log weights (..., c), means and log deviations (..., c, p)."""
        c, p, shape = self.components, self.p, out.shape[:-1]
        weight = self.torch.log_softmax(out[..., :c], dim=-1)
        mean = out[..., c : c + c * p].reshape(*shape, c, p)
        spread = out[..., c + c * p : c + 2 * c * p].reshape(*shape, c, p)
        return weight, mean, spread.clamp(_NARROW, 1.5)

    def _log_numbers(self, out: Any, number: Any) -> Any:
        """Outputs (g, tail, B, out), number (g, B, p) -> (g, B)."""
        torch = self.torch
        weight, mean, spread = self._parts(out[:, 0])
        there = ~number.isnan()
        error = (torch.where(there, number, torch.zeros_like(number))[..., None, :] - mean) * (-spread).exp()
        log = -0.5 * error * error - spread - 0.5 * math.log(2 * math.pi)
        return torch.logsumexp(weight + (log * there[..., None, :]).sum(-1), dim=-1)

    # -- training ------------------------------------------------------------------------------------------

    def _train(self, rows: np.ndarray, groups: Groups, seed: int) -> None:
        torch, rng = self.torch, generator(seed, 0xDE6)
        g, k = len(self._of), self.k + self.tail
        step = np.nan_to_num(self.schema.step)
        codes, levels, numbers, tests, counts = [], [], [], [], []
        for test, own in self._split(rows, groups, rng):
            # Values on a lattice are spread over their step, or the narrowest component would sit on one of them.
            noisy = [
                self._numbers(own + (rng.random(own.shape) - 0.5) * step).clip(-_FAR, _FAR) for _ in range(4)
            ]
            level = self._discrete(own)
            codes.append(self._put(np.stack([self._code(own, level, one) for one in noisy])))
            levels.append(self._put(level))
            numbers.append(self._put(np.stack(noisy)))
            held_level, noise = self._discrete(test), (rng.random(test.shape) - 0.5) * step
            held_number = self._numbers(test + noise).clip(-_FAR, _FAR)
            held = (self._code(test, held_level, held_number), held_level, held_number)
            tests.append(tuple(self._put(a) for a in held))
            counts.append(len(own))
        parameters = [self.first, self.last, self.bias]
        optimiser = Adam(parameters, _RATE, _DECAY)
        batch = min(_BATCH, max(counts))
        best = np.full(g, np.inf)
        state, waited = [p.detach().clone() for p in parameters], np.zeros(g, dtype=np.int64)
        self.trace: list[list[float]] = []
        for turn in range(_STEPS + 1):
            if turn % _EVERY == 0:
                loss = self._held(tests)
                self.trace.append(loss.tolist())
                better = loss < best - 1e-4
                best, waited = np.where(better, loss, best), np.where(better, 0, waited + 1)
                keep = self._put(np.repeat(better, k))
                state = [
                    torch.where(keep[:, None, None], p.detach(), s)
                    for p, s in zip(parameters, state, strict=True)
                ]
                if (waited >= _PATIENCE).all():
                    break
            optimiser.rate = _RATE * (0.05 + 0.475 * (1 + math.cos(math.pi * turn / _STEPS)))
            pick = [rng.integers(0, count, batch) for count in counts]
            version = rng.integers(0, 4)
            code = torch.stack([c[version][i] for c, i in zip(codes, pick, strict=True)])
            level = torch.stack([c[i] for c, i in zip(levels, pick, strict=True)])
            number = torch.stack([c[version][i] for c, i in zip(numbers, pick, strict=True)])
            every = code[:, None].expand(g, k, batch, self._in).reshape(g * k, batch, self._in)
            out = self._heads(every, self.first * self._mask).view(g, k, batch, self._out)
            optimiser.step(-self._log(out, level, number).mean(1).sum())
        self.first, self.last, self.bias = (s.requires_grad_(False) for s in state)
        self.first = self.first * self._mask
        # (g,) mean log-density of held-out people, numbers in standard deviations
        self.held_out = -np.bincount(self._of, best) / np.bincount(self._of)

    def _split(
        self, rows: np.ndarray, groups: Groups, rng: np.random.Generator
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each set of networks the people who tell when to stop, and those who are learnt from."""
        for group, copies in enumerate(np.bincount(self._of).tolist()):
            own = rows[groups.mask(groups.names[group])]
            own = own[rng.permutation(len(own))]
            if copies == 1:
                held = max(1, min(_HELD, len(own) // 5))
                yield own[:held], own[held:][:_MOST]
                continue
            part = np.arange(len(own)) % copies
            for c in range(copies):
                yield own[part == c], own[part != c]

    def _held(self, tests: list[Any]) -> np.ndarray:
        """(v,) mean negative log-density of the people held out from each set of networks."""
        torch, k = self.torch, self.k + self.tail
        out = []
        with torch.no_grad():
            for i, (code, level, number) in enumerate(tests):
                mine = slice(i * k, (i + 1) * k)
                first = (self.first * self._mask)[mine].detach()
                heads = self._heads(code[None].expand(k, *code.shape), first, mine)
                out.append(-float(self._log(heads[None], level[None], number[None]).mean()))
        return np.array(out)

    def _numbers(self, rows: np.ndarray) -> np.ndarray:
        return self.coding.scaled(rows)[:, self.coding.mean_of].astype(np.float32)

    # -- answers -------------------------------------------------------------------------------------------

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        """(m, d) -> (m, g), see the class."""
        torch, m, g, k = self.torch, len(rows), len(self._of), self.k + self.tail
        out = np.empty((m, g))
        if not m:
            return out
        level, number = self._discrete(rows), self._numbers(rows)
        code = self._code(rows, level, number)
        with torch.no_grad():
            for begin in range(0, m, self.block):
                at = np.arange(begin, min(begin + self.block, m))
                pad = np.concatenate([at, np.full(self.block - len(at), at[0])])
                some = self._put(code[pad])[None].expand(g * k, self.block, self._in)
                heads = self._heads(some, self.first).view(g, k, self.block, self._out)
                tags = self._put(level[pad])[None].expand(g, -1, -1)
                log = self._log(heads, tags, self._put(number[pad])[None].expand(g, -1, -1))
                out[at] = log[:, : len(at)].T.double().cpu().numpy()
        if g > self.n_groups:
            out = np.stack([mixed(out[:, self._of == i]) for i in range(self.n_groups)], axis=1)
        return np.asarray(out + jacobian(self.coding, rows, self.span)[:, None])

    def sample(self, x: np.ndarray, s: int, streams: Streams, *, tag: int = 0) -> np.ndarray:
        """(n, s, d): levels one after another, then a component of the mixture and its numbers."""
        n, k = len(x), self.k + self.tail
        out = np.repeat(x[:, None, :], s, axis=1)
        if not n:
            return out
        who = np.arange(n)
        luck = streams.uniform(who, s, self.k + 1, tag=tag * 2 + 1)
        noise = streams.normal(who, s, max(self.p, 1), tag=tag * 2 + 2)
        base = self._code(x, np.zeros((n, 0), dtype=np.int64)) if not self.k else self._bare(x)
        for i, group in enumerate(self._of):
            copies = np.flatnonzero(self._of == group)
            slot = np.arange(group, s, self.n_groups)[i - copies[0] :: len(copies)]
            if not len(slot):  # fewer draws than sets of networks
                continue
            m = n * len(slot)
            code = self._put(np.repeat(base, len(slot), axis=0))
            chance = luck[:, slot].reshape(m, self.k + 1)
            level = np.zeros((m, self.k), dtype=np.int64)
            for j in range(self.k):
                log = self._blocked(code, i * k + j, int(self.size[j]))
                share = np.exp(log - log.max(1, keepdims=True)).cumsum(1)
                picked = (share < chance[:, j, None] * share[:, -1:]).sum(1).clip(max=int(self.size[j]) - 1)
                level[:, j] = picked
                code[self._put(np.arange(m)), self._put(self._n_given + self._at[j] + picked)] = 1.0
            rows = out[:, slot].reshape(m, -1)
            self._write_levels(rows, level)
            if self.p:
                lost = np.zeros((m, self.p), dtype=bool)
                if len(self._flag):
                    lost[:, np.searchsorted(self.coding.mean_of, self._flag)] = (
                        level[:, len(self._level) :] == 1
                    )
                easy = noise[:, slot, : self.p].reshape(m, self.p)
                value = self._draw_numbers(code, i * k + self.k, chance[:, -1], easy, lost)
                value = unscale(self.coding, self.coding.mean_of, value)
                rows[:, self.coding.numeric[self.coding.mean_of]] = np.where(lost, np.nan, value)
            out[:, slot] = rows.reshape(n, len(slot), -1)
        return out

    def _bare(self, x: np.ndarray) -> np.ndarray:
        code = self._code(x, self._discrete(x))
        code[:, self._n_given : self._n_given + int(self.size.sum())] = 0.0
        return code

    def _blocked(self, code: Any, net: int, size: int) -> np.ndarray:
        """(m, in) codes through one network, in blocks of a fixed length -> (m, size) float64."""
        torch, m = self.torch, len(code)
        out = np.empty((m, size))
        with torch.no_grad():
            for begin in range(0, m, self.block):
                some = code[begin : begin + self.block]
                length = len(some)
                if length < self.block:
                    some = torch.cat([some, some[:1].expand(self.block - length, -1)])
                heads = self._heads(some[None], self.first[net : net + 1], slice(net, net + 1))
                out[begin : begin + length] = heads[0, :length, :size].double().cpu().numpy()
        return out

    def _write_levels(self, rows: np.ndarray, level: np.ndarray) -> None:
        """Write the coordinates of levels into rows; the last of a feature's own may be a missing value."""
        columns = self.coding.level[self._level]
        own = level[:, : len(columns)]
        rows[:, columns] = np.where(own < self.schema.n_levels[columns], own, np.nan)

    def _draw_numbers(
        self, code: Any, net: int, chance: np.ndarray, noise: np.ndarray, lost: np.ndarray
    ) -> np.ndarray:
        """Codes (m, in) with all levels, chance (m,), noise and what is missing (m, p) -> scaled numbers (m, p)."""
        heads = self.torch.as_tensor(self._blocked(code, net, self._number_out()))
        weight, mean, spread = (part.numpy() for part in self._parts(heads))
        total = np.exp(weight).cumsum(1)
        pick = (total < chance[:, None] * total[:, -1:]).sum(1).clip(max=self.components - 1)
        at = np.arange(len(pick))
        return np.asarray(mean[at, pick] + np.exp(spread[at, pick]) * noise)


class Flow(MixtureNetwork):
    """Levels as in `MixtureNetwork`; numbers one after another, each through a conditional spline to a normal one."""

    kind = "flow"
    bins = 8

    def _tail(self) -> int:
        return max(self.p, 1)

    def _number_out(self) -> int:
        return 2 + 3 * self.bins - 1

    def _start_numbers(self, bias: np.ndarray, number: np.ndarray, rng: np.random.Generator) -> None:
        bias[: self.p, 0] = number.mean(0)
        bias[: self.p, 1] = np.log(np.maximum(number.std(0), 0.15))

    def _spline(self, out: Any) -> tuple[Any, Any, Any]:
        """Outputs (..., out) -> where a number is centred, its log scale, and the spline after both."""
        transforms, b = require("zuko.transforms", extra="torch"), self.bins
        shape = out[..., 2 : 2 + b], out[..., 2 + b : 2 + 2 * b], out[..., 2 + 2 * b : 1 + 3 * b]
        return (
            out[..., 0],
            out[..., 1].clamp(_NARROW, 1.5),
            transforms.MonotonicRQSTransform(*shape, bound=4.0),
        )

    def _log_numbers(self, out: Any, number: Any) -> Any:
        """Outputs (g, tail, B, out), number (g, B, p) -> (g, B)."""
        torch = self.torch
        at, scale, spline = self._spline(out)
        number = number.transpose(1, 2)  # (g, p, B)
        there = ~number.isnan()
        easy = (torch.where(there, number, at.detach()) - at) * (-scale).exp()
        normal, slope = spline.call_and_ladj(easy)
        log = slope - scale - 0.5 * normal * normal - 0.5 * math.log(2 * math.pi)
        return (log * there).sum(1)

    def _draw_numbers(
        self, code: Any, net: int, chance: np.ndarray, noise: np.ndarray, lost: np.ndarray
    ) -> np.ndarray:
        """Codes (m, in) with all levels, chance (m,), noise and what is missing (m, p) -> scaled numbers (m, p)."""
        torch, out = self.torch, np.empty_like(noise)
        for j in range(self.p):
            heads = torch.as_tensor(self._blocked(code, net + j, self._number_out()))
            at, scale, spline = self._spline(heads)
            easy = spline.inv(torch.as_tensor(noise[:, j]))
            out[:, j] = (easy * scale.exp() + at).numpy()
            known = np.where(lost[:, j], 0.0, np.clip(out[:, j], -10, 10)).astype(np.float32)
            code[:, self._first_number + j] = self._put(known)
        return out
