"""Every number of an audit has a guard that is named here, and all of them together tell nothing of one or two."""

from __future__ import annotations

import itertools
import json
import warnings
from functools import lru_cache

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.impact.test_audit import SCHEMA, lender, people, whole

import wayforward as wf
from wayforward.errors import DataError
from wayforward.evaluate import stats
from wayforward.groups import Groups
from wayforward.impact.audit import audit
from wayforward.impact.audit.twins import twins
from wayforward.impact.privacy import FEWEST, mean_in_steps, rate_in_steps, step_of
from wayforward.impact.summaries import summarize
from wayforward.schema import SchemaWarning

# What stands before each number. A figure of people that is none of these must not be added to an audit.
SETTING = "what was asked for, or a name: nothing of what people have or pay"
WORDS = "counts only of groups that are told, in words"
SUMS = "suppression: the equations of all groups and of the parts where two attributes meet"
FOLLOWS = "made of figures that are told, as comparison.is_published sees to"
PARTS = "suppression.may_be_told: the groups of one attribute, so that three people are left or none"
STEPS = "privacy: in steps that three people make, nothing of fewer than ten"
DIGITS = "of ten or more, nobody's own, in two digits"
ALIKE = "exact where it is made of parts that are told, else in steps"

GROUP = {
    **dict.fromkeys(("group", "compared", "compared_in_refusal", "withheld", "why_withheld"), SETTING),
    **dict.fromkeys(("people", "refused", "answered", "found", "none_exists", "not_found"), SUMS),
    "figures.*": SUMS, "asked_for.*": SUMS, "served_within_budget": SUMS, "cost_to_serve": DIGITS,
}  # fmt: skip
SERVED = {
    **dict.fromkeys(("attribute", "group"), SETTING),
    **dict.fromkeys(("served", "cost", "own_plan_served", "own_plan_cost", "extra_cost"), STEPS),
}
GUARDS = {
    **dict.fromkeys(("format", "shares_served", "correction", "meaning.*"), SETTING),
    **dict.fromkeys(("n", "refused", "answered"), SUMS),
    "unread.people": WORDS, "unread.columns.*": WORDS, "unread.by_group.*": PARTS,
    **{f"overall.{name}": guard for name, guard in GROUP.items()},
    "budgets": DIGITS, "comparisons": FOLLOWS, "stand": FOLLOWS, "notes": WORDS,
    **{f"attributes.{name}": SETTING for name in ("name", "intersection", "seen_by_the_model")},
    "attributes.without_a_label": SUMS, "attributes.notes": WORDS,
    **{f"attributes.groups.{name}": guard for name, guard in GROUP.items()},
    **{f"attributes.gaps.{name}": SETTING for name in ("attribute", "metric", "first", "second")},
    # of lines and what they cost more: in steps
    **{f"attributes.gaps.{name}": FOLLOWS for name in ("difference", "values", "n", "p", "p_corrected", "stands")},
    **{f"attributes.agreement.{name}": SETTING for name in ("attribute", "first", "second")},
    **{
        f"attributes.agreement.{name}": FOLLOWS
        for name in ("value", "by_chance", "p", "p_corrected", "n", "differs_most.feature", "differs_most.shares",
                     "stands")
    },
    **{f"attributes.simpson.{name}": SETTING for name in ("attribute", "metric", "first", "second", "by")},
    **{f"attributes.simpson.{name}": ALIKE for name in ("within", "strata", "n")},
    **{f"attributes.simpson.{name}": FOLLOWS for name in ("whole", "turns")},
    "attributes.simpson.standard_errors": DIGITS,
    "attributes.twins": SETTING,
    **{f"attributes.twins.{name}": SETTING for name in ("attribute", "why_not", "pairs.group", "pairs.other")},
    "attributes.twins.do.*": DIGITS,
    # who has a twin is told by what people are, not by how they fare
    **{f"attributes.twins.{name}": WORDS for name in ("twins_impossible", "pairs.people")},
    **{
        f"attributes.twins.{name}": STEPS
        for name in ("people", "largest_cost_difference", "differs", "pairs.twin_accepted", "pairs.cost_difference",
                     "pairs.plan_for_one_only")
    },
    **{f"attributes.segregation.*.{name}": STEPS for name in ("people", "followed")},
    "attributes.segregation.*.dimensions.*": DIGITS, "attributes.segregation.*.worse": FOLLOWS,
    "worst_off.conditions": SETTING, "worst_off.metric": SETTING,
    **{
        f"worst_off.{name}": STEPS for name in ("value", "rest", "p", "p_corrected", "gap", "n", "share", "stands")
    },
    **{
        f"summaries.{name}": SETTING
        for name in ("name", "learnt_from", "told_of", "cost_unit", "lines.if", "lines.change", "lines.text",
                     "lines.withheld", "curve.cost", "meta.seed", "meta.in_words", "meta.citation", "meta.parameters.*")
    },
    **{f"summaries.lines.{name}": STEPS for name in ("told", "how_much", "works", "cost", "used")},
    **{f"summaries.{part}.{name}": guard for part in ("everybody", "groups") for name, guard in SERVED.items()},
    **{f"summaries.{name}": STEPS for name in ("extra_cost", "curve.served", "curve.own_plan_served")},
    **{f"robustness.{name}": SETTING for name in ("error", "models", "groups.attribute", "groups.group")},
    **{
        f"robustness.groups.{name}": PARTS
        for name in ("n", "yes_with_errors", "yes_of_retrained_models", "yes_by_retrained_model",
                     "yes_of_all_retrained_models")
    },
    **{f"fixed.{name}": SETTING for name in ("most_listed", "groups.attribute", "groups.group")},
    **{f"fixed.groups.{name}": PARTS for name in ("n", "possible", "proved", "listed", "open")},
    **{f"proved.{name}": SETTING for name in ("most_plans", "groups.attribute", "groups.group")},
    **{
        f"proved.groups.{name}": PARTS
        for name in ("plans", "cheapest", "within_1", "within_5", "plans_open", "without", "none_exists",
                     "without_open")
    },
    **{
        f"meta.{name}": SETTING
        for name in ("method", "parameters.*", "model", "target", "world", "cost_unit", "robust", "seed",
                     "smallest_group_compared", "second_method", "refuted", "seconds_recommend", "versions.*")
    },
}  # fmt: skip
NAMED = (
    "figures",
    "asked_for",
    "meaning",
    "do",
    "segregation",
    "dimensions",
    "parameters",
    "versions",
    "columns",
    "by_group",
)


