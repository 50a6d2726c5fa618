"""What a world may be asked: what follows from an action, and, where it knows, how likely people are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.errors import WorldError, did_you_mean, names_in, numbers_in
from wayforward.public import public
from wayforward.rules.arrays import Array, align
from wayforward.shapes import Draws, FeatureMask, Mask, PerPoint, Points, Rows

if TYPE_CHECKING:
    from wayforward.schema import Feature, Schema


@public
class World(ABC):
    """What follows from an action.

    A world is first described by names and then bound to a schema; a bound world works on arrays
    (..., d) in schema order, in feature units with level indices. People lead: before (n, d) goes with
    an action (n, k, d). An action holds the value that a person sets and NaN where they leave the
    feature alone; setting a feature to the value it already has still holds it while its causes move.

    A new world needs `bind`, `consequences`, `descendants` and, for gradient methods, `consequences_torch`; the rest
    raises WorldError until a world knows better. What it offers beside is declared below.
    `wayforward.testing.WorldContract` tests all of it.

    schema: what the world is bound to, None before `bind`. soft: the features on which actions are shifts on top of
    what follows, instead of values that hold.
    """

    nothing_follows: ClassVar[bool] = False  # nobody's action moves anything else
    uncertain: ClassVar[bool] = False  # consequences are random: sample them with `draws`
    leads: ClassVar[bool] = False  # `lead_torch` is offered
    bounded: ClassVar[bool] = False  # `consequence_bounds` is offered
    renews: ClassVar[bool] = False  # `fresh_consequences`, `fresh_draws` and their twins are offered
    schema: Schema | None = None
    soft: frozenset[str] = frozenset()

    @abstractmethod
    def bind(self, schema: Schema) -> World:
        """The same world over the columns of a schema, matched by name.

        Raises: WorldError for a node that the schema does not have.
        """

    @abstractmethod
    def consequences(self, before: Array, action: Array) -> Points:
        """(n, d), (n, d) or (n, k, d) -> after, in the shape of the action.

        What nothing acted on and no cause moved comes back as the same float that went in. Of a feature that counts
        (levels, whole numbers) the nearest legal value follows, cut at its levels and declared bounds: 40 where an
        equation gives 41 and the schema says high=40. The model judges an option by that value. A real feature is not
        cut; where one is led beyond its declared bounds the act is no option.

        NaN, never an infinite number, where nobody knows what follows: a cause is missing, the equation has no finite
        value there (the logarithm of an income of 0), or this person's own noise cannot be worked out (see
        `impossible`). Such an act is no option. Only that feature and its effects are NaN, and nobody else's.
        """

    @abstractmethod
    def consequences_torch(self, before: Array, value: Array, acted: Array) -> Array:
        """The same on tensors: `value` (..., d) counts where `acted` (..., d); differentiable in `value`."""

    def impossible(self, x: Rows, needed: FeatureMask) -> dict[int, tuple[int, str]]:
        """Row number -> a feature of it, by position, whose noise cannot be worked out, and why, in a sentence.

        x (n, d); needed (d,) bool: features whose noise counts. What follows from an act of these people is unknown, so
        that methods do not ask about them. A world whose noise can always be worked out has none.
        """
        return {}

    @property
    @abstractmethod
    def descendants(self) -> Mask:
        """(d, d) bool: acting on the row's feature can move the column's feature."""

    @property
    def graph(self) -> Any:
        """The causal graph, as `CausalGraph.read` takes it; None where the world knows none."""
        return None

    def consequence_bounds(
        self, before: Rows, low: Rows, high: Rows, acts: Mask, rests: Mask
    ) -> tuple[Rows, Rows]:
        """Sound bounds (n, d), (n, d) on `consequences`, for proofs; offered where the world is `bounded`.

        For each person before (n, d) a box of actions: a feature may be set to a value from low to high where `acts`,
        and may be left alone where `rests`; one of both at least. Wherever an action of the box leads, it is within the
        bounds, rounding included. NaN: nothing is known, the value may even be missing. A box's bounds never depend on
        the others.
        """
        raise self._unknown("consequence_bounds")

    def draws(self, before: Array, action: Array, m: int, seed_keys: np.ndarray) -> Draws:
        """(m, n, d) or (m, n, k, d): m profiles that may follow from each action, equally likely.

        seed_keys (n,) or in the shape of the action without d: uint64; equal keys see equal chances (see
        `streams.spread`), so that a person's draws depend on nobody else. In a world that is certain all are the same.
        """
        after = self.consequences(before, action)
        return np.broadcast_to(after, (m, *after.shape))

    # -- noise and densities, where the world knows them ----------------------------------------------------

    def abduct(self, x: Array) -> Points:
        """(..., d) -> (..., d): the noise that makes these people who they are."""
        raise self._unknown("abduct")

    def predict(self, u: Array, action: Array | None = None) -> Points:
        """(..., d) noise, (..., d) action or None -> (..., d) people."""
        raise self._unknown("predict")

    def log_density(self, x: Array) -> PerPoint:
        """(..., d) -> (...): log-density in nats (per feature unit; a probability for discrete features)."""
        raise self._unknown("log_density")

    def log_density_parts(self, x: Array) -> Points:
        """(..., d) -> (..., d): what each feature adds to `log_density`; it depends on the feature and its causes."""
        raise self._unknown("log_density_parts")

    def keeps_density(self, density: World) -> FeatureMask:
        """(d,) bool: under `density` a feature's part stays the same unless somebody acts on that very feature."""
        return np.zeros(len(self.descendants), dtype=bool)

    def sample(self, n: int, rng: np.random.Generator | int) -> Rows:
        """(n, d) people drawn from the world; `rng` is a generator or a seed."""
        raise self._unknown("sample")

    def effect_noise(self, n: int, rng: np.random.Generator | int) -> Rows:
        """(n, d) draws of the noise of features with causes; other columns may be NaN."""
        return self.abduct(self.sample(n, rng))

    def normal_noise(self) -> dict[int, tuple[float, float]]:
        """Feature -> mean and standard deviation of its noise, where that is known to be normal."""
        return {}

    def diagnose(self, table: Any, *, samples: int = 2000, seed: int = 0) -> Any:
        """What a world can say of its fit to rows that it has not seen, beside `world.check`; None for nothing."""
        return None

    # -- people like this person, where the world `renews` --------------------------------------------------

    def fresh_consequences(self, before: Array, action: Array) -> Points:
        """As `consequences` for somebody like this person: what moves takes the mean noise, not their own."""
        raise self._unknown("fresh_consequences")

    def fresh_draws(self, before: Array, action: Array, m: int, seed_keys: np.ndarray) -> Draws:
        """As `draws` for people like this person: what moves takes noise of its own."""
        raise self._unknown("fresh_draws")

    # -- the same on tensors, for methods that learn (amortised, gradient) ----------------------------------

    def abduct_torch(self, x: Array) -> Array:
        """(..., d) -> (..., d): `abduct` on tensors, differentiable."""
        raise self._unknown("abduct_torch")

    def predict_torch(self, u: Array, value: Array | None = None, acted: Array | None = None) -> Array:
        """(..., d) noise -> (..., d) people; where `acted` (..., d), the feature is set to `value`. Differentiable."""
        raise self._unknown("predict_torch")

    def log_density_torch(self, x: Array) -> Array:
        """(..., d) -> (...): `log_density` on tensors, differentiable."""
        raise self._unknown("log_density_torch")

    def lead_torch(
        self, x: Array, u: Array, moving: FeatureMask, *, density: bool = True
    ) -> tuple[Array, Array | None]:
        """People of the noise u (..., d) who can differ from x in `moving` (d,) alone, and their log-density (...).

        Offered where the world `leads`: only what moves is worked out, and the log-density leaves out what does not.
        """
        raise self._unknown("lead_torch")

    def fresh_consequences_torch(self, before: Array, value: Array, acted: Array) -> Array:
        """`fresh_consequences` on tensors, differentiable in `value`."""
        raise self._unknown("fresh_consequences_torch")

    def draws_torch(
        self, before: Array, value: Array, acted: Array, m: int, seed_keys: np.ndarray, *, fresh: bool = False
    ) -> Array:
        """(m, ..., d): the draws of `draws`, or of `fresh_draws`, on tensors; differentiable in `value`."""
        raise self._unknown("draws_torch")

    def _unknown(self, what: str) -> WorldError:
        return WorldError(
            f"{type(self).__name__} does not offer '{what}'. Use a structural causal model with a "
            "distribution for every noise (wayforward.SCM)."
        )


