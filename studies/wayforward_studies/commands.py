"""The `replicate` command: a paper's numbers beside ours, printed and written."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from wayforward.cli.console import Commanding, say, steps, table, write_json
from wayforward.errors import DataError
from wayforward.plain_files import make_folder
from wayforward.streams import generator
from wayforward_studies.pages import Page, read_from, stem
from wayforward_studies.replication import Replication, Request, known

app = Commanding(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

Json = Annotated[Path | None, typer.Option("--json", help="Write the numbers as JSON; '-' for the output.")]

#: Paper -> module and start of the names of its request and its replication; what `--extra` alone asks for, after it.
STUDIES: dict[str, tuple[tuple[str, str], ...]] = {
    "icarma": (("icarma.run", "Icarma"), ("icarma.tried", "Tried"), ("icarma.laws", "Laws")),
    "hare": (("hare.run", "Hare"),),
    "pear": (("pear.run", "Pear"),),
    "balanced": (
        ("balanced.run", "Balanced"),
        ("balanced.beyond", "Beyond"),
        ("balanced.as_run", "AsRun"),
        ("balanced.as_run_tables", "AsRunTables"),
        ("balanced.one_place", "OnePlace"),
        ("balanced.changed", "Changed"),
        ("balanced.changed", "Tried"),
    ),
    "study": (("study.run", "Study"),),
    "mint": (("mint.run", "Mint"),),
    "originals": (("firsts.run", "Originals"),),
    "machines": (("machines.run", "Machines"),),
}


def parts(paper: str) -> list[tuple[type[Request], type[Replication]]]:
    """Requests and replications of a paper."""
    modules = [(import_module(f"wayforward_studies.{module}"), name) for module, name in STUDIES[paper]]
    return [(getattr(m, f"{name}Request"), getattr(m, f"{name}Replication")) for m, name in modules]


def _options(paper: str) -> set[str]:
    return {field.name for request, _ in parts(paper) for field in fields(request)}


def works(paper: str, options: dict[str, Any]) -> list[Replication]:
    """The replications that measure what was asked for; options without a value are left out.

    Raises: DataError for a paper that is not there, or an option that its replication does not have.
    """
    if paper not in STUDIES:
        raise DataError(f"There is no replication of '{paper}'. Known: {', '.join(STUDIES)}.")
    generator(options.get("seed") or 0)  # nothing is measured before somebody says that it is none
    given = {name: value for name, value in options.items() if value not in (None, (), False)}
    for name in given:
        if name not in _options(paper):
            option = name.removesuffix("s") if name != "bases" else "base"
            others = ", ".join(other for other in STUDIES if name in _options(other))
            raise DataError(
                f"--{option} is no option of the replication of {paper}, but of {others}. Leave it out."
            )
    wanted = parts(paper)
    extras: tuple[str, ...] = given.get("extras", ())
    if len(wanted) > 1:  # the paper's own pages, and those beyond it
        pages = [page for _, work in wanted for page in work.extra_pages]
        known("extra page", extras, (*pages, "all"))
        if "all" in extras:  # what lies beyond the paper; the others have people of their own
            extras = tuple(dict.fromkeys((*wanted[1][1].extra_pages, *(e for e in extras if e != "all"))))
        own = {"tables", "figures"} & given.keys() or not extras
        beyond = [part for part in wanted[1:] if _of(part[1], extras)]
        wanted = [*beyond, *(wanted[:1] if own else ())]
    out = []
    for request, replication in wanted:
        names = {field.name for field in fields(request)}
        mine = {n: v for n, v in given.items() if n in names}
        if replication.extra_pages:
            mine["extras"] = _of(replication, extras)
        out.append(replication(request(**mine), steps))
    return out


def _of(work: type[Replication], extras: tuple[str, ...]) -> tuple[str, ...]:
    """The extra pages that were asked for and that a replication measures."""
    return tuple(e for e in extras if e in work.extra_pages)


def show(page: Page, work: type[Replication]) -> None:
    """Print a page."""
    columns, rows = work.console(page)
    if rows:
        table(page.title, columns, rows)
    else:
        typer.echo(page.title)
    if page.summary:
        typer.echo(page.summary)
    if page.checks:
        found = [(c.name, c.measured, c.verdict) for c in page.checks]
        table("Findings", ("finding", "measured", "verdict"), found)
    say(f"written: {', '.join(page.files)}")


def render(paper: str, out: Path | None) -> list[tuple[Page, type[Replication]]]:
    """Write every page of a folder again from its JSON, nothing measured. Raises: DataError where there is none."""
    folder = out or Path("docs/replication") / paper
    files = _files(paper, folder)
    if not files:
        raise DataError(
            f"There is no page of '{paper}' in {folder}. Name its folder with --out, or measure first."
        )
    return [(work.render(file), work) for file, work in files]


def _files(paper: str, folder: Path) -> list[tuple[Path, type[Replication]]]:
    """The JSON of every page of a paper in a folder, and what lays it out."""
    found = [work for _, work in parts(paper)] if paper in STUDIES else []
    return [
        (file, next((w for w in found if stem(file.stem) in w.extra_pages), found[0]))
        for file in (sorted(folder.glob("*.json")) if found else ())
    ]


def overview(out: Path) -> Page:
    """Count what all pages in a folder of papers say, and write one page of it. Raises: DataError, FileFormatError."""
    from wayforward_studies.overview import made

    pages = []
    for paper in STUDIES:
        for file, work in _files(paper, out / paper):
            with read_from(file):
                pages.append(work.laid_out(Page.read(file)))
    page = made(pages, str(out))
    page.write(out)
    return page


@app.command()
def command(
    paper: Annotated[
        str,
        typer.Argument(
            help="The paper: icarma, hare, pear, balanced, study or mint; originals: tables of papers that first "
            "described methods; machines: small tables under other machines' kernels; overview: counts of all pages."
        ),
    ] = "icarma",
    tables: Annotated[
        list[int] | None,
        typer.Option(
            "--table",
            help="icarma: 1, 2, 3, 5, 6; hare, balanced: 1 to 6; repeat. Nothing named: everything.",
        ),
    ] = None,
    figures: Annotated[
        list[int] | None, typer.Option("--figure", help="icarma: 3, 4, 7 or 8; balanced: 1 or 2; repeat.")
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
            help="Beyond the paper; hare: printed, parts, steps, direction, between, brief, near, alike, one-change, "
            "together, percentiles, strict-face, learned, noise, ensembles, causal; "
            "balanced: options, compliance, groups, limits, or all; as-run, as-run-tables, one-place, changed, "
            "changed-few; "
            "icarma: tried, tried-flow, tried-gmsc, rankings, profiles; "
            "originals: roar, mace, globe-ce, probe; repeat.",
        ),
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="icarma only: Loan on people drawn anew, not on the released ones."),
    ] = False,
    released: Annotated[
        bool,
        typer.Option(
            "--released",
            help="icarma only: the oracle's lines with the classifier that CARMA's authors released.",
        ),
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
            help="icarma: 10, of its training; hare, balanced 5 (3 with --extra; as-run 20), pear 3: of everything; "
            "study: 40 studies; mint: 3 splits; originals: 5.",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option("--epochs", min=1, help="Of iCARMA. Left out: those of the study (index.md)."),
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", min=1, help="At most this many people: a quick look, marked as such.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="One whole number that fixes every random choice.")] = 0,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", help="Where finished stages are kept. Left out: the user's cache."),
    ] = None,
    from_json: Annotated[
        bool,
        typer.Option(
            "--render", help="Write the pages in the folder again from their JSON; nothing is measured."
        ),
    ] = False,
    json: Json = None,
) -> None:
    """Measure a paper's tables and figures again: paper beside ours, with tolerances and a verdict."""
    if paper == "overview":
        page = overview(out or Path("docs/replication"))
        say(f"written: {', '.join(page.files)}")
        write_json({"paper": paper, "pages": [page.to_dict()]}, json)
        return
    if from_json:
        pages = render(paper, out)
    else:
        from wayforward.data.files import cache_folder

        options = {
            "tables": tuple(tables or ()), "figures": tuple(figures or ()), "datasets": tuple(datasets or ()),
            "classifiers": tuple(classifiers or ()), "bases": tuple(bases or ()), "extras": tuple(extras or ()),
            "fresh": fresh, "released": released, "out": out, "seeds": seeds, "epochs": epochs, "n": n,
            "seed": seed or None, "cache": cache_folder() / "replicate" if cache is None else cache,
        }  # fmt: skip
        pages = []
        asked = works(paper, options)
        for folder in [work.request.out for work in asked] + [options["cache"]]:
            make_folder(folder)  # nor is it measured for hours before somebody says that it cannot be written
        for work in asked:
            if work.request.quick:
                say("note: a quick look at few people or seeds; its files are marked 'quick'.")
            for name in work.request.pages:
                pages.append((work.page(name), type(work)))
                if str(json) != "-":
                    show(*pages[-1])
    if from_json and str(json) != "-":
        say(
            f"written: {', '.join(name for page, _ in pages for name in page.files if name not in page.figures)}"
        )
    write_json({"paper": paper, "pages": [page.to_dict() for page, _ in pages]}, json)
