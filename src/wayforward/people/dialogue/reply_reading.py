"""What somebody typed, read as the reply to the question that is on the table of a conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.errors import PreferencesError, ReplyError
from wayforward.language import N_, gettext, language
from wayforward.people.dialogue.deadlines import read_deadline
from wayforward.people.dialogue.number_words import in_digits
from wayforward.people.dialogue.question import LIKERT, Option, Question, Reply
from wayforward.people.dialogue.questionnaire import QuestionnaireItem, check_bound, wishes_from
from wayforward.people.dialogue.reply_parts import (
    NONE,
    STOP,
    YES,
    act_refused,
    as_text,
    as_typed,
    chosen,
    clean,
    feature_named,
    freeze_or_limit,
    how_hard,
    in_other_languages,
    is_amount,
    is_hesitant,
    is_no_matter,
    is_option,
    is_unsure,
    most_changes,
    named_options,
    number,
    plain,
    several,
    yes_or_no,
)
from wayforward.people.dialogue.spoken_replies import without_trimmings
from wayforward.people.dialogue.wishes import Wish, preferences_of
from wayforward.people.dialogue.wording import worded

if TYPE_CHECKING:
    from wayforward.people.dialogue.conversation import Conversation
    from wayforward.schema import Feature


def read(c: Conversation, reply: Any, question: Question, codes: Sequence[str]) -> Reply:
    """Return what somebody typed as the log keeps it. codes: what each option means to the program.

    Raises: ReplyError that says what would fit, or that the reply contradicts a limit that was stated before.
    """
    try:
        found = _read(c, reply, question, codes)
    except ReplyError:
        other = _read_otherwise(c, reply, question, codes)
        if other is None:
            raise
        found = other
    _check_limits(c, found)
    return found


def _read_otherwise(c: Conversation, reply: Any, question: Question, codes: Sequence[str]) -> Reply | None:
    """The reply read with the options in the words of other languages, then without the words that say nothing, then
    with its numbers in digits; None where it does not fit so either."""
    others = in_other_languages(lambda: worded(c, c.on_table, question.id)[0])
    tries = [(reply, other) for other in others]
    if isinstance(reply, str):
        text = clean(reply)
        forms = [without_trimmings(text), in_digits(text), without_trimmings(in_digits(text))]
        if question.kind == "number":  # "the first" is no number
            forms = [form for form in forms if not str(form).isdigit() or form == in_digits(text, alone=True)]
        new = [form for form in dict.fromkeys(forms) if form not in (None, text)]
        tries += [(form, on_screen) for form in new for on_screen in (question, *others)]
    for one, on_screen in tries:
        try:
            return _read(c, one, on_screen, codes)
        except ReplyError:
            continue
    return None


_MARKED = re.compile(
    r"(?:(?:i'll|i will|i'd|i would|i) )?(take|keep|mark|bookmark)\s*"
    r"(?:it|this one|that one|plan|number|no\.?)?\s*(\d*)"
)
_SAY_WHICH = {
    "take": N_("Say which plan: take 1, for example."),
    "keep": N_("Say which plan: keep 1, for example."),
    "mark": N_("Say which plan: mark 1, for example."),
    "bookmark": N_("Say which plan: bookmark 1, for example."),
}


def _read(c: Conversation, reply: Any, question: Question, codes: Sequence[str]) -> Reply:
    p, options = c.on_table, question.options
    reply = clean(reply)
    text = as_text(reply)
    if is_unsure(text):
        return {"unsure": True}
    if text in STOP:
        return {"stop": True}
    if isinstance(reply, dict) and "limits" in reply:
        return {"page": limits_page(c, reply)}
    if p.item is not None and p.item.what == "page":
        return _page_text(c, reply, codes)
    marked = _MARKED.fullmatch(text or "")
    if marked is not None and p.plans:
        at = chosen(marked[2], options) if marked[2] and len(p.plans) > 1 else 0
        if (len(p.plans) > 1 and not marked[2]) or at >= len(p.plans):
            raise ReplyError(gettext(_SAY_WHICH[marked[1]]))
        return {"take" if marked[1] == "take" else "keep": at}
    if (any_will_do := _any_will_do(p.item, p.what, reply, options, codes)) is not None:
        return any_will_do
    typed = {str(text), plain(reply) if isinstance(reply, str) else str(text)}
    words_of_option = len(text or "") > 3 and any(
        one in plain(option.text) for one in typed for option in options
    )
    wish = None if words_of_option and not p.plans else _read_wish(c, reply)
    if wish is not None:
        return {"wish": wish}
    if p.what == "recall":
        answer = False if text in NONE else yes_or_no(reply)
        if answer is True and len(p.plans) == 1:
            return {"option": 0}
        return {"option": len(p.plans) if answer is False else chosen(reply, options)}
    if p.what in ("pair", "last"):
        return (
            {"unsure": True}
            if text in NONE or yes_or_no(reply) is False
            else {"option": chosen(reply, options)}
        )
    if p.what == "reconsider":
        no = text in NONE or yes_or_no(reply) is False
        return {"option": len(p.relaxations) if no else chosen(reply, options)}
    if p.plans:
        answer = False if text in NONE else yes_or_no(reply)
        return {"yes": chosen(reply, options) == 0 if answer is None else answer}
    assert p.item is not None
    return _read_item(c, p.item, reply, question, codes)


def _any_will_do(
    item: QuestionnaireItem | None, what: str, reply: Any, options: Sequence[Option], codes: Sequence[str]
) -> Reply | None:
    """What "whatever" and "it depends" come down to; None for another reply, and where it has to be asked back.

    No limit where a limit is asked for, no preference where plans are compared. Whether to take a plan is nothing that
    somebody else decides.
    """
    no_matter = is_no_matter(reply)
    if not (no_matter or is_hesitant(reply)) or is_option(reply, options):
        return None
    if item is None:
        return {"unsure": True} if what in ("pair", "last") else None
    if item.what == "can" and no_matter:
        return {"code": "yes"}
    if item.what == "levels" and no_matter:
        return {"levels": [int(code) for code in codes]}
    return {"unsure": True}


_ONE_WAY = re.compile(
    r"(?:yes,? )?(?:but )?(?:i |it )?(?:can |could )?(?:only )?(?:go )?"
    r"(?:(up|higher|more)|(down|lower|less|fewer))(?: only)?"
)


_ONLY = re.compile(
    r"(?:yes,? )?(?:but )?(?:only (?:to )?|i (?:can|could|might) (?:only )?(?:be|become|go to|change to|move to) )"
    r"(?P<what>.+)"
)


def _read_item(
    c: Conversation, item: QuestionnaireItem, reply: Any, question: Question, codes: Sequence[str]
) -> Reply:
    """The reply to a question of the questionnaire."""
    options, j = question.options, item.feature
    if item.what == "can":
        answer = yes_or_no(reply)
        only = _ONE_WAY.fullmatch(as_text(reply) or "")
        if only is not None and {"up", "down"} <= set(codes):
            return {"code": "up" if only[1] else "down"}
        named = _ONLY.fullmatch(as_text(reply) or "")
        feature = c.schema.features[j]
        levelled = feature.has_levels and not feature.ordered
        if named is not None and levelled and not named_options(reply, options):
            return {
                "wish": {"feature": feature.name, "levels": _levels(feature, as_typed(named["what"], reply))}
            }
        code = codes[chosen(reply, options)] if answer is None else "yes" if answer else "no"
        return {"code": code}
    if item.what in ("low", "high"):
        value = number(reply, c.schema.features[j], float(c.x[0, j]))
        return {"number": check_bound(c.asking, j, item.what, value)}
    if item.what == "levels":
        levels = [int(code) for code in codes]
        answer = None if is_option(reply, options) else yes_or_no(reply)
        if answer is not None or as_text(reply) in ("none", "none of these"):
            return {"levels": levels if answer else []}
        if not question.many:
            return {"levels": levels[: chosen(reply, options) + 1]}
        return {"levels": sorted(levels[i] for i in several(reply, options, alike=True))}
    if item.what == "score":
        cannot = yes_or_no(reply) is False and as_text(reply) != "not really"
        return {"score": len(codes) if cannot else chosen(reply, options) + 1}
    if isinstance(reply, (list, tuple)):  # a ranking may also come as a list of feature names
        may = [c.schema.names[j] for j in np.flatnonzero(c.asking.may[0])]
        reply = [may.index(one) + 1 if one in may else one for one in reply]
    return {"rank": [codes[i] for i in several(reply, options)]}


def _read_wish(c: Conversation, reply: Any) -> Wish | None:
    """What the reply says that the person cannot do; None where it says no such thing."""
    item = c.on_table.item
    here = None if item is None or item.feature < 0 else item.feature
    acts = [] if c.setup.walker is None else [act.name for act in c.setup.walker.acts_]
    if (act := act_refused(reply, acts)) is not None:
        return {"act": act}
    if (deadline := _deadline(c, reply)) is not None:
        return deadline
    can = c.problem.population(c.x, c.preferences).may[0]
    if item is not None and item.what == "page":  # what was said of the page before may be said again
        can = can | c.asking.may[0]
    may = np.flatnonzero(can).tolist()
    if isinstance(reply, dict):
        return _plain_wish(c, reply, may)
    if (most := most_changes(reply)) is not None:
        return {"max_changes": most}
    if item is None or item.what != "score":
        hard = how_hard(reply, c.schema, may, here)
        if hard is not None:
            return {"feature": c.schema.names[hard[0]], "score": hard[1], "of": len(LIKERT)}
    found = freeze_or_limit(reply, c.schema, may, here)
    if found is None and here is not None and item is not None and item.what == "can" and is_amount(reply):
        found = here, "to", str(as_text(reply))  # "25%" where the question is how far
    if found is None:
        return None
    j, side, text = found
    return {"feature": c.schema.names[j], "can": False} if side == "can" else _limit(c, j, side, text)


def _deadline(c: Conversation, reply: Any) -> Wish | None:
    """The deadline that a reply tells; None where it tells none. Raises: ReplyError where nobody knows the pace."""
    found = read_deadline(as_text(reply) or "", c.setup.today or date.today(), typed=str(reply))
    walker = c.setup.walker
    timed = c.schema.timed or (walker is not None and any(act.months for act in walker.acts_))
    if found is not None and not timed:
        raise ReplyError(
            gettext(
                "Nobody has told us how long these changes take, so we cannot hold a plan to a day. Say how far you "
                "could go instead (up to ...), or what you cannot change."
            )
        )
    return found


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


def _levels_of(feature: Feature) -> list[Option]:
    return [Option(str(i + 1), words.level_words(feature, i)) for i in range(feature.n_levels)]


def _level(feature: Feature, value: Any) -> int | None:
    """The level that somebody means, by its words in any language; None if it is not plain."""
    for options in [_levels_of(feature), *in_other_languages(lambda: _levels_of(feature))]:
        try:
            return chosen(value, options)
        except ReplyError:
            continue
    return None


_LISTED = 12  # levels at most that an error lists


def _levels(feature: Feature, value: Any) -> list[int]:
    """The levels that somebody names, by their words in any language. Raises: ReplyError that lists them, if few."""
    options, advice = _levels_of(feature), None
    if len(options) <= _LISTED:
        known = [gettext("'{name}'", name=option.text) for option in options]
        advice = gettext("You can name {known}.", known=words.join(known, "or"))
    try:
        return sorted(several(value, options, alike=True, advice=advice))
    except ReplyError:
        for others in in_other_languages(lambda: _levels_of(feature)):
            try:
                return sorted(several(value, others, alike=True))
            except ReplyError:
                continue
        raise


def _limit(c: Conversation, j: int, side: str, value: Any) -> Wish:
    feature, name = c.schema.features[j], c.schema.names[j]
    if feature.has_levels:
        if not feature.ordered and side == "to":  # "only to local government or without pay"
            return {"feature": name, "levels": _levels(feature, value)}
        if not feature.ordered:
            raise ReplyError(
                gettext(
                    "Your {name} has no order, so nothing is above or below. Say 'cannot'.",
                    name=words.label(feature),
                )
            )
        side = "high" if side == "to" else side
        _check_boundary(feature, value)
        at = _level(feature, value)
        if at is None:
            named = [words.quoted(words.level_words(feature, i)) for i in range(feature.n_levels)]
            raise ReplyError(
                gettext(
                    "'{reply}' is no {name}. It can be {known}.",
                    reply=str(value)[:40], name=words.label(feature), known=words.join(named, "or"),
                )
            )  # fmt: skip
        return {"feature": name, side: float(at)}
    people = c.problem.population(c.x, None)
    value = number(value, feature, float(c.x[0, j]))
    if side == "to":
        side = "low" if value < c.x[0, j] else "high"
    return {"feature": name, side: check_bound(people, j, side, value)}


def _check_boundary(feature: Feature, value: Any) -> None:
    """Raises: ReplyError for a number at which one level ends and the next begins: "up to 200 EUR" may be either."""
    text = plain(str(value))
    named = [words.level_words(feature, i) for i in range(feature.n_levels)]
    hold = [name for name in named if text in plain(name)]
    if not text.isdigit() and text[:1].isdigit() and len(hold) > 1 and text not in map(plain, named):
        known = words.join([words.quoted(name) for name in hold], "or")
        raise ReplyError(gettext("'{reply}' may be {known}. Say which.", reply=str(value)[:40], known=known))


_NUMBERED = re.compile(r"(\d{1,2})[:.)]?\s+(\D.*)")  # "2 up to 24", on a page with numbers
_NAME_ONLY = re.compile(
    r"\s*(.+?)\s*:?\s+(?:only|nur)\s+(?:(?:up to|to|bis zu|bis)\s+)?(\S.*)", re.IGNORECASE
)
_PARTS = re.compile(
    r"\s*;\s*|,\s+(?!\d{3,4}\b)|\s+(?:and|und)\s+|\n"
)  # "1, 3, income up to 3,500", "by March 15, 2027"


def _page_text(c: Conversation, reply: Any, codes: Sequence[str]) -> Reply:
    """What somebody typed about all features at once: "2, savings up to 5,000; at most 2 changes".

    What was read is kept; "unread" holds the other parts, each with the reason and its language. Where a part is not
    read, numbers in words count as digits if more is read so. Raises: ReplyError where no part is read.
    """
    found = _page_parts(c, reply, codes)
    digits = in_digits(reply) if isinstance(reply, str) and "unread" in found else reply
    if digits == reply:
        return found
    try:
        other = _page_parts(c, digits, codes)
    except ReplyError:
        return found
    return other if len(other.get("unread", ())) < len(found["unread"]) else found


def _page_parts(c: Conversation, reply: Any, codes: Sequence[str]) -> Reply:
    parts = [str(part) for part in reply] if isinstance(reply, list) else _PARTS.split(str(reply).strip())
    if as_text(reply) in (*YES, "none", "nothing", "") or is_no_matter(reply):
        return {"page": []}
    out, unread, first, read_any = list[Wish](), list[dict[str, str]](), None, False
    for part in parts:
        for one in part.split(",") if re.fullmatch(r"[\d\s,]+", part) else [part]:
            if not one.strip():
                continue
            try:
                if not _no_matter_part(c, one, codes):
                    out.append(_page_part(c, one.strip(), codes))
                read_any = True
            except ReplyError as error:
                first = first or error
                unread.append({"part": one.strip()[:40], "why": str(error), "language": language()})
    if first is not None and not read_any:
        raise first
    return {"page": out, "unread": unread} if unread else {"page": out}


def _no_matter_part(c: Conversation, one: str, codes: Sequence[str]) -> bool:
    """Whether a part says that a feature has no limit: "savings: whatever", "Wohnung ist mir egal"."""
    may = [c.schema.index(name) for name in codes]
    for at in (found.start() for found in re.finditer(r"\s", one)):
        what = re.sub(r"(?::|,| is| are| ist| sind)$", "", one[:at].strip())
        if is_no_matter(one[at:]) and feature_named(what, c.schema, may) is not None:
            return True
    return is_no_matter(one)


def _page_part(c: Conversation, one: str, codes: Sequence[str]) -> Wish:
    """One part of what somebody typed about all features. Raises: ReplyError."""
    if one.isdigit():
        options = [Option(str(i + 1), name) for i, name in enumerate(codes)]
        return {"feature": codes[chosen(one, options)], "can": False}
    try:
        wish = _read_wish(c, one)
    except ReplyError:
        _check_named(c, one, codes)
        raise
    j = feature_named(one, c.schema, [c.schema.index(name) for name in codes])
    if wish is None and j is None:
        wish = _only_level(c, one, codes)
    numbered = _NUMBERED.fullmatch(one)
    if wish is None and j is None and numbered and 1 <= int(numbered[1]) <= len(codes):
        name = words.label(c.schema[codes[int(numbered[1]) - 1]])
        wish = _page_part(c, f"{name} {numbered[2]}", codes)
    if wish is None and j is None:
        _check_named(c, one, codes)
        raise ReplyError(
            gettext(
                "'{reply}' is not read. Type the numbers of what you cannot change, how far you could go (name "
                "up to 3,500), or none.",
                reply=one[:40],
            )
        )
    return {"feature": c.schema.names[int(j or 0)], "can": False} if wish is None else wish


def _only_level(c: Conversation, one: str, codes: Sequence[str]) -> Wish | None:
    """The limit that "education only master's" or "education: only up to master's" tells; None for another text."""
    found = _NAME_ONLY.fullmatch(one)
    j = None if found is None else feature_named(found[1], c.schema, [c.schema.index(name) for name in codes])
    return None if found is None or j is None else _limit(c, j, "to", found[2])


def _check_named(c: Conversation, text: str, codes: Sequence[str]) -> None:
    """Raises: ReplyError where a text begins with a feature of which no plan makes use."""
    typed = plain(text.replace(":", " "))
    for feature in c.schema.features:
        if feature.name in codes:
            continue
        names = {plain(feature.name), plain(words.label(feature)), plain(feature.text_label)}
        if any(typed == name or typed.startswith(f"{name} ") for name in names):
            raise ReplyError(
                gettext(
                    "No plan changes your {name}, so there is nothing to say about it.",
                    name=words.label(feature),
                )
            )


def limits_page(c: Conversation, reply: dict[str, Any]) -> list[Wish]:
    """All limits in one reply: {"limits": {FEATURE: ...}, "changes": 2, "within": 6}, for a page of all features.

    For a feature: False or "no" (cannot change), True, "yes" or "" (as far as needed), "up to 3,500", {"low": ...,
    "high": ...}, a list of the levels it may take, or how hard it would be ("hard"). within: months, or a deadline as
    people type them ("by March"). Raises: ReplyError that names the feature.
    """
    limits, out = reply["limits"], list[Wish]()
    may = np.flatnonzero(c.problem.population(c.x, c.preferences).may[0]).tolist()
    names = [c.schema.names[j] for j in may]
    if (
        not isinstance(limits, dict)
        or set(reply) - {"limits", "changes", "within"}
        or set(limits) - set(names)
    ):
        raise ReplyError(
            f'That page is not read. Give {{"limits": {{FEATURE: ...}}}} with {", ".join(names)}.'
        )
    for name, value in limits.items():
        j = c.schema.index(name)
        try:
            out += _page_entry(c, j, clean(value))
        except ReplyError as error:
            label = words.label(c.schema.features[j])
            label = label.capitalize() if language() == "en" else label
            raise ReplyError(f"{label}: {error}", feature=name) from None
    if (most := reply.get("changes")) not in (None, ""):
        many = str(most_changes(most) or in_digits(str(most), alone=True).strip())
        if isinstance(most, bool) or not many.isdigit() or int(many) < 1:
            raise ReplyError(
                gettext(
                    "{number} changes at most is no number of things. Give 1 or more, or leave it out.",
                    number=repr(most),
                )
            )
        out.append({"max_changes": int(many)})
    if (within := reply.get("within")) not in (None, ""):
        number = isinstance(within, (int, float)) and not isinstance(within, bool)
        text = f"within {within} months" if number else str(within)
        deadline = _deadline(c, text) or _deadline(c, in_digits(text))
        if deadline is None:
            raise ReplyError(
                gettext(
                    "{time} is no deadline. Give months, or as in: within 6 months, by March.",
                    time=repr(within),
                )
            )
        out.append(deadline)
    return out


def _one_end(c: Conversation, j: int, side: str, value: Any) -> Wish:
    """A limit as it is typed into the field of one side: "3,000 EUR", and "up to 3,000 EUR" where that is this side."""
    limit = freeze_or_limit(value, c.schema, [j], j)
    return _limit(c, j, side, limit[2] if limit is not None and limit[1] in (side, "to") else value)


def _page_entry(c: Conversation, j: int, value: Any) -> list[Wish]:
    name, feature = c.schema.names[j], c.schema.features[j]
    is_level = feature.has_levels and is_option(value, _levels_of(feature))
    answer = None if is_level else yes_or_no(value)
    if value is None or value == "" or answer is True or (is_no_matter(value) and not is_level):
        return []
    if answer is False or as_text(value) == "i cannot do this":
        return [{"feature": name, "can": False}]
    if isinstance(value, dict) and value and set(value) <= {"low", "high", "levels", "hard"}:
        ends = [
            _one_end(c, j, side, value[side]) for side in ("low", "high") if value.get(side) not in (None, "")
        ]
        return ends + [wish for part in ("levels", "hard") for wish in _page_entry(c, j, value.get(part))]
    if isinstance(value, list) and feature.has_levels:
        options = _levels_of(feature)
        found = [_level(feature, one) for one in value]
        return [
            {
                "feature": name,
                "levels": sorted(
                    chosen(one, options) if at is None else at for one, at in zip(value, found, strict=True)
                ),
            }
        ]
    if as_text(value) in LIKERT:
        return [{"feature": name, "score": LIKERT.index(str(as_text(value))) + 1, "of": len(LIKERT)}]
    limit = freeze_or_limit(value, c.schema, [j], j)
    if limit is not None and limit[1] != "can":
        return [_limit(c, j, limit[1], limit[2])]
    if (
        isinstance(value, (int, float))
        or is_amount(value)
        or in_digits(str(value), alone=True).strip().isdigit()
    ):
        return [_limit(c, j, "to", value)]
    raise ReplyError(
        gettext(
            "'{reply}' is not read. Give no, up to and a value, a list of levels, or how hard.",
            reply=str(value)[:40],
        )
    )


def _check_limits(c: Conversation, reply: Reply) -> None:
    """Raises: ReplyError if the reply contradicts a limit that was stated before."""
    item = c.on_table.item
    wishes = [reply["wish"]] if "wish" in reply else reply.get("page", [])
    if not wishes and item is not None and not {"keep", "page", "stop"} & set(reply):
        wishes = wishes_from(item, reply, c.asking)[0]
    try:
        preferences_of(c.schema, [*c.wishes, *wishes])
    except PreferencesError:
        raise ReplyError(
            gettext(
                "That goes against a limit that you gave before: nothing would be left in between. Give another "
                "number, or take the earlier answer back."
            )
        ) from None
