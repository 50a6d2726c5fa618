"""An audit of a model and a method: who has recourse, what it costs each group, and how sure the numbers are.

Nothing here certifies anything. Every figure names the people behind it and has an interval; every comparison is
corrected for how many were made; whoever could not be compared is counted and named.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import (
    DataError,
    WayforwardError,
    require_function,
    require_kind,
    require_switch,
    require_whole,
)
from wayforward.evaluate import evaluate
from wayforward.groups import Groups, attributes
from wayforward.impact.audit.alike import with_alike
from wayforward.impact.audit.comparison import compare, labels_told, tells_of_few
from wayforward.impact.audit.figures import (
    Measured,
    Progress,
    group_figures,
    knows_density,
    measures_of,
)
from wayforward.impact.audit.fixed import fixed_by_group, verdicts_of
from wayforward.impact.audit.gaps import Correction, corrected
from wayforward.impact.audit.nearly_alike import few_between
from wayforward.impact.audit.proved import proved_by_group
from wayforward.impact.audit.result import AttributeAudit, Audit, with_corrections
from wayforward.impact.audit.robustness import robustness_by_group
from wayforward.impact.audit.segregation_change import with_segregation
from wayforward.impact.audit.summary_lines import summaries_of as make_summaries
from wayforward.impact.audit.summary_lines import summarisers_of, with_line_gaps
from wayforward.impact.audit.suppression import (
    cells_of_few,
    left_alone,
    nearly_alike_note,
    quoted_list,
    without_people,
    without_small_groups,
)
from wayforward.impact.audit.twins import Twins, twins, why_no_twins
from wayforward.impact.audit.unread import Unread
from wayforward.impact.audit.worst_off import worst_off_of
from wayforward.impact.privacy import FEWEST, FEWEST_SPREAD, around, rounded_up
from wayforward.language import Translatable, gettext, reason, use_language
from wayforward.methods import chosen_method
from wayforward.preferences import Preferences
from wayforward.problem import Problem
from wayforward.problem.robust.models import models_in
from wayforward.public import public
from wayforward.shapes import Floats, Ints, People, PersonMask
from wayforward.streams import generator
from wayforward.workers import check_workers

if TYPE_CHECKING:
    from wayforward.impact.summaries import Summariser
    from wayforward.methods import Method
    from wayforward.recourse import Recourse
    from wayforward.schema import Schema
    from wayforward.workers import Kind

_MOST_PARTS = 40  # an intersection with more parts than this is left out


@public
def audit(
    problem: Problem,
    x: Any,
    groups: Sequence[Groups] | Groups,
    method: str | Method = "local-search",
    *,
    preferences: Preferences | None = None,
    most: int | None = None,
    smallest: int = 10,
    fewest: int = FEWEST,
    intersections: bool = True,
    beside: str | Method | None = "growing-spheres",
    twins_of: int = 500,
    society: bool = True,
    others: Sequence[Any] = (),
    lasting_of: int = 500,
    proved_of: int = 200,
    summaries: Sequence[str | Summariser] = ("tree",),
    summaries_of: int = 2000,
    correction: Correction = "holm",
    seed: int = 0,
    budget: int | None = None,
    say: Progress | None = None,
    see: Callable[[Measured], None] | None = None,
    workers: int = 1,
    on: Kind | None = None,
) -> Audit:
    """Measure who has recourse under a model and a method, by group.

    Args:
        x: everybody the model decides about, a table or (n, d), accepted people included. Rows that cannot be read are
            counted by group and told beside the shares (`Audit.unread`); figures are of the others. One or two people
            without a label are left out where everybody less the groups would tell of them; a note says so.
        groups: the attributes to compare along, each with a label for everybody in x.
        method: a name or a method; its answers are judged again, nothing is believed.
        preferences: wishes of the people in x.
        most: answer at most so many of those refused, drawn by chance; left out, all.
        smallest: groups with fewer answered people are measured, but compared only in who is refused; with fewer
            people, not at all.
        fewest: 3 or more; of a group with fewer people nothing is told, nor how fewer of a group were answered. Where
            two attributes meet in parts of fewer people, nothing is told of their parts.
        intersections: also compare where two attributes meet, each part with everybody else.
        beside: a second method; gaps are measured again among people for whom both found a plan. None: left out.
        twins_of: at most so many people are compared with their twins, where the world is causal.
        society: also measure segregation before and after everybody acts.
        others: other models, such as retrained ones (`evaluate.robustness.retrained`): do plans hold under them, too?
        lasting_of: at most so many plans are tried with errors and under other models; 0 leaves both out.
        proved_of: at most so many plans are set beside a proved bound on what any plan costs; 0 leaves that out.
        summaries: ways to find few lines for many people: 'tree', 'ares', 'globe-ce', or such with other settings.
        summaries_of: lines are learnt from half of at most so many of those answered, and scored on the other half.
        correction: 'holm' or 'benjamini-hochberg', over all comparisons of the audit.
        say: called with (what, done, in all) during the work. see: called with every person's answer, once all are
            there; the audit itself holds nobody's.
        workers, on: who looks for plans, as of `Method.recommend`; every number stays the same.
    Returns: Audit.
    Raises: DataError where there is nobody to compare: no groups, other people, nobody refused.

    Example: ``report(audit(problem, people, [Groups.of("sex", people, schema)]), "audit.html")``.
    """
    require_kind(problem, Problem, "problem")
    require_whole(
        smallest=smallest, twins_of=twins_of, lasting_of=lasting_of, proved_of=proved_of, summaries_of=summaries_of,
        seed=seed,
    )  # fmt: skip
    require_whole(least=FEWEST, fewest=fewest)
    require_whole(least=1, most=1 if most is None else most)
    check_workers(workers, on)
    require_switch(intersections, "intersections")
    require_switch(society, "society")
    if preferences is not None:
        require_kind(preferences, Preferences, "preferences")
    require_function(say, "say")
    require_function(see, "see")
    corrected(np.empty(0), correction)  # is there such a correction?
    others, method, summarisers = (
        models_in(others, problem, "others"),
        chosen_method(method),
        summarisers_of(summaries),
    )
    second = None if beside is None else chosen_method(beside)
    x, reasons = problem.read(x)
    read = np.setdiff1d(np.arange(len(x)), list(reasons))
    if len(read) < fewest:
        raise DataError(
            f"An audit of {len(read)} people would tell of each. Give everybody the model decides about."
        )
    attributes = [_with_level_names(one, problem.schema, x) for one in _checked(groups, len(x), smallest)]
    left_out: list[str] = []
    if fewest > FEWEST:
        attributes = _large_enough(attributes, fewest, left_out)
    unread = Unread.of(problem.schema, reasons, attributes, fewest)
    if reasons:
        x, attributes = x[read], [one.take(read) for one in attributes]
        if fewest > FEWEST:  # of those who could be read there may be fewer
            attributes = _large_enough(attributes, fewest, left_out)
        preferences = None if preferences is None else preferences.take(read)
    rest, attributes = _with_enough(np.arange(len(x)), attributes, smallest, fewest, left_out)
    if len(rest) < len(x):
        x, preferences = x[rest], None if preferences is None else preferences.take(rest)
    refused, who = _refused(problem, x, most, seed)
    if fewest > FEWEST and len(who) < fewest:
        raise DataError(
            f"Fewer than {fewest} of those refused would be answered: an audit would tell of each. Give more people."
        )
    if workers != 1:
        method = method.with_workers(workers, on)
    measured = _measured(
        problem, method, x, refused, who, attributes=attributes, smallest=smallest, fewest=fewest, seed=seed,
        budget=budget, preferences=None if preferences is None else preferences.take(who), progress=say or _silent,
    )  # fmt: skip
    measured.notes.extend(left_out)
    audits = [compare(measured, one) for one in measured.attributes]
    while (few := _told_apart(measured, audits)).any():
        measured = _without(measured, few)
        audits = [compare(measured, one) for one in measured.attributes]
    x, refused, who = measured.x, measured.refused, measured.who
    if see is not None:
        see(measured)
    measured = _with_second_method(measured, second)
    known = [(one, found.groups) for one, found in zip(measured.attributes, audits, strict=True)]
    for one, parts in _intersections(measured, fewest) if intersections else ():
        found = compare(measured, one, parts, audits)
        if tells_of_few(measured, [*known, (one, found.groups)]):
            measured.notes.append(Translatable(partial(_parts_beside_others, one.name)))
        else:
            audits.append(found)
            known.append((one, found.groups))
    audits = with_alike(audits, measured)
    audits = [_with_twins(one, measured, twins_of) for one in audits]
    if society:
        audits = with_segregation(audits, measured)
    lines = make_summaries(measured, summarisers, summaries_of)
    audits = with_corrections(with_line_gaps(audits, measured, lines), correction)
    measured.progress("searching for the worst off", 0, 1)
    worst = worst_off_of(
        problem.schema, measured.answered, measured.measures["usable"] > 0, measured.measures["cost"],
        groups=[a.take(who) for a in attributes], seed=seed, correction=correction, fewest=fewest,
    )  # fmt: skip
    hidden = {(one.name, g.name) for one in audits for g in one.groups if g.hidden or g.counts_withheld}
    counts = {(one.name, g.name): g.answered for one in audits for g in one.groups}
    robustness = robustness_by_group(measured, others, lasting_of, hidden)
    how = verdicts_of(measured)
    fixed = fixed_by_group(measured, how, hidden)
    proved = proved_by_group(measured, how, proved_of, hidden)
    evaluation_notes = (
        Translatable(partial(gettext, n))
        for n in measured.judged.notes
        if "oracle" not in n and "MAD" not in n
    )
    overall = group_figures(measured, "everybody", np.ones(len(x), dtype=bool))
    return Audit(
        n=len(x),
        refused=int(refused.sum()),
        answered=len(who),
        unread=unread,
        overall=overall,
        attributes=tuple(audits),
        worst=worst,
        budgets=measured.budgets,
        grid=measured.grid,
        correction=correction,
        schema=problem.schema,
        robustness=robustness,
        fixed=fixed,
        proved=proved,
        summaries=tuple(without_people(one, hidden, fewest, counts) for one in lines),
        meta=_meta(measured),
        notes=(*unread.notes(overall), *measured.notes, *evaluation_notes),
    )


def _silent(what: str, done: int, total: int) -> None:
    pass


def _checked(groups: Sequence[Groups] | Groups, n: int, smallest: int) -> list[Groups]:
    found = attributes(groups, n)
    if not found:
        raise DataError(
            "An audit compares groups, and none were given. Make some: Groups.of('sex', people, schema)."
        )
    if smallest < 2:
        raise DataError(f"smallest={smallest}; a comparison needs groups of 2 people or more.")
    names = [one.name for one in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"'{twice[0]}' was given twice. Name each attribute once.")
    return found


def _with_level_names(groups: Groups, schema: Schema, x: People) -> Groups:
    """Give groups that are the levels of a feature the names that people read."""
    if groups.feature is None or not schema.has_levels[groups.feature]:
        return groups
    feature = schema.features[groups.feature]
    labels = tuple(Translatable(partial(feature.level_text, i)) for i in range(feature.n_levels))
    if groups.names != tuple(str(level) for level in feature.levels) or len(set(labels)) < len(labels):
        return groups
    return Groups(groups.name, labels, groups.member, groups.feature)


def _refused(problem: Problem, x: People, most: int | None, seed: int) -> tuple[PersonMask, Ints]:
    """Return who is refused (n,), and the positions of at most `most` of them, drawn by chance. Raises: DataError."""
    refused = ~problem.reached(x)[0]
    if not refused.any():
        raise DataError(
            "The model refuses nobody of these people, so there is no recourse to audit. Check the target "
            "(which class is favourable?) and the table."
        )
    who = np.flatnonzero(refused)
    if most is not None and len(who) > most:
        who = np.sort(generator(seed, 5).choice(who, most, replace=False))
    return refused, who


def _measured(
    problem: Problem, method: str | Method, x: People, refused: PersonMask, who: Ints, *, seed: int,
    budget: int | None, preferences: Preferences | None, progress: Progress, **given: Any,
) -> Measured:  # fmt: skip
    """Answer the people at positions who, judge their plans, and choose common budgets from what these cost."""
    chosen = chosen_method(method).fit(problem)
    progress("looking for plans", 0, len(who))
    recourse = chosen.recommend(
        x[who], 1, preferences=preferences, seed=seed, budget=budget,
        progress=lambda done, total: progress("looking for plans", done, total),
    )  # fmt: skip
    return _judged(
        problem, chosen, x, refused, who, recourse, seed=seed, budget=budget, preferences=preferences,
        progress=progress, **given,
    )  # fmt: skip


def _judged(
    problem: Problem, chosen: Method, x: People, refused: PersonMask, who: Ints, recourse: Recourse, *, seed: int,
    budget: int | None, preferences: Preferences | None, progress: Progress, **given: Any,
) -> Measured:  # fmt: skip
    """Judge the plans of the people at positions who, and choose common budgets from what these cost."""
    progress("measuring", 0, 1)
    density = "world" if knows_density(problem, x) else None
    with use_language("en"):  # its notes
        judged = evaluate(recourse, problem, seed=seed, metrics="headline", density=density)
    measures = measures_of(problem, judged, density is not None)
    notes: list[str] = []
    if not np.isfinite(measures["copies"]).any():  # without a table of people nobody can tell
        del measures["copies"]
    if not np.isfinite(measures["plausible"]).any():
        del measures["plausible"]
        notes.append(
            Translatable(
                lambda: gettext("No reference people were given, so nothing is said about plausibility.")
            )
        )
    budgets, grid = _budgets(measures["cost"])
    return Measured(
        problem, chosen, x, refused, who, recourse, judged, measures, budgets=budgets, grid=grid, seed=seed,
        budget=budget, preferences=preferences, progress=progress, notes=notes, **given,
    )  # fmt: skip


def _with_enough(
    rest: Ints, attributes: Sequence[Groups], smallest: int, fewest: int, notes: list[str]
) -> tuple[Ints, list[Groups]]:
    """Return which of people (n,) stay, and attributes of these, so that no few follow from others; note who does not.

    Raises: DataError where too few stay.
    """
    attributes = list(attributes)
    while True:
        gone, more = left_alone(attributes, smallest, fewest)
        if not gone.any():
            return rest, attributes
        notes += more
        stay = np.flatnonzero(~gone)
        rest, attributes = rest[stay], [one.take(stay) for one in attributes]
        if len(rest) < fewest:
            raise DataError(
                f"An audit of {len(rest)} people would tell of each. Give groups of more people, or other ones."
            )
        if fewest == FEWEST:
            return rest, attributes
        attributes = _large_enough(attributes, fewest, notes)


def _told_apart(measured: Measured, audits: Sequence[AttributeAudit]) -> PersonMask:
    """Return who (n,) bool, few, follows from what is told of the groups of several attributes: how those answered
    ended, or what plans cost; a note says so.

    Who has a plan is known to whoever asks what one costs: so is who is left out for it.
    """
    figures = {one.name: one.groups for one in audits}
    out = np.zeros(len(measured.x), dtype=bool)
    every = np.ones(len(measured.who), dtype=bool)
    for some, metric in ((every, "usable"), (measured.has_cost, "cost")):
        at = measured.who[some]
        labels = [labels_told(one, figures[one.name], at, metric) for one in measured.attributes]
        few, which = few_between(labels, measured.fewest)
        if which:
            out[at[few]] = True
            names = [measured.attributes[place].name for place in which]
            measured.notes.append(nearly_alike_note(names, int(few.sum())))
            return out
    return out


def _without(measured: Measured, few: PersonMask) -> Measured:
    """Return what was measured without few people (n,) bool, and whom that leaves alone. Raises: DataError where nobody
    of those answered is left."""
    stay = np.flatnonzero(~few)
    notes: list[str] = []
    rest, attributes = _with_enough(
        stay, [one.take(stay) for one in measured.attributes], measured.smallest, measured.fewest, notes
    )
    remaining = np.isin(np.arange(len(measured.x)), rest)
    mine = np.flatnonzero(remaining[measured.who])
    if len(mine) < measured.fewest:
        raise DataError(
            f"Fewer than {measured.fewest} of those answered would not be told apart. Give attributes of other people."
        )
    wishes = measured.preferences
    again = _judged(
        measured.problem, measured.method, measured.x[rest], measured.refused[rest],
        np.searchsorted(rest, measured.who[mine]), measured.recourse[mine], seed=measured.seed, budget=measured.budget,
        preferences=None if wishes is None else wishes.take(mine), progress=measured.progress, attributes=attributes,
        smallest=measured.smallest, fewest=measured.fewest,
    )  # fmt: skip
    again.notes[:] = list(dict.fromkeys([*measured.notes, *again.notes, *notes]))
    return again


def _budgets(cost: Floats) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return costs that about a quarter, half, three quarters, and all of the plans stay within; a grid for curves.

    Nothing where so few have a plan that it would be what somebody pays.
    """
    found = np.sort(cost[np.isfinite(cost)])
    n = len(found)
    if n < FEWEST_SPREAD:
        return (), ()
    # Round numbers near what people pay, and nobody's own; the last is enough for all.
    quarters = [around(found, int(np.ceil(share * n))) for share in (0.25, 0.5, 0.75)]
    budgets = np.unique([*quarters, max(rounded_up(found[-1]), quarters[-1])])
    grid = np.linspace(0, rounded_up(max(around(found, int(0.99 * n)), budgets[0])), 60)
    return tuple(float(v) for v in budgets), tuple(float(v) for v in grid)


