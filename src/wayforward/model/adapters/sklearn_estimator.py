"""scikit-learn estimators and pipelines, and whatever has their interface, on tables or arrays as they were trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from wayforward.errors import ModelError
from wayforward.model.adapted import (
    DOUBLE,
    SINGLE,
    Adapted,
    Predict,
    WrapOptions,
    first_line,
    label_indices,
    labelled,
    two_columns,
    without_warnings,
)
from wayforward.model.adapters.categories import categories_of, tells_categories
from wayforward.model.adapters.in_steps import front_and_head, read_front, rows_stay_alone
from wayforward.model.adapters.sklearn_inside import (
    decision_of,
    innermost,
    inside,
    is_vote,
    knows_none,
    shows_its_label,
    votes,
)
from wayforward.model.base import Access
from wayforward.model.encoder import Encoder, NotRead, finish, read
from wayforward.model.fast import DenseFast, Fast, GenericFast, LinearFast, padded, take
from wayforward.model.forms import Link
from wayforward.model.kernels import sigmoid, softmax
from wayforward.model.lattice import LatticeFast, tabled
from wayforward.model.tables import Table, are_numbers, numbers_of, trained_names
from wayforward.model.tree_readers import read_trees
from wayforward.model.trees import ForestFast
from wayforward.model.verify import sample_rows
from wayforward.schema import Schema
from wayforward.shapes import Floats, Ints, Outputs

_TIE = 1e-9  # nearer than this the estimator's own predict is asked for the label


def adapt(model: Any, schema: Schema, options: WrapOptions) -> Adapted:
    """A fitted estimator. Raises: ModelError."""
    check_fitted(model, options.name)
    return adapt_fitted(model, schema, options)


def check_fitted(model: Any, name: str) -> None:
    """Raises: ModelError for a class, or an estimator that was not fitted."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if isinstance(model, type):
        raise ModelError(f"{name} is a class. Give a fitted object of it.")
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError, AttributeError) as error:
        if not isinstance(error, NotFittedError) and hasattr(model, "predict"):
            return  # a duck-typed model without fit, or without the tags of scikit-learn
        raise not_fitted(name) from None


def not_fitted(name: str) -> ModelError:
    """The error for a model without training."""
    return ModelError(f"{name} is not fitted. Call fit on training data first, then wrap it.")


def adapt_fitted(model: Any, schema: Schema, options: WrapOptions) -> Adapted:
    """As `adapt`, without a look at whether it is fitted."""
    from sklearn.pipeline import Pipeline

    name, encoder = options.name, options.encoder
    if encoder is not None:
        if not hasattr(encoder, "transform"):
            from sklearn.preprocessing import FunctionTransformer

            encoder = FunctionTransformer(encoder)
        model = Pipeline([("encoder", encoder), ("model", model)])
    names = trained_names(model)
    if names is None:
        first = model.steps[0][1] if hasattr(model, "steps") else model
        names = trained_names(first) if first is not model and not isinstance(first, str) else None
        # a CatBoost model from a file has lost the number, but not the names
        numbers = int((~schema.carried).sum())
        width = getattr(model, "n_features_in_", numbers) or len(
            getattr(model, "feature_names_", range(numbers))
        )
        if names is None and width != numbers and not (width == schema.d and are_numbers(schema.names)):
            raise ModelError(
                f"{name} was trained on an array of {width} columns; the schema has {numbers} features. "
                "Give wrap(..., encoder=...) the fitted transformer from the raw table to that array."
            )
    numbered = names is None and are_numbers(schema.names)
    if names is None:
        rows = Table(schema, None, None, name, options.prepare)
        called = Table(schema, list(schema.names), options.frame, name, options.prepare, numbered=numbered)
        texts = any(f.carried or any(isinstance(v, str) for v in f.levels) for f in schema.features)
        # numbered texts first as a table: an encoder that ignores what it does not know would take an array, too
        tables = _answers(model, called, name) if numbered and texts else not _answers(model, rows, name)
        names = called.names if tables else None
        numbered = numbered and tables
    table = Table(schema, names, options.frame, name, options.prepare, knows_none(model), numbered=numbered)
    native = _native(model, table, name)
    categories = {} if names is None else _wanted_categories(model, schema, options, native)
    if categories:
        table = Table(schema, names, options.frame, name, options.prepare, table.none, categories, numbered)
        native = _native(model, table, name)
    tolerance = SINGLE if _single_precision(model) else DOUBLE
    return replace(
        native, read=partial(_read, model, schema, table, native), tolerance=tolerance, categories=categories,
        table=table,
    )  # fmt: skip


