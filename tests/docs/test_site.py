"""The site can be read: colours reach the contrast of WCAG AA in both themes, tables have captions and scopes."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
TEXT = ("text-base", "text-muted", "link", "link-hover", "inline-code", "accent", "heading", "table")
BEHIND = ("background", "on-background", "surface", "table-row-hover-bg", "target")


def colours(theme: str) -> dict[str, str]:
    """Return the colours of a theme, light or dark, ours over those of the library's theme."""
    library = pytest.importorskip("pydata_sphinx_theme")
    sheets = Path(library.__file__).parent / "theme/pydata_sphinx_theme/static/styles/pydata-sphinx-theme.css"
    found: dict[str, str] = {}
    for sheet in (sheets, DOCS / "_static" / "custom.css"):
        text = sheet.read_text(encoding="utf-8")
        for block in re.findall(rf'html\[data-theme="?{theme}"?\]\s*\{{([^}}]*)\}}', text):
            found.update(re.findall(r"--pst-color-([\w-]+):\s*([^;}\s]+)", block))
    return found


def resolve(found: dict[str, str], name: str) -> str:
    while found[name].startswith("var("):
        name = found[name].removeprefix("var(--pst-color-").removesuffix(")")
    return found[name]


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = digits if len(digits) == 6 else "".join(2 * digit for digit in digits)
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_reaches_the_contrast_of_wcag_aa(theme: str) -> None:
    """4.5 : 1 (success criterion 1.4.3), every colour of text on every colour that it can stand on."""
    found = colours(theme)
    low = {}
    for text in TEXT:
        for behind in BEHIND:
            pair = sorted(luminance(resolve(found, name)) for name in (text, behind))
            if (pair[1] + 0.05) / (pair[0] + 0.05) < 4.5:
                low[text, behind] = (pair[1] + 0.05) / (pair[0] + 0.05)
    assert not low


PAGE = """# A page

## Fruits

| fruit | price |
| --- | ---: |
| pear | 1 |

Table: What vegetables `cost`.

| vegetable | price |
| --- | ---: |
| leek | 2 |
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_tables_have_captions_and_their_heads_have_scopes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    application = pytest.importorskip("sphinx.application")
    pytest.importorskip("myst_parser")
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    (source / "index.md").write_text(PAGE, encoding="utf-8")
    application.Sphinx(
        source,
        None,
        out,
        tmp_path / "trees",
        "html",
        {"extensions": ["myst_parser", "_accessible_tables"], "html_theme": "basic"},
        status=None,
        warning=None,
    ).build()
    page = (out / "index.html").read_text(encoding="utf-8")
    captions = re.findall(r"<caption>(.*?)</caption>", page, re.DOTALL)
    assert [re.sub(r"<[^>]+>", "", caption).strip(" ¶\n") for caption in captions] == [
        "Fruits",
        "What vegetables cost.",
    ]
    assert page.count('<th scope="col"') == page.count("<th ") == 4
    assert "Table: " not in page