def leaves(plain, at: tuple[str, ...] = ()):
    """Yield the path of every number and text; estimates are one, lists have no places, keys that are names are '*'."""
    if isinstance(plain, dict) and not {"value", "low", "high"} <= set(plain):
        for key, value in plain.items():
            yield from leaves(value, (*at, "*" if at and at[-1] in NAMED else key))
        return
    if isinstance(plain, list) and any(isinstance(one, (dict, list)) for one in plain):
        for one in plain:
            yield from leaves(one, at)
        return
    path = ".".join(at)
    yield path.split(".dimensions.*")[0] + ".dimensions.*" if ".dimensions.*" in path else path


def test_every_number_of_an_audit_has_a_guard():
    found = set(leaves(json.loads(whole().to_json())))
    found = {
        path
        for path in found
        if path not in ("attributes.agreement", "attributes.simpson", "attributes.gaps")
    }
    assert not found - set(GUARDS), f"without a guard: {sorted(found - set(GUARDS))}"
    seldom = {
        "overall.why_withheld",
        "attributes.groups.why_withheld",
        "unread.columns.*",
        "unread.by_group.*",
    }
    gone = set(GUARDS) - found - seldom - {"attributes.twins", "attributes.twins.why_not"}
    assert not gone, f"no longer told: {sorted(gone)}"


