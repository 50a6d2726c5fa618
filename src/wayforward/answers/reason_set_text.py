"""Reasons that keep a no, in sentences: as long as these features stay as they are, nothing else turns the answer."""

from __future__ import annotations

from wayforward.answers import words
from wayforward.language import gettext, use_language
from wayforward.methods.reason_sets import ReasonSets
from wayforward.schema import Schema


def reason_set_lines(schema: Schema, found: ReasonSets, language: str | None = None) -> list[str]:
    """Return a sentence for each reason of a person's no; what is known by search alone says so.

    Example: ["As long as your savings and your debt stay as they are, nothing else that you may do turns the answer."].
    language: "en" or "de"; left out, the one in use.
    """
    with use_language(language):
        return [_sentence(schema, features, found.exact) for features in found.sets]


def _sentence(schema: Schema, features: tuple[int, ...], exact: bool) -> str:
    if not features:
        if exact:
            return gettext("Nothing that you may do turns the answer. This was proved.")
        return gettext("We found nothing that you may do that turns the answer.")
    listed = [gettext("your {name}", name=words.label(schema.features[j])) for j in features]
    names = words.join(listed)
    if len(listed) == 2:
        names = gettext("{first} and {last}", first=listed[0], last=listed[1])
    if len(features) == 1:
        if exact:
            return gettext(
                "As long as {name} stays as it is, nothing else that you may do turns the answer.", name=names
            )
        return gettext(
            "As long as {name} stays as it is, we found nothing else that turns the answer.", name=names
        )
    if exact:
        return gettext(
            "As long as {names} stay as they are, nothing else that you may do turns the answer.", names=names
        )
    return gettext(
        "As long as {names} stay as they are, we found nothing else that turns the answer.", names=names
    )
