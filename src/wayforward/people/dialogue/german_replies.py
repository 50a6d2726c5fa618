"""Replies that people type in German, as the English reply that says the same; numbers with German marks."""

from __future__ import annotations

import re
from collections.abc import Callable

_SMALL = {
    "ein": "1", "eine": "1", "einem": "1", "einen": "1", "einer": "1", "zwei": "2", "drei": "3", "vier": "4",
    "sechs": "6", "ein halbes": "half a", "einem halben": "half a",
}  # fmt: skip
_UNITS = {"tag": "days", "woche": "weeks", "monat": "months", "jahr": "years"}
_AMOUNTS = {
    "prozent": "%", "euro": "eur", r"tsd\.?|tausend": "k", r"mio\.?|millionen": "m", "tage?n?": "days",
    "wochen?": "weeks", "monate?n?": "months", "jahre?n?": "years", "mehr|höher": "more", "weniger|niedriger": "less",
}  # fmt: skip
_HARD = {
    "sehr leicht": "very easy", "sehr einfach": "very easy", "leicht": "easy", "einfach": "easy",
    "weder leicht noch schwer": "neither easy nor hard", "schwer": "hard", "schwierig": "hard",
    "sehr schwer": "very hard", "sehr schwierig": "very hard",
}  # fmt: skip
_MONTHS = {
    "januar": "january", "jänner": "january", "jan": "january", "februar": "february", "feb": "february",
    "märz": "march", "mär": "march", "april": "april", "apr": "april", "mai": "may", "juni": "june", "jun": "june",
    "juli": "july", "jul": "july", "august": "august", "aug": "august", "september": "september", "sept": "september",
    "sep": "september", "oktober": "october", "okt": "october", "november": "november", "nov": "november",
    "dezember": "december", "dez": "december",
}  # fmt: skip

