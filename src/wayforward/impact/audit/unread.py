"""People whom an audit could not read: counted by group, and told beside the shares that leave them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.answers import words
from wayforward.impact.audit.suppression import may_be_told
from wayforward.language import N_, Translatable, gettext, ngettext, translated

if TYPE_CHECKING:
    from wayforward.groups import Groups
    from wayforward.impact.audit.figures import GroupFigures
    from wayforward.schema import Schema


@dataclass(frozen=True)
class Unread:
    """count: people whose rows could not be read. columns: in which column, how often. by_group: attribute -> group ->
    people, without groups of so few that a count would tell of a person."""

    count: int = 0
    columns: dict[str, int] = field(default_factory=dict)
    by_group: dict[str, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, schema: Schema, reasons: dict[int, str], groups: Sequence[Groups], fewest: int) -> Unread:
        """Count the rows with a reason (row number -> why) by column and by the group that is known of them."""
        if not reasons:
            return cls()
        columns = Counter(
            next((name for name in schema.names if why.startswith(f"'{name}'")), N_("the row"))
            for why in reasons.values()
        )
        by_group = {}
        for one in groups:
            label = one.take(np.array(sorted(reasons))).member
            shown = may_be_told(label, one, fewest, ())
            by_group[one.name] = {name: int(some.sum()) for name, some in shown}
        return cls(len(reasons), dict(columns.most_common()), by_group)

    def notes(self, overall: GroupFigures) -> list[str]:
        """What the reader of an audit must know: how many, why, who, and the share served if they counted."""
        if not self.count:
            return []
        return [Translatable(lambda: self._note(overall.figures["usable"].value, overall.refused))]

    def _note(self, served: float, refused: int) -> str:
        why = ", ".join(f"{gettext(name)}: {words.number(count)}" for name, count in self.columns.items())
        text = [
            ngettext(
                "{n} person could not be read and was not asked about ({why}).",
                "{n} people could not be read and were not asked about ({why}).",
                self.count, why=why,
            )
        ]  # fmt: skip
        for attribute, counts in self.by_group.items():
            if counts:
                shown = ", ".join(
                    f"{translated(name)} {words.number(count)}" for name, count in counts.items()
                )
                text.append(gettext("By {attribute}: {groups}.", attribute=attribute, groups=shown))
        lower = served * refused / (refused + self.count)
        text.append(
            gettext(
                "All shares leave them out: of those refused {served} have a usable plan, and {lower} if whoever could "
                "not be read is counted as refused and without one.",
                served=words.percent(served, 1), lower=words.percent(lower, 1),
            )
        )  # fmt: skip
        return " ".join(text)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"people": self.count, "columns": self.columns, "by_group": self.by_group}
