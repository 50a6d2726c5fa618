"""Values in words: numbers with thousands and units, levels by their labels, verbs by direction."""

from __future__ import annotations

import math
from typing import Literal

from wayforward.language import N_, NP_, gettext, language, marks, ngettext, pgettext
from wayforward.schema import Feature, proposals
from wayforward.schema.units import unit_text

MINUS = "\u2212"  # a hyphen before a number is easily read as a dash
THIN = "\u202f"  # narrow no-break space: keeps a number and its sign of unit on one line
RANGES = "range widths"  # the unit of costs that are sums of changes, each as a share of its feature's range
_WORLDS = {
    "independent": N_("independent: acting on one thing moves nothing else"),
    "Independent": N_("linked rules of the schema say what follows from an act"),
    "BoundSCM": N_("structural equations say what follows from an act"),
    "LinearWorld": N_("linear equations, fitted to data, say what follows from an act"),
    "CausalFlow": N_("a causal flow, fitted to data, says what follows from an act"),
    "GaussianProcessWorld": N_(
        "Gaussian processes over a causal graph, fitted to data, say what follows from an act"
    ),
    "SubPopulation": N_("what an act moves takes fresh noise, as of other people alike"),
}
_MOST_DECIMALS = 12


def decimals_of(value: float, most: int = _MOST_DECIMALS) -> int:
    """The fewest decimals that show `value` exactly, to one part in a thousand million; at most `most`."""
    if not math.isfinite(value):
        return 0
    for decimals in range(most + 1):
        if abs(round(value, decimals) - value) <= 1e-9 * max(abs(value), 1e-3):
            return decimals
    return most


def number(value: float, decimals: int | None = None, thousands: str = ",") -> str:
    """A number for people: ``number(2050) == "2,050"``; `decimals` None shows it exactly.

    Four-digit and longer numbers get a thousands mark; negative ones a true minus sign.
    """
    if math.isnan(value):
        return gettext("not known")
    if math.isinf(value):
        return gettext("no limit") if value > 0 else MINUS + gettext("no limit")
    shown = decimals_of(value) if decimals is None else decimals
    text = f"{abs(value):,.{shown}f}"
    text = marks(text if thousands == "," else text.replace(",", thousands))
    is_zero = not any(c in "123456789" for c in text)
    return f"{MINUS}{text}" if value < 0 and not is_zero else text


def about(value: float, digits: int = 3) -> int:
    """Decimals that show about `digits` significant digits, and never fewer than whole units."""
    if value == 0 or not math.isfinite(value):
        return 0
    wanted = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return min(wanted, decimals_of(value), _MOST_DECIMALS)


def is_share(feature: Feature) -> bool:
    """True if people say it in per cent: a number without a unit whose label calls it a share."""
    return (
        feature.kind == "real" and not feature.unit.strip() and "share" in feature.own_label.lower().split()
    )


def is_year(feature: Feature) -> bool:
    """True for the year of a calendar, which nobody writes as 1,984 and which has no unit."""
    return not feature.unit.strip() and proposals.is_year(feature, feature.own_label.lower().split())


def _amount(feature: Feature, value: float, decimals: int | None) -> str:
    """A number of a feature, without its unit."""
    return number(value, decimals, thousands="" if is_year(feature) else ",")


def with_unit(text: str, feature: Feature, value: float) -> str:
    """A number and the unit of its feature: "2,050 EUR", "1 year", "1 hour/week", "35 %"."""
    return f"{text}{THIN}%" if is_share(feature) else _behind(text, feature.unit_of(value))


def in_unit(text: str, unit: str, value: float) -> str:
    """A number and a unit, in the singular where it is one: "2,050 EUR", "1 year", "35 %"."""
    return _behind(text, unit_text(unit, value))


def _behind(text: str, unit: str) -> str:
    if not unit:
        return text
    return f"{text}{THIN}{unit}" if unit == "%" else f"{text} {unit}"


