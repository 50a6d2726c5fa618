"""What an audit withholds: everything that would tell of a few people. What is told of a group is decided here."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import numpy as np

from wayforward.answers import words
from wayforward.answers.words import in_quotes
from wayforward.evaluate.stats import NOTHING, Estimate
from wayforward.groups import Groups
from wayforward.impact.audit.figures import RATES, GroupFigures
from wayforward.impact.audit.nearly_alike import few_between
from wayforward.impact.privacy import (
    FEWEST,
    FEWEST_SPREAD,
    in_steps_of_people,
    mean_in_steps,
    rate_in_steps,
    steps_of_enough,
)
from wayforward.impact.summaries.summary import Curve, Served, Summary, SummaryLine
from wayforward.language import Translatable, gettext, ngettext, translated
from wayforward.shapes import Ints, Mask


@dataclass(frozen=True)
class Crossing:
    """What is known beside the parts where two attributes meet: the groups that they add up to.

    without: those in no part, for want of a label: of each group, and without both at last; how many people, answered,
    with a plan, refused. sums: positions of what adds up to a group that is told: parts, and behind them those without.
    suppressed, ends, means: parts of groups of which nothing is told, not how they fared, no means; what is told of the
    parts must not tell it.
    """

    sums: tuple[tuple[int, ...], ...]
    without: tuple[tuple[int, int, int, int], ...]
    suppressed: frozenset[int]
    ends: frozenset[int]
    means: frozenset[int]

    @classmethod
    def of(
        cls, sums: Sequence[Sequence[int]], without: Sequence[tuple[int, int, int, int]],
        groups: Sequence[GroupFigures | None],
    ) -> Crossing:  # fmt: skip
        """groups: the figures of what each sum adds up to, as they are told; None where nothing is known of them."""

        def under(withheld: Callable[[GroupFigures], bool]) -> frozenset[int]:
            pairs = zip(sums, groups, strict=False)  # the last sums are of people without a label
            return frozenset(g for at, one in pairs if one is not None and withheld(one) for g in at)

        return cls(
            tuple(map(tuple, sums)), tuple(without), under(lambda one: bool(one.hidden)),
            under(lambda one: one.counts_withheld), under(lambda one: one.found > 0 and one.figures["cost"].n == 0),
        )  # fmt: skip


def suppress_small_groups(
    figures: tuple[GroupFigures, ...], unlabelled: int, smallest: int, crossing: Crossing | None = None,
    unlabelled_refused: int = 0,
) -> tuple[tuple[GroupFigures, ...], list[str]]:  # fmt: skip
    """Suppress groups of fewer than 3 people; return groups and notes.

    Where everybody less the others would tell of them, the smallest group that is not compared is suppressed, too, and
    where all who are left were refused, or none, the smallest of those who were not alike; where two attributes meet,
    so is another part of each of the two groups, and all parts of suppressed ones.
    """
    tiny = [g for g, f in enumerate(figures) if 0 < f.people < FEWEST]
    fewer: str = Translatable(lambda: gettext("withheld: fewer than {n} people", n=FEWEST))
    beside: str = Translatable(lambda: gettext("withheld: or a smaller group could be worked out from it"))
    why, names = dict.fromkeys(tiny, fewer), [figures[g].name for g in tiny]
    if crossing is not None:
        counts = [f.people for f in figures]
        out = to_withhold(
            counts, 0, FEWEST, sums=crossing.sums, hidden=crossing.suppressed, found=[*(f.refused for f in figures), 0],
            without=[one[0] for one in crossing.without], found_without=[one[3] for one in crossing.without],
        )  # fmt: skip
        why = {g: why.get(g, beside) for g in sorted(out)}
    if not why:
        return figures, []
    if crossing is not None:
        notes = [_fewer_note(names)] if names else []
        guards = [figures[g].name for g, reason in why.items() if reason is beside]
        return _all_suppressed(figures, why), notes + ([_beside_note(guards)] if guards else [])
    notes = [_fewer_note(names)]
    guard = _spare([f.people for f in figures], unlabelled, smallest)
    if guard is not None:
        why[guard] = beside
    left = unlabelled + sum(figures[g].people for g in why)
    refused = unlabelled_refused + sum(figures[g].refused for g in why)
    if refused in (0, left):
        unlike = [g for g, f in enumerate(figures) if (f.refused < f.people if refused else f.refused)]
        if unlike:
            why[min(unlike, key=lambda g: figures[g].people)] = beside
    guards = [figures[g].name for g, reason in why.items() if reason is beside]
    return _all_suppressed(figures, why), notes + ([_beside_note(guards)] if guards else [])


def _spare(counts: Sequence[int], unlabelled: int, smallest: int) -> int | None:
    """Return the smallest group that is not compared, where it must be withheld beside smaller ones; None: no need."""
    tiny = [some for some in counts if 0 < some < FEWEST]
    spare = [g for g, some in enumerate(counts) if FEWEST <= some < max(smallest, FEWEST)]
    if not tiny or not spare or sum(tiny) + unlabelled >= FEWEST:
        return None
    return min(spare, key=lambda g: counts[g])


def left_alone(attributes: Sequence[Groups], smallest: int, fewest: int = FEWEST) -> tuple[Mask, list[str]]:
    """Return whom everybody less the groups of an attribute would tell of (n,) bool, and notes that they are left out.

    One or two people in all, without a label or in groups too small to be told, beside whom no other small group can be
    withheld: without them every other figure stays. And fewer than `fewest` by whom groups of several attributes
    differ. Whom one attribute leaves out may leave few of another.
    """
    gone = np.zeros(len(attributes[0]) if attributes else 0, dtype=bool)
    notes: list[str] = []
    changed = True
    while changed:
        changed = False
        for one in attributes:
            counts = np.bincount(one.member[(one.member >= 0) & ~gone], minlength=one.n_groups)
            tiny = np.flatnonzero((counts > 0) & (counts < FEWEST))
            rest = ~gone & ((one.member < 0) | np.isin(one.member, tiny))
            few = int(rest.sum())
            if 0 < few < FEWEST and _spare(counts.tolist(), few - int(counts[tiny].sum()), smallest) is None:
                gone |= rest
                notes.append(Translatable(partial(_left_alone, one.name, few)))
                changed = True
        if not changed:
            few_people, at = few_between([_label_told(one, smallest, ~gone) for one in attributes], fewest)
            if at:
                gone[np.flatnonzero(~gone)[few_people]] = True
                notes.append(nearly_alike_note([attributes[i].name for i in at], int(few_people.sum())))
                changed = True
    return gone, notes


def _label_told(one: Groups, smallest: int, some: Mask) -> Ints:
    """Return of which group each of some people (n,) bool is, -1 for one of which nothing is told."""
    label = one.member[some]
    counts = np.bincount(label[label >= 0], minlength=one.n_groups)
    out = [g for g, n in enumerate(counts) if 0 < n < FEWEST]
    guard = _spare(counts.tolist(), int((label < 0).sum()), smallest)
    return np.where(np.isin(label, out if guard is None else [*out, guard]), -1, label)


def nearly_alike_note(names: Sequence[str], n: int) -> str:
    """Return that people are left out by whom groups of several attributes differ."""
    return Translatable(partial(_nearly_alike, tuple(names), n))


def _nearly_alike(names: Sequence[str], n: int) -> str:
    return ngettext(
        "{names}: {n} person by whom groups of these differ is left out of the whole audit: one group less the other "
        "would tell of them.",
        "{names}: {n} people by whom groups of these differ are left out of the whole audit: one group less the other "
        "would tell of them.",
        n, names=words.join([str(name) for name in names]),
    )  # fmt: skip


def _left_alone(name: str, n: int) -> str:
    return ngettext(
        "{name}: {n} person without a label, or in a group of fewer than {fewest}, is left out of the whole audit: "
        "everybody less the groups would tell of them.",
        "{name}: {n} people without a label, or in groups of fewer than {fewest}, are left out of the whole audit: "
        "everybody less the groups would tell of them.",
        n, name=name, fewest=FEWEST,
    )  # fmt: skip


def _all_suppressed(figures: Sequence[GroupFigures], why: Mapping[int, str]) -> tuple[GroupFigures, ...]:
    return tuple(_suppressed(f, why[g]) if g in why else f for g, f in enumerate(figures))


def _fewer_note(names: Sequence[str]) -> str:
    return Translatable(
        lambda: gettext("Withheld, with fewer than {n} people: {names}.", n=FEWEST, names=quoted_list(names))
    )


def _beside_note(names: Sequence[str]) -> str:
    return Translatable(
        lambda: gettext(
            "Withheld, too, or these could be worked out from the others: {names}.", names=quoted_list(names)
        )
    )


def without_small_groups(groups: Groups, fewest: int) -> tuple[Groups | None, list[str]]:
    """Return the groups of `fewest` people or more, the others' people without a label, or None where fewer than two
    groups are left; and the names of what is left out.

    Where everybody less the groups that stay would tell of fewer people, the smallest of these goes, too.
    """
    counts = np.bincount(groups.member[groups.member >= 0], minlength=groups.n_groups)
    out = (counts > 0) & (counts < fewest)
    rest = counts[out].sum() + (groups.member < 0).sum()
    if 0 < rest < fewest and not out.all():
        out[np.where(out | (counts == 0), np.iinfo(np.int64).max, counts).argmin()] = True
    if not out.any():
        return groups, []
    place = np.where(out, -1, np.cumsum(~out) - 1)
    member = np.where(groups.member >= 0, place[groups.member], -1)
    names = tuple(name for name, gone in zip(groups.names, out, strict=True) if not gone)
    gone = [name for name, hidden in zip(groups.names, out, strict=True) if hidden]
    return Groups(groups.name, names, member, groups.feature) if len(names) > 1 else None, gone


def cells_of_few(one: Groups, other: Groups, fewest: int) -> bool:
    """Is a part where two attributes meet, or where one is not known, of fewer than `fewest` people?

    Figures of both attributes are told beside it: what is left out of such a table could be worked out from them.
    """
    part = (one.member + 1) * (other.n_groups + 1) + other.member + 1
    return bool((np.unique(part, return_counts=True)[1] < fewest).any())


def suppress_few_outcomes(
    figures: tuple[GroupFigures, ...], unlabelled: int, unlabelled_found: int, fewest: int, whole: bool,
    crossing: Crossing | None = None,
) -> tuple[GroupFigures, ...]:  # fmt: skip
    """Withhold how the answered of a group ended where they are fewer than `fewest`, and means where fewer have a plan;
    spreads and shares within a budget where those of fewer than ten plans would follow.

    Where everybody less the others would tell of fewer, the smallest other group's are withheld, too; and one that
    fared otherwise, where all who are left would have fared alike. Where two attributes meet, whose own figures are
    told beside: all of them (whole), or in each of the sums another one, and all parts of a group whose own are
    withheld. unlabelled, unlabelled_found: of no group.
    """
    hidden = {g for g, f in enumerate(figures) if f.hidden}
    sums = () if crossing is None else crossing.sums
    above = (frozenset[int](), frozenset[int]()) if crossing is None else (crossing.ends, crossing.means)
    found = [*(f.found for f in figures), unlabelled_found]
    answered_without, found_without = (
        () if crossing is None else tuple(one[what] for one in crossing.without) for what in (1, 2)
    )
    ends = to_withhold(
        [f.answered for f in figures], unlabelled, fewest, whole, sums, hidden | above[0], found,
        without=answered_without, found_without=found_without,
    )  # fmt: skip
    means = to_withhold(
        [f.found for f in figures], unlabelled_found, fewest, whole, sums, hidden | ends | above[1],
        without=found_without,
    )  # fmt: skip
    # Squares add up, and so do people within a budget: both of a few plans would follow from those of all others.
    few_plans = to_withhold(
        [f.found for f in figures], unlabelled_found, max(fewest, FEWEST_SPREAD), crossing is not None,
        hidden=hidden | ends | means | above[1], without=found_without,
    )  # fmt: skip
    figures = tuple(_without_sums(f) if g in few_plans else f for g, f in enumerate(figures))
    without = tuple(_without_means(f, fewest) if g in means else f for g, f in enumerate(figures))
    return tuple(_without_outcomes(f, fewest) if g in ends else f for g, f in enumerate(without))


def to_withhold(
    counts: Sequence[int], rest: int, fewest: int, whole: bool = False, sums: Sequence[Sequence[int]] = (),
    hidden: Collection[int] = (), found: Sequence[int] | None = None, without: Sequence[int] = (),
    found_without: Sequence[int] = (),
) -> set[int]:  # fmt: skip
    """Return which groups' numbers are withheld, so that nobody can work out those of fewer than `fewest` people.

    counts: people behind each group's numbers; rest: behind none. hidden: groups that are withheld already. sums: the
    groups whose numbers add up to one that is told; left out, all of them and the rest. found: of the counts, and of
    the rest at last, how many have a plan, or are refused; what a sum leaves must not be that all are, or nobody,
    unless it is so of all that the sum is of. without, found_without: what sums count behind the groups, people of whom
    nothing is told, and how many of them have a plan. See `suppress_few_outcomes`.
    """
    n = len(counts)
    few = {g for g, some in enumerate(counts) if 0 < some < fewest} | {
        g for g in hidden if g < n and counts[g]
    }
    if whole and (few or any(0 < some < fewest for some in (rest, *without))):
        return set(range(n))
    counts, few = [*counts, *without], few | {n + place for place, some in enumerate(without) if some}
    found = None if found is None else [*found[:-1], *found_without, found[-1]]
    lines = [(tuple(at), 0) for at in sums] or [(tuple(range(len(counts))), rest)]
    changed = True
    while changed:
        changed = False
        known = _determined(sums, few, counts, fewest) if sums else set()
        if sums and found is not None:
            known |= _pinned(sums, few, counts, found)
        for at, beside in lines:
            out = [g for g in at if g in few]
            left = sum(counts[g] for g in out) + beside
            alone = len(out) == 1 and not beside  # all that the sum leaves is this one
            alone |= any(g in known and 0 < counts[g] < fewest for g in out)
            others = [g for g in at if g not in few and counts[g] >= fewest]
            unlike: list[int] = []
            if found is not None and (0 < beside < fewest or any(0 < counts[g] < fewest for g in out)):
                have = sum(found[g] for g in out) + (found[-1] if beside else 0)
                if have in (0, left):  # all alike: somebody who fared otherwise must be among them
                    unlike = [g for g in others if (found[g] < counts[g] if have else found[g])]
            others = unlike or others
            if others and (0 < left < fewest or alone or unlike):
                few.add(min(others, key=lambda g: counts[g]))
                changed = True
                break
        if sums and not changed:  # several sums at once may tell what none of them does
            published = sorted(
                (g for g in range(n) if g not in few and counts[g] >= fewest), key=counts.__getitem__
            )
            known = _determined(sums, few, counts, fewest)
            known -= _determined(sums, [g for g, some in enumerate(counts) if some], counts, fewest)
            if known and published:
                helps = (g for g in published if not known <= _determined(sums, few | {g}, counts, fewest))
                few.add(next(helps, published[0]))
                changed = True
    return {g for g in few if g < n}


def _determined(
    sums: Sequence[Sequence[int]], unknown: Collection[int], counts: Sequence[int], fewest: int
) -> set[int]:
    """Return unknown numbers that sums over them tell, alone or beside others, of fewer than `fewest` people in all.

    What is added up or subtracted follows if it is 0 in all that the sums leave open: their null space.
    """
    at = sorted(unknown)
    if not at:
        return set()
    equations = np.array([[float(g in one) for g in at] for one in map(set, sums)])
    values, directions = np.linalg.svd(equations, full_matrices=True)[1:]
    open_ = directions[int((values > 1e-9).sum()) :]
    small = [i for i, g in enumerate(at) if 0 < counts[g] < fewest]
    out: set[int] = set()
    for size in range(1, fewest):
        for some in itertools.combinations([i for i in small if at[i] not in out], size):
            of_few = sum(counts[at[i]] for i in some) < fewest
            if of_few and (not len(open_) or np.linalg.matrix_rank(open_[:, some], tol=1e-9) < size):
                out |= {at[i] for i in some}
    return out


def _pinned(
    sums: Sequence[Sequence[int]], unknown: Collection[int], counts: Sequence[int], found: Sequence[int]
) -> set[int]:
    """Return which unknown numbers have one value left between 0 and their counts, by what the sums leave.

    Not those in a sum whose people all fared alike: that says it of each, whatever else is withheld.
    """
    low, high = [0] * len(counts), list(counts)
    lines = [[g for g in one if g in unknown] for one in sums]
    changed = True
    while changed:
        changed = False
        for at in lines:
            have, least, most = (sum(of[g] for g in at) for of in (found, low, high))
            for g in at:
                bounds = max(low[g], have - most + high[g]), min(high[g], have - least + low[g])
                if bounds != (low[g], high[g]):
                    low[g], high[g] = bounds
                    changed = True
                    break
    alike = {g for one in sums if sum(found[g] for g in one) in (0, sum(counts[g] for g in one)) for g in one}
    return {g for g in unknown if counts[g] and low[g] == high[g] and g not in alike}


def may_be_told(
    label: np.ndarray, groups: Groups, fewest: int, hidden: Collection[tuple[str, str]]
) -> list[tuple[str, Mask]]:
    """Return the groups of which numbers over the people with these labels (m,) may be told: name, who of them.

    hidden: (attribute, group) of which nothing is told.
    """
    counts = np.bincount(label[label >= 0], minlength=groups.n_groups).tolist()
    before = {g for g, name in enumerate(groups.names) if (groups.name, name) in hidden}
    out = to_withhold(counts, int((label < 0).sum()), fewest, hidden=before) | before
    return [(name, label == g) for g, name in enumerate(groups.names) if g not in out and counts[g] >= fewest]


def _enough(one: Estimate, fewest: int) -> Estimate:
    return one if one.n >= fewest else NOTHING


def _without_means(one: GroupFigures, fewest: int) -> GroupFigures:
    shown = {name: _enough(e, fewest) if name in RATES else NOTHING for name, e in one.figures.items()}
    return replace(
        one,
        figures=shown,
        acted_on=(float("nan"),) * len(one.acted_on),
        served=(NOTHING,) * len(one.served),
        needed=(NOTHING,) * len(one.needed),
        curve=(),
    )


def _without_sums(one: GroupFigures) -> GroupFigures:
    """Return a group without what is a sum over its plans in disguise, its means excepted."""
    shown = {name: e if name in RATES else replace(e, std=float("nan")) for name, e in one.figures.items()}
    return replace(one, figures=shown, served=(NOTHING,) * len(one.served), curve=())


def _without_outcomes(one: GroupFigures, fewest: int) -> GroupFigures:
    shown = {name: e if name == "refused" else NOTHING for name, e in one.figures.items()}
    return replace(
        _without_means(one, fewest), figures=shown, compared=False, withheld=True, counts_withheld=True
    )


def _suppressed(one: GroupFigures, why: str) -> GroupFigures:
    return replace(
        one, compared=False, compared_refused=False, figures=dict.fromkeys(one.figures, NOTHING),
        acted_on=(float("nan"),) * len(one.acted_on), served=(NOTHING,) * len(one.served),
        needed=(NOTHING,) * len(one.needed), curve=(), withheld=True, hidden=why,
    )  # fmt: skip


def without_people(
    summary: Summary, hidden: set[tuple[str, str]], fewest: int = FEWEST,
    answered: Mapping[tuple[str, str], int] = MappingProxyType({}),
) -> Summary:  # fmt: skip
    """Return a summary without anybody's row, without groups of few, and of lines for few what they say and no more;
    hidden: (attribute, group); answered: how many of it, of whom those scored must leave three or none.

    Shares and means are in steps that three people make: half of the people are scored, several lines speak to one
    person, and all this stands beside figures of all.
    """
    nobody = np.arange(0)
    groups: list[Served] = []
    for attribute in dict.fromkeys(g.attribute for g in summary.groups):
        some = [g for g in summary.groups if g.attribute == attribute]
        counts = [g.served.n for g in some]
        left = [answered.get((attribute, g.group), g.served.n) - g.served.n for g in some]
        before = {i for i, g in enumerate(some) if (attribute, g.group) in hidden or 0 < left[i] < FEWEST}
        rest = max(summary.n_scored - sum(counts), 0)
        out = to_withhold(counts, rest, fewest, hidden=before) | before
        groups += [_served_in_steps(g) for i, g in enumerate(some) if i not in out and counts[i] >= fewest]
    everybody = _served_in_steps(summary.everybody)
    return replace(
        summary,
        lines=tuple(_line_in_steps(line, summary.n_scored) for line in summary.lines),
        everybody=everybody,
        extra=mean_in_steps(summary.extra, summary.n_scored),
        curve=_in_steps(summary),
        recourse=summary.recourse[nobody],
        line=summary.line[nobody],
        who=nobody,
        groups=tuple(groups),
    )


def _served_in_steps(one: Served) -> Served:
    among = one.served.n
    return replace(
        one, served=rate_in_steps(one.served), own_served=rate_in_steps(one.own_served),
        cost=mean_in_steps(one.cost, among), own_cost=mean_in_steps(one.own_cost, among),
        extra=mean_in_steps(one.extra, among),
    )  # fmt: skip


def _line_in_steps(line: SummaryLine, scored: int) -> SummaryLine:
    """Return a line as it may be told: of one that speaks to fewer than ten, only what it says."""
    works = rate_in_steps(line.works)
    if not works.n:
        few = 0 < line.n_addressed < FEWEST
        return replace(
            line, n_addressed=0 if few else line.n_addressed, works=NOTHING, cost=NOTHING, used=float("nan"),
            how_much="", withheld=line.n_addressed > 0,
        )  # fmt: skip
    used = in_steps_of_people(round(line.used * scored), scored) / scored
    cost = mean_in_steps(line.cost, line.n_addressed)
    return replace(line, works=works, cost=cost, used=used, how_much=line.how_much if cost.n else "")


def _in_steps(summary: Summary) -> Curve:
    """Return the curve of a summary in steps of three people or more; empty where so few are served."""
    curve, everybody, scored = summary.curve, summary.everybody, summary.n_scored
    sides = (curve.served, everybody.cost.n), (curve.own, everybody.own_cost.n)
    served, own = (
        tuple(
            float(v)
            for v in np.minimum(
                steps_of_enough(np.round(np.array(share) * scored), scored), in_steps_of_people(plans, scored)
            ) / scored
        )
        if share and plans >= FEWEST_SPREAD
        else ()
        for share, plans in sides
    )  # fmt: skip
    return Curve(curve.cost if served else (), served, own if served else ())


def quoted_list(names: Sequence[str]) -> str:
    """Return names as people read them in a sentence."""
    return words.join([in_quotes(translated(name)) for name in names])
