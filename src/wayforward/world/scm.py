"""Worlds told by structural equations: each feature is a function of its causes and of its own noise.

    SCM({"salary": "u", "savings": "0.3 * salary + u"}, noise={"salary": "Normal(60000, 9000)"})

Every equation names its causes, holds the noise ``u`` exactly once, and can be solved for it; the
solution is found by walking from the root of the expression to ``u``. So what would have happened to
this very person is known: find the noise (abduction), set what they do (action), recompute what
follows (prediction).

Source: J. Pearl (2009), Causality, section 7.1; for recourse, A.-H. Karimi, B. Schoelkopf, I. Valera
(2021), Algorithmic Recourse: from Counterfactual Explanations to Interventions, FAccT, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import FileFormatError, RuleError, WorldError, did_you_mean
from wayforward.plain_files import dump_yaml, parse_yaml, read_text
from wayforward.rules.arrays import Array, align, operations
from wayforward.rules.evaluate import TOLERANCE, Truth, magnitude_of, ordered, value_of
from wayforward.rules.expression import (
    And,
    Call,
    Changed,
    Changes,
    Compare,
    Condition,
    Implies,
    Indicator,
    Level,
    Member,
    Negate,
    Node,
    Not,
    Number,
    Or,
    Product,
    Quantity,
    Quotient,
    Ref,
    Sum,
    children,
    is_plain,
    number_text,
    walk,
)
from wayforward.rules.expression import text as text_of
from wayforward.rules.grammar import parse_equation
from wayforward.world.base import World, aligned, unknown_nodes
from wayforward.world.noise import Noise, Normal, parse_noise

if TYPE_CHECKING:
    import networkx

    from wayforward.schema import Schema

Legal = Callable[[int, Array, Any], Array]


@dataclass(frozen=True)
class _EquationAtoms:
    """Truth of the conditions inside an equation, at the values of its causes."""

    column: Callable[[Ref], Array]
    ops: Any

    def compare(self, node: Compare) -> Truth:
        """Two quantities compared, with the tolerance of the rules."""
        left, right = (value_of(side, self.column, self.ops, self) for side in (node.left, node.right))
        sizes = [
            abs(self.ops.lift(value_of(side, self.column, self.ops, self)))
            if any(isinstance(part, Indicator) for part in walk(side))
            else magnitude_of(side, self.column, self.ops)
            for side in (node.left, node.right)
        ]
        return ordered(node.operator, self.ops.lift(left - right), TOLERANCE * self.ops.maximum(*sizes))

    def member(self, node: Member) -> Truth:
        """A quantity among values."""
        surely, possibly = self.compare(Compare("==", node.item, node.values[0]))
        for value in node.values[1:]:
            one, other = self.compare(Compare("==", node.item, value))
            surely, possibly = surely | one, possibly | other
        return surely, possibly

    def changed(self, node: Changed) -> Truth:
        """Equations know one time only, and their parser reads no changes."""
        raise AssertionError("an equation holds no changes")

    def changes(self, node: Changes) -> Truth:
        """Equations know one time only, and their parser reads no changes."""
        raise AssertionError("an equation holds no changes")


@dataclass(frozen=True)
class Equation:
    """One feature's structural equation, ready to be computed and solved for its noise."""

    name: str
    tree: Quantity

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Positions of the causes, in order of appearance."""
        found = {
            node.index: None for node in walk(self.tree) if isinstance(node, Ref) and node.when == "here"
        }
        return tuple(found)

    @cached_property
    def holds_words(self) -> bool:
        """Whether a level is still written by its value, so that a schema is needed."""
        return any(isinstance(node, Level) and node.index < 0 for node in walk(self.tree))

    @cached_property
    def additive(self) -> bool:
        """Whether the noise is only added to what the causes give, or taken off."""
        node: Node = self.tree
        while not isinstance(node, Ref):
            if not isinstance(node, Sum | Negate) and not (isinstance(node, Call) and node.function == "sum"):
                return False
            node = _towards_noise(node)
        return True

    @cached_property
    def _way_in(self) -> tuple[tuple[Quantity, Quantity], ...]:
        """From the whole equation to its noise: each node, and its child that holds the noise."""
        node: Quantity = self.tree
        steps = []
        while not (isinstance(node, Ref) and node.when == "noise"):
            inner = _towards_noise(node)
            steps.append((node, inner))
            node = inner
        return tuple(steps)

    def __str__(self) -> str:
        return text_of(self.tree)

    def _columns(self, values: Sequence[Array], u: Array | None) -> Callable[[Ref], Array]:
        return lambda ref: u if ref.when == "noise" else values[ref.index]

    def value(self, values: Sequence[Array], u: Array, ops: Any) -> Array:
        """(...) the feature, given every node's values and its own noise."""
        columns = self._columns(values, u)
        return ops.like(ops.lift(value_of(self.tree, columns, ops, _EquationAtoms(columns, ops))), u)

    def noise(self, values: Sequence[Array], own: Array, ops: Any) -> tuple[Array, Array]:
        """(...) the noise that gives `own`, and log |d noise / d own|; NaN where there is none."""
        columns = self._columns(values, None)
        atoms = _EquationAtoms(columns, ops)

        def known(node: Quantity) -> Array:
            return ops.lift(value_of(node, columns, ops, atoms))

        target = ops.lift(own)
        log_slope: Array = 0.0
        for node, inner in self._way_in:
            match node:
                case Sum(terms) | Call("sum", terms):
                    for term in terms:
                        if term is not inner:
                            target = target - known(term)
                case Negate(_):
                    target = -target
                case Product(left, right):
                    factor = known(right if inner is left else left)
                    target, log_slope = target / factor, log_slope - ops.log(abs(factor))
                case Quotient(left, right) if inner is left:
                    divisor = known(right)
                    target, log_slope = target * divisor, log_slope + ops.log(abs(divisor))
                case Quotient(left, _):
                    top = known(left)
                    log_slope = log_slope + ops.log(abs(top)) - 2 * ops.log(abs(target))
                    target = top / target
                case Call("exp", _):
                    log_slope = log_slope - ops.log(target)
                    target = ops.log(target)
                case Call("log", _):
                    log_slope = log_slope + target
                    target = ops.exp(target)
                case Call("sqrt", _):
                    log_slope = log_slope + ops.log(2 * target)
                    target = ops.where(target >= 0, target * target, float("nan"))
                case Call("sigmoid", _):
                    log_slope = log_slope - ops.log(target) - ops.log(1 - target)
                    target = ops.log(target / (1 - target))
                case Call("logit", _):
                    target = ops.sigmoid(target)
                    log_slope = log_slope + ops.log(target) + ops.log(1 - target)
                case Call("tanh", _):
                    log_slope = log_slope - ops.log(1 - target * target)
                    target = ops.arctanh(target)
            node = inner
        return ops.like(target, own), log_slope