def _wanted_categories(
    model: Any, schema: Schema, options: WrapOptions, native: Adapted
) -> dict[str, list[Any]]:
    """Return the pandas categories that a booster at the end wants, unless a table was given, or a step makes them."""
    if hasattr(options.frame, "dtypes"):
        return {}
    head = innermost(model)
    if not tells_categories(head):
        return {}
    if head is not model:
        try:
            native.predict(sample_rows(schema, 2, missing=False))
        except ModelError:
            pass
        else:
            return {}
    return categories_of(head, schema, options.name)


def _answers(model: Any, table: Table, name: str) -> bool:
    """True if a model that does not say what it was trained on answers when it is asked once on such rows."""
    try:
        _ask(
            lambda rows: model.predict(table(rows)),
            sample_rows(table.schema, 2, missing=False),
            name,
            fixed=False,
        )
    except ModelError:
        return False
    return True


def _single_precision(model: Any) -> bool:
    last = innermost(model)
    coef = getattr(last, "coef_", None)
    return type(last).__module__.split(".")[0] == "xgboost" or getattr(coef, "dtype", None) == np.float32


# -- asking the estimator itself ---------------------------------------------------------------------------


def _native(estimator: Any, table: Table, name: str) -> Adapted:
    fixed = not _is_row_by_row(estimator)
    own = [feature.name for feature in table.schema.features if feature.carried]
    hint = (
        f" Where it refuses the example of what is carried ({', '.join(own)}), give one with revise."
        if own
        else ""
    )

    adapted = partial(_adapted_in_steps, estimator, table, name, hint, fixed)
    found = front_and_head(estimator) if fixed else None
    if found is None:
        native = adapted(None, estimator)
    else:
        front, head = found
        apart = adapted(lambda x: front.transform(table(x)), head)

        @cache  # tried when it is first asked, which it seldom is: first steps that are read are done without it
        def chosen() -> Predict:
            return (apart if rows_stay_alone(front, table) else adapted(None, estimator)).predict

        native = replace(apart, predict=lambda x: chosen()(x))

    def encoded(encoder: Encoder, rows: Floats | None) -> Predict | None:
        read = read_front(estimator, table, encoder)
        if read is None or not (rows is None or read[0].agrees(rows)):
            return None
        return adapted(*read).predict

    return replace(native, encoded=encoded)


def _adapted_in_steps(
    estimator: Any, table: Table, name: str, hint: str, fixed: bool,
    front: Callable[[Floats], Any] | None, head: Any,
) -> Adapted:  # fmt: skip
    """How an estimator is asked. front: makes of rows (m, d) what head, the last step, takes; None: head is all."""

    def prepared(x: Floats) -> Any:
        """What the first steps make of the rows; the rows themselves where all steps are asked as one."""
        return x if front is None else _ask(front, x, name, False, hint)

    def answers_of(ask: Callable[[Any], Any], made: Any) -> Any:
        return _ask(ask if front is not None else lambda rows: ask(table(rows)), made, name, fixed, hint)

    def predicted(x: Floats) -> Any:
        return answers_of(head.predict, prepared(x))

    known = getattr(estimator, "classes_", None)
    if not ((known is not None and len(known)) or _is_classifier(estimator)):
        if not hasattr(estimator, "predict"):
            raise ModelError(f"{name} has no predict. Give a fitted classifier or regressor, or a callable.")
        if hasattr(estimator, "predict_proba"):
            raise ModelError(
                f"{name} has predict_proba and no classes_, so nobody knows what its columns stand for. Set classes_ "
                "to its labels in order, or wrap model.predict_proba with classes=..."
            )
        return Adapted.of_values(lambda x: np.asarray(predicted(x), np.float64), name)
    classes = tuple(
        c.item() if isinstance(c, np.generic) else c for c in np.asarray(estimator.classes_).tolist()
    )
    if len(classes) < 2:
        raise ModelError(f"{name} knows only the class {classes[0]!r}. Train it on data with both outcomes.")
    score, notes = _scores(head)
    if score is None:
        return Adapted.of_labels(predicted, classes, name)
    decision, asked_once = decision_of(estimator), shows_its_label(estimator)

    def labels(made: Any) -> Ints:
        return label_indices(answers_of(head.predict, made), classes, name)

    def predict(x: Floats) -> tuple[Outputs, Ints]:
        made = prepared(x)
        out = np.asarray(answers_of(score, made), dtype=np.float64)
        if out.ndim != 2 or out.shape[1] != len(classes):
            return out, np.zeros(len(x), np.int64)  # the shape check names the trouble
        if decision is None:
            return out, labels(made)
        label = decision.label(out)
        close = np.flatnonzero(~decision.clear(out, _TIE))
        if close.size and not asked_once:
            label[close] = labels(take(made, close))
        return out, label

    return Adapted(predict, "classification", classes, Access.PROBABILITY, name, notes, decision=decision)