_I_CANNOT = (
    r"(?:nein,? )?(?:das |es )?(?:kann|könnte) ich (?:leider )?(?:das |es )?nicht",
    r"(?:nein,? )?ich (?:kann|könnte) (?:das |es )?(?:leider )?nicht",
)
#: What a whole reply means, whatever was asked: patterns of which one has to fit.
_WHOLE: dict[str, tuple[str, ...]] = {
    "yes": (
        "ja?", "jo", "jawohl", "ja,? (?:bitte|gerne?|klar|sicher|natürlich|das geht|das kann ich|kann ich)", "gerne?",
        "klar", "sicher", "natürlich", "(?:das )?(?:kann|könnte) ich", "(?:das )?geht", "(?:das ist )?möglich",
        "(?:ist )?in ordnung", "ist ok", "einverstanden", "passt(?: schon| für mich)?", "stimmt", "dafür",
        "auf jeden fall", "von mir aus", "meinetwegen", "(?:na )?gut(?: genug)?", "perfekt", "super", "prima",
        "warum nicht", "kein problem", "(?:das )?geht schon", "eher (?:ja|schon)", "wahrscheinlich(?: ja| schon)?",
    ),
    "no": (
        "nein", "nee", "nö", "ne", "nie", "niemals", "(?:ganz und )?gar nicht", "auf (?:gar )?keinen fall",
        "unmöglich", "(?:nein,? )?(?:leider )?(?:das )?(?:ist )?nicht (?:möglich|machbar)",
        "(?:nein,? )?(?:das )?geht (?:leider )?nicht", *(f"{one}(?: (?:ändern|machen|tun))?" for one in _I_CANNOT),
        "nein,? (?:danke|leider(?: nicht)?)", "leider (?:nein|nicht)", "(?:eher|lieber|sicher|natürlich|jetzt) nicht",
        "wahrscheinlich nicht", "zu (?:schwer|schwierig|viel|teuer)", "nicht gut genug", "dagegen",
    ),
    "skip": (
        "(?:das )?wei(?:ß|ss) (?:ich )?(?:(?:es|das) )?(?:leider |noch )?nicht",
        "ich wei(?:ß|ss) (?:(?:es|das) )?(?:leider |noch )?nicht", "(?:ich habe )?keine ahnung",
        *(f"{one} sagen" for one in _I_CANNOT), "(?:ich )?bin (?:mir )?(?:nicht sicher|unsicher)", "nicht sicher",
        "unsicher", "schwer zu sagen", "überspringen", "weiter", r"k\.?a", "keine angabe", "(?:ich )?passe",
    ),
    "not really": ("eigentlich nicht", "nicht wirklich", "eher weniger"),
    "maybe": (
        "vielleicht", "eventuell", "(?:das )?kommt (?:da|ganz )?(?:darauf|drauf) an", "je nachdem", "mal sehen",
        "schauen wir mal", "unentschieden", "(?:ich bin )?unentschlossen", "(?:ich )?kann mich nicht entscheiden",
        "nächste(?: frage)?",
    ),
    "whatever": (
        "(?:(?:das |es |mir )?ist )?(?:mir )?(?:das |es )?(?:völlig |ganz |ziemlich |eigentlich )?"
        "(?:egal|gleich|einerlei|wurst|wurscht|gleichgültig)(?: welche[rs]?)?",
        "(?:das |es )?(?:spielt|hat) (?:für mich )?keine (?:rolle|bedeutung)",
        "(?:(?:das |es )?(?:macht|ist) )?(?:für mich )?kein(?:en)? unterschied",
        "(?:ich habe )?keine? (?:präferenz|vorliebe|wunsch|wünsche|grenzen?|einschränkung(?:en)?)",
        "(?:nach (?:oben|unten) )?(?:unbegrenzt|offen)", "beliebig(?: weit| viel| hoch)?",
        "so ?(?:weit|viel|hoch)(?: wie)? (?:nötig|möglich)", "(?:ganz )?wie sie (?:wollen|meinen|möchten)",
        "sie (?:entscheiden|wählen)", "entscheiden sie", "suchen sie aus", "das(?:selbe| gleiche)",
        "(?:alles?|beides?)(?: (?:sind|ist))?(?: (?:gleich(?: gut| schlecht)?|gut|ok|okay|recht)| geht| gehen| passt)?",
        "gleich (?:gut|schlecht)", "(?:ist |das ist )?(?:nicht wichtig|unwichtig)", "(?:ich bin )?flexibel",
        "irgend(?:was|etwas|ein(?:e[rns]?|s))", "jede[rs]?(?: davon)?", "nichts bestimmtes",
    ),
    "unchanged": (
        "unverändert", "(?:es )?bleibt(?: so| gleich| wie es ist| unverändert)?", "(?:so )?wie jetzt",
        "(?:so )?(?:be)?lassen", "keine änderung",
    ),
    "neither": (
        "weder noch", "kein(?:e[nrs]?)? von (?:beiden|denen|ihnen|diesen)", "kein(?:e[nrs]?|s) davon",
        "kein(?:e[nrs]?|s) gefällt mir", "(?:beide|alle) (?:sind )?schlecht",
    ),
    "take": ("(?:den |das |die |diesen |dieses )?nehme ich", "ich nehme (?:ihn|es|sie|diesen|das)"),
    "the last one": ("(?:de[rn] |das |die )?letzte[nrs]?",),
    "none": ("kein(?:e[nrs]?|s)", "nichts(?: davon)?"),
    "stop": ("stopp", "halt", "aufhören", "hier aufhören", "ende", "schluss", "fertig", "genug", "beenden"),
    "what does that mean": (
        "was", "was (?:hei(?:ß|ss)t|bedeutet|soll) .*", "was ist (?:das|damit gemeint|gemeint)", "was meinen sie.*",
        "wie meinen sie .*", "wie bitte", "hä", "erklären(?: sie)? .*", "erkläre? .*", "(?:das )?verstehe ich nicht",
        "ich verstehe .*nicht",
    ),
    "only up": (
        "(?:ja,? )?(?:aber )?(?:es |sie |das )?(?:kann |geht )?(?:nur )?"
        "(?:nach oben|höher|mehr|hinauf|rauf|steigen|erhöhen)(?: gehen| werden)?",
    ),
    "only down": (
        "(?:ja,? )?(?:aber )?(?:es |sie |das )?(?:kann |geht )?(?:nur )?"
        "(?:nach unten|niedriger|weniger|hinunter|herunter|runter|sinken|senken)(?: gehen| werden)?",
    ),
}  # fmt: skip

