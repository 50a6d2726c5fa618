"""One HTML report that stands alone: no script, no request to anywhere, a table beside every figure.

It opens from a mail or a folder, prints well, and holds no person's whole row: examples are named Person A, B
and so on, and show only what their plans touch.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import figures, page_tables, words
from wayforward.answers.bound_text import bound_text
from wayforward.answers.kinds_text import kind_name, kind_notes, margin_text, no_lasting_text
from wayforward.answers.preferences_text import wishes
from wayforward.answers.reason_set_text import reason_set_lines
from wayforward.answers.region_text import region_text
from wayforward.answers.tables import features_asked, group_table, options_table
from wayforward.answers.text import (
    beside,
    consequences,
    cost_text,
    outcome_label,
    outcome_text,
    steps,
    why_text,
)
from wayforward.answers.time_text import steps_text, time_text
from wayforward.errors import DataError, is_whole, no_person, require_kind, require_whole, shown
from wayforward.language import N_, catalog, gettext, language, translated, use_language, visible
from wayforward.plain_files import as_path, write_text
from wayforward.problem import Problem
from wayforward.problem.rounding import rounded
from wayforward.public import public
from wayforward.recourse import Outcome, Recourse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wayforward.answers.causes import SideBySide
    from wayforward.evaluate import Evaluation
    from wayforward.methods.reason_sets import ReasonSets
    from wayforward.schema import Schema


@public
def report(
    problem: Problem,
    recourse: Recourse,
    path: str | Path,
    evaluation: Evaluation | None = None,
    people: int | list[int] = 5,
    title: str = "",
    side_by_side: Sequence[SideBySide] = (),
    side_by_side_counts: Sequence[dict[str, str]] = (),
    kinds: Sequence[str] = (),
    keeping: Sequence[ReasonSets] = (),
    language: str | None = None,
) -> Path:
    """Write the report of a recourse to one HTML file and return its path.

    Args:
        evaluation: what `evaluate` found; left out, it is worked out here.
        people: how many examples, spread from the cheapest to the dearest plan, or the row numbers of some.
        side_by_side: people whose plan stands beside the one without causes (`answers.side_by_side`), and a
            table, rows of equal keys, of how often each case happens.
        kinds: the examples show one option of each of these kinds ('cheapest', 'fewest', 'lasting'), looked for here;
            left out, the options of the recourse.
        keeping: what keeps each no a no, one a person of the recourse (`methods.reason_sets`): a section of its own,
            and sentences beside the examples.
        title: left out, "Ways forward".
        language: "en" or "de"; left out, the one in use.
    Raises: MissingExtra without matplotlib or Jinja2; DataError if an example does not exist, or for `keeping` of other
        people.
    """
    from wayforward.evaluate import Evaluation, evaluate

    require_kind(problem, Problem, "problem")
    require_kind(recourse, Recourse, "recourse")
    if np.isscalar(people):
        require_whole(people=people)
    chosen = examples(recourse, int(people)) if np.isscalar(people) else _checked(recourse, people)  # type: ignore[arg-type]
    if len(keeping) not in (0, recourse.n):
        raise DataError(
            f"keeping holds the reasons of {len(keeping)} people, the recourse {recourse.n}. "
            "Give reason_sets(recourse)."
        )
    path = as_path(path)
    with use_language(language):
        if evaluation is None:
            evaluation = evaluate(recourse, problem)
        require_kind(evaluation, Evaluation, "evaluation")
        recourse = recourse.as_of(problem)  # what another model was told is no plan of this one
        text = render(
            problem, recourse, evaluation, chosen, title or gettext("Ways forward"), limits=side_by_side,
            limits_counts=side_by_side_counts, kinds=kinds, keeping=keeping,
        )  # fmt: skip
    write_text(path, text)
    return path


def template_engine(*packages: str) -> Any:
    """Return the engine of the pages of packages, with the shared parts of this one; data is escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    engine = Environment(
        extensions=["jinja2.ext.i18n"],
        bytecode_cache=_compiled(),
        loader=ChoiceLoader([PackageLoader(one) for one in (*packages, "wayforward.answers")]),
        autoescape=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
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
    engine.globals["language"] = language
    return engine


@cache
def _compiled() -> Any:
    """What templates were compiled to, by any engine of this process: all of them have the same syntax."""
    from jinja2 import BytecodeCache

    class CompiledTemplates(BytecodeCache):
        def __init__(self) -> None:
            self.held: dict[tuple[str, str], Any] = {}  # by name and source

        def load_bytecode(self, bucket: Any) -> None:
            bucket.code = self.held.get((bucket.key, bucket.checksum))

        def dump_bytecode(self, bucket: Any) -> None:
            self.held[bucket.key, bucket.checksum] = bucket.code

    return CompiledTemplates()


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
    keeping: Sequence[ReasonSets] = (),
) -> str:
    """The HTML text. Everything that comes from data or schema is escaped by the template engine."""
    from markupsafe import Markup

    outcomes = [
        {
            gettext("Outcome"): outcome_label(o),
            gettext("People"): words.number(n),
            gettext("Share"): words.percent(n / max(1, recourse.n)),
        }
        for o in Outcome
        for n in [int((evaluation.outcome == o).sum())]
        if n or o is not Outcome.NOT_ASKED
    ]
    requested = features_asked(recourse)
    groups = group_table(evaluation) if evaluation.groups is not None else []
    shown = rounded(problem, _of_kinds(problem, recourse, chosen, kinds)) if chosen else None
    people = [] if shown is None else [_example(problem, shown, i) for i in range(shown.n)]
    for person, i in zip(people, chosen if keeping else (), strict=False):
        person["keeping"] = reason_set_lines(problem.schema, keeping[i])
    text: str = (
        template_engine()
        .get_template("report.html.j2")
        .render(
            title=title,
            lead=page_tables.lead(problem, recourse, evaluation),
            outcomes=outcomes,
            headline=page_tables.headline(evaluation),
            costs=page_tables.costs(evaluation, problem.cost.unit),
            in_ranges=problem.cost.unit == words.RANGES,
            asked=[
                {
                    gettext("Feature"): row["feature"],
                    gettext("Asked in"): words.count(row["asked"], "plan", "plans"),
                    gettext("Share"): words.percent(row["share"]),
                    gettext("Direction"): page_tables.direction(row),
                }
                for row in requested
            ],
            coverage=page_tables.coverage(evaluation),
            groups=[page_tables.group_row(row) for row in groups],
            gap=page_tables.gap(evaluation) if groups else "",
            population=Markup(
                figures.svg(
                    figures.figure_population(recourse, evaluation),
                    "population",
                    gettext("How people fared"),
                    _charts(bool(groups)),
                )
            ),
            curve=Markup(
                figures.svg(
                    figures.figure_coverage(evaluation),
                    "coverage",
                    gettext("Share of people with a usable plan within a given cost"),
                    gettext("A rising line. The table below holds the same numbers."),
                )
            ),
            people=people,
            keeping=page_tables.keeping(problem.schema, keeping, recourse.refused),
            limits=[_limits(one, place) for place, one in enumerate(limits)],
            limits_counts=list(limits_counts),
            features=features_table(problem.schema),
            rules=list(problem.schema.rules),
            facts=page_tables.facts(problem, recourse, evaluation),
            notes=[translated(note) for note in evaluation.notes],
        )
    )
    return text


