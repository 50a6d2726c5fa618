"""Small fitted models of every family, over a small lattice of features: one `Lot` serves many lattices."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

PROFILES = 2500  # a lattice has at most so many
_BINARY = (
    "lr", "mlp", "tree", "rf", "extra", "gb", "hgb", "ada", "xgb", "lgbm", "catboost", "opaque", "label",
    "fixed-lr", "fixed-rf", "tuned", "svc", "calibrated", "soft-vote", "hard-vote",
)  # fmt: skip
_MANY = ("multi-lr", "multi-rf", "one-vs-rest")  # three classes
_VALUES = ("linear-regression", "rf-regression", "hgb-regression")
FAMILIES = (*_BINARY, *_MANY, *_VALUES)
_TAKES_MISSING = ("hgb", "xgb", "lgbm", "hgb-regression", "lr")
_NO_PROBABILITY = ("svc", "hard-vote", "label")  # a threshold of a probability means nothing there


@dataclass(frozen=True)
class Lot:
    """A schema whose legal values can be listed, a model fitted on it, and what it says of every profile.

    values: each feature's legal values. decimal: some steps are no sums of halves, so that arithmetic rounds. wrapped:
    the model as the library asks it. raw: rows (m, d) -> outputs (m, c) and label indices (m,) of the estimator itself.
    profiles (m, d): the whole lattice, without missing values.
    """

    number: int
    family: str
    schema: Any
    values: tuple[np.ndarray, ...]
    decimal: bool
    data: np.ndarray
    wrapped: Any
    raw: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    profiles: np.ndarray
    outputs: np.ndarray
    labels: np.ndarray

    @property
    def regression(self) -> bool:
        """Whether the model predicts a number."""
        return self.family in _VALUES

    @property
    def has_scores(self) -> bool:
        """Whether a threshold of what the model returns makes sense."""
        return self.family not in _NO_PROBABILITY

    def native(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs (m, c) and label indices (m,) of the wrapped model's native path; looked up on the lattice."""
        place = np.zeros(len(rows), dtype=np.int64)
        known = np.ones(len(rows), dtype=bool)
        for j, values in enumerate(self.values):
            at = np.searchsorted(values, np.nan_to_num(rows[:, j], nan=values[0])).clip(0, len(values) - 1)
            known &= values[at] == rows[:, j]
            place = place * len(values) + at
        outputs, labels = self.outputs[place], self.labels[place]
        other = np.flatnonzero(~known)
        if other.size:
            outputs, labels = outputs.copy(), labels.copy()
            outputs[other], labels[other] = self.wrapped.native(rows[other])
        return outputs, labels


