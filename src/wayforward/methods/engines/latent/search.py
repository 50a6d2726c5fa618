"""Search in the latent space of a generative model, everybody at once: decode, make legal, then evaluate.

One search is a point z of the latent space, its person, and the features that it may adopt from what is decoded. A
decoded row is projected on what the person may do (bounds, directions, allowed levels, frozen features keep the
person's own value) before anything looks at it. Descent sees the relaxed row; only hard rows count: values on their
steps, one level each, evaluated like those of any other search. Gradients go through decoder, world and network; for a
model without gradients they are central differences over the few latent dimensions, on evaluated hard rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from wayforward.deadline import look
from wayforward.density.generative.generator import Generator
from wayforward.devices import device_of
from wayforward.errors import require
from wayforward.methods.engines.gradient.descent import Descent
from wayforward.methods.engines.gradient.relaxed_state import Layout
from wayforward.methods.engines.gradient.slopes import has_gradients
from wayforward.methods.engines.padding import padded_blocks
from wayforward.portable import Portable
from wayforward.problem.batching import tidy

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem

_LITTLE = 1e-4  # share that the own level keeps, so that a block whose allowed levels vanish is well defined
_FLAT = 1e-3  # changes of the objective below this end a search, where `AdamSteps.flat`
_NARROW, _WIDEST = 0.25, 3.0  # of difference quotients, in standard deviations of the latent space


@dataclass
class LatentState:
    """m searches. who (m,); z, home (m, q): where they are and began; free (m, d) bool; weight (m,) of the score.

    size (m,): what a score is measured in: 1, or, for a regression, what was missing at the start. The rest belongs to
    one `Latent.search`: moments (m, q) of Adam, width (m,) of differences, last (m,) objective, here (m, c) outputs.
    """

    who: np.ndarray
    z: np.ndarray
    home: np.ndarray
    free: np.ndarray
    weight: np.ndarray
    size: np.ndarray
    first: np.ndarray
    second: np.ndarray
    width: np.ndarray
    last: np.ndarray
    here: np.ndarray

    def take(self, rows: np.ndarray) -> LatentState:
        """Copy some of the rows."""
        return LatentState(*(getattr(self, f.name)[rows] for f in fields(self)))

    def put(self, rows: np.ndarray, other: LatentState) -> None:
        """Write back what a search moves of some of the rows."""
        for name in ("z", "first", "second", "width", "last"):
            getattr(self, name)[rows] = getattr(other, name)


@dataclass(frozen=True)
class Terms:
    """What an objective is made of, torch tensors.

    score (m,): log-odds beyond the boundary; of a regression, in sizes of what was missing. outputs (m, c):
    probabilities, or the prediction; here (m, c): those of the person as they are. away (m,): distance in the unit of
    the cost. weight (m,): of the score.
    """

    score: Any
    outputs: Any
    here: Any
    away: Any
    weight: Any


Objective = Callable[[Terms], Any]  # -> (m,), rows independent of each other


class Incumbents(Protocol):
    """Remembers the best of the hard rows that searches come past."""

    @property
    def found(self) -> np.ndarray:
        """(m,) bool: the search has an option."""

    def __call__(self, search: np.ndarray, who: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Take hard rows (p, d) of the people who (p,); return (p,) bool: this search's option became cheaper."""


@dataclass(frozen=True)
class AdamSteps:
    """Take `steps` of Adam at `rate`, falling to a hundredth. check: steps between hard rows.

    momentum, spread: decay of the two moments; 0 momentum makes it RMSprop with the bias corrected. patience: checks
    that a search goes on after its last gain, once it has an option. moves (q,) bool: dimensions that move; None for
    all. radius: farthest from where it began; None for any distance. flat: it ends where its objective stays.
    """

    steps: int
    rate: float
    check: int = 10
    momentum: float = 0.9
    spread: float = 0.999
    patience: int = 2
    moves: np.ndarray | None = None
    radius: float | None = None
    flat: bool = False

    def moving(self, q: int) -> np.ndarray:
        """Return 1 for each of q dimensions that moves, 0 for the others."""
        return np.ones(q) if self.moves is None else self.moves.astype(np.float64)


