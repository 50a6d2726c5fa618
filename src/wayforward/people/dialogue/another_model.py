"""A dialogue under another model: what was said is kept, and the best plan that still holds is where it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from wayforward.language import N_, gettext, ngettext
from wayforward.people.dialogue.setup import PLANS, DialogueSetup
from wayforward.people.dialogue.state import row_of
from wayforward.people.dialogue.wishes import preferences_of

CHANGED, RENEWED = "changed", "renewed"
_WHAT = {
    CHANGED: N_("The model that decides was changed in the meantime."),
    RENEWED: N_("Our programme was renewed in the meantime."),
}


def carried(
    setup: DialogueSetup, log: list[dict[str, Any]], now: Mapping[str, Any], open_reply: bool
) -> tuple[DialogueSetup, dict[str, int]]:
    """Return what the dialogue goes on from under the setup's problem, and how many plans were seen and still hold.

    log: everything that was answered under earlier models; now: what a state tells of where it stood; open_reply: the
    last answer was written, and the model changed before it was taken.
    """
    wishes, spent, declined = list(now["wishes"]), int(now["spent"]), set(now["declined"])
    if open_reply and log:
        wishes, spent, declined = _with_last(log[-1], wishes, spent, declined)
    plans = _liked(log, now["best"])
    held = _holding(setup, plans, wishes)
    on = replace(
        setup,
        parts=() if now["limits_asked"] else setup.parts,
        wishes=tuple(wishes),
        start=held[0] if held else None,
        spent=spent,
        declined=tuple(sorted(declined)),
        edges=tuple((a, b) for a, b in now["edges"]),
    )
    return on, {"seen": len(plans), "held": len(held)}


def news(note: Mapping[str, Any]) -> str:
    """What the person is told after a change: what changed, and which of the plans they saw still hold."""
    if "seen" not in note:  # as older releases stored it
        return str(note["text"])
    what, seen, held = _WHAT[note["what"]], int(note["seen"]), int(note["held"])
    if not seen:
        rest = gettext("What you told us is kept.")
    elif not held:
        rest = gettext(
            "None of the plans that you saw would be enough now, so we looked for a new one. What you told us about "
            "your limits is kept."
        )
    elif seen == 1:
        rest = gettext(
            "We checked again: the plan that you saw still holds. We go on from the one that you liked best."
        )
    else:
        rest = ngettext(
            "We checked again: {n} of the {seen} plans that you saw still holds. We go on from the one that you liked "
            "best.",
            "We checked again: {n} of the {seen} plans that you saw still hold. We go on from the one that you liked "
            "best.",
            held,
            seen=seen,
        )
    return f"{gettext(what)} {rest}"


def _holding(setup: DialogueSetup, plans: list[np.ndarray], wishes: list[dict[str, Any]]) -> list[np.ndarray]:
    """Those of the plans (d,) that are a yes and keep the wishes, in the same order."""
    if not plans:
        return []
    x = np.repeat(setup.x, len(plans), axis=0)
    own = preferences_of(setup.problem.schema, wishes).take(np.zeros(len(plans), dtype=np.int64))
    got = setup.problem.check(x, np.stack(plans)[:, None], 1, preferences=own)
    holds = got.found[:, 0] if setup.walker is None else setup.walker.walked(got).steps[:, 0] != ""
    return [plan for plan, good in zip(plans, holds, strict=True) if good]


def _liked(log: list[dict[str, Any]], best: Any) -> list[np.ndarray]:
    """Plans that were shown, as actions, each once: the best so far, those chosen last, those seen last."""
    chosen: list[tuple[str, np.ndarray]] = []
    seen: list[tuple[str, np.ndarray]] = []
    for entry in reversed(log):
        for i, plan in enumerate(entry.get("plans", ())):
            taken = entry["reply"].get("option") == i or entry["reply"].get("yes")
            (chosen if taken else seen).append((plan["name"], row_of(plan["action"])))
    rows = [*chosen, *seen]
    if best is not None and "option" not in (log[-1]["reply"] if log else {}):
        same = [one for one in rows if np.array_equal(one[1], row_of(best), equal_nan=True)]
        rows = [*same[:1], *rows]
    found: dict[str, np.ndarray] = {}
    for name, row in rows:
        found.setdefault(name, row)
    return list(found.values())


def _with_last(
    entry: dict[str, Any], wishes: list[Any], spent: int, declined: set[str]
) -> tuple[list[Any], int, set[str]]:
    """What an answer that came just as the model changed still says: a new limit, a plan that was not good enough."""
    reply = entry["reply"]
    if "wish" in reply:
        wishes = [*wishes, reply["wish"]]
    wishes = [*wishes, *reply.get("page", ())]
    if entry["what"] in PLANS:
        spent += entry["what"] != "final"
        if reply.get("yes") is False:
            declined = {*declined, *(plan["name"] for plan in entry["plans"])}
    return wishes, spent, declined
