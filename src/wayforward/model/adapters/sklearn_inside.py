"""Inside scikit-learn's meta-estimators: whose outputs they give on, and how their label follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wayforward.model.base import Decision
from wayforward.shapes import Floats, Ints

# meta-estimators that show the outputs of one inside -> where it is (the first attribute that is there)
_INSIDE: dict[str, tuple[str, ...]] = {
    "FixedThresholdClassifier": ("estimator_", "estimator"),
    "TunedThresholdClassifierCV": ("estimator_",),
    "GridSearchCV": ("best_estimator_",),
    "RandomizedSearchCV": ("best_estimator_",),
    "HalvingGridSearchCV": ("best_estimator_",),
    "HalvingRandomSearchCV": ("best_estimator_",),
    "SelfTrainingClassifier": ("estimator_", "base_estimator_"),
    "FrozenEstimator": ("estimator",),
}
# estimators whose label may be another than the largest output, as `_native` takes it
_OWN_LABEL = (
    "SVC",
    "NuSVC",
    "OneVsRestClassifier",
    "OneVsOneClassifier",
    "OutputCodeClassifier",
    "GaussianProcessClassifier",
    "NearestCentroid",
    "RadiusNeighborsClassifier",
    "DummyClassifier",
)


def _of_sklearn(model: Any) -> bool:
    return type(model).__module__.startswith("sklearn.")


def inside(model: Any) -> Any | None:
    """Return the fitted estimator whose outputs a meta-estimator gives on for the same rows, or None."""
    names = _INSIDE.get(type(model).__name__, ()) if _of_sklearn(model) else ()
    return next((getattr(model, name) for name in names if hasattr(model, name)), None)


def innermost(model: Any) -> Any:
    """Return the estimator at the end of pipelines and meta-estimators."""
    while True:
        inner = model.steps[-1][1] if hasattr(model, "steps") else inside(model)
        if inner is None:
            return model
        model = inner


def knows_none(model: Any) -> bool | frozenset[str]:
    """Return the columns whose missing value is None, and not NaN, to an encoder inside; True where it names none of
    its columns: then all are."""
    parts, at, found = [model], 0, set[str]()
    while at < len(parts):
        part, at = parts[at], at + 1
        names = getattr(part, "feature_names_in_", None)
        known = getattr(part, "categories_", ())
        if getattr(part, "missing_values", 0) is None:  # an imputer
            missing = [True] * (1 if names is None else len(names))
        elif isinstance(known, (list, tuple)):
            missing = [any(v is None for v in each) and not any(v != v for v in each) for each in known]
        else:
            missing = []
        if any(missing):
            if names is None or len(names) != len(missing):
                return True
            found |= {str(name) for name, none in zip(names, missing, strict=True) if none}
        steps = [
            *getattr(part, "steps", ()),
            *getattr(part, "transformers_", ()),
            *getattr(part, "transformer_list", ()),
        ]
        parts += [step[1] for step in steps if not isinstance(step[1], str)]
        inner = inside(part)
        parts += [] if inner is None else [inner]
    return frozenset(found)


def decision_of(model: Any) -> Decision | None:
    """Return how the label of a fitted classifier follows from its outputs; None where only asking can tell."""
    from sklearn.pipeline import Pipeline

    while True:
        name, library = type(model).__name__, type(model).__module__.split(".")[0]
        if library in ("xgboost", "lightgbm"):
            return Decision()
        if library == "catboost":
            return _catboost(model)
        if library != "sklearn":
            return None
        if name in ("FixedThresholdClassifier", "TunedThresholdClassifierCV"):
            return _threshold(model)
        if isinstance(model, Pipeline):
            model = model.steps[-1][1]
        elif (inner := inside(model)) is not None:
            model = inner
        elif name == "StackingClassifier":
            model = model.final_estimator_
        else:
            return None if _own_label(model, name) else Decision()


def shows_its_label(model: Any) -> bool:
    """Return True where `predict` is the first of the largest of `predict_proba` by its own code, ties included.

    Then there is no need to ask twice: true of scikit-learn's forests, alone or at the end of its pipelines.
    """
    from sklearn.pipeline import Pipeline

    while type(model) is Pipeline:
        model = model.steps[-1][1]
    # by name: sklearn.ensemble is read only where a model has brought it
    kind = type(model)
    return kind.__module__ == "sklearn.ensemble._forest" and kind.__name__ in (
        "ExtraTreesClassifier",
        "RandomForestClassifier",
    )


def _own_label(model: Any, name: str) -> bool:
    two = len(model.classes_) == 2
    if name in ("SVC", "NuSVC") and two and not hasattr(model, "predict_proba"):
        return False  # the sign of its decision score
    if name == "OneVsOneClassifier" and not two:
        return False  # the largest of its decision scores
    clipped = name == "SGDClassifier" and model.loss == "modified_huber" and not two
    return clipped or name in _OWN_LABEL


def _threshold(model: Any) -> Decision | None:
    """Read the threshold of a probability; None for a threshold of decision scores, or none that can be met."""
    inner, method = inside(model), model.response_method
    if method == "decision_function" or not hasattr(inner, "predict_proba"):
        return None
    if type(model).__name__ == "FixedThresholdClassifier":
        threshold, positive = model.threshold, model.pos_label
        threshold = 0.5 if isinstance(threshold, str) else threshold
    else:
        threshold, positive = model.best_threshold_, model._curve_scorer._get_pos_label()
    threshold = float(threshold)
    if not 0.0 < threshold < 1.0:
        return None
    if positive is None or positive == model.classes_[1]:
        return Decision(threshold, threshold)
    return Decision(1.0 - threshold, 1.0 - threshold)


def _catboost(model: Any) -> Decision:
    """Read the threshold that CatBoost keeps beside a model of two classes."""
    try:
        threshold = float(model.get_probability_threshold())
    except Exception:  # more classes, or a version without
        return Decision()
    return Decision(threshold, threshold) if 0.0 < threshold < 1.0 else Decision()


def is_vote(model: Any) -> bool:
    """Return True for members who vote, at the end of pipelines and meta-estimators."""
    head = innermost(model)
    return _of_sklearn(head) and type(head).__name__ == "VotingClassifier"


def votes(model: Any, rows: Any) -> tuple[Floats, Ints]:
    """Return the shares (m, c) that the members of a hard vote give each class, and the winner (m,).

    A member gives its probabilities, or one to the class that it votes for. model: see `is_vote`.
    """
    while (inner := inside(model)) is not None or hasattr(model, "steps"):
        if inner is None:
            rows = model[:-1].transform(rows) if len(model.steps) > 1 else rows
            inner = model.steps[-1][1]
        model = inner
    count = len(model.classes_)
    weights = model._weights_not_none
    share, ballots = np.zeros((len(rows), count)), np.zeros((len(rows), count))
    for weight, member in zip(weights or [1.0] * len(model.estimators_), model.estimators_, strict=True):
        vote = np.eye(count)[np.asarray(member.predict(rows), np.int64)]
        ballots += weight * vote
        if not hasattr(member, "predict_proba"):
            share += weight * vote
            continue
        share[:, np.asarray(member.classes_, np.int64)] += weight * member.predict_proba(rows)
    return share / share.sum(axis=1, keepdims=True), ballots.argmax(axis=1)
