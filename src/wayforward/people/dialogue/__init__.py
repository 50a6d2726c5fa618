"""A conversation with one person: questions in plain words, answers, and a state that can be put away."""

from __future__ import annotations

from wayforward.people.dialogue.dialogue import Dialogue
from wayforward.people.dialogue.question import Option, Question
from wayforward.people.dialogue.wording import Ending

__all__ = ["Dialogue", "Ending", "Option", "Question"]
