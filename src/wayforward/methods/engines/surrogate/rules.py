"""What a local tree says in words: why the answer is a no, and when it would be a yes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from wayforward.language import gettext, marks
from wayforward.methods.engines.surrogate.neighbourhood import Neighbourhood
from wayforward.methods.engines.surrogate.trees import LocalTrees
from wayforward.methods.engines.tree_regions import LeafBoxes
from wayforward.public import public
from wayforward.shapes import Floats, Mask

if TYPE_CHECKING:
    from wayforward.schema import Schema


@public
@dataclass(frozen=True)
class ContrastRule:
    """A rule of a local tree: where it holds the answer is a yes, says the tree.

    rule: all conditions of the way there. change: those among them that the person does not meet. confidence: the share
    of the rows there, by weight, that the model itself accepts. conditions: how many are to be met anew.
    """

    rule: str
    change: str
    confidence: float
    conditions: int


@public
@dataclass(frozen=True)
class LocalRules:
    """What a local tree says about one person who is refused.

    because: conditions that the person meets, of the leaf they are in. contrasts: ways to a yes, the least first.
    agrees: the tree says no to the person, as the model does. fidelity: the share of new rows, drawn around the person
    as those were that the tree was fitted to, on which it says what the model says. share: of the rows of the fit,
    those that the model accepts.
    """

    because: str
    contrasts: tuple[ContrastRule, ...]
    agrees: bool
    fidelity: float
    share: float

    def __str__(self) -> str:
        if self.because:
            lines = [gettext("No, because {conditions}.", conditions=self.because)]
        else:
            lines = [gettext("No, because of nothing that the rows around show.")]
        lines += [
            gettext(
                "Yes, if {conditions} (confidence {share}).", conditions=one.change or one.rule,
                share=marks(f"{one.confidence:.2f}"),
            )
            for one in self.contrasts
        ]  # fmt: skip
        share = marks(f"{self.fidelity:.2f}")
        return "\n".join([*lines, gettext("Fidelity {share} on new rows around the person.", share=share)])


def local_rules(
    schema: Schema, near: Neighbourhood, new: Neighbourhood, trees: LocalTrees, price: Floats, most: int
) -> list[LocalRules]:
    """Return the rules of each person's tree, at most so many contrasts each, the least price (b,) first.

    new: rows around each person that the tree has not seen.
    """
    every = np.ones(schema.d, dtype=bool)
    agree = (trees.says(schema, new.value) == new.reached).mean(1)
    out = []
    for person, home in enumerate(np.flatnonzero(trees.home)):
        mine = np.flatnonzero((trees.owner == person) & np.isfinite(price))
        mine = mine[np.argsort(price[mine].round(9), kind="stable")][:most]
        contrasts = tuple(
            ContrastRule(
                conditions(schema, trees.boxes, b, every), conditions(schema, trees.boxes, b, trees.outside[b]),
                float(trees.share[b]), int(trees.outside[b].sum()),
            )
            for b in mine.tolist()
        )  # fmt: skip
        out.append(
            LocalRules(
                conditions(schema, trees.boxes, int(home), every), contrasts, not bool(trees.yes[home]),
                float(agree[person]), float(near.reached[person].mean()),
            )
        )  # fmt: skip
    return out


def conditions(schema: Schema, boxes: LeafBoxes, b: int, of: Mask) -> str:
    """Return a box as conditions on the features of (d,): "income > 2050 and course = yes"."""
    out = []
    for j in np.flatnonzero(of).tolist():
        feature, columns = schema.features[j], schema.level_columns.get(j)
        if columns is not None:
            holds = boxes.levels[b, columns]
            names = [name for name, inside in zip(feature.levels, holds, strict=True) if inside]
            if len(names) == 1:
                out.append(f"{feature.name} = {names[0]}")
            elif not holds.all():
                listed = "{" + ", ".join(map(str, names)) + "}"
                out.append(gettext("{name} in {levels}", name=feature.name, levels=listed))
            continue
        low, high = boxes.low[b, j], boxes.high[b, j]
        if np.isfinite(low) and np.isfinite(high):
            out.append(f"{_number(low)} < {feature.name} <= {_number(high)}")
        elif np.isfinite(low):
            out.append(f"{feature.name} > {_number(low)}")
        elif np.isfinite(high):
            out.append(f"{feature.name} <= {_number(high)}")
    if not out:
        return ""
    return reduce(lambda first, last: gettext("{first} and {last}", first=first, last=last), out)


def _number(value: float) -> str:
    return marks(f"{value:.6g}")
