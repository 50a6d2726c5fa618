"""The `replicate` command: a paper's numbers beside ours, printed and written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from wayforward.cli.console import say, steps, table, write_json
from wayforward.errors import DataError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

Json = Annotated[Path | None, typer.Option("--json", help="Write the numbers as JSON; '-' for the output.")]

#: What each paper's command understands beside --table, --dataset, --seeds, --n, --out and --cache.
_OPTIONS = {
    "icarma": ("figures", "fresh", "epochs", "seed"),
    "hare": ("classifiers", "bases", "extras"),
    "pear": ("seed",),
    "balanced": ("figures", "extras", "seed"),
}


def measure(paper: str, *, cache: Path | None, json: Path | None, **asked: Any) -> bool:
    """Measure what was asked for, print it, write it. Returns False if a published line came out worse.

    Raises: DataError for a paper that is not there, or an option that its replication does not have.
    """
    if paper not in _OPTIONS:
        raise DataError(f"There is no replication of '{paper}'. Known: {', '.join(_OPTIONS)}.")
    everywhere = ("tables", "datasets", "seeds", "n", "out")
    given = {name: value for name, value in asked.items() if value not in (None, (), False)}
    for name in given:
        if name not in (*everywhere, *_OPTIONS[paper]):
            option = name.removesuffix("s") if name != "bases" else "base"
            others = ", ".join(known for known, options in _OPTIONS.items() if name in options)
            raise DataError(
                f"--{option} is no option of the replication of {paper}, but of {others}. Leave it out."
            )
    from wayforward.data.files import cache_folder

    given["cache"] = cache_folder() / "replicate" if cache is None else cache
    return {"icarma": _icarma, "hare": _hare, "pear": _pear, "balanced": _balanced}[paper](given, json)


def _icarma(given: dict[str, Any], json: Path | None) -> bool:
    from wayforward_studies.icarma.run import Replication, Request
    from wayforward_studies.icarma.tables import COLUMNS, cells

    request = Request(**given)
    if request.n:
        say(f"note: a quick look at {request.n:,} people at most; its files are marked 'quick'.")
    work = Replication(request, steps)
    pages = []
    for what, number, dataset in request.pages:
        page = work.page(what, number, dataset)
        pages.append(page)
        rows = None if page.table is None else [cells(line) for line in page.table.lines]
        _told(page, COLUMNS, rows, json)
    return _finished("icarma", pages, json)


def _hare(given: dict[str, Any], json: Path | None) -> bool:
    from wayforward_studies.hare.run import Replication, Request
    from wayforward_studies.hare.tables import cells, columns, summary

    request = Request(**given)
    if request.quick:
        say(
            f"note: a quick look (people: {request.n}, seeds: {request.seeds}); its files are marked 'quick'."
        )
    work = Replication(request, steps)
    pages = []
    for name in request.pages:
        page = work.page(name)
        pages.append(page)
        one = page.table
        _told(page, columns(one), [cells(one, line) for line in one.lines], json, summary(one))
    return _finished("hare", pages, json)


def _pear(given: dict[str, Any], json: Path | None) -> bool:
    from wayforward_studies.pear.run import Replication, Request

    if given.pop("tables", ()):
        raise DataError("The replication of pear has one page. Leave --table out.")
    told = Replication(Request(**given), steps).run()
    if str(json) != "-":
        last = [line for line in told["lines"] if line["questions"] in (0, told["provenance"]["budget"])]
        shown = ("dataset", "setting", "questions", "least cost", "regret")
        rows = [[f"{v:.3f}" if isinstance(v, float) else str(v) for v in (r[c] for c in shown)] for r in last]
        table("PEAR: regret before and after the questions", shown, rows)
        found = [(c["name"], c["measured"], c["verdict"]) for c in told["findings"]]
        table("Findings", ("finding", "measured", "verdict"), found)
        say(f"written: {', '.join(told['files'])}")
    write_json(told, json)
    return all(c["verdict"] != "not as published" for c in told["findings"])


def _balanced(given: dict[str, Any], json: Path | None) -> bool:
    extras = given.pop("extras", ())
    further = _beyond_balanced(given, extras, json) if extras else []
    if extras and not given.get("tables") and not given.get("figures"):
        write_json({"paper": "balanced", "pages": [page.to_dict() for page in further]}, json)
        return all(c.verdict != "not met" for page in further for c in page.checks)
    from wayforward_studies.balanced.run import Replication, Request, rows

    request = Request(**given)
    if request.quick:
        say(f"note: a quick look at {request.n:,} people at most; its files are marked 'quick'.")
    work = Replication(request, steps)
    pages: list[Any] = []
    for make, numbers in ((work.table, request.tables), (work.figure, request.figures)):
        for number in numbers:
            page = make(number)
            pages.append(page)
            shown = ("setting", "method", "measure", "paper", "ours", "verdict")
            cells = [
                [
                    f"{v:.4f}" if isinstance(v, float) else str("" if v is None else v)
                    for v in (r[c] for c in shown)
                ]
                for r in rows(page.lines)
            ]
            _told(page, shown, cells or None, json)
    pages += further
    write_json({"paper": "balanced", "pages": [page.to_dict() for page in pages]}, json)
    return all(c.verdict not in ("not as published", "not met") for page in pages for c in page.checks)


def _beyond_balanced(given: dict[str, Any], extras: tuple[str, ...], json: Path | None) -> list[Any]:
    from wayforward_studies.balanced.beyond import Beyond, Request

    named = {name: value for name, value in given.items() if name not in ("tables", "figures")}
    request = Request(pages=extras, **named)
    if request.quick:
        say(
            f"note: a quick look (people: {request.n:,}, seeds: {request.seeds}); its files are marked 'quick'."
        )
    work, pages = Beyond(request, steps), []
    for name in request.pages:
        pages.append(work.page(name))
        _told(pages[-1], (), None, json)  # its tables are wide: they stand in its files
    return pages


def _told(page: Any, columns: Any, rows: Any, json: Path | None, more: str = "") -> None:
    if str(json) == "-":
        return
    if rows is None:
        typer.echo(page.title)
    else:
        table(page.title, columns, rows)
    if more:
        typer.echo(more)
    if page.checks:
        found = [(c.name, c.measured, c.verdict) for c in page.checks]
        table("Findings", ("finding", "measured", "verdict"), found)
    say(f"written: {', '.join(page.files)}")


def _finished(paper: str, pages: list[Any], json: Path | None) -> bool:
    write_json({"paper": paper, "pages": [page.to_dict() for page in pages]}, json)
    return all(page.table is None or not page.table.counts["worse"] for page in pages)


@app.command()
def command(
    paper: Annotated[str, typer.Argument(help="The paper: icarma, hare, pear or balanced.")] = "icarma",
    tables: Annotated[
        list[int] | None,
        typer.Option(
            "--table",
            help="icarma: 1, 2, 3, 5, 6; hare, balanced: 1 to 6; repeat. Nothing named: everything.",
        ),
    ] = None,
    figures: Annotated[
        list[int] | None, typer.Option("--figure", help="icarma: 3, 4 or 8; balanced: 1 or 2; repeat.")
    ] = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset",
            help="icarma: loan, gmsc; hare: adult, compas, gmsc; pear: adult, gmsc; balanced: compas-race and "
            "-sex, law-race and -sex, german-sex, gmc-age; repeat.",
        ),
    ] = None,
    classifiers: Annotated[
        list[str] | None, typer.Option("--classifier", help="hare only: ann or lr; repeat.")
    ] = None,
    bases: Annotated[
        list[str] | None, typer.Option("--base", help="hare only: the base method; repeat.")
    ] = None,
    extras: Annotated[
        list[str] | None,
        typer.Option(
            "--extra",
            help="Beyond the paper; hare: printed, percentiles, strict-face, learned, noise, ensembles, causal; "
            "balanced: options, compliance, groups, limits; or all; repeat.",
        ),
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="icarma only: Loan on people drawn anew, not on the released ones."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The folder to write to. Left out: docs/replication/ and the paper."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            min=1,
            help="icarma: 10, of its training; hare, balanced 5 (3 with --extra), pear 3: of everything.",
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", min=1, help="Of iCARMA. Left out: as the paper prints them.")
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", min=1, help="At most this many people: a quick look, marked as such.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="One whole number that fixes every random choice.")] = 0,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", help="Where finished stages are kept. Left out: the user's cache."),
    ] = None,
    json: Json = None,
) -> None:
    """Measure a paper's tables and figures again: paper beside ours, with tolerances and a verdict."""
    measure(
        paper, tables=tuple(tables or ()), figures=tuple(figures or ()), datasets=tuple(datasets or ()),
        classifiers=tuple(classifiers or ()), bases=tuple(bases or ()), extras=tuple(extras or ()), fresh=fresh,
        out=out, seeds=seeds, epochs=epochs, n=n, seed=seed or None, cache=cache, json=json,
    )  # fmt: skip
