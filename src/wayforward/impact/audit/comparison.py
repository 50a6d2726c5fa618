"""One attribute at a time: the figures of its groups, and their differences."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from wayforward.groups import Groups
from wayforward.impact.audit.agreement import Agreement, agreement
from wayforward.impact.audit.figures import RATES, GroupFigures, Measured, group_figures
from wayforward.impact.audit.gaps import Gap, mean_gap, rate_gap
from wayforward.impact.audit.nearly_alike import parts_of_few
from wayforward.impact.audit.result import AttributeAudit
from wayforward.impact.audit.suppression import (
    Crossing,
    quoted_list,
    suppress_few_outcomes,
    suppress_small_groups,
)
from wayforward.impact.audit.wording import EVERYBODY_ELSE
from wayforward.impact.privacy import FEWEST, FEWEST_SPREAD, rounded
from wayforward.language import Translatable, gettext, translated
from wayforward.shapes import Ints, Mask

Pair = tuple[int, int | None]  # positions of two groups; None: everybody else

MOST_PAIRED = 6  # with more groups each is compared with everybody else, or the pairs drown everything
_COMPARED = ("refused", "usable", "proved", "plausible", "cost", "burden", "cost_all", "density_gain")
_COMPARED_CROSSED = ("refused", "usable", "cost")  # of parts of two attributes: many groups, so few measures


def compare(
    measured: Measured,
    groups: Groups,
    parts: tuple[Groups, Groups] | None = None,
    beside: Sequence[AttributeAudit] = (),
) -> AttributeAudit:
    """Measure and compare the groups of one attribute, or those where two attributes meet (parts).

    beside: what is told of each attribute by itself, which parts must not tell more of.
    """
    crossed = parts is not None
    measured.progress(f"comparing by {groups.name}", 0, 1)
    figures, notes = _figures(measured, groups, parts, beside)
    unlabelled, label = int((groups.member < 0).sum()), groups.member[measured.who]
    by_answers, of_all = pairs_of(figures, crossed), pairs_of(figures, crossed, of_all=True)
    notes += _notes(figures, crossed, bool(of_all), measured.smallest, measured.fewest)
    gaps: list[Gap] = []
    agreements: list[Agreement] = []
    for a, b in list(dict.fromkeys([*of_all, *by_answers])):
        names = groups.names[a], side_name(groups, b)
        one, two = sides_of(label, a, b)
        everyone = sides_of(groups.member, a, b)
        answers = (a, b) in by_answers and bool(two.any())
        measures = [
            metric
            for metric in (_COMPARED_CROSSED if crossed else _COMPARED)
            if ((a, b) in of_all if metric == "refused" else answers and is_published(figures, a, b, metric))
        ]
        if not everyone[1].any() or not measures:
            continue
        gaps += _gaps(measured, groups.name, names, (one, two), everyone, measures)
        if not crossed and answers and is_published(figures, a, b, "cost"):
            agreements += agreement(measured, groups.name, names, one, two)
    return AttributeAudit(
        name=groups.name,
        parts=tuple(groups.name.split(" and ")) if crossed else (groups.name,),
        crossed=crossed,
        in_model=groups.feature is not None and _model_sees(measured, groups.feature),
        unlabelled=unlabelled,
        groups=figures,
        gaps=tuple(gaps),
        agreement=tuple(agreements),
        notes=tuple(notes),
    )


def crossing_figures(
    measured: Measured, crossed: Groups, parts: tuple[Groups, Groups], beside: Sequence[AttributeAudit]
) -> tuple[GroupFigures, ...]:
    """Return what may be told of each part where two attributes meet, beside what is told of both."""
    return _figures(measured, crossed, parts, beside)[0]


Told = tuple[Groups, Sequence[GroupFigures]]  # an attribute, or parts of two, and what is told of each group


def told_of(measured: Measured, audits: Sequence[AttributeAudit]) -> list[Told]:
    """Return what is told of each attribute, and of parts where two meet."""
    known = {one.name: one for one in measured.attributes}
    crossed = (a.cross(b) for a, b in itertools.combinations(measured.attributes, 2))
    known |= {one.name: one for one in crossed}
    return [(known[one.name], one.groups) for one in audits]


def tells_of_few(measured: Measured, reported: Sequence[Told]) -> bool:
    """Does all that is told of groups and parts together tell of one or two people?

    Each attribute with its parts is guarded by itself; several together may tell what none of them does.
    """
    every = np.arange(len(measured.x))
    for at, metric in (
        (every, "refused"),
        (measured.who, "usable"),
        (measured.who[measured.has_cost], "cost"),
    ):
        labels = [labels_told(groups, shown, at, metric) for groups, shown in reported]
        if len(at) and parts_of_few(np.stack(labels, 1), FEWEST).any():
            return True
    return False


def labels_told(groups: Groups, shown: Sequence[GroupFigures], at: Ints, metric: str) -> Ints:
    """Return of which group people at positions `at` (m,) are, -1 where no sum over the group's people is told."""
    hidden = [g for g, one in enumerate(shown) if not _is_told(one, metric)]
    label = groups.member[at]
    return np.where(np.isin(label, hidden), -1, label)


