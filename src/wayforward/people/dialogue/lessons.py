"""What somebody's choices between plans say about them, in sentences: "You would rather ... than ..."."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wayforward.answers import words
from wayforward.language import gettext
from wayforward.people.dialogue.wishes import act_words

if TYPE_CHECKING:
    from wayforward.schema import Schema

_PRIOR = 1.0  # how firmly everything is thought equally hard before anything was said
_SURE = 2  # choices that must say the same before a sentence does


@dataclass(frozen=True)
class Compared:
    """One plan chosen over another; both (d,): where they lead."""

    chosen: np.ndarray
    other: np.ndarray


def effort(schema: Schema, x: np.ndarray, after: np.ndarray) -> np.ndarray:
    """x (d,), after (m, d) -> (m, d): how much of its range each feature moves; another category counts 1."""
    with np.errstate(invalid="ignore"):
        size = np.abs(after - x) / schema.span
    size = np.where(schema.is_categorical | np.isnan(size), 1.0, size)
    return np.asarray(np.where(schema.differs(after, x), np.minimum(size, 1.0), 0.0))


def reluctance(schema: Schema, x: np.ndarray, compared: Sequence[Compared]) -> np.ndarray:
    """(d,) how much somebody minds a change of each feature, from their choices: 1 where nothing was said.

    The most likely non-negative weights under a logistic choice between two efforts, drawn towards 1.
    """
    weight = np.ones(schema.d)
    if not compared:
        return weight
    chosen = effort(schema, x, np.stack([c.chosen for c in compared]))
    other = effort(schema, x, np.stack([c.other for c in compared]))
    gap = other - chosen  # more of it in the plan that was not taken
    scale = np.abs(gap).sum(1, keepdims=True)
    gap = np.divide(4.0 * gap, scale, out=np.zeros_like(gap), where=scale > 0)  # a small pair says as much
    for _ in range(200):
        slope = ((1 / (1 + np.exp(gap @ weight)))[:, None] * gap).sum(0) - _PRIOR * (weight - 1.0)
        weight = np.maximum(weight + slope / (_PRIOR + 0.25 * np.square(gap).sum()), 0.0)
    return weight


def lessons(
    schema: Schema, x: np.ndarray, compared: Sequence[Compared], own: np.ndarray | None = None, most: int = 3
) -> list[str]:
    """Up to `most` sentences that several choices agree on. own (d,): reluctance as the elicitor believes it.

    A sentence needs choices in which the plan taken asks for more of one thing and less of the other, clearly more
    often so than the other way round.
    """
    if not compared:
        return []
    weight = reluctance(schema, x, compared) if own is None else own
    chosen = effort(schema, x, np.stack([c.chosen for c in compared]))
    other = effort(schema, x, np.stack([c.other for c in compared]))
    gap = chosen - other
    clear = np.abs(gap) > 0.05 * np.abs(gap).sum(1, keepdims=True)
    more, less = (gap > 0) & clear, (gap < 0) & clear
    votes = more.astype(int).T @ less.astype(
        int
    )  # (d, d): more of the row feature was taken over the column's
    out, used = list[str](), set[tuple[int, int]]()
    pairs = [
        (int(votes[a, b]), float(weight[b] - weight[a]), a, b)
        for a in range(schema.d)
        for b in range(schema.d)
        if votes[a, b] >= _SURE and votes[a, b] >= 2 * votes[b, a] + 1 and weight[b] > weight[a]
    ]
    firsts, lasts = set[int](), set[int]()
    for count, _, a, b in sorted(pairs, key=lambda pair: (-pair[0] * pair[1], pair[2], pair[3])):
        if len(out) == most or (a in firsts and b in lasts) or (b, a) in used:
            continue
        used.add((a, b))
        firsts.add(a)
        lasts.add(b)
        times = count + int(votes[b, a])
        verbs = [verb(schema, x, compared, j) for j in (a, b)]
        this = act_words(schema, schema.names[a], verbs[0])
        that = act_words(schema, schema.names[b], verbs[1])
        if verbs[0] == verbs[1]:  # the same verb is said once
            that = gettext("your {name}", name=words.label(schema.features[b]))
        if times > count:
            text = gettext(
                "You would rather {this} than {that} ({count} of {times} choices between the two).",
                this=this, that=that, count=count, times=times,
            )  # fmt: skip
        else:
            text = gettext(
                "You would rather {this} than {that} (all {count} choices between the two).",
                this=this, that=that, count=count,
            )  # fmt: skip
        out.append(text)
    return out


def verb(schema: Schema, x: np.ndarray, compared: Sequence[Compared], j: int) -> str:
    """raise, lower or change: the way in which the plans moved a feature."""
    feature = schema.features[j]
    if (feature.has_levels and feature.kind != "ordinal") or np.isnan(x[j]):
        return "change"
    values = np.array([value for c in compared for value in (c.chosen[j], c.other[j])])
    moved = values[schema.differs(np.where(np.arange(schema.d) == j, values[:, None], x), x)[:, j]]
    if moved.size and (moved > x[j]).all():
        return "raise"
    return "lower" if moved.size and (moved < x[j]).all() else "change"


def circle(edges: Sequence[tuple[str, str]], winner: str, loser: str) -> bool:
    """True if, by what was said before, `loser` is already (through any chain of choices) preferred
    to `winner`."""
    over: dict[str, set[str]] = {}
    for better, worse in edges:
        over.setdefault(better, set()).add(worse)
    seen, waiting = {loser}, [loser]
    while waiting:
        for worse in over.get(waiting.pop(), ()):
            if worse == winner:
                return True
            if worse not in seen:
                seen.add(worse)
                waiting.append(worse)
    return False