def value_text(feature: Feature, value: float, decimals: int | None = None, unit: bool = True) -> str:
    """One value of a feature in words; a special value is its words, a missing one "not stated" or "does not apply".

    What is carried is never shown.
    """
    if feature.carried:
        return gettext("as it is")
    if math.isnan(value):
        return gettext("does not apply") if feature.missing == "does not apply" else gettext("not stated")
    if value in feature.special_words:
        return feature.special_words[value]
    if feature.has_levels:
        return level_words(feature, value)
    if is_share(feature):  # 0.065 is 6.5 %
        value, decimals = 100 * value, None if decimals is None else max(0, decimals - 2)
    text = _amount(feature, value, decimals)
    return with_unit(text, feature, value) if unit else text


def level_words(feature: Feature, value: float) -> str:
    """The label of a level; bare truth values and 0/1 codes become yes and no."""
    i = int(value)
    if not 0 <= i < feature.n_levels or i != value:
        return gettext("an unknown value")
    if feature.text_levels:
        return feature.text_levels[i]
    level = feature.levels[i]
    if isinstance(level, bool) or (feature.kind == "binary" and set(feature.levels) == {0, 1}):
        return pgettext("level", "yes") if level else pgettext("level", "no")
    return feature.level_text(i)


def quoted(text: str, beside: str = "") -> str:
    """A level inside a sentence: quoted where it, or the one that stands beside it, has several words, so that its ends
    are plain to see."""
    several = any(" " in one.strip() for one in (text, beside)) and text != gettext("(empty)")
    return gettext("\u201c{text}\u201d", text=text) if several else text


def in_quotes(name: str) -> str:
    """The name of a group or feature for the inside of a sentence, its ends plain to see."""
    if name.startswith("\u201e"):  # the label of a feature has them already, where languages quote it
        return name
    return gettext("\u201c{text}\u201d", text=name)


def label(feature: Feature) -> str:
    """What people call the feature, ready for the middle of a sentence: "Savings" becomes "savings".

    In other languages than English it is quoted, as nobody declares its gender and case.
    """
    text = " ".join(feature.text_label.split())
    if language() != "en":
        return gettext("\u201c{text}\u201d", text=text)
    first = text.split(" ", 1)[0]
    # Names such as "EUR debt", "iPhone" or "PhD" keep their capitals.
    return text if any(c.isupper() for c in first[1:]) or len(first) == 1 else text[:1].lower() + text[1:]


def sign(feature: Feature, before: float, after: float) -> str:
    """The direction of a change as a word, for tables and figures that must not rest on colour."""
    if math.isnan(before) or math.isnan(after) or not feature.ordered or feature.kind == "binary":
        return "changed"
    return "up" if after > before else "down" if after < before else "kept"


def verb(feature: Feature) -> str:
    """Raise, lower or change: what somebody would do about it."""
    if feature.has_levels and feature.kind != "ordinal":
        return "change"
    return {"increase": "raise", "decrease": "lower"}.get(feature.direction, "change")


def limit_value(feature: Feature, value: float) -> str:
    """A limit in words: no more digits than somebody would say."""
    if feature.has_levels:
        return quoted(level_words(feature, min(max(round(value), 0), feature.n_levels - 1)))
    return value_text(feature, value, max(about(value, 4), decimals_of(value, 2)))


def is_state(feature: Feature, value: float) -> bool:
    """True where a number is missing or a special value, whose words are a phrase: "not stated", "never late"."""
    return math.isnan(value) or value in feature.special_words


def own_text(feature: Feature, value: float) -> str:
    """Where somebody stands, in words: the same digits beside every plan, in every reason, question and table."""
    if feature.carried or feature.has_levels or is_state(feature, value):
        return value_text(feature, value)
    shown = 100 * value if is_share(feature) else value
    return with_unit(_amount(feature, shown, _own_decimals(feature, shown)), feature, value)


def _own_decimals(feature: Feature, shown: float) -> int:
    """Decimals of where somebody stands, a number as it is told: three digits, and more only if a least change has."""
    decimals = min(_told_decimals(feature, shown), decimals_of(shown))
    return decimals_of(round(shown, decimals), decimals)


