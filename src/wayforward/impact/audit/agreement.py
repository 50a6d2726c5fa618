"""Whether the plans of two groups ask to change the same things, beside random splits of the same people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.impact.audit.figures import Measured
from wayforward.impact.audit.gaps import LEVEL, plain_number
from wayforward.language import Translatable
from wayforward.lazy import Renamed
from wayforward.public import public
from wayforward.shapes import Floats, Ints, Mask


@public
@dataclass(frozen=True)
class Agreement:
    """Are two groups asked to change the same things? value: 1 the same as often, 0 nothing in common.

    by_chance: the value that two groups of these sizes have on average where membership says nothing; p: share of such
    splits that agree as little. most: the feature whose share differs most, and both shares.
    """

    attribute: str
    first: str
    second: str
    value: float
    by_chance: float
    p: float
    n: tuple[int, int]
    most: tuple[str, float, float]
    corrected: float = float("nan")

    stands = Renamed("significant")

    @property
    def significant(self) -> bool:
        """They agree less than chance would make two groups, among all pairs that were looked at."""
        return bool(self.corrected < LEVEL)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "attribute": self.attribute, "first": self.first, "second": self.second,
            "value": plain_number(self.value), "by_chance": plain_number(self.by_chance), "p": plain_number(self.p),
            "p_corrected": plain_number(self.corrected), "n": list(self.n),
            "differs_most": {"feature": self.most[0], "shares": [plain_number(v) for v in self.most[1:]]},
            "stands": self.significant,
        }  # fmt: skip


def agreement(
    measured: Measured, attribute: str, names: tuple[str, str], one: Mask, two: Mask
) -> list[Agreement]:
    """Compare the shares in which two groups' plans act on each feature; one, two (m,) bool among those answered.

    Empty where a group has fewer plans than may be told of.
    """
    acted = measured.judged.acted
    first, second = acted[one & measured.has_cost], acted[two & measured.has_cost]
    if min(len(first), len(second)) < measured.fewest:
        return []
    pool = np.concatenate([first, second]).astype(np.float32)
    n, m = len(pool), len(first)
    p, q = pool[:m].mean(0), pool[m:].mean(0)
    value = float(_overlap(p, q))
    splits = int(np.clip(2e7 // n, 499, 4999))
    rng = np.random.default_rng([measured.seed, 23])
    drawn = np.empty(splits)
    total = pool.sum(0)
    step = max(1, 4_000_000 // n)
    for start in range(0, splits, step):
        size = min(step, splits - start)
        inside = np.argsort(rng.random((size, n), dtype=np.float32), axis=1)[:, :m]
        sums = pool[inside].sum(1) if n * size * pool.shape[1] < 5_000_000 else _sums(pool, inside)
        drawn[start : start + size] = _overlap(sums / m, (total - sums) / (n - m))
    below = (1 + int((drawn <= value + 1e-6).sum())) / (splits + 1)
    j = int(np.abs(p - q).argmax())
    feature = measured.problem.schema.features[j]
    most = Translatable(lambda: feature.text_label), float(p[j]), float(q[j])
    return [Agreement(attribute, *names, value, float(drawn.mean()), below, (m, n - m), most)]


def _overlap(a: Floats, b: Floats) -> Floats:
    """Return how alike the shares (..., d) of two groups are: 1 where they are equal, 0 with nothing in common."""
    top = np.maximum(a, b).sum(-1)
    return np.asarray(np.minimum(a, b).sum(-1) / np.where(top > 0, top, 1.0))


def _sums(pool: Floats, inside: Ints) -> Floats:
    """Return (s, d) sums of the rows (n, d) that are named (s, m)."""
    flag = np.zeros((len(inside), len(pool)), dtype=np.float32)
    np.put_along_axis(flag, inside, 1.0, axis=1)
    return np.asarray(flag @ pool)
