"""A reply as people say it, without the words that say nothing: "maybe a little, up to 0.5", "no, the bank decides"."""

from __future__ import annotations

import re

from wayforward.people.dialogue.number_words import in_digits

_SMALL = (
    r"i|i'd|i'll|we|it|that|this|you|yes|yeah|well|ok|okay|so|hm+|um+|oh|can|could|might|would|will|do|go|raise|lower"
    r"|increase|reduce|cut|earn|save|get|pay|take|say|maybe|perhaps|probably|possibly|think|guess|suppose|just|but|only"
    r"|a|the|bit|little|more|less|higher|down|few|please|honestly|ja|na|naja|also|ich|wir|es|das|man|vielleicht"
    r"|wahrscheinlich|wohl|eher|glaube|denke|kann|könnte|koennte|würde|wuerde|ein|bisschen|wenig|etwas|mehr|weniger"
    r"|höchstwahrscheinlich|aber|nur|schon"
)
_LEAD = re.compile(rf"(?:(?:{_SMALL})(?:\s*[,.:]\s*|\s+))+")
_TAIL = re.compile(
    r"[,. ]+(?:please|thanks|thank you|i think|i guess|i suppose|maybe|if need be|if possible|or so|bitte|danke"
    r"|glaube ich|denke ich|vielleicht|wenn es sein muss)[.!]*"
)
_REASON = re.compile(
    r"(?P<word>yes|yeah|sure|no|nope|ja|klar|nein|nee)"
    r"(?:\s*[,.;:]\s*|\s+(?=(?:because|since|as|i|i'm|my|weil|denn|da|ich|mein\w*)\b))(?P<why>[^\d?]+)"
)
_TURN = re.compile(
    r"\b(?:but|only|except|unless|though|if|up to|down to|at most|at least|aber|nur|außer|ausser|wenn|bis|höchstens"
    r"|mindestens)\b"
)
_ONLY = re.compile(r"\b(?:only|nur)\b")
_PLACES = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "erste": 1, "zweite": 2, "dritte": 3, "vierte": 4,
    "fünfte": 5, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "eins": 1, "zwei": 2, "drei": 3, "vier": 4,
    "fünf": 5,
}  # fmt: skip
_PLACE = re.compile(
    rf"(?:the |das |de[rn] |die )?(?:plan |option |number |nummer )?(?P<place>{'|'.join(_PLACES)})[rsn]?"
    r"(?: (?:one|plan|option|answer|antwort))?"
)


def without_trimmings(reply: str) -> str | None:
    """Return what a reply that is not read as it stands comes down to; None where nothing is left out.

    A yes or no with its reason is the yes or no; "the second one" is 2. A bare number that only small words stood
    before is not taken: "i could save 2" names no option; "yes but only 9" says how far.
    """
    text = " ".join(reply.lower().replace("\u2019", "'").split()).strip(" .!")
    place = _PLACE.fullmatch(text)
    if place is not None:
        return str(_PLACES[place["place"]])
    reason = _REASON.fullmatch(text)
    if reason is not None and _TURN.search(reason["why"]) is None:
        return reason["word"]
    rest = _TAIL.sub("", text)
    found = _LEAD.match(rest)
    rest = rest[found.end() :] if found else rest
    if found and rest.isdigit() and _ONLY.search(found[0]):
        return f"to {rest}"
    bare = in_digits(rest, alone=True).isdigit()
    place = None if bare else _PLACE.fullmatch(rest)
    if place is not None:
        return str(_PLACES[place["place"]])
    return None if rest in ("", text) or bare else rest
