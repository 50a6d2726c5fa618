"""dice-ml (random or genetic), one counterfactual a person, on the people of an exchange folder.

Best fair settings: `features_to_vary` and `permitted_range` for each person follow the schema's
actionability and directions; `continuous_features_precision` follows the schema's steps; everything else is
the package's default. Ordinal features are given as categories, so that only existing levels are proposed.
"""

from __future__ import annotations

import contextlib
import io
import math
import warnings
from collections.abc import Callable
from typing import Any

import dice_ml
import numpy as np
from common import Task, run


def build(task: Task, options: dict[str, Any]) -> Callable[..., np.ndarray | None]:
    """Fit the explainer on the training rows without missing values."""
    warnings.filterwarnings("ignore")
    method = options.get("method", "random")
    rows = ~np.isnan(task.train).any(axis=1)
    frame = task.frame(task.train[rows], as_text=True)
    frame["outcome__"] = task.label[rows].astype(int)
    continuous = [f["name"] for f in task.features if not f["levels"]]
    precision = {
        f["name"]: max(0, round(-math.log10(f["step"])))
        for f in task.features
        if f["kind"] == "real" and f["step"]
    }
    known = {f["name"]: {str(v) for v in frame[f["name"]].unique()} for f in task.features if f["levels"]}
    extra = {"continuous_features_precision": precision} if precision else {}
    data = dice_ml.Data(dataframe=frame, continuous_features=continuous, outcome_name="outcome__", **extra)
    explainer = dice_ml.Dice(data, dice_ml.Model(model=task.model, backend="sklearn"), method=method)

    def answer(
        x: np.ndarray, low: np.ndarray, high: np.ndarray, levels: dict[int, np.ndarray]
    ) -> np.ndarray | None:
        permitted: dict[str, list[Any]] = {}
        for j, feature in enumerate(task.features):
            if not task.free[j]:
                continue
            if feature["levels"]:
                names = [str(v) for v, ok in zip(feature["levels"], levels[j], strict=True) if ok]
                names = [v for v in names if v in known[feature["name"]]]
                if len(names) > 1:
                    permitted[feature["name"]] = names
            elif high[j] > low[j]:
                whole = feature["kind"] == "integer"
                ends = (math.ceil(low[j]), math.floor(high[j])) if whole else (low[j], high[j])
                permitted[feature["name"]] = list(ends)
        if not permitted:
            return None
        query = task.frame(x[None, :], as_text=True)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                result = explainer.generate_counterfactuals(
                    query,
                    total_CFs=1,
                    desired_class=1,
                    features_to_vary=list(permitted),
                    permitted_range=permitted,
                )
            except Exception as error:
                # "No counterfactuals found for any of the query points" is raised, not returned.
                if "No counterfactuals found" in str(error):
                    return None
                raise
        found = result.cf_examples_list[0].final_cfs_df_sparse
        if found is None or len(found) == 0:
            return None
        return task.codes(found.iloc[:1])[0]

    return answer


if __name__ == "__main__":
    run("dice-ml", ("dice-ml",), build)
