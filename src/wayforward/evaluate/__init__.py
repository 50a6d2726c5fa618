"""Numbers about an answer: for each person, by group and in total, with intervals and denominators."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from wayforward.evaluate.evaluation import MEANING, Evaluation, evaluate, evaluate_rows
from wayforward.evaluate.judge import second_opinion
from wayforward.evaluate.stats import Estimate

__all__ = ["MEANING", "Estimate", "Evaluation", "evaluate", "evaluate_rows", "second_opinion"]


class _Callable(ModuleType):
    """`wayforward.evaluate` is this folder and the function: importing one must not hide the other."""

    def __call__(self, *args: Any, **kwargs: Any) -> Evaluation:
        return evaluate(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
