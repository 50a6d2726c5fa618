"""Bring the catalogs of translations up to date: `python docs/make_messages.py` (or `make messages`).

Each package of wayforward has a catalog for each language: `src/wayforward/locale/LANGUAGE/PACKAGE.po`. What is new in
the code is added there with an empty translation, what is gone is taken out; translations stay. Fill in what is empty.
"""

from __future__ import annotations

from functools import cache
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from wayforward.language import LANGUAGES

SOURCE = Path(__file__).parent.parent / "src" / "wayforward"
KEYWORDS = {
    "_": None, "gettext": None, "N_": None,
    "ngettext": (1, 2), "count": (2, 3), "pgettext": ((1, "c"), 2), "NP_": ((1, "c"), 2),
}  # fmt: skip
FILES = [("**.py", "python"), ("**.html", "jinja2"), ("**.j2", "jinja2")]
OPTIONS = {"jinja2": {"trimmed": "true", "silent": "false", "newstyle_gettext": "true"}}


def packages() -> list[str]:
    """Packages, and modules of the top folder, that may hold texts."""
    found = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")}
    return sorted(found - {"locale", "language", "__init__", "__main__"})


@cache
def messages(package: str) -> Catalog:
    """Every text of a package that is to be translated, looked for once."""
    found, folder = Catalog(project="wayforward", header_comment="# Texts of wayforward."), SOURCE / package
    if folder.is_dir():
        rows = extract_from_dir(
            folder, FILES, {"**.html": OPTIONS["jinja2"], "**.j2": OPTIONS["jinja2"]}, keywords=KEYWORDS,
            comment_tags=("Translators:",), strip_comment_tags=True,
        )  # fmt: skip
    else:
        from babel.messages.extract import extract_from_file

        path = folder.with_suffix(".py")
        rows = ((path.name, *row) for row in extract_from_file("python", path, KEYWORDS, ("Translators:",)))
    for name, _line, message, comments, context in rows:
        found.add(message, None, [(f"{package}/{name}" if folder.is_dir() else name, 0)], auto_comments=comments,
                  context=context)  # fmt: skip
    return found


def catalog_path(language: str, package: str) -> Path:
    """Where a package's translations are."""
    return SOURCE / "locale" / language / f"{package}.po"


def read(language: str, package: str) -> Catalog:
    """Return the translations of a package; none yet is an empty catalog."""
    path = catalog_path(language, package)
    return read_po(BytesIO(path.read_bytes()), locale=language) if path.exists() else Catalog(locale=language)


def main() -> None:
    """Update every catalog, and print how many texts wait for a translation."""
    for language in sorted(set(LANGUAGES) - {"en"}):
        for package in packages():
            template = messages(package)
            path = catalog_path(language, package)
            if not len(template):
                path.unlink(missing_ok=True)
                continue
            catalog = read(language, package)
            catalog.update(template, no_fuzzy_matching=True)
            catalog.obsolete.clear()
            path.parent.mkdir(parents=True, exist_ok=True)
            out = BytesIO()
            write_po(
                out,
                catalog,
                width=100,
                sort_output=True,
                ignore_obsolete=True,
                omit_header=True,
                include_lineno=False,
            )
            path.write_bytes(out.getvalue())
            empty = sum(not message.string or not any(message.string) for message in catalog if message.id)
            print(f"{language} {package}: {len(catalog)} texts, {empty} without a translation")


if __name__ == "__main__":
    main()
