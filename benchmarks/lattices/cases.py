"""One lattice: who may change what, rules, a world, a cost, a target and a few people with wishes; drawn from a seed.

Rules and worlds are drawn with a plain twin beside the text that the library reads, so that brute force hangs on no
parser of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.lattices.models import Lot

WORLDS = ("independent", "causal", "linked", "causal and linked")
COSTS = ("l1", "l0", "mix", "l2", "linf", "percentile-max", "percentile-total", "mad")
Holds = Callable[[np.ndarray, np.ndarray], np.ndarray]  # before, after (m, d) -> (m,) bool


@dataclass(frozen=True)
class Rule:
    """A rule as the library reads it, and the same as a function."""

    text: str
    holds: Holds


@dataclass(frozen=True)
class Term:
    """One summand of an equation: its text, its causes, and the same as a function of all features (m, d)."""

    text: str
    causes: tuple[int, ...]
    value: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Link:
    """`source` drags `target` by `rate`, positions of features."""

    source: int
    target: int
    rate: float


@dataclass(frozen=True)
class Lattice:
    """Everything of one case. order: features, causes before effects. equations: feature -> its terms."""

    number: int
    lot: Lot
    schema: Any
    problem: Any
    people: np.ndarray
    wishes: Any
    rules: tuple[Rule, ...] = ()
    order: tuple[int, ...] = ()
    equations: dict[int, tuple[Term, ...]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    tags: dict[str, Any] = field(default_factory=dict)


def make_lattice(number: int, lot: Lot, seed: int = 0) -> Lattice | None:
    """Lattice `number` on a lot, the same for the same seed; None where the model refuses nobody."""
    import wayforward as wf

    rng = np.random.default_rng([seed, 2, number])
    bare = _actionability(lot.schema, rng)
    world = str(rng.choice(WORLDS, p=[0.5, 0.2, 0.15, 0.15]))
    order = tuple(int(j) for j in rng.permutation(bare.d))
    usable = _ordered(lot)
    equations = _equations(lot, order, usable, rng) if "causal" in world else {}
    links = _links(bare, order, usable, rng) if "linked" in world else ()
    rules = _rules(lot, bare, rng)
    texts = [rule.text for rule in rules] + [
        f"{bare.names[link.source]} drags {bare.names[link.target]} by {link.rate:g}" for link in links
    ]
    try:
        schema = bare.with_rules(*texts) if texts else bare
    except wf.errors.RuleError:  # rules that contradict each other are refused, which is right
        rules = ()
        schema = bare.with_rules(*texts[-len(links) :]) if links else bare
    target, how = _target(lot, rng)
    data = None if rng.random() < 0.15 else lot.data
    cost_name, cost = _cost(rng, data is not None)
    problem = wf.Problem(
        schema, lot.wrapped, target, data=data, cost=cost, world=_world(schema, order, equations)
    )
    pool = lot.profiles[rng.integers(len(lot.profiles), size=40)].copy()
    if schema.missing.any():
        pool[(rng.random(pool.shape) < 0.2) & schema.missing] = np.nan
    if world == "independent" and rng.random() < 0.2:  # somebody may stand between two steps
        for j in np.flatnonzero([f.kind == "real" for f in schema.features]):
            between = rng.random(len(pool)) < 0.5
            pool[between, j] = np.minimum(pool[between, j] + 0.37 * schema.step[j], schema.high[j])
    refused = pool[~problem.reached(pool)[0]]
    if not len(refused):
        return None
    people = refused[: int(rng.integers(1, 5))]
    wishes = _wishes(schema, people, rng) if rng.random() < 0.6 else None
    # what was meant may not be there: no two features that can be linked, say
    really = [word for word, there in (("causal", equations), ("linked", links)) if there]
    tags = {
        "family": lot.family, "world": " and ".join(really) or WORLDS[0], "rules": len(rules),
        "links": len(links), "target": how, "cost": cost_name, "wishes": wishes is not None, "data": data is not None,
    }  # fmt: skip
    return Lattice(number, lot, schema, problem, people, wishes, tuple(rules), order, equations, links, tags)


def _actionability(schema: Any, rng: np.random.Generator) -> Any:
    changes: dict[str, dict[str, Any]] = {}
    sure = int(rng.integers(schema.d))
    for j, feature in enumerate(schema.features):
        may = (
            "actionable"
            if j == sure
            else rng.choice(["actionable", "mutable", "immutable"], p=[0.75, 0.12, 0.13])
        )
        way = "any"
        if feature.kind != "categorical":
            way = str(rng.choice(["any", "increase", "decrease"], p=[0.6, 0.25, 0.15]))
        changes[feature.name] = {"actionability": str(may), "direction": way}
    return schema.revise(changes)


def _ordered(lot: Lot) -> np.ndarray:
    """(d,) bool: features that may stand in equations, links and arithmetic: numbers without rounding, no gaps."""
    return np.array(
        [
            f.kind != "categorical" and not f.missing and not (lot.decimal and f.kind == "real")
            for f in lot.schema.features
        ]
    )


# -- rules -------------------------------------------------------------------------------------------------


def _rules(lot: Lot, schema: Any, rng: np.random.Generator) -> tuple[Rule, ...]:
    if rng.random() < 0.5:
        return ()
    made = [_rule(lot, schema, rng) for _ in range(int(rng.integers(1, 4)))]
    return tuple(rule for rule in made if rule is not None)


def _rule(lot: Lot, schema: Any, rng: np.random.Generator, deep: bool = True) -> Rule | None:
    names, span = schema.names, schema.span
    whole = [j for j in range(schema.d) if not schema.features[j].missing]
    if not whole:
        return None
    ordered = [j for j in whole if schema.features[j].kind != "categorical"]
    plain = [j for j in ordered if _counts_by_position(schema.features[j])]
    numbers = [j for j in plain if not schema.features[j].has_levels]
    kind = str(rng.choice(
        ["count", "count of", "bound", "level", "sum", "before", "change", "moved", "ratio", "extreme", "logic"]
    ))  # fmt: skip
    i = int(rng.choice(whole))
    if kind == "count" and schema.d > 2:
        most = int(rng.integers(1, schema.d))
        return Rule(f"at most {most} changes", lambda b, a: _differs(schema, b, a).sum(1) <= most)
    if kind == "count of" and len(whole) > 1:
        some = [int(j) for j in rng.choice(whole, 2, replace=False)]
        bound = str(rng.choice(["at most", "at least", "exactly"], p=[0.6, 0.2, 0.2]))
        compare = {"at most": np.less_equal, "at least": np.greater_equal, "exactly": np.equal}[bound]
        return Rule(
            f"{bound} 1 change of {', '.join(names[j] for j in some)}",
            lambda b, a: compare(_differs(schema, b, a)[:, some].sum(1), 1),
        )
    if kind == "bound" and numbers:
        i = int(rng.choice(numbers))
        at = float(rng.choice(lot.values[i]))
        up = rng.random() < 0.5
        return Rule(
            f"after.{names[i]} {'>=' if up else '<='} {at:g}",
            lambda b, a: (a[:, i] >= at - 1e-9) if up else (a[:, i] <= at + 1e-9),
        )
    if kind == "level" and schema.features[i].has_levels:
        ok = [int(v) for v in rng.choice(schema.n_levels[i], max(1, schema.n_levels[i] - 1), replace=False)]
        words = ", ".join(_literal(schema.features[i].levels[v]) for v in ok)
        return Rule(f"after.{names[i]} in {{{words}}}", lambda b, a: np.isin(a[:, i], ok))
    if kind == "sum" and len(numbers) > 1:
        i, j = (int(v) for v in rng.choice(numbers, 2, replace=False))
        c = float(rng.choice([-1.0, 0.5, 1.0, 2.0]))
        top = float(rng.choice(lot.values[i]) + c * rng.choice(lot.values[j]))
        return Rule(
            f"after.{names[i]} + {c:g} * after.{names[j]} <= {top!r}" if c > 0
            else f"after.{names[i]} - {-c:g} * after.{names[j]} <= {top!r}",
            lambda b, a: a[:, i] + c * a[:, j] <= top + 1e-7,
        )  # fmt: skip
    if kind == "before" and numbers:
        i = int(rng.choice(numbers))
        gap = float(lot.values[i][1] - lot.values[i][0]) * int(rng.integers(1, 3))
        return Rule(
            f"abs(after.{names[i]} - before.{names[i]}) <= {gap!r}",
            lambda b, a: np.abs(a[:, i] - b[:, i]) <= gap + 1e-7,
        )
    if kind == "change" and plain:
        i = int(rng.choice(plain))
        at = float(lot.values[i][1] - lot.values[i][0])
        return Rule(f"change.{names[i]} <= {at!r}", lambda b, a: a[:, i] - b[:, i] <= at + 1e-7)
    if kind == "moved" and ordered and len(whole) > 1:
        i = int(rng.choice(ordered))
        j = int(rng.choice([v for v in whole if v != i]))
        up = str(rng.choice(["increased", "decreased"]))
        way = 1 if up == "increased" else -1
        not_ = rng.random() < 0.5
        return Rule(
            f"{up}({names[i]}) implies {'not ' if not_ else ''}changed({names[j]})",
            lambda b, a: (
                ~(way * (a[:, i] - b[:, i]) > 1e-9 * span[i]) | (_differs(schema, b, a)[:, j] != not_)
            ),
        )
    if kind == "ratio" and len(numbers) > 1:
        i, j = (int(v) for v in rng.choice(numbers, 2, replace=False))
        c = float(rng.choice([0.5, 1.0, 2.0]))
        shift = float(max(0.0, -lot.values[j][0]) + 1.0)
        return Rule(
            f"after.{names[i]} / (after.{names[j]} + {shift:g}) <= {c:g}",
            lambda b, a: a[:, i] / (a[:, j] + shift) <= c + 1e-7,
        )
    if kind == "extreme" and len(numbers) > 1:
        i, j = (int(v) for v in rng.choice(numbers, 2, replace=False))
        at = float(rng.choice(lot.values[i]))
        return Rule(
            f"min(after.{names[i]}, after.{names[j]}) <= {at!r}",
            lambda b, a: np.minimum(a[:, i], a[:, j]) <= at + 1e-7,
        )
    if kind == "logic" and deep:
        one, two = (_rule(lot, schema, rng, deep=False) for _ in range(2))
        if one is None or two is None:
            return None
        word = str(rng.choice(["or", "implies", "and", "not"], p=[0.4, 0.3, 0.2, 0.1]))
        if word == "not":
            return Rule(f"not ({one.text})", lambda b, a: ~one.holds(b, a))
        join: dict[str, Holds] = {
            "or": lambda b, a: one.holds(b, a) | two.holds(b, a),
            "and": lambda b, a: one.holds(b, a) & two.holds(b, a),
            "implies": lambda b, a: ~one.holds(b, a) | two.holds(b, a),
        }
        return Rule(f"({one.text}) {word} ({two.text})", join[word])
    return None


def _counts_by_position(feature: Any) -> bool:
    """Whether a feature may enter arithmetic: levels that are numbers elsewhere than at their places may not."""
    return not feature.has_levels or all(isinstance(v, str) or v == at for at, v in enumerate(feature.levels))


def _literal(level: Any) -> str:
    return f'"{level}"' if isinstance(level, str) else f"{level}"


def _differs(schema: Any, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        apart = np.abs(after - before) > 1e-9 * schema.span
    return np.asarray(apart | (np.isnan(before) != np.isnan(after)))


# -- worlds ------------------------------------------------------------------------------------------------


def _equations(
    lot: Lot, order: Sequence[int], usable: np.ndarray, rng: np.random.Generator
) -> dict[int, tuple[Term, ...]]:
    """Terms of one to three effects; the noise is added to them."""
    schema, out = lot.schema, {}
    for at in range(1, len(order)):
        j = order[at]
        causes = [i for i in order[:at] if usable[i] or (schema.features[i].kind == "categorical")]
        if not usable[j] or schema.features[j].kind == "binary" or not causes or rng.random() < 0.3:
            continue
        few = rng.choice(causes, min(len(causes), int(rng.integers(1, 3))), replace=False)
        out[j] = tuple(_term(schema, lot, int(i), j, rng) for i in few)
        if len(out) == 3:
            break
    return out


def _term(schema: Any, lot: Lot, i: int, j: int, rng: np.random.Generator) -> Term:
    name, feature = schema.names[i], schema.features[i]
    c = float(rng.choice([-1.0, -0.5, 0.25, 0.5, 1.0, 2.0]))
    if feature.kind == "categorical":
        level = int(rng.integers(feature.n_levels))
        text = f"{c:g} * ({name} == {_literal(feature.levels[level])})"
        return Term(text, (i,), lambda x: c * (x[:, i] == level))
    form = str(rng.choice(["line", "line", "line", "max", "abs", "step"]))
    at = float(rng.choice(lot.values[i]))
    if form == "max":
        return Term(f"{c:g} * max({name}, {at!r})", (i,), lambda x: c * np.maximum(x[:, i], at))
    if form == "abs":
        return Term(f"{c:g} * abs({name} - {at!r})" if at >= 0 else f"{c:g} * abs({name} + {-at!r})", (i,),
                    lambda x: c * np.abs(x[:, i] - at))  # fmt: skip
    if form == "step" and not feature.has_levels:
        return Term(f"{c:g} * ({name} >= {at!r})", (i,), lambda x: c * (x[:, i] >= at - 1e-9))
    return Term(f"{c:g} * {name}", (i,), lambda x: c * x[:, i])


def _world(schema: Any, order: Sequence[int], equations: dict[int, tuple[Term, ...]]) -> Any:
    from wayforward.world import SCM

    if not equations:
        return None
    nodes = set(equations) | {i for terms in equations.values() for term in terms for i in term.causes}
    return SCM(
        {
            schema.names[j]: " + ".join([*(term.text for term in equations.get(j, ())), "u"])
            for j in order
            if j in nodes
        }
    )


def _links(
    schema: Any, order: Sequence[int], usable: np.ndarray, rng: np.random.Generator
) -> tuple[Link, ...]:
    made: dict[tuple[int, int], Link] = {}
    free = [j for j in order if usable[j]]
    for _ in range(int(rng.integers(1, 3))):
        if len(free) < 2:
            break
        first, second = sorted(rng.choice(len(free), 2, replace=False))
        if schema.features[free[second]].kind != "binary":
            rate = float(rng.choice([-1.0, 0.5, 1.0, 1.0, 2.0]))
            made[free[first], free[second]] = Link(free[first], free[second], rate)
    return tuple(made.values())


# -- target, cost, wishes ----------------------------------------------------------------------------------


def _target(lot: Lot, rng: np.random.Generator) -> tuple[Any, str]:
    import wayforward as wf

    share = rng.uniform(0.3, 0.98)
    if lot.regression:
        low = float(np.quantile(lot.outputs[:, 0], share, method="nearest"))
        how = str(rng.choice(["attained", "between", "range"]))
        if how == "between":
            low += 1e-3
        high = float(lot.outputs.max() + 1) if how == "range" else None
        return wf.Target(interval=(low, high)), how
    classes = list(lot.wrapped.classes)
    wanted = [classes[-1]] if len(classes) == 3 or rng.random() < 0.7 else [classes[0]]
    if len(classes) == 3 and rng.random() < 0.3:
        wanted.append(classes[1])
    label: Any = wanted[0] if len(wanted) == 1 else tuple(wanted)
    how = (
        str(rng.choice(["label", "attained", "between"], p=[0.4, 0.45, 0.15])) if lot.has_scores else "label"
    )
    if how == "label":
        return wf.Target(label), how
    p = lot.outputs[:, [classes.index(c) for c in wanted]].sum(1)
    level = (
        float(np.quantile(p, share, method="nearest")) if how == "attained" else float(rng.uniform(0.2, 0.9))
    )
    if not 0.0 < level < 1.0:
        return wf.Target(label), "label"
    return wf.Target(label, threshold=level), how


def _cost(rng: np.random.Generator, data: bool) -> tuple[str, Any]:
    from wayforward.problem.cost import LpMix, MadL1, PercentileShift

    name = str(rng.choice(COSTS, p=[0.4, 0.08, 0.17, 0.06, 0.05, 0.08, 0.1, 0.06]))
    if name in ("percentile-max", "percentile-total", "mad") and not data:
        name = "l1"
    made: dict[str, Callable[[], Any]] = {
        "l1": lambda: None,
        "l0": lambda: LpMix(l0=1.0, l1=0.0),
        "mix": lambda: LpMix(l0=float(rng.choice([0.1, 0.5])), l1=1.0),
        "l2": lambda: LpMix(l1=0.0, l2=1.0),
        "linf": lambda: LpMix(l1=0.1, linf=1.0),
        "percentile-max": lambda: PercentileShift(),
        "percentile-total": lambda: PercentileShift(kind="total", log=bool(rng.random() < 0.5)),
        "mad": MadL1,
    }
    return name, made[name]()


def _wishes(schema: Any, people: np.ndarray, rng: np.random.Generator) -> Any:
    """Frozen features, limits, fewer levels, at most so many changes, weights; each for some of the people."""
    from wayforward.preferences import Preferences

    n, d = people.shape
    frozen = (rng.random((n, d)) < 0.15) & schema.actionable
    low, high = np.full((n, d), -np.inf), np.full((n, d), np.inf)
    levels = {}
    for j, feature in enumerate(schema.features):
        if feature.has_levels and rng.random() < 0.3:
            levels[j] = rng.random((n, feature.n_levels)) < 0.7
        elif not feature.has_levels and rng.random() < 0.4:
            some = rng.random(n) < 0.6
            edge = feature.low + rng.random(n) * feature.span
            if rng.random() < 0.5:
                high[some, j] = edge[some]
            else:
                low[some, j] = edge[some]
    weight = np.ones((n, d))
    if rng.random() < 0.5:
        weight = np.where(schema.actionable, rng.choice([0.5, 1.0, 2.0, 5.0], size=(n, d)), 1.0)
    most = rng.integers(0, d + 1, size=n) if rng.random() < 0.4 else np.full(n, d)
    return Preferences(schema, frozen, low, high, weight, levels, most)
