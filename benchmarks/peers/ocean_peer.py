"""oceanpy (constraint programming, optimal for L1) on the people of an exchange folder; forests only.

oceanpy reads trees over its own columns. The trees here are those of the benchmark's forest, not
retrained: every encoded column is traced back to its feature by asking the fitted encoder, and the
thresholds of numeric columns are rewritten into shares of the feature's range, so that its L1 objective
is the range-scaled L1 of the scorer. Where the forest sees an ordered feature as a one-hot block, the
package would count any change of it as 1; the objective of such blocks is replaced by the steps moved
over the steps there are. The package has no option for immutable features or directions; its models are
CP-SAT models, so each person's reach is added as constraints on the package's own variables, and removed
by its own clean-up. A value that the solver places just above a threshold is moved to the next legal
value, outwards. Options: seconds, a limit of the solver; clock, which puts the processor seconds of the whole process
(the solver has a thread of its own) behind the status of each person; isolation, how many trees of an isolation forest
of the accepted people must not call an option an outlier, a tenth of these people being outliers.
"""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from common import Task, run
from ocean import ConstraintProgrammingExplainer
from ocean.abc import Mapper
from ocean.feature import Feature
from ortools.sat.python import cp_model
from sklearn.ensemble import IsolationForest

NUDGE = 1e-6  # share of the range beyond a threshold, for real features without a step: float32 must see it


class Column:
    """One ordered feature as a single encoded column: encoded = slope * code + offset."""

    def __init__(self, task: Task, j: int, slope: float, offset: float) -> None:
        self.feature = task.features[j]
        self.slope, self.offset, self.span = slope, offset, float(task.span[j])
        self.low = 0.0 if self.feature["levels"] else float(self.feature["low"])
        whole = bool(self.feature["levels"]) or self.feature["kind"] == "integer"
        self.step = 1.0 if whole and not self.feature["step"] else self.feature["step"]

    def share(self, code: Any) -> Any:
        """Code -> share of the range."""
        return (code - self.low) / self.span

    def threshold(self, encoded: Any) -> Any:
        """Threshold on the encoded column -> share of the range."""
        return self.share((encoded - self.offset) / self.slope)

    def point(self, levels: np.ndarray, k: int, code: float) -> float | None:
        """The legal value nearest to `code` in interval k, (levels[k], levels[k + 1]]; None for none."""
        bottom, top = levels[k] * self.span + self.low, levels[k + 1] * self.span + self.low
        if bottom < code <= top:
            return code
        if code <= bottom:
            value = bottom + NUDGE * self.span
            if self.step:
                value = self.low + math.ceil((bottom - self.low) / self.step + 1e-9) * self.step
            return value if value <= top else None
        value = top - NUDGE * self.span
        if self.step:
            value = self.low + math.floor((top - self.low) / self.step + 1e-9) * self.step
        return value if value > bottom else None


class RangedExplainer(ConstraintProgrammingExplainer):
    """The package's explainer, with ordered one-hot blocks costed by how far the level moves."""

    def set_person(self, x: np.ndarray, ordered: dict[str, tuple[int, float]]) -> None:
        """Where the next person stands; ordered: feature name -> (feature, number of steps)."""
        self.stand = {id(self.mapper[name]): (x[j], steps) for name, (j, steps) in ordered.items()}

    def Lp(self, x: Any, v: Any, code: Any = None, *, norm: int = 1) -> Any:
        """The contribution of one column to the objective."""
        if id(v) not in self.stand:
            return super().Lp(x, v, code, norm=norm)
        now, steps = self.stand[id(v)]
        weight = round(abs(int(code) - now) / steps * self._obj_scale)
        return cp_model.LinearExpr.WeightedSum([v.xget(code)], [weight])


def trace(task: Task, encode: Callable[[np.ndarray], np.ndarray]) -> list[tuple[int, str, Any]]:
    """For each encoded column: (j, 'level', index), (j, 'column', Column) or (-1, 'still', value)."""
    base = task.people[:1]
    start = encode(base)[0]
    out: list[tuple[int, str, Any]] = [(-1, "still", float(v)) for v in start]
    for j, feature in enumerate(task.features):
        if feature["levels"]:
            probes = np.arange(len(feature["levels"]), dtype=float)
        else:
            middle = (feature["low"] + feature["high"]) / 2
            whole = feature["kind"] == "integer"
            probes = np.array(
                [feature["low"], round(middle) if whole else middle, feature["high"]], dtype=float
            )
        rows = np.repeat(base, len(probes), axis=0)
        rows[:, j] = probes
        block = encode(rows)
        touched = np.flatnonzero((np.abs(block - block[:1]) > 1e-12).any(axis=0))
        hot = block[:, touched]
        if (
            feature["levels"]
            and len(touched) > 1
            and np.isin(hot, (0.0, 1.0)).all()
            and (hot.sum(1) <= 1).all()
        ):
            for c, column in zip(touched, hot.T, strict=True):
                out[c] = (j, "level", int(column.argmax()))
            continue
        if len(touched) == 0:
            continue  # the model does not read it
        if len(touched) > 1:
            raise ValueError(f"feature {j} spreads over {len(touched)} columns that are not one-hot")
        slope, offset = np.polyfit(probes, hot[:, 0], 1)
        if np.abs(slope * probes + offset - hot[:, 0]).max() > 1e-6 or slope <= 0:
            raise ValueError(f"feature {j} is not encoded by a rising line")
        out[touched[0]] = (j, "column", Column(task, j, slope, offset))
    return out


