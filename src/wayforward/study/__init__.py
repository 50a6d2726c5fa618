"""Evaluation studies with participants: protocols, what a participant does, exports, and the statistics of ratings."""

from wayforward.lazy import face

__all__ = [
    "Analysis", "Gamm", "ParticipantCourse", "Power", "Rater", "StudyProtocol", "analyse", "power", "rehearse",
    "simulate_study",
]  # fmt: skip

_HOME = {
    "Analysis": "analysis", "Gamm": "gamm", "ParticipantCourse": "course", "Power": "sample_size",
    "Rater": "participants", "StudyProtocol": "protocol", "analyse": "analysis", "power": "sample_size",
    "rehearse": "rehearsal", "simulate_study": "participants",
}  # fmt: skip
__getattr__ = face("wayforward.study", _HOME)
