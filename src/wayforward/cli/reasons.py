"""The `reasons` command: what keeps a no a no, whatever else a person does, and whom it is proved of."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.cli.console import left_out_note, room_for, say, table, write_json
from wayforward.cli.inputs import Inputs
from wayforward.language import gettext, marks, ngettext, use_language

_LISTED = 10  # sets of features on the screen


def look(
    question: Inputs, *, most: int, json: Path | None, report: Path | None, language: str | None
) -> dict[str, Any]:
    """Do everything that `wayforward reasons` does; return the numbers. language: of all that is written."""
    with use_language(language):
        return _look(question, most, json, report)


def _look(question: Inputs, most: int, json: Path | None, report: Path | None) -> dict[str, Any]:
    from wayforward.answers.reason_set_text import reason_set_lines
    from wayforward.answers.words import join
    from wayforward.methods import recommend
    from wayforward.methods.reason_sets import reason_sets

    room_for(json)
    room_for(report, (".html",))
    ready = question.ready()
    there = ready.read
    wishes = ready.wishes_of(there)
    answer = recommend(
        ready.problem, ready.x[there], method="local-search", k=3, preferences=wishes, seed=question.seed
    )
    schema, found = ready.problem.schema, reason_sets(answer, most)
    refused = np.flatnonzero(answer.refused).tolist()
    people = [
        {
            "person": int(there[i]),
            "reasons": [[schema.names[j] for j in one] for one in found[i].sets],
            "exact": found[i].exact,
            "complete": found[i].complete,
            "words": reason_set_lines(schema, found[i]),
        }
        for i in refused
    ]
    numbers: dict[str, Any] = {
        "people": len(there),
        "refused": len(refused),
        "exact": sum(found[i].exact for i in refused),
        "complete": sum(found[i].complete for i in refused),
        "reasons_of": people,
    }
    write_json(numbers, json)
    if report is not None:
        from wayforward.answers import report as write_report

        title = gettext("Ways forward: {what}", what=ready.title)
        write_report(ready.problem, answer, report, title=title, keeping=found)
    if str(json) != "-":
        nothing = gettext("(nothing helps)")
        count = Counter(join(one) or nothing for who in people for one in who["reasons"])  # type: ignore[attr-defined]
        table(
            ngettext(
                "{n} refused: as long as this stays as it is, nothing else turns the answer",
                "{n} refused: as long as these stay as they are, nothing else turns the answer",
                len(refused),
            ),
            (gettext("features"), gettext("people")),
            [(names, _count(n)) for names, n in count.most_common(_LISTED)],
        )
        say(
            gettext(
                "Proved to be reasons, and the smallest, for {exact} of {n} people; for {complete} these are all there "
                "are.",
                exact=_count(numbers["exact"]), n=_count(len(refused)), complete=_count(numbers["complete"]),
            )
        )  # fmt: skip
        for who in people[:_LISTED]:
            for text in who["words"]:  # type: ignore[attr-defined]
                say(f"{who['person']}: {text}")
        more = len(people) - _LISTED
        if more > 0:
            say(
                ngettext(
                    "... and {n} more person: --json holds all.",
                    "... and {n} more people: --json holds all.",
                    more,
                )
            )
        if report is not None:
            say(gettext("written: {file}", file=report))
        left_out_note(ready.reasons)
    return numbers


def _count(n: int) -> str:
    return marks(f"{n:,}")