_WHAT = "(?:mein(?:e[nr]?)? |ihr(?:e[nr]?)? |de[rn] |die |das )?[„‚»\"']?(?P<what>.+?)[“‘«\"']?"
_COUNT = rf"(?P<n>\d+(?:[.,]\d+)?|{'|'.join(sorted(_SMALL, key=len, reverse=True))})"
_PLAN = r"(?:plan|nummer|nr\.?)"
_CHANGE = "(?: (?:ändern|erhöhen|senken|machen|tun))?"
_BY = "(?:ich (?:will|möchte|muss) )?(?:es )?(?:bis|vor|spätestens)(?: spätestens)?(?: zum| dem| am)? "
_WITHIN = "(?:ich (?:will|möchte|muss) )?(?:innerhalb (?:von )?|binnen |in (?:höchstens |spätestens )?)"
_DONE = "(?: (?:fertig(?: sein| werden)?|schaffen))?"
_DAY = (
    r"(?P<end>(?:zum )?ende )?(?:zum |de[rms] )?(?:(?P<day>\d{1,2})\. ?)?"
    rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?(?: (?P<year>\d{{4}}))?"
)
_NEAR = {
    "heute": "today", "morgen": "tomorrow", "(?:zur )?nächste[rn]? woche": "next week",
    "nächste[nrms]? monat": "next month", "nächste[nms]? jahr": "next year",
}  # fmt: skip
_MOST = r"höchstens|maximal|max\.|nicht mehr als|nicht über|nicht höher als"
_LEAST = r"mindestens|minimal|min\.|nicht weniger als|nicht unter|nicht niedriger als"
_TO = (
    "(?:(?:höchstens|maximal) )?(?:(?:hinunter|herunter|runter|hinauf|hoch|rauf) )?"
    "(?:bis(?: zu| auf| höchstens| maximal| mindestens)?|auf)"
)
_SIDE = (
    rf"(?:ja,? )?(?:aber )?(?:ich (?:kann|könnte) )?(?:{_WHAT}(?: ?[:,])? )??"
    "(?:kann (?:ich )?|darf |geht )?(?:nur )?"
)
_STAYS = (
    "(?: (?:kann|könnte) ich (?:leider )?nicht(?: ändern| erhöhen| senken)?| (?:kann|können) nicht geändert werden"
    "| bleib(?:t|en)(?: wie (?:es ist|sie ist|sie sind)| so| gleich)?| geht (?:leider )?nicht| fest| nein| unmöglich"
    "| nicht änderbar)"
)

_Found = re.Match[str]


def _pattern(text: str) -> re.Pattern[str]:
    """Umlauts may be typed as two letters: "hoechstens"."""
    for umlaut, two in (("ä", "ae"), ("ö", "oe"), ("ü", "ue")):
        text = text.replace(umlaut, f"(?:{umlaut}|{two})")
    return re.compile(text)


def _amount(text: str) -> str:
    """Words behind a number: "25 Prozent" -> "25 %"."""
    if re.match(r"[-+−]?\d", text):
        for pattern, english in _UNITS_BEHIND.items():
            text = pattern.sub(english, text)
    return text


def _count(found: _Found) -> str:
    return _SMALL.get(found["n"], found["n"])


def _day(found: _Found) -> str:
    month = next(english for german, english in _MONTHS.items() if _pattern(german).fullmatch(found["month"]))
    day = "" if found["day"] is None else f"{found['day']} "
    year = "" if found["year"] is None else f" {found['year']}"
    return f"by {'end of ' if found['end'] else ''}{day}{month}{year}"


def _near(found: _Found) -> str:
    return next(f"by {day}" for german, day in _NEAR.items() if _pattern(german).fullmatch(found["when"]))


def _hard(found: _Found) -> str:
    return " ".join([*([f"{found['what']}:"] if found["what"] else []), _HARD[found["hard"]]])


def _limit(side: str) -> Callable[[_Found], str]:
    return lambda found: f"{found['what'] or ''} {side} {_amount(found['value'])}".strip()


