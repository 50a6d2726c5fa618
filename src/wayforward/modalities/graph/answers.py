"""Answers about recommendations: the own actions that keep an item on top, and what would take its place."""

from __future__ import annotations

import html
from dataclasses import dataclass

import numpy as np

from wayforward.answers import words
from wayforward.errors import DataError
from wayforward.language import gettext, ngettext, visible
from wayforward.modalities.answers import LetterPart, Phrases, UnitRecourse
from wayforward.modalities.graph.model import RecommenderModel
from wayforward.public import public


@public
@dataclass(frozen=True)
class RecommenderRecourse(UnitRecourse):
    """Up to k sets of actions for each of n people. recourse: the same as rows, for evaluation and files."""

    people: tuple[str, ...]
    model: RecommenderModel

    def recommended(self, i: int) -> str | None:
        """Return the item that is recommended to person i now; None where there is none."""
        person = self.people[self._row(i)]
        return self.model.recommended(person) if person else None  # '': who could not be read

    def removed(self, i: int, option: int = 0) -> list[str]:
        """Return the items of the actions that an option undoes."""
        names, done = self.model.graph.names, self.model.graph.actions(self.people[self._read_row(i)])
        return [names[done[unit]] for unit in self._units(i, option)]

    def instead(self, i: int, option: int = 0) -> str | None:
        """Return the item that would be recommended, by walking anew without these actions; None without an option."""
        units = self._units(i, option)
        if not units:
            return None
        person = self.people[self._row(i)]
        known = self.model.known([person])[0]
        there = np.ones((1, len(known.adds)), dtype=bool)
        there[0, units] = False
        scores = np.where(known.running, self.model.scores(person, there)[0], -np.inf)
        scores[known.first] = -np.inf
        return str(self.model.graph.names[self.model.graph.item_nodes[scores.argmax()]])

    def sentence(self, i: int, option: int = 0) -> str:
        """Return an option in one sentence: "Without this action, item 7 would be recommended, not item 3: book 1."."""
        gone = [gettext("\u201c{text}\u201d", text=visible(name)) for name in self.removed(i, option)]
        if not gone:
            raise DataError(f"Person {i} has no option {option}: {self._why_not(i, option)}")
        return ngettext(
            "If you undid what you did with {items}, \u201c{new}\u201d would be recommended and not \u201c{now}\u201d.",
            "If you undid what you did with these {n} items, \u201c{new}\u201d would be recommended and not "
            "\u201c{now}\u201d: {items}.",
            len(gone),
            n=words.spelled(len(gone)),
            items=words.join(gone),
            new=visible(self.instead(i, option) or ""),
            now=visible(self.recommended(i) or ""),
        )

    def _phrases(self, number: int = 0) -> Phrases:
        now = visible((self.recommended(number - 1) if number else None) or "")
        return Phrases(
            title=gettext("What keeps recommendations as they are"),
            numbered=gettext("Person {n}", n=number),
            accepted=gettext("Something else is recommended to you already. You need not change anything."),
            refused=gettext("\u201c{item}\u201d is recommended to you because of what you did.", item=now)
            if now
            else gettext("Nothing can be recommended to you by what you did."),
            none_exist=gettext(
                "Whatever you could undo, nothing else would be recommended. This was proved."
            ),
            not_found=gettext(
                "We found nothing to undo that would change what is recommended. There may be something."
            ),
            closing=gettext("What is recommended was worked out anew without these actions."),
        )

    def _wanted(self) -> str:
        return gettext("A yes is another item in the first place.")

    def _shown(self, i: int, option: int) -> LetterPart:
        gone = set(self.removed(i, option))
        names = [self.model.graph.names[node] for node in self.model.graph.actions(self.people[self._row(i)])]
        marked = [
            f"<del>{html.escape(visible(one))}</del>" if one in gone else html.escape(visible(one))
            for one in names
        ]
        plain = [f"[-{visible(one)}-]" if one in gone else visible(one) for one in names]
        return LetterPart("blockquote", "\n".join(marked), "\n".join(f"- {one}" for one in plain))

    def _missing(self, i: int) -> str:
        return f"There is no person {i}; there are {len(self.people)}, from 0."
