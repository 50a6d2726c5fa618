"""Answer-set programs over finite domains: each feature stays or takes one value, trees as rules, weak constraints.

The program is that of the published method: a choice for each feature, a rule for each leaf, the demand that the leaves
add up to a yes, and two levels of weak constraints, how many features change and then how dear that is. clingo solves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.errors import require
from wayforward.shapes import Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.methods.engines.tree_regions import TreeRegions
    from wayforward.schema import Schema

_PRICES, _WEIGHTS = 1e6, 2.0**28  # clingo adds up whole numbers of 32 bits


class AnswerSets:
    """A program for one person x (d,): feature, value, price (o,) are what they may set and what it costs.

    Raises: MissingExtra without clingo.
    """

    def __init__(
        self, schema: Schema, x: Floats, feature: Ints, value: Floats, price: Floats, most: int
    ) -> None:
        self.control = require("clingo", extra="asp").Control(["--warn=none", "--seed=0"])
        self.schema, self.x, self.feature, self.value = schema, x, feature, value
        self.parts, self.text = 0, [f":- #count{{ J : changed(J) }} > {most}."]
        dear = np.rint(price * (_PRICES / max(float(price.max(initial=0.0)), 1e-300))).astype(np.int64)
        for j in np.unique(feature).tolist():
            choice = "; ".join([f"stay({j})", *(f"set({o})" for o in np.flatnonzero(feature == j))])
            self.text.append(f"1 {{ {choice} }} 1. changed({j}) :- not stay({j}). :~ changed({j}). [1@2,{j}]")
        self.text += [f":~ set({o}). [{p}@1,{o}]" for o, p in enumerate(dear.tolist())]

    def forest(self, regions: TreeRegions, value: Floats, need: float) -> None:
        """Demand that leaves' values (l,) add up to `need` at least, up to rounding; the judge has the last word."""
        leaves, d = regions.leaves, len(self.x)
        inside = leaves.holds(self.schema, self.feature, self.value)
        own = leaves.holds(self.schema, np.arange(d), self.x)
        free = np.unique(self.feature)
        open_ = own[:, np.setdiff1d(np.arange(d), free)].all(1)
        for j in free:
            open_ &= own[:, j] | inside[:, self.feature == j].any(1)
        largest = np.zeros(int(regions.tree.max()) + 1)
        np.maximum.at(largest, regions.tree, np.abs(value))
        unit = _WEIGHTS / max(float(largest.sum()), 1e-300)
        known: dict[tuple[int, bytes], int] = {}
        for leaf in np.flatnonzero(open_).tolist():
            body = [self._within(int(j), inside[leaf], bool(own[leaf, j]), known) for j in free]
            rule = ", ".join(part for part in body if part)
            self.text.append(
                f"leaf({leaf}){' :- ' if rule else ''}{rule}. w({leaf},{round(value[leaf] * unit)})."
            )
        least = int(np.floor(need * unit)) - len(largest) - 1
        self.text.append(f":- #sum{{ W,L : leaf(L), w(L,W) }} < {least}.")

    def _within(self, j: int, inside: Mask, own: bool, known: dict[tuple[int, bytes], int]) -> str:
        """The atom that the choice for feature j is among those inside; '' where any is."""
        at = np.flatnonzero(self.feature == j)
        if own and inside[at].all():
            return ""
        key = j, np.append(inside[at], own).tobytes()
        if key not in known:
            known[key] = len(known)
            chosen = [f"set({o})" for o in at[inside[at]].tolist()] + [f"stay({j})"] * own
            self.text += [f"in({known[key]}) :- {one}." for one in chosen]
        return f"in({known[key]})"

    def forbid(self, chosen: Mask) -> None:
        """Forbid one choice (o,) alone."""
        moved = np.unique(self.feature[chosen])
        rest = [f"stay({j})" for j in np.setdiff1d(self.feature, moved).tolist()]
        self.text.append(f":- {', '.join([*(f'set({o})' for o in np.flatnonzero(chosen).tolist()), *rest])}.")

    def other_features(self, chosen: Mask) -> None:
        """Forbid all choices that change exactly the features of one (o,), and those that change more of them."""
        moved = np.unique(self.feature[chosen])
        rest = [f"stay({j})" for j in np.setdiff1d(self.feature, moved).tolist()]
        self.text.append(f":- {', '.join([*(f'changed({j})' for j in moved.tolist()), *rest])}.")
        self.text.append(f":- #count{{ J : changed(J) }} > {len(moved)}.")

    def solve(self, conflicts: int) -> Mask | None:
        """Return the best choice (o,) found within so many conflicts, None without one."""
        name = f"part{self.parts}"
        self.parts += 1
        self.control.add(name, [], "\n".join(self.text))
        self.text.clear()
        self.control.ground([(name, [])])
        self.control.configuration.solve.solve_limit = str(conflicts)
        best: Mask | None = None
        with self.control.solve(yield_=True) as models:
            for model in models:
                best = np.zeros(len(self.feature), dtype=bool)
                best[[a.arguments[0].number for a in model.symbols(atoms=True) if a.name == "set"]] = True
        return best
