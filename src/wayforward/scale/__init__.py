"""Many people: tables answered shard by shard in bounded memory, on the cores of a machine or on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wayforward.lazy import face

if TYPE_CHECKING:
    from wayforward.scale.answers import Answers
    from wayforward.scale.run import recommend_table
    from wayforward.scale.shard import Settings, answer_shard

__all__ = ["Answers", "Settings", "answer_shard", "recommend_table"]
__getattr__ = face(
    __name__,
    {"Answers": "answers", "Settings": "shard", "answer_shard": "shard", "recommend_table": "run"},
)
