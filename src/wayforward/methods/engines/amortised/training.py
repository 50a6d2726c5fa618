"""Train an amortised engine: epochs, checks on validation, a checkpoint to go on from, and the choice at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import ProblemError
from wayforward.methods.engines.amortised import files
from wayforward.methods.engines.amortised.report import Report
from wayforward.problem.batching import tidy
from wayforward.streams import generator

if TYPE_CHECKING:
    from wayforward.methods.engines.amortised.engine import Amortised

_MOST_VALIDATION = 2000
_CHECKS = 6  # looks at validation in the second half of a training


def train(
    engine: Amortised,
    *,
    validation: Any,
    split_seed: int,
    tie: float,
    wishes: Callable[[int], tuple[np.ndarray, np.ndarray]],
    checkpoint: Path | None,
    header: Mapping[str, Any],
    progress: Callable[[int, int], None] | None,
) -> Report:
    """Train all seeds and let the best of them answer.

    Of all seeds at all checks, those within `tie` of the best share of checked answers; of these the best by
    plausible share (to a hundredth, where the training values plausibility), then by mean cost.
    """
    started = time.perf_counter()
    rows, judge = _split(engine, validation, split_seed, wishes)
    engine.start(rows)
    settings = engine.settings
    checks: list[tuple[float, ...]] = []
    states: list[list[Any]] = []  # one state a check
    spent = 0.0
    if checkpoint is not None and checkpoint.exists():
        checks, states, spent = files.resume(checkpoint, engine, header)
    first, step = settings.epochs // 2, max(1, settings.epochs // (2 * _CHECKS))
    refresh = {max(1, settings.epochs * part // 4) for part in (1, 2, 3)}
    try:
        while engine.epoch < settings.epochs:
            engine.run_epoch()
            done = engine.epoch
            if engine.score.learns and done in refresh:
                engine.score.refresh(_proposed_rows(engine))
            if done == settings.epochs or (done > first and (settings.epochs - done) % step == 0):
                states.append(engine.state())
                checks += [
                    (float(done), float(seed), *judge(states[-1], s)) for s, seed in enumerate(engine.seeds)
                ]
                if checkpoint is not None:
                    files.pause(
                        checkpoint, engine, header, checks, states, spent + time.perf_counter() - started
                    )
            if progress is not None:
                progress(done, settings.epochs)
    except KeyboardInterrupt:
        if checkpoint is not None:
            files.pause(checkpoint, engine, header, checks, states, spent + time.perf_counter() - started)
        raise
    at = _best(np.array(checks), tie)
    place = at % len(engine.seeds)
    engine.choose(states[at // len(engine.seeds)], place)
    return Report(
        seed=engine.seeds[place],
        epoch=int(checks[at][0]),
        epochs=settings.epochs,
        seconds=spent + time.perf_counter() - started,
        trained_on=engine.n,
        chosen_on=judge.n,
        stand_in=engine.score.stand_in is not None,
        checks=tuple(checks),
    )


def _best(checks: np.ndarray, tie: float) -> int:
    valid, plausible, cost = checks[:, 2], np.nan_to_num(checks[:, 3]).round(2), checks[:, 4]
    near = valid >= valid.max() - tie
    order = np.lexsort((np.arange(len(checks)), np.nan_to_num(cost, nan=np.inf), -plausible, ~near))
    return int(order[0])


class _Validation:
    """Judges one network's own answers to the validation people by the real model and world."""

    def __init__(self, engine: Amortised, x: np.ndarray, wish: np.ndarray, may: np.ndarray) -> None:
        self.engine, self.wish, self.may, self.n = engine, wish, may, len(x)
        self.people = engine.problem.population(x)
        self.weight = np.ones(x.shape)
        self.weight[:, engine.act] = engine.weights
        if engine.law is not None:
            self.weight[:, engine.act] *= engine.least + (engine.most - engine.least) * wish
        self.before = self._density(x)

    def _density(self, x: np.ndarray) -> np.ndarray | None:
        if not self.engine.has_density:
            return None
        return np.asarray(self.engine.torch_world.density.log_density(x))

    def __call__(self, state: list[Any], place: int) -> tuple[float, float, float]:
        engine, people, everybody = self.engine, self.people, np.arange(self.n)
        engine.choose(state, place)
        value = engine.answer(people, self.wish, self.may, block=self.n)[1]
        action = np.full(people.x.shape, np.nan)
        action[:, engine.act] = value
        action = tidy(people, everybody, action)
        seen = people.evaluate(everybody, action)
        plausible = np.nan
        if self.before is not None:
            density = self._density(seen.after)
            acts = ~np.isnan(action).all(1)
            assert density is not None
            plausible = float((density >= self.before - 1e-9)[acts].mean()) if acts.any() else 0.0
        cost = np.nan
        if seen.reached.any():
            parts = people.problem.cost.parts(people.x, action) * self.weight
            cost = float(parts.sum(1)[seen.reached].mean())
        return float(seen.reached.mean()), plausible, cost


def _split(
    engine: Amortised, validation: Any, seed: int, wishes: Callable[[int], tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, _Validation]:
    """Return the rows of the refused to train on, and the judge of the rest."""
    problem, n = engine.problem, len(engine.refused)
    if validation is None:
        order = generator(seed, 23).permutation(n)
        few = min(n // 5, _MOST_VALIDATION)
        held, rows = (order, order) if n < 10 else (order[:few], np.sort(order[few:]))
        x = engine.refused[held]
    else:
        x = problem.schema.encode(validation, "validation")
        x = x[~problem.reached(x)[0]]
        if not len(x):
            raise ProblemError(
                "The model accepts everybody in the table for validation. Give people whom it refuses, or None."
            )
        x, rows = x[:_MOST_VALIDATION], np.arange(n)
    return rows, _Validation(engine, x, *wishes(len(x)))


def _proposed_rows(engine: Amortised) -> np.ndarray:
    """Return the rows (m, d) where up to three of the networks send the training people now."""
    people = engine.problem.population(engine.refused[engine.known])
    n, out = people.n, []
    state = engine.state()
    rng = np.random.default_rng([engine.seeds[0], engine.epoch, 5])
    for place in range(min(3, len(engine.seeds))):
        wish, may = np.zeros((n, engine.a)), np.ones((n, engine.a), dtype=bool)
        if engine.law is not None:
            wish, may = engine.law(n, rng)
        engine.choose(state, place)
        action = np.full(people.x.shape, np.nan)
        action[:, engine.act] = engine.answer(people, wish, may.astype(bool), block=n)[1]
        out.append(people.after(np.arange(n), tidy(people, np.arange(n), action)))
    return np.concatenate(out)
