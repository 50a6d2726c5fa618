"""The old place of the generative models; it goes with the next release."""

from wayforward.lazy import face

_MOVED = {"fit_generator": "wayforward.problem.learned"} | dict.fromkeys(
    ("Coding", "Decoded", "Generator", "GroupBlind", "Identity", "Kind", "Split", "TrainingReport"),
    "wayforward.density.generative",
)

__getattr__ = face(__name__, {}, _MOVED)
