"""The `recheck` command: which plans still hold after the model has changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayforward.cli.console import room_for, say, steps, table, write_json
from wayforward.cli.evaluate import question_of
from wayforward.recourse import Recourse

if TYPE_CHECKING:
    from wayforward.evaluate.rechecked import Rechecked


def run(path: Path, *, changes: dict[str, Any], csv: Path | None, json: Path | None) -> Rechecked:
    """Read answers, rebuild their problem with the changes given, and judge every plan again."""
    from wayforward.answers import write_csv
    from wayforward.evaluate.rechecked import Still
    from wayforward.scale import Answers
    from wayforward.scale.rechecking import recheck

    room_for(json)
    room_for(csv, (".csv",))
    given = {name: value for name, value in changes.items() if value is not None}
    answers: Answers | Recourse
    if path.is_dir():
        answers = Answers.open(path)
        question, n = answers.manifest.get("note") or {}, len(answers.entries())
    else:
        answers = Recourse.load(path)
        question, n = answers.meta.get("question") or {}, 1
    problem = question_of(path, question, given).prepare(answers.schema).problem
    with steps("judging", n) as progress:
        found = recheck(answers, problem, lambda done, _: progress(done))
    if csv is not None:
        columns = found.to_frame("dict")
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        write_csv([dict(zip(columns, row, strict=True)) for row in rows], csv)
    counts = found.counts()
    write_json(counts | {"method": found.answers.method, "target": problem.target.describe()}, json)
    if str(json) == "-":
        return found
    lines = [
        ("people with a plan", f"{counts['people_with_a_plan']:,} of {counts['people']:,}"),
        ("still have one", f"{counts['still_have_one']:,} (the first of theirs: {counts['first_holds']:,})"),
        ("lost all", f"{counts['lost_all']:,}"),
        ("accepted now as they are", f"{counts['accepted_now']:,}"),
        ("were accepted, refused now", f"{counts['refused_now']:,}"),
    ]
    if counts["lead_elsewhere"]:
        lines.append(("plans that lead elsewhere in this world", f"{counts['lead_elsewhere']:,}"))
    lines += [(f"plans: {one.value}", f"{counts['options'][one.name]:,}") for one in Still]
    table(f"{found.answers.method}, judged again", ("", ""), lines)
    for file in (csv, json):
        if file is not None:
            say(f"written: {file}")
    return found
