"""Fixed tasks on which anybody's method is judged, entries that are kept, and a leaderboard computed from them."""

from __future__ import annotations

from wayforward.tracks.entries import Store, TrackEntry
from wayforward.tracks.judging import judge
from wayforward.tracks.leaderboard import Board, board
from wayforward.tracks.running import RunLimits, submit
from wayforward.tracks.submission import Submission
from wayforward.tracks.tasks import TASKS, TRACKS, BuiltTask, Task, Track, task

__all__ = [
    "TASKS",
    "TRACKS",
    "Board",
    "BuiltTask",
    "RunLimits",
    "Store",
    "Submission",
    "Task",
    "Track",
    "TrackEntry",
    "board",
    "judge",
    "submit",
    "task",
]
