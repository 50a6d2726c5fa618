"""The judge and the second opinion, which share no code, held against each other over random problems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from wayforward.errors import ProblemError, RuleError, WorldError
from wayforward.evaluate import row_world, second_opinion
from wayforward.evaluate.judge import judge
from wayforward.evaluate.row_world import consequences
from wayforward.methods import recommend
from wayforward.model import wrap
from wayforward.model.base import Access, Model
from wayforward.preferences import Preferences
from wayforward.problem import Problem, Target
from wayforward.problem.target import BoundTarget
from wayforward.rules import RuleSet
from wayforward.schema import Feature, Schema
from wayforward.testing import WORLDS, case
from wayforward.world import SCM, Independent, LinearWorld
from wayforward.world.scm import BoundSCM, Equation

Rng = np.random.Generator
MORE = settings(max_examples=2 * settings().max_examples)  # each example is one problem with a few people


class Lattice(Model):
    """Tenths of probability, or whole predictions, so that every threshold, margin and edge is met exactly."""

    access, name = Access.PROBABILITY, "Lattice"

    def __init__(self, schema: Schema, classes: int, rng: Rng) -> None:
        super().__init__()
        self.schema, self.classes = schema, tuple(range(classes))
        self.task = "classification" if classes else "regression"
        self.weight = rng.normal(size=schema.d)

    def _outputs(self, x: np.ndarray) -> np.ndarray:
        score = np.sin(3 * np.nan_to_num(x, nan=-1.0) @ (self.weight / self.schema.span))
        if not self.classes:
            return np.round(5 * score)[:, None]
        tenths = np.round(5 + 5 * score)
        if len(self.classes) == 2:
            return np.stack([10 - tenths, tenths], 1) / 10
        return np.stack([np.floor((10 - tenths) / 2), tenths, np.ceil((10 - tenths) / 2)], 1) / 10

    def _native(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        out = self._outputs(x)
        return out, out.argmax(1) if self.classes else np.zeros(len(x), dtype=np.int64)


@dataclass
class Drawn:
    """A random problem, people (n, d), actions (n, k, d) and wishes."""

    problem: Problem
    x: np.ndarray
    action: np.ndarray
    wishes: Preferences | None


def a_feature(rng: Rng, name: str) -> Feature:
    kind: Any = rng.choice(["real", "real", "integer", "binary", "ordinal", "categorical"])
    rest: dict[str, Any] = {
        "actionability": rng.choice(["actionable", "actionable", "actionable", "mutable", "immutable"]),
        "missing": bool(rng.random() < 0.2),
    }
    if kind != "categorical":
        rest["direction"] = rng.choice(["any", "any", "increase", "decrease"])
    if kind in ("real", "integer"):
        low, step = (
            float(rng.integers(-4, 3)),
            rng.choice([None, 0.25, 0.1, 2.0] if kind == "real" else [None, 2]),
        )
        rest |= {
            "low": low + 0.05 * (kind == "real" and rng.random() < 0.3) if rng.random() < 0.8 else None,
            "high": low + float(rng.integers(3, 12)) if rng.random() < 0.8 else None,
            "step": step,
            "bounds": rng.choice(["declared", "observed"]),
        }
    else:
        rest["levels"] = tuple("abcd"[: 2 if kind == "binary" else int(rng.integers(2, 5))])
    return Feature(name=name, kind=kind, **rest)


def a_rule(rng: Rng, features: list[Feature], depth: int = 0) -> str:
    """A condition in the grammar: comparisons of sums, of levels, counts of changes, and what joins them."""
    numbers = [f.name for f in features if f.kind != "categorical"]
    names = [f.name for f in features]
    pick = rng.random()
    if depth < 2 and pick < 0.5:
        one, other = a_rule(rng, features, depth + 1), a_rule(rng, features, depth + 1)
        return str(
            rng.choice(
                [
                    f"({one}) implies ({other})",
                    f"({one}) and ({other})",
                    f"({one}) or ({other})",
                    f"not ({one})",
                ]
            )
        )
    if pick < 0.6:
        count, some = rng.integers(0, 4), rng.choice(names, 2, replace=False)
        return f"{rng.choice(['at most', 'at least', 'exactly'])} {count} changes" + (
            f" of {', '.join(some)}" if rng.random() < 0.5 else ""
        )
    if pick < 0.68:
        return (
            f"{rng.choice(['changed', 'increased', 'decreased'])}({rng.choice(numbers or names)})"
            if numbers
            else "at most 9 changes"
        )
    leveled = [f for f in features if f.has_levels]
    if leveled and pick < 0.8:
        f = leveled[rng.integers(len(leveled))]
        side = rng.choice(["before", "after"])
        if rng.random() < 0.4:
            some = ", ".join(f'"{level}"' for level in f.levels[: rng.integers(1, len(f.levels) + 1)])
            return f"{side}.{f.name} {rng.choice(['in', 'not in'])} {{{some}}}"
        operator = rng.choice(["==", "!="] if f.kind == "categorical" else ["==", "!=", "<", "<=", ">", ">="])
        return f'{side}.{f.name} {operator} "{rng.choice(f.levels)}"'
    plain = [f.name for f in features if not f.has_levels] or None
    if plain is None:
        return "at most 9 changes"

    def quantity() -> str:
        one, other = (
            f"{rng.choice(['before', 'after', 'after', 'change'])}.{rng.choice(plain)}" for _ in range(2)
        )
        number = rng.choice(["0", "1", "2.5", "0.3", "-3"])
        return str(
            rng.choice(
                [one, number, f"{one} + {other}", f"{one} * {number}", f"{one} - {other} * {number}",
                 f"{one} / {other}", f"min({one}, {other})", f"max({one}, {number})",
                 f"abs({one})", f"sum({one}, {other}, {number})"]
            )
        )  # fmt: skip

    operator = rng.choice(["==", "!=", "<", "<=", ">", ">="])
    return f"{quantity()} {operator} {quantity()}"


def an_equation(rng: Rng, name: str, causes: list[Feature]) -> str:
    """Invertible in u; with additive, multiplicative, warped noise, functions and conditions of the causes."""
    terms = []
    for f in causes:
        terms.append(
            f'0.7 * ({f.name} == "{f.levels[-1]}")'
            if f.kind == "categorical"
            else str(
                rng.choice(
                    [
                        f"0.5 * {f.name}",
                        f"-1.25 * {f.name}",
                        f"max({f.name}, 1)",
                        f"abs({f.name}) / 4",
                        f"tanh({f.name})",
                        f"({f.name} > 1)",
                        f"sigmoid({f.name})",
                    ]
                )
            )  # fmt: skip
        )
    total = " + ".join(terms) or "0"
    return str(
        rng.choice(
            ["u + T", "u + T", "T - u", "u * (2 + abs(T))", "u / (1 + abs(T))", "exp(u) + T", "2 * tanh(u) + T",
             "log(u) + T", "(3 + T) / u", "sqrt(u) + T", "5 * sigmoid(u + T)", "sum(u, T)"]
        )
    ).replace("T", f"({total})" if terms else "0")  # fmt: skip


def a_world(rng: Rng, features: list[Feature]) -> Any:
    if rng.random() < 0.4:
        return None
    some = [f for f in features if rng.random() < 0.8] or features
    equations = {}
    for i, f in enumerate(some):
        causes = [] if f.kind == "categorical" else [c for c in some[:i] if rng.random() < 0.6]
        # a cause with a text level can only be compared; other levels count by their position
        causes = [c for c in causes if c.kind in ("real", "integer", "categorical")]
        equations[f.name] = an_equation(rng, f.name, causes) if causes else "u"
    return SCM(equations, soft=bool(rng.random() < 0.3))


def values(rng: Rng, f: Feature, n: int, wild: float) -> np.ndarray:
    """Values on the lattice, most of them legal; `wild` is the share that need not be."""
    if f.has_levels:
        out = rng.integers(0, f.n_levels, n).astype(float)
    else:
        low = -3.0 if f.low is None else f.low
        high = low + 6 if f.high is None else f.high
        step = f.step or 0.5
        out = low + step * rng.integers(0, max(int((high - low) / step), 1) + 1, n)
        odd = rng.random(n) < wild
        out = np.where(odd, out + rng.choice([0.05, 0.3, -7.0, 9.0, 1e-12, 1e-7], n), out)
        if f.kind == "integer":
            out = np.round(out)
    return np.where(rng.random(n) < 0.2, np.nan, out) if f.missing else out


def a_target(rng: Rng, classes: int) -> Target:
    margin = float(rng.choice([0.0, 0.0, 0.1, 0.2]))
    if not classes:
        low, high = rng.choice([-1, 0, None]), rng.choice([2, 3, None])
        return Target(interval=(low, high), margin=float(rng.choice([0, 0, 1])))
    wanted = 1 if rng.random() < 0.7 or classes == 2 else (1, 2)
    return Target(wanted, threshold=rng.choice([None, 0.4, 0.5, 0.6]), margin=margin)


def drawn(seed: int) -> Drawn | None:
    """Everything from one seed; None where the rules contradict each other or the parts do not fit."""
    rng = np.random.default_rng(seed)
    features = [a_feature(rng, f"f{i}") for i in range(rng.integers(3, 6))]
    rules = [a_rule(rng, features) for _ in range(rng.integers(0, 3))]
    moving = [f.name for f in features if f.kind != "categorical"]
    for source, target in zip(moving, moving[1:], strict=False):
        if rng.random() < 0.2:
            rules.append(f"{source} drags {target} by {rng.choice([0.5, -1, 0.3, 2])}")
    classes = int(rng.choice([0, 2, 3]))
    try:
        schema = Schema(tuple(features), tuple(rules))
        world = a_world(rng, features)
        problem = Problem(schema, Lattice(schema, classes, rng), a_target(rng, classes), world=world)
    except (RuleError, WorldError, ProblemError):
        return None
    n, k = int(rng.integers(1, 9)), 2
    x = np.stack([values(rng, f, n, 0.0) for f in features], 1)
    action = np.stack([values(rng, f, n * k, 0.1) for f in features], 1).reshape(n, k, -1)
    keep = rng.random(action.shape) < rng.choice([0.3, 0.6])
    action = np.where(keep & (schema.actionable | (rng.random(action.shape) < 0.1)), action, np.nan)
    wishes = None
    if rng.random() < 0.5:
        frozen = rng.random(x.shape) < 0.1
        high = np.where(~schema.has_levels & (rng.random(x.shape) < 0.3), np.round(x + 1), np.inf)
        levels = {
            int(j): rng.random((n, schema.n_levels[j])) < 0.7 for j in np.flatnonzero(schema.has_levels)
        }
        wishes = Preferences(
            schema, frozen, np.full(x.shape, -np.inf), np.where(np.isnan(high), np.inf, high), np.ones(x.shape),
            levels, rng.integers(0, schema.d + 1, n),
        )  # fmt: skip
    return Drawn(problem, x, action, wishes)


@given(seed=st.integers(0, 2**32))
@MORE
def test_check_and_the_second_opinion_say_the_same(seed: int) -> None:
    """What follows, legal, rules, wishes, the model's yes, and FOUND: two implementations, one answer on each."""
    it = drawn(seed)
    assume(it is not None)
    hold_against_each_other(it)


