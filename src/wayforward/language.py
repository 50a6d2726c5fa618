"""The language of the person who reads: texts by gettext, numbers and dates by locale.

Texts stand in the code in English and are looked up when they are made, so `with use_language("de"):` around any
call gives its words in German. The catalogs are the `.po` files of `wayforward/locale/`, one for each package.
`make messages` adds to them what is new in the code; a test fails while one is not translated.

A feature's name comes from the lender's schema and has a gender that nobody declares, so languages with genders
quote it: "Erhöhen Sie „Ersparnisse“ ...".

The extraction does not look into f-strings: make the text first, then put it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from io import BytesIO

from wayforward.errors import UNSEEN, DataError, harmless, is_one_of, require

#: The languages that are complete, each by its own name.
LANGUAGES = {"en": "English", "de": "Deutsch"}

_current: ContextVar[str] = ContextVar("wayforward_language", default="en")


_GONE: dict[int, str | None] = {**dict.fromkeys(UNSEEN), 0x2028: "\n", 0x2029: "\n"}


def visible(text: str) -> str:
    """Return a text without what only a terminal or the order of its letters would obey; lines and tabs stay."""
    return text if text.isprintable() else text.translate(_GONE)


def one_line(text: str) -> str:
    """Return a text of somebody's table as part of a sentence: `visible`, and on one line."""
    return text if text.isprintable() else visible(text).replace("\n", " ").replace("\t", " ")


def language() -> str:
    """Return the code of the language in use, "en" unless something else was chosen."""
    return _current.get()


def check_language(code: str) -> None:
    """Raises: DataError for a language that is not complete."""
    if not is_one_of(code, LANGUAGES):
        raise DataError(f"There is no language '{code}'. There are: {', '.join(sorted(LANGUAGES))}.")


@contextmanager
def use_language(code: str | None) -> Iterator[None]:
    """Give every text that is made inside in a language: "en" or "de"; None goes on with the one in use.

    Raises: DataError for a language that is not complete; MissingExtra without Babel, for any but English.
    """
    if code is None:
        code = language()
    check_language(code)
    catalog(code)  # complains here and not in the middle of a page
    before = _current.set(code)
    try:
        yield
    finally:
        _current.reset(before)


def set_language(code: str) -> None:
    """Go on in a language to the end of what runs now: of a task, or of what is inside of a `use_language`.

    Raises: as `use_language` does.
    """
    check_language(code)
    catalog(code)
    _current.set(code)


def N_(message: str) -> str:
    """Return a text as it is: marks one of a table, to be looked up by `gettext` when it is used."""
    return message


def NP_(_context: str, message: str) -> str:
    """As `N_`, for a text to be looked up by `pgettext` with this context."""
    return message


def in_english(make: Callable[[], str]) -> str:
    """Return a text in English whatever is in use: what files and other processes know a thing by."""
    with use_language("en"):
        return make()


class Translatable(str):
    """A text in English, by which files know it, that `translated` makes again in the language of whoever reads it."""

    make: Callable[[], str]

    def __new__(cls, make: Callable[[], str]) -> Translatable:
        """Return the English text; make: gives it in the language in use."""
        text = super().__new__(cls, in_english(make))
        text.make = make
        return text

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)  # another process gets the text


def translated(text: str) -> str:
    """Return a `Translatable` in the language in use, and any other text as it is."""
    return text.make() if isinstance(text, Translatable) else text


def reason(error: Exception) -> str:
    """Return what an error says, in the language in use where it was raised with a `Translatable`."""
    given = error.args[0] if error.args else None
    return harmless(translated(given)) if isinstance(given, str) else str(error)


def gettext(message: str, /, **values: object) -> str:
    """Return a text in the language in use, `{name}` in it replaced by what is given."""
    text = catalog(language()).gettext(message) if message else ""
    return text.format(**values) if values else text


def ngettext(one: str, many: str, n: int, /, **values: object) -> str:
    """Return the text for n things: `{n}` is how many, "2,050", unless given in words; other values as in `gettext`."""
    return catalog(language()).ngettext(one, many, n).format(**{"n": marks(f"{n:,}"), **values})


def pgettext(context: str, message: str, /, **values: object) -> str:
    """Return a text whose English word means several things; the context says which: "level", "heading"."""
    text = catalog(language()).pgettext(context, message)
    return text.format(**values) if values else text


def marks(text: str) -> str:
    """Return an English number ("2,050.5") with the marks of the language in use ("2.050,5")."""
    if language() == "en":
        return text
    decimal, group = _marks(language())
    return text.translate({ord(","): group, ord("."): decimal})


_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def month_text(day: date) -> str:
    """Return the month of a day in words: "March 2027", "März 2027"."""
    if language() == "en":
        return f"{_MONTHS[day.month - 1]} {day.year}"
    from babel.dates import format_date

    return format_date(day, "LLLL y", locale=language())


def day_text(day: date) -> str:
    """Return a day in words: "24 November 2026", "24. November 2026"."""
    if language() == "en":
        return f"{day.day} {month_text(day)}"
    from babel.dates import format_date

    return format_date(day, "long", locale=language())


@cache
def catalog(code: str) -> NullTranslations:
    """Return the catalog of a language; that of English is empty, as the texts of the code are English.

    Raises: MissingExtra without Babel.
    """
    if code == "en":
        return NullTranslations()
    require("babel", extra="languages")
    from babel.messages.catalog import Catalog
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    merged, compiled = Catalog(locale=code), BytesIO()
    for path in sorted((files("wayforward") / "locale" / code).iterdir(), key=lambda path: path.name):
        if path.name.endswith(".po"):
            for message in read_po(BytesIO(path.read_bytes()), locale=code):
                if message.id and not message.fuzzy:
                    merged.add(message.id, message.string, context=message.context)
    write_mo(compiled, merged)
    compiled.seek(0)
    return GNUTranslations(compiled)


@cache
def _marks(code: str) -> tuple[str, str]:
    from babel.numbers import get_decimal_symbol, get_group_symbol

    return get_decimal_symbol(code), get_group_symbol(code)