def test_steps_are_of_three_people_and_never_of_fewer_than_ten():
    for n, hits in itertools.product((9, 10, 23), (0, 1, 2, 5, 9)):
        told = rate_in_steps(stats.rate(np.arange(n) < hits))
        assert told.n == (n if n >= 10 else 0)
        assert n < 10 or (round(n - told.value * n) % 3 == 0 or told.value == 0) and told.value <= hits / n
    cost = np.random.default_rng(0).gamma(2, 0.1, 40)
    mean = stats.mean(cost)
    told = mean_in_steps(mean, 41)
    step = step_of(1 / 40, mean.std)
    assert told.n == 38 and abs(told.value - mean.value) <= step / 2 and step * 40 >= FEWEST * mean.std
    assert (
        told.low <= mean.low
        and told.high >= mean.high
        and told.value / step == pytest.approx(round(told.value / step))
    )
    assert mean_in_steps(stats.mean(cost[:9]), 9).n == 0


# -- all of them together ------------------------------------------------------------------------------------------


@lru_cache(maxsize=3)
def audited(seed: int):
    """An audit of refused people by two attributes with parts of one; what was measured, and who is where."""
    x = people(700, seed)
    x = x[~lender(700.0, True).reached(x)[0]]
    sizes = {"f": {"x": 34, "y": 12 + seed, "z": 1}, "m": {"x": 26, "y": 16, "z": 9 + seed % 2}}
    label = {sex: np.repeat(list(n), list(n.values())) for sex, n in sizes.items()}
    rows = np.concatenate([np.flatnonzero(x[:, 0] == g)[: len(label[sex])] for g, sex in enumerate("fm")])
    x, club = x[rows], np.concatenate([label[sex] for sex in "fm"])
    stuck = np.random.default_rng(seed).choice(len(x), 5, replace=False)
    wishes = wf.Preferences.none(SCHEMA, len(x))
    for name in ("income", "savings"):
        wishes = wishes.freeze(name, who=stuck)
    sex = Groups("sex", ("female", "male"), x[:, 0].astype(np.int64), 0)  # names as an audit tells them
    groups, seen = [sex, Groups.of("club", club)], []
    got = audit(
        lender(700.0, True),
        x,
        groups,
        preferences=wishes,
        society=False,
        seed=seed,
        lasting_of=0,
        see=seen.append,
    )
    measured = seen[0]
    second = wf.recommend(lender(700.0, True), x, method="growing-spheres", preferences=wishes, seed=seed)
    lines = summarize(
        lender(700.0, True), x, "tree", groups=groups, preferences=wishes, beside=measured.recourse, seed=seed
    )
    return json.loads(got.to_json()), measured, groups, second.found[:, 0], lines, wishes


