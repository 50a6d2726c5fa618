"""decode-mcd (NSGA-II of pymoo over proximity, sparsity and typicality) on the people of an exchange folder.

Its published settings for a query: 100 in a population that starts from the data where rows fit, 100 generations
(option `generations`), the one best sampled counterfactual. Bounds and levels are those within the person's reach.
"""

from __future__ import annotations

import contextlib
import io
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from common import Task, run
from decode_mcd.design_targets import ContinuousTarget, DesignTargets
from decode_mcd.mcd_dataset import McdDataset
from decode_mcd.mcd_generator import McdGenerator
from decode_mcd.mcd_problem import McdProblem
from part import Part
from pymoo.core.variable import Choice, Integer, Real


def build(task: Task, options: dict[str, Any]) -> Callable[..., np.ndarray | None]:
    """Ask once for the score of every training row."""
    warnings.filterwarnings("ignore")
    part = Part(task)
    generations = int(options.get("generations", "100"))
    rows = part.train[: int(options.get("rows", "1000"))]
    targets = DesignTargets([ContinuousTarget("yes", 0.5 + 1e-9, 1.0)])

    def answer(
        x: np.ndarray, low: np.ndarray, high: np.ndarray, levels: dict[int, np.ndarray]
    ) -> np.ndarray | None:
        part.x = x
        free: list[tuple[int, Any]] = []
        for j, feature in zip(part.columns, part.features, strict=True):
            if feature["levels"]:
                some = [float(v) for v in np.flatnonzero(levels[j] | (np.arange(len(levels[j])) == x[j]))]
                if len(some) > 1:
                    free.append((j, Choice(options=some)))
            elif high[j] > low[j]:
                if feature["kind"] == "integer":
                    kind: Any = Integer(bounds=(math.ceil(low[j]), math.floor(high[j])))
                else:
                    kind = Real(bounds=(low[j], high[j]))
                free.append((j, kind))
        if not free:
            return None
        at = [j for j, _ in free]
        names = [task.names[j] for j in at]

        def whole(values: np.ndarray) -> np.ndarray:
            out = np.repeat(x[None, :], len(values), axis=0)
            out[:, at] = values
            return out

        def ask(frame: pd.DataFrame) -> np.ndarray:
            return part.ask(whole(frame[names].to_numpy(dtype=float)))[:, 1:]

        table = pd.DataFrame(rows[:, at], columns=names)
        with contextlib.redirect_stdout(io.StringIO()):
            data = McdDataset(table, pd.DataFrame(ask(table), columns=["yes"]), [kind for _, kind in free])
            query = pd.DataFrame(x[None, at], columns=names)
            problem = McdProblem(data, query, targets, ask)
            made = McdGenerator(problem, 100, initialize_from_dataset=True, verbose=False)
            made.generate(generations, seed=task.meta["seed"] + 1)
            found = made.sample(1)
        if not len(found):
            return None
        return part.stepped(whole(found[names].to_numpy(dtype=float)[:1]))[0]

    return answer


if __name__ == "__main__":
    run("decode-mcd", ("decode-mcd", "pymoo"), build)