def _charts(groups: bool) -> str:
    if groups:
        return gettext(
            "Bar charts: outcomes, the cost of the cheapest plans, the features they ask for, and results by group. "
            "The tables below hold the same numbers."
        )
    return gettext(
        "Bar charts: outcomes, the cost of the cheapest plans, the features they ask for. "
        "The tables below hold the same numbers."
    )


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

    name, one = gettext("Person {name}", name=_letters(i)), shown[i]
    first = gettext("option 1")
    found = [int(o) for o in np.flatnonzero(one.found[0])]
    drawing = ""
    if found:
        drawing = figures.svg(
            figures.figure_options(one, 0),
            f"options-{i}",
            gettext("Options of {name}", name=name),
            gettext(
                "For each feature: where it stands now and where each option puts it. "
                "The table holds the same values."
            ),
        )
    return {
        "name": name,
        "outcome": " ".join(filter(None, [outcome_text(one.outcome[0, 0]), no_lasting_text(one)])),
        "why": why_text(problem, one, 0),
        "keeping": [],
        "limits": [] if one.preferences is None else wishes(one.preferences, 0),
        "options": [
            {
                "steps": steps(one, 0, o),
                "follows": [
                    *consequences(one, 0, o),
                    *filter(
                        None,
                        [
                            region_text(one, o),
                            steps_text(one, o),
                            time_text(one, o),
                            bound_text(one, o),
                            margin_text(one, o),
                        ],
                    ),
                    *kind_notes(one, o, first=first, beside=True),
                ],
                "cost": ", ".join(filter(None, [kind_name(one, o), cost_text(one, 0, o)])),
                "beside": beside(one, found[0], o, first) if place and not one.kind[0, o] else "",
            }
            for place, o in enumerate(found)
        ],
        "figure": Markup(drawing),
        "table": [{_heading(k): v for k, v in row.items()} for row in options_table(one, 0)],
    }


