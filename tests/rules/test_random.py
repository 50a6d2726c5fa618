"""Properties of random rules, against a judge that shares no code with the library."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings

from wayforward.errors import RuleError
from wayforward.rules import Rule, RuleSet
from wayforward.rules import expression as e
from wayforward.rules.grammar import index_of, parse_rule
from wayforward.rules.normal_form import Levels, Linear, Moved, normal_form

# values on a lattice of quarters keep every sum and product exact, so the judge can use fractions
NUMERIC = ("x", "y", "hours-per-week")
LEVELS = {
    "o": ("a", "b", "c", "d"),
    "c": ("red", "green", "blue"),
    "k": ("red", "green", "blue"),
    "b": (0, 1),
}
NAMES = (*NUMERIC, *LEVELS)
INDEX = {name: i for i, name in enumerate(NAMES)}
KINDS = dict.fromkeys(NUMERIC, "real") | {
    "o": "ordinal",
    "c": "categorical",
    "k": "categorical",
    "b": "binary",
}

FEATURES = tuple(
    SimpleNamespace(
        name=name, kind=KINDS[name], low=None, high=None, levels=LEVELS.get(name, ()),
        has_levels=name in LEVELS,
    )
    for name in NAMES
)  # fmt: skip

HALF = settings(max_examples=settings().max_examples // 2)  # building trees is slow

numbers = st.integers(-12, 12).map(lambda n: e.Number(n / 4))
times = st.sampled_from(["before", "after", "change"])
sides = st.sampled_from(["before", "after"])


def ref(when, name):
    return e.Ref(when, name, INDEX[name])


def negate(node):
    return e.Number(-node.value) if isinstance(node, e.Number) else e.Negate(node)


references = st.builds(ref, times, st.sampled_from(NUMERIC))
positions = st.builds(
    lambda when, name, more: e.Sum((ref(when, name), more)), times, st.sampled_from(["o", "b"]), numbers
)


def _grow(inner):
    few = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda terms: e.Sum(tuple(terms))),
        inner.map(negate),
        st.builds(e.Product, inner, inner),
        st.builds(e.Quotient, inner, st.sampled_from([e.Number(2.0), e.Number(-0.5), e.Number(4.0)])),
        st.builds(e.Call, st.sampled_from(["min", "max", "sum"]), few),
        inner.map(lambda node: e.Call("abs", (node,))),
    )


quantities = st.recursive(st.one_of(numbers, references, references, positions), _grow, max_leaves=5)
operators = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])


@st.composite
def level_atoms(draw):
    name = draw(st.sampled_from(list(LEVELS)))
    allowed = ["==", "!="] if KINDS[name] == "categorical" else ["==", "!=", "<", "<=", ">", ">="]
    operator = draw(st.sampled_from(allowed))
    values = LEVELS[name]
    level = st.sampled_from(range(len(values))).map(
        lambda i: e.Level(i, values[i] if isinstance(values[i], str) else float(values[i]))
    )
    left = ref(draw(sides), name)
    match draw(st.integers(0, 3)):
        case 0:
            return e.Compare(operator, left, draw(level))
        case 1:
            return e.Compare(operator, draw(level), left)
        case 2:
            return e.Member(left, tuple(draw(st.lists(level, min_size=1, max_size=3))))
        case _:
            other = {"c": "k", "k": "c"}.get(name, name) if draw(st.booleans()) else name
            return e.Compare(operator, left, ref(draw(sides), other))


@st.composite
def counts(draw):
    some = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4))
    bound, count = draw(st.sampled_from(["most", "least", "exactly"])), draw(st.integers(0, 4))
    indices = tuple(INDEX[name] for name in some) or tuple(range(len(NAMES)))
    return e.Changes(bound, count, tuple(some), indices)


@st.composite
def moves(draw):
    how = draw(st.sampled_from(["changed", "increased", "decreased"]))
    known = NAMES if how == "changed" else [n for n in NAMES if KINDS[n] != "categorical"]
    name = draw(st.sampled_from(known))
    return e.Changed(how, name, INDEX[name])


atoms = st.one_of(
    st.builds(e.Compare, operators, quantities, quantities),
    st.builds(e.Member, quantities, st.lists(numbers, min_size=1, max_size=3).map(tuple)),
    level_atoms(),
    level_atoms(),
    counts(),
    moves(),
)


def _join(inner):
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        inner.map(e.Not), several.map(e.And), several.map(e.Or), st.builds(e.Implies, inner, inner)
    )


conditions = st.recursive(atoms, _join, max_leaves=5)


@st.composite
def people(draw, missing=True):
    """One (before, after): lattice values, often unchanged, sometimes missing (None)."""
    before, after = [], []
    for name in NAMES:
        value = st.integers(-16, 16).map(lambda n: n / 4)
        if name in LEVELS:
            value = st.integers(0, len(LEVELS[name]) - 1).map(float)
        if missing:
            value = st.one_of(value, value, value, value, value, st.none())
        before.append(draw(value))
        after.append(before[-1] if draw(st.booleans()) else draw(value))
    return before, after


# -- the judge: scalars, fractions, None for unknown ---------------------------------------------


def value(node, before, after):
    match node:
        case e.Number(v):
            return Fraction(v)
        case e.Level(i, _):
            return Fraction(i)
        case e.Ref("change", _, j):
            return None if before[j] is None or after[j] is None else Fraction(after[j]) - Fraction(before[j])
        case e.Ref(when, _, j):
            got = (before if when == "before" else after)[j]
            return None if got is None else Fraction(got)
    parts = [value(child, before, after) for child in e.children(node)]
    if None in parts:
        return None
    match node:
        case e.Sum() | e.Call("sum", _):
            return sum(parts)
        case e.Negate():
            return -parts[0]
        case e.Product():
            return parts[0] * parts[1]
        case e.Quotient():
            return parts[0] / parts[1]
        case e.Call("abs", _):
            return abs(parts[0])
        case e.Call("min", _):
            return min(parts)
        case e.Call("max", _):
            return max(parts)
    raise AssertionError(node)


def truth(node, before, after):
    """0, 0.5 or 1 by the tables of Kleene."""
    match node:
        case e.Compare(operator, left, right):
            a, b = value(left, before, after), value(right, before, after)
            return 0.5 if a is None or b is None else float(_compare(operator, a, b))
        case e.Member(item, values):
            a = value(item, before, after)
            return 0.5 if a is None else float(any(a == value(v, before, after) for v in values))
        case e.Changed("changed", _, j):
            return float(before[j] != after[j])
        case e.Changed(how, _, j):
            if before[j] is None or after[j] is None:
                return 0.5
            return float(after[j] > before[j] if how == "increased" else after[j] < before[j])
        case e.Changes(bound, count, _, indices):
            n = sum(before[j] != after[j] for j in indices)
            return float({"most": n <= count, "least": n >= count, "exactly": n == count}[bound])
        case e.Not(part):
            return 1 - truth(part, before, after)
        case e.And(parts):
            return min(truth(part, before, after) for part in parts)
        case e.Or(parts):
            return max(truth(part, before, after) for part in parts)
        case e.Implies(cause, effect):
            return max(1 - truth(cause, before, after), truth(effect, before, after))
    raise AssertionError(node)


def _compare(operator, a, b):
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]


# -- properties -----------------------------------------------------------------------------------


def rules_of(*bodies):
    return RuleSet(tuple(Rule(e.text(body), body) for body in bodies), FEATURES)


def array(values):
    return np.array([np.nan if v is None else v for v in values])


@given(conditions)
@HALF
def test_what_is_written_is_read_back(body):
    assert parse_rule(e.text(body), index_of(FEATURES)) == body


@given(st.lists(conditions, min_size=1, max_size=3), st.lists(people(), min_size=1, max_size=5))
@HALF
def test_truth_over_arrays_is_that_of_a_scalar_judge(bodies, rows):
    rules = rules_of(*bodies)
    before, after = (np.stack([array(row[side]) for row in rows]) for side in (0, 1))
    expected = np.array([[truth(body, *row) for body in bodies] for row in rows])
    np.testing.assert_array_equal(rules.truth(before, after), expected)
    np.testing.assert_array_equal(rules.holds(before, after), expected > 0)
    np.testing.assert_array_equal(rules.satisfied(before, after), (expected > 0).all(1))


@given(conditions, people(), people())
@HALF
def test_torch_agrees_with_numpy(body, one, other):
    torch = pytest.importorskip("torch")
    rules = rules_of(body)
    before, after = array(one[0]), np.stack([array(one[1]), array(other[1])])
    got = rules.truth(torch.tensor(before), torch.tensor(after))
    np.testing.assert_array_equal(got.numpy(), rules.truth(before, after))
    np.testing.assert_array_equal(
        rules.satisfied(torch.tensor(before), torch.tensor(after)).numpy(), rules.satisfied(before, after)
    )


def boxes(rng, n):
    """(n, d) bounds of before and after: wide, narrow and single points; levels in whole positions."""
    top = np.array([len(LEVELS[name]) - 1 if name in LEVELS else np.inf for name in NAMES])
    ends = []
    for _ in range(2):
        width = rng.choice([0.0, 0.0, 0.3, 2.0, 8.0], size=(n, len(NAMES)))
        low = rng.uniform(-4, 4, size=width.shape)
        high = low + width
        levels = np.sort(rng.integers(0, np.where(np.isinf(top), 1, top + 1), size=(2, *width.shape)), axis=0)
        levels[1] = np.where(rng.random(width.shape) < 0.5, levels[0], levels[1])
        ends += [np.where(np.isinf(top), low, levels[0]), np.where(np.isinf(top), high, levels[1])]
    return ends


def inside(low, high, rng, n=30):
    """(n, m, d) points of m boxes: corners and insides."""
    points = low + rng.random((n, *low.shape)) * (high - low)
    corners = rng.random((n // 2, *low.shape)) < 0.5
    points[: n // 2] = np.where(corners, low, high)
    whole = np.array([name in LEVELS for name in NAMES])
    return np.where(whole, np.rint(points), np.clip(points, low, high))


@given(st.lists(conditions, min_size=1, max_size=4), st.integers(0, 2**32 - 1))
@HALF
def test_a_judged_box_holds_no_counterexample(bodies, seed):
    rules, rng = rules_of(*bodies), np.random.default_rng(seed)
    box = boxes(rng, 60)
    verdict = rules.interval(*box)
    before, after = inside(box[0], box[1], rng), inside(box[2], box[3], rng)
    same = (before >= box[2]) & (before <= box[3]) & (rng.random(before.shape) < 0.5)
    seen = rules.truth(before, np.where(same, before, after))
    assert (seen.min(0)[verdict == 1] == 1).all()
    assert (seen.max(0)[verdict == -1] == 0).all()


@given(conditions, people(missing=False))
@HALF
def test_a_box_of_one_point_is_decided(body, row):
    rules = rules_of(body)
    before, after = array(row[0]), array(row[1])
    expected = truth(body, *row)
    got = rules.interval(before, before, after, after)[0]
    sums = [n for n in e.walk(body) if isinstance(n, (e.Sum, e.Product, e.Quotient))]
    if got == 0:  # allowed only where a chain of operations could have lost a digit at an exact tie
        assert sums or any(isinstance(n, e.Ref) and n.when == "change" for n in e.walk(body))
    else:
        assert got == (1 if expected else -1)


@given(conditions, people(missing=False), st.integers(0, 2**32 - 1))
@HALF
def test_level_sets_narrow_a_box_soundly(body, row, seed):
    rng = np.random.default_rng(seed)
    before, after = array(row[0]), array(row[1])
    sets = []
    for side in (before, after):
        masks = {}
        for name, values in LEVELS.items():
            masks[INDEX[name]] = rng.random((60, len(values))) < 0.4
            masks[INDEX[name]][:, int(side[INDEX[name]])] = True
        sets.append(masks)
    low, high, low_after, high_after = boxes(rng, 60)
    ends = [np.minimum(low, before), np.maximum(high, before)]
    ends += [np.minimum(low_after, after), np.maximum(high_after, after)]
    verdict = rules_of(body).interval(*ends, before_levels=sets[0], after_levels=sets[1])
    assert np.isin(verdict, (0, 1 if truth(body, *row) else -1)).all()


def holds(atom, before, after):
    match atom:
        case Moved(index, changed):
            return (before[index] != after[index]) == changed
        case Levels(side, index, allowed):
            return int((before if side == "before" else after)[index]) in allowed
        case Linear(terms, changed, bound, strict):
            total = sum(w * (before if side == "before" else after)[j] for side, j, w in terms)
            total += sum(w * (before[j] != after[j]) for j, w in changed)
            return total < bound - 1e-9 if strict else total <= bound + 1e-9


@given(conditions, people(missing=False))
@HALF
def test_the_normal_form_says_the_same(body, row):
    form = normal_form(body, FEATURES)
    assume(form is not None)
    got = all(any(holds(atom, *row) for atom in clause) for clause in form.clauses)
    assert got == bool(truth(body, *row))


SMALL = {"b": (0, 1), "c": ("red", "green"), "o": ("low", "mid", "high"), "n": ()}
SMALL_FEATURES = tuple(
    SimpleNamespace(
        name=name, kind={"b": "binary", "c": "categorical", "o": "ordinal", "n": "integer"}[name],
        low=0 if name == "n" else None, high=2 if name == "n" else None, levels=levels,
        has_levels=name != "n",
    )
    for name, levels in SMALL.items()
)  # fmt: skip
LATTICE = np.stack(
    [g.ravel() for g in np.meshgrid(*[np.arange(n) for n in (2, 2, 3, 3)] * 2, indexing="ij")], axis=-1
).astype(float)  # every before and after of the four features: 1296 pairs
SMALL_TEXTS = st.sampled_from(
    """
    after.b == 1|after.b == 0|not changed(b)|changed(b)|before.b == 1 implies after.c == 'red'|changed(c)
    after.c == 'green'|after.c != 'green' or after.o >= 'mid'|after.o > before.o|after.o < 'high'
    after.o == 'low'|increased(n)|after.n <= before.n|after.n + after.o >= 4|after.n - before.n >= 2
    2 * after.n == 3|after.n > 1|at most 1 change|at least 3 changes|exactly 2 changes of b, c, o
    after.n * after.n >= 3|abs(change.n) >= 1|max(after.n, after.o) <= 1|after.b implies changed(o)
    after.o in {'low', 'high'}|change.o + change.n == 3|min(after.n, 2 - after.n) >= 1
    after.c == before.c implies at most 0 changes of n
    """.strip()
    .replace("\n    ", "|")
    .split("|")
)


@given(st.lists(SMALL_TEXTS, min_size=1, max_size=5, unique=True))
@HALF
def test_contradictions_are_exactly_those_of_the_lattice(texts):
    rules = RuleSet.parse(texts, SMALL_FEATURES)
    possible = rules.satisfied(LATTICE[:, :4], LATTICE[:, 4:]).any()
    sentence = rules.contradiction()
    assert (sentence is None) == possible
    if sentence is not None:  # the rules named are enough, and each of them is needed
        named = [text for text in texts if f"'{text}'" in sentence]
        assert not RuleSet.parse(named, SMALL_FEATURES).satisfied(LATTICE[:, :4], LATTICE[:, 4:]).any()
        if len(named) > 1:
            for text in named:
                fewer = RuleSet.parse([t for t in named if t != text], SMALL_FEATURES)
                assert fewer.satisfied(LATTICE[:, :4], LATTICE[:, 4:]).any()


@given(st.text(alphabet="abxy()<>=!'\"`.,{}+-*/ 0123456789\\andorniftheAFTEßé\n", max_size=60))
@HALF
def test_any_text_is_read_or_refused_with_a_place(text):
    try:
        RuleSet.parse([text], FEATURES)
    except RuleError as error:
        assert 0 <= error.start <= len(text) + 1 and error.end > error.start
