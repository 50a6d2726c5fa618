"""Questions about limits, one feature a screen, and the wishes that the answers are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.errors import DialogueError, ReplyError
from wayforward.people.dialogue.question import LIKERT, AnswerKind, Option, Reply
from wayforward.people.dialogue.wishes import Wish

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.schema import Feature

PARTS = ("limits", "yes-no", "ranking", "likert")


def parts_of(questionnaire: str | None) -> tuple[str, ...]:
    """ "limits+likert" -> its parts, checked. Raises: DialogueError that lists what there is."""
    if questionnaire is None or questionnaire in ("", "none"):
        return ()
    parts = tuple(part.strip() for part in str(questionnaire).split("+"))
    for part in parts:
        if part not in PARTS:
            raise DialogueError(
                f"There is no questionnaire '{part}'. Choose one of {', '.join(PARTS)}, none, or join "
                "two with '+', such "
                "as limits+likert."
            )
    if (
        {"limits", "yes-no"} <= set(parts)
        or {"ranking", "likert"} <= set(parts)
        or len(set(parts)) < len(parts)
    ):
        raise DialogueError(
            f"The questionnaire '{questionnaire}' asks the same twice. Take one of limits and yes-no, "
            "and one of "
            "ranking and likert."
        )
    return tuple(sorted(parts, key=("limits", "yes-no", "ranking", "likert").index))


@dataclass(frozen=True)
class QuestionnaireItem:
    """A question of the questionnaire before it has words. what: can, low, high, levels, score or rank."""

    what: str
    feature: int = -1
    with_limits: bool = True  # may "only up to ..." be said

    @property
    def key(self) -> list[Any]:
        """What the item is, for its fingerprint."""
        return [self.what, self.feature, self.with_limits]


def items(parts: Sequence[str], people: Population) -> list[QuestionnaireItem]:
    """The questions for one person (n = 1): only about what they may act on."""
    may = np.flatnonzero(people.may[0]).tolist()
    out = []
    if "limits" in parts or "yes-no" in parts:
        out += [QuestionnaireItem("can", j, "limits" in parts) for j in may]
    if "ranking" in parts and len(may) > 1:
        out.append(QuestionnaireItem("rank"))
    if "likert" in parts:
        out += [QuestionnaireItem("score", j) for j in may]
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
    if item.what == "rank":
        return _rank(people)
    feature, now = people.schema.features[item.feature], float(people.x[0, item.feature])
    ask = {"can": _can, "low": _bound, "high": _bound, "levels": _levels, "score": _score}[item.what]
    return ask(item, people, feature, now)


def _current_value(feature: Feature, now: float) -> str:
    name = words.label(feature)
    if np.isnan(now):
        return f"Your {name} now: not stated."
    if feature.has_levels:
        return f"Your {name} now: {words.level_words(feature, now)}."
    return f"Your {name} now: {now_words(feature, now)}{_share(feature, now)}."


def now_words(feature: Feature, now: float) -> str:
    """Where somebody stands, to three digits that count and never fewer than whole units: 0.473, 5,432."""
    value = round(now, words.about(now))
    return words.value_text(feature, value, words.decimals_of(value))


def _share(feature: Feature, now: float) -> str:
    """What 0.47 means, where people would say 47 %."""
    if feature.unit or feature.kind != "real" or "share" not in feature.text_label.lower().split():
        return ""
    return f" ({now_words(feature, now)} means {words.percent(now)})"


def _can(item: QuestionnaireItem, people: Population, feature: Feature, now: float) -> WordedItem:
    current = _current_value(feature, now)
    if feature.has_levels:
        levels = ahead(people, item.feature)
        if len(levels) == 1:
            other = words.quoted(words.level_words(feature, levels[0]))
            return _choice(f"{current} Could you change this to {other}?", ("yes", "Yes"), ("no", "No"))
        upward = _upward(feature, levels, now)
        codes = [("yes", "Yes, as far as needed" if upward else "Yes, to any other"), ("no", "No")]
        if item.with_limits:
            some = "Yes, but only up to a certain level" if upward else "Yes, but only to some"
            codes.append(("levels", some))
        return _choice(f"{current} Could you {'raise' if upward else 'change'} this?", *codes)
    verb = words.verb(feature)
    if verb == "change" and now <= people.least[0, item.feature]:
        verb = "raise"  # there is nowhere to go but up
    elif verb == "change" and now >= people.greatest[0, item.feature]:
        verb = "lower"
    codes = [("yes", "Yes, as far as needed" if verb != "change" else "Yes, up or down"), ("no", "No")]
    if item.with_limits and verb == "raise":
        codes.append(("high", "Yes, but only up to a limit"))
    elif item.with_limits and verb == "lower":
        codes.append(("low", "Yes, but only down to a limit"))
    elif item.with_limits:
        codes += [("up", "Yes, but it can only go up"), ("down", "Yes, but it can only go down")]
        codes.append(("both", "Yes, but only within limits"))
    return _choice(f"{current} Could you {verb} this?", *codes)


def _upward(feature: Feature, levels: Sequence[int], now: float) -> bool:
    return feature.kind == "ordinal" and all(level > now for level in levels)


def _choice(text: str, *codes: tuple[str, str]) -> WordedItem:
    kind: AnswerKind = "choice" if len(codes) > 2 else "yes-no"
    options = tuple(Option(str(i), text) for i, (_, text) in enumerate(codes, 1))
    return WordedItem(kind, text, options, tuple(code for code, _ in codes))


def _bound(item: QuestionnaireItem, people: Population, feature: Feature, now: float) -> WordedItem:
    end = "Up to what" if item.what == "high" else "Down to what"
    current = "" if np.isnan(now) else f" It is {now_words(feature, now)} now."
    unit = f" ({feature.unit})" if feature.unit else ""
    text = f"{end} could your {words.label(feature)} go?{current}"
    return WordedItem("number", text, hint=f"Type a number{unit}.")


def _levels(item: QuestionnaireItem, people: Population, feature: Feature, now: float) -> WordedItem:
    levels = ahead(people, item.feature)
    options = tuple(Option(str(i), words.level_words(feature, level)) for i, level in enumerate(levels, 1))
    codes = tuple(str(level) for level in levels)
    if _upward(feature, levels, now):
        text = f"{_current_value(feature, now)} Up to which level could you go?"
        return WordedItem("choice", text, options, codes)
    text = f"{_current_value(feature, now)} To which of these could you change?"
    return WordedItem("choice", text, options, codes, True, "You can name several, such as 1, 2.")


def _score(item: QuestionnaireItem, people: Population, feature: Feature, now: float) -> WordedItem:
    options = tuple(Option(str(i), text) for i, text in enumerate((*LIKERT, "I cannot do this"), 1))
    ask = f"How hard would it be for you to {words.verb(feature)} this?"
    codes = tuple(option.key for option in options)
    return WordedItem("likert", f"{_current_value(feature, now)} {ask}", options, codes)


def _rank(people: Population) -> WordedItem:
    options, codes = [], []
    for place, j in enumerate(np.flatnonzero(people.may[0]).tolist(), 1):
        feature, at = people.schema.features[j], float(people.x[0, j])
        bare = feature.has_levels or np.isnan(at)
        shown = words.value_text(feature, at) if bare else now_words(feature, at)
        options.append(Option(str(place), f"{words.verb(feature)} your {words.label(feature)} (now {shown})"))
        codes.append(feature.name)
    text = "Which of these would you change first, and which last? Put them in order, the easiest first."
    hint = "Type the numbers in your order, such as 2, 1. Leave out what you cannot change."
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
    if item.what == "levels":
        now, levels = float(people.x[0, item.feature]), ahead(people, item.feature)
        if _upward(schema.features[item.feature], levels, now):
            best = max(reply["levels"])
            return ([] if best == max(levels) else [{"feature": name, "high": float(best)}]), []
        return [{"feature": name, "levels": reply["levels"]}], []
    if reply["score"] == len(LIKERT) + 1:
        return [{"feature": name, "can": False}], []
    return [{"feature": name, "score": reply["score"], "of": len(LIKERT)}], []


def check_bound(people: Population, j: int, side: str, value: float) -> float:
    """A limit that leaves room. Raises: ReplyError that says what would fit."""
    feature, now = people.schema.features[j], float(people.x[0, j])
    name = words.label(feature)
    if feature.kind == "integer":  # nobody says that 15.4 loans are too many
        value = float(np.floor(value) if side == "high" else np.ceil(value))
    if np.isnan(now):
        return value
    here = now_words(feature, now)
    direction = int(people.schema.direction[j])
    if side == "high" and value < now:
        raise ReplyError(
            f"Your {name} is {here} now, and {words.limit_value(feature, value)} is less. Type "
            "what it could rise to, "
            "or the value it has now if it cannot rise."
        )
    if side == "low" and value > now:
        raise ReplyError(
            f"Your {name} is {here} now, and {words.limit_value(feature, value)} is more. Type "
            "what it could fall to, "
            "or the value it has now if it cannot fall."
        )
    if (side == "low" and direction > 0) or (side == "high" and direction < 0):
        only = "rise" if direction > 0 else "fall"
        raise ReplyError(f"No plan moves your {name} that way: it can only {only}. Say how far, or say no.")
    return value
