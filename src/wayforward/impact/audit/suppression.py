"""What an audit withholds: everything that would tell of one or two people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wayforward.answers import words
from wayforward.evaluate.stats import NOTHING
from wayforward.impact.audit.figures import GroupFigures
from wayforward.impact.audit.wording import in_quotes
from wayforward.impact.privacy import FEWEST
from wayforward.impact.summaries.summary import Summary


def suppress_small_groups(
    figures: tuple[GroupFigures, ...], unlabelled: int, smallest: int
) -> tuple[tuple[GroupFigures, ...], list[str]]:
    """Suppress groups of fewer than 3 people; return groups and notes.

    Where everybody less the others would tell of them, the smallest group that is not compared is suppressed, too.
    """
    tiny = [g for g, f in enumerate(figures) if 0 < f.people < FEWEST]
    if not tiny:
        return figures, []
    why = dict.fromkeys(tiny, f"withheld: fewer than {FEWEST} people")
    notes = [f"Withheld, with fewer than {FEWEST} people: {quoted_list([figures[g].name for g in tiny])}."]
    if sum(figures[g].people for g in tiny) + unlabelled < FEWEST:
        spare = [g for g, f in enumerate(figures) if FEWEST <= f.people < max(smallest, FEWEST)]
        if spare:
            guard = min(spare, key=lambda g: figures[g].people)
            why[guard] = "withheld: or a smaller group could be worked out from it"
            notes.append(
                "Withheld, too, or these could be worked out from the others: "
                f"{quoted_list([figures[guard].name])}."
            )
        else:
            notes.append(
                "Whoever takes all other groups from everybody still learns how many of these are refused: leave them "
                "without a label, or join them to another group."
            )
    return tuple(_suppressed(f, why[g]) if g in why else f for g, f in enumerate(figures)), notes


def _suppressed(one: GroupFigures, why: str) -> GroupFigures:
    return replace(
        one, compared=False, compared_refused=False, figures=dict.fromkeys(one.figures, NOTHING),
        acted_on=(float("nan"),) * len(one.acted_on), served=(NOTHING,) * len(one.served),
        needed=(NOTHING,) * len(one.needed), curve=(), withheld=True, hidden=why,
    )  # fmt: skip


def without_people(summary: Summary, hidden: set[tuple[str, str]]) -> Summary:
    """Return a summary without anybody's row and without groups of few; hidden: (attribute, group)."""
    nobody = np.arange(0)
    groups = tuple(g for g in summary.groups if g.served.n >= FEWEST and (g.attribute, g.group) not in hidden)
    return replace(
        summary, recourse=summary.recourse[nobody], line=summary.line[nobody], who=nobody, groups=groups
    )


def quoted_list(names: Sequence[str]) -> str:
    """Return names as people read them in a sentence."""
    return words.join([in_quotes(name) for name in names])
