"""What somebody typed, read as the reply to the question that is on the table of a conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.errors import PreferencesError, ReplyError
from wayforward.people.dialogue import questionnaire as q
from wayforward.people.dialogue.question import (
    NEITHER,
    STOP,
    UNSURE,
    Option,
    Question,
    Reply,
    as_text,
    chosen,
    clean,
    freeze_or_limit,
    number,
    several,
    yes_or_no,
)
from wayforward.people.dialogue.wishes import Wish, preferences_of

if TYPE_CHECKING:
    from wayforward.people.dialogue.conversation import Conversation


def read(c: Conversation, reply: Any, question: Question, codes: Sequence[str]) -> Reply:
    """Return what somebody typed as the log keeps it. codes: what each option means to the program.

    Raises: ReplyError that says what would fit, or that the reply contradicts a limit that was stated before.
    """
    found = _read(c, reply, question, codes)
    _check_limits(c, found)
    return found


def _read(c: Conversation, reply: Any, question: Question, codes: Sequence[str]) -> Reply:
    p, options = c.on_table, question.options
    reply = clean(reply)
    text = as_text(reply)
    if text in UNSURE:
        return {"unsure": True}
    if text in STOP:
        return {"stop": True}
    wish = _read_wish(c, reply)
    if wish is not None:
        return {"wish": wish}
    if p.what == "pair":
        return {"unsure": True} if text in NEITHER else {"option": chosen(reply, options)}
    if p.what == "reconsider":
        no = yes_or_no(reply)
        return {"option": len(p.relaxations) if no is False else chosen(reply, options)}
    if p.plans:
        answer = yes_or_no(reply)
        return {"yes": chosen(reply, options) == 0 if answer is None else answer}
    assert p.item is not None
    return _read_item(c, p.item, reply, question, codes)


def _read_item(
    c: Conversation, item: q.QuestionnaireItem, reply: Any, question: Question, codes: Sequence[str]
) -> Reply:
    """The reply to a question of the questionnaire."""
    options, j = question.options, item.feature
    if item.what == "can":
        answer = yes_or_no(reply)
        only = re.fullmatch(
            r"(?:yes,? )?(?:but )?only (?:(up|higher|more)|(down|lower|less|fewer))", as_text(reply) or ""
        )
        if only is not None and {"up", "down"} <= set(codes):
            return {"code": "up" if only[1] else "down"}
        code = codes[chosen(reply, options)] if answer is None else "yes" if answer else "no"
        return {"code": code}
    if item.what in ("low", "high"):
        value = number(reply, c.schema.features[j], float(c.x[0, j]))
        return {"number": q.check_bound(c.asking, j, item.what, value)}
    if item.what == "levels":
        levels = [int(code) for code in codes]
        if not question.many:
            return {"levels": levels[: chosen(reply, options) + 1]}
        return {"levels": sorted(levels[i] for i in several(reply, options))}
    if item.what == "score":
        return {"score": len(codes) if yes_or_no(reply) is False else chosen(reply, options) + 1}
    if isinstance(reply, (list, tuple)):  # a ranking may also come as a list of feature names
        may = [c.schema.names[j] for j in np.flatnonzero(c.asking.may[0])]
        reply = [may.index(one) + 1 if one in may else one for one in reply]
    return {"rank": [codes[i] for i in several(reply, options)]}


def _read_wish(c: Conversation, reply: Any) -> Wish | None:
    """What the reply says that the person cannot do; None where it says no such thing."""
    item = c.on_table.item
    here = None if item is None or item.feature < 0 else item.feature
    may = np.flatnonzero(c.problem.population(c.x, c.preferences).may[0]).tolist()
    if isinstance(reply, dict):
        return _plain_wish(c, reply, may)
    found = freeze_or_limit(reply, c.schema, may, here)
    if found is None:
        return None
    j, side, text = found
    return {"feature": c.schema.names[j], "can": False} if side == "can" else _limit(c, j, side, text)


def _plain_wish(c: Conversation, reply: dict[str, Any], may: Sequence[int]) -> Wish:
    """{"cannot": "income"}, {"feature": "income", "high": 6000}: for a page with buttons."""
    name = reply.get("cannot", reply.get("feature"))
    known = [c.schema.names[j] for j in may]
    if name not in known or not (
        {"cannot"} >= set(reply) or {"feature", "low"} == set(reply) or {"feature", "high"} == set(reply)
    ):
        raise ReplyError(
            'That reply is not read. Give text, a number, {"cannot": FEATURE} or '
            '{"feature": FEATURE, "high": VALUE} '
            f"with one of {', '.join(known)}."
        )
    if "cannot" in reply:
        return {"feature": name, "can": False}
    side = "high" if "high" in reply else "low"
    return _limit(c, c.schema.index(name), side, reply[side])


def _limit(c: Conversation, j: int, side: str, value: Any) -> Wish:
    feature, name = c.schema.features[j], c.schema.names[j]
    if feature.has_levels:
        if not feature.ordered:
            raise ReplyError(
                f"Your {words.label(feature)} has no order, so nothing is above or below. Say 'cannot'."
            )
        levels = [words.level_words(feature, i) for i in range(feature.n_levels)]
        at = chosen(value, [Option(str(i + 1), text) for i, text in enumerate(levels)])
        return {"feature": name, side: float(at)}
    people = c.problem.population(c.x, None)
    value = number(value, feature, float(c.x[0, j]))
    return {"feature": name, side: q.check_bound(people, j, side, value)}


def _check_limits(c: Conversation, reply: Reply) -> None:
    """Raises: ReplyError if the reply contradicts a limit that was stated before."""
    item = c.on_table.item
    wishes = [reply["wish"]] if "wish" in reply else []
    if not wishes and item is not None and not reply.get("stop"):
        wishes = q.wishes_from(item, reply, c.asking)[0]
    try:
        preferences_of(c.schema, [*c.wishes, *wishes])
    except PreferencesError:
        raise ReplyError(
            "That goes against a limit that you gave before: nothing would be left in between. "
            "Give another number, "
            "or take the earlier answer back."
        ) from None
