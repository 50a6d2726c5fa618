"""Data cards: what a table is, what was done to it, and what to watch, in markdown.

``python -m wayforward.data.cards docs/datasets.md`` writes the page of all cards.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wayforward.schema import Feature

if TYPE_CHECKING:
    from wayforward.data.dataset import Acts, Dataset

_WORDS = {"I": "fixed", "M": "follows", "A": "either way", "A+": "only up", "A-": "only down"}


def _range(feature: Feature) -> str:
    if feature.has_levels:
        shown = [feature.level_text(i) for i in range(min(feature.n_levels, 6))]
        more = f", ... ({feature.n_levels} levels)" if feature.n_levels > 6 else ""
        return ("; ".join(shown) + more).replace("|", "/")
    return f"{feature.low:,.10g} to {feature.high:,.10g} {feature.unit}".rstrip()


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _differences(acts: Acts, base: Acts) -> str:
    changed = [f"`{name}` {_WORDS[mark]}" for name, mark in acts.marks.items() if base.marks[name] != mark]
    return "; ".join(changed) or "the same features"


def card(data: Dataset) -> str:
    """The data card of one data set, in markdown; it holds no person's row."""
    share = float(data.is_favourable.mean())
    base = data.acts["recommended"]
    chosen = f" (variant {'+'.join(data.variant)})" if data.variant else ""
    lines = [
        f"## {data.name}: {data.title}{chosen}",
        "",
        f"{data.n:,} people, {data.d} features; {share:.1%} have the favourable label.",
        "",
        f"- Source: {data.source.origin}",
        f"- Cite: {data.source.citation}",
        f"- Terms: {data.source.terms}",
        f"- Home: <{data.source.url}>",
    ]
    if data.task == "classification":
        words = "; ".join(f"{value}: {text}" for value, text in data.label_text.items())
        lines.append(f"- Label `{data.label}`: {words}. 1 is favourable.")
    else:
        low, high = data.favourable if isinstance(data.favourable, tuple) else (0.0, 0.0)
        lines.append(f"- Label `{data.label}`: a number; favourable above {low:g} up to {high:g}.")
    lines.append(f"- Sensitive: {', '.join(f'`{name}`' for name in data.sensitive)}")
    if data.fold is not None:
        sizes = ", ".join(f"{name} {int((data.fold == i).sum()):,}" for i, name in enumerate(data.fold_names))
        lines.append(f"- Published split: {sizes}")
    if data.graph:
        lines.append(f"- Causal graph: {', '.join(f'{a} -> {b}' for a, b in data.graph)}")
    lines += ["", "What was done to the rows:", ""]
    before = data.steps[0].rows
    for step in data.steps:
        lost = f" ({step.rows - before:+,})" if step.rows != before else ""
        lines.append(f"1. {step.what}: {step.rows:,} rows{lost}")
        before = step.rows
    lines += ["", "Choices and traps:", "", *(f"- {note}" for note in data.notes)]
    lines += [f"- Dropped `{name}`: {why}." for name, why in data.dropped.items()]
    lines += ["", f"Features (actionability set '{data.actionability}'):", ""]
    rows = []
    for feature in data.schema.features:
        mark = data.acts[data.actionability].marks[feature.name]
        gaps = "; may be missing" if feature.missing else ""
        rows.append(
            (f"`{feature.name}`", feature.text_label, feature.kind, _range(feature) + gaps, _WORDS[mark])
        )
    lines += _table(("feature", "label", "kind", "values", "may change"), rows)
    for rule in data.schema.rules:
        lines += ["", f"Rule: `{rule}`"]
    lines += ["", "Actionability sets, and where they differ from 'recommended':", ""]
    for name, acts in data.acts.items():
        differs = "" if name == "recommended" else f" Differs: {_differences(acts, base)}."
        lines.append(f"- `{name}`: {acts.source}{differs}")
    return "\n".join(lines) + "\n"


def page(path: str | None = None) -> str:
    """The cards of all data sets, each in its default form, as one markdown page."""
    from wayforward.data import catalogue, load

    parts = [
        "# Data sets\n",
        '`wayforward.datasets.load(name)` gives the table below; `load("name:variant")` or `load(name, '
        'variant="a+b")` another form. Files are looked for in the `path` argument, in the folders that '
        "`WAYFORWARD_DATA` lists, in the user's cache, and are then fetched from their public home where "
        "the terms "
        "allow it; their content is checked against a known sha256. `loan` needs no file.\n",
        "In every table 1 is the favourable label. 'fixed' is immutable, 'follows' changes only as a "
        "consequence.\n",
        "This page is written by `python -m wayforward.data.cards docs/datasets.md`.\n",
    ]
    for entry in catalogue():
        text = load(entry.name, path=path).card()
        words = "".join(f"- `{word}`: {what}\n" for word, what in entry.variants.items())
        parts.append(text + (f"\nVariants:\n\n{words}" if words else ""))
    return "\n".join(parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