def _with_second_method(measured: Measured, second: Method | None) -> Measured:
    """Add the name of a second method and the cost of its plans; a note where it has none."""
    if second is None:
        return measured
    method = measured.method
    try:
        if second.name == method.name:
            second = chosen_method("wachter" if method.name != "wachter" else "local-search")
        measured.progress(f"a second method: {second.name}", 0, 1)
        recourse = second.fit(measured.problem).recommend(
            measured.answered, 1, preferences=measured.preferences, seed=measured.seed,
            workers=method.workers_, on=method.on_,
        )  # fmt: skip
    except WayforwardError as error:
        measured.notes.append(Translatable(partial(_no_second, error)))
        return measured
    cost = np.where(recourse.found[:, 0], recourse.plain_cost[:, 0], np.nan)
    return replace(measured, second=second.name, second_cost=cost)


def _no_second(error: WayforwardError) -> str:
    return gettext("No second method stands beside the first: {why}.", why=reason(error).rstrip("."))


def _large_enough(attributes: Sequence[Groups], fewest: int, notes: list[str]) -> list[Groups]:
    """Return attributes without groups of fewer people, those of which two groups are left; note what is left out."""
    usable = []
    for one in attributes:
        large, gone = without_small_groups(one, fewest)
        if gone:
            notes.append(Translatable(partial(_left_out, one.name, fewest, gone)))
        if large is not None:
            usable.append(large)
    return usable


