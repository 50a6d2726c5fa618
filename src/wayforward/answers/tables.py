"""Answers as tables: one person's options side by side, everybody's options in rows, CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.errors import require_switch
from wayforward.language import N_, gettext, visible
from wayforward.plain_files import as_path, written
from wayforward.public import public
from wayforward.recourse import Recourse

if TYPE_CHECKING:
    from wayforward.evaluate import Evaluation

_CAME_ABOUT = {
    "up": N_("{value} (up)"), "down": N_("{value} (down)"), "changed": N_("{value} (changed)"),
    "kept": N_("{value} (kept)"),
}  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@public
def options_table(recourse: Recourse, i: int, changed_only: bool = True) -> list[dict[str, str]]:
    """Person i's options side by side: one row a feature, in words with units.

    Columns: "feature", "now", then "option 1" and so on; a cell says the value and how it came about, such as
    "2,050 EUR (up)" or "4 (follows)". With `changed_only` features that no option touches are left out.
    """
    require_switch(changed_only, "changed_only")
    schema, one = recourse.schema, recourse[int(i)].rounded
    found = np.flatnonzero(one.found[0])
    rows = []
    for j, feature in enumerate(schema.features):
        if changed_only and not one.changed[0, found, j].any():
            continue
        row = {"feature": feature.text_label, "now": words.own_text(feature, one.x[0, j])}
        for place, o in enumerate(found):
            row[f"option {place + 1}"] = cell(one, 0, int(o), j)
        rows.append(row)
    return rows


def cell(recourse: Recourse, i: int, option: int, j: int) -> str:
    """One value after acting, in words, and how it came about: up, down, changed, follows or same."""
    feature = recourse.schema.features[j]
    before, after = recourse.x[i, j], recourse.after[i, option, j]
    if not recourse.changed[i, option, j]:
        return gettext("same")
    text = words.before_after(feature, before, after)[1]
    if np.isnan(recourse.action[i, option, j]):
        return gettext("{value} (follows)", value=words.now_text(feature, after))
    return gettext(_CAME_ABOUT[words.sign(feature, before, after)], value=text)


@public
def plans_table(recourse: Recourse) -> list[dict[str, Any]]:
    """Everybody's options, a row for each: person, option, outcome, cost with the person's own weights and without,
    score, margin (`Recourse.margin`), gap (`Recourse.gap`), plan in words."""
    from wayforward.answers.text import amiss, consequences, outcome_text, steps

    rows, recourse, kinds = [], recourse.rounded, bool((recourse.kind != "").any())
    near, proved = bool(np.isfinite(recourse.margin).any()), bool(np.isfinite(recourse.bound).any())
    for i in range(recourse.n):
        for o in range(recourse.k):
            found = bool(recourse.found[i, o])
            if o > 0 and not found:
                continue  # an empty further slot says nothing that the first row does not say
            plan = " ".join([*steps(recourse, i, o), *consequences(recourse, i, o)]) if found else ""
            rows.append(
                {
                    "person": i,
                    "option": o + 1,
                    "outcome": recourse.outcome[i, o].name,
                    "cost": float(recourse.cost[i, o]),
                    "plain_cost": float(recourse.plain_cost[i, o]),
                    "score": float(recourse.score[i, o]),
                    **({"margin": float(recourse.margin[i, o])} if near else {}),
                    **({"gap": float(recourse.gap[i, o])} if proved else {}),
                    **({"kind": recourse.kind[i, o], "lasts": float(recourse.lasts[i, o])} if kinds else {}),
                    "plan": plan or " ".join([outcome_text(recourse.outcome[i, o]), *amiss(recourse[i])]),
                }
            )
    return rows


@public
def write_csv(rows: list[dict[str, Any]], path: str | Path) -> Path:
    """Write rows of equal keys to a CSV file that a spreadsheet can open safely.

    A text that would be read as a formula gets an apostrophe in front, and what only a terminal obeys is left out
    (`language.visible`); NaN and infinity become empty cells.
    """
    path = as_path(path)
    with written(path) as half:
        half.write_text(csv_text(rows), encoding="utf-8", newline="")
    return path


def csv_text(rows: list[dict[str, Any]]) -> str:
    """Rows of equal keys as the text of such a file."""
    file = io.StringIO()
    writer = csv.DictWriter(
        file, fieldnames=list(dict.fromkeys(name for row in rows for name in row)), restval=""
    )
    writer.writeheader()
    writer.writerows({name: _safe(value) for name, value in row.items()} for row in rows)
    return file.getvalue()


@public
def features_asked(recourse: Recourse) -> list[dict[str, Any]]:
    """How often the first options ask for each feature, most asked first: feature, asked, share, up, down."""
    schema, has = recourse.schema, recourse.found[:, 0]
    acted = recourse.acted[:, 0] & has[:, None]
    move = recourse.action[:, 0] - recourse.x
    total = max(1, int(has.sum()))
    with np.errstate(invalid="ignore"):
        up, down = (acted & (move > 0)).sum(0), (acted & (move < 0)).sum(0)
    order = np.argsort(-acted.sum(0), kind="stable")
    return [
        {
            "feature": schema.features[j].text_label,
            "asked": int(acted[:, j].sum()),
            "share": float(acted[:, j].sum() / total),
            "up": int(up[j]) if schema.ordered[j] else 0,
            "down": int(down[j]) if schema.ordered[j] else 0,
        }
        for j in order
        if acted[:, j].any()
    ]


@public
def group_table(evaluation: Evaluation, groups: Any = None) -> list[dict[str, Any]]:
    """One row a group: people who asked, share usable with its interval, mean cost with its interval."""
    by: dict[str, dict[str, Any]] = {}
    for row in evaluation.by_group(groups):
        line = by.setdefault(row["group"], {"group": row["group"]})
        if row["metric"] == "usable":
            line |= {"asked": row["n"], "usable": row["value"], "low": row["low"], "high": row["high"]}
        if row["metric"] == "cost_l1_range":
            line |= {"with a plan": row["n"], "cost": row["value"]}
            line |= {"cost low": row["low"], "cost high": row["high"]}
    return list(by.values())


def _safe(value: Any) -> Any:
    if isinstance(value, float):
        return value if np.isfinite(value) else ""
    if isinstance(value, str):
        value = visible(value)
        return "'" + value if value.startswith(_FORMULA) else value
    return value