def followed(problem: Problem, before: np.ndarray, act: np.ndarray) -> tuple[np.ndarray, int]:
    """What follows by the second opinion, and how often it rounded what lies halfway, as near as numbers can tell."""
    ties = 0

    def rounded(value: float) -> int:
        nonlocal ties
        ties += abs(value - np.floor(value) - 0.5) < 1e-13 * max(abs(value), 1.0)
        return round(value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_world, "round", rounded, raising=False)
        return np.array(consequences(problem, before, act)).reshape(before.shape), ties


def test_a_value_halfway_between_whole_numbers_may_round_either_way() -> None:
    """exp(log 3) + 2 / 4 is 3.5, or less by the last bit: the versions of NumPy differ; see seed 9147."""
    it = drawn(9147)
    assert it is not None
    who, slot = np.nonzero(~np.isnan(it.action).all(2))
    assert followed(it.problem, it.x[who], it.action[who, slot])[1] > 0
    hold_against_each_other(it)


def hold_against_each_other(it: Drawn) -> None:
    problem, k = it.problem, it.action.shape[1]
    who, slot = np.nonzero(~np.isnan(it.action).all(2))
    act, before = it.action[who, slot], it.x[who]
    if problem.independent:
        act = np.where(problem.schema.differs(act, before), act, np.nan)
    try:
        led = problem.consequences(before, act)
    except WorldError:
        with pytest.raises(WorldError):
            consequences(problem, before, act)
        return
    again, ties = followed(problem, before, act)
    if ties and not np.allclose(again, led, rtol=1e-9, atol=1e-9, equal_nan=True):
        return  # halfway between two whole numbers the last bit of an exponential decides
    np.testing.assert_allclose(again, led, rtol=1e-9, atol=1e-9)
    after = np.full(it.action.shape, np.nan)
    after[who, slot] = led
    ours = judge(problem, it.x, it.action, after, it.wishes)
    theirs = problem.judge_rows(problem.population(it.x, it.wishes), who, act, led)
    legal = theirs["legal"]
    assert ours.follows[who, slot].all()
    np.testing.assert_array_equal(ours.legal[who, slot], legal, err_msg="legal")
    np.testing.assert_array_equal(ours.wishes[who, slot], theirs["wishes"], err_msg="wishes")
    # a rule about a value that does not exist is answered in two ways, and neither matters
    np.testing.assert_array_equal(ours.rules[who, slot][legal], theirs["rules"][legal], err_msg="rules")
    yes, value = problem.reached(led[legal])
    np.testing.assert_array_equal(ours.valid[who, slot][legal], yes, err_msg="reached")
    np.testing.assert_array_equal(ours.value[who, slot][legal], value)
    for i in range(k):
        got = problem.check(it.x, it.action[:, i : i + 1], 1, preferences=it.wishes)
        np.testing.assert_array_equal(ours.usable[:, i], got.found[:, 0], err_msg="found")
        np.testing.assert_array_equal(second_opinion(problem, got).usable, got.found)


