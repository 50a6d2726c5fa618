"""Old names answer for one release, and say so."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from wayforward.lazy import Renamed, renamed_names, renamed_parameters


@dataclass(frozen=True)
class Noun:
    significant: bool

    stands = Renamed("significant")


@renamed_parameters(told="most")
def shortened(text: str, *, most: int = 3) -> str:
    return text[:most]


def test_an_old_attribute_answers_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match=r"Noun\.stands is now called 'significant'"):
        assert Noun(True).stands is True


def test_an_old_parameter_is_taken_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match=r"shortened\(told=\.\.\.\) is now called 'most'"):
        assert shortened("abcdef", told=2) == "ab"  # type: ignore[call-arg]
    assert shortened("abcdef", most=4) == "abcd" and shortened("abcdef") == "abc"


def test_an_old_name_of_a_module_answers_with_a_warning() -> None:
    find = renamed_names(__name__, Word="Noun")
    with pytest.warns(DeprecationWarning, match="Word is now called 'Noun'"):
        assert find("Word") is Noun
    with pytest.raises(AttributeError, match="has no attribute 'Verb'"):
        find("Verb")
