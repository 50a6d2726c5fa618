"""A feature's words in other languages than that of its schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from wayforward.errors import SchemaError, is_one_of, shown, suggest
from wayforward.language import LANGUAGES

Special = tuple[tuple[float, str], ...]


@dataclass(frozen=True, kw_only=True)
class FeatureWords:
    """The words of a feature in one language, named as in the feature; what is left out stays as it is.

    unit: one text, or two where one thing is called otherwise than several: ("Kind", "Kinder"). level_labels: one for
    each level, in the same order. special: every special value in words.
    """

    label: str = ""
    unit: str | tuple[str, ...] = ""
    description: str = ""
    level_labels: tuple[str, ...] = ()
    special: dict[float, str] | Special = ()

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        object.__setattr__(self, "special", special_pairs(self.special))
        object.__setattr__(self, "level_labels", tuple(str(label) for label in self.level_labels))
        check_unit("FeatureWords", self.unit)
        if not isinstance(self.unit, str):
            object.__setattr__(self, "unit", tuple(self.unit))

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what is left out is left out."""
        given = {key: value for key, value in asdict(self).items() if value}
        if self.special:
            given["special"] = {
                int(v) if v.is_integer() else v: words for v, words in dict(self.special).items()
            }
        return {key: list(v) if isinstance(v, tuple) else v for key, v in given.items()}


def special_pairs(given: Any) -> Special:
    """Return special values and their words as pairs, in order. Raises: SchemaError for anything else."""
    try:
        pairs = given.items() if isinstance(given, Mapping) else given
        return tuple(sorted((float(value), str(words)) for value, words in pairs))
    except (TypeError, ValueError):
        raise SchemaError(
            f"special={given!r} does not say which value has which words. Give a mapping such as {{-7: 'never'}}."
        ) from None


def check_unit(place: str, given: Any) -> None:
    """Raises: SchemaError for a unit in another language that is neither one text nor two."""
    one = isinstance(given, str)
    two = isinstance(given, (list, tuple)) and all(isinstance(text, str) and text.strip() for text in given)
    if not one and not (two and len(given) == 2):
        raise SchemaError(
            f"{place} has unit={shown(given)}. Give one text, or two: for one and for several, such as [Kind, Kinder]."
        )


def check_units(entry: Any, place: str = "") -> None:
    """Raises: SchemaError that names a feature in plain data whose unit, in whichever language, is no text."""
    if not isinstance(entry, Mapping):
        return
    name, unit = f"{place}'{entry.get('name')}'", entry.get("unit", "")
    if not isinstance(unit, str):
        pair = isinstance(unit, (list, tuple)) and [str(text) and type(text) for text in unit] == [str, str]
        own = f"[{unit[0]}, {unit[1]}]" if pair else "[child, children]"
        raise SchemaError(
            f"{name} has unit={shown(unit)}. Give one text, for several things, such as 'years'; where one thing is "
            f"called otherwise, leave the unit a text and add both: translations: {{en: {{unit: {own}}}}}."
        )
    others = entry.get("translations")
    for code, given in others.items() if isinstance(others, Mapping) else ():
        if isinstance(given, Mapping):
            check_unit(f"{name}, translated to '{code}',", given.get("unit", ""))


NOTHING = FeatureWords()
Translations = dict[str, FeatureWords] | tuple[tuple[str, FeatureWords], ...]


def checked(
    given: Translations, name: str, n_levels: int, special: set[float]
) -> tuple[tuple[str, FeatureWords], ...]:
    """Return the translations of the feature `name` by their languages. Raises: SchemaError that names the place."""
    found = []
    if not isinstance(given, (Mapping, tuple)):
        raise SchemaError(
            f"'{name}' has translations={shown(given)}. Give words by language: {{'de': FeatureWords(...)}}."
        )
    pairs = given.items() if isinstance(given, Mapping) else given
    for code, one in sorted(pairs, key=lambda pair: str(pair[0])):
        if not is_one_of(code, LANGUAGES):
            raise SchemaError(
                f"'{name}' has translations for {code!r}, and there is no such language."
                f"{suggest(code, LANGUAGES)}"
            )
        found.append((code, _checked(f"'{name}', translated to '{code}',", one, n_levels, special)))
    return tuple(found)


def _checked(place: str, given: Any, n_levels: int, special: set[float]) -> FeatureWords:
    if isinstance(given, Mapping):
        known = [one.name for one in fields(FeatureWords)]
        for unknown in (key for key in given if key not in known):
            raise SchemaError(f"{place} has no field {unknown!r}.{suggest(unknown, known)}")
        check_unit(place, given.get("unit", ""))
        try:
            given = FeatureWords(**given)
        except SchemaError as error:
            raise SchemaError(f"{place} has {error}") from None
    if not isinstance(given, FeatureWords):
        raise SchemaError(f"{place} is {given!r}. Give a mapping such as {{'label': 'Alter'}}.")
    for field in ("label", "description"):
        if not isinstance(getattr(given, field), str):
            raise SchemaError(f"{place} has {field}={getattr(given, field)!r}. Give a text.")
    if given.level_labels and len(given.level_labels) != n_levels:
        raise SchemaError(
            f"{place} has {len(given.level_labels)} level_labels for {n_levels} levels. Give one "
            "label for each level, in the same order."
        )
    values = set(dict(given.special))
    if values and values != special:
        odd = min(values ^ special)
        wrong = (
            "has words for {0:g}, which is no special value" if odd in values else "has no words for {0:g}"
        )
        raise SchemaError(f"{place} {wrong.format(odd)}. Give every special value in words, or none.")
    return given
