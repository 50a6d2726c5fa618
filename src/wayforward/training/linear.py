"""What classifiers of two classes share here: the score, its sign, its logistic, and how `wf.wrap` reads them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from wayforward.errors import is_number, is_whole
from wayforward.shapes import Floats

Layers = tuple[list[Floats], list[Floats], list[str], str]


_LEAST = {"C": "above 0", "rate": "above 0"}


def check_settings(estimator: Any, *names: str, endless: tuple[str, ...] = ()) -> None:
    """Check that settings are numbers of 0 or more, C and rate above 0. endless: those that may be infinite.

    Raises: ValueError that names the setting and its value.
    """
    for name in names:
        value = getattr(estimator, name)
        number = is_number(value) or (name in endless and isinstance(value, float) and value == np.inf)
        if not number or value < 0 or (value == 0 and name in _LEAST):
            also = " or np.inf" if name in endless else ""
            raise ValueError(f"{name}={value!r} must be a number {_LEAST.get(name, 'of 0 or more')}{also}.")


def check_counts(estimator: Any, **least: int) -> None:
    """Check that settings are whole numbers of at least so much. Raises: ValueError."""
    for name, low in least.items():
        value = getattr(estimator, name)
        if not is_whole(value, low):
            raise ValueError(f"{name}={value!r} must be a whole number of {low} or more.")


class TwoClasses(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier by the sign of a score; above zero is the second class of `classes_`, the favourable one."""

    slope_: float = 1.0  # the probability is the logistic of so many times the score

    @abstractmethod
    def _score(self, X: Floats) -> Floats:
        """(n, e) -> (n,) of checked rows."""

    def _begin(self, X: Any, y: Any) -> tuple[Floats, Floats]:
        """Check training data -> rows (n, e), signs (n,) of -1 and 1. Raises: ValueError, as scikit-learn does."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, code = np.unique(y, return_inverse=True)
        if len(self.classes_) == 1:
            raise ValueError(
                f"Classifier can't train when only one class is present: {self.classes_.tolist()[0]!r}."
            )
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported, and y holds {len(self.classes_)} classes: "
                f"{self.classes_[:5].tolist()}. Join classes, or leave some out."
            )
        return X, 2.0 * code - 1.0

    def _rows(self, X: Any) -> Floats:
        """Check rows (n, e) for a fitted estimator."""
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))

    def decision_function(self, X: Any) -> Floats:
        """(n, e) -> (n,) score; above zero is the favourable class."""
        return self._score(self._rows(X))

    def predict(self, X: Any) -> Any:
        """(n, e) -> (n,) labels."""
        yes = self.decision_function(X) > 0
        return self.classes_[yes.astype(int)]

    def predict_proba(self, X: Any) -> Floats:
        """(n, e) -> (n, 2)."""
        p = expit(self.slope_ * self.decision_function(X))
        return np.stack([1 - p, p], axis=1)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class LinearRecourse(TwoClasses):
    """A linear one; training sets `coef_` (1, e) and `intercept_` (1,)."""

    coef_: Floats
    intercept_: Floats

    def _score(self, X: Floats) -> Floats:
        return np.asarray(X @ self.coef_[0] + self.intercept_[0])

    def _set(self, theta: Floats) -> None:
        """Take weights and intercept from one vector (e + 1,)."""
        self.coef_, self.intercept_ = theta[None, :-1].copy(), theta[-1:].copy()

    def as_layers(self) -> Layers:
        """Weights, biases and activations of each layer and the link of the last, for `wf.wrap`: here one layer."""
        return [self.slope_ * self.coef_.T], [self.slope_ * self.intercept_], ["identity"], "logistic"