def _told_decimals(feature: Feature, shown: float) -> int:
    least = feature.least_change or feature.step or 0.0
    return max(about(shown), decimals_of(100 * least if is_share(feature) else least))


def told_decimals(feature: Feature, value: float) -> int:
    """Decimals, in the unit of the values, in which a number such as `value` is told: as `own_text` tells it."""
    return _told_decimals(feature, 100 * value) + 2 if is_share(feature) else _told_decimals(feature, value)


def now_text(feature: Feature, value: float) -> str:
    """Where somebody would stand, in words, numbers to about four digits: nobody acts on these digits."""
    return value_text(feature, value, None if feature.has_levels else about(value, 4))


def before_after(feature: Feature, before: float, after: float, exact: bool = True) -> tuple[str, str]:
    """Both values in words; the unit goes with the second, and two numbers that differ never read alike.

    The first reads as in `own_text` wherever least changes are kept; without one it has three digits of the change. The
    second is `exact`, as an act must be, or has about four digits, enough for what only follows.
    """
    if feature.has_levels or is_state(feature, before) or is_state(feature, after):
        return value_text(feature, before), value_text(feature, after)
    if is_share(feature):
        before, after = 100 * before, 100 * after
    after_decimals = decimals_of(after) if exact else about(after, 4)
    before_decimals = _own_decimals(feature, before)
    if before != after:
        if not (feature.least_change or feature.step):
            size = math.floor(math.log10(abs(after - before)))  # three digits of the change, and no more
            before_decimals = max(min(after_decimals, decimals_of(before), 2 - size), before_decimals)
        shown = round(after, after_decimals)
        while before_decimals < _MOST_DECIMALS and round(before, before_decimals) == shown:
            before_decimals += 1
    before_decimals = min(before_decimals, decimals_of(round(before, before_decimals)))
    first, second = _amount(feature, before, before_decimals), _amount(feature, after, after_decimals)
    return first, with_unit(second, feature, after)


def difference(feature: Feature, before: float, other: float) -> tuple[str, str, str]:
    """Label, another value and the own one, for "savings 2,050 EUR, not 1,200 EUR"."""
    exact = decimals_of(other) <= max(2, about(other, 4))  # else it only follows from an act
    was, now = before_after(feature, before, other, exact)
    if feature.has_levels:
        was, now = quoted(was), quoted(now)
    elif not is_state(feature, before):
        was = with_unit(was, feature, before)
    return label(feature), now if exact else gettext("about {value}", value=now), was


def change_text(feature: Feature, before: float, after: float) -> str:
    """What to do about one feature, without a capital or a full stop.

    Examples: "raise your savings from 1,200 to 2,050 EUR"; "change your housing from rent to own".
    """
    name = label(feature)
    if math.isnan(before):
        return gettext("tell us your {name}, if it is {value}", name=name, value=value_text(feature, after))
    if math.isnan(after):
        return gettext("leave your {name} unstated", name=name)
    was, now = before_after(feature, before, after)
    if before == after:
        return gettext("keep your {name} at {now}", name=name, now=now)
    if feature.has_levels:
        return _level_change(feature, before, after, quoted(was, now), quoted(now, was))
    if after > before:
        return gettext("raise your {name} from {was} to {now}", name=name, was=was, now=now)
    return gettext("lower your {name} from {was} to {now}", name=name, was=was, now=now)


def _level_change(feature: Feature, before: float, after: float, was: str, now: str) -> str:
    texts = {"name": label(feature), "was": was, "now": now}
    if feature.kind != "ordinal":
        return gettext("change your {name} from {was} to {now}", **texts)
    n = int(abs(after - before))
    if after > before:
        return ngettext(
            "change your {name} from {was} to {now} (one step up)",
            "change your {name} from {was} to {now} ({n} steps up)",
            n,
            **texts,
        )
    return ngettext(
        "change your {name} from {was} to {now} (one step down)",
        "change your {name} from {was} to {now} ({n} steps down)",
        n,
        **texts,
    )


