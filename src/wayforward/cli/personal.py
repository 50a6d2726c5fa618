"""The part of the demonstration about limits: three made-up people, what they say, and what they are told.

The people are picked to show three things that happen: a plan without causes that does not exist, one that does
not work, and one that asks for too much. How often each happens is counted over everybody and said beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.cli.inputs import Ready
from wayforward.cli.letters import write_letters
from wayforward.language import N_, gettext
from wayforward.plain_files import write_text

if TYPE_CHECKING:
    from wayforward.answers.causes import SideBySide
    from wayforward.preferences import Preferences
    from wayforward.problem import Problem
    from wayforward.recourse import Recourse

COUNTED = 200  # people over whom each limit is counted
TRIED = 6  # candidates whose numbers are rounded before one is shown


@dataclass(frozen=True)
class Limits:
    """Limits as a person puts them, and the same as rows of a table of wishes."""

    name: str
    sentences: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    shows: str  # "none": no plan without causes; "fails": it does not work; "more": it asks for too much

    def preferences(self, problem: Problem, x: np.ndarray) -> Preferences:
        """The limits as those of everybody in x (n, d)."""
        from wayforward.preferences import Preferences

        rows = [{"person": i, **row} for i in range(len(x)) for row in self.rows]
        return Preferences.from_table(problem.schema, rows, len(x), x=x)


THREE = (
    Limits(
        "Ana",
        (
            N_("I cannot change my income."),
            N_("I have nothing more to save."),
            N_("I cannot go back to school."),
        ),
        tuple({"feature": name, "can": "no"} for name in ("income", "savings", "education")),
        "none",
    ),
    Limits(
        "Bo",
        (
            N_("I can earn 15 % more at most."),
            N_("I want to change one thing, not two."),
            N_("I cannot go back to school."),
        ),
        (
            {"feature": "income", "high": "+15%"},
            {"max_changes": 1},
            {"feature": "education", "can": "no"},
        ),
        "fails",
    ),
    Limits(
        "Cem",
        (
            N_("A smaller loan is what I want least."),
            N_("Saving more is easier, and earning more is the easiest."),
        ),
        tuple(
            {"feature": name, "rank": rank}
            for rank, name in enumerate(("income", "savings", "education", "loan_amount"), start=1)
        ),
        "more",
    ),
)


@dataclass
class Personal:
    """A comparison for each of three people, their answers, and the counts behind them."""

    stories: list[SideBySide]
    counts: list[dict[str, str]]
    answers: Recourse  # the three people, in the causal world
    numbers: list[dict[str, Any]] = field(default_factory=list)


def ask(ready: Ready, method: str, seed: int) -> Personal:
    """Find plans under each of the three limits, with causes and without; pick the people who are shown."""
    from wayforward.answers.causes import played_out, side_by_side, without_causes
    from wayforward.methods import method as named
    from wayforward.recourse import Recourse

    problem, x = ready.problem, ready.x[:COUNTED]
    alone = without_causes(problem)
    within, apart = named(method).fit(problem), named(method).fit(alone)
    stories, numbers, shown, taken = [], [], [], set[int]()
    for limits in THREE:
        wish = limits.preferences(problem, x)
        first = apart.recommend(x, preferences=wish, seed=seed)
        second = within.recommend(x, preferences=wish, seed=seed)
        works = played_out(problem, first)[1]
        order = [i for i in _candidates(limits.shows, first, second, works) if i not in taken][:TRIED]
        pick = np.array(order)
        compared = side_by_side(
            problem,
            second[pick],
            first[pick],
            names=[limits.name] * len(order),
            statements=[[gettext(sentence) for sentence in limits.sentences]] * len(order),
        )
        place = next((p for p, story in enumerate(compared) if _still(limits.shows, story)), 0)
        taken.add(order[place])
        stories.append(compared[place])
        shown.append(second[order[place]])
        numbers.append(_count(limits, first, second, works))
    return Personal(stories, [_in_words(row) for row in numbers], Recourse.concat(shown), numbers)


def _candidates(shows: str, first: Recourse, second: Recourse, works: np.ndarray) -> list[int]:
    """Rank people: first those whose case is wanted, of middling cost first; then everybody with a plan."""
    has, plan = first.found[:, 0], second.found[:, 0]
    with np.errstate(invalid="ignore"):
        dearer = has & works & (first.cost[:, 0] > 1.1 * second.cost[:, 0])
    dearer &= (first.acted[:, 0].sum(1) == 1) & (
        second.acted[:, 0].sum(1) == 1
    )  # one act each is easy to compare
    holds = (~np.isnan(second.action[:, 0]) & ~second.acted[:, 0]).any(
        1
    )  # "keep it where it is" needs a story
    wanted = plan & ~holds & {"none": ~has, "fails": has & ~works, "more": dearer}[shows]
    cost = np.where(plan, second.cost[:, 0], np.inf)
    middle = np.median(cost[wanted]) if wanted.any() else 0.0
    order = np.lexsort((np.abs(np.where(plan, cost, 1e9) - middle), ~wanted))
    return [int(i) for i in order]


def _still(shows: str, story: SideBySide) -> bool:
    """Return whether the case is still the wanted one with rounded numbers."""
    if shows == "none":
        return not story.alone
    return story.alone and not story.works if shows == "fails" else story.works and story.saved > 0


def _count(limits: Limits, first: Recourse, second: Recourse, works: np.ndarray) -> dict[str, Any]:
    both = first.found[:, 0] & second.found[:, 0]
    mean = (float(got.cost[both, 0].mean()) if both.any() else float("nan") for got in (first, second))
    without, within = mean
    return {
        "name": limits.name,
        "asked": first.n,
        "plan_without_causes": int(first.found[:, 0].sum()),
        "works_when_carried_out": int(works.sum()),
        "plan_with_causes": int(second.found[:, 0].sum()),
        "cost_without_causes": without,
        "cost_with_causes": within,
    }


def _in_words(row: dict[str, Any]) -> dict[str, str]:
    """One row of the table of counts."""
    from wayforward.answers import words

    return {
        gettext("Limits of"): row["name"],
        gettext("People asked about"): words.number(row["asked"]),
        gettext("Plan without causes"): words.number(row["plan_without_causes"]),
        gettext("of these, works when carried out"): words.number(row["works_when_carried_out"]),
        gettext("Plan with causes"): words.number(row["plan_with_causes"]),
    }


def files(out: Path, ready: Ready, personal: Personal) -> None:
    """Write the three people and their wishes as tables, for the shell, and a letter to each."""
    from wayforward.answers import write_csv

    got = personal.answers
    columns = ready.schema.decode(got.x, like="dict")
    people = zip(*(values.tolist() for values in columns.values()), strict=True)
    write_csv([dict(zip(columns, row, strict=True)) for row in people], out / "three.csv")
    names = ("person", "feature", "can", "high", "rank", "max_changes")
    rows = [{"person": i, **row} for i, limits in enumerate(THREE) for row in limits.rows]
    table = [",".join(names), *(",".join(str(row.get(name, "")) for name in names) for row in rows)]
    write_text(out / "wishes.csv", "\n".join(table) + "\n")
    called = [limits.name.lower() for limits in THREE]
    write_letters(ready.problem, got, out / "letters", range(len(THREE)), called)


def lines(personal: Personal) -> list[str]:
    """Return the three stories as lines for the console."""
    out = []
    for story in personal.stories:
        statements = " ".join(story.statements)
        out.append(gettext('{name} says: "{statements}"', name=story.name, statements=statements))
        for head, plan, then in (
            (gettext("  Without causes: "), story.without, story.played_out),
            (gettext("  With causes:    "), story.within, story.verdict),
        ):
            out += [f"{head}{' '.join(plan)}", f"{' ' * len(head)}{then}"]
        out.append("")
    return out
