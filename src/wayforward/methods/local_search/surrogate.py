"""A stand-in for a model that only answers: lines, boosted trees or a small net, fitted to answers it gave already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.methods.engines.seeker import Seeker
from wayforward.methods.local_search.crossings import tree_crossings
from wayforward.shapes import PerRow, Rows

if TYPE_CHECKING:
    from wayforward.model import Model
    from wayforward.problem import Problem, Target
    from wayforward.schema import Schema

_LEAST, _MOST = 100, 8000  # observed people that a stand-in is fitted to
_HELD = 5  # one in so many is held out, to choose and to measure
_CLIP = 5.0  # scores beyond this are all alike
_SURE = 15.0  # a score of certainty: what the model gives are labels
_NEAR = 2.0  # scores nearer to the boundary than this count most
# share of the loss of a simpler kind that another must have; labels of few people tell little
_CLEARLY = 0.85
_EXACT = 0.02  # an error that nothing needs to be better than


@dataclass(frozen=True, eq=False)
class Surrogate:
    """What stands in for an opaque model: the problem as it sees it, and a compiled search of that, where there is one.

    crossings: see `tree_crossings`. error: root mean square of its scores on held-out people. labels: the model gives
    labels, so that a score is the log-odds of a classifier that learned them, and the error that of its wrong ones.
    """

    problem: Problem
    seeker: Seeker | None
    crossings: dict[int, tuple[np.ndarray, np.ndarray]]
    error: float
    labels: bool

    def score(self, rows: Rows) -> PerRow:
        """Return about what the model would score (m,)."""
        return np.asarray(self.problem.bound_target.score(self.problem.model.outputs(rows)).round(9))


def stand_in(problem: Problem, reference: Rows) -> Surrogate | None:
    """Return a stand-in for the problem's model; None where the model can be read, or too little is known of it, or
    something follows from an act, must be plausible or robust, or costs do not add up.

    reference: accepted people to start from. It is trained once for a problem: whoever asks again gets the same one.
    """
    from importlib.util import find_spec

    model = problem.model
    plain = problem.independent and problem.plausibility is None and problem.robust is None
    if not plain or not problem.cost.separable:
        return None
    if (
        model.bounded
        or model.linear is not None
        or model.dense is not None
        or not (find_spec("sklearn") and (find_spec("pandas") or find_spec("polars")))
    ):
        return None
    if problem.reference is None or len(problem.reference) < _LEAST or not len(reference):
        return None
    # copies of a problem share what was trained, and may differ in these
    parts = model, problem.bound_target, problem.disclosure
    made: tuple[Any, Surrogate | None] = problem.shared(
        ("stand-in", *map(id, parts)), lambda: (parts, _learned(problem, reference))
    )
    return made[1]


def _learned(problem: Problem, reference: Rows) -> Surrogate | None:
    """Return the stand-in for a problem that can have one; None where too few labels are of one kind."""
    from wayforward.problem import Target

    rows = problem.require_reference()
    place = np.arange(len(rows))
    if len(place) > _MOST:  # an even, seedless thinning
        place = np.linspace(0, len(rows) - 1, _MOST).astype(np.int64)
    score = _scores(problem, place)
    labels = bool((np.abs(score) > _SURE).all())
    if labels and min((score > 0).sum(), (score < 0).sum()) < _LEAST / 10:
        return None
    target = Target(1) if labels else Target(interval=(0.0, None))
    best, error = _fitted(problem.schema, rows[place], np.clip(score, -_CLIP, _CLIP), target)
    if not best.has_fast_path:  # thousands of rows a person would cost more than the model itself
        return None
    seen = problem.decided_by(best, target)
    return Surrogate(seen, Seeker.of(seen, reference), tree_crossings(seen), error, labels)


def _scores(problem: Problem, place: np.ndarray) -> PerRow:
    """Return the scores of some reference people (m,), from what the model said of them already where that will do."""
    target, rows = problem.bound_target, problem.require_reference()[place]
    if problem.model.has_fast_path:
        return target.score(problem.model.outputs(rows))
    value = problem.reference_value[place]
    if target.target.interval is not None:
        score = target.score(value[:, None])
    elif target.n_classes == 2:
        outputs = np.stack([1.0 - value, value], axis=1)
        score = target.score(outputs[:, ::-1] if target.columns[0] == 0 else outputs)
    else:
        return target.score(problem.model.outputs(rows))
    if ((score > 0) != problem.reference_reached[place]).any():  # its label is not the largest output
        score = target.score(problem.model.outputs(rows))
    return score


def _fitted(schema: Schema, rows: Rows, score: PerRow, target: Target) -> tuple[Model, float]:
    """Return the kind of stand-in that errs least on people held out, and its error there, near the boundary."""
    held = np.arange(len(rows)) % _HELD == 0
    weight = 1.0 / (1.0 + (score / _NEAR) ** 2)
    labels = target.interval is None
    inner = held & (np.abs(score) < np.abs(score).max())  # what was clipped says little about an error
    inner = inner if inner.any() else held
    least = np.inf
    for kind in (_lines, _trees, _net):
        model = kind(schema, rows[~held], score[~held], weight[~held], labels)
        guess = target.bind(model).score(model.outputs(rows[inner]))
        if labels:
            lead = guess * np.sign(score[inner])
            loss, wrong = float(np.logaddexp(0.0, -lead).mean()), lead < 0
            miss = float(np.sqrt(np.mean(lead[wrong] ** 2))) if wrong.sum() > 2 else 0.0
            miss = max(miss, float(np.quantile(np.abs(lead), 0.03)))
        else:
            loss = miss = float(np.sqrt(np.average((guess - score[inner]) ** 2, weights=weight[inner])))
        if loss < (_CLEARLY if labels else 1.0) * least:
            least, error, chosen = loss, miss, kind
        if loss < _EXACT:
            break
    return chosen(schema, rows, score, weight, labels), error


def _wrapped(
    schema: Schema, rows: Rows, score: PerRow, encoder: Any, head: Any, labels: bool, **more: Any
) -> Model:
    from sklearn.pipeline import Pipeline

    from wayforward.model import wrap
    from wayforward.model.zoo import without_convergence_warnings

    pipeline = Pipeline([("encode", encoder), ("model", head)])
    frame, y = schema.decode(rows), (score > 0).astype(np.int64) if labels else score
    fitted = without_convergence_warnings(lambda: pipeline.fit(frame, y, **more))
    return wrap(fitted, schema, task="classification" if labels else "regression")


def _lines(schema: Schema, rows: Rows, score: PerRow, weight: np.ndarray, labels: bool) -> Model:
    """A straight line in every number, and a step for every level."""
    from sklearn.linear_model import LogisticRegression, Ridge

    from wayforward.model.zoo import table_encoder

    encoder = table_encoder(schema, scale=True, impute=True)
    if labels:
        return _wrapped(schema, rows, score, encoder, LogisticRegression(C=30.0, max_iter=500), labels)
    inner = np.abs(score) < np.abs(score).max()  # what was clipped is on no line
    inner = inner if inner.sum() > len(rows) / 4 else np.ones(len(rows), dtype=bool)
    return _wrapped(
        schema, rows[inner], score[inner], encoder, Ridge(1e-3), labels, model__sample_weight=weight[inner]
    )


def _trees(schema: Schema, rows: Rows, score: PerRow, weight: np.ndarray, labels: bool) -> Model:
    """Boosted trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    from wayforward.model.zoo import table_encoder

    settings = {"max_iter": 150, "max_leaf_nodes": 15, "early_stopping": False, "random_state": 0}
    encoder = table_encoder(schema, scale=False, impute=False)
    if labels:
        head = HistGradientBoostingClassifier(learning_rate=0.1, **settings)
        return _wrapped(schema, rows, score, encoder, head, labels)
    head = HistGradientBoostingRegressor(learning_rate=0.15, **settings)
    return _wrapped(schema, rows, score, encoder, head, labels, model__sample_weight=weight)


def _net(schema: Schema, rows: Rows, score: PerRow, weight: np.ndarray, labels: bool) -> Model:
    """A small net."""
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    from wayforward.model.zoo import table_encoder

    settings = {
        "hidden_layer_sizes": (32,),
        "alpha": 1e-3,
        "batch_size": min(len(rows), 128),
        "learning_rate_init": 5e-3,
        "max_iter": int(np.clip(400_000 // len(rows), 20, 200)),
        "random_state": 0,
    }
    head = MLPClassifier(**settings) if labels else MLPRegressor(**settings)
    return _wrapped(schema, rows, score, table_encoder(schema, scale=True, impute=True), head, labels)
