"""How much is proved: of whom the plan is the cheapest possible, and of whom without a plan none exists, by group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.impact.audit.figures import Measured
from wayforward.impact.audit.suppression import may_be_told
from wayforward.impact.audit.wording import feature_titles
from wayforward.language import N_, gettext, ngettext
from wayforward.methods.certificates import certified
from wayforward.recourse import PROVED_GAP
from wayforward.shapes import Mask

if TYPE_CHECKING:
    from wayforward.impact.audit.result import Audit

_MOST_ABOVE = 0.05  # a plan that may cost so much more than the cheapest is left open
_BOXES = 2_000  # looked at for a person's bound
_COLUMNS = {  # key of a row -> what its column is called
    "plans": N_("Plans looked at"),
    "cheapest": N_("Proved the cheapest"),
    "within_1": N_("Proved: up to 1 percent above it"),
    "within_5": N_("Proved: up to 5 percent above it"),
    "plans_open": N_("Plans left open"),
    "without": N_("People without a plan"),
    "none_exists": N_("Proved: none exists"),
    "without_open": N_("People left open"),
}


def proved_by_group(
    measured: Measured, how: np.ndarray, most: int, hidden: set[tuple[str, str]]
) -> dict[str, Any]:
    """Count what is proved: of everybody answered, then of each group that is not hidden. Returns plain values.

    Bounds are proved of at most so many plans, drawn by chance, and count as open where they leave more than 5 %.
    how (m,): how it is known of each person that none exists ('proved', 'listed'), see `verdicts_of`. Empty where
    nothing was asked for.
    """
    if most < 1:
        return {}
    measured.progress("how cheap plans can be", 0, 1)
    usable = measured.measures["usable"] > 0
    at = np.flatnonzero(usable & measured.recourse.found[:, 0])
    if at.size > most:
        at = np.sort(np.random.default_rng([measured.seed, 31]).choice(at, most, replace=False))
    gap = np.full(len(usable), np.inf)
    gap[at] = np.nan_to_num(certified(measured.recourse[at], boxes=_BOXES).gap[:, 0], nan=np.inf)
    looked = np.zeros(len(usable), dtype=bool)
    looked[at] = True
    none = np.isin(how, ("proved", "listed"))

    def row(attribute: str, group: str, some: Mask, plans_told: bool = True) -> dict[str, Any]:
        of, without = gap[some & looked], some & ~usable
        inside = [int((of <= most_above).sum()) for most_above in (PROVED_GAP, 0.01, _MOST_ABOVE)]
        plans: dict[str, int | None] = {
            "plans": of.size, "cheapest": inside[0], "within_1": inside[1] - inside[0],
            "within_5": inside[2] - inside[1], "plans_open": of.size - inside[2],
        }  # fmt: skip
        return {
            "attribute": attribute, "group": group, **(plans if plans_told else dict.fromkeys(plans)),
            "without": int(without.sum()), "none_exists": int((without & none).sum()),
            "without_open": int((without & ~none).sum()),
        }  # fmt: skip

    everybody = np.ones(len(usable), dtype=bool)
    rows = (
        [row("", "everybody", everybody, len(at) >= measured.fewest)]
        if len(usable) >= measured.fewest
        else []
    )
    for groups in measured.attributes:
        label = groups.member[measured.who]
        enough = {name for name, _ in may_be_told(label[looked], groups, measured.fewest, hidden)}
        shown = may_be_told(label, groups, measured.fewest, hidden)
        rows += [row(groups.name, name, some, name in enough) for name, some in shown]
    return {"most_plans": most, "groups": rows}


def table(audit: Audit) -> list[dict[str, str]]:
    """Return what is proved of each group, for the page."""
    rows, titles = [], feature_titles(audit)
    for side in audit.proved.get("groups", ()):
        attribute = titles.get(side["attribute"], side["attribute"])
        group = gettext("everybody") if not attribute else f"{attribute}: {side['group']}"
        rows.append(
            {gettext("Group"): group}
            | {
                gettext(title): gettext("withheld") if side[key] is None else words.number(side[key])
                for key, title in _COLUMNS.items()
            }
        )
    return rows


def caption() -> str:
    """Return what the table holds."""
    return gettext("Plans and people without one, by what is proved")


def heading() -> str:
    """Return the title of the part of the page."""
    return gettext("How much is proved?")


def text() -> str:
    """Return how the table is read."""
    return gettext(
        "A plan that was found need not be the cheapest there is. Here a sample of the plans is set beside a proved "
        "bound: nothing that the person is allowed to do costs less. A plan is left open where more than {most} lies "
        "between the two, or where nothing is proved. Of people without a plan it is either proved that none exists, "
        "or they are left open, too: a plan may exist that was not found.",
        most=words.percent(_MOST_ABOVE),
    )


def sentence(audit: Audit) -> str:
    """Return the finding about everybody, '' where nothing is proved."""
    whole = next(iter(audit.proved.get("groups", ())), None)
    if whole is None or not whole["plans"]:
        return ""
    near = whole["cheapest"] + whole["within_1"] + whole["within_5"]
    if not near:
        return ""
    cheapest, within = (words.percent(part / whole["plans"], 1) for part in (whole["cheapest"], near))
    found = gettext(
        "Of {plans} plans that were set beside a proved bound, {cheapest} are the cheapest possible, and {within} cost "
        "at most {most} more than that.",
        most=words.percent(_MOST_ABOVE),
        plans=words.number(whole["plans"]), cheapest=cheapest, within=within,
    )  # fmt: skip
    if whole["cheapest"] == whole["plans"]:
        found = ngettext(
            "The one plan that was set beside a proved bound is the cheapest possible.",
            "All {n} plans that were set beside a proved bound are the cheapest possible.",
            whole["plans"],
        )
    if not whole["without"]:
        return found
    return found + " " + gettext(
        "Of {without} people without a plan, {none} are proved to have none.",
        without=words.number(whole["without"]), none=words.number(whole["none_exists"]),
    )  # fmt: skip