def _is_classifier(estimator: Any) -> bool:
    from sklearn.base import is_classifier

    try:
        return bool(is_classifier(estimator))
    except AttributeError:  # a class of its own, without scikit-learn's tags
        return False


def _scores(estimator: Any) -> tuple[Callable[[Any], Any] | None, list[str]]:
    """What shows a classifier's probabilities, or what ranks as they do, (m, c), and what to note; None for labels."""
    if hasattr(estimator, "predict_proba"):
        return estimator.predict_proba, []
    if hasattr(estimator, "decision_function"):
        return lambda rows: _squashed(estimator.decision_function(rows)), [
            "outputs are decision scores squashed into (0, 1); they rank, they are not probabilities"
        ]
    if is_vote(estimator):
        return lambda rows: labelled(*votes(estimator, rows)), [
            "outputs are the mean of the members' probabilities, bent where the vote is another; they rank, they are "
            "not probabilities"
        ]
    return None, []


def _ask(ask: Callable[[Any], Any], x: Any, name: str, fixed: bool, hint: str = "") -> Any:
    """Ask, in batches of a fixed size where rows might disturb each other; one clear error for whatever is raised."""
    try:
        with without_warnings():
            return padded(ask, x) if fixed else ask(x)
    except ModelError:
        raise
    except (Exception, SystemExit) as error:
        raise ModelError(
            f"{name} failed on {x.shape[0]} rows that follow the schema: {type(error).__name__}: "
            f"{first_line(error, 300)} Check that the schema's features, levels and missing values are those it was "
            "trained on (wrap(..., frame='polars') if it needs another table library; wrap(..., frame=table), with the "
            f"table it was trained on, if it needs that table's pandas categories).{hint}"
        ) from error


_ROW_BY_ROW = ("Tree", "Forest", "Boosting", "XGB", "LGBM", "CatBoost")


def _is_row_by_row(estimator: Any) -> bool:
    """True for models whose own prediction of a row cannot depend on the batch (no matrix products)."""
    return any(word in type(innermost(estimator)).__name__ for word in _ROW_BY_ROW)


def _squashed(score: Any) -> Floats:
    """Decision scores (m,) or (m, c) -> numbers in (0, 1) that rank as the scores do; no probabilities."""
    score = np.asarray(score, dtype=np.float64)
    return two_columns(sigmoid(score)) if score.ndim == 1 else softmax(score)


# -- reading it --------------------------------------------------------------------------------------------


def _read(model: Any, schema: Schema, table: Table, native: Adapted) -> Fast:
    """`_read_steps`; whole-number features that cannot be read otherwise are read value by value."""
    listed: list[int] = []
    use, view = schema, table
    while True:
        try:
            made = _read_steps(model, use, view, native)
        except NotRead as why:
            more = [j for j in why.features if j >= 0 and j not in listed]
            wider = tabled(schema, [*listed, *more]) if more else None
            if wider is None:
                raise
            listed, use = listed + more, wider
            view = Table(
                use, table.names, table.like, native.name, table.prepare, table.none, table.categories
            )
            continue
        return LatticeFast(made, schema, listed, native.predict) if listed else made


