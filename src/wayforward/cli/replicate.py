"""The `replicate` command: a paper's numbers beside ours, printed and written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from wayforward.cli.console import say, steps, table, write_json
from wayforward.errors import DataError

_PAPERS = ("icarma",)


def replicate(paper: str, *, cache: Path | None, json: Path | None, **asked: Any) -> bool:
    """Measure what was asked for, print it, write it. Returns False if a published line came out worse."""
    if paper not in _PAPERS:
        raise DataError(f"There is no replication of '{paper}'. Known: {', '.join(_PAPERS)}.")
    from wayforward.data.files import cache_folder
    from wayforward.replicate.icarma.run import Replication, Request
    from wayforward.replicate.icarma.tables import COLUMNS, cells

    request = Request(cache=cache_folder() / "replicate" if cache is None else cache, **asked)
    if request.n:
        say(f"note: a quick look at {request.n:,} people at most; its files are marked 'quick'.")
    work = Replication(request, steps)
    pages = []
    for what, number, dataset in request.pages:
        page = work.page(what, number, dataset)
        pages.append(page)
        if str(json) == "-":
            continue
        if page.table is not None:
            table(page.title, COLUMNS, [cells(line) for line in page.table.lines])
        else:
            typer.echo(page.title)
        if page.checks:
            table(
                "Findings",
                ("finding", "measured", "verdict"),
                [(c.name, c.measured, c.verdict) for c in page.checks],
            )
        say(f"written: {', '.join(page.files)}")
    write_json({"paper": paper, "pages": [page.to_dict() for page in pages]}, json)
    return all(page.table is None or not page.table.counts["worse"] for page in pages)