def make_lot(number: int, seed: int = 0) -> Lot:
    """Lot `number`, the same for the same seed; families take turns."""
    from wayforward.model import wrap

    rng = np.random.default_rng([seed, 1, number])
    family = FAMILIES[number % len(FAMILIES)]
    decimal = rng.random() < 0.3
    schema = _schema(rng, decimal, family in _TAKES_MISSING and rng.random() < 0.5)
    values = tuple(legal_values(feature) for feature in schema.features)
    profiles = np.array(list(itertools.product(*values)))
    for _ in range(20):  # until no class is too rare to fit
        data = profiles[rng.integers(len(profiles), size=int(rng.integers(120, 260)))]
        score = _score(schema, data, rng) + rng.normal(0, 0.3, len(data))
        many = 3 if family in _MANY else 2
        y = np.digitize(score, np.quantile(score, [0.4, 0.7] if many == 3 else [rng.uniform(0.4, 0.8)]))
        if np.bincount(y, minlength=many).min() >= 12:
            break
    gone = (rng.random(data.shape) < 0.15) & schema.missing
    data = np.where(gone, np.nan, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, raw = _fit(family, schema, data, score if family in _VALUES else y, rng)
        wrapped = model if hasattr(model, "native") else wrap(model, schema)
        outputs, labels = wrapped.native(profiles)
    return Lot(
        number, family, schema, values, decimal, data, wrapped, raw, profiles,
        np.asarray(outputs), np.asarray(labels) if labels is not None else np.zeros(len(profiles), np.int64),
    )  # fmt: skip


def legal_values(feature: Any) -> np.ndarray:
    """Every value that a feature may be set to, in order; decimals as people write them."""
    if feature.has_levels:
        return np.arange(float(feature.n_levels))
    start = lattice_start(feature)
    first = int(np.ceil((feature.low - start) / feature.step - 1e-9))
    last = int(np.floor((feature.high - start) / feature.step + 1e-9))
    return np.array([round(start + n * feature.step, 9) for n in range(first, last + 1)])


def lattice_start(feature: Any) -> float:
    """Where steps are counted from: 0 where the lower bound is whole steps away from it, else the lower bound."""
    apart = feature.low / feature.step
    return 0.0 if abs(apart - round(apart)) < 1e-9 else float(feature.low)


def _schema(rng: np.random.Generator, decimal: bool, missing: bool) -> Any:
    from wayforward.schema import Schema

    while True:
        d = int(rng.integers(3, 7))
        features = [_feature("abcdef"[j], rng, decimal, missing and rng.random() < 0.5) for j in range(d)]
        sizes = [len(legal_values(feature)) for feature in features]
        # holding a value is an act beside leaving it alone, so that a person has one way more for each feature
        if np.prod(np.array(sizes) + 1) <= 2 * PROFILES and np.prod(sizes) >= 30:
            return Schema(tuple(features))


def _feature(name: str, rng: np.random.Generator, decimal: bool, missing: bool) -> Any:
    from wayforward.schema import Feature

    kind = str(rng.choice(["integer", "integer", "real", "real", "binary", "ordinal", "categorical"]))
    many = int(rng.integers(3, 7))
    if kind == "integer":
        step = 2 if rng.random() < 0.2 else 1
        low = int(rng.choice([0, 0, 1, -2]))
        return Feature(
            name=name, kind=kind, low=low, high=low + step * (many - 1), step=step, missing=missing
        )
    if kind == "real":
        step = float(rng.choice([0.1, 0.3, 0.2]) if decimal else rng.choice([0.5, 0.25, 2.0]))
        low = float(rng.choice([0.0, 0.5, -1.0]))
        high = round(low + step * (many - 1) + (0.5 * step if rng.random() < 0.2 else 0.0), 9)
        return Feature(name=name, kind=kind, low=low, high=high, step=step, missing=missing)
    if kind == "binary":
        return Feature(name=name, kind=kind, levels=("no", "yes") if rng.random() < 0.5 else (0, 1))
    levels = ("red", "blue", "green", "grey") if kind == "categorical" else ("none", "some", "much", "most")
    return Feature(name=name, kind=kind, levels=levels[: int(rng.integers(3, 5))])


def _score(schema: Any, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(m, d) -> (m,): a taste for each feature and two interactions, about as wide as one."""
    low = np.array([values[0] for values in map(legal_values, schema.features)])
    share = (x - low) / schema.span
    for j in np.flatnonzero(schema.is_categorical):
        share[:, j] = rng.normal(size=schema.n_levels[j])[x[:, j].astype(int)]
    score = share @ rng.normal(0, 1, schema.d)
    for _ in range(2):
        i, j = rng.choice(schema.d, 2, replace=False)
        score = score + rng.normal(0, 1) * (share[:, i] > 0.4) * share[:, j]
    return np.asarray(score)


def _fit(
    family: str, schema: Any, data: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> tuple[Any, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]]:
    """A fitted model (for `wrap`, or wrapped already) and how to ask it itself."""
    from wayforward.model import wrap

    if family in ("opaque", "label"):
        weight, bend = rng.normal(0, 1, schema.d), rng.normal(0, 2, schema.d)
        middle = np.nanmedian(data, axis=0)

        def chance(rows: np.ndarray) -> np.ndarray:
            z = (rows - middle) / schema.span
            s = z @ weight + np.sin(3 * z * bend).sum(1) + (z[:, 0] > 0.2) * z[:, -1]
            return np.asarray(1 / (1 + np.exp(-2 * s)))

        if family == "opaque":
            raw = lambda rows: _pair(chance(rows))
            return wrap(chance, schema, classes=(0, 1), output="probability"), raw
        label = lambda rows: (chance(rows) > 0.55).astype(np.int64)
        return (
            wrap(label, schema, output="label", classes=(0, 1)),
            lambda rows: (np.eye(2)[label(rows)], label(rows)),
        )
    words = family not in _VALUES and family not in ("xgb",) and rng.random() < 0.3
    target = np.array(["bad", "fair", "good"])[y] if words else y
    model = _estimator(family, schema, rng).fit(schema.decode(data, like="pandas"), target)

    def ask(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        frame = schema.decode(rows, like="pandas")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said = np.asarray(model.predict(frame)).reshape(len(rows))
            if family in _VALUES:
                return said.astype(np.float64)[:, None], np.zeros(len(rows), np.int64)
            labels = np.searchsorted(model.classes_, said)
            if hasattr(model, "predict_proba"):
                return np.asarray(model.predict_proba(frame), dtype=np.float64), labels
        return np.eye(len(model.classes_))[labels], labels

    return model, ask


def _pair(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    both = np.stack([1 - p, p], axis=1)
    return both, both.argmax(1)


def _estimator(family: str, schema: Any, rng: np.random.Generator) -> Any:
    """An unfitted pipeline from the raw table."""
    from sklearn.pipeline import make_pipeline

    from wayforward.model.zoo import table_encoder

    seed = int(rng.integers(1000))
    head = _head(family, seed, rng)
    smooth = family in ("lr", "mlp", "fixed-lr", "tuned", "svc", "calibrated", "soft-vote", "hard-vote")
    smooth |= family in ("multi-lr", "one-vs-rest", "linear-regression")
    encoder = table_encoder(schema, scale=smooth, impute=smooth, one_hot=smooth or rng.random() < 0.6)
    if family in ("fixed-lr", "fixed-rf", "tuned"):  # the threshold outside of the pipeline, or inside
        from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

        level = float(rng.choice([0.3, 0.7, rng.uniform(0.2, 0.8)]))
        outer: Callable[[Any], Any] = (
            (lambda inner: TunedThresholdClassifierCV(inner, cv=2, thresholds=20, random_state=seed))
            if family == "tuned"
            else (lambda inner: FixedThresholdClassifier(inner, threshold=level))
        )
        if rng.random() < 0.5:
            return outer(make_pipeline(encoder, head))
        return make_pipeline(encoder, outer(head))
    return make_pipeline(encoder, head)


def _head(family: str, seed: int, rng: np.random.Generator) -> Any:
    import sklearn.ensemble as ensemble
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.tree import DecisionTreeClassifier

    trees, depth = int(rng.integers(5, 11)), int(rng.integers(2, 5))
    lr = LogisticRegression(C=float(rng.choice([0.3, 1.0, 10.0])))
    forest = ensemble.RandomForestClassifier(trees, max_depth=depth, random_state=seed)
    if family in ("mlp", "soft-vote", "hard-vote"):
        sizes = ((8,), (6, 6), (12, 8))[int(rng.integers(3))]
        act = str(rng.choice(["relu", "tanh", "logistic"]))
        net = MLPClassifier(sizes, activation=act, max_iter=60, learning_rate_init=0.02, random_state=seed)
        if family == "mlp":
            return net
        how = family.split("-")[0]
        return ensemble.VotingClassifier([("lr", lr), ("rf", forest), ("net", net)], voting=how)
    if family in ("xgb", "lgbm", "catboost"):
        return _booster(family, trees, depth, seed)
    if family in ("svc", "calibrated"):
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.svm import SVC

        svc = SVC(kernel=str(rng.choice(["rbf", "linear", "poly"])), random_state=seed)
        how = str(rng.choice(["sigmoid", "isotonic"]))
        return svc if family == "svc" else CalibratedClassifierCV(svc, method=how, cv=2)
    if family == "one-vs-rest":
        from sklearn.multiclass import OneVsRestClassifier

        return OneVsRestClassifier(lr)
    makers: dict[str, Callable[[], Any]] = {
        "tree": lambda: DecisionTreeClassifier(max_depth=depth + 2, random_state=seed),
        "extra": lambda: ensemble.ExtraTreesClassifier(trees, max_depth=depth + 1, random_state=seed),
        "gb": lambda: ensemble.GradientBoostingClassifier(
            n_estimators=trees, max_depth=depth, learning_rate=0.3, random_state=seed
        ),
        "hgb": lambda: ensemble.HistGradientBoostingClassifier(
            max_iter=trees, max_leaf_nodes=7, min_samples_leaf=8, early_stopping=False, random_state=seed
        ),
        "ada": lambda: ensemble.AdaBoostClassifier(n_estimators=trees, random_state=seed),
        "linear-regression": LinearRegression,
        "rf-regression": lambda: ensemble.RandomForestRegressor(trees, max_depth=depth, random_state=seed),
        "hgb-regression": lambda: ensemble.HistGradientBoostingRegressor(
            max_iter=trees, max_leaf_nodes=7, min_samples_leaf=8, early_stopping=False, random_state=seed
        ),
    }
    if family in makers:
        return makers[family]()
    return forest if family.endswith("rf") else lr


def _booster(family: str, trees: int, depth: int, seed: int) -> Any:
    if family == "xgb":
        from xgboost import XGBClassifier

        return XGBClassifier(
            n_estimators=trees, max_depth=depth, learning_rate=0.3, n_jobs=1, random_state=seed
        )
    if family == "lgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            n_estimators=trees, num_leaves=7, learning_rate=0.3, min_child_samples=8, n_jobs=1,
            random_state=seed, verbose=-1, deterministic=True,
        )  # fmt: skip
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=trees, depth=depth, learning_rate=0.3, thread_count=1, random_seed=seed, verbose=False,
        allow_writing_files=False,
    )  # fmt: skip
