"""The `demo` command: the whole story on people who were drawn from known equations, so nobody is real."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wayforward.cli.console import room_for, save_figure, say, table, write_json
from wayforward.cli.inputs import Inputs, Ready
from wayforward.cli.letters import kinds_for_people, write_letters
from wayforward.cli.personal import Personal, ask, lines
from wayforward.cli.personal import files as write_personal
from wayforward.cli.places import own_files
from wayforward.cli.recommend import choose, run, show, summarise
from wayforward.language import gettext, marks
from wayforward.plain_files import make_folder

if TYPE_CHECKING:
    from wayforward.evaluate import Evaluation
    from wayforward.recourse import Recourse

FILES = (
    "train.csv", "refused.csv", "three.csv", "wishes.csv", "options.csv", "schema.yaml", "world.yaml", "summary.json",
    "recourse.json", "report.html", "letters/*.txt", "figures/*.svg", "figures/*.png",
)  # fmt: skip
MODEL, METHOD, OPTIONS, LETTERS = "gb", "local-search", 3, 3


def demonstrate(out: Path, *, seed: int, n: int, json: Path | None) -> None:
    """Train, refuse, recommend, judge and explain; write everything to the folder `out`.

    Raises: FileFormatError where a file there would be overwritten that no demo wrote.
    """
    room_for(json)
    with own_files(out, FILES):
        _demonstrate(out, seed, n, json)


def _demonstrate(out: Path, seed: int, n: int, json: Path | None) -> None:
    from wayforward.answers.page import examples
    from wayforward.evaluate import evaluate

    started = time.perf_counter()
    say(
        gettext(
            "1. Draw people from a loan world whose equations are known, and train a model ({model}) to decide.",
            model=MODEL,
        )
    )
    question, ready = _question(out, seed, n)
    say(
        gettext(
            "2. Take {n} people whom it refuses, and look for up to {k} options for each.",
            n=marks(f"{len(ready.x):,}"), k=OPTIONS,
        )
    )  # fmt: skip
    got = run(ready, choose(METHOD, None), k=OPTIONS, seed=seed, question=question.plain(), room=0.05)
    say(gettext("3. Three people say what they cannot do. Plan for each with causes in mind, and without."))
    personal = ask(ready, METHOD, seed)
    say(gettext("4. Check every option again, measure, and write it down."))
    judged = evaluate(got, ready.problem)
    summary = summarise(got, ready, judged) | {"limits": personal.numbers}
    write_json(summary, out / "summary.json")
    _files(out, ready, got, judged, personal)
    chosen = list(dict.fromkeys([_person_to_show(got), *examples(got, LETTERS)]))[:LETTERS]
    first = write_letters(ready.problem, got, out / "letters", chosen)[0]
    write_personal(out, ready, personal)
    write_json(summary, json)
    if str(json) == "-":
        return
    say(f"\n{first}\n")
    for line in lines(personal):
        say(line)
    table(
        gettext("How often plans exist and work, by limits"), list(personal.counts[0]),
        [list(row.values()) for row in personal.counts],
    )  # fmt: skip
    show(summary, [])
    command = (
        f"wayforward recommend --train {out / 'train.csv'} --label granted --favourable 1 --schema "
        f"{out / 'schema.yaml'} --world {out / 'world.yaml'} --people {out / 'three.csv'} --preferences "
        f"{out / 'wishes.csv'} --report mine.html"
    )
    say(gettext("Ask for the three again, or for yourself: {command}", command=command))
    seconds = f"{time.perf_counter() - started:.0f}"
    page = out / "report.html"
    say(gettext("Open {page}. Everything is in {folder}/ after {n} s.", page=page, folder=out, n=seconds))
    say(gettext("For applicants, in a browser: pip install 'wayforward[web]', then wayforward serve"))


def _question(out: Path, seed: int, n: int) -> tuple[Inputs, Ready]:
    """Write the people as tables, as a user would have them, and go on from those files."""
    from wayforward.data import everyday, load

    schema = everyday.schema()
    train, test = load("loan").split(test=0.3, seed=seed)
    schema.to_yaml(out / "schema.yaml")
    everyday.world().to_yaml(out / "world.yaml")
    _csv(out / "train.csv", {**schema.decode(everyday.people(train), like="dict"), train.label: train.y})
    question = Inputs(
        train=out / "train.csv", label=train.label, favourable=("1",), schema=out / "schema.yaml",
        world=str(out / "world.yaml"), model=MODEL, seed=seed,
    )  # fmt: skip
    prepared = question.prepare()
    x = everyday.people(test)
    x = x[~prepared.problem.reached(x)[0]][:n]
    _csv(out / "refused.csv", schema.decode(x, like="dict"))
    question = replace(question, people=out / "refused.csv")
    return question, Ready(
        prepared.problem, x, None, prepared.title, prepared.seconds_train, files=prepared.files
    )


def _files(out: Path, ready: Ready, got: Recourse, judged: Evaluation, personal: Personal) -> None:
    from wayforward.answers import (
        figure_coverage,
        figure_options,
        figure_population,
        plans_table,
        report,
        write_csv,
    )

    report(
        ready.problem, got, out / "report.html", judged, title=gettext("Ways forward: a loan world of made-up people"),
        side_by_side=personal.stories, side_by_side_counts=personal.counts, kinds=kinds_for_people(ready.problem),
    )  # fmt: skip
    got.save(out / "recourse.json")
    write_csv(plans_table(got), out / "options.csv")
    figures = out / "figures"
    make_folder(figures)
    drawn = {
        "population": figure_population(got, judged, "gender"),
        "coverage": figure_coverage(judged),
        "person": figure_options(got, _person_to_show(got), ready.problem),
    }
    drawn |= {one.name.lower(): figure for one in personal.stories if (figure := one.figure()) is not None}
    for name, figure in drawn.items():
        save_figure(figure, figures / f"{name}.svg")
        figure.set_layout_engine(
            "none"
        )  # all stands where it should: laying it out again takes as long as drawing
        save_figure(figure, figures / f"{name}.png", dpi=160)


def _csv(path: Path, columns: dict[str, np.ndarray]) -> None:
    from wayforward.answers import write_csv

    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    write_csv([dict(zip(columns, row, strict=True)) for row in rows], path)


def _person_to_show(got: Recourse) -> int:
    """Somebody with a full set of options of middling cost: neither the easiest case nor the hardest."""
    full = np.flatnonzero(got.found.all(1))
    full = full if len(full) else np.flatnonzero(got.found[:, 0])
    return int(full[np.argsort(got.cost[full, 0], kind="stable")[len(full) // 2]]) if len(full) else 0
