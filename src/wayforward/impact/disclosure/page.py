"""An attack as one HTML page that stands alone: what answers give away, figures, tables, and the price of defences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from wayforward.answers import figures, words
from wayforward.answers.page import template_engine
from wayforward.impact.disclosure import charts
from wayforward.impact.disclosure.attack import Attack, Exposure
from wayforward.impact.disclosure.membership import Membership
from wayforward.impact.disclosure.reconstruction import FEW, Reconstruction
from wayforward.impact.disclosure.shadows import Shadowed
from wayforward.impact.disclosure.wording import (
    attack_name,
    defence_name,
    family_name,
    score_name,
    share,
    value,
)
from wayforward.language import N_, gettext, use_language
from wayforward.plain_files import as_path, write_text
from wayforward.public import public

_PARTS = {
    "values": N_("returned numbers that somebody has"),
    "rare": N_("returned numbers that 1 to {few} people have"),
    "options": N_("options whose values somebody has all at once"),
    "rows": N_("options that are somebody's whole row"),
}


@public
def report(attack: Attack, path: str | Path, title: str = "", language: str | None = None) -> Path:
    """Write the page to one HTML file and return its path. Raises: MissingExtra without matplotlib or Jinja2."""
    path = as_path(path)
    write_text(path, render(attack, title, language))
    return path


def render(attack: Attack, title: str = "", language: str | None = None) -> str:
    """Return the HTML text, in "en", "de" or the language in use."""
    from markupsafe import Markup

    with use_language(language):
        first = attack.exposures[0]
        drawn = {
            "copies": figures.svg(
                charts.figure_copies(first), "copies", gettext("Copies of the model"),
                gettext("Agreement of copies with the service by number of queries; the table holds the same numbers."),
            ),
            "defences": figures.svg(
                charts.figure_defences(attack), "defences", gettext("The best copy, by way of answering"),
                gettext("Agreement of the best copy by number of queries; the table holds the same numbers."),
            ),
            "membership": figures.svg(
                charts.figure_shares(attack, _auc(attack), 0.5), "membership", gettext("Membership"),
                gettext("The chance that a member scores above somebody else; the table holds the same numbers."),
            ),
            "reconstruction": figures.svg(
                charts.figure_shares(attack, _given_back(attack), None), "reconstruction", gettext("Reconstruction"),
                gettext("Shares of what is returned that the training table holds; the table holds the same numbers."),
            ),
        }  # fmt: skip
        text: str = (
            template_engine("wayforward.impact")
            .get_template("attack.html.j2")
            .render(
                title=title or gettext("What answers give away"),
                attack=attack,
                findings=findings(attack),
                price=_price(attack),
                copies=_copies(first),
                best=_best(attack),
                balls=_balls(first),
                membership=_membership(attack),
                shadows=_shadows(attack),
                attributes=_attributes(attack),
                reconstruction=_reconstruction(attack),
                defence_name=defence_name,
                number=words.number,
                percent=words.percent,
                **{f"{name}_figure": Markup(svg) for name, svg in drawn.items()},
            )
        )
    return text


def findings(attack: Attack) -> list[str]:
    """Return what an attacker learns, and what the defences change, in sentences."""
    first = attack.exposures[0]
    out = []
    best = charts.best_copies(first)
    if best:
        top = best[-1]
        out.append(
            gettext(
                "After {n} queries the best copy from options ({family}, {taught}) agrees with the service for {share} "
                "of people it never asked about.",
                n=words.number(top.queries), family=family_name(top.family), taught=attack_name(top.attack),
                share=words.percent(top.agreement.value, 1),
            )
        )  # fmt: skip
        plain = [f for f in first.extraction if f.attack == "labels" and f.queries == top.queries]
        if plain:
            other = max(plain, key=lambda f: f.balanced.value)
            out.append(
                gettext(
                    "The mean over accepted and refused people is {here}; a copy from as many decisions of people at "
                    "random has {there}.",
                    here=words.percent(top.balanced.value, 1), there=words.percent(other.balanced.value, 1),
                )
            )  # fmt: skip
    telling = [m for m in first.membership if m.auc.n and m.auc.low > 0.5]
    if telling:
        most = max(telling, key=lambda m: m.auc.value)
        out.append(
            gettext(
                "Answers tell who the model was trained on: by the {score}, a member is above somebody else in {auc} "
                "of pairs.",
                score=score_name(most.score), auc=words.percent(most.auc.value, 1),
            )
        )  # fmt: skip
    else:
        out.append(gettext("No score tells members from others better than chance would."))
    by_shadows = [one for one in first.shadows if one.auc.n]
    if by_shadows:
        surest = max(by_shadows, key=lambda one: one.auc.value)
        words_of = (
            N_(
                "{n} shadow models tell members: by the {score}, a member is above somebody else in {auc} of pairs."
            )
            if surest.auc.low > 0.5
            else N_(
                "{n} shadow models tell members from others no better than chance would: by the {score}, a member is "
                "above somebody else in {auc} of pairs."
            )
        )
        out.append(
            gettext(
                words_of,
                n=words.number(surest.models),
                score=score_name(surest.score),
                auc=words.percent(surest.auc.value, 1),
            )
        )
    out.extend(
        gettext(
            "Whoever knows somebody's plan and everything but “{name}” guesses it right for {share}; without the plan "
            "for {other}.",
            name=one.name, share=words.percent(one.with_plan.value, 1), other=words.percent(one.without.value, 1),
        )
        for one in first.attributes
        if one.with_plan.low > one.without.value
    )  # fmt: skip
    rebuilt = first.reconstruction
    out.append(
        gettext(
            "Of the numbers that options set, {values} are some training person's own ({rare} are held by fewer than "
            "{few}); {rows} of the options are a training person's whole row.",
            values=_share_of(rebuilt.values), rare=_share_of(rebuilt.rare), few=FEW, rows=_share_of(rebuilt.rows),
        )
    )  # fmt: skip
    for one in attack.exposures[1:]:
        copy = charts.best_copies(one)
        out.append(
            gettext(
                "With “{name}”, {usable} of refused people get an option ({before} without), costs are {dearer} "
                "higher, and the best copy has {copy}.",
                name=defence_name(one.name), usable=words.percent(one.usable.value),
                before=words.percent(first.usable.value), dearer=words.percent(one.dearer.value),
                copy=words.percent(copy[-1].balanced.value, 1) if copy else gettext("not measured"),
            )
        )  # fmt: skip
    return out


def _share_of(shares: tuple[Any, Any, Any]) -> str:
    return words.percent(shares[2].value, 1)


def _auc(attack: Attack) -> list[tuple[str, list[Any]]]:
    return [
        (score_name(one.score), [e.membership[i].auc for e in attack.exposures])
        for i, one in enumerate(attack.exposures[0].membership)
    ]


def _given_back(attack: Attack) -> list[tuple[str, list[Any]]]:
    return [(_part(name), [getattr(e.reconstruction, name)[2] for e in attack.exposures]) for name in _PARTS]


def _part(name: str) -> str:
    return gettext(_PARTS[name], few=FEW - 1)


def _price(attack: Attack) -> list[dict[str, str]]:
    return [
        {
            gettext("answers"): defence_name(one.name),
            gettext("what an option keeps to"): one.keeps.describe(),
            gettext("refused people with an option"): share(one.usable),
            gettext("mean cost"): value(one.cost, 3),
            gettext("dearer than without"): share(one.dearer) if one.dearer.n else "–",
        }
        for one in attack.exposures
    ]


def _copies(one: Exposure) -> list[dict[str, str]]:
    return [
        {
            gettext("taught by"): attack_name(f.attack),
            gettext("copy"): family_name(f.family),
            gettext("queries"): words.number(f.queries),
            gettext("agreement"): share(f.agreement),
            gettext("mean over accepted and refused"): share(f.balanced),
        }
        for f in one.extraction
    ]


def _best(attack: Attack) -> list[dict[str, str]]:
    return [
        {
            gettext("answers"): defence_name(one.name),
            gettext("queries"): words.number(f.queries),
            gettext("taught by"): attack_name(f.attack),
            gettext("copy"): family_name(f.family),
            gettext("mean over accepted and refused"): share(f.balanced),
        }
        for one in attack.exposures
        for f in charts.best_copies(one)
    ]


def _balls(one: Exposure) -> list[dict[str, str]]:
    return [
        {
            gettext("queries"): words.number(ball.queries),
            gettext("refused people inside a ball"): share(ball.covered),
            gettext("accepted people inside a ball"): share(ball.wrong),
            gettext("rows of the balls that are refused"): share(ball.true),
        }
        for ball in one.balls
    ]


def _told_by(answers: str, found: Membership | Shadowed) -> dict[str, str]:
    """The columns that every way to tell members has."""
    return {
        gettext("answers"): defence_name(answers),
        gettext("told by"): score_name(found.score),
        gettext("members, others"): f"{words.number(found.members)}, {words.number(found.outsiders)}",
        gettext("area under the curve"): value(found.auc),
    }


def _membership(attack: Attack) -> list[dict[str, str]]:
    return [
        {
            **_told_by(one.name, m),
            gettext("members found"): share(m.found),
            gettext("false alarms allowed"): words.number(m.allowed),
        }
        for one in attack.exposures
        for m in one.membership
    ]


def _shadows(attack: Attack) -> list[dict[str, str]]:
    return [
        {
            **_told_by(one.name, s),
            **{
                text: share(estimate)
                for a in s.alarms
                for text, estimate in (
                    (gettext("members found at {rate}", rate=words.percent(a.rate, 1)), a.true),
                    (gettext("false alarms at {rate}", rate=words.percent(a.rate, 1)), a.false),
                )
            },
        }
        for one in attack.exposures
        for s in one.shadows
    ]


def _attributes(attack: Attack) -> list[dict[str, str]]:
    return [
        {
            gettext("answers"): defence_name(one.name),
            gettext("guessed"): a.name,
            gettext("people"): words.number(a.people),
            gettext("right with the plan"): share(a.with_plan),
            gettext("right without it"): share(a.without),
            gettext("values that the plan leaves"): gettext(
                "{left} of {all}", left=words.number(a.left, 1), all=words.number(a.values)
            ),
        }
        for one in attack.exposures
        for a in one.attributes
    ]


def _reconstruction(attack: Attack) -> list[dict[str, str]]:
    rows = []
    for one in attack.exposures:
        found: Reconstruction = one.reconstruction
        for name in _PARTS:
            here, beside, whole = getattr(found, name)
            rows.append(
                {
                    gettext("answers"): defence_name(one.name),
                    gettext("share of"): _part(name),
                    gettext("in the training table"): share(whole),
                    gettext("among some of it"): share(here),
                    gettext("among as many people never seen"): share(beside),
                    gettext("looked at"): words.number(here.n) if np.isfinite(here.value) else "–",
                }
            )
    return rows


__all__ = ["findings", "render", "report"]