def _read_steps(model: Any, schema: Schema, table: Table, native: Adapted) -> Fast:
    """Read preprocessing and head of a fitted estimator. Raises: NotRead."""
    from sklearn.pipeline import Pipeline

    steps = [model]
    while True:
        inner = inside(steps[-1])
        if isinstance(steps[-1], Pipeline):
            steps[-1:] = [step for _, step in steps[-1].steps]
        elif inner is not None:
            steps[-1] = inner
        else:
            break
    if table.prepare is not None:
        raise NotRead("a prepare function runs on each table")
    before, head = steps[:-1], steps[-1]
    if not before and table.names is None:
        return _read_head(head, numbers_of(schema), native)
    columns, probe = table.columns()
    for step in before:
        columns, probe = read(step, columns, probe, schema)
    return _read_head(head, finish(columns, schema), native)


def _read_head(head: Any, encoder: Encoder, native: Adapted) -> Fast:
    """The fast form of a final estimator on encoded columns; a generic one if its kind is not read."""
    made = None  # the compiled forms know numbers and levels
    if not encoder.parts:
        made = _linear_head(head, encoder) or _dense_head(head, encoder) or _forest_head(head, encoder)
    if made is not None:
        return made
    ask = head.predict if native.task == "regression" else _scores(head)[0]
    if ask is None:
        raise NotRead(f"{type(head).__name__} returns labels only")
    names = getattr(head, "feature_names_in_", None)

    def outputs(rows: Floats) -> Floats:
        with without_warnings():
            out = np.asarray(ask(_named(rows, names)), np.float64)
        return out[:, None] if out.ndim == 1 else out

    return GenericFast(encoder, outputs)


def _named(rows: Floats, names: Any) -> Any:
    if names is None:
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=list(names))


def linear_parts(head: Any) -> tuple[Floats, Floats, Link] | None:
    """Return the weights (q, e), the intercepts (q,) and the link of a linear estimator; None for any other.

    An estimator from elsewhere says so itself: `as_layers` returns weights, biases, activations and the link.
    """
    link: Link
    name, module = type(head).__name__, type(head).__module__
    if hasattr(head, "as_layers"):
        weights, biases, _, link = head.as_layers()
        return (weights[0].T, biases[0], link) if len(weights) == 1 else None
    if not module.startswith("sklearn.") or not hasattr(head, "coef_") or not hasattr(head, "intercept_"):
        return None
    if ".linear_model" not in module and name not in ("LinearSVC", "LinearSVR"):
        return None
    if name in ("PoissonRegressor", "GammaRegressor", "TweedieRegressor", "IsotonicRegression"):
        return None
    coef = np.atleast_2d(
        np.asarray(head.coef_.toarray() if hasattr(head.coef_, "toarray") else head.coef_, np.float64)
    )
    intercept = np.broadcast_to(np.atleast_1d(np.asarray(head.intercept_, np.float64)), (len(coef),)).copy()
    if not hasattr(head, "classes_"):
        if len(coef) != 1:
            return None
        link = "identity"
    elif len(coef) == 1:
        if getattr(head, "loss", "") == "modified_huber":
            return None  # its probabilities are clipped scores
        link = "logistic"
    elif hasattr(head, "predict_proba") and name.startswith("SGD"):
        if head.loss != "log_loss":
            return None
        link = "ovr"
    else:
        link = "softmax"
    return coef, intercept, link


def _linear_head(head: Any, encoder: Encoder) -> Fast | None:
    parts = linear_parts(head)
    if parts is None:
        return None
    coef, intercept, link = parts
    if encoder.ufuncs:
        return DenseFast(encoder, [coef.T], [intercept], ["identity"], link)
    return LinearFast(encoder, coef, intercept, link)


def _dense_head(head: Any, encoder: Encoder) -> Fast | None:
    if hasattr(head, "as_layers"):
        return DenseFast(encoder, *head.as_layers())
    if not type(head).__module__.startswith("sklearn.neural_network") or not hasattr(head, "coefs_"):
        return None
    links: dict[str, Link] = {"logistic": "logistic", "softmax": "softmax", "identity": "identity"}
    if head.out_activation_ not in links or (
        head.out_activation_ == "logistic" and head.coefs_[-1].shape[1] > 1
    ):
        return None
    if head.out_activation_ == "identity" and head.coefs_[-1].shape[1] > 1:
        return None
    names = [head.activation] * (len(head.coefs_) - 1) + ["identity"]
    return DenseFast(encoder, list(head.coefs_), list(head.intercepts_), names, links[head.out_activation_])


def _forest_head(head: Any, encoder: Encoder) -> Fast | None:
    try:
        trees = read_trees(head)
    except NotRead:
        return None
    return ForestFast(encoder, trees, partial(read_trees, head))