def linear_figures(metric, told, measured, groups, second, lines, wishes):
    """Yield (weights of people (m,), least, most) of every figure that is linear in what people pay or whether they
    have a plan; who is where, who has a plan where costs are attacked, and what rules and twins cost is known."""
    values = measured.measures[metric]
    known = np.isfinite(values)
    mask = {(one.name, name): one.mask(g) for one in groups for g, name in enumerate(one.names)}
    crossed = groups[0].cross(groups[1])
    mask |= {(crossed.name, name): crossed.mask(g) for g, name in enumerate(crossed.names)}

    def mean(some):
        return (some & known) / max((some & known).sum(), 1)

    def figure(weights, value, step=0.0):
        assert abs(weights @ np.where(known, values, 0) - value) <= step / 2 + 1e-9
        return weights, value - step / 2, value + step / 2

    figures = {}
    for one in told["attributes"]:
        for group in one["groups"]:
            figures[one["name"], group["group"]] = e = group["figures"].get(metric, {"n": 0})
            if e["n"]:
                yield figure(mean(mask[one["name"], group["group"]]), e["value"])
        for gap in one["gaps"]:
            if gap["metric"] == metric:
                sides = mask[one["name"], gap["first"]], mask.get((one["name"], gap["second"]))
                sides = sides if sides[1] is not None else (sides[0], ~sides[0])
                for side, value in zip(sides, gap["values"], strict=True):
                    yield figure(mean(side), value)
    yield figure(mean(known), told["overall"]["figures"][metric]["value"])
    score = measured.recourse.score_before
    fifths = np.searchsorted(np.unique(np.quantile(score, (0.2, 0.4, 0.6, 0.8))), score)
    for s in (s for one in told["attributes"] for s in one["simpson"] if s["metric"] == metric):
        a, b = (mask[s["attribute"], s[side]] for side in ("first", "second"))
        yield figure(mean(a) - mean(b), s["whole"])
        other = next(one for one in groups if one.name != s["attribute"])
        spread = 1.0 if metric == "usable" else values[(a | b) & known].std()
        if "second method" in s["by"]:
            stay = [int((side & known & second).sum()) for side in (a, b)]
            left = [int((side & known & ~second).sum()) for side in (a, b)]
            assert not any(0 < n < 3 for n in left)
            step = step_of(1 / min(stay), spread) if any(left) else 0.0
            yield figure(mean(a & second) - mean(b & second), s["within"], step)
            continue
        stratum, least = (fifths, 5 + 3 * (metric == "cost")) if "fifths" in s["by"] else (other.member, 5)
        cells = []
        for k in np.unique(stratum):
            cell = [side & (stratum == k) for side in (a, b)]
            enough = min((c & known).sum() for c in cell) >= 5 and min(c.sum() for c in cell) >= least
            if "fifths" not in s["by"]:
                parts = [
                    name
                    for name in crossed.names
                    if any(np.array_equal(mask[crossed.name, name], c) for c in cell)
                ]
                enough &= all(figures[crossed.name, name]["n"] > 0 for name in parts)
            cells += [cell] * bool(enough)
        n = [sum(int((c & known).sum()) for c in cell) for cell in cells]
        weights = sum(m / sum(n) * (mean(c[0]) - mean(c[1])) for m, c in zip(n, cells, strict=True))
        step = step_of(np.abs(weights).max(), spread) if "fifths" in s["by"] else 0.0
        yield figure(weights, s["within"], step)
    scored = np.isin(np.arange(len(values)), lines.who)
    for one in [told["summaries"][0]["everybody"], *told["summaries"][0]["groups"]]:
        some = scored & mask.get((one["attribute"], one["group"]), np.ones(len(values), dtype=bool))
        if metric == "usable" and one["own_plan_served"]["n"]:
            share, n = one["own_plan_served"]["value"], some.sum()
            yield some / n, share, share + 2 / n
        if metric == "cost" and one["own_plan_cost"]["n"]:
            yield figure(
                mean(some),
                one["own_plan_cost"]["value"],
                step_of(1 / (some & known).sum(), values[some & known].std()),
            )
        if metric == "cost" and one["extra_cost"]["n"]:
            extra = np.full(len(values), np.nan)
            extra[lines.who] = np.where(lines.line >= 0, lines.recourse.cost[:, 0], np.nan)
            paid, both = extra.copy(), some & np.isfinite(extra - values)
            step = step_of(1 / both.sum(), (extra - values)[both].std())
            yield figure(-mean(both), one["extra_cost"]["value"] - paid[both].mean(), step)
    twins_of = next(one["twins"] for one in told["attributes"] if one["name"] == "sex")
    exact = twins(
        measured.problem, measured.method, measured.answered, measured.measures["cost"], groups[0], preferences=wishes,
        seed=measured.seed,
    )  # fmt: skip
    for pair in twins_of["pairs"] if metric == "cost" else ():
        true = next(
            one for one in exact.pairs if (one.group, one.other) == (pair["group"], pair["other"])
        ).difference
        some = mask["sex", pair["group"]] & known
        if pair["cost_difference"]["n"] and true.n == some.sum():
            paid = true.value + values[some].mean()
            yield figure(-mean(some), pair["cost_difference"]["value"] - paid, step_of(1 / true.n, true.std))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("metric", ["cost", "usable"])
