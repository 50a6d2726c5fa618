"""The score of a problem and its slopes at relaxed searches, by gradients or by differences of neighbouring rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from wayforward.devices import on_processor
from wayforward.methods.engines.gradient.compiled import Compiled
from wayforward.methods.engines.gradient.descent import Descent
from wayforward.methods.engines.gradient.relaxed_state import RelaxedState, range_widths
from wayforward.methods.engines.gradient.zeroth import Zeroth
from wayforward.methods.engines.padding import padded_blocks
from wayforward.portable import Portable

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem


class Slopes(Protocol):
    """Score and slopes at a `RelaxedState`; every Slopes is also a `Layout` (bounds, harden, begun).

    exact: gradients of a network, not estimates. runs_itself: it has a `run` that takes the place of `steps.run`.
    """

    exact: bool
    runs_itself: bool

    def start(self, people: Population, who: np.ndarray, free: np.ndarray) -> RelaxedState:
        """See `Layout.start`."""

    def bounds(self, people: Population, who: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `Layout.bounds`."""

    def harden(self, people: Population, state: RelaxedState, *, eager: bool = False) -> np.ndarray:
        """See `Layout.harden`."""

    def __call__(
        self, people: Population, state: RelaxedState, *, turn: int = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return score (m,) with consequences, slopes of moves (m, d) per range and of level coordinates (m, f, l).

        Slopes are 0 where a search may not move. turn: which random directions and which radius, where slopes are
        estimates; take the number of the step. Model rows are counted for each person.
        """


class Gradients(Descent):
    """Slopes by the gradient of the model's network, in blocks of a fixed size. See `Slopes`."""

    exact = True

    def __call__(
        self, people: Population, state: RelaxedState, *, turn: int = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `Slopes`."""
        m, torch = len(state.who), self.torch
        score = np.empty(m)
        slope, slope_share = np.zeros_like(state.move), np.zeros_like(state.share)
        for rows, pad in padded_blocks(m, self.block):
            move = self._tensor(state.move[pad]).requires_grad_(True)
            share = self._tensor(state.share[pad]).requires_grad_(True)
            free = self._tensor(state.free[pad], torch.bool)
            got = self.relaxed_score(self._tensor(people.x[state.who[pad]]), move, share, free)
            parts = torch.autograd.grad(got.sum(), [move, share], allow_unused=True, materialize_grads=True)
            score[rows], slope[rows], slope_share[rows] = (
                np.asarray(t.detach().cpu().double().numpy())[: len(rows)] for t in (got, *parts)
            )
        if people.aim is not None:
            score -= people.aim[state.who]
        people.rows += np.bincount(state.who, minlength=people.n)
        ordered = state.free & ~self.schema.has_levels
        return score, np.where(ordered, slope, 0.0), slope_share * state.free[:, self.level, None]


class Lowered(Portable):
    """Slopes of the plain score, whose value is lowered by what the problem's robust condition takes off.

    What it takes off is computed at the hard row where the search is, and counts as constant in the slopes; hard rows
    are judged by the condition itself. See `Slopes`.
    """

    runs_itself = False  # compiled descents know nothing of the condition

    def __init__(self, inner: Any, problem: Problem) -> None:
        self.inner, self.problem = inner, problem

    def __getattr__(self, name: str) -> Any:
        if name == "inner":  # not there yet, as in a copy
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __call__(
        self, people: Population, state: RelaxedState, *, turn: int = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `Slopes`."""
        score, move, share = self.inner(people, state, turn=turn)
        who = state.who
        action = self.inner.harden(people, state)
        after = people.after(who, action)
        at = np.flatnonzero((np.isfinite(after) | self.problem.schema.missing).all(1))
        if self.problem.robust is not None and at.size:
            plain = self.problem.bound_target.score(people.drawn_outputs(who[at], after[at]))
            left = self.problem.robust.score(people, who[at], after[at], action[at], plain)
            score[at] -= plain - left
        return score, move, share


def slopes(
    problem: Problem,
    method: str,
    *,
    device: str | None = None,
    span: np.ndarray | None = None,
    zeroth: bool | None = None,
    block: int = 256,
    seed: int = 0,
) -> Any:
    """Make what gives slopes for a problem, on behalf of a method: `Compiled`, `Gradients` (torch) or `Zeroth`.

    Where the problem asks for robust options, gradients are `Lowered`.

    span (d,): the width of a range, by default those of the problem's `LpMix` distance. zeroth: None takes gradients
    where the model has them and torch is installed; True never; False always. block: rows a tensor. seed: of the
    random directions of estimates.
    Raises: UnsupportedModel for zeroth=False and a model without gradients.
    Example: ``score, move, share = slopes(problem, "mine")(people, state)``.
    """
    span = range_widths(problem) if span is None else span
    if zeroth is None:
        zeroth = not has_gradients(problem)
    if zeroth:
        return Zeroth(problem, span, seed=seed)
    found: Any = Compiled.of(problem, span) if on_processor(device) else None
    if found is None:
        found = Gradients(problem, method, device=device, span=span, block=block)
    return found if problem.robust is None else Lowered(found, problem)


def has_gradients(problem: Problem) -> bool:
    """True if slopes can be gradients: compiled where the weights are known, else torch must be installed."""
    from importlib.util import find_spec

    from wayforward.model import Access

    if problem.model.access < Access.GRADIENT:
        return False
    if Compiled.of(problem, np.ones(problem.schema.d)) is not None:
        return True
    return find_spec("torch") is not None and problem.model.network is not None