#: Replies that hold something: a name, a number, a day.
_HOLDING: tuple[tuple[str, Callable[[_Found], str]], ...] = (
    (rf"(?:ich )?(?:nehmen?|nimm)(?: (?:den )?{_PLAN})? ?(?P<n>\d*)", lambda m: f"take {m['n']}".strip()),
    (rf"{_PLAN} ?(?P<n>\d+) nehmen", lambda m: f"take {m['n']}"),
    (rf"(?:ich )?(?:vor)?(?:merken?|behalten?)(?: {_PLAN})? ?(?P<n>\d*)", lambda m: f"keep {m['n']}".strip()),
    (rf"{_PLAN} ?(?P<n>\d+) (?:vor)?(?:merken|behalten)", lambda m: f"keep {m['n']}"),
    (rf"{_PLAN} (?P<n>\d+)", lambda m: m["n"]),
    (
        rf"(?:ich (?:will|möchte) )?(?:{_MOST}|nur|bis zu) {_COUNT} (?:änderung(?:en)?|dinge?|sachen?|schritte?)"
        "(?: höchstens)?",
        lambda m: f"at most {_count(m)} changes",
    ),
    (
        rf"{_WITHIN}(?:der nächsten |den nächsten )?{_COUNT} (?P<unit>tag|woche|monat|jahr)(?:e[ns]?|n|s)?{_DONE}",
        lambda m: f"within {_count(m)} {_UNITS[m['unit']]}",
    ),
    (rf"{_BY}(?:ende (?:des|dieses) jahre?s|jahresende){_DONE}", lambda m: "by the end of the year"),
    (rf"{_BY}(?P<when>{'|'.join(_NEAR)}){_DONE}", _near),
    (rf"{_BY}{_DAY}{_DONE}", _day),
    (rf"{_BY}(?P<when>\d{{4}}-\d\d?-\d\d?|\d\d?\.\d\d?\.\d{{4}}){_DONE}", lambda m: f"by {m['when']}"),
    (rf"(?:{_WHAT}(?: ?[:,]| ist| wäre)? )?(?P<hard>{'|'.join(_HARD)})(?: für mich)?", _hard),
    (rf"(?:(?:{'|'.join(_I_CANNOT)}){_CHANGE}|nicht) ?: ?{_WHAT}", lambda m: f"cannot change {m['what']}"),
    (rf"ich (?:kann|könnte) {_WHAT} (?:leider )?nicht{_CHANGE}", lambda m: f"cannot change {m['what']}"),
    (rf"{_WHAT}(?:[:,]| ist| sind)? ?{_STAYS}", lambda m: f"cannot change {m['what']}"),
    *(
        (f"{_SIDE}(?:{german}) (?P<value>.+?){_CHANGE}(?: gehen| steigen| sinken)?", _limit(english))
        for german, english in ((_TO, "to"), (_MOST, "at most"), (_LEAST, "at least"))
    ),
)  # fmt: skip

_WHOLE_PATTERNS = {english: _pattern("|".join(german)) for english, german in _WHOLE.items()}
_HOLDING_PATTERNS = tuple((_pattern(german), make) for german, make in _HOLDING)
_UNITS_BEHIND = {
    _pattern(f"(?<=[\\d .,])(?:{german})(?= |$)"): english for german, english in _AMOUNTS.items()
}
_GROUPED = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?(?![\d.,]*\d)")
_COMMA = re.compile(r"(?<![\d.,])\d+,\d+(?![\d.,]*\d)")


def in_english(text: str) -> str:
    """Return what a reply in lower case says in English; a reply that is not plainly German, as it is.

    Feature names and levels stay as they were typed.
    """
    bare = text.strip(" .!?„“”»«")
    if bare in _HARD:
        return _HARD[bare]
    for english, pattern in _WHOLE_PATTERNS.items():
        if pattern.fullmatch(bare):
            return english
    for pattern, make in _HOLDING_PATTERNS:
        found = pattern.fullmatch(bare)
        if found is not None:
            return make(found)
    return _amount(text)


def english_digits(text: str) -> str:
    """Return a text with German numbers in English marks: "1.500,50" -> "1500.50", "1.500" -> "1500", "0,25" -> "0.25".

    What only English writes ("1,500.50", "1,500,000") stays.
    """
    text = _GROUPED.sub(lambda found: found[0].replace(".", "").replace(",", "."), text)
    return _COMMA.sub(lambda found: found[0].replace(",", "."), text)
