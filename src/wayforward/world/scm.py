"""Worlds told by structural equations: each feature is a function of its causes and of its own noise.

    SCM({"salary": "u", "savings": "0.3 * salary + u"}, noise={"salary": "Normal(60000, 9000)"})

Every equation names its causes, holds the noise ``u`` exactly once, and can be solved for it. So what would have
happened to this very person is known: find the noise (abduction), set what they do (action), recompute what follows
(prediction).

Source: J. Pearl (2009), Causality, section 7.1; for recourse, A.-H. Karimi, B. Schoelkopf, I. Valera
(2021), Algorithmic Recourse: from Counterfactual Explanations to Interventions, FAccT, section 3.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import (
    FileFormatError,
    WorldError,
    did_you_mean,
    harmless,
    require_kind,
    require_number,
    shown,
)
from wayforward.lazy import cached_property
from wayforward.plain_files import dump_yaml, parse_yaml, read_text
from wayforward.public import public
from wayforward.rules.arrays import Array, align, operations
from wayforward.rules.expression import is_plain, number_text
from wayforward.shapes import FeatureMask, Mask, Points, Rows
from wayforward.world.base import World, aligned, either, legal_limits, points, soft_names, unknown_nodes
from wayforward.world.equation import Equation, with_levels
from wayforward.world.graph import causal_order, descendants_of
from wayforward.world.noise import Noise, Normal, parse_noise

if TYPE_CHECKING:
    import networkx

    from wayforward.schema import Schema


_ROOM = 1e-12  # relative room for the noise, which is worked out anew


class EquationWorld(World):
    """What structural equations answer about people: abduction, action, prediction, densities.

    scm: the equations, node by node. columns: the nodes' places in the last axis of arrays (..., width).
    """

    bounded = True
    columns: tuple[int, ...]

    @property
    @abstractmethod
    def scm(self) -> SCM:
        """The equations behind this world."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many features an array holds."""

    def legal(self, j: int, computed: Array, ops: Any) -> Array:
        """(...) what node j's equation gives -> the legal value, on arrays and tensors."""
        return computed

    def legal_ends(self, j: int) -> tuple[float, float, bool]:
        """Return the least and the greatest value that `legal` leaves node j, and whether it rounds to whole ones."""
        return -np.inf, np.inf, False

    def _require_whole(self, what: str) -> None:
        """Raise WorldError if a feature stands outside the equations."""

    def _nodes(self, x: Array) -> Array:
        """(..., width) -> (..., d): the columns of the nodes."""
        return x[..., list(self.columns)]

    def _values(self, x: Array, what: str) -> tuple[np.ndarray, list[np.ndarray]]:
        """The array (..., width), and its nodes' columns (...)."""
        array = points(x, self.width, what)
        self.scm.require_known_levels()
        return array, [array[..., place] for place in self.columns]

    # -- abduction -----------------------------------------------------------------------------------------
    def _noise_of(self, j: int, values: Sequence[Array], ops: Any) -> Array:
        """(...) noise of node j, NaN where none can be worked out."""
        return self._noise_and_slope(j, values, ops)[0]

    def _noise_and_slope(self, j: int, values: Sequence[Array], ops: Any) -> tuple[Array, Array]:
        equation = self.scm.equations[j]
        u, log_slope = equation.noise(values, values[j], ops)
        known = ops.isfinite(u)
        if not equation.additive:  # 2 * 0 undoes a division by 0, and gives nobody their 2
            known = known & ops.isfinite(ops.lift(equation.value(values, u, ops)))
        if bool(known.all()):
            return u, log_slope
        if ops.differentiable:
            u, log_slope = equation.noise(*self._flowing(j, known, values, values[j], ops), ops)
        return ops.where(known, u, float("nan")), log_slope  # infinite noise is nobody's

    def _given(self, j: int, values: Sequence[Array], u: Array, ops: Any) -> Array:
        """(...) the legal value that node j's equation gives; NaN where that is no finite number."""
        equation = self.scm.equations[j]
        computed = ops.lift(equation.value(values, u, ops))
        known = ops.isfinite(computed)
        if bool(known.all()):
            return self.legal(j, computed, ops)
        if ops.differentiable:
            computed = ops.lift(equation.value(*self._flowing(j, known, values, u, ops), ops))
        return ops.where(known, self.legal(j, computed, ops), float("nan"))

    def _flowing(
        self, j: int, known: Array, values: Sequence[Array], last: Array, ops: Any
    ) -> tuple[list[Array], Array]:
        """The values that node j's equation reads, and one more, whose gradients flow where `known` alone."""
        flowing, last = list(values), ops.flowing(known, last)
        for parent in self.scm.equations[j].parents:
            flowing[parent] = ops.flowing(known, values[parent])
        return flowing, last

    def _without(self, j: int, values: Sequence[Array], u: Array, ops: Any) -> Array:
        """(...) bool: node j and its causes are known, and no noise u (...) can be worked out."""
        wrong = ~ops.isfinite(u) & ~ops.isnan(values[j])
        for parent in self.scm.equations[j].parents:
            wrong = wrong & ~ops.isnan(values[parent])
        return wrong

    def abduct(self, x: Array) -> Points:
        """(..., d) -> (..., d): the noise behind each value; NaN where it or a cause is missing, and where none can be
        worked out: the value cannot come from its equation, or only from infinite noise, or from any noise.

        A feature without an equation is its own noise.
        """
        array, values = self._values(x, "x")
        u = np.array(array)
        ops = operations(u)
        with np.errstate(all="ignore"):
            for j, place in enumerate(self.columns):
                u[..., place] = self._noise_of(j, values, ops)
        return u

    def abduct_torch(self, x: Array) -> Array:
        """(..., d) -> (..., d): `abduct` on tensors, differentiable."""
        self.scm.require_known_levels()
        values = [x[..., place] for place in self.columns]
        ops = operations(x)
        noise = {place: self._noise_of(j, values, ops) for j, place in enumerate(self.columns)}
        return ops.replaced(x, noise, tuple(x.shape))

    # -- action --------------------------------------------------------------------------------------------
    def consequences(self, before: Array, action: Array) -> Points:
        """(n, d), (n, d) or (n, k, d) -> after, in the shape of the action: where each action leaves each person."""
        before, action = aligned(before, action, self.width)
        self.scm.require_known_levels()
        return self._act(before, action)

    def _act(
        self, before: np.ndarray, action: np.ndarray, noise: Sequence[np.ndarray] | None = None
    ) -> Points:
        """Aligned people and actions -> after; with noise (...) of each node, it is not abducted from the people."""
        after = np.array(np.where(np.isnan(action), before, action))
        own, value = self._nodes(before), self._nodes(action)
        d = range(self.scm.d)
        with np.errstate(all="ignore"):
            columns = self._follow(
                [own[..., j] for j in d],
                [value[..., j] for j in d],
                [~np.isnan(value[..., j]) for j in d],
                operations(before),
                noise=noise,
            )
        for place, column in zip(self.columns, columns, strict=True):
            after[..., place] = column
        return after

    def consequences_torch(self, before: Array, value: Array, acted: Array) -> Array:
        """The same on tensors, differentiable in `value`; rounding passes the gradient straight through."""
        self.scm.require_known_levels()
        ops = operations(value)
        before, value = align(before, value)
        alone = ops.where(acted, value, before)
        own, set_to, acts = (
            [nodes[..., j] for j in range(self.scm.d)]
            for nodes in (self._nodes(before), self._nodes(value), self._nodes(acted))
        )
        after = self._follow(own, set_to, acts, ops, exact=False)
        shape = np.broadcast_shapes(tuple(before.shape), tuple(value.shape))
        return ops.replaced(alone, dict(zip(self.columns, after, strict=True)), shape)

    def _follow(
        self,
        before: list[Array],
        value: list[Array],
        acted: list[Array],
        ops: Any,
        *,
        noise: Sequence[Array] | None = None,
        exact: bool = True,
    ) -> list[Array]:
        """After, node by node in topological order.

        exact: keep a value bit for bit where no cause moved. Without it (gradients) a node is recomputed
        as soon as any cause is acted on, so that the gradient flows also where the value is unchanged.
        """
        scm = self.scm
        after: list[Array] = list(before)
        moved: list[Array] = [None] * scm.d
        for j in scm.order:
            equation, shifts = scm.equations[j], scm.shifts[j]
            natural, touched = before[j], None
            for parent in equation.parents:
                if moved[parent] is not None:
                    touched = moved[parent] if touched is None else touched | moved[parent]
            if touched is not None:
                computes = touched if shifts else touched & ~acted[j]  # where the equation has a say
                u = noise[j] if noise is not None else self._noise_of(j, before, ops)
                if not exact:  # a NaN where nothing is computed would still poison the gradient
                    u = ops.where(ops.isnan(u) & ~computes, 0.0, u)
                given = self._given(j, after, u, ops)
                if not exact and bool(
                    ops.isnan(given).any()
                ):  # where no cause moved, nobody's noise is needed
                    still = ops.isnan(given)
                    for parent in equation.parents:
                        still = still & (after[parent] == before[parent])
                    given = ops.where(still, before[j], given)
                natural = ops.where(touched, given, before[j])
            if bool(acted[j].any()):
                set_to = value[j]
                if shifts:  # a value that was missing has nothing to be shifted from
                    set_to = ops.where(ops.isnan(before[j]), set_to, natural + (set_to - before[j]))
                after[j] = ops.where(acted[j], set_to, natural)
                touched = acted[j] if touched is None else touched | acted[j]
            else:
                after[j] = natural
            if touched is not None:
                if exact:
                    touched = (
                        touched & (after[j] != before[j]) & ~(ops.isnan(after[j]) & ops.isnan(before[j]))
                    )
                if bool(touched.any()):
                    moved[j] = touched
        return after

    def consequence_bounds(
        self, before: Rows, low: Rows, high: Rows, acts: Mask, rests: Mask
    ) -> tuple[Rows, Rows]:
        """Interval arithmetic node by node, causes first; each keeps its own noise, so that only causes spread."""
        least, most = either((low, high), (before, before), acts, rests)
        own = [before[:, place] for place in self.columns]
        after_low, after_high, moves, ops = (
            list(own),
            list(own),
            [np.zeros(len(before), dtype=bool)] * self.scm.d,
            operations(before),
        )
        with np.errstate(all="ignore"):
            for j in self.scm.order:
                equation, place = self.scm.equations[j], self.columns[j]
                touched, surely = np.zeros(len(before), dtype=bool), np.zeros(len(before), dtype=bool)
                for parent in equation.parents:
                    touched = touched | moves[parent]
                    surely |= (after_low[parent] > own[parent]) | (after_high[parent] < own[parent])
                natural = own[j], own[j]
                if touched.any():
                    # infinite where a value may be: wide enough for every finite one, and no other is an option
                    bounds = equation.bounds(after_low, after_high, self._noise_of(j, own, ops))
                    room = [_ROOM * (np.abs(end) + np.abs(own[j])) for end in bounds]
                    computed = (
                        self.legal(j, bounds[0] - room[0], ops),
                        self.legal(j, bounds[1] + room[1], ops),
                    )
                    natural = either(computed, natural, touched, ~surely)
                set_to = low[:, place], high[:, place]
                if self.scm.shifts[j]:
                    set_to = natural[0] + (set_to[0] - own[j]), natural[1] + (set_to[1] - own[j])
                after_low[j], after_high[j] = either(set_to, natural, acts[:, place], rests[:, place])
                still = (after_low[j] == own[j]) & (after_high[j] == own[j])
                moves[j] = ~still & ~(np.isnan(own[j]) & ~acts[:, place] & ~touched)
        least[:, list(self.columns)], most[:, list(self.columns)] = (
            np.stack(after_low, 1),
            np.stack(after_high, 1),
        )
        return least, most

    # -- prediction ----------------------------------------------------------------------------------------
    def predict(self, u: Array, action: Array | None = None) -> Points:
        """(..., d) noise, (..., d) action or None -> (..., d): the people of this noise, acting."""
        array, noise = self._values(u, "u")
        x = np.array(array)
        for place, column in zip(self.columns, self._predicted(noise), strict=True):
            x[..., place] = column
        if action is None:
            return x
        array, _ = aligned(array, action, self.width)
        x, action = aligned(x, action, self.width)
        return self._act(x, action, noise=[array[..., place] for place in self.columns])

    def _predicted(self, noise: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Every node's values (...) from its noise (...)."""
        ops = operations(noise[0])
        values: list[Any] = [None] * self.scm.d
        with np.errstate(all="ignore"):
            for j in self.scm.order:
                values[j] = np.asarray(self._given(j, values, noise[j], ops), dtype=np.float64)
        return list(np.broadcast_arrays(*values))

    def predict_torch(self, u: Array, value: Array | None = None, acted: Array | None = None) -> Array:
        """(..., d) noise -> (..., d) people; where `acted` (..., d), set to `value`. Differentiable in all."""
        scm = self.scm
        scm.require_known_levels()
        ops, alone = operations(u), u
        if value is not None and acted is not None:
            u, value = align(u, value)
            alone = ops.where(acted, value, u)
        values: list[Any] = [None] * scm.d  # with the action
        factual: list[Any] = [None] * scm.d  # without; only where shifts need it
        for j in scm.order:
            place = self.columns[j]
            for into in (values, factual) if scm.soft and value is not None else (values,):
                into[j] = ops.lift(self._given(j, into, u[..., place], ops))
            if value is not None and acted is not None:
                set_to = value[..., place]
                if scm.shifts[j]:
                    set_to = values[j] + (set_to - factual[j])
                values[j] = ops.where(acted[..., place], set_to, values[j])
        return ops.replaced(alone, dict(zip(self.columns, values, strict=True)), tuple(alone.shape))

    # -- probability ---------------------------------------------------------------------------------------
    def sample(self, n: int, rng: np.random.Generator | int) -> Rows:
        """(n, d) people; `rng` is a generator or a seed. Raises: WorldError if a feature has no equation."""
        self._require_whole("a sample")
        x = np.empty((n, self.width))
        x[:, list(self.columns)] = self.scm.sample_noise(n, rng)
        return self.predict(x)

    def log_density(self, x: Array) -> np.ndarray:
        """(..., d) -> (...): log-density by change of variables, nats.

        Each node adds the log-density of its noise plus log |d noise / d value|; for discrete noise the
        log-probability. What no noise can give has -inf. Raises: WorldError for a noise without distribution, or a
        feature without an equation.
        """
        parts = self._density_parts(x)
        total: np.ndarray = np.zeros(np.shape(x)[:-1])
        for part in parts:
            total = total + part
        return total

    def log_density_parts(self, x: Array) -> Points:
        """(..., d) -> (..., d): what each feature adds to `log_density`."""
        out = np.empty(np.shape(x))
        for place, part in zip(self.columns, self._density_parts(x), strict=True):
            out[..., place] = part
        return out

    def _density_parts(self, x: Array) -> list[np.ndarray]:
        """What each node (...) adds to the log-density."""
        self._require_whole("a density")
        array, values = self._values(x, "x")
        ops = operations(array)
        parts = []
        with np.errstate(all="ignore"):
            for j, name in enumerate(self.scm.names):
                distribution = self.scm.distribution(name)
                u, log_slope = self._noise_and_slope(j, values, ops)
                part = distribution.log_density(u) + (0.0 if distribution.discrete else log_slope)
                parts.append(np.where(self._without(j, values, u, ops), -np.inf, part))
        return parts

    def log_density_torch(self, x: Array) -> Array:
        """(..., d) -> (...): `log_density` on tensors, differentiable; -inf for what no noise can give."""
        self._require_whole("a density")
        self.scm.require_known_levels()
        values, ops = [x[..., place] for place in self.columns], operations(x)
        total: Array = 0.0
        for j, name in enumerate(self.scm.names):
            equation, distribution = self.scm.equations[j], self.scm.distribution(name)
            u, log_slope = self._noise_and_slope(j, values, ops)
            without = ops.isnan(u)
            term = distribution.log_density(u) + (0.0 if distribution.discrete else log_slope)
            if bool(without.any()):
                for cause in (j, *equation.parents):  # nobody knows how likely a missing value is
                    missing = ops.isnan(values[cause])
                    term, without = ops.where(missing, float("nan"), term), without & ~missing
                term = ops.where(without, -float("inf"), term)
            total = total + term
        return total


@public
class SCM(EquationWorld):
    """A structural causal model: equations with invertible noise.

    equations: feature -> text; the causes by name, the noise as ``u``, exactly once. noise: feature ->
    distribution (`wayforward.world.noise`) or its text, for sampling and densities; consequences need
    none. soft: True, or the names of features on which actions are shifts: the person adds
    ``value - before`` on top of what the equation gives, instead of fixing the value.

    Unbound, arrays (..., d) are in the order of the equations; `bind` matches a schema by name. People
    lead: before (n, d) goes with an action (n, k, d).

    Raises: WorldError for a cycle, a cause without an equation, an equation that cannot be read or
    solved for its noise, a distribution that does not exist.

    Example (A.-H. Karimi, B. Schoelkopf, I. Valera, 2021, figure 1: a raise also grows savings):
        >>> world = SCM({"salary": "u", "savings": "0.3 * salary + u"})
        >>> world.consequences([[75_000.0, 25_000.0]], [[85_000.0, np.nan]]).tolist()
        [[85000.0, 28000.0]]
    """

    def __init__(
        self,
        equations: Mapping[str, str],
        noise: Mapping[str, Noise | str] | None = None,
        *,
        soft: bool | Collection[str] = False,
    ) -> None:
        if not isinstance(equations, Mapping) or not equations:
            raise WorldError("An SCM needs equations, such as {'age': 'u', 'income': '0.1 * age + u'}.")
        for name in equations:
            if not isinstance(name, str) or not name.strip() or "`" in name:
                raise WorldError(f"{name!r:.60} is no name for a feature. Use a text without backticks.")
            if name == "u":
                raise WorldError("A feature cannot be called 'u', which is the noise. Rename the column.")
        places = {name: index for index, name in enumerate(equations)}
        read = tuple(Equation.read(name, text, places) for name, text in equations.items())
        self._build(read, {} if noise is None else noise, soft)

    @classmethod
    def of(
        cls,
        equations: Sequence[Equation],
        noise: Mapping[str, Noise | str] | None = None,
        *,
        soft: bool | Collection[str] = False,
    ) -> SCM:
        """Make a world of equations that are read already. Raises: WorldError as for texts."""
        made = cls.__new__(cls)
        made._build(tuple(equations), {} if noise is None else noise, soft)
        return made

    def _build(
        self, equations: tuple[Equation, ...], noise: Mapping[str, Noise | str], soft: bool | Collection[str]
    ) -> None:
        self.equations = equations
        self.names = tuple(equation.name for equation in equations)
        require_kind(noise, Mapping, "noise", WorldError)
        for name in noise:
            if name not in self.names:
                hint = did_you_mean(str(name), self.names)
                raise WorldError(f"There is a noise for '{name}', which has no equation.{hint}")
        self.noise: dict[str, Noise] = {name: parse_noise(text, name) for name, text in noise.items()}
        self.soft = soft_names(soft, self.names)
        self.shifts = tuple(name in self.soft for name in self.names)  # acting on a node adds to it
        self.columns = tuple(range(self.d))
        order, cycle = causal_order([equation.parents for equation in equations])
        if cycle:
            raise WorldError(
                f"The equations form a cycle: {' -> '.join(self.names[i] for i in cycle)}. "
                "Take one cause out of one of these equations."
            )
        self.order = order

    # -- described -----------------------------------------------------------------------------------------
    @classmethod
    def linear(
        cls,
        weights: Mapping[str, Mapping[str, float]],
        noise: Mapping[str, Noise | str] | None = None,
        **options: Any,
    ) -> SCM:
        """An additive linear world: effect -> {cause: weight}; causes without an entry are roots.

        Example: ``SCM.linear({"savings": {"salary": 0.3}})``.
        """
        require_kind(weights, Mapping, "weights", WorldError)
        for effect, causes in weights.items():
            require_kind(causes, Mapping, f"weights[{shown(effect)}]", WorldError)
            for cause, weight in causes.items():
                require_number(weight, f"the weight of {shown(cause)}", -1e300, 1e300, WorldError)
        nodes = dict.fromkeys(cause for causes in weights.values() for cause in causes) | dict.fromkeys(
            weights
        )
        equations = {}
        for node in nodes:
            terms = [
                f"{number_text(float(w))} * {cause if is_plain(cause) else f'`{cause}`'}"
                for cause, w in weights.get(node, {}).items()
            ]
            equations[node] = " + ".join([*terms, "u"])
        return cls(equations, noise, **options)

    @classmethod
    def from_yaml(cls, source: str | Path) -> SCM:
        """Read ``equations:``, ``noise:`` and ``soft:`` from a YAML file or text; nothing is executed.

        Raises: FileFormatError for a file that is no such YAML, WorldError for what it says.
        """
        text = str(source)
        if isinstance(source, Path) or ("\n" not in text and text.endswith((".yaml", ".yml"))):
            text = read_text(source, "world file")
        data = parse_yaml(text, "world")
        if not isinstance(data, dict) or not isinstance(data.get("equations"), dict):
            raise FileFormatError("The world has no 'equations:' with one line for each feature.")
        if extra := set(map(str, data)) - {"equations", "noise", "soft"}:
            name = sorted(extra)[0]
            raise FileFormatError(
                f"The world has an unknown key '{name:.60}'; it knows 'equations', 'noise' and 'soft'."
            )
        noise, soft = data.get("noise") or {}, data.get("soft") or False
        for what, part in (("equations", data["equations"]), ("noise", noise)):
            if not isinstance(part, dict):
                raise FileFormatError(f"'{what}' must have one line for each feature.")
            for name, line in part.items():
                if not isinstance(name, str) or not isinstance(line, (str, int, float)):
                    raise FileFormatError(
                        f"'{what}' has an entry {name!r:.60} that is no text. Put it in quotes."
                    )
        if not isinstance(soft, bool) and not (
            isinstance(soft, list) and all(isinstance(s, str) for s in soft)
        ):
            raise FileFormatError("'soft' must be true, false or a list of features.")
        return cls({name: str(line) for name, line in data["equations"].items()}, noise, soft=soft)

    def to_yaml(self, path: str | Path | None = None) -> str:
        """The world as YAML, which `from_yaml` reads; also written to `path` if given."""
        data: dict[str, Any] = {"equations": {e.name: str(e) for e in self.equations}}
        if self.noise:
            data["noise"] = {name: str(noise) for name, noise in self.noise.items()}
        if self.soft:
            data["soft"] = [name for name in self.names if name in self.soft]
        return dump_yaml(data, path)

    def __repr__(self) -> str:
        return f"SCM({{{', '.join(f'{e.name!r}: {str(e)!r}' for e in self.equations)}}})"

    def softly(self, soft: bool | Collection[str] = True) -> SCM:
        """The same world where acts on these nodes (True: on all) are shifts on top of what follows."""
        return SCM.of(self.equations, self.noise, soft=soft)

    def bind(self, schema: Schema) -> BoundSCM:
        """The world over a schema's columns, matched by name; columns without a node stand alone.

        Raises: WorldError for a node that the schema does not have, or a level that its feature lacks.
        """
        return BoundSCM(self, schema)

    # -- what it is made of --------------------------------------------------------------------------------
    @property
    def scm(self) -> SCM:
        """This world itself."""
        return self

    @property
    def d(self) -> int:
        """Number of nodes."""
        return len(self.names)

    width = d

    @property
    def graph(self) -> networkx.DiGraph:
        """The causal graph as a networkx.DiGraph over the names, from causes to effects."""
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from(
            (self.names[parent], equation.name) for equation in self.equations for parent in equation.parents
        )
        return graph

    @cached_property
    def descendants(self) -> Mask:
        """(d, d) bool: the row's node is a cause, direct or not, of the column's node."""
        return descendants_of([equation.parents for equation in self.equations], self.order)

    def require_known_levels(self) -> None:
        """Raise WorldError if an equation compares with a level in quotes, whose place only a schema knows."""
        for equation in self.equations:
            if equation.holds_words:
                raise WorldError(
                    f"The equation of '{equation.name}' compares with a level in quotes, so the world must "
                    "know the levels. Call world.bind(schema) and use what it returns."
                )

    def distribution(self, name: str) -> Noise:
        """The distribution of a node's noise. Raises: WorldError where none was given."""
        if name not in self.noise:
            raise WorldError(
                f"The noise of '{name}' has no distribution, which sampling and densities need. "
                f"Give one: noise={{'{name}': 'Normal(0, 1)'}}."
            )
        return self.noise[name]

    def sample_noise(self, n: int, rng: np.random.Generator | int) -> Rows:
        """(n, d) draws of the noise; `rng` is a generator or a seed."""
        rng = np.random.default_rng(rng)
        return np.stack([self.distribution(name).sample(rng, n) for name in self.names], axis=-1)

    def _nodes(self, x: Array) -> Array:
        return x


class BoundSCM(EquationWorld):
    """An `SCM` over the columns of a schema: made by `SCM.bind`.

    Arrays (..., d) are in schema order, levels by index. Features without a node stand alone. What
    follows from an action is legal where a feature is discrete: integers and levels are rounded to the
    nearest one (levels and declared integer bounds also kept in range); numbers are left as they fall.
    """

    leads = True
    schema: Schema

    def __init__(self, scm: SCM, schema: Schema) -> None:
        unknown_nodes(scm.names, schema.names, "world")
        self.schema = schema
        self._scm = SCM.of([with_levels(e, schema) for e in scm.equations], scm.noise, soft=scm.soft)
        self.soft = self._scm.soft
        self.columns = tuple(schema.index(name) for name in scm.names)
        features = [schema.features[place] for place in self.columns]
        for feature, equation in zip(features, self._scm.equations, strict=True):
            if feature.kind == "categorical" and equation.parents:
                raise WorldError(
                    f"'{feature.name}' is categorical and has causes in this world, but an equation gives numbers. "
                    "Make it ordinal or binary, or give it the equation 'u'."
                )
        self.limits = tuple(legal_limits(feature) for feature in features)

    def __repr__(self) -> str:
        return f"{self.scm!r} over {self.schema.d} features"

    @property
    def scm(self) -> SCM:
        """The equations, with levels by index."""
        return self._scm

    @property
    def width(self) -> int:
        """Number of the schema's features."""
        return self.schema.d

    def bind(self, schema: Schema) -> BoundSCM:
        """The same world over another schema."""
        return BoundSCM(self.scm, schema)

    def softly(self, soft: bool | Collection[str] = True) -> BoundSCM:
        """The same world where acts on these features (True: on all) are shifts on top of what follows."""
        return BoundSCM(self.scm.softly(soft), self.schema)

    def legal(self, j: int, computed: Array, ops: Any) -> Array:
        """(...) what node j's equation gives -> the nearest level or whole number, where the feature has those."""
        limits = self.limits[j]
        if limits is None:
            return computed
        whole = ops.minimum(ops.maximum(ops.rint(computed), limits[0]), limits[1])
        return ops.straight_through(computed, whole)

    def legal_ends(self, j: int) -> tuple[float, float, bool]:
        """See `EquationWorld`."""
        limits = self.limits[j]
        return (-np.inf, np.inf, False) if limits is None else (*limits, True)

    def impossible(self, x: Rows, needed: FeatureMask) -> dict[int, tuple[int, str]]:
        """See `World`: values from which their equation tells no noise."""
        _, values = self._values(x, "x")
        found: dict[int, tuple[int, str]] = {}
        ops = operations(x)
        with np.errstate(all="ignore"):
            for j in self.scm.order:
                place, equation = self.columns[j], self.scm.equations[j]
                if not needed[place] or not equation.parents:
                    continue
                feature = self.schema.features[place]
                wrong = self._without(j, values, self._noise_of(j, values, ops), ops)
                for i in np.flatnonzero(wrong).tolist():
                    value = values[j][i]
                    text = str(feature.levels[int(value)]) if feature.has_levels else f"{value:.6g}"
                    found.setdefault(
                        i,
                        (
                            place,
                            f"'{harmless(feature.name)}' is {harmless(text)}, and its equation \"{equation}\" tells no "
                            "noise that would give this person that value, so nobody knows what follows from an act. "
                            "Correct the value, its causes or the equation.",
                        ),
                    )
        return found

    @cached_property
    def descendants(self) -> Mask:
        """(d, d) bool in schema order: acting on the row's feature can move the column's feature."""
        below = np.zeros((self.schema.d, self.schema.d), dtype=bool)
        below[np.ix_(self.columns, self.columns)] = self.scm.descendants
        return below

    @property
    def graph(self) -> networkx.DiGraph:
        """The causal graph over all the schema's features."""
        graph = self.scm.graph
        graph.add_nodes_from(self.schema.names)
        return graph

    def lead_torch(
        self, x: Array, u: Array, moving: FeatureMask, *, density: bool = True
    ) -> tuple[Array, Array | None]:
        """People of the noise u (..., d) who can differ from x in `moving` (d,) bool alone, and their log-density.

        moving holds whatever noise was changed, and all its effects. The log-density leaves out the parts of what
        does not move, which are the same for everything that a person can do. Differentiable in u.
        """
        if density:
            self._require_whole("a density")
        ops, scm = operations(u), self.scm
        values = [x[..., place] for place in self.columns]
        total: Array = 0.0
        for j in scm.order:
            place, equation = self.columns[j], scm.equations[j]
            if not moving[place]:
                continue
            own, slope = u[..., place], 0.0
            values[j] = ops.lift(self._given(j, values, own, ops))
            if density:
                distribution = scm.distribution(scm.names[j])
                if not equation.additive or self.limits[j] is not None:
                    own, slope = self._noise_and_slope(j, values, ops)
                part = distribution.log_density(own) + (0.0 if distribution.discrete else slope)
                known = ops.isfinite(own) & ops.isfinite(values[j])
                total = total + ops.where(known, part, -float("inf"))
        after = ops.replaced(u, dict(zip(self.columns, values, strict=True)), tuple(u.shape))
        return after, total if density else None

    def keeps_density(self, density: World) -> FeatureMask:
        """(d,) bool: true of numbers whose noise is only added; their noise is kept, and its slope is constant."""
        keeps = np.zeros(self.schema.d, dtype=bool)
        if not isinstance(density, BoundSCM) or density.scm.equations != self.scm.equations:
            return keeps
        for j, place in enumerate(self.columns):
            keeps[place] = self.limits[j] is None and self.scm.equations[j].additive
        return keeps

    def effect_noise(self, n: int, rng: np.random.Generator | int) -> Rows:
        """(n, d) draws of the noise of features with causes, NaN elsewhere; `rng` is a generator or a seed."""
        rng = np.random.default_rng(rng)
        noise = np.full((n, self.schema.d), np.nan)
        for equation, place in zip(self.scm.equations, self.columns, strict=True):
            if equation.parents:
                noise[:, place] = self.scm.distribution(equation.name).sample(rng, n)
        return noise

    def normal_noise(self) -> dict[int, tuple[float, float]]:
        """Feature -> mean and standard deviation of its noise, where that is known to be normal."""
        known = (
            (place, self.scm.noise.get(n)) for n, place in zip(self.scm.names, self.columns, strict=True)
        )
        return {place: (noise.mean, noise.sd) for place, noise in known if isinstance(noise, Normal)}

    def _require_whole(self, what: str) -> None:
        alone = [name for name in self.schema.names if name not in self.scm.names]
        if alone:
            raise WorldError(
                f"'{alone[0]}' is no node of the world, so {what} of whole people is unknown. Add an "
                f"equation for it, such as '{alone[0]}: u', with a noise."
            )


def linear_chain(
    first: float = 1.0,
    second: float = 1.0,
    skip: float = 0.0,
    sd: tuple[float, float, float] = (1.0, 1.0, 1.0),
) -> SCM:
    """The smallest world with a mediator: x1 -> x2 -> x3, additive and linear, normal noise.

    x2 = first * x1 + u2 and x3 = second * x2 + skip * x1 + u3; `sd` are the standard deviations of the
    noise. Acting on x1 moves x3 by ``first * second + skip`` a unit.
    """
    weights = {"x2": {"x1": first}, "x3": {"x2": second} | ({"x1": skip} if skip else {})}
    noise = {name: Normal(0.0, width) for name, width in zip(("x1", "x2", "x3"), sd, strict=True)}
    return SCM.linear(weights, noise)
