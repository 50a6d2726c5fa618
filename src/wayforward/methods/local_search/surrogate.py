"""A stand-in for a model that only answers: lines, boosted trees or a small net, fitted to answers it gave already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.methods.local_search.crossings import tree_crossings
from wayforward.methods.local_search.seeker import Seeker
from wayforward.shapes import PerRow, Rows

if TYPE_CHECKING:
    from wayforward.model import Model
    from wayforward.problem import Problem
    from wayforward.schema import Schema

_LEAST, _MOST = 100, 8000  # observed people that a stand-in is fitted to
_HELD = 5  # one in so many is held out, to choose and to measure
_CLIP = 5.0  # scores beyond this are all alike
_SURE = 15.0  # a score of certainty: what the model gives are labels
_NEAR = 2.0  # scores nearer to the boundary than this count most
_EXACT = 0.02  # an error that nothing needs to be better than


@dataclass(frozen=True, eq=False)
class Surrogate:
    """What stands in for an opaque model: the problem as it sees it, and a compiled search of that, where there is one.

    crossings: see `tree_crossings`. error: root mean square of its scores on held-out people. labels: the model gives
    labels, so that a score is about 2 for a yes and -2 for a no.
    """

    problem: Problem
    seeker: Seeker | None
    crossings: dict[int, tuple[np.ndarray, np.ndarray]]
    error: float
    labels: bool

    def score(self, rows: Rows) -> PerRow:
        """Return about what the model would score (m,)."""
        return np.asarray(self.problem.model.outputs(rows)[:, 0].round(9))


def stand_in(problem: Problem, reference: Rows) -> Surrogate | None:
    """Return a stand-in for the problem's model; None where the model can be read, or too little is known of it, or
    something follows from an act, must be plausible or robust, or costs do not add up.

    reference: accepted people to start from.
    """
    from importlib.util import find_spec

    from wayforward.problem import Target

    model = problem.model
    plain = problem.independent and problem.plausibility is None and problem.robust is None
    if not plain or not problem.cost.separable:
        return None
    if model.bounded or model.linear is not None or model.dense is not None or find_spec("sklearn") is None:
        return None
    if problem.reference is None or len(problem.reference) < _LEAST or not len(reference):
        return None
    rows = problem.reference
    place = np.arange(len(rows))
    if len(place) > _MOST:  # an even, seedless thinning
        place = np.linspace(0, len(rows) - 1, _MOST).astype(np.int64)
    score = _scores(problem, place)
    labels = bool((np.abs(score) > _SURE).all())
    score = np.clip(score, -2.0, 2.0) if labels else np.clip(score, -_CLIP, _CLIP)
    best, error = _fitted(problem.schema, rows[place], score)
    seen = problem.decided_by(best, Target(interval=(0.0, None)))
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


def _fitted(schema: Schema, rows: Rows, score: PerRow) -> tuple[Model, float]:
    """Return the kind of stand-in that errs least on people held out, and its error there, near the boundary."""
    held = np.arange(len(rows)) % _HELD == 0
    weight = 1.0 / (1.0 + (score / _NEAR) ** 2)
    inner = held & (np.abs(score) < np.abs(score).max())  # what was clipped says little about an error
    inner = inner if inner.any() else held
    best: tuple[Model, float] | None = None
    for kind in (_lines, _trees, _net):
        model = kind(schema, rows[~held], score[~held], weight[~held])
        miss = model.outputs(rows[inner])[:, 0] - score[inner]
        error = float(np.sqrt(np.average(miss**2, weights=weight[inner])))
        if best is None or error < best[1]:
            best, chosen = (model, error), kind
        if error < _EXACT:
            break
    assert best is not None
    return chosen(schema, rows, score, weight), best[1]


def _wrapped(schema: Schema, rows: Rows, score: PerRow, encoder: Any, head: Any, **more: Any) -> Model:
    from sklearn.pipeline import Pipeline

    from wayforward.model import wrap
    from wayforward.model.zoo import without_convergence_warnings

    pipeline = Pipeline([("encode", encoder), ("model", head)])
    frame = schema.decode(rows)
    fitted = without_convergence_warnings(lambda: pipeline.fit(frame, score, **more))
    return wrap(fitted, schema, task="regression")


def _lines(schema: Schema, rows: Rows, score: PerRow, weight: np.ndarray) -> Model:
    """A straight line in every number, and a step for every level."""
    from sklearn.linear_model import Ridge

    from wayforward.model.zoo import table_encoder

    inner = np.abs(score) < np.abs(score).max()  # what was clipped is on no line
    inner = inner if inner.sum() > len(rows) / 4 else np.ones(len(rows), dtype=bool)
    encoder = table_encoder(schema, scale=True, impute=True)
    return _wrapped(
        schema, rows[inner], score[inner], encoder, Ridge(1e-3), model__sample_weight=weight[inner]
    )


def _trees(schema: Schema, rows: Rows, score: PerRow, weight: np.ndarray) -> Model:
    from sklearn.ensemble import HistGradientBoostingRegressor

    from wayforward.model.zoo import table_encoder

    head = HistGradientBoostingRegressor(
        max_iter=150,
        max_leaf_nodes=15,
        learning_rate=0.15,
        early_stopping=False,
        random_state=0,
    )
    encoder = table_encoder(schema, scale=False, impute=False)
    return _wrapped(schema, rows, score, encoder, head, model__sample_weight=weight)


def _net(schema: Schema, rows: Rows, score: PerRow, weight: np.ndarray) -> Model:
    from sklearn.neural_network import MLPRegressor

    from wayforward.model.zoo import table_encoder

    epochs = int(np.clip(400_000 // len(rows), 20, 200))
    head = MLPRegressor(
        hidden_layer_sizes=(32,),
        alpha=1e-3,
        batch_size=min(len(rows), 128),
        learning_rate_init=5e-3,
        max_iter=epochs,
        random_state=0,
    )
    return _wrapped(schema, rows, score, table_encoder(schema, scale=True, impute=True), head)
