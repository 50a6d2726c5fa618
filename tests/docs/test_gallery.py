"""Every method has its picture in the gallery, small, without fonts, and described."""

from __future__ import annotations

import re
from pathlib import Path

from wayforward.methods import names

DOCS = Path(__file__).parents[2] / "docs"


def test_every_method_has_a_small_picture_with_words() -> None:
    page = (DOCS / "guide" / "gallery.md").read_text(encoding="utf-8")
    found = dict(re.findall(r"!\[([\w-]+): [^\]]{30,}\]\(\.\./_static/gallery/([\w-]+)\.svg\)", page))
    assert found == {name: name for name in names()}
    for name in names():
        picture = (DOCS / "_static" / "gallery" / f"{name}.svg").read_text(encoding="utf-8")
        assert len(picture) <= 20_000, name
        assert "<text" not in picture and "font" not in picture
        assert re.search(rf"\*\*`{name}`\*\* [A-Z].{{20,}}\.$", page, re.MULTILINE), name