def _heading(column: str) -> str:
    """The heading of a column of `options_table`."""
    if column == "feature":
        return gettext("Feature")
    return gettext("Now") if column == "now" else gettext("Option {n}", n=column.removeprefix("option "))


def _limits(one: SideBySide, place: int) -> dict[str, Any]:
    from markupsafe import Markup

    drawn = one.figure()
    drawing = ""
    if drawn is not None:
        drawing = figures.svg(
            drawn,
            f"limits-figure-{place}",
            gettext("The two plans of {name}", name=one.name),
            gettext(
                "For each feature: where it stands now, where the plan without causes puts it, where that really "
                "leads, and where the plan with causes puts it. The table holds the same values."
            ),
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


_WHO = {
    ("actionable", "any"): N_("people can act on it"),
    ("actionable", "increase"): N_("people can act on it, only up"),
    ("actionable", "decrease"): N_("people can act on it, only down"),
    ("mutable", "any"): N_("only follows"),
    ("mutable", "increase"): N_("only follows, only up"),
    ("mutable", "decrease"): N_("only follows, only down"),
    ("immutable", "any"): N_("never changes"),
    ("immutable", "increase"): N_("never changes, only up"),
    ("immutable", "decrease"): N_("never changes, only down"),
}


def features_table(schema: Schema) -> list[dict[str, str]]:
    """One row a feature: its name, its values, and who may change it."""
    rows = []
    for f in schema.features:
        if f.carried:
            reach = gettext("each person's own")
        elif f.has_levels:
            reach = "; ".join(f.level_text(i) for i in range(min(f.n_levels, 6)))
            if f.n_levels > 6:
                reach = gettext("{levels} and {n} more", levels=reach, n=f.n_levels - 6)
        else:
            low = gettext("no limit") if f.low is None else words.value_text(f, f.low, unit=False)
            high = gettext("no limit") if f.high is None else words.value_text(f, f.high)
            reach = page_tables.interval(low, high)
        rows.append(
            {
                gettext("Feature"): f.text_label,
                gettext("Values"): reach,
                gettext("Change"): gettext(_WHO[f.actionability, f.direction]),
            }
        )
    return rows


def _checked(recourse: Recourse, people: list[int]) -> list[int]:
    if not isinstance(people, Collection) or not all(is_whole(i, 0) for i in people):
        raise DataError(f"people={shown(people)} is no list of people. Give their numbers, such as [0, 3].")
    for i in people:
        if not 0 <= i < recourse.n:
            raise DataError(no_person(i, recourse.n))
    return [int(i) for i in people]
