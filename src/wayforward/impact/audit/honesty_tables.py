"""The section of an audit's page on honesty: offers beside what exists, models as good, misreports. From plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wayforward.answers import words
from wayforward.answers.words import in_quotes
from wayforward.impact.audit.wording import those_of, with_interval, yes_or_no
from wayforward.impact.privacy import FEWEST
from wayforward.language import gettext, ngettext

if TYPE_CHECKING:
    from wayforward.impact.audit.result import Audit

_MOST = 12  # features that are listed


def text(audit: Audit) -> list[str]:
    """Return what was found, in sentences; nothing where nobody asked."""
    found = audit.meta.get("honesty")
    if not found:
        return []
    offers, family = found["offers"], found["family"]
    if offers["people"] is None:
        return [gettext("Withheld: offers to fewer than {n} people would tell of each.", n=FEWEST)]
    out = [
        gettext(
            "Offers to {n}, a sample, are held against what {methods} find together. A cheaper option that is known is "
            "certain; that none is known is not, unless it was proved.",
            n=words.count(offers["people"], "person", "people"), methods=words.join(offers["methods"]),
        ),
        gettext(
            "For {cheaper} a cheaper option is known; the mean offer is {excess} dearer than the cheapest known. "
            "{proved} of the offers are proved to be the cheapest possible. {one_way} of people were shown one set of "
            "features to act on, although another way exists that costs at most half more.",
            **{name: _share(offers[name]) for name in ("cheaper", "excess", "proved", "one_way")},
        ),
    ]  # fmt: skip
    if offers["withheld"]["n"]:
        out.append(
            gettext(
                "Of those without an offer, {share} could have been made one.",
                share=_share(offers["withheld"]),
            )
        )
    if offers["yardsticks"]:
        out.append(
            gettext(
                "Costs disagree by nature, so that an option may be cheaper by another one is no fault. Ask why, where "
                "offers avoid the same act by every one of them."
            )
        )
    for gap in offers["gaps"]:
        if gap["stands"]:
            out.append(
                gettext(
                    "{first} is shown offers {one} above the cheapest known, and {second} {two}: more than chance "
                    "would make it.",
                    first=in_quotes(gap["first"]), one=words.percent(gap["values"][0], 1),
                    second=those_of(gap["second"]), two=words.percent(gap["values"][1], 1),
                )
            )  # fmt: skip
    if family["models"] and family["rank"] is None:
        out.append(
            ngettext(
                "Under {n} other model as good as this one, {refusal} of the refused people would be accepted by some, "
                "and {option} of the offers be refused by some. What they cost people is withheld: too few are served "
                "by all.",
                "Under {n} other models as good as this one, {refusal} of the refused people would be accepted by "
                "some, and {option} of the offers be refused by some. What they cost people is withheld: too few are "
                "served by all.",
                family["models"], refusal=_share(family["refusal"]), option=_share(family["option"]),
            )
        )  # fmt: skip
    elif family["models"]:
        out.append(
            ngettext(
                "Under {n} other model as good as this one, {refusal} of the refused people would be accepted by some, "
                "and {option} of the offers be refused by some. The dearest of these models costs a person {spread} "
                "more than the cheapest, on average; {rank} of them are cheaper for people than the model in use.",
                "Under {n} other models as good as this one, {refusal} of the refused people would be accepted by "
                "some, and {option} of the offers be refused by some. The dearest of these models costs a person "
                "{spread} more than the cheapest, on average; {rank} of them are cheaper for people than the model in "
                "use.",
                family["models"], rank=family["rank"],
                **{name: _share(family[name]) for name in ("refusal", "option", "spread")},
            )
        )  # fmt: skip
    return out


def yardsticks(audit: Audit) -> list[dict[str, str]]:
    """Return how offers fare by other costs."""
    found = audit.meta.get("honesty") or {"offers": {"yardsticks": ()}}
    return [
        {
            gettext("Cost"): gettext(one["cost"]),
            gettext("People with an option cheaper by more than 10 %"): _share(one["cheaper"], True),
            gettext("It acts on, and the offer does not"): ", ".join(
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
                gettext("Feature"): feature.text_label,
                gettext("A misreport of 5 % of its range turns"): _share(by_size.get(0.05)),
                gettext("Of a quarter of it"): _share(by_size.get(0.25)),
                gettext("Any misreport"): _share(one["turned"][-1], True),
                gettext("People may act on it"): yes_or_no(one["actionable"]),
            }
        )
    return rows


def _share(estimate: dict[str, Any] | None, interval: bool = False) -> str:
    if estimate is None:
        return "–"
    if not estimate["n"] or estimate["value"] is None:
        return gettext("not told")  # of too few people, or not measured
    value = words.percent(estimate["value"], 1)
    if not interval:
        return value
    return with_interval(value, words.percent(estimate["low"], 1), words.percent(estimate["high"], 1))


__all__ = ["misreports", "text", "yardsticks"]
