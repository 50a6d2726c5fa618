"""What keeps plans away from wishes: the part of the GTP that asking cannot move, and the part that it can.

A cause of worse numbers, tested: around C-CHVAE and CRUDS on Adult the base's binaries, around FACE its immutables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from wayforward_studies.hare.published import BASE, HARE, MULTI, Asking, HareCase, rows
from wayforward_studies.hare.study import HareStudy
from wayforward_studies.hare.tables import NAMES
from wayforward_studies.pages import Line, Row, Table

#: Lines whose GTP is worse than the paper's, with what is taken out of the distance.
ASKED: tuple[tuple[HareCase, Asking, str], ...] = (
    *((HareCase("adult", "c-chvae"), way, "binaries") for way in (BASE, MULTI, MULTI.kept)),
    *((HareCase("adult", "cruds"), way, "binaries") for way in (BASE, MULTI, MULTI.kept)),
    *(
        (HareCase("adult", base, "lr"), way, "binaries")
        for base in ("c-chvae", "cruds")
        for way in (BASE, MULTI)
    ),
    *((HareCase(d, "face", scale="near"), HARE.kept, "immutables") for d in ("adult", "compas", "gmsc")),
    (HareCase("adult", "face"), MULTI.kept, "immutables"),
    *((HareCase(d, "face", scale="near"), MULTI, "immutables") for d in ("adult", "compas", "gmsc")),
    *((HareCase(d, "face", scale="intermediate"), MULTI, "immutables") for d in ("adult", "compas")),
    (HareCase("adult", "face"), MULTI, "immutables"),
    (HareCase("adult", "face", "lr"), MULTI, "immutables"),
    *((HareCase("compas", "face", "lr"), way, "immutables") for way in (HARE, MULTI)),
)


def measured(study: Callable[[str, str, int], HareStudy], seeds: Sequence[int]) -> tuple[Row, ...]:
    """A row for each line, the seeds together; study: gives that of a data set, classifier and seed."""
    groups = dict.fromkeys((case.dataset, case.classifier) for case, _, _ in ASKED)
    made = {(*group, k): study(*group, k) for group in groups for k in seeds}
    out: list[Row] = []
    for case, way, without in ASKED:
        got = [parts(made[case.dataset, case.classifier, k], case, way, without) for k in seeds]
        stated = (
            r.stated["gtp"].mean for n in (1, 6) for r in rows(n) if (r.case, r.way) == (case, way.printed)
        )
        total, rest, moved = np.mean(got, axis=0)
        out.append(
            {
                "dataset": case.dataset, "classifier": case.classifier, "base": case.base, "scale": case.scale,
                "asked": str(way), "without": without,
                "paper": next(stated, None), "gtp": float(total), "gtp without": float(rest), "moved": float(moved),
            }
        )  # fmt: skip
    return tuple(out)


def table(lines: Sequence[Row]) -> Table:
    """The lines with what is taken out."""
    shown = tuple(
        Line(
            (
                f"{row['dataset']}, {row['classifier'].upper()}, {row['scale']}", NAMES[row["base"]], row["asked"],
                "–" if row["paper"] is None else f"{row['paper']:.2f}", f"{row['gtp']:.2f}", row["without"],
                f"{row['gtp without']:.2f}", f"{row['moved']:.2f}",
            )
        )
        for row in lines
    )  # fmt: skip
    return Table(
        ("data", "base", "asked", "paper", "GTP", "taken out", "GTP without", "moved by the plan"), shown
    )


def parts(study: HareStudy, case: HareCase, way: Asking, without: str) -> tuple[float, float, float]:
    """The mean GTP, the same without binaries or immutables, and how many of those the plan moves."""
    after, wanted = study.ends(case, way), study.wanted(case)
    schema = study.setting.problem.schema
    out = np.asarray(schema.has_levels if without == "binaries" else schema.immutable)
    gap = after - wanted
    moved = np.abs(after - study.setting.x)[:, out] > 1e-9
    found = ~np.isnan(after).any(1)
    return (
        float(np.sqrt((gap[found] ** 2).sum(1)).mean()),
        float(np.sqrt((gap[found][:, ~out] ** 2).sum(1)).mean()),
        float(moved[found].sum(1).mean()),
    )


TITLE = "Why GTPs are worse: what asking cannot move"
INTRO = (
    "Lines of Tables 1 and 6 whose GTP is worse than the paper's, with the distance to the wish split: without the "
    "binaries that the base changed (wishes differ in numbers only), or without the immutables that FACE changed. "
    "Where the rest is at or below the paper's GTP, those are the cause. *moved*: how many of them a plan changes."
)
