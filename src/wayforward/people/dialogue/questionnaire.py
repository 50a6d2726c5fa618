"""Questions about limits, one feature a screen, and the wishes that the answers are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.errors import DialogueError, ReplyError, is_one_of
from wayforward.language import N_, gettext
from wayforward.people.dialogue.question import LIKERT, AnswerKind, Option, Reply, likert_words
from wayforward.people.dialogue.wishes import Wish

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.schema import Feature

PARTS = ("limits", "yes-no", "page", "ranking", "likert")


def parts_of(questionnaire: str | None) -> tuple[str, ...]:
    """ "limits+likert" -> its parts, checked. Raises: DialogueError that lists what there is."""
    if questionnaire is None or str(questionnaire) in ("", "none"):
        return ()
    parts = tuple(part.strip() for part in str(questionnaire).split("+"))
    for part in parts:
        if not is_one_of(part, PARTS):
            raise DialogueError(
                f"There is no questionnaire '{part}'. Choose one of {', '.join(PARTS)}, none, or join "
                "two with '+', such "
                "as limits+likert."
            )
    if (
        len({"limits", "yes-no", "page"} & set(parts)) > 1
        or {"ranking", "likert"} <= set(parts)
        or len(set(parts)) < len(parts)
    ):
        raise DialogueError(
            f"The questionnaire '{questionnaire}' asks the same twice. Take one of limits, yes-no and page, "
            "and one of "
            "ranking and likert."
        )
    return tuple(sorted(parts, key=PARTS.index))


@dataclass(frozen=True)
class QuestionnaireItem:
    """A question of the questionnaire before it has words. what: can, low, high, levels, score, rank or page."""

    what: str
    feature: int = -1
    with_limits: bool = True  # may "only up to ..." be said

    @property
    def key(self) -> list[Any]:
        """What the item is, for its fingerprint."""
        return [self.what, self.feature, self.with_limits]


def items(
    parts: Sequence[str], people: Population, useful: np.ndarray | None = None
) -> list[QuestionnaireItem]:
    """The questions for one person (n = 1): only about what they may act on.

    useful (d,) bool: the features that are worth a screen of their own; None: all.
    """
    may = np.flatnonzero(people.may[0]).tolist()
    some = [j for j in may if useful is None or useful[j]]
    out = [QuestionnaireItem("page")] if "page" in parts and may else []
    if "limits" in parts or "yes-no" in parts:
        out += [QuestionnaireItem("can", j, "limits" in parts) for j in some]
    if "ranking" in parts and len(may) > 1:
        out.append(QuestionnaireItem("rank"))
    if "likert" in parts:
        out += [QuestionnaireItem("score", j) for j in some]
    return out


def ahead(people: Population, j: int) -> list[int]:
    """Levels of feature j that the person could change to."""
    now = people.x[0, j]
    return [int(level) for level in np.flatnonzero(people.level_ok[j][0]) if level != now]


@dataclass(frozen=True)
class WordedItem:
    """A question in words. codes: what each option means to the program."""

    kind: AnswerKind
    text: str
    options: tuple[Option, ...] = ()
    codes: tuple[str, ...] = ()
    many: bool = False
    hint: str = ""


def worded(item: QuestionnaireItem, people: Population) -> WordedItem:
    """A question of the questionnaire in words."""
    if item.what in ("rank", "page"):
        return _rank(people) if item.what == "rank" else _page(people)
    feature, now = people.schema.features[item.feature], float(people.x[0, item.feature])
    ask = {"can": _can, "low": _bound, "high": _bound, "levels": _levels, "score": _score}[item.what]
    return ask(item, people, feature, now)


def _current_value(feature: Feature, now: float) -> str:
    if np.isnan(now):
        return gettext("Your {name} now: not stated.", name=words.label(feature))
    return gettext("Your {name} now: {value}.", name=words.label(feature), value=words.own_text(feature, now))


_COULD = {
    "raise": N_("{now} Could you raise this?"),
    "lower": N_("{now} Could you lower this?"),
    "change": N_("{now} Could you change this?"),
}
_HOW_HARD = {
    "raise": N_("{now} How hard would it be for you to raise this?"),
    "lower": N_("{now} How hard would it be for you to lower this?"),
    "change": N_("{now} How hard would it be for you to change this?"),
}
_ACT = {
    "raise": N_("raise your {name} (now {value})"),
    "lower": N_("lower your {name} (now {value})"),
    "change": N_("change your {name} (now {value})"),
}
UP_TO_LEVEL, TO_SOME = N_("Yes, but only up to a certain level"), N_("Yes, but only to some")
LIMITED = {  # what somebody can who can in part, by its code
    "high": N_("Yes, but only up to a limit"),
    "low": N_("Yes, but only down to a limit"),
    "up": N_("Yes, but it can only go up"),
    "down": N_("Yes, but it can only go down"),
    "both": N_("Yes, but only within limits"),
    "levels": TO_SOME,
}


def _can(item: QuestionnaireItem, people: Population, feature: Feature, now: float) -> WordedItem:
    current = _current_value(feature, now)
    yes, no = ("yes", gettext("Yes")), ("no", gettext("No"))
    if feature.has_levels:
        levels = ahead(people, item.feature)
        if len(levels) == 1:
            other = words.quoted(words.level_words(feature, levels[0]))
            return _choice(
                gettext("{now} Could you change this to {other}?", now=current, other=other), yes, no
            )
        upward = _upward(feature, levels, now)
        codes = [("yes", gettext("Yes, as far as needed") if upward else gettext("Yes, to any other")), no]
        if item.with_limits:
            codes.append(("levels", gettext(UP_TO_LEVEL if upward else TO_SOME)))
        could = _COULD["raise"] if upward else _COULD["change"]
        return _choice(gettext(could, now=current), *codes)
    verb = words.verb(feature)
    if verb == "change" and now <= people.least[0, item.feature]:
        verb = "raise"  # there is nowhere to go but up
    elif verb == "change" and now >= people.greatest[0, item.feature]:
        verb = "lower"
    far = gettext("Yes, up or down") if verb == "change" else gettext("Yes, as far as needed")
    limited = {"raise": ["high"], "lower": ["low"], "change": ["up", "down", "both"]}[verb]
    codes = [("yes", far), no, *((code, gettext(LIMITED[code])) for code in limited if item.with_limits)]
    return _choice(gettext(_COULD[verb], now=current), *codes)


def _upward(feature: Feature, levels: Sequence[int], now: float) -> bool:
    return feature.kind == "ordinal" and all(level > now for level in levels)


def _choice(text: str, *codes: tuple[str, str]) -> WordedItem:
    kind: AnswerKind = "choice" if len(codes) > 2 else "yes-no"
    options = tuple(Option(str(i), text) for i, (_, text) in enumerate(codes, 1))
    return WordedItem(kind, text, options, tuple(code for code, _ in codes))


def _bound(item: QuestionnaireItem, people: Population, feature: Feature, now: float) -> WordedItem:
    name, unit = words.label(feature), feature.text_unit
    if item.what == "high":
        text = gettext("Up to what could your {name} go?", name=name)
    else:
        text = gettext("Down to what could your {name} go?", name=name)
    if not np.isnan(now):
        text += " " + gettext("It is {value} now.", value=words.own_text(feature, now))
    hint = gettext("Type a number ({unit}).", unit=unit) if unit else gettext("Type a number.")
    return WordedItem("number", text, hint=hint)


def _levels(item: QuestionnaireItem, people: Population, feature: Feature, now: float) -> WordedItem:
    levels = ahead(people, item.feature)
    options = tuple(Option(str(i), words.level_words(feature, level)) for i, level in enumerate(levels, 1))
    codes = tuple(str(level) for level in levels)
    if _upward(feature, levels, now):
        text = gettext("{now} Up to which level could you go?", now=_current_value(feature, now))
        return WordedItem("choice", text, options, codes)
    text = gettext("{now} To which of these could you change?", now=_current_value(feature, now))
    hint = gettext("You can name several, such as 1, 2.")
    return WordedItem("choice", text, options, codes, True, hint)


def _score(item: QuestionnaireItem, people: Population, feature: Feature, now: float) -> WordedItem:
    options = tuple(Option(str(i), text) for i, text in enumerate(likert_words(), 1))
    text = gettext(_HOW_HARD[words.verb(feature)], now=_current_value(feature, now))
    return WordedItem("likert", text, options, tuple(option.key for option in options))


def _page(people: Population) -> WordedItem:
    features = [(people.schema.features[j], float(people.x[0, j])) for j in np.flatnonzero(people.may[0])]
    options = tuple(Option(str(i), _named_value(f, at)) for i, (f, at) in enumerate(features, 1))
    text = gettext("A plan may change these things. Which of them can you not change, or only so far?")
    one = next((f for f, _ in features if not f.has_levels), features[0][0])
    if one.direction == "decrease":
        hint = gettext(
            "Type numbers, or how far you can go, with commas between, such as 2, {name} down to ... (a value).",
            name=words.label(one),
        )
    else:
        hint = gettext(
            "Type numbers, or how far you can go, with commas between, such as 2, {name} up to ... (a value).",
            name=words.label(one),
        )
    if people.schema.timed:
        more = gettext("You can add: at most 2 changes, within 6 months.")
    else:
        more = gettext("You can add: at most 2 changes.")
    hint = " ".join([hint, gettext("Type none if all of them can change."), more])
    return WordedItem("page", text, options, tuple(f.name for f, _ in features), True, hint)


def form_entry(people: Population, j: int) -> dict[str, Any]:
    """One feature of a page: its name, words, unit, where the person stands and what it can be."""
    feature, now = people.schema.features[j], float(people.x[0, j])
    entry: dict[str, Any] = {
        "feature": feature.name,
        "label": words.label(feature),
        "unit": feature.text_unit,
        "now": None if np.isnan(now) else now,
        "text": _current_value(feature, now),
        "difficulty": list(likert_words()),
    }
    if feature.has_levels:
        return {**entry, "levels": [words.level_words(feature, level) for level in ahead(people, j)]}
    ends = {"low": float(people.least[0, j]), "high": float(people.greatest[0, j])}
    return {**entry, **{side: end if np.isfinite(end) else None for side, end in ends.items()}}


def _named_value(feature: Feature, at: float, text: str = N_("{name} (now {value})")) -> str:
    return gettext(text, name=words.label(feature), value=words.own_text(feature, at))


def _rank(people: Population) -> WordedItem:
    options, codes = [], []
    for place, j in enumerate(np.flatnonzero(people.may[0]).tolist(), 1):
        feature, at = people.schema.features[j], float(people.x[0, j])
        options.append(Option(str(place), _named_value(feature, at, _ACT[words.verb(feature)])))
        codes.append(feature.name)
    text = gettext(
        "Which of these would you change first, and which last? Put them in order, the easiest first."
    )
    hint = gettext("Type the numbers in your order, such as 2, 1. Leave out what you cannot change.")
    return WordedItem("rank", text, tuple(options), tuple(codes), True, hint)


def wishes_from(
    item: QuestionnaireItem, reply: Reply, people: Population
) -> tuple[list[Wish], list[QuestionnaireItem]]:
    """What the reply to an item means: wishes, and questions that follow at once."""
    schema = people.schema
    if item.what == "rank":
        names = [] if reply.get("unsure") else reply["rank"]
        if not names:
            return [], []
        may = [schema.names[j] for j in np.flatnonzero(people.may[0])]
        return [{"feature": n, "can": False} for n in may if n not in names] + [{"ranks": names}], []
    name = schema.names[item.feature]
    if reply.get("unsure"):
        return [], []
    if item.what == "can":
        code, j = reply["code"], item.feature
        now = float(people.x[0, j])
        if code == "no":
            return [{"feature": name, "can": False}], []
        if code in ("up", "down"):
            return ([] if np.isnan(now) else [{"feature": name, "low" if code == "up" else "high": now}]), []
        follow = {"both": ("low", "high"), "low": ("low",), "high": ("high",), "levels": ("levels",)}.get(
            code, ()
        )
        return [], [QuestionnaireItem(what, j) for what in follow]
    if item.what in ("low", "high"):
        return [{"feature": name, item.what: reply["number"]}], []
    if item.what == "levels" and not reply["levels"]:
        return [{"feature": name, "can": False}], []
    if item.what == "levels":
        now, levels = float(people.x[0, item.feature]), ahead(people, item.feature)
        if _upward(schema.features[item.feature], levels, now):
            best = max(reply["levels"])
            return ([] if best == max(levels) else [{"feature": name, "high": float(best)}]), []
        return [{"feature": name, "levels": reply["levels"]}], []
    if reply["score"] == len(LIKERT) + 1:
        return [{"feature": name, "can": False}], []
    return [{"feature": name, "score": reply["score"], "of": len(LIKERT)}], []


def _check_usual(people: Population, j: int, value: float, here: str) -> None:
    """Raises: ReplyError for a number that is far beyond what the feature can be: it was meant for another one."""
    feature, seen = people.schema.features[j], people.problem.observed_range
    ends = np.array([people.schema.low[j], people.schema.high[j]])
    low, high = (float(e) if np.isfinite(e) else float(s[j]) for e, s in zip(ends, seen, strict=True))
    if not low - (high - low) <= value <= high + (high - low) and np.isfinite([low, high]).all():
        raise ReplyError(
            gettext(
                "{value}? Your {name} now: {now}. It can go from {low} to {high}. Type a number in between.",
                value=words.limit_value(feature, value), name=words.label(feature), now=here,
                low=words.limit_value(feature, low), high=words.limit_value(feature, high),
            )
        )  # fmt: skip


_ONLY_RISES = N_("No plan moves your {name} that way: it can only rise. Say how far (up to ...), or say no.")
_ONLY_FALLS = N_(
    "No plan moves your {name} that way: it can only fall. Say how far (down to ...), or say no."
)
_IS_LESS = N_(
    "Your {name} now: {now}. {value} is less. Type what it could rise to, or the value it has now if it cannot "
    "rise."
)
_IS_MORE = N_(
    "Your {name} now: {now}. {value} is more. Type what it could fall to, or the value it has now if it cannot "
    "fall."
)


def check_bound(people: Population, j: int, side: str, value: float) -> float:
    """A limit that leaves room. Raises: ReplyError that says what would fit."""
    feature, now = people.schema.features[j], float(people.x[0, j])
    name = words.label(feature)
    if feature.kind == "integer":  # nobody says that 15.4 loans are too many
        if 0 < abs(value) < 1:
            shown = words.number(value, words.decimals_of(value))
            raise ReplyError(
                gettext(
                    "{value}? Your {name} now: {now}. Type a whole number.",
                    value=shown, name=name, now=words.own_text(feature, now),
                )
            )  # fmt: skip
        value = float(np.floor(value) if side == "high" else np.ceil(value))
    if np.isnan(now):
        return value
    here = words.own_text(feature, now)
    _check_usual(people, j, value, here)
    direction = int(people.schema.direction[j])
    if (side == "low" and direction > 0) or (side == "high" and direction < 0):
        text = _ONLY_RISES if direction > 0 else _ONLY_FALLS
        raise ReplyError(gettext(text, name=name))
    other = words.limit_value(feature, value)
    if side == "high" and value < now:
        raise ReplyError(gettext(_IS_LESS, name=name, now=here, value=other))
    if side == "low" and value > now:
        raise ReplyError(gettext(_IS_MORE, name=name, now=here, value=other))
    return value
