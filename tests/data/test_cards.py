"""The page of data cards is what the code writes today."""

from __future__ import annotations

from pathlib import Path

import pytest

import wayforward.data as datasets
from wayforward.data.cards import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "datasets.md"


def test_the_page_is_true():
    for name in datasets.names():
        if not datasets.available(name):
            pytest.skip(f"the raw files of {name} are not here")
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "docs/datasets.md is out of date: python -m wayforward.data.cards docs/datasets.md"
    )


def test_the_page_names_every_set_and_variant():
    text = PAGE.read_text(encoding="utf-8")
    for entry in datasets.catalogue():
        assert f"## {entry.name}: {entry.title}" in text
        for word in entry.variants:
            assert f"- `{word}`: " in text
