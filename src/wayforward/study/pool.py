"""Profiles of real or made-up people, of which a participant is shown five as ideals."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayforward.data.user_tables import read_table
from wayforward.errors import DataError, FileFormatError, require
from wayforward.schema.tables import read_frame
from wayforward.streams import generator
from wayforward.study.car_loan import INCOME, ITEMS, PLANS, Profiles, distances, eligible, select
from wayforward.study.population import DISCLOSED, POOL, draw

MOST_PROFILES = 100_000
_MOST_BYTES = 2**26  # of a table, unpacked


@dataclass(frozen=True)
class ProfilePool:
    """profile (m, 16) and income (m,), both codes from 1 on."""

    profile: Profiles
    income: NDArray[np.int64]

    @classmethod
    def synthetic(cls, seed: int) -> ProfilePool:
        """A pool as large as the published one, from the declared synthetic population."""
        rng = generator(seed)
        profile, income = draw(POOL, rng)
        disclosed = np.sort(rng.permutation(POOL)[:DISCLOSED])
        return cls(profile[disclosed], income[disclosed])

    @classmethod
    def read(cls, table: Any) -> ProfilePool:
        """From a table with the columns item-1 to item-16 and income; who has not disclosed an income (21) is left out.

        Raises: DataError that names the column, the row and the value.
        """
        columns, given, n = {}, *_columns(table)
        if n > MOST_PROFILES:
            raise DataError(f"The pool has {n:,} rows. It may have {MOST_PROFILES:,}.")
        most = {
            **{f"item-{i}": len(item.options) for i, item in enumerate(ITEMS, 1)},
            "income": len(INCOME) + 1,
        }
        for name, top in most.items():
            if name not in given:
                raise DataError(f"The pool has no column '{name}'. It needs item-1 to item-16 and income.")
            values = list(given[name])
            if len(values) != n:
                raise DataError(
                    f"Column '{name}' of the pool has {len(values)} values, another one {n}. Give equally many."
                )
            for i, value in enumerate(values):
                number = isinstance(value, int | float) and not isinstance(value, bool)
                if not number or value != value or value not in range(1, top + 1):
                    raise DataError(
                        f"Column '{name}' of the pool holds {str(value)[:20]!r} in row {i}. Codes go from 1 to {top}."
                    )
            columns[name] = np.array(values, dtype=np.int64)
        income = columns.pop("income")
        known = income <= len(INCOME)
        if known.sum() < PLANS:
            raise DataError(f"The pool has {known.sum()} profiles with an income. It needs {PLANS} at least.")
        return cls(np.column_stack(list(columns.values()))[known], income[known])

    @classmethod
    def read_file(cls, path: Path) -> ProfilePool:
        """From a CSV or Parquet file, parsed as data and bounded. Raises: DataError, FileFormatError, MissingExtra."""
        if path.suffix.lower() == ".parquet":
            # a small file may unpack to a huge table: its own words say how large
            parquet = require("pyarrow.parquet", extra="frames")
            try:
                about = parquet.ParquetFile(path).metadata
                size = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
            except (ValueError, OSError) as error:
                raise FileFormatError(f"'{path.name}' cannot be read as PARQUET: {error}") from None
            if about.num_rows > MOST_PROFILES or size > _MOST_BYTES:
                raise DataError(f"The pool has {about.num_rows:,} rows. It may have {MOST_PROFILES:,}.")
        elif path.stat().st_size > _MOST_BYTES:
            raise DataError(f"The pool is larger than {_MOST_BYTES >> 20} MB. Leave out what is no code.")
        return cls.read(read_table(path))

    def to_bytes(self) -> bytes:
        """All codes in little space, to be stored."""
        return np.column_stack([self.profile, self.income]).astype(np.uint8).tobytes()

    @classmethod
    def from_bytes(cls, content: bytes) -> ProfilePool:
        """The reverse of `to_bytes`."""
        rows = np.frombuffer(content, np.uint8).reshape(-1, len(ITEMS) + 1).astype(np.int64)
        return cls(rows[:, :-1], rows[:, -1])

    @property
    def hash(self) -> str:
        """SHA-256 of what the pool holds, whatever file it came from."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

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


def _columns(table: Any) -> tuple[Mapping[str, Any], int]:
    """Columns of a table, or of a mapping of lists, and the number of rows."""
    if isinstance(table, Mapping):
        return table, max((len(values) for values in table.values()), default=0)
    frame = read_frame(table, "pool")
    return {name: frame[name].to_list() for name in frame.columns}, len(frame)


def side_by_side(profile: list[int], plan: dict[str, Any]) -> list[dict[str, Any]]:
    """All sixteen items for a page: name, now, then, and whether it changes."""
    return [
        {
            "code": i, "name": item.title, "now": item.options[now - 1], "then": item.options[to - 1],
            "changes": now != to,
        }
        for i, (item, now, to) in enumerate(zip(ITEMS, profile, plan["to"], strict=True), 1)
    ]  # fmt: skip