def _towards_noise(node: Quantity) -> Quantity:
    """The child that holds the noise."""
    for child in children(node):
        if any(isinstance(part, Ref) and part.when == "noise" for part in walk(child)):
            return child  # type: ignore[return-value]
    raise AssertionError(node)


def _check_solvable(name: str, tree: Quantity) -> None:
    """Raise WorldError unless ``u`` is there once and every step towards it can be undone."""
    where = f"The equation of '{name}', \"{text_of(tree)}\","
    count = sum(isinstance(node, Ref) and node.when == "noise" for node in walk(tree))
    if count != 1:
        advice = "Add '+ u'" if count == 0 else "Write it so that u stands in one place"
        raise WorldError(
            f"{where} holds the noise u {count} times, and it must be there once. {advice}"
            + ("; for no noise at all, give it the noise 'Constant(0)'." if count == 0 else ".")
        )
    node: Node = tree
    while not isinstance(node, Ref):
        inside: str | None = None
        match node:
            case Call(("abs" | "min" | "max") as function, _):
                inside = f"{function}(...)"
            case Indicator():
                inside = "a condition"
            case Product(left, right) if Number(0.0) in (left, right):
                inside = "a product with 0"
        if inside is not None:
            raise WorldError(
                f"{where} holds the noise inside {inside}, so it cannot be recovered from a person. "
                "Move u outside, for example 'max(...) + u'."
            )
        node = _towards_noise(node)  # type: ignore[arg-type]


