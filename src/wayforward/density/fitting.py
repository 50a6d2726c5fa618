"""Fit a density of a kind to accepted people, checked first."""

from __future__ import annotations

import time
from typing import get_args

import numpy as np

from wayforward.density.base import Densities, Kind
from wayforward.density.generative.coding import Coding
from wayforward.density.grouping import revealing
from wayforward.density.kernel import Kernel
from wayforward.density.mixture import Flow, MixtureNetwork
from wayforward.errors import DataError, MethodError, ProblemError, is_one_of
from wayforward.groups import Groups
from wayforward.scaling import checked_rows, ranges
from wayforward.schema import Schema
from wayforward.shapes import FeatureMask, Rows

_FEW = 10  # accepted people that a learned density of a group needs


def fit_density(
    kind: Kind,
    schema: Schema,
    rows: Rows,
    groups: Groups,
    *,
    given: FeatureMask | None = None,
    components: int = 5,
    hidden: int = 32,
    bandwidth: float = 1.0,
    most: int = 1000,
    seed: int = 0,
    device: str | None = None,
) -> Densities:
    """Fit conditional densities of accepted people, one a group.

    rows (N, d): accepted people, `groups` theirs. given (d,) bool: x'_I; left out, what the schema calls immutable.
    components, hidden: of the mixture. bandwidth, most: of the kernel, and how many people of a group it keeps.
    device: of the networks, see `device_of`; the kernel knows none.
    Example: ``fit_density("kernel", schema, accepted, groups).log_product(accepted)``.
    Raises: MethodError for an unknown kind; ProblemError for a group without accepted people, or too few for networks,
    and for infinite values; DataError for a missing value that the schema rules out; DeviceError.
    """
    if not is_one_of(kind, get_args(Kind)):
        raise MethodError(f"There is no density of kind {kind!r}. Choose one of {', '.join(get_args(Kind))}.")
    started = time.perf_counter()
    rows = checked_rows(schema, rows, "accepted people")
    lost = np.isnan(rows).any(0) & ~np.asarray(schema.missing)
    if lost.any():
        name = schema.names[int(np.flatnonzero(lost)[0])]
        raise DataError(
            f"'{name}' is missing for some accepted people, and the schema says that it never is. "
            f"Give Feature(name='{name}', missing=True), fill the values in, or leave these people out."
        )
    known = np.asarray(schema.immutable) if given is None else np.asarray(given, dtype=bool)
    hide = revealing(groups, schema, rows, known)
    known = known & ~hide
    if not (~known & ~hide).any():
        raise ProblemError(
            f"No feature but '{groups.name}' may change, so no profile is more balanced than another. "
            "Make a feature actionable."
        )
    _require_people(groups, kind)
    coding = Coding(schema, known, hide, Coding.scales_of(schema, rows))
    span, _ = ranges(schema, rows)
    densities: Densities
    if kind == "kernel":
        densities = Kernel(coding, rows, groups, span, bandwidth=bandwidth, most=most, seed=seed)
    else:
        make = MixtureNetwork if kind == "mixture" else Flow
        densities = make(
            coding, rows, groups, span, components=components, hidden=hidden, seed=seed, device=device
        )
    densities.seconds = time.perf_counter() - started
    return densities


def _require_people(groups: Groups, kind: Kind) -> None:
    """Raise ProblemError that names a group with too few accepted people for a kind of density."""
    least = 1 if kind == "kernel" else _FEW
    for name, size in zip(groups.names, groups.sizes.tolist(), strict=True):
        if size < least:
            has = "nobody whom the model accepts" if size == 0 else f"{size} accepted people"
            raise ProblemError(
                f"Group '{name}' of '{groups.name}' has {has} in the problem's table, "
                + ("so it has no density. " if size == 0 else f"too few for density='{kind}'. ")
                + "Merge it with another group, leave its labels out (None), "
                + ("or give a larger table." if size == 0 else "or use density='kernel'.")
            )
