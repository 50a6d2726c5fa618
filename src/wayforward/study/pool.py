"""Profiles of real or made-up people, of which a participant is shown five as ideals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayforward.errors import DataError
from wayforward.schema.tables import read_frame
from wayforward.study.car_loan import INCOME, ITEMS, PLANS, Profiles, distances, eligible, select
from wayforward.study.population import DISCLOSED, POOL, draw


@dataclass(frozen=True)
class ProfilePool:
    """profile (m, 16) and income (m,), both codes from 1 on."""

    profile: Profiles
    income: NDArray[np.int64]

    @classmethod
    def synthetic(cls, seed: int) -> ProfilePool:
        """A pool as large as the published one, from the declared synthetic population."""
        rng = np.random.default_rng(seed)
        profile, income = draw(POOL, rng)
        disclosed = np.sort(rng.permutation(POOL)[:DISCLOSED])
        return cls(profile[disclosed], income[disclosed])

    @classmethod
    def read(cls, table: Any) -> ProfilePool:
        """From a table with the columns item-1 to item-16 and income; who has not disclosed an income (21) is left out.

        Raises: DataError that names the column and the value.
        """
        frame = read_frame(table, "pool")
        most = {
            **{f"item-{i}": len(item.options) for i, item in enumerate(ITEMS, 1)},
            "income": len(INCOME) + 1,
        }
        columns = {}
        for name, top in most.items():
            if name not in frame.columns:
                raise DataError(f"The pool has no column '{name}'. It needs item-1 to item-16 and income.")
            values = frame[name].to_list()
            for value in values:
                if not isinstance(value, int | float) or value != value or value not in range(1, top + 1):
                    raise DataError(
                        f"Column '{name}' of the pool holds {str(value)[:20]!r}. Codes go from 1 to {top}."
                    )
            columns[name] = np.array(values, dtype=np.int64)
        income = columns.pop("income")
        known = income <= len(INCOME)
        if known.sum() < PLANS:
            raise DataError(f"The pool has {known.sum()} profiles with an income. It needs {PLANS} at least.")
        return cls(np.column_stack(list(columns.values()))[known], income[known])

    def choose(self, profile: list[int], income: int, seed: list[int]) -> list[dict[str, Any]] | None:
        """Return the five plans of one participant in the order of display: to, sparsity, proximity, chosen (as what).

        None where fewer than five profiles are eligible.
        """
        rng = np.random.default_rng(seed)
        x = np.array([profile])
        rows = select(x, self.profile, eligible(x, np.array([income]), self.profile, self.income), rng)[0]
        if rows[0] < 0:
            return None
        to = self.profile[rows]
        sparsity, proximity = distances(x, to)
        how = ["sparsest", "most proximate", *["random"] * (PLANS - 2)]
        return [
            {
                "chosen": how[i], "to": to[i].tolist(), "sparsity": int(sparsity[i]),
                "proximity": round(float(proximity[i]), 4),
            }
            for i in rng.permutation(PLANS)
        ]  # fmt: skip


def side_by_side(profile: list[int], plan: dict[str, Any]) -> list[dict[str, Any]]:
    """All sixteen items for a page: name, now, then, and whether it changes."""
    return [
        {
            "code": i, "name": item.name.capitalize(), "now": item.options[now - 1], "then": item.options[to - 1],
            "changes": now != to,
        }
        for i, (item, now, to) in enumerate(zip(ITEMS, profile, plan["to"], strict=True), 1)
    ]  # fmt: skip