def unknown_nodes(nodes: Sequence[str], names: Sequence[str], what: str) -> None:
    """Raise WorldError if a node of the world is no column of the schema."""
    missing = [node for node in nodes if node not in names]
    if missing:
        hint = did_you_mean(missing[0], names) or f" Its columns are: {', '.join(list(names)[:8])}."
        raise WorldError(f"The {what} has a node '{missing[0]}' that the schema does not have.{hint}")


def soft_names(soft: bool | str | Collection[str], names: Sequence[str]) -> frozenset[str]:
    """Return the features on which actions are shifts: all for True. Raises: WorldError for an unknown name."""
    chosen = (names if soft else ()) if isinstance(soft, bool) else names_in(soft, "soft", WorldError)
    unknown_nodes(tuple(chosen), names, "list of soft interventions")
    return frozenset(chosen)


def legal_limits(feature: Feature) -> tuple[float, float] | None:
    """Return the least and greatest legal value where consequences are rounded, else None."""
    if feature.has_levels:
        return 0.0, float(feature.n_levels - 1)
    if feature.kind != "integer":
        return None
    if feature.bounds != "declared":  # bounds that were only observed are no law
        return -np.inf, np.inf
    low = -np.inf if feature.low is None else float(feature.low)
    return low, np.inf if feature.high is None else float(feature.high)