def test_random_problems_are_no_empty_talk() -> None:
    """Of the drawn problems most fit together, and every verdict is met both ways."""
    some = [it for it in map(drawn, range(200)) if it is not None]
    assert len(some) > 150
    assert sum(bool(it.problem.schema.rules and it.problem.schema.compiled_rules.links) for it in some) > 20
    assert sum(not isinstance(it.problem.world, Independent) for it in some) > 50
    seen: dict[str, set[bool]] = {}
    for it in some:
        try:
            after = it.problem.consequences(it.x[:, None].repeat(2, 1), it.action)
        except WorldError:
            continue
        got = judge(it.problem, it.x, it.action, after, it.wishes)
        for name in ("legal", "rules", "wishes", "valid", "usable"):
            seen.setdefault(name, set()).update(getattr(got, name)[got.returned].tolist())
    assert all(verdicts == {True, False} for verdicts in seen.values()), seen


def always(*_: Any, **__: Any) -> Any:
    raise AssertionError("the second opinion asked the judge")


@pytest.mark.parametrize("world", WORLDS)
def test_it_asks_nobody_whom_check_asks(world: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that `check` decides with is taken away, and the second opinion is the same."""
    it = case("linear", world, 0, 24)
    got = recommend(it.problem, it.x, k=2, seed=1)
    before = second_opinion(it.problem, got)
    for owner, names in {
        Problem: ("check", "judge_rows", "consequences", "reached", "population", "chance"),
        BoundTarget: ("reached", "score", "value"),
        Schema: ("legal", "differs", "snap", "round"),
        RuleSet: ("satisfied", "holds", "truth", "drag"),
        Equation: ("value", "noise"),
        SCM: ("consequences", "abduct", "predict"),
        BoundSCM: ("consequences",),
        Independent: ("consequences",),
    }.items():
        for name in names:
            monkeypatch.setattr(owner, name, always)
    again = second_opinion(it.problem, got)
    assert again.usable.any() and (again.usable == before.usable).all()


@pytest.mark.parametrize("world", WORLDS)
def test_a_mistake_in_check_shows(world: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that lets anything through is contradicted, question by question."""
    it = case("linear", world, 0, 24)
    rng = np.random.default_rng(0)
    pool = it.problem.reference[rng.integers(0, 400, (24, 40))]
    action = np.where(rng.random(pool.shape) < 0.3, pool, np.nan)
    honest = it.problem.check(it.x, action, 3)
    assert second_opinion(it.problem, honest).usable[honest.found].all()
    mistakes = {
        "valid": (BoundTarget, "reached", lambda self, outputs, *_, **__: np.arange(len(outputs)) % 2 > 0),
        "rules": (RuleSet, "satisfied", lambda self, before, after: np.ones(len(after), dtype=bool)),
        "legal": (Schema, "legal", lambda self, after, *_, **__: np.ones(after.shape, dtype=bool)),
        "follows": (Problem, "consequences", lambda self, x, act: np.where(np.isnan(act), x, act * half)),
    }
    half = np.where(np.array(it.problem.schema.names) == "debt", 0.5, 1.0)
    off = action.copy()
    off[..., it.problem.schema.index("income")] += 0.5  # off its step
    for flag, (owner, name, wrong) in mistakes.items():
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, wrong)
            got = it.problem.check(it.x, off if flag == "legal" else action, 3)
        assert not getattr(second_opinion(it.problem, got), flag)[got.found].all(), flag


def test_a_learned_world_is_asked_about_one_option_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its functions are nobody else's; what is done with them is judged as everywhere."""
    rng = np.random.default_rng(0)
    schema = Schema(
        (Feature(name="a", kind="real", low=-9, high=9), Feature(name="b", kind="real", low=-30, high=30))
    )
    a = rng.normal(size=200)
    table = np.stack([a, 2 * a + rng.normal(size=200)], 1)
    world = LinearWorld.fit({"a": [], "b": ["a"]}, table, schema)
    problem = Problem(schema, wrap(lambda r: r[:, 1] > 4, schema, output="label", classes=(False, True)),
                      Target(True), world=world)  # fmt: skip
    got = recommend(problem, table[:20], k=2, seed=1)
    rows: list[int] = []
    ask = LinearWorld.consequences
    monkeypatch.setattr(
        LinearWorld, "consequences", lambda self, x, act: rows.append(len(x)) or ask(self, x, act)
    )
    assert second_opinion(problem, got).usable[got.found].all() and got.found.any()
    assert set(rows) == {1} and len(rows) == got.found.sum()
    moved = replace(got, after=got.after + 0.01)
    assert not second_opinion(problem, moved).usable.any()
