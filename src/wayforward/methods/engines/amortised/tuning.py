"""Search for hyper-parameters of an amortised method with Optuna: cheap and valid, both at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from wayforward.errors import MethodError, require

if TYPE_CHECKING:
    from wayforward.methods.engines.amortised.report import Report
    from wayforward.problem import Problem


class Tunable(Protocol):
    """A method that trains networks and reports how that went."""

    report_: Report

    def fit(self, problem: Problem) -> Self:
        """Train for a problem."""


Kind = TypeVar("Kind", bound=Tunable)

_SIZES, _BATCHES = (8, 16, 32, 64), (64, 128, 256)


def tune(
    kind: type[Kind],
    problem: Problem,
    trials: int,
    *,
    seed: int,
    progress: Callable[[int, int], None] | None,
    fixed: dict[str, Any],
) -> Kind:
    """The method with the best settings that were found, fitted.

    Tree-structured Parzen estimators on two goals, mean cost down and share of checked answers up, measured on
    validation; of the front the least ``cost + (1 - share)``. fixed: settings that are not searched.
    """
    if trials < 1:
        raise MethodError(f"trials={trials} leaves nothing to search. Use 1 or more.")
    optuna = require("optuna", extra="tune")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    best: list[tuple[float, Kind]] = []

    def settings(trial: Any) -> dict[str, Any]:
        drawn: dict[str, Callable[[], Any]] = {
            "rate": lambda: trial.suggest_float("rate", 1e-4, 3e-2, log=True),
            "batch": lambda: trial.suggest_categorical("batch", _BATCHES),
            "mask_layers": lambda: trial.suggest_int("mask_layers", 1, 3),
            "mask_width": lambda: trial.suggest_categorical("mask_width", _SIZES),
            "action_layers": lambda: trial.suggest_int("action_layers", 2, 4),
            "action_width": lambda: trial.suggest_categorical("action_width", _SIZES),
            "margin": lambda: trial.suggest_float("margin", 0.001, 0.02, step=0.001),
            "tau": lambda: trial.suggest_float("tau", 0.05, 1.0),
            "cost": lambda: trial.suggest_float("cost", 0.5, 3.0),
            "kl": lambda: trial.suggest_float("kl", 0.01, 4.0, log=True),
            "cap": lambda: trial.suggest_float("cap", 3.0, 100.0, log=True),
        }
        return {name: draw() for name, draw in drawn.items() if name not in fixed} | fixed

    def goal(trial: Any) -> tuple[float, float]:
        method = kind(**settings(trial)).fit(problem)
        chosen = method.report_.best
        valid, cost = chosen[2], chosen[4] if chosen[4] == chosen[4] else float("inf")
        best.append((cost + (1 - valid), method))
        best.sort(key=lambda one: one[0])
        del best[1:]
        if progress is not None:
            progress(trial.number + 1, trials)
        return (1e9 if cost == float("inf") else cost), valid

    study = optuna.create_study(
        directions=["minimize", "maximize"], sampler=optuna.samplers.TPESampler(seed=seed)
    )
    study.optimize(goal, n_trials=trials)
    return best[0][1]