class SCM(World):
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
        self.names: tuple[str, ...] = tuple(equations)
        for name in self.names:
            if not isinstance(name, str) or not name.strip() or "`" in name:
                raise WorldError(f"{name!r:.60} is no name for a feature. Use a text without backticks.")
            if name == "u":
                raise WorldError("A feature cannot be called 'u', which is the noise. Rename the column.")
        places = {name: index for index, name in enumerate(self.names)}
        made = []
        for name, text in equations.items():
            try:
                tree = parse_equation(text, places)
            except RuleError as error:
                raise WorldError(f"The equation of '{name}' cannot be read. {error}") from error
            _check_solvable(name, tree)
            made.append(Equation(name, tree))
        self._set(tuple(made), noise or {}, soft)

    def _set(
        self, equations: tuple[Equation, ...], noise: Mapping[str, Noise | str], soft: bool | Collection[str]
    ) -> None:
        self.equations = equations
        self.names = tuple(equation.name for equation in equations)
        for name in noise:
            if name not in self.names:
                hint = did_you_mean(name, self.names)
                raise WorldError(f"There is a noise for '{name}', which has no equation.{hint}")
        self.noise: dict[str, Noise] = {name: parse_noise(text, name) for name, text in noise.items()}
        if isinstance(soft, str):
            soft = (soft,)
        chosen = (self.names if soft else ()) if isinstance(soft, bool) else tuple(soft)
        unknown_nodes(chosen, self.names, "list of soft interventions")
        self.soft = frozenset(chosen)
        self._soft_at = tuple(name in self.soft for name in self.names)
        self.order = self._topological()

    # -- making ---------------------------------------------------------------------------------
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
        made = SCM.__new__(SCM)
        made._set(self.equations, self.noise, soft)
        return made

    # -- the graph ------------------------------------------------------------------------------
    @property
    def d(self) -> int:
        """Number of nodes."""
        return len(self.names)

    def _topological(self) -> tuple[int, ...]:
        """Causes before effects, else in the order written. Raises: WorldError that spells a cycle."""
        order: list[int] = []
        done: set[int] = set()
        for start in range(self.d):
            path: list[tuple[int, int]] = [(start, 0)]  # (node, next parent to visit): no recursion
            while path:
                node, at = path.pop()
                if node in done:
                    continue
                parents = self.equations[node].parents
                if at == len(parents):
                    done.add(node)
                    order.append(node)
                    continue
                path.append((node, at + 1))
                parent = parents[at]
                on_path = [place for place, _ in path]
                if parent in on_path:
                    loop = [parent, *reversed(on_path[on_path.index(parent) :])]
                    raise WorldError(
                        f"The equations form a cycle: {' -> '.join(self.names[i] for i in loop)}. "
                        "Take one cause out of one of these equations."
                    )
                if parent not in done:
                    path.append((parent, 0))
        return tuple(order)

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
    def descendants(self) -> np.ndarray:
        """(d, d) bool: the row's node is a cause, direct or not, of the column's node."""
        below = np.zeros((self.d, self.d), dtype=bool)
        for node in reversed(self.order):
            for parent in self.equations[node].parents:
                below[parent, node] = True
                below[parent] |= below[node]
        for node in self.order:  # one pass from the roots completes what was met out of order
            for parent in self.equations[node].parents:
                below[:, node] |= below[:, parent]
        return below

    # -- abduction, action, prediction ----------------------------------------------------------
    def bind(self, schema: Schema) -> BoundSCM:
        """The world over a schema's columns, matched by name; columns without a node stand alone.

        Raises: WorldError for a node that the schema does not have, or a level that its feature lacks.
        """
        return BoundSCM(self, schema)

    def _columns(self, x: Array, what: str) -> list[np.ndarray]:
        array = np.asarray(x, dtype=np.float64)
        if array.ndim < 1 or array.shape[-1] != self.d:
            raise WorldError(f"{what} has shape {array.shape}, but its last axis must hold {self.d} nodes.")
        self._needs_no_schema()
        return [array[..., j] for j in range(self.d)]

    def _needs_no_schema(self) -> None:
        for equation in self.equations:
            if equation.holds_words:
                raise WorldError(
                    f"The equation of '{equation.name}' compares with a level in quotes, so the world must "
                    "know the levels. Call world.bind(schema) and use what it returns."
                )

    def _noise_of(
        self, j: int, values: Sequence[Array], ops: Any, rows: Array | None = None
    ) -> tuple[Array, Array]:
        """Noise of node j and its log-slope. Raises: WorldError if a value cannot come from the equation."""
        u, log_slope = self.equations[j].noise(values, values[j], ops)
        wrong = ops.isnan(u) & ~ops.isnan(values[j])
        for parent in self.equations[j].parents:
            wrong = wrong & ~ops.isnan(values[parent])
        if rows is not None:
            wrong = wrong & rows
        if bool(wrong.any()):
            value = float(ops.broadcast(values[j], tuple(wrong.shape))[wrong][0])
            raise WorldError(
                f"'{self.names[j]}' is {value:.6g}, which its equation \"{self.equations[j]}\" cannot give "
                f"({int(wrong.sum())} of {math.prod(wrong.shape)} values). Correct the value or the equation."
            )
        return u, log_slope

    def _run(
        self,
        before: list[Array],
        value: list[Array],
        acted: list[Array],
        ops: Any,
        *,
        noise: Sequence[Array] | None = None,
        legal: Legal | None = None,
        exact: bool = True,
    ) -> list[Array]:
        """After, node by node in topological order.

        exact: keep a value bit for bit where no cause moved. Without it (gradients) a node is recomputed
        as soon as any cause is acted on, so that the gradient flows also where the value is unchanged.
        """
        after: list[Array] = list(before)
        moved: list[Array] = [None] * self.d
        for j in self.order:
            equation = self.equations[j]
            natural, touched = before[j], None
            for parent in equation.parents:
                if moved[parent] is not None:
                    touched = moved[parent] if touched is None else touched | moved[parent]
            if touched is not None:
                asked = touched if self._soft_at[j] else touched & ~acted[j]  # where the equation has a say
                u = noise[j] if noise is not None else self._noise_of(j, before, ops, asked)[0]
                if not exact:  # a NaN that nobody asks for would still poison the gradient
                    u = ops.where(ops.isnan(u) & ~asked, 0.0, u)
                computed = equation.value(after, u, ops)
                if legal is not None:
                    computed = legal(j, computed, ops)
                natural = ops.where(touched, computed, before[j])
            if bool(acted[j].any()):
                set_to = value[j]
                if self._soft_at[j]:  # a value that was missing has nothing to be shifted from
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

    def abduct(self, x: Array) -> np.ndarray:
        """(..., d) -> (..., d): the noise behind each value; NaN where it or a cause is missing.

        Raises: WorldError if a value cannot come from its equation.
        """
        values = self._columns(x, "x")
        ops = operations(values[0])
        with np.errstate(all="ignore"):
            return np.stack([self._noise_of(j, values, ops)[0] for j in range(self.d)], axis=-1)

    def predict(self, u: Array, action: Array | None = None) -> np.ndarray:
        """(..., d) noise, (..., d) action or None -> (..., d): the people of this noise, acting."""
        noise = self._columns(u, "u")
        values = self._predicted(noise, None)
        if action is None:
            return np.stack(values, axis=-1)
        x, action = aligned(np.stack(values, axis=-1), action, self.d)
        noise = [column.reshape(x.shape[:-1]) for column in np.moveaxis(np.stack(noise, axis=-1), -1, 0)]
        return self._act(x, action, noise=noise)

    def abduct_torch(self, x: Array) -> Array:
        """(..., d) -> (..., d): `abduct` on tensors, differentiable."""
        self._needs_no_schema()
        values = [x[..., j] for j in range(self.d)]
        ops = operations(x)
        return ops.stack([self._noise_of(j, values, ops)[0] for j in range(self.d)])

    def predict_torch(self, u: Array, value: Array | None = None, acted: Array | None = None) -> Array:
        """(..., d) noise -> (..., d) people; where `acted` (..., d), set to `value`. Differentiable in all."""
        self._needs_no_schema()
        return operations(u).stack(self._predicted_torch(u, value, acted, range(self.d), None))

    def _predicted_torch(
        self, u: Array, value: Array | None, acted: Array | None, columns: Sequence[int], legal: Legal | None
    ) -> list[Array]:
        """Every node's values (...), causes first; `columns` are the nodes' places in the last axis."""
        ops = operations(u)
        if value is not None:
            u, value = align(u, value)
        values: list[Any] = [None] * self.d  # with the action
        factual: list[Any] = [None] * self.d  # without; only where soft actions ask for it
        for j in self.order:
            for into in (values, factual) if self.soft and value is not None else (values,):
                natural = self.equations[j].value(into, u[..., columns[j]], ops)
                into[j] = ops.lift(natural if legal is None else legal(j, natural, ops))
            if value is not None and acted is not None:
                set_to = value[..., columns[j]]
                if self._soft_at[j]:
                    set_to = values[j] + (set_to - factual[j])
                values[j] = ops.where(acted[..., columns[j]], set_to, values[j])
        return values

    def _predicted(self, noise: Sequence[np.ndarray], legal: Legal | None) -> list[np.ndarray]:
        ops = operations(noise[0])
        values: list[Any] = [None] * self.d
        with np.errstate(all="ignore"):
            for j in self.order:
                value = self.equations[j].value(values, noise[j], ops)
                values[j] = np.asarray(value if legal is None else legal(j, value, ops), dtype=np.float64)
        return list(np.broadcast_arrays(*values))

    def consequences(self, before: Array, action: Array) -> np.ndarray:
        """(n, d), (n, d) or (n, k, d) -> after: where each action leaves each person."""
        before, action = aligned(before, action, self.d)
        self._needs_no_schema()
        return self._act(before, action)

    def _act(
        self,
        before: np.ndarray,
        action: np.ndarray,
        noise: Sequence[np.ndarray] | None = None,
        legal: Legal | None = None,
    ) -> np.ndarray:
        with np.errstate(all="ignore"):
            after = self._run(
                [before[..., j] for j in range(self.d)],
                [action[..., j] for j in range(self.d)],
                [~np.isnan(action[..., j]) for j in range(self.d)],
                operations(before),
                noise=noise,
                legal=legal,
            )
        out = np.empty(np.broadcast_shapes(before.shape, action.shape))
        for j, column in enumerate(after):
            out[..., j] = column
        return out

    def consequences_torch(self, before: Array, value: Array, acted: Array) -> Array:
        """The same on tensors, differentiable in `value`."""
        self._needs_no_schema()
        return self._act_torch(before, value, acted)

    def _act_torch(self, before: Array, value: Array, acted: Array, legal: Legal | None = None) -> Array:
        ops = operations(value)
        before, value = align(before, value)
        after = self._run(
            [before[..., j] for j in range(self.d)],
            [value[..., j] for j in range(self.d)],
            [acted[..., j] for j in range(self.d)],
            ops,
            legal=legal,
            exact=False,
        )
        shape = np.broadcast_shapes(tuple(before.shape), tuple(value.shape))
        return ops.stack([ops.broadcast(column, shape[:-1]) for column in after])

    # -- probability ----------------------------------------------------------------------------
    def _distribution(self, name: str) -> Noise:
        if name not in self.noise:
            raise WorldError(
                f"The noise of '{name}' has no distribution, which sampling and densities need. "
                f"Give one: noise={{'{name}': 'Normal(0, 1)'}}."
            )
        return self.noise[name]

    def sample_noise(self, n: int, rng: np.random.Generator | int) -> np.ndarray:
        """(n, d) draws of the noise; `rng` is a generator or a seed."""
        rng = np.random.default_rng(rng)
        return np.stack([self._distribution(name).sample(rng, n) for name in self.names], axis=-1)

    def sample(self, n: int, rng: np.random.Generator | int) -> np.ndarray:
        """(n, d) people; `rng` is a generator or a seed."""
        return self.predict(self.sample_noise(n, rng))

    def log_density(self, x: Array) -> np.ndarray:
        """(..., d) -> (...): log-density by change of variables, nats.

        Each node adds the log-density of its noise plus log |d noise / d value|; for discrete noise the
        log-probability. Raises: WorldError for a noise without distribution, or an impossible value.
        """
        return self._log_density(self._columns(x, "x"))

    def _log_density(self, values: Sequence[np.ndarray]) -> np.ndarray:
        total: np.ndarray = np.zeros(values[0].shape)
        for part in self._density_parts(values):
            total = total + part
        return total

    def _density_parts(self, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        ops = operations(values[0])
        parts = []
        with np.errstate(all="ignore"):
            for j, name in enumerate(self.names):
                distribution = self._distribution(name)
                u, log_slope = self._noise_of(j, values, ops)
                parts.append(distribution.log_density(u) + (0.0 if distribution.discrete else log_slope))
        return parts

    def log_density_torch(self, x: Array) -> Array:
        """(..., d) -> (...): `log_density` on tensors, differentiable; -inf for what no noise can give."""
        self._needs_no_schema()
        return self._log_density_torch([x[..., j] for j in range(self.d)])

    def _log_density_torch(self, values: Sequence[Array]) -> Array:
        ops = operations(*values)
        total: Array = 0.0
        for j, name in enumerate(self.names):
            equation, distribution = self.equations[j], self._distribution(name)
            u, log_slope = equation.noise(values, values[j], ops)
            without = ops.isnan(u)
            if bool(without.any()):  # its gradient would be NaN, so it is taken at a value that can be
                harmless = equation.value(values, ops.like(ops.lift(0.5), values[j]), ops).detach()
                u, log_slope = equation.noise(values, ops.where(without, harmless, values[j]), ops)
            term = distribution.log_density(u) + (0.0 if distribution.discrete else log_slope)
            if bool(without.any()):
                for cause in (j, *equation.parents):  # nobody knows how likely a missing value is
                    missing = ops.isnan(values[cause])
                    term, without = ops.where(missing, float("nan"), term), without & ~missing
                term = ops.where(without, -float("inf"), term)
            total = total + term
        return total


class BoundSCM(World):
    """An `SCM` over the columns of a schema: made by `SCM.bind`.

    Arrays (..., d) are in schema order, levels by index. Features without a node stand alone. What
    follows from an action is legal where a feature is discrete: integers and levels are rounded to the
    nearest one (levels and declared integer bounds also kept in range); numbers are left as they fall.
    """

    def __init__(self, scm: SCM, schema: Schema) -> None:
        unknown_nodes(scm.names, schema.names, "world")
        self.schema = schema
        self.scm = SCM.__new__(SCM)
        resolved = tuple(Equation(e.name, _resolved(e, schema)) for e in scm.equations)
        self.scm._set(resolved, scm.noise, scm.soft)
        self.columns = tuple(schema.index(name) for name in scm.names)
        for name, place in zip(scm.names, self.columns, strict=True):
            feature = schema.features[place]
            if feature.kind == "categorical" and self.scm.equations[self.scm.names.index(name)].parents:
                raise WorldError(
                    f"'{name}' is categorical and has causes in this world, but an equation gives numbers. "
                    "Make it ordinal or binary, or give it the equation 'u'."
                )
        self._limits = tuple(_limits(schema.features[place]) for place in self.columns)

    def __repr__(self) -> str:
        return f"{self.scm!r} over {self.schema.d} features"

    def bind(self, schema: Schema) -> BoundSCM:
        """The same world over another schema."""
        return BoundSCM(self.scm, schema)

    def softly(self, soft: bool | Collection[str] = True) -> BoundSCM:
        """The same world where acts on these features (True: on all) are shifts on top of what follows."""
        return BoundSCM(self.scm.softly(soft), self.schema)

    def _legal(self, j: int, computed: Array, ops: Any) -> Array:
        limits = self._limits[j]
        if limits is None:
            return computed
        whole = ops.minimum(ops.maximum(ops.rint(computed), limits[0]), limits[1])
        return ops.straight_through(computed, whole)

    def _nodes(self, x: Array) -> list[np.ndarray]:
        array = np.asarray(x, dtype=np.float64)
        if array.ndim < 1 or array.shape[-1] != self.schema.d:
            raise WorldError(
                f"The people have shape {array.shape}, but the last axis must hold {self.schema.d} features."
            )
        return [array[..., place] for place in self.columns]

    def consequences(self, before: Array, action: Array) -> np.ndarray:
        """(n, d), (n, d) or (n, k, d) -> after, in the shape of the action."""
        before, action = aligned(before, action, self.schema.d)
        after = np.array(np.where(np.isnan(action), before, action))
        columns = list(self.columns)
        after[..., columns] = self.scm._act(before[..., columns], action[..., columns], legal=self._legal)
        return after

    def consequences_torch(self, before: Array, value: Array, acted: Array) -> Array:
        """The same on tensors; rounding passes the gradient straight through."""
        ops = operations(value)
        before, value = align(before, value)
        alone = ops.where(acted, value, before)
        columns = list(self.columns)
        told = self.scm._act_torch(
            before[..., columns], value[..., columns], acted[..., columns], legal=self._legal
        )
        return ops.replaced(
            alone,
            {place: told[..., j] for j, place in enumerate(columns)},
            tuple(told.shape[:-1]) + (self.schema.d,),
        )

    @cached_property
    def descendants(self) -> np.ndarray:
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

    def abduct(self, x: Array) -> np.ndarray:
        """(..., d) -> (..., d): the noise; a feature that stands alone is its own."""
        values = self._nodes(x)
        u = np.array(x, dtype=np.float64)
        with np.errstate(all="ignore"):
            for j, place in enumerate(self.columns):
                u[..., place] = self.scm._noise_of(j, values, operations(u))[0]
        return u

    def predict(self, u: Array, action: Array | None = None) -> np.ndarray:
        """(..., d), (..., d) -> (..., d): the people of this noise, acting."""
        noise = self._nodes(u)
        x = np.array(u, dtype=np.float64)
        for place, column in zip(self.columns, self.scm._predicted(noise, self._legal), strict=True):
            x[..., place] = column
        if action is None:
            return x
        u, _ = aligned(u, action, self.schema.d)
        x, action = aligned(x, action, self.schema.d)
        after = np.where(np.isnan(action), x, action)
        columns = list(self.columns)
        noise = [u[..., place] for place in columns]
        after[..., columns] = self.scm._act(
            x[..., columns], action[..., columns], noise=noise, legal=self._legal
        )
        return after

    def abduct_torch(self, x: Array) -> Array:
        """(..., d) -> (..., d): `abduct` on tensors, differentiable."""
        values = [x[..., place] for place in self.columns]
        ops = operations(x)
        noise = {place: self.scm._noise_of(j, values, ops)[0] for j, place in enumerate(self.columns)}
        return ops.replaced(x, noise, tuple(x.shape))

    def predict_torch(self, u: Array, value: Array | None = None, acted: Array | None = None) -> Array:
        """(..., d) noise -> (..., d) people; where `acted` (..., d), set to `value`. Differentiable in all."""
        ops = operations(u)
        told = self.scm._predicted_torch(u, value, acted, self.columns, self._legal)
        alone = u
        if value is not None and acted is not None:
            alone, value = align(u, value)
            alone = ops.where(acted, value, alone)
        return ops.replaced(alone, dict(zip(self.columns, told, strict=True)), tuple(alone.shape))

    def lead_torch(
        self, x: Array, u: Array, moving: np.ndarray, *, density: bool = True
    ) -> tuple[Array, Array | None]:
        """People of the noise u (..., d) who can differ from x in `moving` (d,) bool alone, and their log-density.

        moving holds whatever noise was changed, and all its effects. The log-density leaves out the parts of what
        stands, which are the same for everything that a person can do. Differentiable in u.
        """
        if density:
            self._whole("a density")
        ops, scm = operations(u), self.scm
        values = [x[..., place] for place in self.columns]
        told: Array = 0.0
        for j in scm.order:
            place, equation = self.columns[j], scm.equations[j]
            if not moving[place]:
                continue
            own, slope = u[..., place], 0.0
            values[j] = ops.lift(self._legal(j, equation.value(values, own, ops), ops))
            if density:
                distribution = scm._distribution(scm.names[j])
                if not equation.additive or self._limits[j] is not None:
                    own, slope = equation.noise(values, values[j], ops)
                told = told + distribution.log_density(own) + (0.0 if distribution.discrete else slope)
        after = ops.replaced(u, {place: values[j] for j, place in enumerate(self.columns)}, tuple(u.shape))
        return after, told if density else None

    def log_density_torch(self, x: Array) -> Array:
        """(..., d) -> (...): `log_density` on tensors, differentiable; -inf for what no noise can give."""
        self._whole("a density")
        return self.scm._log_density_torch([x[..., place] for place in self.columns])

    def log_density(self, x: Array) -> np.ndarray:
        """(..., d) -> (...): log-density, nats. Raises: WorldError if a feature stands outside the world."""
        self._whole("a density")
        return self.scm._log_density(self._nodes(x))

    def log_density_parts(self, x: Array) -> np.ndarray:
        """(..., d) -> (..., d): what each feature adds to `log_density`."""
        self._whole("a density")
        parts = np.empty(np.shape(x))
        for place, part in zip(self.columns, self.scm._density_parts(self._nodes(x)), strict=True):
            parts[..., place] = part
        return parts

    def keeps_density(self, density: World) -> np.ndarray:
        """(d,) bool: true of numbers whose noise is only added; their noise is kept, and its slope is constant."""
        keeps = np.zeros(self.schema.d, dtype=bool)
        if not isinstance(density, BoundSCM) or density.scm.equations != self.scm.equations:
            return keeps
        for j, place in enumerate(self.columns):
            keeps[place] = self._limits[j] is None and self.scm.equations[j].additive
        return keeps

    def sample(self, n: int, rng: np.random.Generator | int) -> np.ndarray:
        """(n, d) people. Raises: WorldError if a feature stands outside the world."""
        self._whole("a sample")
        x = np.empty((n, self.schema.d))
        noise = self.scm.sample_noise(n, rng)
        parts = self.scm._predicted([noise[:, j] for j in range(self.scm.d)], self._legal)
        x[:, list(self.columns)] = np.stack(parts, axis=-1)
        return x

    def _whole(self, what: str) -> None:
        alone = [name for name in self.schema.names if name not in self.scm.names]
        if alone:
            raise WorldError(
                f"'{alone[0]}' is no node of the world, so {what} of whole people is unknown. Add an "
                f"equation for it, such as '{alone[0]}: u', with a noise."
            )


def _limits(feature: Any) -> tuple[float, float] | None:
    """The least and greatest legal value where consequences are rounded, else None."""
    if feature.has_levels:
        return 0.0, float(len(feature.levels) - 1)
    if feature.kind != "integer":
        return None
    if feature.bounds != "declared":  # bounds that were only observed are no law
        return -np.inf, np.inf
    low = -np.inf if feature.low is None else float(feature.low)
    return low, np.inf if feature.high is None else float(feature.high)


def _resolved(equation: Equation, schema: Schema) -> Quantity:
    """The equation with levels written by value replaced by their positions in the schema."""

    def level(ref: Quantity, literal: Level) -> Level:
        assert isinstance(ref, Ref)
        feature = schema[ref.name]
        where = f"The equation of '{equation.name}' compares '{ref.name}' with {literal.value!r}"
        if not feature.has_levels:
            raise WorldError(f"{where}, but '{ref.name}' is a number. Compare it with a number.")
        values = list(feature.levels)
        found = [i for i, v in enumerate(values) if v == literal.value and isinstance(v, type(literal.value))]
        found = found or [i for i, v in enumerate(values) if str(v) == str(literal.value)]
        if not found and isinstance(literal.value, bool) and feature.kind == "binary":
            found = [int(literal.value)]
        if not found:
            hint = did_you_mean(str(literal.value), [str(v) for v in values])
            raise WorldError(f"{where}, which is none of its levels.{hint}")
        return Level(found[0], literal.value)

    def condition(node: Condition) -> Condition:
        match node:
            case Compare(operator, left, Level() as right):
                return Compare(operator, quantity(left), level(left, right))
            case Compare(operator, Level() as left, right):
                return Compare(operator, level(right, left), quantity(right))
            case Compare(operator, left, right):
                return Compare(operator, quantity(left), quantity(right))
            case Member(item, values):
                return Member(item, tuple(level(item, v) if isinstance(v, Level) else v for v in values))
            case Not(part):
                return Not(condition(part))
            case And(parts):
                return And(tuple(map(condition, parts)))
            case Or(parts):
                return Or(tuple(map(condition, parts)))
            case Implies(cause, effect):
                return Implies(condition(cause), condition(effect))
            case _:
                raise AssertionError("an equation holds no changes")

    def quantity(node: Quantity) -> Quantity:
        match node:
            case Sum(terms):
                return Sum(tuple(map(quantity, terms)))
            case Negate(term):
                return Negate(quantity(term))
            case Product(left, right):
                return Product(quantity(left), quantity(right))
            case Quotient(left, right):
                return Quotient(quantity(left), quantity(right))
            case Call(function, arguments):
                return Call(function, tuple(map(quantity, arguments)))
            case Indicator(inside):
                return Indicator(condition(inside))
            case _:
                return node

    return quantity(equation.tree)


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
