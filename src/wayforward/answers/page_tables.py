"""Tables of the report and its first sentences: how people fared, what plans cost, groups, and how it was made."""

from __future__ import annotations

from collections import Counter
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.language import N_, gettext, ngettext

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wayforward.evaluate import Evaluation
    from wayforward.methods.reason_sets import ReasonSets
    from wayforward.model import Model
    from wayforward.problem import Problem
    from wayforward.recourse import Recourse
    from wayforward.schema import Schema
    from wayforward.shapes import Mask

_HEADLINE = (
    ("usable", N_("People with a usable plan")),
    ("usable_plausible", N_("People with a usable plan like those who are accepted")),
    ("validity", N_("People with a plan that the model accepts")),
    ("legal", N_("Plans that are legal")),
    ("rules_kept", N_("Plans that keep every rule")),
    ("wishes_kept", N_("Plans that keep the person's wishes")),
)
_COSTS = (  # metric, what it is, whether it is a share; None: in the unit of the problem's cost
    ("cost_l0", N_("Features changed"), False),
    ("cost_weighted", N_("Cost, with each person's own weights"), None),
    ("cost_plain", N_("Cost, the same without personal weights"), None),
    ("cost_l1_range", N_("Sum of changes, as shares of their ranges"), True),
    ("cost_percentile_max", N_("Largest percentile shift"), True),
    ("redundancy", N_("Changes that could be taken back"), False),
    ("ynn", N_("Share of the 5 nearest people who are accepted"), True),
)
_SETS = 20  # of features that keep a no, at most


def lead(problem: Problem, recourse: Recourse, evaluation: Evaluation) -> str:
    """How many people there are, how many were refused and have a plan, and what is aimed at, in sentences."""
    refused = int(evaluation.refused.sum())
    if evaluation.unread.all():
        texts = [
            ngettext(
                "{n} person; the model was not asked about them.",
                "{n} people; the model was asked about none of them.",
                recourse.n,
            )
        ]
    elif 1 < refused == recourse.n:
        texts = [gettext("The model refused all {n} people.", n=words.number(refused))]
    else:
        texts = [
            ngettext(
                "{n} person, of whom the model refused {refused}.",
                "{n} people, of whom the model refused {refused}.",
                recourse.n,
                refused=words.number(refused),
            )
        ]
    if refused:
        with_plan = int(np.nansum(evaluation.people["usable"]))
        if 1 < refused == with_plan:
            texts.append(gettext("All of them have a plan that was checked and works."))
        else:
            have = words.number(with_plan)
            texts.append(gettext("{n} of them have a plan that was checked and works.", n=have))
    too_late = evaluation.unread & recourse.cut_short
    unread = int((evaluation.unread & ~too_late).sum())
    if too_late.any():
        n = words.number(int(too_late.sum()))
        texts.append(gettext("{n} were not reached in the time given; they count as not served.", n=n))
    if unread:
        texts.append(
            gettext(
                "{n} more could not be read and were not asked about; they count as not served.",
                n=words.number(unread),
            )
        )
    late = int((recourse.cut_short & ~too_late).sum())
    if late:
        texts.append(
            ngettext(
                "The search for {n} person was ended by the time that was given: more time may find more.",
                "The searches for {n} people were ended by the time that was given: more time may find more.",
                late,
                n=words.number(late),
            )
        )
    texts.append(gettext("The aim is {target}.", target=problem.target.text()))
    return " ".join(texts)


def interval(low: str, high: str) -> str:
    """From where to where, both ends in words."""
    return gettext("{low} to {high}", low=low, high=high)


def headline(evaluation: Evaluation) -> list[dict[str, str]]:
    """One row a share of people or plans, with its interval."""
    rows = []
    for name, label in _HEADLINE:
        got = evaluation.totals.get(name)
        if got is None or not np.isfinite(got.value):
            continue
        rows.append(
            {
                gettext("Measure"): gettext(label),
                gettext("Value"): words.percent(got.value, 1),
                gettext("95 % interval"): interval(words.percent(got.low, 1), words.percent(got.high, 1)),
                gettext("Counted"): words.number(got.n),
            }
        )
    return rows


def costs(evaluation: Evaluation, unit: str) -> list[dict[str, str]]:
    """One row a cost, over people with a usable plan; those with personal weights where somebody gave some."""
    rows, totals = [], evaluation.totals
    weighted = "cost_plain" in totals and totals["cost_plain"].value != totals["cost_weighted"].value
    for name, label, is_share in _COSTS:
        got = evaluation.totals.get(name)
        if got is None or got.n == 0 or (name in ("cost_weighted", "cost_plain") and not weighted):
            continue
        in_ranges = is_share if is_share is not None else unit == words.RANGES
        value, low, high, median = (
            words.cost_number(part, digits=3) if in_ranges else words.number(part, 2)
            for part in (got.value, got.low, got.high, got.median)
        )
        rows.append(
            {
                gettext("Measure"): gettext(label),
                gettext("Mean"): value,
                gettext("95 % interval"): interval(low, high),
                gettext("Median"): median,
                gettext("People"): words.number(got.n),
            }
        )
    return rows


