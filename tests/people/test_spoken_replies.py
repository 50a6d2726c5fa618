"""Replies as people say them: what is left without the words that say nothing."""

from __future__ import annotations

import pytest

from wayforward.people.dialogue.spoken_replies import without_trimmings


@pytest.mark.parametrize(
    ("typed", "left"),
    [
        ("maybe a little, up to 0.5", "up to 0.5"),
        ("I could earn a bit more, up to 3,400", "up to 3,400"),
        ("I might not.", "not"),
        ("no, the bank decides that", "no"),
        ("nein, weil mir die Wohnung gefällt", "nein"),
        ("Yes because I have to", "yes"),
        ("no I love my job", "no"),
        ("the second one", "2"),
        ("plan two", "2"),
        ("das erste", "1"),
        ("I think the first plan", "1"),
        ("savings up to 500, please", "savings up to 500"),
        ("Yes but only 9", "to 9"),
        ("ja, aber nur 9", "to 9"),
    ],
)
def test_what_is_said_in_more_words_comes_down_to_a_reply(typed, left):
    assert without_trimmings(typed) == left


@pytest.mark.parametrize(
    "typed",
    [
        "I could save 2",  # names no option
        "no, but I could go up a little",  # says more than no
        "no problem",
        "up to 500",
        "maybe",
    ],
)
def test_what_may_mean_something_else_is_not_taken(typed):
    assert without_trimmings(typed) is None