def describe(
    task: Task, columns: list[tuple[int, str, Any]]
) -> tuple[list[tuple[str, str]], dict[str, Feature]]:
    """The name and level of each encoded column, and the package's feature of each name."""
    labels: list[tuple[str, str]] = []
    mapping: dict[str, Feature] = {}
    codes: dict[str, list[str]] = {}
    for c, (j, what, detail) in enumerate(columns):
        name = f"f{j}" if j >= 0 else f"still{c}"
        labels.append((name, str(detail) if what == "level" else ""))
        if what == "level":
            codes.setdefault(name, []).append(str(detail))
        elif what == "column":
            seen = detail.share(np.concatenate([task.train[:, j], task.people[:, j]]))
            ends = (min(float(np.nanmin(seen)), 0.0) - 0.5, max(float(np.nanmax(seen)), 1.0) + 0.5)
            mapping[name] = Feature(Feature.Type.CONTINUOUS, levels=ends)
        else:
            mapping[name] = Feature(Feature.Type.CONTINUOUS, levels=(detail - 1.0, detail + 1.0))
    for name, several in codes.items():
        mapping[name] = Feature(Feature.Type.ONE_HOT_ENCODED, codes=several)
    return labels, mapping


def build(task: Task, options: dict[str, Any]) -> Callable[..., np.ndarray | None]:
    """Parse the forest and build the constraint model once."""
    warnings.filterwarnings("ignore")
    seconds = int(options.get("seconds", 10))
    pipeline = task.model.pipeline
    encoder, forest = pipeline[:-1], copy.deepcopy(pipeline[-1])

    def encode(codes: np.ndarray) -> np.ndarray:
        block = encoder.transform(task.frame(codes))
        return np.asarray(block.todense() if hasattr(block, "todense") else block, dtype=float)

    columns = trace(task, encode)
    labels, mapping = describe(task, columns)
    plausible: dict[str, Any] = {}
    parts = [forest]
    if options.get("isolation"):
        accepted = encode(task.train[task.label == 1])
        isolation = IsolationForest(
            n_estimators=int(options["isolation"]), max_samples=min(256, len(accepted)), random_state=0
        )
        isolation.fit(accepted)
        outlier = float(np.quantile(-isolation.score_samples(accepted), 0.9))
        plausible = {"isolation": isolation, "isolation_threshold": outlier}
        parts.append(isolation)
    for estimator in (one for part in parts for one in part.estimators_):
        tree = estimator.tree_
        for c, (_, what, detail) in enumerate(columns):
            if what == "column":
                here = tree.feature == c
                tree.threshold[here] = detail.threshold(tree.threshold[here])
    mapper = Mapper(mapping, columns=pd.MultiIndex.from_tuples(labels))
    explainer = RangedExplainer(forest, mapper=mapper, **plausible)
    ordered = {
        f"f{j}": (j, len(task.features[j]["levels"]) - 1.0)
        for j, what, _ in columns
        if what == "level" and task.features[j]["kind"] != "categorical"
    }
    target = int(task.meta["favourable_index"])

    def answer(
        x: np.ndarray, low: np.ndarray, high: np.ndarray, levels: dict[int, np.ndarray]
    ) -> np.ndarray | None:
        began, query = time.process_time(), np.empty(len(columns))
        for c, (j, what, detail) in enumerate(columns):
            if what == "level":
                query[c] = float(x[j] == detail)
            elif what == "column":
                query[c] = detail.share(x[j])
            else:
                query[c] = detail
        points: dict[int, dict[int, float]] = {}
        for c, (j, what, detail) in enumerate(columns):
            if what == "level":
                if not (x[j] == detail or (task.free[j] and levels[j][detail])):
                    variable = explainer.mapper[f"f{j}"].xget(str(detail))
                    explainer.add_garbage(explainer.Add(variable == 0))
            elif what == "column":
                cuts = explainer.mapper[f"f{j}"].levels
                reachable: dict[int, float] = {}
                for k in range(len(cuts) - 1):
                    value = detail.point(cuts, k, float(x[j]))
                    if value is None:
                        continue
                    moved = value != x[j]
                    inside = low[j] - 1e-9 <= value <= high[j] + 1e-9
                    if task.features[j]["levels"]:
                        inside = inside and bool(levels[j][round(value)])
                    if not moved or (task.free[j] and inside):
                        reachable[k] = value
                points[c] = reachable
                variable = explainer.mapper[f"f{j}"].xget()
                domain = cp_model.Domain.FromValues(list(reachable))
                explainer.add_garbage(explainer.AddLinearExpressionInDomain(variable, domain))
        explainer.set_person(x, ordered)
        explanation = explainer.explain(
            query, y=target, norm=1, max_time=seconds, num_workers=1, random_seed=0
        )
        spent = f" {time.process_time() - began:.3f}" if options.get("clock") else ""
        task.words.append(f"{explainer.get_solving_status()}{spent}")
        if explanation is None:
            return None
        after = x.copy()
        for c, (j, what, detail) in enumerate(columns):
            if what == "level":
                if explainer.solver.Value(explainer.mapper[f"f{j}"].xget(str(detail))):
                    after[j] = detail
            elif what == "column":
                after[j] = points[c][explainer.solver.Value(explainer.mapper[f"f{j}"].xget())]
        return after

    return answer


if __name__ == "__main__":
    run("oceanpy", ("oceanpy", "ortools"), build)