def test_all_that_an_audit_tells_leaves_everybody_open(metric, seed):
    """Gaps among people alike, where a second method finds a plan, twins and rules were no part of the equations: with
    them one woman's cost followed to the last digit, and whether she had a plan."""
    known_of = told, measured, groups, second, lines, wishes = audited(seed)
    weights, least, most = (np.array(some) for some in zip(*linear_figures(metric, *known_of), strict=True))
    values = measured.measures[metric]
    known = np.isfinite(values)
    assert len(weights) > 12 and {s["metric"] for one in told["attributes"] for s in one["simpson"]} >= {
        metric
    }
    part = groups[0].member * 10 + groups[1].member
    top, spread = float(values[known].max()), float(values[known].std())
    both = np.vstack([weights, -weights])[:, known]
    bound = np.concatenate([most + 1e-9, -least + 1e-9])
    sizes = np.bincount(part[known])
    masks = [one.mask(g)[known] for one in (*groups, groups[0].cross(groups[1])) for g in range(one.n_groups)]
    scored = np.isin(np.flatnonzero(known), lines.who)
    masks += [some & half for some in masks for half in (scored, ~scored)]
    alike = [some for some in masks if some.sum() >= FEWEST and np.ptp(values[known][some]) == 0]
    for g in np.unique(part[known]):
        who = np.flatnonzero(part[known] == g)
        few = [who] if 0 < sizes[g] < 3 else [who[:1], who[-1:]]
        for some in few:
            if any(of[some].all() for of in alike):  # what all of a group are, each of them is
                continue
            aim = np.zeros(known.sum())
            aim[some] = 1
            ends = [linprog(way * aim, both, bound, bounds=(0, top), method="highs").fun for way in (1, -1)]
            width = -ends[1] - ends[0]
            assert width > (spread if metric == "cost" else 0.999), (g, sizes[g], width, spread)


# -- attributes whose groups are nearly the same people ---------------------------------------------------------------


def nearly_alike(seed: int, n: int) -> list[Groups]:
    """Two or three attributes over n people: each after the first is the first, groups put together, with one to three
    people elsewhere and, at times, a label missing."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, n)
    out = [Groups.of("a", [f"a{g}" for g in first])]
    for name in "bc"[: 1 + seed % 2]:
        label = rng.integers(0, 3, 4)[first] if seed % 3 else rng.permutation(4)[first]
        moved = rng.choice(n, int(rng.integers(1, 4)), replace=False)
        label[moved] = rng.integers(0, 3, len(moved))
        texts = [f"{name}{g}" for g in label]
        if seed % 5 == 0:
            texts[int(rng.integers(n))] = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SchemaWarning)
            out.append(Groups.of(name, texts))
    return out


@pytest.mark.parametrize("seed", range(24))
def test_groups_that_are_nearly_the_same_people_tell_of_no_few(seed: int) -> None:
    """One group less the other was what one or two people pay, or whether they have a plan.

    An attack of its own: every sum that is told is a row over people; of one or two of them it tells what lies in the
    space of the rows.
    """
    x = people(90 + seed, seed)
    groups = nearly_alike(seed, len(x))
    seen: list = []
    try:
        got = audit(
            lender(700.0), x, groups, most=len(x), beside=None, society=False, summaries=(), twins_of=0, seed=0,
            lasting_of=0, see=seen.append,
        )  # fmt: skip
    except DataError as error:
        assert "told apart" in str(error) or "would tell" in str(error)
        return
    measured, told = seen[-1], got.to_dict()
    mask = {one.name: one for one in measured.attributes}
    mask |= {(crossed := a.cross(b)).name: crossed for a, b in itertools.combinations(measured.attributes, 2)}
    answered = measured.who
    for metric in ("usable", "cost"):
        values = np.asarray(measured.measures[metric], dtype=float)
        known = np.isfinite(values)
        rows = [known.astype(float)]
        for one in told["attributes"]:
            at = mask[one["name"]].member[answered]
            for group in one["groups"]:
                estimate = group["figures"].get(metric, {"n": 0}) if group["figures"] else {"n": 0}
                if estimate["n"]:
                    some = (at == mask[one["name"]].names.index(group["group"])) & known
                    assert some.sum() == estimate["n"]
                    assert estimate["value"] == pytest.approx(values[some].mean(), abs=1e-6)
                    rows.append(some.astype(float))
        space = np.array(rows)[:, known]
        cells, at, count = np.unique(space, axis=1, return_inverse=True, return_counts=True)
        parts = np.eye(cells.shape[1])
        projector = np.linalg.pinv(cells) @ cells
        left = parts - projector
        small = np.flatnonzero(count < FEWEST)
        for size in (1, 2):
            for some in itertools.combinations(small, size):
                if count[list(some)].sum() < FEWEST:
                    rank = np.linalg.matrix_rank(left[:, some], tol=1e-9)
                    assert rank == size, (metric, [cells[:, c].tolist() for c in some])
