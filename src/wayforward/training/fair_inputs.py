"""Inputs that a sensitive attribute did not cause: what is left is a person's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from wayforward.errors import WorldError
from wayforward.shapes import Floats
from wayforward.world import World


class CausallyFairInputs(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Replace what a sensitive attribute causes by its noise in a causal world, and leave the attribute out.

    A model of these inputs scores a person and their twin in another group alike, and what either gains by an act is
    the same, so that the individual gap in recourse (`wayforward.impact.audit.twins`) is zero where their limits are.

    world: bound to a schema, and able to tell the noise (`abduct`). sensitive: names of features. Takes tables of that
    schema, or (n, d) in feature units; gives one column of each feature left, and one of each level of a category.

    Example: ``make_pipeline(CausallyFairInputs(world, "sex"), StandardScaler(), LogisticRegression()).fit(table, y)``.
    Raises: WorldError for a world that is not bound, that tells no noise, or that does not know the attribute.
    Source: J. von Kuegelgen, A.-H. Karimi, U. Bhatt, I. Valera, A. Weller & B. Schoelkopf (2022), On the Fairness of
    Causal Algorithmic Recourse, AAAI, arXiv:2010.06529, section 5.
    """

    def __init__(self, world: World, sensitive: str | Sequence[str]) -> None:
        self.world, self.sensitive = world, sensitive

    def fit(self, X: Any, y: Any = None) -> CausallyFairInputs:
        """Find out which features the attribute causes."""
        schema = getattr(self.world, "schema", None)
        if schema is None:
            raise WorldError("CausallyFairInputs needs a world of a schema. Give world.bind(schema).")
        several = isinstance(self.sensitive, Sequence | np.ndarray) and not isinstance(self.sensitive, str)
        names = list(self.sensitive) if several else [self.sensitive]
        unknown = [name for name in names if name not in schema.names]
        if unknown or not names:
            raise WorldError(
                f"There is no feature {unknown[:1] or 'to leave out'}. The schema has {', '.join(schema.names[:8])}."
            )
        at = [schema.index(name) for name in names]
        self.caused_ = np.asarray(self.world.descendants, dtype=bool)[at].any(0)
        self.left_ = np.setdiff1d(np.arange(schema.d), at)
        self.feature_names_in_ = np.array(schema.names, dtype=object)
        self.n_features_in_ = schema.d
        self.transform(X)
        return self

    def transform(self, X: Any) -> Floats:
        """(n, d) -> (n, m)."""
        check_is_fitted(self)
        schema = self.world.schema
        assert schema is not None
        x = np.asarray(schema.encode(X, "people"), dtype=np.float64)
        nominal = np.asarray(schema.is_categorical) & ~self.caused_
        noise = self.world.abduct(x) if self.caused_.any() else x
        value = np.where(self.caused_, noise, x)
        columns = []
        for j in self.left_:
            if nominal[j]:
                columns += [value[:, j] == level for level in range(schema.features[j].n_levels)]
            else:
                columns.append(value[:, j])
        return np.stack(columns, axis=1).astype(np.float64)
