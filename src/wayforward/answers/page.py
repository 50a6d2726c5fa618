"""One HTML report that stands alone: no script, no request to anywhere, a table beside every figure.

It opens from a mail or a folder, prints well, and holds no person's whole row: examples are named Person A, B
and so on, and show only what their plans touch.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import figures, words
from wayforward.answers.kinds_text import kind_name, kind_notes, margin_text, no_lasting_text
from wayforward.answers.preferences_text import wishes
from wayforward.answers.tables import features_asked, group_table, options_table
from wayforward.answers.text import (
    OUTCOME_LABEL,
    beside,
    consequences,
    cost_text,
    outcome_text,
    steps,
    why_text,
)
from wayforward.answers.time_text import time_text
from wayforward.errors import DataError
from wayforward.language import catalog, language
from wayforward.plain_files import write_text
from wayforward.problem.rounding import rounded
from wayforward.recourse import Outcome, Recourse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wayforward.answers.causes import SideBySide
    from wayforward.evaluate import Evaluation
    from wayforward.problem import Problem
    from wayforward.schema import Schema

_HEADLINE = (
    ("usable", "People with a usable plan"),
    ("usable_plausible", "People with a usable plan like those who are accepted"),
    ("validity", "People with a plan that the model accepts"),
    ("legal", "Plans that are legal"),
    ("rules_kept", "Plans that keep every rule"),
    ("wishes_kept", "Plans that keep the person's wishes"),
)
_COSTS = (  # metric, what it is, whether it is a share; None: in the unit of the problem's cost
    ("cost_l0", "Features changed", False),
    ("cost_weighted", "Cost, with each person's own weights", None),
    ("cost_plain", "Cost, the same without personal weights", None),
    ("cost_l1_range", "Sum of changes, as shares of their ranges", True),
    ("cost_percentile_max", "Largest percentile shift", True),
    ("redundancy", "Changes that could be taken back", False),
    ("ynn", "Share of the 5 nearest people who are accepted", True),
)


def report(
    problem: Problem,
    recourse: Recourse,
    path: str | Path,
    evaluation: Evaluation | None = None,
    people: int | list[int] = 5,
    title: str = "Ways forward",
    side_by_side: Sequence[SideBySide] = (),
    side_by_side_counts: Sequence[dict[str, str]] = (),
    kinds: Sequence[str] = (),
) -> Path:
    """Write the report of a recourse to one HTML file and return its path.

    Args:
        evaluation: what `evaluate` found; left out, it is worked out here.
        people: how many examples, spread from the cheapest to the dearest plan, or the row numbers of some.
        side_by_side: people whose plan stands beside the one without causes (`answers.side_by_side`), and a
            table, rows of equal keys, of how often each case happens.
        kinds: the examples show one option of each of these kinds ('cheapest', 'fewest', 'lasting'), looked for here;
            left out, the options of the recourse.
    Raises: MissingExtra without matplotlib or Jinja2; DataError if an example does not exist.
    """
    from wayforward.evaluate import evaluate

    if evaluation is None:
        evaluation = evaluate(recourse, problem)
    chosen = examples(recourse, people) if isinstance(people, int) else _checked(recourse, people)
    path = Path(path)
    text = render(
        problem, recourse, evaluation, chosen, title, limits=side_by_side, limits_counts=side_by_side_counts,
        kinds=kinds,
    )  # fmt: skip
    write_text(path, text)
    return path


def template_engine(*packages: str) -> Any:
    """Return the engine of the pages of packages, with the shared parts of this one; data is escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    engine = Environment(
        extensions=["jinja2.ext.i18n"],
        loader=ChoiceLoader([PackageLoader(one) for one in (*packages, "wayforward.answers")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.policies["ext.i18n.trimmed"] = True
    callables: Any = engine  # what the extension adds
    callables.install_gettext_callables(
        lambda text: catalog(language()).gettext(text),
        lambda one, many, n: catalog(language()).ngettext(one, many, n),
        newstyle=True,
        pgettext=lambda context, text: catalog(language()).pgettext(context, text),
    )
    return engine


def examples(recourse: Recourse, count: int) -> list[int]:
    """Row numbers of people to show: from the cheapest to the dearest plan, one without a plan last."""
    cost = recourse.cost[:, 0]
    found = np.flatnonzero(recourse.found[:, 0])
    without = np.flatnonzero(~recourse.found[:, 0] & recourse.refused)
    last = [int(without[0])] if len(without) and count > 1 else []
    room = min(count - len(last), len(found))
    ranked = found[np.argsort(cost[found], kind="stable")]
    spread = ranked[np.unique(np.linspace(0, len(ranked) - 1, room).round().astype(int))] if room > 0 else []
    return [*(int(i) for i in spread), *last][: max(count, 0)]


def render(
    problem: Problem,
    recourse: Recourse,
    evaluation: Evaluation,
    chosen: list[int],
    title: str,
    *,
    limits: Sequence[SideBySide] = (),
    limits_counts: Sequence[dict[str, str]] = (),
    kinds: Sequence[str] = (),
) -> str:
    """The HTML text. Everything that comes from data or schema is escaped by the template engine."""
    from markupsafe import Markup

    outcomes = [
        {
            "Outcome": OUTCOME_LABEL[o],
            "People": words.number(n),
            "Share": words.percent(n / max(1, recourse.n)),
        }
        for o in Outcome
        for n in [int((evaluation.outcome == o).sum())]
        if n or o is not Outcome.NOT_ASKED
    ]
    requested = features_asked(recourse)
    groups = group_table(evaluation) if evaluation.groups is not None else []
    shown = rounded(problem, _of_kinds(problem, recourse, chosen, kinds)) if chosen else None
    people = [] if shown is None else [_example(problem, shown, i) for i in range(shown.n)]
    text: str = (
        template_engine()
        .get_template("report.html.j2")
        .render(
            title=title,
            lead=_lead(problem, recourse, evaluation),
            outcomes=outcomes,
            headline=_headline(evaluation),
            costs=_costs(evaluation, problem.cost.unit),
            in_ranges=problem.cost.unit == words.RANGES,
            asked=[
                {
                    "Feature": row["feature"],
                    "Asked in": words.count(row["asked"], "plan"),
                    "Share": words.percent(row["share"]),
                    "Direction": _direction(row),
                }
                for row in requested
            ],
            coverage=_coverage(evaluation),
            groups=[_group_row(row) for row in groups],
            gap=_gap(evaluation) if groups else "",
            population=Markup(
                figures.svg(
                    figures.figure_population(recourse, evaluation),
                    "population",
                    "How people fared",
                    "Bar charts: outcomes, the cost of the cheapest plans, the features they ask for"
                    + (", and results by group" if groups else "")
                    + ". The tables below hold the same numbers.",
                )
            ),
            curve=Markup(
                figures.svg(
                    figures.figure_coverage(evaluation),
                    "coverage",
                    "Share of people with a usable plan within a given cost",
                    "A rising line. The table below holds the same numbers.",
                )
            ),
            people=people,
            limits=[_limits(one, place) for place, one in enumerate(limits)],
            limits_counts=list(limits_counts),
            features=features_table(problem.schema),
            rules=list(problem.schema.rules),
            facts=_facts(problem, recourse, evaluation),
            notes=list(evaluation.notes),
        )
    )
    return text


def _of_kinds(problem: Problem, recourse: Recourse, chosen: list[int], kinds: Sequence[str]) -> Recourse:
    """The answers to some people: as they are, or one option of each kind."""
    from wayforward.methods.kinds import kinds_beside

    return (
        kinds_beside(problem, recourse, chosen, kinds)
        if kinds
        else recourse[np.array(chosen, dtype=np.int64)]
    )


def _example(problem: Problem, shown: Recourse, i: int) -> dict[str, Any]:
    from markupsafe import Markup

    name, one = f"Person {_letters(i)}", shown[i]
    found = [int(o) for o in np.flatnonzero(one.found[0])]
    drawing = ""
    if found:
        drawing = figures.svg(
            figures.figure_options(one, 0),
            f"options-{i}",
            f"Options of {name}",
            "For each feature: where it stands now and where each option puts it. "
            "The table holds the same values.",
        )
    return {
        "name": name,
        "outcome": " ".join(filter(None, [outcome_text(one.outcome[0, 0]), no_lasting_text(one)])),
        "why": why_text(problem, one, 0),
        "limits": [] if one.preferences is None else wishes(one.preferences, 0),
        "options": [
            {
                "steps": steps(one, 0, o),
                "follows": [
                    *consequences(one, 0, o),
                    *filter(None, [time_text(one, o), margin_text(one, o)]),
                    *kind_notes(one, o, first="option 1"),
                ],
                "cost": ", ".join(filter(None, [kind_name(one, o), cost_text(one, 0, o)])),
                "beside": beside(one, found[0], o, "option 1") if place and not one.kind[0, o] else "",
            }
            for place, o in enumerate(found)
        ],
        "figure": Markup(drawing),
        "table": [{k.capitalize(): v for k, v in row.items()} for row in options_table(one, 0)],
    }


def _limits(one: SideBySide, place: int) -> dict[str, Any]:
    from markupsafe import Markup

    drawn = one.figure()
    drawing = ""
    if drawn is not None:
        drawing = figures.svg(
            drawn,
            f"limits-figure-{place}",
            f"The two plans of {one.name}",
            "For each feature: where it stands now, where the plan without causes puts it, where that really leads, "
            "and where the plan with causes puts it. The table holds the same values.",
        )
    parts = ("name", "statements", "without", "played_out", "within", "verdict", "table")
    return {name: getattr(one, name) for name in parts} | {"figure": Markup(drawing)}


def _letters(place: int) -> str:
    """0 -> A, 25 -> Z, 26 -> AA."""
    text = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        text = chr(65 + rest) + text
    return text


def _lead(problem: Problem, recourse: Recourse, evaluation: Evaluation) -> str:
    refused = int(evaluation.refused.sum())
    everybody = words.count(recourse.n, "person", "people")
    if 1 < refused == recourse.n:
        text = f"The model refused all {everybody}. "
    else:
        text = f"{everybody}, of whom the model refused {words.number(refused)}. "
    if refused:
        with_plan = int(np.nansum(evaluation.people["usable"]))
        have = "All of them have" if 1 < refused == with_plan else f"{words.number(with_plan)} of them have"
        text += f"{have} a plan that was checked and works. "
    if evaluation.unread.any():
        text += (
            f"{words.number(int(evaluation.unread.sum()))} more could not be read and were not asked about; "
            "they count as not served. "
        )
    return text + f"The aim is {problem.target.describe()}."


def _headline(evaluation: Evaluation) -> list[dict[str, str]]:
    rows = []
    for name, label in _HEADLINE:
        got = evaluation.totals.get(name)
        if got is None or not np.isfinite(got.value):
            continue
        rows.append(
            {
                "Measure": label,
                "Value": words.percent(got.value, 1),
                "95 % interval": f"{words.percent(got.low, 1)} to {words.percent(got.high, 1)}",
                "Counted": words.number(got.n),
            }
        )
    return rows


def _costs(evaluation: Evaluation, unit: str) -> list[dict[str, str]]:
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
                "Measure": label,
                "Mean": value,
                "95 % interval": f"{low} to {high}",
                "Median": median,
                "People": words.number(got.n),
            }
        )
    return rows


def _coverage(evaluation: Evaluation) -> list[dict[str, str]]:
    """The coverage curve at the costs that each tenth of the people who have a plan needs."""
    cost, share = evaluation.coverage_curve()
    if not len(cost):
        return []
    at = np.unique(np.linspace(0, len(cost) - 1, min(10, len(cost))).round().astype(int))
    return [
        {"Cost up to": words.cost_number(float(cost[i])), "People": words.percent(float(share[i]), 1)}
        for i in at
    ]


def _group_row(row: dict[str, Any]) -> dict[str, str]:
    has = np.isfinite(row.get("cost", np.nan))
    return {
        "Group": row["group"],
        "Asked": words.number(row["asked"]),
        "Have a usable plan": f"{words.percent(row['usable'], 1)} "
        f"({words.percent(row['low'], 1)} to {words.percent(row['high'], 1)})",
        "Mean cost": f"{words.cost_number(row['cost'], digits=3)} "
        f"({words.cost_number(row['cost low'], digits=3)} to {words.cost_number(row['cost high'], digits=3)})"
        if has
        else "no plan",
    }


def _gap(evaluation: Evaluation) -> str:
    gap = evaluation.gaps()
    if gap.largest_pair is None:
        return "Costs of groups cannot be compared: fewer than two groups have plans."
    a, b = gap.largest_pair
    e = gap.largest
    sure = "" if e.low > 0 or e.high < 0 else " The interval holds zero: this may be chance."
    return (
        f"The largest difference in mean cost is {words.cost_number(e.value)} of a range "
        f"({words.cost_number(e.low)} to {words.cost_number(e.high)}): {words.quoted(a)} pay more than "
        f"{words.quoted(b)}.{sure}"
    )


def features_table(schema: Schema) -> list[dict[str, str]]:
    """One row a feature: its name, its values, and who may change it."""
    who = {"actionable": "people can act on it", "mutable": "only follows", "immutable": "never changes"}
    direction = {"any": "", "increase": ", only up", "decrease": ", only down"}
    rows = []
    for f in schema.features:
        if f.carried:
            reach = "each person's own"
        elif f.has_levels:
            shown = [f.level_text(i) for i in range(min(f.n_levels, 6))]
            reach = ", ".join(shown) + (f" and {f.n_levels - 6} more" if f.n_levels > 6 else "")
        else:
            low = "no limit" if f.low is None else words.value_text(f, f.low, unit=False)
            high = "no limit" if f.high is None else words.value_text(f, f.high)
            reach = f"{low} to {high}"
        rows.append(
            {
                "Feature": f.text_label,
                "Values": reach,
                "Change": who[f.actionability] + direction[f.direction],
            }
        )
    return rows


def _facts(problem: Problem, recourse: Recourse, evaluation: Evaluation) -> list[dict[str, str]]:
    meta = recourse.meta
    rows = [
        ("Method", recourse.method or "not stated"),
        ("Model", type(problem.model).__name__),
        ("World", type(problem.world).__name__),
        ("Cost", type(problem.cost).__name__),
        ("Options a person", words.number(recourse.k)),
        ("Seed", str(meta.get("seed", "not stated"))),
    ]
    if np.isfinite(evaluation.people_per_second):
        speed = evaluation.people_per_second
        rows.append(("People a second", words.number(speed, 0 if speed >= 10 else 1)))
    if evaluation.model_rows:
        rows.append(("Model rows", words.number(evaluation.model_rows)))
    versions = meta.get("versions")
    if isinstance(versions, dict):
        rows += [(f"Version of {name}", str(v)) for name, v in versions.items()]
    return [{"Fact": name, "Value": value} for name, value in rows]


def _direction(row: dict[str, Any]) -> str:
    parts = [f"{n} {direction}" for direction, n in (("up", row["up"]), ("down", row["down"])) if n]
    return ", ".join(parts) or "another category"


def _checked(recourse: Recourse, people: list[int]) -> list[int]:
    for i in people:
        if not 0 <= i < recourse.n:
            raise DataError(f"There is no person {i} to show; people are numbered 0 to {recourse.n - 1}.")
    return [int(i) for i in people]
