"""Many people: tables answered shard by shard in bounded memory, on the cores of a machine or on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wayforward.lazy import face

if TYPE_CHECKING:
    from wayforward.scale.answers import Answers
    from wayforward.scale.evaluating import TableEvaluation, evaluate_table
    from wayforward.scale.run import recommend_table
    from wayforward.scale.shard import ShardSettings, answer_shard

__all__ = ["Answers", "ShardSettings", "TableEvaluation", "answer_shard", "evaluate_table", "recommend_table"]
__getattr__ = face(
    __name__,
    {
        "Answers": "answers",
        "ShardSettings": "shard",
        "TableEvaluation": "evaluating",
        "answer_shard": "shard",
        "evaluate_table": "evaluating",
        "recommend_table": "run",
    },
)
