"""Groups: from labels, features and quantities; what is none is said by name."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.errors import DataError
from wayforward.groups import Groups
from wayforward.schema import Feature, Schema, SchemaWarning
from wayforward.testing.problems import case


def test_labels_become_groups_in_a_natural_order() -> None:
    """Numbers in order, missing ones in no group, with a warning."""
    with pytest.warns(SchemaWarning, match="2 of 5"):
        groups = Groups.of("zone", ["10", "9", None, "10", float("nan")])
    assert groups.names == ("9", "10")
    assert groups.member.tolist() == [1, 0, -1, 1, -1]
    assert groups.sizes.tolist() == [1, 2]
    assert groups.minority() == 0


def test_a_feature_makes_groups_of_its_levels() -> None:
    """Empty levels stay, so that groups mean the same for any people."""
    it = case("linear", "independent", 0, 40)
    groups = Groups.of("region", it.x, it.problem.schema)
    levels = it.problem.schema.features[it.problem.schema.index("region")].levels
    assert groups.names == tuple(str(level) for level in levels)
    assert groups.feature == it.problem.schema.index("region")
    np.testing.assert_array_equal(groups.member, it.x[:, groups.feature])


def test_a_table_of_people_makes_the_groups_of_its_encoded_rows() -> None:
    """A row that cannot be read belongs to no group, and stops nobody else."""
    it = case("linear", "independent", 0, 40)
    schema, table = it.problem.schema, it.problem.schema.decode(it.x, "pandas")
    np.testing.assert_array_equal(
        Groups.of("region", table, schema).member, Groups.of("region", it.x, schema).member
    )
    table["region"] = ["nowhere", *table["region"].to_list()[1:]]
    with pytest.warns(SchemaWarning, match="1 of 40 people have no label"):
        assert Groups.of("region", table, schema).member[0] == -1


def test_a_quantity_is_cut_or_refused() -> None:
    """More than twenty values are no groups."""
    age = np.arange(18, 80).astype(float)
    with pytest.raises(DataError, match=r"cut=\[48.5\]"):
        Groups.of("age", age)
    groups = Groups.of("age", age, cut=[30, 60])
    assert groups.names == ("below 30", "30 to 60", "60 and above")
    assert groups.member[[0, 12, 41, 42]].tolist() == [0, 1, 1, 2]
    with pytest.raises(DataError, match="rising"):
        Groups.of("age", age, cut=[60, 30])
    with pytest.raises(DataError, match="no numbers"):
        Groups.of("age", ["a", "b"], cut=[1])


def test_one_group_alone_compares_nothing() -> None:
    """A clear error."""
    with pytest.raises(DataError, match="nothing to compare"):
        Groups.of("sex", ["f", "f"])
    with pytest.raises(DataError, match=r"has 1 group \(3 of 4 people have no label\), so there"):
        Groups.of("sex", ["f", None, None, None])
    with pytest.raises(DataError, match="no feature 'sex'"):
        Groups.of("sex", np.zeros((2, 9)), case("linear", "independent", 0, 40).problem.schema)


def test_two_groups_of_one_name_are_none() -> None:
    """The first one's figures were told of the second."""
    with pytest.raises(DataError, match="two groups called 'a'"):
        Groups("g", ("a", "a"), np.array([0, 1]))
    with pytest.raises(DataError, match="'empty' has 0 groups .*, so"):
        Groups.of("empty", [None, None])
    one, two = Groups.of("x", ["a", "a and b"]), Groups.of("y", ["b and c", "c"])
    assert one.cross(two).names[0] == "a and b and c" and len(set(one.cross(two).names)) == 4


def test_a_feature_with_levels_is_not_cut() -> None:
    schema = Schema((Feature(name="sex", kind="binary", levels=("f", "m")),))
    with pytest.raises(DataError, match="'sex' has levels"):
        Groups.of("sex", np.zeros((3, 1)), schema, cut=[0.5])


def test_intersections_name_both() -> None:
    """Two by two; a missing label in either is none."""
    with pytest.warns(SchemaWarning):
        sex, age = Groups.of("sex", ["f", "m", "f"]), Groups.of("age", ["old", "young", None])
    both = sex.cross(age)
    assert both.names[both.member[0]] == "f and old"
    assert both.member[2] == -1
    assert both.mask("m and young").tolist() == [False, True, False]
    with pytest.raises(DataError, match="same people"):
        sex.cross(age.take(np.array([0])))