def _is_told(one: GroupFigures, metric: str) -> bool:
    """Is a sum over the people of a group told: who is refused, who has a plan, what plans cost?"""
    if one.hidden or (metric != "refused" and one.counts_withheld):
        return False
    return metric != "cost" or one.figures["cost"].n > 0


def _figures(
    measured: Measured, groups: Groups, parts: tuple[Groups, Groups] | None, beside: Sequence[AttributeAudit]
) -> tuple[tuple[GroupFigures, ...], list[str]]:
    """Return what may be told of each group, and notes on groups of few."""
    crossing = None if parts is None else _crossing(measured, *parts, beside)
    figures = tuple(group_figures(measured, name, groups.mask(g)) for g, name in enumerate(groups.names))
    unlabelled = int((groups.member < 0).sum())
    figures, notes = suppress_small_groups(
        figures, unlabelled, measured.smallest, crossing, int(measured.refused[groups.member < 0].sum())
    )
    rest = groups.member[measured.who] < 0
    figures = suppress_few_outcomes(
        figures, int(rest.sum()), int((rest & measured.has_cost).sum()), measured.fewest,
        whole=parts is not None and measured.fewest > FEWEST, crossing=crossing,
    )  # fmt: skip
    return figures, notes


def _crossing(measured: Measured, a: Groups, b: Groups, beside: Sequence[AttributeAudit]) -> Crossing:
    """Return the parts, as `Groups.cross` counts them, that make up each group of two attributes, and what is told."""
    rows = [[i * b.n_groups + j for j in range(b.n_groups)] for i in range(a.n_groups)]
    known = {one.name: one.groups for one in beside if not one.crossed}
    figures = [f for one in (a, b) for f in known.get(one.name, (None,) * one.n_groups)]
    columns = [list(column) for column in zip(*rows, strict=True)]
    masks = [
        (one.member == g) & (other.member < 0) for one, other in ((a, b), (b, a)) for g in range(one.n_groups)
    ]
    masks.append((a.member < 0) & (b.member < 0))
    without = [
        (
            int(some.sum()),
            int(some[measured.who].sum()),
            int((some[measured.who] & measured.has_cost).sum()),
            int((some & measured.refused).sum()),
        )
        for some in masks
    ]
    first = a.n_groups * b.n_groups  # behind the parts: who of each group is in none, for want of a label
    lone = range(first, first + len(masks))
    sums = [[*at, lone[place]] for place, at in enumerate(rows + columns)]
    sums += [
        [*lone[: a.n_groups], lone[-1]],
        [*lone[a.n_groups :]],
    ]  # everybody less all groups of b, and of a
    return Crossing.of(sums, without, figures)


def pairs_of(figures: Sequence[GroupFigures], crossed: bool, of_all: bool = False) -> list[Pair]:
    """Return which groups are compared: every pair of those large enough, or each with everybody else.

    of_all: in a measure over everybody, so that people count and not those answered.
    """
    known = [g for g, one in enumerate(figures) if (one.compared_refused if of_all else one.compared)]
    if crossed or len(known) > MOST_PAIRED:
        return [(g, None) for g in known] if len(known) > 1 else []
    return list(itertools.combinations(known, 2))


def sides_of(label: Ints, a: int, b: int | None) -> tuple[Mask, Mask]:
    """Return who is of group a, and who of group b or (None) who is not of a: labels (m,) -> (m,), (m,) bool.

    Everybody else includes people without a label: without them the sum of all groups would be told, and with it those
    of which nothing may be told.
    """
    return label == a, label != a if b is None else label == b


def side_name(groups: Groups, b: int | None) -> str:
    """Return the name of the second side of a comparison."""
    return EVERYBODY_ELSE if b is None else groups.names[b]


