"""Parts of a reply: a yes, a number, names of features, options, as people type them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from wayforward.answers import words
from wayforward.errors import MissingExtra, ReplyError
from wayforward.language import LANGUAGES, gettext, language, use_language
from wayforward.people.dialogue.german_replies import english_digits, in_english
from wayforward.people.dialogue.number_words import in_digits, tells_scale
from wayforward.people.dialogue.question import LIKERT, Option

if TYPE_CHECKING:
    from wayforward.schema import Feature, Schema

T = TypeVar("T")
YES = (
    "y", "yes", "yeah", "yep", "true", "ok", "okay", "sure", "of course", "yes please", "fine", "i can", "i could",
    "possible", "definitely", "absolutely", "certainly", "gladly", "good", "good enough", "great", "perfect", "agreed",
    "i agree", "deal", "no problem", "why not", "go ahead", "fine by me", "fine with me", "sounds good", "i guess",
    "i guess so", "i suppose", "i suppose so", "i think so", "probably",
)  # fmt: skip
NO = (
    "n", "no", "nope", "not", "false", "never", "not at all", "no way", "impossible", "not possible", "i can't",
    "i cannot", "i can not", "can't", "cannot", "i couldn't", "no thanks", "no thank you", "unfortunately not",
    "not really", "rather not", "i'd rather not", "i would rather not", "i don't think so", "probably not", "not now",
    "of course not", "certainly not", "absolutely not", "definitely not", "no chance", "not good enough", "too hard",
    "too much", "too expensive",
)  # fmt: skip
UNSURE = re.compile(
    r"\?+|idk|unsure|(?:skip|pass)(?: on)?(?: (?:it|this|that))?(?: one| question)?"
    r"|(?:sorry,? |well,? )?(?:i |i'm |i am |we )?(?:really )?(?:cannot say|can't say|cant say|can not say"
    r"|(?:do not|don't|dont) (?:really )?know(?: yet)?|dunno|(?:have )?no (?:idea|clue)|not sure|unsure|hard to say)"
)
# For whom a question about a limit or a choice has no answer; a plan to take or leave needs one.
_HESITANT = re.compile(
    r"maybe|perhaps|hm+|um+|(?:it |that )?(?:all )?depends|(?:i am |i'm )?undecided|(?:i )?(?:can't|cannot|can not) "
    r"(?:decide|choose)|let me think|(?:let's|we'll|we will) see|next(?: one| question)?|continue|go on"
)
_NO_MATTER = re.compile(
    r"whatever(?: (?:it takes|you (?:want|like|think|say)))?"
    r"|(?:i )?(?:really )?(?:do not|don't|dont) (?:really )?(?:mind|care)(?: which(?: one)?)?"
    r"|(?:it |that |this )?(?:does not|doesn't|doesnt) (?:really )?matter(?: to me)?"
    r"|(?:(?:it )?makes? )?no (?:real )?difference(?: to me)?|(?:i have )?no (?:real )?preference"
    r"|(?:(?:it's|it is|that's|they are|they're) )?(?:all )?(?:the )?(?:same|equal|equally (?:good|bad))(?: to me)?"
    r"|i(?:'m| am) (?:easy|open|flexible|indifferent)|flexible|indifferent"
    r"|(?:it's |it is )?(?:not important|unimportant)"
    r"|(?:it's |that's )?up to you|you (?:decide|choose|pick)|your (?:choice|call)|as you (?:like|wish|please)"
    r"|(?:both|either|any|all)(?: one| way| of (?:them|these|those|the two))?"
    r"(?: (?:is |are |would be )?(?:equally )?(?:fine|good|ok|okay)| will do| works?)?(?: (?:by|with|for) me)?"
    r"|i like (?:both|all)(?: of them)?"
    r"|(?:there (?:is|are) )?no (?:upper |lower )?(?:limits?|bounds?|restrictions?|wish(?:es)?)|unlimited"
    r"|as (?:far|much|high|many) as (?:is )?(?:needed|necessary|possible|required|it takes)"
    r"|everything|anything(?: goes)?|any (?:amount|value|number|level|plan)|nothing in particular"
)
_UNCHANGED = re.compile(
    r"unchanged|no change|(?:the )?same as now|as (?:it )?is|(?:leave|keep) it(?: (?:as (?:it )?is|there))?"
    r"|it stays(?: (?:the same|as it is|there))?|stays?(?: (?:the same|as it is))?"
)
NONE = (
    "neither", "neither one", "neither of them", "none", "none of them", "none of those", "none of these", "nothing",
    "none of these work", "i don't like any", "i don't like either", "all bad", "both bad",
)  # fmt: skip
STOP = ("stop", "stop here", "enough", "finish", "end")
_LONGEST, _HUGE, _TELLING = 200, 1e15, 4


def clean(reply: Any) -> Any:
    """A reply without the wrapping of array libraries. Raises: ReplyError for a text that nobody would type."""
    if hasattr(reply, "tolist") and hasattr(reply, "dtype"):
        reply = reply.tolist()
    if isinstance(reply, (list, tuple)):
        return [clean(one) for one in reply]
    if isinstance(reply, str) and len(reply) > _LONGEST:
        raise ReplyError(
            gettext("That is too long to be an answer ({n} letters). Type a short one.", n=len(reply))
        )
    return reply


def _spaced(text: str) -> str:
    """Single spaces, straight apostrophes, no full stop at the end."""
    return " ".join(text.replace("\u202f", " ").replace("\u2019", "'").split()).strip(
        " .!\"'\u201c\u201d\u201e"
    )


def plain(text: str) -> str:
    """Lower case, single spaces, no full stop at the end."""
    return _spaced(text).lower()


def as_typed(part: str, reply: Any) -> str:
    """A part of a reply in lower case, in the letters in which it was typed; as it is where it was put otherwise."""
    text = _spaced(str(reply))
    at = text.lower().find(part) if len(text.lower()) == len(text) else -1
    return text[at : at + len(part)] if at >= 0 else part


def as_text(reply: Any) -> str | None:
    """The reply as clean text, in English where it is plainly German; None where it is not text."""
    return in_english(plain(reply)) if isinstance(reply, str) else None


def in_other_languages(make: Callable[[], T]) -> list[T]:
    """What a function gives in each language but the one in use; [] without the extra for languages."""
    found = []
    for code in LANGUAGES:
        if code != language():
            try:
                with use_language(code):
                    found.append(make())
            except MissingExtra:
                continue
    return found


def yes_or_no(reply: Any) -> bool | None:
    """True for yes, False for no, None for neither."""
    if isinstance(reply, bool):
        return reply
    text = as_text(reply)
    if text is None:
        return None
    if text in YES:
        return True
    if text in NO:
        return False
    return None


def is_unsure(reply: Any) -> bool:
    """Whether the reply says that they do not know."""
    return UNSURE.fullmatch(as_text(reply) or "") is not None


def is_hesitant(reply: Any) -> bool:
    """Whether the reply puts off an answer: "maybe", "it depends"."""
    return _HESITANT.fullmatch(as_text(reply) or "") is not None


def is_no_matter(reply: Any) -> bool:
    """Whether the reply says that any answer will do: "whatever", "I don't mind", "no limit"."""
    return _NO_MATTER.fullmatch(as_text(reply) or "") is not None


def is_option(reply: Any, options: Sequence[Option]) -> bool:
    """Whether the reply is an option word for word: a level may be called "good", or "any"."""
    return isinstance(reply, str) and plain(reply) in {plain(option.text) for option in options}


_DAYS = {"day": 1.0, "week": 7.0, "month": 365.25 / 12, "year": 365.25}
_MONEY = {"euro": ("eur", "€"), "dollar": ("usd", "$", "us$"), "pound": ("gbp", "£")}
_NUMBER = re.compile(
    r"^([+\u2212-]?)\s*(\d[\d,' \u202f]*(?:\.\d+)*|\.\d+)\s*(?:(k|m)(?![a-z]))?\s*(%)?\s*(.*)$"
)


_ABOUT = re.compile(
    r"^\s*(?:just |only )?(?:about|around|roughly|approximately|approx\.?|~|etwa|ungefähr|rund|circa|zirka|ca\.?)\s*"
    r"(?=\S)",
    re.IGNORECASE,
)


def number(reply: Any, feature: Feature, now: float) -> float:
    """A number that somebody typed, in the feature's unit: 6500, "6,500 EUR", "about 6.5k", "37,5", "35 %", "+500".

    A sign counts from where they stand. Raises: ReplyError that says what would fit.
    """
    if isinstance(reply, str):
        reply = _ABOUT.sub("", reply)
    try:
        return _number(reply, feature, now)
    except ReplyError:
        digits = _amount_in_digits(reply)
        if digits is None or (tells_scale(str(reply)) and tells_scale(f"{feature.unit} {feature.text_unit}")):
            raise  # "two thousand" where thousands are counted may be either
    return _number(digits, feature, now)


_SIGN = {"minus": "-", "plus": "+"}


def _amount_in_digits(reply: Any) -> str | None:
    """A text with a number in words, in digits: "minus five hundred" -> "-500"; None for another reply."""
    text = plain(reply) if isinstance(reply, str) else ""
    digits = re.sub("^(minus|plus) (?=[0-9])", lambda found: _SIGN[found[1]], in_digits(text, alone=True))
    return None if digits == text else digits


def _number(reply: Any, feature: Feature, now: float) -> float:
    fits = gettext("Type a number, such as {example}.", example=_example(feature, now))
    if isinstance(reply, bool):
        raise ReplyError(gettext("That is no number. {advice}", advice=fits))
    if isinstance(reply, (int, float)):
        if not -_HUGE < reply < _HUGE:
            raise ReplyError(gettext("That is no number that fits. {advice}", advice=fits))
        return float(reply)
    typed = _english_marks(as_text(reply) or "", feature, now)
    found = _NUMBER.match(re.sub(r"\s*per ?cent\b", " %", typed))
    if found is None:
        raise ReplyError(gettext("'{reply}' is no number. {advice}", reply=_short(reply), advice=fits))
    sign, digits, many, percent, rest = found.groups()
    unit, own = plain(feature.unit), plain(feature.text_unit)
    if rest in ("more", "higher", "less", "lower", "fewer") and not sign:
        sign, rest = "+" if rest in ("more", "higher") else "-", ""
    times = _DAYS.get(rest.rstrip("s"), 0.0) / _DAYS.get(
        unit.rstrip("s"), np.inf
    )  # "1 year" where months are asked
    known = (
        unit,
        unit.rstrip("s"),
        unit.split("/")[0].rstrip("s"),
        own,
        own.split("/")[0],
        plain(feature.unit_of(1)),
    )
    if unit.split("/")[0] in _MONEY.get(rest.rstrip("s"), ()):
        rest = unit
    if rest and not times and rest not in known and rest.rstrip("s") not in known:
        text = gettext("'{reply}' has something after the number. {advice}", reply=_short(reply), advice=fits)
        raise ReplyError(text)
    value = _read(digits, feature, now) * {"k": 1e3, "m": 1e6}.get(many, 1.0) * (times or 1.0)
    relative = bool(sign) and not (sign != "+" and (feature.low is not None and feature.low < 0))
    share = bool(percent) and unit != "%"
    if relative:
        if now != now:
            raise ReplyError(
                gettext(
                    "'{reply}' counts from a value that is not known. {advice}",
                    reply=_short(reply),
                    advice=fits,
                )
            )
        step = abs(now) * value / 100 if share else value
        end = now + step if sign == "+" else now - step
        return float(round(end)) if share and abs(end) >= 1000 else end  # 15 % more than 3,322 is 3,820
    if share:
        if feature.kind != "real" or feature.unit:
            counted = (
                gettext("Or count from now: {number}% less.", number=words.number(value))
                if feature.direction == "decrease"
                else gettext("Or count from now: {number}% more.", number=words.number(value))
            )
            raise ReplyError(
                gettext(
                    "'{reply}' is a percentage. {advice}", reply=_short(reply), advice=f"{fits} {counted}"
                )
            )
        value /= 100
    return -value if sign else value


_MIXED = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:\.\d{3})+,\d+(?![\d.,]*\d)")
_THREE = re.compile(r"(?<![\d.,])[1-9]\d{0,2}[.,]\d{3}(?![\d.,]*\d)")


def _english_marks(text: str, feature: Feature, now: float) -> str:
    """A number with the marks of the language in use, in English marks. "1.500,50" is no English, whoever types it.

    Raises: ReplyError for a number that may well be meant in either language.
    """
    if language() != "de":
        return _MIXED.sub(lambda found: english_digits(found[0]), text)
    three = _THREE.search(text)
    if three is not None:
        whole = feature.kind == "integer" or abs(now) >= 1000
        if whole if "," in three[0] else feature.kind != "integer" and 0 < abs(now) < 100:
            big = words.number(float(re.sub(r"[.,]", "", three[0])))
            small = words.number(float(three[0].replace(",", ".")), 3)
            raise ReplyError(
                gettext("'{reply}' may be {big} or {small}.", reply=three[0], big=big, small=small)
                + " "
                + gettext("Type it without a mark for thousands.")
            )
    return english_digits(text)


def _read(digits: str, feature: Feature, now: float) -> float:
    """Digits as people write them: "2,500" and "37.5", and "37,5" and "20.000" where decimals have a comma."""
    bare = re.sub(r"[' \u202f]", "", digits)
    if re.fullmatch(r"\d+,\d+", bare) and not re.fullmatch(r"[1-9]\d{0,2},\d{3}", bare):
        return float(bare.replace(",", "."))
    if re.fullmatch(r"[1-9]\d{0,2}(\.\d{3})+", bare) and (feature.kind == "integer" or abs(now) >= 1000):
        return float(bare.replace(".", ""))  # nobody says to a thousandth where they stand at 26,447
    if bare.count(".") > 1:
        raise ReplyError(
            gettext(
                "'{reply}' is no number. {advice}",
                reply=digits,
                advice=gettext("Type a number, such as {example}.", example=_example(feature, now)),
            )
        )
    return float(bare.replace(",", ""))


def _example(feature: Feature, now: float) -> str:
    if now != now:
        now = feature.low or 0.0
    value = round(now, words.about(now))
    return words.number(value, words.decimals_of(value))


def _short(reply: Any) -> str:
    text = " ".join(str(reply).split())
    return text if len(text) <= 40 else text[:37] + "..."


_CANNOT = re.compile(
    r"^(?:(?:sorry,? )?(?:i )?(?:can ?not|can't|cant|could not|couldn't) "
    r"(?:do this|do that|(?:change|do|raise|lower|increase|reduce|improve|cut|earn|save)\b)?\s*:?\s*"
    r"|x\s+|not? :?\s+)(?:my |your )?(?P<what>.+)$"
)
_REFUSES = re.compile(
    r"^(?:(?:sorry,? )?(?:i )?(?:can ?not|can't|cant|could not|couldn't|will not|won't) "
    r"(?:(?:do(?: this| that)?|change)\b)?\s*:?\s*|x\s+|not? :?\s+)(?P<what>.+)$"
)
_STAYS = re.compile(
    r"(?:my |your |the )?(?P<what>.+?)(?:,|:| is| are)? "
    r"(?:(?:can ?not|can't|cant|couldn't) (?:be )?(?:changed?|do(?:ne)?)"
    r"|stays?(?: as (?:it is|they are))?|(?:is |are )?fixed|no|impossible)"
)
_LIMIT = re.compile(
    r"^(?P<what>.*?)[:,]?\s*(?:is |can (?:only )?(?:be|go|rise|fall) |only )?"
    r"(?P<side>at most (?:up |down )?to|at most|no more than|not more than|not above|only up to|up to|until|maximum|max"
    r"|not (?:beyond|over)|(?:no|not) higher than|nothing above|at least|no less than|not less than|not below|minimum"
    r"|min|not under|(?:no|not) lower than|nothing below|only down to|down to|to)"
    r"\s+(?P<value>.+)$"
)
_LOW = (
    "at least", "no less than", "not less than", "not below", "minimum", "min", "only down to", "down to", "not under",
    "no lower than", "not lower than", "nothing below",
)  # fmt: skip
_AMOUNT = re.compile(r"[+\u2212-]?\s*(?:\d[\d,.' \u202f]*|\.\d+)\s*[km]?\s*(?:%|per ?cent)?\s*[a-z/ ]*")
_CHANGES = re.compile(
    r"(?:i want )?(?:at most|no more than|up to|only) (\d+|one|two|three|four) (?:changes?|things?)(?: at most)?"
)
_HARD = re.compile(
    r"(?:my |your )?(?P<what>.*?)[:,]?\s*(?:is |would be )?(?P<hard>very easy|easy|very hard|hard)(?: for me)?"
)
_MEANING = re.compile(
    r"(?:what|which)(?:'s| does| do| is| are) .*(?:mean|that|this|it|these|those|they)|what|explain.*|huh|pardon"
    r"|i (?:do not|don't) (?:understand|get).*"
)


def freeze_or_limit(
    reply: Any, schema: Schema, may: Sequence[int], here: int | None
) -> tuple[int, str, str] | None:
    """(feature, "can" | "low" | "high" | "to", text of the value) where the reply says what the person cannot do.

    "to": it stops there, from whichever side they come.

    may: the features that they may act on. here: the feature that the question is about.
    """
    text = as_text(reply)
    if text is None:
        return None
    limit = _LIMIT.match(text)
    if limit is not None:
        what = limit["what"].strip()
        what = re.sub(r"^(?:yes\b,?\s*)?(?:but\b\s*)?(?:only\b\s*)?(?:my\b|your\b)?\s*", "", what)
        j = here if not what else feature_named(as_typed(what, reply), schema, may)
        if j is not None:
            side = limit["side"]
            to = re.fullmatch("(?:at most (?:up |down )?)?to", side) is not None
            kind = "to" if to else "low" if side in _LOW else "high"
            return j, kind, as_typed(limit["value"], reply)
        return None
    if here is not None and _UNCHANGED.fullmatch(text):
        return here, "can", ""
    cannot = _CANNOT.match(text) or _STAYS.fullmatch(text)
    if cannot is None or is_unsure(text) or is_hesitant(text):
        return None
    what = cannot["what"].strip()
    if what in ("it", "this", "that", "change", "do", "do it"):
        return None if here is None else (here, "can", "")
    j = feature_named(as_typed(what, reply), schema, may)
    if j is None and _CANNOT.match(text) is None:
        return None
    if j is None:
        known = words.join(
            [gettext("'{feature}'", feature=words.label(schema.features[i])) for i in may], "or"
        )
        raise ReplyError(
            gettext(
                "There is nothing called '{name}' here. You can say 'cannot' and one of {known}.",
                name=_short(as_typed(what, reply)),
                known=known,
            )
        )
    return j, "can", ""


def act_refused(reply: Any, acts: Sequence[str]) -> str | None:
    """The act that the reply says the person cannot do, by its name or what only its name holds; None for no act."""
    text = as_text(reply) if not isinstance(reply, dict) else f"x {reply.get('cannot')}"
    found = _REFUSES.match(text or "")
    if found is None or not acts:
        return None
    what = plain(as_typed(found["what"].strip(), text if isinstance(reply, dict) else reply))
    same = [act for act in acts if plain(act) == what]
    near = [act for act in acts if len(what) > 3 and f" {what} " in f" {plain(act)} "]
    return same[0] if same else near[0] if len(near) == 1 else None


def most_changes(reply: Any) -> int | None:
    """2 for "at most 2 changes"; None for another reply."""
    found = _CHANGES.fullmatch(as_text(reply) or "")
    named = {"one": 1, "two": 2, "three": 3, "four": 4}
    return None if found is None else named.get(found[1]) or int(found[1])


def how_hard(reply: Any, schema: Schema, may: Sequence[int], here: int | None) -> tuple[int, int] | None:
    """(feature, 1 to 5) for "savings: very hard"; None for another reply."""
    found = _HARD.fullmatch(as_text(reply) or "")
    if found is None:
        return None
    j = feature_named(as_typed(found["what"], reply), schema, may) if found["what"] else here
    return None if j is None else (j, LIKERT.index(found["hard"]) + 1)


def asks_meaning(reply: Any) -> bool:
    """Whether the reply asks what the question means."""
    return _MEANING.fullmatch((as_text(reply) or "").rstrip("?").strip()) is not None


def is_amount(reply: Any) -> bool:
    """Whether a text is an amount and not the number of an option: "25%", "0,25", "3,500 EUR", "two thousand"."""
    reply = _ABOUT.sub("", reply) if isinstance(reply, str) else reply
    text = as_text(_amount_in_digits(reply) or reply)
    if text is None or _AMOUNT.fullmatch(text) is None:
        return False
    return not re.fullmatch(r"\d{1,3}(?:st|nd|rd|th)?(?: one)?", text) and not re.fullmatch(
        r"\d+(?:\s*[,;]\s+\d+)+", text
    )


def feature_named(text: str, schema: Schema, may: Sequence[int]) -> int | None:
    """The feature that somebody means: its name, its label, or clearly a part of one; None if it is not plain.

    Raises: ReplyError for a part of several labels, naming them.
    """
    found = _feature_named(text, schema, may)
    others = iter(() if found is not None else in_other_languages(lambda: _feature_named(text, schema, may)))
    return found if found is not None else next((j for j in others if j is not None), None)


def _feature_named(text: str, schema: Schema, may: Sequence[int]) -> int | None:
    """The feature that somebody means by its names in the language in use."""
    typed, text = text, plain(text)
    names: dict[int, set[str]] = {}
    for j in may:
        feature = schema.features[j]
        called = (feature.name, words.label(feature), feature.text_label, feature.name.replace("_", " "))
        names[int(j)] = {plain(name) for name in called}
    exact = [j for j, known in names.items() if text in known]
    if exact:
        return exact[0]
    inside = [j for j, known in names.items() if len(text) >= 3 and any(text in name for name in known)]
    if len(inside) == 1:
        return inside[0]
    if len(inside) > 1 and all(text in plain(words.label(schema.features[j])) for j in inside):
        known = words.join(
            [gettext("your {name}", name=words.label(schema.features[j])) for j in inside], "or"
        )
        raise ReplyError(gettext("'{reply}' may be {known}. Say which.", reply=_short(typed), known=known))
    flat = {name: j for j, known in names.items() for name in known}
    near = {flat[name] for name in difflib.get_close_matches(text, flat, 3, 0.82)}
    return near.pop() if len(near) == 1 else None


def chosen(reply: Any, options: Sequence[Option], advice: str | None = None) -> int:
    """The option that somebody means: its number, or its words. Raises: ReplyError with advice, or the numbers."""
    many, advice = len(options), advice or _numbers(len(options))
    if isinstance(reply, (int, float)) and not isinstance(reply, bool):
        if 1 <= reply <= many and reply == int(reply):
            return int(reply) - 1
        raise ReplyError(_none_of(_short(reply), advice))
    text = as_text(reply) or ""
    bare = re.sub(r"^(?:option|plan|number|no\.?|answer)\s+", "", text)
    bare = re.sub(r"^(\d+)(?:st|nd|rd|th)(?: one)?$", r"\1", bare)
    if bare in ("the last", "the last one") and many > 1:
        return many - 1
    if re.fullmatch(r"\d+", bare):
        if 1 <= int(bare) <= many:
            return int(bare) - 1
        raise ReplyError(_none_of(bare[:12], advice))
    meant = named_options(reply, options)
    if len(meant) == 1:
        return meant[0]
    if len(text) >= _TELLING and meant:
        known = words.join([f"{i + 1} ({options[i].text})" for i in meant], "or")
        raise ReplyError(gettext("'{reply}' may be {known}. Say which.", reply=_short(reply), known=known))
    raise ReplyError(_none_of(gettext("'{name}'", name=_short(reply)), advice))


def named_options(reply: Any, options: Sequence[Option]) -> list[int]:
    """The options whose words a text is, else begins, else is a part of; [] for none. Hyphens are as good as spaces."""
    known = [plain(option.text).replace("-", " ") for option in options]
    meant = list[int]()
    for one in dict.fromkeys((plain(reply) if isinstance(reply, str) else "", as_text(reply) or "")):
        one = one.replace("-", " ")  # as it was typed first: a level may be called "keine"
        found = [i for i, option in enumerate(known) if option == one]
        found = found or [i for i, option in enumerate(known) if len(one) >= 2 and option.startswith(one)]
        found = found or [
            i for i, option in enumerate(known) if len(one) >= 3 and one in option
        ]  # a part of it
        if len(found) == 1:
            return found
        meant = meant or found
    return meant


def _none_of(reply: str, advice: str) -> str:
    return gettext("{reply} is none of the answers. {advice}", reply=reply, advice=advice)


def several(
    reply: Any, options: Sequence[Option], alike: bool = False, advice: str | None = None
) -> list[int]:
    """Options that somebody names, in their order: "2, 1", [2, 1], "rent and own". Raises: ReplyError with advice.

    alike: words that fit several options mean all of them: "self-employed" where there are two kinds of it.
    """
    if isinstance(reply, (list, tuple)):
        parts: list[Any] = list(reply)
    elif isinstance(reply, str):
        text = _spaced(reply)
        digits = re.fullmatch(r"[\d\s,;>]+", text) is not None
        between = r"[\s,;>]+" if digits else r"\s*(?:[,;>]|\band\b|\bor\b|\bund\b|\boder\b)\s*"
        parts = re.split(between, text, flags=re.IGNORECASE)
        try:  # a level such as "craft and repair" is one
            return [chosen(reply, options)]
        except ReplyError:
            pass
    else:
        parts = [reply]
    found = list[int]()
    for part in parts:
        if part == "":
            continue
        all_meant = named_options(part, options) if alike and len(str(part)) >= _TELLING else []
        found += [i for i in all_meant if i not in found] if all_meant else [chosen(part, options, advice)]
    if not found:
        advice = _numbers(len(options), several=True)
        raise ReplyError(gettext("That names none of the answers. {advice}", advice=advice))
    if len(set(found)) < len(found):
        twice = next(i for i in found if found.count(i) > 1)
        raise ReplyError(gettext("You named {n} twice. Name each once.", n=twice + 1))
    return found


def _numbers(many: int, several: bool = False) -> str:
    if several:
        return gettext("Type numbers from 1 to {n} with commas between them, such as 2, 1.", n=many)
    if many == 1:
        return gettext("Type 1.")
    return gettext("Type 1 or 2.") if many == 2 else gettext("Type a number from 1 to {n}.", n=many)