def coverage(evaluation: Evaluation) -> list[dict[str, str]]:
    """The coverage curve at the costs that each tenth of the people who have a plan needs."""
    cost, share = evaluation.coverage_curve()
    if not len(cost):
        return []
    at = np.unique(np.linspace(0, len(cost) - 1, min(10, len(cost))).round().astype(int))
    return [
        {
            gettext("Cost up to"): words.cost_number(float(cost[i])),
            gettext("People"): words.percent(float(share[i]), 1),
        }
        for i in at
    ]


def group_row(row: dict[str, Any]) -> dict[str, str]:
    """A group of `group_table` in words."""
    cost = gettext("no plan")
    if np.isfinite(row.get("cost", np.nan)):
        mean, low, high = (words.cost_number(row[key], digits=3) for key in ("cost", "cost low", "cost high"))
        cost = f"{mean} ({interval(low, high)})"
    usable, low, high = (words.percent(row[key], 1) for key in ("usable", "low", "high"))
    return {
        gettext("Group"): row["group"],
        gettext("Asked"): words.number(row["asked"]),
        gettext("Have a usable plan"): f"{usable} ({interval(low, high)})",
        gettext("Mean cost"): cost,
    }


def gap(evaluation: Evaluation) -> str:
    """The largest difference in mean cost between two groups, in one or two sentences."""
    gap = evaluation.gaps()
    if gap.largest_pair is None:
        return gettext("Costs of groups cannot be compared: fewer than two groups have plans.")
    a, b = gap.largest_pair
    e = gap.largest
    text = gettext(
        "The largest difference in mean cost is {value} of a range ({low} to {high}): {more} pay more than {less}.",
        value=words.cost_number(e.value), low=words.cost_number(e.low), high=words.cost_number(e.high),
        more=words.quoted(a), less=words.quoted(b),
    )  # fmt: skip
    if e.low > 0 or e.high < 0:
        return text
    chance = gettext("The interval holds zero: this may be chance.")
    return f"{text} {chance}"


def _model_text(model: Model) -> str:
    """What the model's own library calls it; of a pipeline its last step."""
    made = getattr(model, "wrapped", None)
    if made is None or isinstance(made, (str, PathLike)):
        return model.name
    steps = getattr(made, "steps", None)
    last = steps[-1][1] if steps else made
    return str(getattr(last, "__name__", type(last).__name__))


def facts(problem: Problem, recourse: Recourse, evaluation: Evaluation) -> list[dict[str, str]]:
    """How the answers were made: one row a fact."""
    meta = recourse.meta
    rows = [
        (gettext("Method"), recourse.method or gettext("not stated")),
        (gettext("Model"), _model_text(problem.model)),
        (
            gettext("World"),
            words.world_text("independent" if problem.independent else type(problem.world).__name__),
        ),
        (gettext("Cost"), words.cost_text(problem.cost.unit)),
        (gettext("Options a person"), words.number(recourse.k)),
        (gettext("Seed"), str(meta.get("seed", gettext("not stated")))),
    ]
    if np.isfinite(evaluation.people_per_second):
        speed = evaluation.people_per_second
        rows.append((gettext("People a second"), words.number(speed, 0 if speed >= 10 else 1)))
    if evaluation.model_rows:
        rows.append((gettext("Model rows"), words.number(evaluation.model_rows)))
    versions = meta.get("versions")
    if isinstance(versions, dict):
        rows += [(gettext("Version of {name}", name=name), str(v)) for name, v in versions.items()]
    return [{gettext("Fact"): name, gettext("Value"): value} for name, value in rows]


def direction(row: dict[str, Any]) -> str:
    """Which way plans move a feature, and how many."""
    parts = [gettext("{n} up", n=row["up"])] if row["up"] else []
    parts += [gettext("{n} down", n=row["down"])] if row["down"] else []
    return ", ".join(parts) or gettext("another category")


def keeping(schema: Schema, found: Sequence[ReasonSets], refused: Mask) -> dict[str, Any]:
    """What keeps each no a no: a lead, a row for each set of features that does so for somebody, the commonest first,
    and of how many people it was proved. Empty where nothing was looked for."""
    some = [one for one, no in zip(found, refused, strict=False) if no]
    if not some:
        return {}
    counts = Counter(features for one in some for features in one.sets)
    rows = [
        {
            gettext("Features"): ", ".join(words.label(schema.features[j]) for j in features)
            or gettext("none: nothing that they may do turns the answer"),
            gettext("People"): words.number(count),
            gettext("Share"): words.percent(count / len(some)),
        }
        for features, count in sorted(counts.items(), key=lambda item: (-item[1], len(item[0]), item[0]))
    ]
    shown, proved = rows[:_SETS], words.number(sum(one.exact for one in some))
    return {
        "lead": gettext(
            "The smallest sets of features of which it is enough that they stay as they are, and the answer stays "
            "a no, whatever else the person does. Every plan changes something in each set of its person."
        ),
        "rows": shown,
        "proved": ngettext(
            "Proved for {proved} of {n} person who was refused; elsewhere it is what a search found.",
            "Proved for {proved} of {n} people who were refused; elsewhere it is what a search found.",
            len(some),
            proved=proved,
        ),
    }