class Latent(Portable):
    """Decode, project, evaluate, and descend in z.

    generator: trained and frozen. price (d,): distance of moving by one span, or of changing a
    category. span (d,): widths of ranges. zeroth: central differences instead of gradients; None where the model has
    none. block: rows a tensor. descent: in place of the model's own. Needs torch.
    """

    def __init__(
        self,
        problem: Problem,
        generator: Any,
        method: str,
        *,
        span: np.ndarray,
        price: np.ndarray,
        device: str | None = None,
        zeroth: bool | None = None,
        block: int = 128,
        descent: Descent | None = None,
    ) -> None:
        self.torch = torch = require("torch", extra="torch")
        self.problem, self.schema, self.generator = problem, problem.schema, generator
        self.span, self.price, self.block = span, price, block
        self.exact = descent is not None or (has_gradients(problem) if zeroth is None else not zeroth)
        if descent is None and self.exact:
            descent = Descent(problem, method, device=device, span=span)
        self.descent = descent
        self.device = self.descent.device if self.descent else device_of(device)
        self.dtype = self.descent.dtype if self.descent else torch.float64
        self.layout = Layout(problem.schema, span)
        self.numbers = ~self.schema.has_levels
        coding, made = generator.coding, generator.coding.made & self.schema.actionable
        # What is both generated and somebody's to act on: numbers (p,) and features with levels (f,), in the
        # decoder's order; the rest of a row stays as it is.
        self.number = coding.numeric[coding.mean_of]
        ranks = np.concatenate([coding.soft_of, coding.place_of]).astype(np.int64)
        self._pick_number = np.flatnonzero(made[self.number])
        self._pick_level = np.flatnonzero(made[coding.level[ranks]])
        self.number = self.number[self._pick_number]
        self.rank = ranks[self._pick_level]  # among all features with levels
        self.level = coding.level[self.rank]
        self.size = coding.size[self.rank]
        self.wide = int(self.size.max(initial=1))
        self.known = self.schema.n_levels[self.level].astype(np.int64)
        self._plain = type(generator).decode is Generator.decode
        self._at = {name: self._tensor(at, torch.int64) for name, at in (
            ("number", self.number), ("level", self.level), ("known", self.known), ("rank", self.rank),
            ("picked numbers", self._pick_number), ("picked levels", self._pick_level),
        )}  # fmt: skip
        self._span = self._tensor(span[self.number])
        if self.descent is not None:
            blocks = {b.feature: b for b in self.descent.network.blocks}
            mine = [blocks[int(j)] for j in self.number]
            self._at["number columns"] = self._tensor(np.array([b.columns.start for b in mine]), torch.int64)
            self._offset = self._tensor(np.array([b.offset for b in mine]))
            self._scale = self._tensor(np.array([b.scale for b in mine]))
            starts = [blocks[int(j)].columns.start for j in self.level]
            columns = [np.arange(a, a + n) for a, n in zip(starts, self.size.tolist(), strict=True)]
            self._at["level columns"] = self._tensor(
                np.concatenate([*columns, np.zeros(0)]).astype(np.int64), torch.int64
            )
            self._exists = self._tensor(np.arange(self.wide) < self.size[:, None], torch.bool)

    def _tensor(self, array: np.ndarray, dtype: Any = None) -> Any:
        return self.torch.as_tensor(
            np.ascontiguousarray(array), dtype=dtype or self.dtype, device=self.device
        )

    # -- starts --------------------------------------------------------------------------------------------

    def start(
        self,
        people: Population,
        who: np.ndarray,
        free: np.ndarray,
        weight: float,
        z: np.ndarray | None = None,
    ) -> LatentState:
        """Start searches where the encoder puts the people, or at z (m, q); a missing number stays missing."""
        free = free & ~(np.isnan(people.x[who]) & self.numbers)
        home = self.encode(people.x[who])
        size = np.ones(len(who))
        if self.problem.target.interval is not None:
            size = np.maximum(np.abs(people.score(who, people.x[who])), 1e-6)
        z = home.copy() if z is None else z
        m, none = len(who), np.zeros(len(who))
        return LatentState(
            who, z, home, free, np.full(m, weight), size,
            np.zeros_like(z), np.zeros_like(z), none, none.copy(), np.zeros((m, 0)),
        )  # fmt: skip

    def encode(self, x: np.ndarray) -> np.ndarray:
        """Encode rows (m, d) as the means (m, q) of the encoder."""
        torch = self.torch
        out = []
        with torch.no_grad():
            for rows, pad in padded_blocks(len(x), self.block):
                out.append(self._numpy(self.generator.encode(x[pad]))[: len(rows)])
        return np.concatenate(out) if out else np.zeros((0, self.generator.latent))

    @staticmethod
    def _numpy(tensor: Any) -> np.ndarray:
        return np.asarray(tensor.detach().cpu().double().numpy())

    # -- hard rows -----------------------------------------------------------------------------------------

    def _code(self, x: np.ndarray) -> Any:
        """Return what the decoder is to know of a block of rows."""
        coding, device = self.generator.coding, self.generator.device
        return self.torch.as_tensor(coding.code(x), device=device) if self._plain else x

    def _parts(self, z: Any, code: Any) -> tuple[Any, Any]:
        """Decode z (m, q) of a block of fixed size into values (m, p) of numbers and shares (m, f, l) of levels."""
        torch, model = self.torch, self.generator
        if not self._plain:
            got = model.decode(z, code)
            return got.value[:, self._at["number"]], got.share[:, self._at["rank"], : self.wide]
        coding, out = model.coding, model.raw(z.to(model.device, torch.float32), code)
        number = coding.unscaled(coding.parts(out)[0].double()).to(self.device)[:, self._at["picked numbers"]]
        logs = []
        if len(coding.soft_of):
            logs.append(coding.log_soft(out))
        if coding.n_ordinal:
            logs.append(coding.log_ordered(out, model.extra))
        if not logs:
            return number, number.new_zeros((len(number), 0, self.wide))
        widest = max(part.shape[2] for part in logs)
        logs = [torch.nn.functional.pad(part, (0, widest - part.shape[2]), value=-1e9) for part in logs]
        log = torch.cat(logs, dim=1).to(self.device)[:, self._at["picked levels"], : self.wide]
        return number, log.double().exp()

    def levels(self, people: Population, who: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mark the person's own level of each block, and the levels that they may have: both (m, f, l) bool."""
        own = self.layout.own(people.x[who])[:, self.rank, : self.wide]
        levels = self.layout.levels(people, who)[:, self.rank, : self.wide]
        return own, own | (levels & free[:, self.level, None])

    def decoded(self, people: Population, who: np.ndarray, free: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Decode z (m, q) into the actions (m, d) that make people like the decoded rows; NaN where nothing moves.

        Values are snapped to what each person may do, levels the likeliest of those allowed.
        """
        x, torch = people.x[who], self.torch
        number = np.zeros((len(who), len(self.number)))
        share = np.zeros((len(who), len(self.level), self.wide))
        with torch.no_grad():
            for rows, pad in padded_blocks(len(who), self.block):
                parts = self._parts(self._tensor(z[pad]), self._code(x[pad]))
                number[rows], share[rows] = (self._numpy(part)[: len(rows)] for part in parts)
        own, may = self.levels(people, who, free)
        value = np.full(x.shape, np.nan)
        value[:, self.number] = number
        if len(self.level):
            chosen = np.where(may, share + _LITTLE * own, -1.0).argmax(2)
            value[:, self.level] = np.where(chosen < self.known, chosen, np.nan)
        return tidy(people, who, np.where(free, value, np.nan))

    def around(self, people: Population, who: np.ndarray, z: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Decode every person's z (m, q) plus every one of steps (s, q), as `decoded` does, into actions (m, s, d)."""
        m, s, torch = len(who), len(steps), self.torch
        free = people.free[who] & ~(np.isnan(people.x[who]) & self.numbers)
        _, some = self.levels(people, who, free)
        may = np.zeros((m, len(self.layout.level), self.layout.wide), dtype=bool)
        may[:, self.rank, : self.wide] = some
        value = self.generator.rows_around(torch.as_tensor(z), torch.as_tensor(steps), people.x[who], may)
        out = np.where(free[:, None], value, np.nan).reshape(m * s, -1)
        return tidy(people, np.repeat(who, s), out).reshape(m, s, -1)

    # -- the relaxed row -----------------------------------------------------------------------------------

    def still(self, people: Population, state: LatentState, pad: np.ndarray) -> BlockTensors:
        """Make the tensors of one block of searches that stay as they are while z moves."""
        descent, torch = self.descent, self.torch
        who, free = state.who[pad], state.free[pad]
        x = people.x[who]
        own, may = self.levels(people, who, free)
        price = self.price * people.weight[who]
        away = self.layout.away(self.layout.own(x))[:, self.rank, : self.wide]
        aim = np.zeros(len(pad)) if people.aim is None else people.aim[who]
        near, a = x[:, self.number], self.number
        still = self._tensor(x)
        return BlockTensors(
            code=self._code(x),
            row=still,
            base=None if descent is None else descent.code(still, descent.level_code(still)),
            near=self._tensor(np.nan_to_num(near)),
            acts=self._tensor(free, torch.bool),
            free=self._tensor(free[:, a], torch.bool),
            low=self._tensor(np.nan_to_num(np.fmin(people.low[who][:, a], near))),
            high=self._tensor(np.nan_to_num(np.fmax(people.high[who][:, a], near))),
            own=self._tensor(own),
            may=self._tensor(may),
            away=self._tensor(away * price[:, self.level, None]),
            price=self._tensor(np.where(free, price, 0.0)[:, a] / self.span[a]),
            weight=self._tensor(state.weight[pad]),
            size=self._tensor(state.size[pad]),
            aim=self._tensor(aim),
            here=self._tensor(state.here[pad]),
        )

    def relaxed_rows(self, block: BlockTensors, z: Any) -> RelaxedRows:
        """Decode z (m, q) into rows that the person might become, differentiable.

        Levels are hard going forward and soft going back, values beyond a bound likewise: the slope still shows which
        way the decoder should go.
        """
        torch = self.torch
        raw, share = (part.to(self.dtype) for part in self._parts(z, block.code))
        number, raw_share = raw, share
        inside = torch.minimum(torch.maximum(number.detach(), block.low), block.high)
        number = torch.where(block.free, number + (inside - number).detach(), block.near)
        away = ((number - block.near).abs() * block.price).sum(1)
        chosen = hard = share
        if len(self.level):
            share = share * block.may + _LITTLE * block.own
            share = share / share.sum(2, keepdim=True)
            chosen = share.detach().argmax(2)
            hard = torch.nn.functional.one_hot(chosen, self.wide).to(self.dtype)
            away = away + (share * block.away).sum((1, 2))
        return RelaxedRows(raw, raw_share, number, share, chosen, hard, away)

    def terms(self, block: BlockTensors, rows: RelaxedRows) -> Terms:
        """Evaluate relaxed rows, differentiable."""
        torch, descent = self.torch, self.descent
        assert descent is not None
        logits = self._logits(descent, block, rows.number, rows.chosen, rows.hard, rows.share)
        score = (descent.score(logits) - block.aim) / block.size
        outputs = logits if self.problem.target.interval is not None else torch.softmax(logits, dim=1)
        return Terms(score, outputs, block.here, rows.away, block.weight)

    def with_numbers(self, block: BlockTensors, rows: RelaxedRows) -> Any:
        """Return the people's rows (m, d) with the numbers of relaxed rows in place of their own, differentiable."""
        return block.row.index_copy(1, self._at["number"], rows.number)

    @property
    def encodes(self) -> bool:
        """True if relaxed rows can be encoded again, with gradients."""
        return self._plain and self.generator.encoder is not None

    def encoded_rows(self, block: BlockTensors, rows: RelaxedRows) -> Any:
        """Encode relaxed rows as the means (m, q) of the encoder, differentiable; what is not generated as it was."""
        torch, coding = self.torch, self.generator.coding
        code = block.code.to(self.device)
        out = code.clone()
        rank = np.searchsorted(coding.numeric, self.number)
        out[:, rank] = coding.scaled_tensor(rows.number, rank).to(code.dtype)
        for f, r in enumerate(self.rank.tolist()):
            begin, size = int(coding.level_start[r]), int(coding.size[r])
            out[:, begin : begin + size] = rows.share[:, f, :size].to(code.dtype)
        return self.generator.posterior(torch.clamp(out, -10.0, 10.0))[0]

    def _logits(
        self, descent: Descent, block: BlockTensors, number: Any, chosen: Any, hard: Any, share: Any
    ) -> Any:
        torch, at = self.torch, self._at
        columns, codes = at["number columns"], at["level columns"]
        if self.problem.independent:
            value = torch.where(block.free, (number - self._offset) / self._scale, block.base[:, columns])
            code = block.base.index_copy(1, columns, value)
            if len(self.level):
                code = code.index_copy(1, codes, (hard + share - share.detach())[:, self._exists])
            return descent.network.logits(code)
        row = block.row.index_copy(
            1, at["number"], torch.where(block.free, number, block.row[:, at["number"]])
        )
        if len(self.level):
            gone = torch.full_like(hard[:, :, 0], float("nan"))
            row = row.index_copy(
                1, at["level"], torch.where(chosen < at["known"], chosen.to(self.dtype), gone)
            )
        after = descent.after(block.row, row, block.acts)
        code = descent.code(after, descent.level_code(after.detach()))
        if len(self.level):
            code = code.index_add(1, codes, (share - share.detach())[:, self._exists])
        return descent.network.logits(code)

    # -- the search ----------------------------------------------------------------------------------------

    def search(
        self,
        people: Population,
        state: LatentState,
        objective: Objective,
        how: AdamSteps,
        cap: np.ndarray,
        best: Incumbents,
        rows: np.ndarray | None = None,
    ) -> None:
        """Descend every search; its z is changed in place.

        cap (n,): model rows at which a person's search ends. best: is shown the hard rows; rows (m,): the searches'
        numbers there, 0 to m by default. A step counts one model row, or two for each moving dimension where
        differences take the place of gradients.
        """
        rows = np.arange(len(state.who)) if rows is None else rows
        m, q = state.z.shape
        state.first[:], state.second[:], state.width[:], state.last[:] = 0.0, 0.0, _NARROW, np.inf
        state.here = np.asarray(self.problem.model.outputs(people.x[state.who]))
        live, wait = np.arange(m), np.zeros(m, dtype=np.int64)
        spend = 1 if self.exact else 2 * int(how.moving(q).sum())
        move = self._descend if self.exact else self._differ
        step = 0
        while live.size:
            look()
            lot = min(how.check, how.steps - step)
            live = live[people.rows[state.who[live]] + lot * spend + 1 <= cap[state.who[live]]]
            if lot <= 0 or not live.size:
                break
            part = state.take(live)
            move(people, part, objective, how, step, lot)
            step += lot
            gained = best(rows[live], part.who, self.decoded(people, part.who, part.free, part.z))
            wait[live] = np.where(gained | ~best.found[rows[live]], 0, wait[live] + 1)
            still = wait[live] < how.patience
            if how.flat:
                still &= np.abs(part.last - state.last[live]) > _FLAT
            state.put(live, part)
            live = live[still]

    def _descend(
        self,
        people: Population,
        state: LatentState,
        objective: Objective,
        how: AdamSteps,
        done: int,
        lot: int,
    ) -> None:
        torch = self.torch
        mask = self._tensor(how.moving(state.z.shape[1]))
        for rows, pad in padded_blocks(len(state.who), self.block):
            block = self.still(people, state, pad)
            home = self._tensor(state.home[pad])
            z, first, second = (self._tensor(a[pad]) for a in (state.z, state.first, state.second))
            for step in range(done + 1, done + lot + 1):
                z = z.requires_grad_(True)
                value = objective(self.terms(block, self.relaxed_rows(block, z)))
                (slope,) = torch.autograd.grad(value.sum(), [z])
                slope = torch.nan_to_num(slope) * mask
                z, first, second = self._step(z.detach(), first, second, slope, how, step, home)
            for into, tensor in ((state.z, z), (state.first, first), (state.second, second)):
                into[rows] = self._numpy(tensor)[: len(rows)]
            state.last[rows] = self._numpy(value)[: len(rows)]
        people.rows += np.bincount(state.who, minlength=people.n) * lot

    def _step(
        self, z: Any, first: Any, second: Any, slope: Any, how: AdamSteps, step: int, home: Any
    ) -> tuple[Any, Any, Any]:
        """Take one step of Adam; the same arithmetic on tensors and on arrays."""
        first = how.momentum * first + (1 - how.momentum) * slope
        second = how.spread * second + (1 - how.spread) * slope**2
        fall = 0.01 + 0.495 * (1 + float(np.cos(np.pi * step / how.steps)))
        mean = first / (1 - how.momentum**step) if how.momentum else first
        root = (second / (1 - how.spread**step)) ** 0.5
        z = z - how.rate * fall * mean / (root + 1e-12)
        if how.radius is not None:
            away = z - home
            length = (away**2).sum(1)[:, None] ** 0.5
            outside = length > how.radius
            z = z + outside * away * (how.radius / (length + 1e-12) - 1)
        return z, first, second

    def _differ(
        self,
        people: Population,
        state: LatentState,
        objective: Objective,
        how: AdamSteps,
        done: int,
        lot: int,
    ) -> None:
        """Step along central differences of the objective over hard rows; where all of them score the same, wider.

        Source: the central-difference form of Y. Nesterov & V. Spokoiny (2017), Random Gradient-Free Minimization of
        Convex Functions, Found. Comput. Math. 17.
        """
        m, q = state.z.shape
        axes = np.flatnonzero(how.moving(q))
        probe = np.zeros((2 * len(axes), q))
        probe[np.arange(len(axes)), axes] = 1.0
        probe[np.arange(len(axes)) + len(axes), axes] = -1.0
        many = len(probe)
        owner = np.repeat(np.arange(m), many)
        z = state.z
        for step in range(done + 1, done + lot + 1):
            point = (z[:, None] + state.width[:, None, None] * probe).reshape(-1, q)
            value, score = self._hard_objective(people, state, owner, point, objective)
            value, score = value.reshape(m, many), score.reshape(m, many)
            slope = np.zeros((m, q))
            up, down = value[:, : len(axes)], value[:, len(axes) :]
            slope[:, axes] = (up - down) / (2 * state.width[:, None])
            z, state.first, state.second = self._step(
                z, state.first, state.second, slope, how, step, state.home
            )
            same = np.ptp(score, axis=1) < 1e-9
            state.width = np.where(
                same, np.minimum(state.width * 1.5, _WIDEST), np.maximum(state.width * 0.9, _NARROW)
            )
            state.last[:] = value.mean(1)
        state.z = z

    def _hard_objective(
        self,
        people: Population,
        state: LatentState,
        owner: np.ndarray,
        z: np.ndarray,
        objective: Objective,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return objective (m,) and score (m,) of the hard rows of z (m, q) of the searches owner (m,)."""
        who = state.who[owner]
        action = self.decoded(people, who, state.free[owner], z)
        after = people.after(who, action)
        outputs = people.outputs(who, after)
        score = self.problem.bound_target.score(outputs)
        if self.problem.robust is not None:
            score = self.problem.robust.score(people, who, after, action, score)
        score = (score if people.aim is None else score - people.aim[who]) / state.size[owner]
        x = people.x[who]
        step = np.abs(action - x) / self.span
        step = np.where(self.schema.is_categorical & ~np.isnan(action), 1.0, step)
        away = (np.nan_to_num(step) * self.price * people.weight[who]).sum(1)
        terms = Terms(
            *(
                self._tensor(a, self.torch.float64)
                for a in (score, outputs, state.here[owner], away, state.weight[owner])
            )
        )
        return self._numpy(objective(terms)), score


@dataclass(frozen=True)
class RelaxedRows:
    """What z says of m people, torch tensors.

    raw (m, p), raw_share (m, f, l): numbers and levels as decoded; number (m, p): within what the person may do; share
    (m, f, l): of the levels that they may have, of which chosen (m, f) is the largest and hard (m, f, l) one-hot; away
    (m,): distance in the unit of the cost.
    """

    raw: Any
    raw_share: Any
    number: Any
    share: Any
    chosen: Any
    hard: Any
    away: Any


@dataclass(frozen=True)
class BlockTensors:
    """Tensors of one block of searches; p numbers and f features with levels that are generated and acted on."""

    code: Any  # for the decoder
    row: Any  # (m, d)
    base: Any  # (m, e) the network's code of the person; None without a network
    near: Any  # (m, p) own values
    acts: Any  # (m, d) bool
    free: Any  # (m, p) bool
    low: Any
    high: Any
    own: Any  # (m, f, l)
    may: Any
    away: Any  # price of each level
    price: Any  # (m, p) a unit
    weight: Any
    size: Any
    aim: Any
    here: Any

    def take(self, rows: Any) -> BlockTensors:
        """Copy some of the rows (a tensor of numbers)."""
        parts = (getattr(self, f.name) for f in fields(self))
        return BlockTensors(*(None if part is None else part[rows] for part in parts))
