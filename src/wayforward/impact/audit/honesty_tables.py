"""The section of an audit's page on honesty: offers beside what exists, models as good, misreports. From plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wayforward.answers import words

if TYPE_CHECKING:
    from wayforward.impact.audit.result import Audit

_MOST = 12  # features that are listed


def text(audit: Audit) -> list[str]:
    """Return what was found, in sentences; nothing where nobody asked."""
    found = audit.meta.get("honesty")
    if not found:
        return []
    offers, family = found["offers"], found["family"]
    out = [
        f"Offers to {words.count(offers['people'], 'person', 'people')}, a sample, are held against what "
        f"{words.join(offers['methods'])} find together. A cheaper option that is known is certain; that none is "
        "known is not, unless it was proved.",
        f"For {_share(offers['cheaper'])} a cheaper option is known; the mean offer is {_share(offers['excess'])} "
        f"dearer than the cheapest known. {_share(offers['proved'])} of the offers are proved to be the cheapest "
        f"possible. {_share(offers['one_way'])} of people were shown one set of features to act on, although another "
        "way exists that costs at most half more.",
    ]
    if offers["withheld"]["n"]:
        out.append(f"Of those without an offer, {_share(offers['withheld'])} could have been made one.")
    if offers["yardsticks"]:
        out.append(
            "Costs disagree by nature, so that an option may be cheaper by another one is no fault. Ask why, where "
            "offers avoid the same act by every one of them."
        )
    for gap in offers["gaps"]:
        if gap["stands"]:
            out.append(
                f"“{gap['first']}” is shown offers {words.percent(gap['values'][0], 1)} above the cheapest known, and "
                f"{gap['second']} {words.percent(gap['values'][1], 1)}: more than chance would make it."
            )
    if family["models"]:
        out.append(
            f"Under {words.count(family['models'], 'other model')} as good as this one, {_share(family['refusal'])} of "
            f"the refused people would be accepted by some, and {_share(family['option'])} of the offers be refused by "
            f"some. The dearest of these models costs a person {_share(family['spread'])} more than the cheapest, on "
            f"average; {family['rank']} of them are cheaper for people than the model in use."
        )
    return out


def yardsticks(audit: Audit) -> list[dict[str, str]]:
    """Return how offers fare by other costs."""
    found = audit.meta.get("honesty") or {"offers": {"yardsticks": ()}}
    return [
        {
            "Cost": one["cost"],
            "People with an option cheaper by more than 10 %": _share(one["cheaper"], True),
            "It acts on, and the offer does not": ", ".join(
                f"{audit.schema[name].text_label} ({words.number(n)})" for name, n in one["avoided"][:4]
            )
            or "–",
        }
        for one in found["offers"]["yardsticks"]
    ]


def misreports(audit: Audit) -> list[dict[str, str]]:
    """Return what misreporting each feature gains; those that gain nothing are left out."""
    found = audit.meta.get("honesty") or {"misreports": ()}
    rows = []
    for one in found["misreports"][:_MOST]:
        if not one["turned"][-1]["value"]:
            continue
        by_size = dict(zip(one["sizes"], one["turned"], strict=True))
        feature = audit.schema[one["feature"]]
        rows.append(
            {
                "Feature": feature.text_label,
                "A misreport of 5 % of its range turns": _share(by_size.get(0.05)),
                "Of a quarter of it": _share(by_size.get(0.25)),
                "Any misreport": _share(one["turned"][-1], True),
                "People may act on it": "yes" if one["actionable"] else "no",
            }
        )
    return rows


def _share(estimate: dict[str, Any] | None, interval: bool = False) -> str:
    if estimate is None:
        return "–"
    if not estimate["n"] or estimate["value"] is None:
        return "not measured"
    value = words.percent(estimate["value"], 1)
    if not interval:
        return value
    return f"{value} ({words.percent(estimate['low'], 1)} to {words.percent(estimate['high'], 1)})"


__all__ = ["misreports", "text", "yardsticks"]
