"""Tables of every library, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wayforward.model.frames import all_values, column_values, one_at_a_time


def table_of(library: str) -> Any:
    columns = {"a": ["x", "y", "z"], "b": [1, 2, 3], "c": [True, False, None]}
    if library == "numpy":
        return np.array(list(columns.values()), dtype=object).T
    module = pytest.importorskip(library)
    if library == "pyarrow":
        return module.table(columns)
    return module.DataFrame(columns)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "numpy"])
def test_one_column_at_a_time_varies_as_in_the_table(library):
    table = table_of(library)
    got = one_at_a_time(table, [0, 2])
    assert type(got) is type(table) and len(got) == 6
    seen = np.stack([column_values(got, i) for i in range(3)], axis=1).tolist()
    first = column_values(table, 0)[0], column_values(table, 1)[0], column_values(table, 2)[0]
    varied = [[a, first[1], first[2]] for a in column_values(table, 0)]
    varied += [[first[0], first[1], c] for c in column_values(table, 2)]
    assert seen == varied
    if library == "pandas":
        assert got.dtypes.tolist() == table.dtypes.tolist()
    assert all_values(got).shape == (6, 3)
