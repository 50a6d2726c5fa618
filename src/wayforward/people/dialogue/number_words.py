"""Numbers that people type in words, as digits: "two thousand five hundred" -> "2500", "fünfundzwanzig" -> "25".

Only what means one number is read. "one fifty", "half", "two thirds" and "twenty fifteen" stay as they were typed, so
that whoever reads on asks. English and German are read whatever language is in use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ENGLISH = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_GERMAN = (
    "null", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf",
)  # fmt: skip
_ZEHNER = ("zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")
_ONE = ("one", "ein", "eine", "einem", "einen", "einer")  # as well an article or a pronoun


def _below_hundred() -> Iterator[tuple[str, int]]:
    """Each number below 100 without spaces and hyphens."""
    yield from ((word, n) for n, word in enumerate(_ENGLISH))
    yield from ((word, n) for n, word in enumerate(_GERMAN))
    yield from ((word, 1) for word in (*_ONE, "eins"))
    stems = {**dict(enumerate(_GERMAN)), 6: "sech", 7: "sieb"}
    yield from ((f"{stems[n]}zehn", 10 + n) for n in range(3, 10))
    for at, (english, german) in enumerate(zip(_TENS, _ZEHNER, strict=True), 2):
        yield from ((english, 10 * at), (german, 10 * at))
        yield from ((f"{english}{_ENGLISH[n]}", 10 * at + n) for n in range(1, 10))
        yield from ((f"{_GERMAN[n]}und{german}", 10 * at + n) for n in range(1, 10))
    yield "fourty", 40


def _plain(text: str) -> str:
    """Umlauts as two letters."""
    for letter, two in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss")):
        text = text.replace(letter, two)
    return text


_BELOW_HUNDRED = {_plain(word): n for word, n in _below_hundred()}
_SCALES = ((r"million(?:en)?", 10**6), (r"thousand|tausend", 1000), (r"hundred|hundert", 100))
_SCALE = "|".join(pattern for pattern, _ in _SCALES)
# What a number is made of, each text of them in one way only, so that a search through one is short.
_PARTS = (
    *_ENGLISH,
    *_TENS,
    "fourty",
    *_GERMAN,
    *_ZEHNER,
    *_ONE,
    "eins",
    "sechzehn",
    "siebzehn",
    "einhalb",
    "anderthalb",
)
_STEM = "|".join(sorted({*_PARTS, *map(_plain, _PARTS)}, key=lambda word: (-len(word), word)))
_WORD = rf"(?:{_STEM}|{_SCALE})(?:(?:und)?(?:{_STEM}|{_SCALE}))*"
_AND = r"(?:(?<=hundred)|(?<=thousand)|(?<=million)|(?<=hundert)|(?<=tausend)|(?<=millionen)) (?:and|und) "
_RUN = rf"(?:an? (?={_SCALE}))?{_WORD}(?:(?:[ -]|{_AND}){_WORD})*"
_NUMBER = re.compile(
    rf"(?<![\w-])(?:(?P<share>half an?|half|eine? halbe[rns]?)(?= (?:{_SCALE}|per ?cent|prozent))"
    rf"|(?P<digits>\d[\d.,]*)(?= (?:{_SCALE}))|(?P<whole>{_RUN}))"
    rf"(?: (?:point|comma|komma) (?P<part>(?:{_STEM})(?:(?:und|[ -])?(?:{_STEM}))*))?"
    rf"(?P<half> (?:and|und) (?:an?|one|ein) (?:half|halb))?(?: (?P<scale>{_SCALE}))?(?![\w-])",
    re.IGNORECASE,
)
_HALF = re.compile(rf"(?P<n>.*?)(?P<word>anderthalb|einhalb)(?P<scale>{_SCALE})?")
_BETWEEN = r"\s*(?:[,;>]|\band\b|\bor\b|\bund\b|\boder\b|\s)\s*"
_LIST = re.compile(rf"(?:\d+|{_WORD})(?:{_BETWEEN}(?:\d+|{_WORD}))*", re.IGNORECASE)


def in_digits(text: str, alone: bool = False) -> str:
    """Return a text with its numbers in digits and English marks; as it is where none stands in words.

    alone: the text is a value, so that "one" is a number in it, and no pronoun.
    """
    alone = alone or _LIST.fullmatch(text.strip()) is not None

    def in_a_list(found: re.Match[str]) -> bool:
        before, after = text[: found.start()].rstrip(), text[found.end() :].lstrip()
        return before[-1:] in ("", ",", ";") and after[:1] in ("", ",", ";")

    return _NUMBER.sub(lambda found: _digits(found, alone or in_a_list(found)), text)


def tells_scale(text: str) -> bool:
    """Whether a text holds "hundred", "thousand" or "million", in a number or in a unit."""
    return re.search(rf"{_SCALE}|\b(?:tsd|mio)\b", text.lower()) is not None


def _digits(found: re.Match[str], alone: bool) -> str:
    """What one number in words is in digits; the words where they may mean something else."""
    typed = {name: part and _plain(part.lower()) for name, part in found.groupdict().items()}
    whole, scale, part, half = typed["whole"], typed["scale"], typed["part"], typed["half"]
    factor = _factor(scale) if scale else 1
    if found["digits"] and (part or half or (factor == 100 and not found["digits"].isdigit())):
        return found[0]
    if found["digits"]:
        return (
            f"{found['digits']}{'k' if factor == 1000 else 'm'}" if factor > 100 else f"{found['digits']}00"
        )
    if whole in _ONE and not (alone or scale or part or half):
        return found[0]
    value = _value(whole) if whole else 0.5
    if value is None or (part and (value != int(value) or half)):
        return found[0]
    if part:
        together = _whole(re.sub(r"[ -]", "", part))  # "point twenty-five"
        places = [together] if together is not None else [_whole(word) for word in part.split()]
        if any(place is None or (place > 9 and place != together) for place in places):
            return found[0]
        value = float(f"{value:.0f}.{''.join(map(str, places))}")
    return _text((value + 0.5 * (half is not None)) * factor)


def _text(value: float) -> str:
    """Digits that no language reads as thousands: four places rather than three."""
    if value == int(value):
        return str(int(value))
    text = f"{value:.6f}".rstrip("0")
    return f"{text}0" if len(text.split(".")[1]) == 3 else text


def _factor(scale: str) -> int:
    return next(factor for pattern, factor in _SCALES if re.fullmatch(pattern, scale))


def _value(words: str) -> float | None:
    """A whole number or one with a half, in words; None for what is none."""
    joined = re.sub(r"[ -]", "", words)
    half = _HALF.fullmatch(joined)
    if half is None:
        return _whole(joined)
    many = 1 if half["word"] == "anderthalb" else _whole(half["n"])
    if many is None or (half["word"] == "anderthalb" and half["n"]):
        return None
    return (many + 0.5) * (_factor(half["scale"]) if half["scale"] else 1)


def _whole(joined: str, at: int = 0) -> int | None:
    """A whole number in words without spaces, read from its millions down; None for what is none."""
    if at == len(_SCALES):
        return _BELOW_HUNDRED.get(joined)
    pattern, factor = _SCALES[at]
    found = re.search(pattern, joined)
    if found is None:
        return _whole(joined, at + 1)
    head, tail = joined[: found.start()], re.sub("^(?:and|und)", "", joined[found.end() :])
    many = 1 if head in ("", "a", "an") else _whole(head, at + 1)
    rest = _whole(tail, at + 1) if tail else 0
    if many is None or rest is None or rest >= factor or (tail and not rest):
        return None
    return many * factor + rest
