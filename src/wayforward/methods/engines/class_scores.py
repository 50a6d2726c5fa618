"""Scores of classes that are at most quadratic in the encoded row: lines, Gaussian classes, prototypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wayforward.shapes import Floats, Ints

if TYPE_CHECKING:
    from wayforward.model import Model
    from wayforward.model.encoder import Encoder


class ClassScores(NamedTuple):
    """Pieces value_i + slope_i . z - z . bow_i z / 2 of the encoded row z.

    A class scores the best of its pieces, and the best class is the model's label. label (p,): classes, by number;
    value (p,), slope (p, e), bow (p, e, e); centre (p, e): where a piece is at home, NaN where nowhere. odds:
    differences are log-odds.
    """

    encoder: Encoder
    label: Ints
    value: Floats
    slope: Floats
    bow: Floats
    centre: Floats
    odds: bool


def class_scores(model: Model) -> ClassScores | None:
    """Read a model: linear, linear or quadratic discriminant analysis, Gaussian naive Bayes, nearest centroids, or
    prototypes (`prototypes_`, `prototypes_labels_`, perhaps `omega_`). None for any other."""
    form = model.dense
    if form is not None and len(form.weights) == 1 and form.link in ("logistic", "softmax", "ovr"):
        weight, bias = form.weights[0].T, np.asarray(form.biases[0])
        if form.link == "logistic":
            weight, bias = np.concatenate([0 * weight, weight]), np.concatenate([[0.0], bias])
        return _lines(form.encoder, weight, bias, odds=form.link != "ovr")
    encoder = getattr(getattr(model, "fast", None), "encoder", None)
    head: Any = getattr(model, "wrapped", None)
    while hasattr(head, "steps"):
        head = head.steps[-1][1]
    if form is not None or encoder is None or encoder.parts or encoder.ufuncs:
        return None
    classes = list(getattr(head, "classes_", ()))
    name = type(head).__name__
    if name == "LinearDiscriminantAnalysis":
        weight, bias = np.asarray(head.coef_), np.asarray(head.intercept_)
        if len(classes) == 2:
            weight, bias = np.concatenate([0 * weight, weight]), np.concatenate([[0.0], bias])
        return _lines(encoder, weight, bias, odds=True)
    if name == "GaussianNB":
        inverse = np.stack([np.diag(1.0 / variance) for variance in head.var_])
        fixed = np.log(head.class_prior_) - np.log(head.var_).sum(1) / 2
        return _around(encoder, np.arange(len(classes)), np.asarray(head.theta_), inverse, fixed, odds=True)
    if name == "QuadraticDiscriminantAnalysis":
        inverse = np.stack([r / s @ r.T for r, s in zip(head.rotations_, head.scalings_, strict=True)])
        fixed = np.log(head.priors_) - np.array([np.log(s).sum() for s in head.scalings_]) / 2
        return _around(encoder, np.arange(len(classes)), np.asarray(head.means_), inverse, fixed, odds=True)
    if name == "NearestCentroid":
        prior = np.asarray(getattr(head, "class_prior_", [1.0]))
        if head.metric != "euclidean" or not np.isclose(prior, prior[0]).all():
            return None
        return _prototypes(encoder, np.asarray(head.centroids_), np.arange(len(classes)), None)
    if hasattr(head, "prototypes_") and hasattr(head, "prototypes_labels_"):
        owners = list(head.prototypes_labels_)  # numbers of classes, or the classes themselves
        named = set(owners) <= set(classes)
        label = np.array([classes.index(c) if named else int(c) for c in owners])
        return _prototypes(encoder, np.asarray(head.prototypes_), label, getattr(head, "omega_", None))
    return None


def _lines(encoder: Encoder, weight: Floats, bias: Floats, *, odds: bool) -> ClassScores:
    p, e = weight.shape
    return ClassScores(
        encoder, np.arange(p), bias, weight, np.zeros((p, e, e)), np.full((p, e), np.nan), odds
    )


def _around(
    encoder: Encoder, label: Ints, centre: Floats, inverse: Floats, fixed: Floats, *, odds: bool
) -> ClassScores:
    """fixed - (z - centre) inverse (z - centre) / 2 of each piece."""
    slope = np.einsum("pef,pf->pe", inverse, centre)
    value = fixed - (slope * centre).sum(1) / 2
    return ClassScores(encoder, label, value, slope, inverse, centre, odds)


def _prototypes(encoder: Encoder, centre: Floats, label: Ints, omega: Any) -> ClassScores:
    p, e = centre.shape
    metric = np.eye(e) if omega is None else np.asarray(omega).T @ np.asarray(omega)
    return _around(encoder, label, centre, np.tile(metric, (p, 1, 1)), np.zeros(p), odds=False)