def leads_nowhere(before: Points, after: Points) -> np.ndarray:
    """(..., d), (..., d) -> (...) bool: a value that was known is none any more, or no finite one: no option."""
    return np.asarray((~np.isfinite(after) & ~np.isnan(before)).any(-1))


def either(
    one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray], first: Mask, second: Mask
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on a value within `one` where `first`, within `other` where `second`; within either where both."""
    both = first & second
    low = np.where(both, np.minimum(one[0], other[0]), np.where(first, one[0], other[0]))
    high = np.where(both, np.maximum(one[1], other[1]), np.where(first, one[1], other[1]))
    return low, high


def points(x: Any, d: int, what: str) -> Points:
    """Return x as a float64 array (..., d). Raises: WorldError on another shape, which names `what`."""
    array = numbers_in(x, what, WorldError)
    if array.ndim < 1 or array.shape[-1] != d:
        raise WorldError(f"{what} has shape {array.shape}, but its last axis must hold {d} features.")
    return array


def aligned(before: Any, action: Any, d: int) -> tuple[Points, Points]:
    """Check and line up before (n, d) with an action (n, k, d). Raises: WorldError on other shapes."""
    before, action = align(points(before, d, "before"), points(action, d, "action"))
    try:
        np.broadcast_shapes(before.shape, action.shape)
    except ValueError:
        raise WorldError(
            f"before {before.shape} and action {action.shape} do not belong to the same people."
        ) from None
    return before, action


def flat_rows(before: Any, action: Any, d: int) -> tuple[Rows, Rows, tuple[int, ...]]:
    """(n, d), (n, k, d) -> both as rows (n k, d), and the shape they are to come back in."""
    before, action = aligned(before, action, d)
    shape = np.broadcast_shapes(before.shape, action.shape)
    rows = (np.broadcast_to(part, shape).reshape(-1, d) for part in (before, action))
    return next(rows), next(rows), shape


def row_keys(seed_keys: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """(n,) keys -> (n k,) uint64, one a row of the shape (n, k, d); a person's options share the person's key."""
    keys = np.asarray(seed_keys, dtype=np.uint64)
    keys = keys.reshape(keys.shape + (1,) * (len(shape) - 1 - keys.ndim))
    return np.broadcast_to(keys, shape[:-1]).reshape(-1)
