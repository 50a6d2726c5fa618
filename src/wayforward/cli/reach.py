"""The `reach` command: is recourse possible at all, and how often does each feature alone turn the answer?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from wayforward.cli.console import left_out_note, room_for, table, write_json
from wayforward.cli.inputs import Inputs
from wayforward.language import marks

_VERDICTS = {
    "possible": "recourse is possible",
    "none_listed": "none: all within reach was judged",
    "none_proved": "none: proved for everything within reach",
    "open": "open",
    "accepted": "accepted already",
}


def look(question: Inputs, *, most: int, samples: int, json: Path | None) -> dict[str, Any]:
    """Do everything that `wayforward reach` does; return the numbers."""
    from wayforward.methods import recommend
    from wayforward.problem.responsiveness import responsiveness
    from wayforward.problem.verification import verify

    room_for(json)
    ready = question.ready()
    there = ready.read
    x = ready.x[there]
    wishes = ready.wishes_of(there)
    answer = recommend(ready.problem, x, method="local-search", preferences=wishes, seed=question.seed)
    got = verify(ready.problem, x, wishes, most, answer)
    refused = np.flatnonzero(got.verdict != "accepted")
    shares = responsiveness(
        ready.problem, x[refused], None if wishes is None else wishes.take(refused), samples
    )
    features = [
        {
            "feature": name,
            "people": int((shares.values[:, j] > 0).sum()),
            "mean_share": _mean(shares.share[:, j]),
            "responsive": int((shares.share[:, j] > 0).sum()),
            "exact": bool(shares.exact[shares.values[:, j] > 0, j].all()),
        }
        for j, name in enumerate(ready.problem.schema.names)
    ]
    numbers = {
        "people": len(there),
        "verdicts": got.counts(),
        "features": features,
        "certificates": [got.certificate(i) | {"person": int(there[i])} for i in range(len(there))],
    }
    write_json(numbers, json)
    if str(json) != "-":
        rows = [(_VERDICTS[name], f"{count:,}") for name, count in got.counts().items()]
        table(f"{len(there):,} people: is recourse possible at all?", ("verdict", "people"), rows)
        table(
            "acting on one feature alone: of its legal values, the share with a yes",
            ("feature", "people who can", "of them with a yes", "mean share", "known"),
            [
                (
                    one["feature"], f"{one['people']:,}", f"{one['responsive']:,}",
                    marks(f"{one['mean_share']:.1%}"), "exactly" if one["exact"] else "by draws",
                )
                for one in features
                if one["people"]
            ],
        )  # fmt: skip
        left_out_note(ready.reasons)
    return numbers


def _mean(share: np.ndarray) -> float | None:
    known = share[~np.isnan(share)]
    return float(known.mean()) if known.size else None
