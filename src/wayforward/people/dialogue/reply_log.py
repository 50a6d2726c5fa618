"""The replies of a dialogue in order: given to its conversation, taken back, given again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from wayforward.people.dialogue.conversation import Conversation
from wayforward.people.dialogue.setup import DialogueSetup
from wayforward.people.dialogue.snapshot import given_back
from wayforward.people.dialogue.snapshot import taken as snapshot_taken


class ReplyLog:
    """A conversation with the log of replies that leads to it.

    entries: what was answered, each with its question's mark. snaps: the conversation before each reply that it took,
    and now, so that it is there again without a search. found: the plans that each of its sessions has found.
    """

    def __init__(self, setup: DialogueSetup) -> None:
        self.setup = setup
        self.entries: list[dict[str, Any]] = []
        self.snaps: list[dict[str, Any]] = []
        self.found: dict[int, list[Any]] = {}
        self.conversation = Conversation(setup)
        self._remember()

    @classmethod
    def again(cls, setup: DialogueSetup, entries: Iterable[dict[str, Any]]) -> Self:
        """Give replies again, up to the first question that is not the one that was shown then."""
        out = cls(setup)
        for entry in entries:
            pending = out.conversation.pending
            if pending is None or pending.what != entry["what"] or pending.mark != entry["shown"]:
                break
            out.entries.append(entry)
            out.take()
        return out

    @classmethod
    def of(cls, setup: DialogueSetup, entries: list[dict[str, Any]], content: Mapping[str, Any]) -> Self:
        """Take up a log where `stored` left it, with nothing searched again."""
        out = cls.__new__(cls)
        out.setup, out.entries, out.snaps = setup, entries, list(content["snapshots"])
        out.found = {int(number): list(found) for number, found in content["found"].items()}
        out._stand()
        return out

    def stored(self) -> dict[str, Any]:
        """The log and where it leads, as plain data."""
        needed = {number: found[: self._needed(number)] for number, found in sorted(self.found.items())}
        found = {str(number): plans for number, plans in needed.items() if plans}
        return {"log": self.entries, "snapshots": self.snaps, "found": found}

    def _needed(self, number: int) -> int:
        """How many of the plans that a session has found the snapshots speak of."""
        sessions = (snap["session"] for snap in self.snaps if snap["number"] == number)
        return max((one["many"] for one in sessions if one is not None), default=0)

    @property
    def taken(self) -> int:
        """How many of the replies the conversation has had; fewer than there are where something broke in between."""
        return len(self.snaps) - 1

    def take(self) -> None:
        """Give the conversation the next reply of the log."""
        self.conversation.take(self.entries[self.taken]["reply"])
        self._remember()

    def take_back(self) -> None:
        """Forget the last reply."""
        self.entries = self.entries[:-1]
        self.snaps = self.snaps[: len(self.entries) + 1]
        self._stand()

    def _remember(self) -> None:
        snap, found = snapshot_taken(self.conversation)
        self.found[self.conversation.number] = found
        self.snaps.append(snap)

    def _stand(self) -> None:
        snap = self.snaps[-1]
        self.conversation = given_back(self.setup, snap, self.found.get(snap["number"], []))
