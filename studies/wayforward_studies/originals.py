"""The papers that first described the methods here: which of their tables are measured again, and why not the others.

Only texts that we have can be set beside our numbers: the five papers of this study, the facts that were published
beside them, and public records that state numbers of other papers (`firsts`).
"""

from __future__ import annotations

from dataclasses import dataclass

from wayforward.methods.survey import SURVEYED, beyond
from wayforward_studies.pages import Line, Table

#: Ours, and second names of a system that stands in another line.
_OURS = ("local-search", "icarma-polished", "efare", "shap-c")


@dataclass(frozen=True)
class Original:
    """One line. names: as the survey calls systems, or methods beyond it. text: where it is measured, or why not."""

    names: tuple[str, ...]
    outcome: str
    text: str


_BASES = (
    "as the base of [HARE](hare/table-1.md), {}not in a table of its own paper, of which no number stands in the texts "
    "that we have"
)
ORIGINALS: tuple[Original, ...] = (
    Original(("icarma",), "measured", "[its own tables](icarma/table-1-loan.md)"),
    Original(("ebr", "ibr"), "measured", "[their own tables](balanced/table-1.md)"),
    Original(("HARE",), "measured", "[its own tables](hare/table-1.md)"),
    Original(
        ("PEAR",),
        "findings",
        "[regret against questions](pear/regret.md); its figures are curves without numbers in the text that we have",
    ),
    Original(
        ("carma", "causal-oracle"),
        "in part",
        "with the released people and classifier the oracle's lines of iCARMA's Table 1 [are within]"
        "(icarma/table-1-loan-released.md); no number of CARMA's own tables stands in the texts that we have",
    ),
    Original(
        ("Growing Spheres", "CF Expl.", "CRUDS", "C-CHVAE (Pawelczyk, Broelemann et al.)"),
        "in part",
        _BASES.format("and beside [balanced recourse](balanced/table-6.md), "),
    ),
    Original(("FACE", "clue"), "in part", _BASES.format("")),
    Original(
        ("Probabilistic Recourse",),
        "in part",
        "[balanced recourse's Table 4](balanced/table-4.md) for its direction; no number of its own paper stands in "
        "the texts that we have",
    ),
    Original(
        ("MINT",),
        "in part",
        "[its demonstration](mint/demonstration.md): the made-up example, and German Credit with fifty people of each "
        "split",
    ),
    Original(
        ("roar",),
        "in part",
        "[its Table 1](originals/roar.md) for the correction shift, at second hand; the tables of the other two shifts "
        "are not among the public data here",
    ),
    Original(
        ("MACE",),
        "in part",
        "[its Table 3](originals/mace.md) for regression, on two of its tables and at second hand",
    ),
    Original(
        ("probe",),
        "in part",
        "[its own rows of its Table 1](originals/probe.md), at second hand; no number of the methods beside it stands "
        "in the texts that we have",
    ),
    Original(
        ("GLOBE-CE", "Recourse Summaries"),
        "in part",
        "[what the notebook of GLOBE-CE's authors prints](originals/globe-ce.md) of German Credit; no number of AReS' "
        "own paper (Recourse Summaries) stands in the texts that we have",
    ),
    Original(
        ("MC-BRP", "Gradient Boosted CFs"), "not", "data: sales of a retailer, which are not public"
    ),
    Original(
        (
            "SEDC", "CF Visual Expl.", "LIME-C/SHAP-C", "SEDC-T", "SCOUT", "Gradual Construction", "ABELE",
            "Time Series CFs", "PRINCE", "Survival Model CFs",
        ),
        "not",
        "data: texts, images, series, ratings or survival times, of which none is here; no number in the texts that "
        "we have",
    ),
)  # fmt: skip
_REST = (
    "no number of theirs stands in the texts that we have: five papers, the facts published beside them, and public "
    "records of a few others"
)
_BESIDE = ("HARE", "PEAR", "GLOBE-CE")  # no methods, and not the survey's


def known() -> tuple[str, ...]:
    """Every system that is built here: the survey's by its names, those beyond it by ours."""
    more = (name for name in beyond() if name not in _OURS)
    return (*(row.name for row in SURVEYED), *more, *_BESIDE)


def table() -> Table:
    """A line for each paper or for those that share a reason."""
    told = {name for one in ORIGINALS for name in one.names}
    rest = Original(tuple(name for name in known() if name not in told), "not", _REST)
    lines = tuple(Line((", ".join(one.names), one.outcome, one.text)) for one in (*ORIGINALS, rest))
    return Table(("papers behind", "measured again", "where, or why not"), lines, TITLE, TEXT)


TITLE = "The papers behind the methods"
TEXT = (
    "What each method's own paper measured. *measured*: its tables; *findings*: what it concludes; *in part*: some of "
    "its tables, or as one of the methods of another paper's."
)