def consequence_text(feature: Feature, before: float, after: float) -> str:
    """What follows from acting, as a whole sentence: "Your savings would then also rise to 2,050 EUR."."""
    name = label(feature)
    if math.isnan(after) or math.isnan(before):
        value = value_text(feature, after)
        return gettext("Your {name} would then also become {value}.", name=name, value=value)
    if feature.has_levels:
        value = quoted(value_text(feature, after))
        return gettext("Your {name} would then also change to {value}.", name=name, value=value)
    decimals = about(after, 4)
    value = value_text(feature, after, decimals)
    if decimals != decimals_of(after):
        value = gettext("about {value}", value=value)
    if after > before:
        return gettext("Your {name} would then also rise to {value}.", name=name, value=value)
    return gettext("Your {name} would then also fall to {value}.", name=name, value=value)


def join(parts: list[str], last: Literal["and", "or"] = "and") -> str:
    """ "a", "a, and b", "a, b, and c"."""
    if len(parts) < 2:
        return "".join(parts)
    first = ", ".join(parts[:-1])
    if last == "or":
        return gettext("{first}, or {last}", first=first, last=parts[-1])
    return gettext("{first}, and {last}", first=first, last=parts[-1])


def either(parts: list[str]) -> str:
    """ "a", "a or b", "a or b or c": short values, of which one holds."""
    text = parts[0] if parts else ""
    for part in parts[1:]:
        text = gettext("{first} or {last}", first=text, last=part)
    return text


def sentence(text: str) -> str:
    """With a capital first letter and one full stop."""
    text = text.strip()
    return (
        text
        if not text
        else text[0].upper() + text[1:] + ("" if text.endswith((".", "?", "!", ":")) else ".")
    )


def times_text(times: float) -> str:
    """How many times as much, in about two digits: "2.4", "12"."""
    return number(round(times, 1) if times < 10 else round(times))


_SPELLED = (
    NP_("number", "no"), NP_("number", "one"), NP_("number", "two"), NP_("number", "three"), NP_("number", "four"),
    NP_("number", "five"), NP_("number", "six"),
)  # fmt: skip


def spelled(n: int) -> str:
    """Small numbers in letters: "two", "three"; others in digits."""
    return pgettext("number", _SPELLED[n]) if 0 <= n < len(_SPELLED) else number(n)


def count(n: int, one: str, many: str | None = None) -> str:
    """ "1 person", "2 people", for a list or a cell; a sentence is one message: `language.ngettext`.

    Both words are looked up as one text with a plural; with one word alone the other gets an s.
    """
    return f"{number(n)} {ngettext(one, many or one + 's', n)}"


def cost_number(value: float, unit: str = RANGES, digits: int = 2) -> str:
    """A cost: what is counted in widths of ranges in per cent of them ("6.5 %", "120 %"), else as a number."""
    if unit != RANGES or not math.isfinite(value):
        return number(value, max(2, about(value, digits)))
    return percent(value, about(100 * value, digits))


def cost_text(unit: str) -> str:
    """What a cost in this unit is."""
    if unit == RANGES:
        return gettext(
            "the sum of all changes, each in per cent of the range of its feature: {all} is a change across a whole "
            "range",
            all=percent(1),
        )
    return gettext("told in {unit}", unit=gettext(unit))


def world_text(name: str) -> str:
    """What follows from an act, by the name of a world's class; "independent" where nothing does."""
    return gettext(_WORLDS.get(name, name))


def percent(share: float, decimals: int = 0) -> str:
    """A share as a percentage: ``percent(0.5) == "50 %"`` with a narrow space; near the ends it never rounds
    up to 100 % or down to 0 % what is not."""
    if math.isnan(share):
        return gettext("not known")
    shown = 100 * share
    while decimals < 3 and 0 < share < 1 and round(shown, decimals) in (0.0, 100.0):
        decimals += 1
    if 0 < share < 1 and round(shown, decimals) in (0.0, 100.0):
        if share < 0.5:
            return gettext("under {share}", share=f"{number(10.0**-decimals, decimals)}{THIN}%")
        return gettext("over {share}", share=f"{number(100 - 10.0**-decimals, decimals)}{THIN}%")
    return f"{number(shown, decimals)}{THIN}%"
