"""The `reasons` command: what keeps a no a no, whatever else a person does, and whom it is proved of."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.cli.console import room_for, say, table, write_json
from wayforward.cli.inputs import Inputs
from wayforward.language import gettext, use_language

_LISTED = 10  # sets of features on the screen


def look(
    question: Inputs, *, most: int, json: Path | None, report: Path | None, language: str | None
) -> dict[str, Any]:
    """Do everything that `wayforward reasons` does; return the numbers."""
    from wayforward.answers.reason_set_text import reason_set_lines
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
            "words": reason_set_lines(schema, found[i], language),
        }
        for i in refused
    ]
    numbers = {
        "people": len(there),
        "refused": len(refused),
        "exact": sum(found[i].exact for i in refused),
        "complete": sum(found[i].complete for i in refused),
        "reasons_of": people,
    }
    write_json(numbers, json)
    if report is not None:
        from wayforward.answers import report as write_report

        with use_language(language):
            title = gettext("Ways forward: {what}", what=ready.title)
        write_report(ready.problem, answer, report, title=title, keeping=found, language=language)
    if str(json) != "-":
        count = Counter(" and ".join(one) or "(nothing helps)" for who in people for one in who["reasons"])  # type: ignore[attr-defined]
        table(
            f"{len(refused):,} refused: as long as these stay as they are, nothing else turns the answer",
            ("features", "people"),
            [(names, f"{n:,}") for names, n in count.most_common(_LISTED)],
        )
        say(
            f"Proved to be reasons, and the smallest, of {numbers['exact']:,} of {len(refused):,} people; of "
            f"{numbers['complete']:,} these are all there are."
        )
        for who in people[:_LISTED]:
            for text in who["words"]:  # type: ignore[attr-defined]
                say(f"{who['person']}: {text}")
        if len(people) > _LISTED:
            say(f"... and {len(people) - _LISTED:,} more people: --json holds them all.")
        if report is not None:
            say(f"written: {report}")
        if ready.reasons:
            say(f"note: {len(ready.reasons):,} people could not be read and are left out.")
    return numbers