def _left_out(name: str, fewest: int, gone: Sequence[str]) -> str:
    return gettext(
        "{name}: left out, with fewer than {n} people or so that these cannot be worked out: {groups}.",
        name=name, n=fewest, groups=quoted_list(gone),
    )  # fmt: skip


def _parts_of_few(name: str, fewest: int) -> str:
    return gettext(
        "{name}: left out, with parts of fewer than {n} people, which could be worked out.",
        name=name,
        n=fewest,
    )


def _parts_beside_others(name: str) -> str:
    return gettext("{name}: left out, or what is told would tell of one or two people.", name=name)


def _many_parts(name: str, n: int) -> str:
    return gettext("{name} has {n} parts, too many to compare. Make fewer groups.", name=name, n=n)


def _intersections(measured: Measured, fewest: int) -> list[tuple[Groups, tuple[Groups, Groups]]]:
    """Return each intersection with the two attributes it is of; a note where it has too many parts."""
    out: list[tuple[Groups, tuple[Groups, Groups]]] = []
    for a, b in itertools.combinations(measured.attributes, 2):
        crossed = a.cross(b)
        if fewest > FEWEST and cells_of_few(a, b, fewest):
            measured.notes.append(Translatable(partial(_parts_of_few, crossed.name, fewest)))
            continue
        if crossed.n_groups > _MOST_PARTS:
            measured.notes.append(Translatable(partial(_many_parts, crossed.name, crossed.n_groups)))
        else:
            out.append((crossed, (a, b)))
    return out


