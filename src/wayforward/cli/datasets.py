"""The `datasets` command."""

from __future__ import annotations

from pathlib import Path

from wayforward.cli.console import table, tell, write_json


def listing(json: Path | None) -> None:
    """All data sets: size, what people want, sensitive attributes, terms, whether the files are at hand."""
    from wayforward.data import available, catalogue

    entries = catalogue()
    rows = [
        {
            "name": e.name,
            "title": e.title,
            "rows": e.rows,
            "favourable": e.favourable,
            "sensitive": list(e.sensitive),
            "actionability": list(e.acts),
            "variants": list(e.variants),
            "terms": e.source.terms,
            "url": e.source.url,
            "at_hand": available(e.name),
        }
        for e in entries
    ]
    write_json(rows, json)
    if str(json) != "-":
        cells = [
            (
                e.name,
                f"{e.rows:,}",
                e.favourable,
                ", ".join(e.sensitive),
                "yes" if r["at_hand"] else "no",
                e.title,
            )
            for e, r in zip(entries, rows, strict=True)
        ]
        table("", ("name", "rows", "favourable", "sensitive", "at hand", "what"), cells)


def card(name: str, json: Path | None) -> None:
    """The data card of one data set, in Markdown."""
    from wayforward.data import load

    found = load(name)
    if str(json) != "-":
        tell(found.card())
    write_json(
        {
            "name": found.name,
            "n": found.n,
            "d": found.d,
            "schema": found.schema.to_dict(),
            "card": found.card(),
        },
        json,
    )
