"""Numbers about an answer: for each person, by group and in total, with intervals and denominators."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from wayforward.evaluate.evaluation import Evaluation, evaluate, evaluate_rows
from wayforward.evaluate.evidence import Evidence
from wayforward.evaluate.judge import second_opinion
from wayforward.evaluate.metric import MEANING, METRICS, Metric, Share, register_metric
from wayforward.evaluate.stats import Estimate
from wayforward.evaluate.table import BUILT_IN

__all__ = [
    "MEANING",
    "METRICS",
    "Estimate",
    "Evaluation",
    "Evidence",
    "Metric",
    "Share",
    "evaluate",
    "evaluate_rows",
    "register_metric",
    "second_opinion",
]

register_metric(*BUILT_IN)


class _Callable(ModuleType):
    """`wayforward.evaluate` is this folder and the function: importing one must not hide the other."""

    def __call__(self, *args: Any, **kwargs: Any) -> Evaluation:
        return evaluate(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
