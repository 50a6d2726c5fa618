"""How near a plan is to the least effort that any plan can take, in words, where that was proved."""

from __future__ import annotations

import math

import numpy as np

from wayforward.answers import words
from wayforward.language import gettext
from wayforward.recourse import Recourse

_FAR = 0.5  # a proof that leaves more open than this helps nobody


def bound_text(one: Recourse, option: int, i: int = 0) -> str:
    """What was proved of the person's first option: "Any other plan takes at least as much effort: this was proved.";
    '' for further options, and where nobody asked for proofs."""
    if option or "certified" not in one.meta or not one.found[i, 0]:
        return ""
    gap = one.gap[i, 0]
    if gap == 0:
        return gettext("Any other plan takes at least as much effort: this was proved.")
    if np.isfinite(gap) and gap <= _FAR:
        most = words.percent(math.ceil(100 * gap - 1e-9) / 100)
        return gettext("It takes at most {share} more effort than the easiest plan possible.", share=most)
    return gettext("It is the best plan that we found. There may be an easier one.")