def _with_twins(one: AttributeAudit, measured: Measured, most: int) -> AttributeAudit:
    """Add what the attribute alone does, by twins of at most so many people, or why nothing can be said."""
    groups = next((a for a in measured.attributes if a.name == one.name), None)
    if groups is None or one.crossed:
        return one
    reason = why_no_twins(measured.problem, groups) or (
        Translatable(lambda: gettext("none were asked for")) if most < 1 else ""
    )
    if reason:
        return replace(one, twins=Twins(one.name, reason))
    measured.progress(f"twins by {one.name}", 0, 1)
    m = len(measured.who)
    rows = np.arange(m)
    if m > most:
        rows = np.sort(np.random.default_rng([measured.seed, 7]).choice(m, most, replace=False))
    wishes = measured.preferences
    found = twins(
        measured.problem, measured.method, measured.answered[rows], measured.measures["cost"][rows],
        groups.take(measured.who[rows]), preferences=None if wishes is None else wishes.take(rows),
        seed=measured.seed, budget=measured.budget,
    )  # fmt: skip
    shown = {g.name for g in one.groups if not g.hidden and g.figures["cost"].n}
    return replace(one, twins=found.as_told(shown, len(rows), measured.fewest))


def _meta(measured: Measured) -> dict[str, Any]:
    problem, judged = measured.problem, measured.judged
    return {
        "method": measured.method.name,
        "parameters": measured.method.parameters(),
        "model": type(problem.model).__name__,
        "target": Translatable(problem.target.text),
        "world": "independent" if problem.independent else type(problem.world).__name__,
        "cost_unit": problem.cost.unit,
        "robust": None if problem.robust is None else Translatable(problem.robust.text),
        "seed": measured.seed,
        "smallest_group_compared": measured.smallest,
        "second_method": measured.second,
        "refuted": judged.refuted,
        "seconds_recommend": judged.seconds_recommend,
        "versions": measured.recourse.meta.get("versions", {}),
    }
