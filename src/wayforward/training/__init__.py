"""Classifiers that are trained so that recourse is there, is even, or is no game: scikit-learn estimators."""

from typing import TYPE_CHECKING

from wayforward.lazy import face

if TYPE_CHECKING:
    from wayforward.training.allowed import AllowedChanges
    from wayforward.training.burden import recourse_burden, signed_distance
    from wayforward.training.equalizing import EqualizingRecourse
    from wayforward.training.fair_inputs import CausallyFairInputs
    from wayforward.training.pare import PARE, recourse_rank
    from wayforward.training.strategic import StrategicRecourse
    from wayforward.training.tables import train

_HOME = {
    "CausallyFairInputs": "fair_inputs",
    "EqualizingRecourse": "equalizing",
    "AllowedChanges": "allowed",
    "PARE": "pare",
    "StrategicRecourse": "strategic",
    "recourse_burden": "burden",
    "recourse_rank": "pare",
    "signed_distance": "burden",
    "train": "tables",
}

__all__ = [
    "PARE",
    "AllowedChanges",
    "CausallyFairInputs",
    "EqualizingRecourse",
    "StrategicRecourse",
    "recourse_burden",
    "recourse_rank",
    "signed_distance",
    "train",
]


__getattr__ = face(__name__, _HOME)  # names are imported on first use