def _notes(
    figures: Sequence[GroupFigures], crossed: bool, anything: bool, smallest: int, fewest: int
) -> list[str]:
    """Return what a reader should know of groups that are empty, small or never refused; anything: is compared."""
    shown = [f for f in figures if not f.hidden]
    notes: list[str] = []
    empty = [f.name for f in figures if not f.people]
    if empty and not crossed:
        notes.append(
            Translatable(
                lambda: gettext(
                    "Nobody of the people looked at belongs to the group {names}.", names=quoted_list(empty)
                )
            )
        )
    spared = [f.name for f in shown if f.people and not f.refused]
    if spared:
        notes.append(
            Translatable(
                lambda: gettext("The model refuses nobody of the group {names}.", names=quoted_list(spared))
            )
        )
    few = [f.name for f in shown if f.withheld and f.answered < fewest]
    guards = [f.name for f in shown if f.withheld and f.answered >= fewest]
    if guards and not crossed:
        notes.append(
            Translatable(
                lambda: gettext(
                    "Withheld, too, or how fewer people fared could be worked out from the others: {names}.",
                    names=quoted_list(guards),
                )
            )
        )
    if few and not crossed:
        notes.append(
            Translatable(
                lambda: gettext(
                    "Fewer than {n} people were answered of the group {names}: their means would tell of a person.",
                    n=fewest,
                    names=quoted_list(few),
                )
            )
        )
    part = [(f.name, f.answered) for f in shown if f.compared_refused and f.answered < smallest]
    small = [(f.name, f.answered) for f in shown if f.answered and not f.compared_refused]
    if part and anything:
        notes.append(
            Translatable(
                lambda: gettext(
                    "Compared only in who is refused, with fewer than {n} people answered: {names}.",
                    n=smallest,
                    names=_counted(part),
                )
            )
        )
    if small:
        notes.append(
            Translatable(
                lambda: gettext(
                    "Told but not compared, with fewer than {n} people: {names}.",
                    n=smallest,
                    names=_counted(small),
                )
            )
        )
    if not anything:
        notes.append(
            Translatable(lambda: gettext("Fewer than two groups are large enough, so nothing is compared."))
        )
    return notes


def _counted(groups: Sequence[tuple[str, int]]) -> str:
    """Return names of groups, each with how many were answered."""
    return quoted_list([f"{translated(name)} ({n})" for name, n in groups])


def is_published(figures: Sequence[GroupFigures], a: int, b: int | None, metric: str) -> bool:
    """Is the figure of both groups told? Where few are withheld, a gap would tell it all the same."""
    sides = [figures[g].figures for g in (a, b) if g is not None]
    return all(metric not in side or side[metric].n > 0 for side in sides)


def _gaps(
    measured: Measured, attribute: str, names: tuple[str, str], answered: tuple[Mask, Mask],
    everyone: tuple[Mask, Mask], measures: Sequence[str],
) -> list[Gap]:  # fmt: skip
    """Return the differences between two sides: among those answered (m,), in who is refused among everyone (n,)."""
    out = []
    for metric in measures:
        if metric == "refused":
            estimate, p = rate_gap(measured.refused, *everyone)
            sides = [measured.refused[side] for side in everyone]
        elif metric not in measured.measures or metric in measured.without_differences:
            continue  # the same for everybody: nothing is there to be compared
        else:
            values = measured.measures[metric]
            if metric in RATES:
                estimate, p = rate_gap(values > 0, *answered)
            else:
                estimate, p = mean_gap(values, *answered, measured.seed)
            sides = [values[side][np.isfinite(values[side])] for side in answered]
            if metric not in RATES:
                plans = min(int((measured.has_cost & side).sum()) for side in answered)
                if plans < max(measured.fewest, FEWEST_SPREAD):
                    continue  # its interval and its p-value would tell how far apart so few stand
                p = rounded(p)  # or, with the spread of one side, it would be the exact one of the other
        first, second = (float(side.mean()) if side.size else float("nan") for side in sides)
        counts = sides[0].size, sides[1].size
        out.append(Gap(attribute, metric, *names, estimate, (first, second), counts, p))
    return out


def _model_sees(measured: Measured, feature: int) -> bool:
    """Is the model shown this feature? Not if it was trained on named columns and this is none of them."""
    from wayforward.model.tables import trained_names

    names = trained_names(measured.problem.model.wrapped)
    name = measured.problem.schema.names[feature]
    return names is None or name in names or name.replace(" ", "_") in names
