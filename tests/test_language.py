"""Languages: numbers, days, catalogs that are complete, and templates."""

from __future__ import annotations

import ast
import re
import sys
from datetime import date
from pathlib import Path

import pytest

from wayforward.answers import words
from wayforward.answers.page import template_engine
from wayforward.answers.words import number
from wayforward.errors import DataError
from wayforward.language import LANGUAGES, day_text, gettext, language, ngettext, use_language

pytest.importorskip("babel")
sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
make_messages = pytest.importorskip("make_messages")

OTHERS = sorted(set(LANGUAGES) - {"en"})


def test_numbers_and_days_have_the_marks_of_the_language():
    assert (number(2050.5), day_text(date(2026, 3, 1))) == ("2,050.5", "1 March 2026")
    with use_language("de"):
        assert (number(2050.5), day_text(date(2026, 3, 1))) == ("2.050,5", "1. März 2026")
        assert number(-12345678.25) == "−12.345.678,25"
    assert language() == "en"


def test_a_text_without_a_translation_stays_english_and_an_unknown_language_is_refused():
    with use_language("de"):
        assert gettext("{n} zebras", n=3) == "3 zebras"
        assert ngettext("{n} zebra", "{n} zebras", 1) == "1 zebra"
    with pytest.raises(DataError, match="'fr'"), use_language("fr"):
        pass


def test_lists_and_counts_are_those_of_the_language():
    assert (words.join(["a", "b", "c"]), words.join(["a", "b"], "or")) == ("a, b, and c", "a, or b")
    assert (words.spelled(3), words.spelled(7)) == ("three", "7")
    assert words.count(2050, "plan", "plans") == "2,050 plans"
    with use_language("de"):
        assert (words.join(["a", "b", "c"]), words.join(["a", "b"], "or")) == ("a, b und c", "a oder b")
        assert (words.spelled(3), words.spelled(7)) == ("drei", "7")
        assert words.count(1, "plan", "plans") == "1 Plan"
        assert words.count(2050, "plan", "plans") == "2.050 Pläne"


def test_templates_speak_the_language_in_use():
    page = template_engine().from_string(
        "{{ _('not known') }} {% trans n=2 %}{{ n }} thing{% pluralize %}{{ n }} things{% endtrans %}"
    )
    assert page.render() == "not known 2 things"
    with use_language("de"):
        assert page.render() == "nicht bekannt 2 things"


@pytest.mark.parametrize("package", make_messages.packages())
@pytest.mark.parametrize("code", OTHERS)
def test_every_text_is_translated(code, package):
    """What stands in the code stands in the catalog, with a translation that has the same fields."""
    wanted = {(m.id, m.context): m for m in make_messages.messages(package) if m.id}
    known = {(m.id, m.context): m for m in make_messages.read(code, package) if m.id}
    assert wanted.keys() == known.keys(), "run `make messages` and translate what is new"
    for message in known.values():
        texts = [message.string] if isinstance(message.string, str) else list(message.string)
        assert all(texts), f"{package}: not translated: {message.id!r}"
        ids = [message.id] if isinstance(message.id, str) else list(message.id)
        fields = [set(re.findall(r"\{\w*\}|%\(\w+\)s", text)) for text in ids]
        for text in texts:
            assert set(re.findall(r"\{\w*\}|%\(\w+\)s", text)) in (*fields, set.union(*fields)), message.id


def test_every_text_that_the_code_looks_up_is_found_by_the_extraction():
    """The extraction does not look into f-strings, nor at texts that are put together."""
    names = {"gettext": 0, "ngettext": 0, "pgettext": 1, "N_": 0, "NP_": 1}
    for package in make_messages.packages():
        known = {
            text
            for m in make_messages.messages(package)
            for text in ([m.id] if isinstance(m.id, str) else m.id)
        }
        folder = make_messages.SOURCE / package
        for path in folder.rglob("*.py") if folder.is_dir() else [folder.with_suffix(".py")]:
            for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(call, ast.Call) or getattr(call.func, "id", "") not in names:
                    continue
                text = call.args[names[call.func.id]]
                where = f"{path.name}:{call.lineno}"
                assert not isinstance(text, (ast.JoinedStr, ast.BinOp)), where
                if isinstance(text, ast.Constant):
                    assert text.value in known, where


@pytest.mark.parametrize("code", OTHERS)
def test_a_text_of_two_packages_has_one_translation(code):
    """A plural counts under its singular, which is what a text alone is looked up by."""
    seen: dict[tuple[object, object], object] = {}
    for package in make_messages.packages():
        for message in make_messages.read(code, package):
            if message.id:
                key = (message.id[0] if message.pluralizable else message.id, message.context)
                assert seen.setdefault(key, message.string) == message.string, message.id


#: Where every sentence that is made is one that people read. Errors, what a progress tells, and Python's own view of a
#: thing are for those who run it.
READ = (
    "impact/audit",
    "impact/conditions.py",
    "impact/summaries/path_words.py",
    "impact/templates/audit.html.j2",
)
_LOOKED_UP = {"gettext", "ngettext", "pgettext", "N_", "NP_", "count"}
_FOR_RUNNERS = {
    "DataError",
    "Gap",
    "Renamed",
    "legend",
    "warn",
    "progress",
    "__repr__",
    "_repr_html_",
    "_checked",
    "_refused",
}


def _sentences(path: Path) -> list[str]:
    """Texts of several words that nothing looks up, of a file."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".j2":
        bare = re.sub(r"\{%-? *trans.*?endtrans.*?%\}|\{[{%#].*?[}%#]\}", "", source, flags=re.DOTALL)
        return re.findall(r">[^<>]*[a-z]{2,} [a-z]{2,}[^<>]*<", bare)
    found: list[str] = []

    def walk(node: ast.AST) -> None:
        named = getattr(getattr(node, "func", node), "id", getattr(getattr(node, "func", node), "attr", ""))
        if named in _LOOKED_UP | _FOR_RUNNERS or getattr(node, "name", "") in _FOR_RUNNERS:
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        several = r"[a-z]{2,} | [a-z]{2,}" if isinstance(node, ast.JoinedStr) else r"[a-z]+,? [a-z]+,? [a-z]+"
        for part in parts:  # a word beside what is put in, or three words
            if isinstance(part, ast.Constant) and re.search(several, str(part.value)):
                found.append(f"{path.name}:{node.lineno}: {part.value}")
        for child in ast.iter_child_nodes(node):
            walk(child)

    walk(ast.parse(source))
    return found


@pytest.mark.parametrize("place", READ)
def test_no_sentence_of_an_audit_is_without_a_translation(place):
    """Such as one that is put together where it is shown, which no catalog knows."""
    place = make_messages.SOURCE / place
    files = sorted(place.glob("*.py")) if place.is_dir() else [place]
    assert files and not [text for path in files for text in _sentences(path)]
