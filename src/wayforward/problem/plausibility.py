"""Does an option lead to a profile that people have: domain, neighbours, LOF, kernel density, prototypes, balance.

A plausibility is fitted on reference people, those the model accepts where that is known. It scores
profiles (higher is more plausible) and says yes or no: a profile holds if its score reaches the threshold,
or if it is at least as plausible as where the person already stands, for nobody is asked to become more
usual than they are. `strict=True` drops that second way. A row's score never depends on the other rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from wayforward.errors import FileFormatError, ProblemError
from wayforward.neighbours import NeighbourIndex
from wayforward.scaling import checked_rows, present, ranges, thinned

if TYPE_CHECKING:
    from wayforward.density.base import Densities
    from wayforward.groups import Groups
    from wayforward.problem.population import Population
    from wayforward.problem.problem import Problem
    from wayforward.schema import Schema
    from wayforward.shapes import Actions

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_TOLERANCE = 1e-9  # share of the score below which two are the same
_PAIRS_AT_ONCE = 2_000_000  # kernel values kept at once: 16 MiB
_CALIBRATED = 2000  # reference people, drawn with the seed, whose own scores set a threshold


@dataclass(frozen=True, eq=False)
class Plausibility(ABC):
    """A score and a yes or no for profiles. `fit` returns a fitted copy; the other methods need one.

    strict: judge by the threshold alone. seed: draws the reference people where there are more than `most`.
    """

    name: ClassVar[str] = ""
    strict: bool = field(default=False, kw_only=True)
    seed: int = field(default=0, kw_only=True)
    threshold: float = field(default=math.nan, init=False)
    _schema: Schema | None = field(default=None, init=False, repr=False)

    # -- for everyone --------------------------------------------------------------------------------------

    def fit(
        self, schema: Schema, reference: npt.ArrayLike | None = None, favourable: npt.ArrayLike | None = None
    ) -> Self:
        """A copy that knows the people of `reference` (N, d) with `favourable` (N,) true; None: all of them.

        Raises: ProblemError if there are no such people, or if the reference does not fit the schema.
        """
        known = np.empty((0, schema.d)) if reference is None else checked_rows(schema, reference, "reference")
        if favourable is not None:
            chosen = np.asarray(favourable, dtype=np.bool_)
            if chosen.shape != (len(known),):
                raise ProblemError(
                    f"favourable has shape {chosen.shape}, the reference {len(known)} rows. Give "
                    f"({len(known)},)."
                )
            known = known[chosen]
        if not len(known) and self._needs_people:
            raise ProblemError(
                f"{type(self).__name__} compares with accepted people, and there are none. Give data in "
                "which the model accepts somebody: Problem(..., data=train)."
            )
        fitted = replace(self)
        object.__setattr__(fitted, "_schema", schema)
        fitted._learn(schema, known)
        return fitted

    def fit_problem(self, problem: Problem) -> Self:
        """A copy that knows a problem's accepted people, for plausibilities that ask more of it than its table."""
        accepted = None if problem.reference is None else problem.reference_reached
        return self.fit(problem.schema, problem.reference, accepted)

    def more_options(self, people: Population, action: Actions, seed: int, *, everybody: bool) -> Actions:
        """Return a method's proposals (n, k, d), with more for people none of whose own is plausible, where it can.

        everybody: also for those who have an option, where another may be cheaper.
        """
        return action

    def score(self, after: npt.ArrayLike) -> Array:
        """(...,) how plausible each profile (..., d) is, higher is more; NaN for an empty slot (all NaN)."""
        rows, shape = self._rows(after)
        out = np.full(len(rows), np.nan)
        filled = ~np.isnan(rows).all(axis=1)
        if filled.any():
            out[filled] = self._score(rows[filled])
        return out.reshape(shape)

    def holds(self, before: npt.ArrayLike, after: npt.ArrayLike) -> Flags:
        """(...,) bool: the profile `after` (..., d) is plausible for a person who stands at `before`.

        `before` is (..., d), or lacks the option axis: (n, d) goes with (n, k, d). False for an empty slot.
        """
        a = np.asarray(after, dtype=np.float64)
        value = self.score(a)
        good = np.asarray(value >= self.threshold - _TOLERANCE * abs(self.threshold))
        if not self.strict:
            b = np.asarray(before, dtype=np.float64)
            b = np.broadcast_to(b[..., None, :] if b.ndim == a.ndim - 1 and b.ndim > 1 else b, a.shape)
            left = ~good & ~np.isnan(value)
            if left.any():
                stood = self.score(b[left])
                good[left] = value[left] >= stood - _TOLERANCE * np.abs(stood)
        return good

    @abstractmethod
    def describe(self) -> str:
        """One sentence that says when a profile is plausible."""

    def to_dict(self) -> dict[str, Any]:
        """Parameters for JSON; the fit is repeated from the data. `plausibility_from_dict` reads it back."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        return {"plausibility": self.name, "parameters": own}

    # -- for each plausibility -----------------------------------------------------------------------------

    _needs_people: ClassVar[bool] = True

    @abstractmethod
    def _learn(self, schema: Schema, known: Array) -> None:
        """Set the fitted state of a fresh copy with `_set`."""

    @abstractmethod
    def _score(self, rows: Array) -> Array:
        """(m,) scores of rows that are not empty."""

    def _set(self, **state: Any) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def _rows(self, after: npt.ArrayLike) -> tuple[Array, tuple[int, ...]]:
        if self._schema is None:
            raise ProblemError(f"{type(self).__name__} is not fitted. Call fit(schema, reference) first.")
        a = np.asarray(after, dtype=np.float64)
        if a.ndim == 0 or a.shape[-1] != self._schema.d:
            raise ProblemError(
                f"The profiles have shape {a.shape}. Give {self._schema.d} features on the last axis."
            )
        return a.reshape(-1, self._schema.d), a.shape[:-1]


@dataclass(frozen=True, eq=False)
class Domain(Plausibility):
    """Every value exists: in bounds, on its step, a known level. The score is minus the number of others."""

    name: ClassVar[str] = "domain"
    _needs_people: ClassVar[bool] = False

    def describe(self) -> str:
        """The rule in words."""
        return "every value lies in the domain of its feature"

    def _learn(self, schema: Schema, known: Array) -> None:
        self._set(threshold=0.0)

    def _score(self, rows: Array) -> Array:
        assert self._schema is not None
        return -np.asarray((~np.asarray(self._schema.legal(rows))).sum(axis=-1), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Neighbours(Plausibility):
    """Close to people who were accepted: the mean distance to the k nearest is not unusual among them.

    The score is minus the mean range-scaled L1 distance to the k nearest reference people. The threshold is
    the `quantile` of that distance among the reference people themselves, each measured without themselves.
    More than `most` reference people are thinned.
    """

    name: ClassVar[str] = "neighbours"
    k: int = 5
    quantile: float = 0.95
    most: int = 50_000
    _index: NeighbourIndex | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        _whole(self, "k", 1)
        _share(self, "quantile")
        _whole(self, "most", 2)

    def describe(self) -> str:
        """The rule in words."""
        return f"as near to {self.k} accepted people as {self.quantile:.0%} of accepted people are"

    def _learn(self, schema: Schema, known: Array) -> None:
        kept = known[thinned(len(known), self.most, self.seed)]
        self._set(_index=NeighbourIndex(schema, kept, metric="l1"))
        some = thinned(len(kept), _CALIBRATED, self.seed + 1)
        own = self._mean(kept[some], leave_out=some) if len(kept) > 1 else np.zeros(1)
        self._set(threshold=-float(np.quantile(own, self.quantile)))

    def _mean(self, rows: Array, leave_out: npt.NDArray[np.int64] | None = None) -> Array:
        assert self._index is not None
        k = max(1, min(self.k, self._index.n - (leave_out is not None)))
        return np.asarray(self._index.query(rows, k, leave_out=leave_out).distance.mean(axis=1))

    def _score(self, rows: Array) -> Array:
        return -self._mean(rows)


@dataclass(frozen=True, eq=False)
class Lof(Plausibility):
    """No local outlier: as densely surrounded as its neighbours are (novelty local outlier factor).

    The score is minus the factor, about -1 for a profile like its neighbours; the threshold is minus
    `limit`. Distances are range-scaled L2 with 1 for another category. More than `most` reference people
    are thinned.

    Source: Breunig, Kriegel, Ng & Sander (2000), SIGMOD; the limit of 1.5 is theirs and scikit-learn's.
    """

    name: ClassVar[str] = "lof"
    k: int = 20
    limit: float = 1.5
    most: int = 20_000
    _index: NeighbourIndex | None = field(default=None, init=False, repr=False)
    _reach: Array | None = field(default=None, init=False, repr=False)  # (R,) distance to the k-th neighbour
    _dense: Array | None = field(default=None, init=False, repr=False)  # (R,) local reachability density

    def __post_init__(self) -> None:
        _whole(self, "k", 1)
        _whole(self, "most", 3)
        if not self.limit > 0:
            raise ProblemError(
                f"Lof has limit={self.limit!r}. Give a factor above 0; 1 is like the neighbours."
            )

    def describe(self) -> str:
        """The rule in words."""
        return f"a local outlier factor of at most {self.limit:g} among accepted people"

    def _learn(self, schema: Schema, known: Array) -> None:
        if len(known) < 2:
            raise ProblemError(
                f"Lof needs at least 2 accepted people and has {len(known)}. Use Domain, or give more data."
            )
        kept = known[thinned(len(known), self.most, self.seed)]
        index = NeighbourIndex(schema, kept, metric="l2")
        near = index.query(kept, min(self.k, len(kept) - 1), leave_out=np.arange(len(kept)))
        self._set(_index=index, _reach=near.distance[:, -1], threshold=-float(self.limit))
        self._set(_dense=self._density(near.distance, near.row))

    def _density(self, distance: Array, row: npt.NDArray[np.int64]) -> Array:
        assert self._reach is not None
        reached = np.maximum(distance, self._reach[row])
        return np.asarray(1 / (reached.mean(axis=1) + 1e-10))  # as scikit-learn: copies have a finite density

    def _score(self, rows: Array) -> Array:
        assert self._index is not None and self._dense is not None
        near = self._index.query(rows, min(self.k, self._index.n - 1))
        return -np.asarray(self._dense[near.row].mean(axis=1) / self._density(near.distance, near.row))


@dataclass(frozen=True, eq=False)
class KernelDensity(Plausibility):
    """Likely among accepted people: the log-density of a product kernel estimate.

    Gaussian kernels on numbers and ordinal levels, range-scaled, with Scott's bandwidth times `bandwidth`;
    for categories (and for missing or present) the kernel of Aitchison and Aitken, which gives 1 - h to the
    same level and shares h among the others. The threshold is the `quantile` of the reference people's own
    log-density, each without themselves. Density is relative to range-scaled values. More than `most`
    reference people are thinned.

    Source: D. W. Scott (1992), Multivariate Density Estimation; Aitchison & Aitken (1976), Biometrika 63(3).
    """

    name: ClassVar[str] = "kernel-density"
    quantile: float = 0.05
    bandwidth: float = 1.0
    most: int = 2000
    _rows_scaled: Array | None = field(default=None, init=False, repr=False)  # (R, d) reference, scaled
    _width: Array | None = field(default=None, init=False, repr=False)  # (d,) bandwidths, scaled
    _span: Array | None = field(default=None, init=False, repr=False)
    _gaps: Flags | None = field(default=None, init=False, repr=False)  # (d,) values may be missing

    def __post_init__(self) -> None:
        _share(self, "quantile")
        _whole(self, "most", 2)
        if not 0 < self.bandwidth < math.inf:
            raise ProblemError(f"KernelDensity has bandwidth={self.bandwidth!r}. Give a factor above 0.")

    def describe(self) -> str:
        """The rule in words."""
        return (
            f"a density that {1 - self.quantile:.0%} of accepted people reach, or at least the person's own"
        )

    def _learn(self, schema: Schema, known: Array) -> None:
        span, _ = ranges(schema, known)
        span = np.where(schema.is_categorical, 1.0, span)
        kept = known[thinned(len(known), self.most, self.seed)] / span
        n, numeric = len(kept), ~np.asarray(schema.is_categorical)
        shrink = self.bandwidth * n ** (-1 / (int(numeric.sum()) + 4))
        width = np.zeros(schema.d)
        for j in range(schema.d):
            column = present(kept[:, j])
            if not numeric[j]:
                width[j] = min(shrink, 1 - 1 / max(int(schema.n_levels[j]), 2)) * 0.5
                continue
            spread = float(column.std()) if column.size else 0.0
            width[j] = max(spread, 0.01) * shrink  # a feature on which all agree: a hundredth of its range
        gaps = np.asarray(schema.missing) | np.isnan(kept).any(axis=0)
        self._set(_rows_scaled=kept, _width=width, _span=span, _gaps=gaps)
        own = self._log_density(kept, leave_one_out=True) if n > 1 else np.zeros(1)
        self._set(threshold=float(np.quantile(own, self.quantile)))

    def _score(self, rows: Array) -> Array:
        assert self._span is not None
        return self._log_density(rows / self._span)

    def _log_density(self, q: Array, *, leave_one_out: bool = False) -> Array:
        assert self._rows_scaled is not None
        out, step = np.empty(len(q)), max(1, _PAIRS_AT_ONCE // len(self._rows_scaled))
        for first in range(0, len(q), step):
            part = slice(first, first + step)
            log = self._log_kernels(q[part])
            if leave_one_out:
                at = np.arange(len(log))
                log[at, at + first] = -np.inf
            top = log.max(axis=1, keepdims=True)
            mass = np.exp(log - top).sum(axis=1)
            out[part] = np.log(mass) + top[:, 0] - math.log(len(self._rows_scaled) - leave_one_out)
        return out

    def _log_kernels(self, q: Array) -> Array:
        """(m, R) sum of the log kernels, feature after feature."""
        assert self._schema is not None and self._rows_scaled is not None
        assert self._width is not None and self._gaps is not None
        out = np.zeros((len(q), len(self._rows_scaled)))
        for j in range(q.shape[1]):
            here, there, h = q[:, j, None], self._rows_scaled[None, :, j], self._width[j]
            if self._schema.is_categorical[j]:
                levels = max(int(self._schema.n_levels[j]), 2)
                term = np.where(here == there, math.log(1 - h), math.log(h / (levels - 1)))
            else:
                term = -0.5 * np.square((here - there) / h) - math.log(h * math.sqrt(2 * math.pi))
            if self._gaps[j]:
                gone, lost = np.isnan(here), np.isnan(there)
                term = np.where(gone | lost, 0.0, term) + np.where(
                    gone == lost, math.log(0.95), math.log(0.05)
                )
            out += term
        return out


@dataclass(frozen=True, eq=False)
class Prototype(Plausibility):
    """Close to one of m typical accepted people: medoids under the range-scaled L1 distance.

    The score is minus the distance to the nearest prototype, the threshold the `quantile` of that distance
    among the accepted people. The prototypes are real people of the reference, chosen greedily and then
    improved until none changes; more than `most` reference people are thinned.

    Source: Kaufman & Rousseeuw (1990), Finding Groups in Data, ch. 2 (BUILD); Park & Jun (2009), Expert
    Syst. Appl.
    """

    name: ClassVar[str] = "prototype"
    m: int = 10
    quantile: float = 0.95
    most: int = 2000
    prototypes: Array | None = field(default=None, init=False, repr=False)  # (m, d) feature units
    _index: NeighbourIndex | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        _whole(self, "m", 1)
        _share(self, "quantile")
        _whole(self, "most", 2)

    def describe(self) -> str:
        """The rule in words."""
        return f"as near to one of {self.m} typical accepted people as {self.quantile:.0%} of them all are"

    def _learn(self, schema: Schema, known: Array) -> None:
        kept = known[thinned(len(known), self.most, self.seed)]
        scale, _ = ranges(schema, known)
        distance = NeighbourIndex(schema, kept, metric="l1", scale=scale).distances(kept)
        chosen = medoids(distance, self.m)
        index = NeighbourIndex(schema, kept[chosen], metric="l1", scale=scale)
        own = distance[:, chosen].min(axis=1)
        self._set(prototypes=kept[chosen], _index=index, threshold=-float(np.quantile(own, self.quantile)))

    def _score(self, rows: Array) -> Array:
        assert self._index is not None
        return -self._index.query(rows, 1).distance[:, 0]


@dataclass(frozen=True, eq=False)
class AtLeastAsLikely(Plausibility):
    """A profile is plausible for a person if it is at least as likely as where they stand.

    world: whatever tells log-densities: an `SCM`, a `CausalFlow`, any object with `log_density` (and `bind`, if it is
    not bound to the schema yet). slack: how many nats less likely a profile may be. The score of a profile is its
    log-density.

    Source: Budde et al. (2026), iCARMA, section 5.1.
    """

    name: ClassVar[str] = "at-least-as-likely"
    _needs_people: ClassVar[bool] = False
    world: Any = field(default=None, repr=False)
    slack: float = 0.0

    def __post_init__(self) -> None:
        if not hasattr(self.world, "log_density"):
            raise ProblemError(
                f"AtLeastAsLikely has world={self.world!r}, which tells no log-density. Give a causal world that "
                "does: an SCM with a noise for every node, or a CausalFlow."
            )
        if not (isinstance(self.slack, (int, float)) and self.slack >= 0):
            raise ProblemError(
                f"AtLeastAsLikely has slack={self.slack!r}. Give a number of at least 0, in nats."
            )

    def describe(self) -> str:
        """One sentence that says when a profile is plausible."""
        less = f", or at most {self.slack:g} nats less," if self.slack else ""
        return f"as likely{less} in the causal world as the profile that the person has"

    def holds(self, before: npt.ArrayLike, after: npt.ArrayLike) -> Flags:
        """(...,) bool: the profile `after` (..., d) is at least as likely as `before`; False for an empty slot."""
        a = np.asarray(after, dtype=np.float64)
        b = np.asarray(before, dtype=np.float64)
        b = b[..., None, :] if b.ndim == a.ndim - 1 and b.ndim > 1 else b
        stood = self.score(b)
        return np.asarray(self.score(a) >= stood - self.slack - _TOLERANCE * np.abs(stood))

    def to_dict(self) -> dict[str, Any]:
        """Not possible: a world is saved by itself."""
        raise ProblemError(
            "AtLeastAsLikely holds a whole world. Save the world in its own file and name both when you load."
        )

    def _learn(self, schema: Schema, known: Array) -> None:
        bound = self.world.bind(schema) if hasattr(self.world, "bind") else self.world
        self._set(world=bound, threshold=math.inf)

    def _score(self, rows: Array) -> Array:
        return np.asarray(self.world.log_density(rows), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Balanced(Plausibility):
    """Likely among the accepted of every group: the product of the groups' densities exceeds beta.

    With it every method gives balanced recourse: people of all groups are led to where all groups have accepted people.
    The densities are those of what can change, given what never does, as in the method `ebr`. groups: `Groups` of the
    reference people, or the name of a feature; None: the one sensitive feature. beta, beta_scale: 'mass', above what a
    share beta of the product's own draws have; 'relative', beta times the greatest product among draws; 'absolute',
    beta with numbers in shares of their ranges. density: 'mixture', 'flow' (extra `torch`), 'kernel', or fitted ones.
    lead: people all of whose options a method ends elsewhere get draws that are likely in all groups, as near as can be
    to what it proposed; False leaves them without an option. Strict unless told otherwise: with strict=False a profile
    that is as balanced as where the person stands will do.
    The score is by how many nats the log product exceeds the threshold.

    Example: ``Problem(..., data=train, plausibility=Balanced("sex", beta=0.3))``.
    Raises: ProblemError for a group without accepted people, DataError for what is no group.
    Source: R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation, ICML, section 5.1.
    """

    name: ClassVar[str] = "balanced"
    groups: Groups | str | None = field(default=None, repr=False)
    beta: float = 0.3
    density: Literal["mixture", "kernel", "flow"] | Densities = "mixture"
    beta_scale: Literal["mass", "relative", "absolute"] = "mass"
    lead: bool = True
    strict: bool = field(default=True, kw_only=True)
    fitted: Densities | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        ok = isinstance(self.beta, (int, float)) and math.isfinite(self.beta) and self.beta >= 0
        if isinstance(self.beta, bool) or not ok or (self.beta_scale == "mass" and self.beta >= 1):
            raise ProblemError(
                f"Balanced has beta={self.beta!r} with beta_scale={self.beta_scale!r}. Give 0 or more, and less than 1 "
                "for 'mass'."
            )
        if self.beta_scale not in ("mass", "relative", "absolute"):
            raise ProblemError(
                f"Balanced has beta_scale={self.beta_scale!r}. Choose one of mass, relative, absolute."
            )
        if isinstance(self.density, str) and self.density not in ("mixture", "kernel", "flow"):
            raise ProblemError(f"Balanced has density={self.density!r}. Choose one of mixture, kernel, flow.")

    def describe(self) -> str:
        """The rule in words."""
        between = "" if self.fitted is None else f" ({', '.join(self.fitted.names)})"
        return f"likely among the accepted of every group{between}: beta {self.beta:g}, {self.beta_scale}"

    def fit(
        self, schema: Schema, reference: npt.ArrayLike | None = None, favourable: npt.ArrayLike | None = None
    ) -> Self:
        """A copy with densities of the people of `reference` (N, d) with `favourable` (N,) true; None: all of them.

        What the schema calls immutable is given. Raises: ProblemError, DataError, see the class.
        """
        from wayforward.density.base import fit_density, present_groups, resolve_groups

        if reference is None:
            raise ProblemError(
                "Balanced compares with the accepted people of each group, and there are none. Give data: "
                "Problem(..., data=train)."
            )
        rows = checked_rows(schema, reference, "reference")
        if not isinstance(self.density, str):
            return self._with(schema, self.density)
        groups = present_groups(resolve_groups(self.groups, schema, rows))
        yes = np.ones(len(rows), bool) if favourable is None else np.asarray(favourable, dtype=np.bool_)
        some = np.flatnonzero(yes & (groups.member >= 0))
        return self._with(
            schema, fit_density(self.density, schema, rows[some], groups.take(some), seed=self.seed)
        )

    def fit_problem(self, problem: Problem) -> Self:
        """A copy with the densities of a problem, which its methods share; what no act can move there is given."""
        from wayforward.problem.learned import problem_density

        if not isinstance(self.density, str):
            return self._with(problem.schema, self.density)
        return self._with(problem.schema, problem_density(problem, self.groups, self.density, seed=self.seed))

    def more_options(self, people: Population, action: Actions, seed: int, *, everybody: bool) -> Actions:
        """See `Plausibility`; with `lead`, people are led to where all groups are likely."""
        if not self.lead or self.fitted is None:
            return action
        from wayforward.problem.balanced_search import led

        return led(people, action, self.fitted, seed, everybody=everybody)

    def to_dict(self) -> dict[str, Any]:
        """Parameters for JSON. Raises: ProblemError with labels of its own, which belong to people, not to a file."""
        if self.groups is not None and not isinstance(self.groups, str):
            raise ProblemError(
                "Balanced holds the labels of people, which are not written to a file. Name a feature as groups, or "
                "make it anew from the labels."
            )
        own = super().to_dict()
        if not isinstance(self.density, str):
            own["parameters"]["density"] = self.density.kind
        return own

    def _with(self, schema: Schema, density: Densities) -> Self:
        copy = replace(self)
        copy._set(_schema=schema, fitted=density, threshold=0.0)
        return copy

    def _learn(self, schema: Schema, known: Array) -> None:
        raise NotImplementedError

    def _score(self, rows: Array) -> Array:
        assert self.fitted is not None
        threshold = self.fitted.threshold(rows, self.beta, self.beta_scale)
        return np.asarray(self.fitted.log_product(rows) - threshold)


def medoids(distance: Array, m: int, rounds: int = 20) -> npt.NDArray[np.int64]:
    """Positions of at most m medoids under a symmetric (N, N) distance, ascending; ties go by position.

    The first lies nearest to everybody, each next one lowers the sum of distances most; then every group's
    centre is taken anew until nothing changes. No more medoids are chosen than help.
    """
    nearest = np.full(len(distance), np.inf)
    chosen: list[int] = []
    while len(chosen) < min(m, len(distance)):
        total = np.minimum(distance, nearest[:, None]).sum(axis=0)
        best = int(np.argmin(total))
        if chosen and not total[best] < nearest.sum():
            break
        chosen.append(best)
        nearest = np.minimum(nearest, distance[:, best])
    for _ in range(rounds):
        group = np.argmin(distance[:, chosen], axis=1)
        centres = []
        for g in range(len(chosen)):
            members = np.flatnonzero(group == g)
            centres.append(int(members[np.argmin(distance[np.ix_(members, members)].sum(axis=0))]))
        if centres == chosen:
            break
        chosen = centres
    return np.sort(np.asarray(chosen, dtype=np.int64))


def agreement(
    schema: Schema,
    after: npt.ArrayLike,
    accepted: npt.ArrayLike,
    reference: npt.ArrayLike,
    reference_accepted: npt.ArrayLike,
    k: int = 5,
) -> Array:
    """yNN of each row: how many of its k nearest reference people get the same decision, from 0 to 1.

    after (m, d) with decisions `accepted` (m,), reference (N, d) with `reference_accepted` (N,), both
    predicted by the model, not labels; range-scaled L2 with 1 for another category. NaN for an empty row.
    The mean over the rows is the published score.

    Source: Pawelczyk, Bielawski, van den Heuvel, Richter & Kasneci (2021), CARLA, NeurIPS datasets and
    benchmarks.
    """
    rows = checked_rows(schema, after, "profiles")
    decided = np.asarray(reference_accepted, dtype=np.float64)
    own = np.asarray(accepted, dtype=np.float64)
    known = checked_rows(schema, reference, "reference")
    if decided.shape != (len(known),) or own.shape != (len(rows),) or not len(known):
        raise ProblemError(
            f"There are {len(rows)} profiles with {own.shape} decisions and {len(known)} reference people "
            f"with {decided.shape}. Give one decision each, and at least one reference person."
        )
    out = np.full(len(rows), np.nan)
    filled = ~np.isnan(rows).all(axis=1)
    if filled.any():
        near = NeighbourIndex(schema, known, metric="l2").query(rows[filled], min(k, len(known)))
        out[filled] = 1 - np.abs(own[filled, None] - decided[near.row]).mean(axis=1)
    return out


_KINDS: dict[str, type[Plausibility]] = {
    kind.name: kind for kind in (Domain, Neighbours, Lof, KernelDensity, Prototype, Balanced)
}


def plausibility_named(name: str) -> Plausibility:
    """An unfitted plausibility by its short name. Raises: ProblemError that lists the names."""
    if name not in _KINDS:
        raise ProblemError(f"There is no plausibility '{name}'. Choose one of {', '.join(_KINDS)}.")
    return _KINDS[name]()


def plausibility_from_dict(stored: Mapping[str, Any]) -> Plausibility:
    """The reverse of `to_dict`, unfitted. Raises: FileFormatError if it is not such a dictionary."""
    kind = _KINDS.get(str(stored.get("plausibility"))) if isinstance(stored, Mapping) else None
    if kind is None:
        seen = stored.get("plausibility") if isinstance(stored, Mapping) else type(stored).__name__
        raise FileFormatError(
            f"This is not a stored plausibility: plausibility={seen!r}. It must be one of "
            f"{', '.join(_KINDS)}."
        )
    try:
        return kind(**stored.get("parameters", {}))
    except TypeError as error:
        raise FileFormatError(
            f"The stored plausibility '{kind.name}' is broken: {error}. Write it again with to_dict."
        ) from error


def _whole(owner: Plausibility, name: str, least: int) -> None:
    value = getattr(owner, name)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ProblemError(
            f"{type(owner).__name__} has {name}={value!r}. Give a whole number of at least {least}."
        )


def _share(owner: Plausibility, name: str) -> None:
    value = getattr(owner, name)
    if not (isinstance(value, (int, float)) and 0 < value <= 1):
        raise ProblemError(f"{type(owner).__name__} has {name}={value!r}. Give a share above 0, at most 1.")
