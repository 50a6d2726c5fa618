"""Table 4 and Figure 2: how likely each ranking is, and how scores become weights; computed, nothing is measured.

Source: Budde, Majumdar, Uth, Langer & Valera (2026), iCARMA, Table 4 and Figure 2; of whose text our copy lacks the
fractions of the one and the ranges of the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.answers.figure_style import LINES, figure_style, new_figure
from wayforward.preferences import LOAN_LAWS, ranking_law, score_weights
from wayforward_studies.icarma.preferences import LEVELS
from wayforward_studies.icarma.published import PROFILES
from wayforward_studies.pages import Line, Page, Row, Table, save
from wayforward_studies.replication import Replication, Request, known, made_with
from wayforward_studies.verdicts import Check

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGES = ("rankings", "profiles")
_NAMES = ("loan_amount", "loan_duration", "income", "savings")
_SHORT = {"loan_amount": "LA", "loan_duration": "Dur", "income": "Inc", "savings": "Sav"}
LAWS = ("uniform", *LOAN_LAWS)


@dataclass(frozen=True)
class LawsRequest(Request):
    """Both pages, or one."""

    extras: tuple[str, ...] = PAGES
    out: Path = Path("docs/replication/icarma")

    def __post_init__(self) -> None:
        known("extra page", self.extras, PAGES)

    @property
    def pages(self) -> tuple[str, ...]:
        """Those that were asked for."""
        return self.extras


@dataclass
class LawsReplication(Replication):
    """The pages 'rankings' (Table 4) and 'profiles' (Figure 2)."""

    paper: ClassVar[str] = "icarma"
    extra_pages: ClassVar[tuple[str, ...]] = PAGES
    decides: ClassVar[tuple[str, ...]] = ("icarma/laws.py",)
    request: LawsRequest

    def measure(self, name: str) -> Page:
        """Compute one page."""
        file = self.request.file(name)
        if name == "rankings":
            rows = tuple(rankings())
            return Page(self.paper, file, _TITLES[name], rows, _supports(rows), {})
        drawn = save(figure(), self.request.out, file)
        return Page(self.paper, file, _TITLES[name], tuple(profiles()), (), {}, drawn)

    @classmethod
    def laid_out(cls, page: Page) -> Page:
        """The page with its table and text."""
        heads = tuple(page.rows[0])
        lines = tuple(Line(tuple(_text(row[head]) for head in heads)) for row in page.rows)
        return replace(
            page,
            title=_TITLES[page.stem],
            intro=_INTROS[page.stem],
            tolerance="No tolerance: the paper's text has no such numbers.",
            tables=(Table(heads, lines),),
            notes=f"{made_with(page.provenance)}.",
        )

    @classmethod
    def console(cls, page: Page) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The table."""
        return page.tables[0].columns, page.tables[0].rows()


def rankings() -> list[Row]:
    """A row for each of the 24 rankings, the easiest feature first, with its probability under every law."""
    orders = list(itertools.permutations(range(1, len(_NAMES) + 1)))
    law = {name: ranking_law(_NAMES, pair) for name, pair in LOAN_LAWS.items()}
    law["uniform"] = np.full(len(orders), 1 / len(orders))
    out: list[Row] = []
    for i, ranks in enumerate(orders):
        first = " > ".join(_SHORT[_NAMES[j]] for j in np.argsort(ranks))
        out.append({"ranking": first, **{name: float(law[name][i]) for name in LAWS}})
    return out


def _supports(rows: Sequence[Row]) -> tuple[Check, ...]:
    """What is left of Table 4: its zeros."""
    zeros = [sum(row[name] == 0 for name in LOAN_LAWS) for row in rows]
    return (
        Check(
            "zeros",
            "every ranking has probability 0 under exactly two of the four biased laws",
            set(zeros) == {2},
            f"two in {zeros.count(2)} of {len(zeros)} rankings",
        ),
    )


def profiles() -> list[Row]:
    """A row for each score: its weight by profile, w from 1 to 10."""
    score = np.arange(1, LEVELS + 1)
    shapes: dict[str, Any] = {name: name for name in PROFILES}
    weight = {name: score_weights(score, LEVELS, profile=shape) for name, shape in shapes.items()}
    return [
        {"score": int(s), **{name: float(weight[name][i]) for name in PROFILES}} for i, s in enumerate(score)
    ]


def figure() -> Figure:
    """Figure 2: weight against score, a curve for each profile."""
    score = np.linspace(1, LEVELS, 61)
    with figure_style():
        drawn = new_figure(5.0, 3.4)
        ax = drawn.subplots()
        for (line, mark, colour), name in zip(LINES, PROFILES, strict=False):
            shape: Any = name
            weight = score_weights(score, LEVELS, profile=shape)
            ax.plot(score, weight, ls=line, color=colour, lw=1.8, label=name)
            whole = np.arange(1, LEVELS + 1)
            marked = score_weights(whole, LEVELS, profile=shape)
            ax.plot(whole, marked, ls="", marker=mark, color=colour, ms=6)
        ax.set_xlabel("score, 1 the easiest")
        ax.set_ylabel("weight of the cost")
        ax.set_xticks(range(1, LEVELS + 1))
        ax.legend(frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    return drawn


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else "0" if value == 0 else f"{value:.4g}"


_TITLES = {
    "rankings": "Table 4. How likely each ranking is, by law",
    "profiles": "Figure 2. Weights by score and profile",
}
_INTROS = {
    "rankings": (
        "Rankings of loan amount (LA), duration (Dur), income (Inc) and savings (Sav), the easiest first, and their "
        "probabilities as they are drawn here. The text that we have lacks the fractions of the paper's Table 4 and "
        "has its zeros: two a line. Here a ranking whose first two are the favoured pair has 1/6, one that only "
        "begins with a favoured feature 1/24. That is a reading: with one feature it gives the oracle's validity of "
        "Table 5 within .02."
    ),
    "profiles": (
        "w = 1 + 9 t ** gamma with t = (score - 1) / 3 and gamma 1 (linear), 2 (convex) and 1/2 (concave); constant "
        "is 1. The range of the weights and the exponents are a reading: the text that we have lacks them, and these "
        "give the oracle's hap of Table 2 within .05. A score is a whole number, so that only the marked weights "
        "occur: 1, 4, 7, 10 (linear), 1, 2, 5, 10 (convex) and 1, 6.2, 8.3, 10 (concave)."
    ),
}
