"""What the paper prints: the numbers of its Table S2, plans that it quotes, and how far ours may be from them.

Source: T. Tominaga, N. Yamashita, T. Kurashima (2024), Reassessing Evaluation Functions in Algorithmic Recourse: An
Empirical Study from a Human-Centered Perspective, IJCAI.
"""

from __future__ import annotations

OUTCOMES = ("acceptance", "action")
DISTANCES = ("sparsity", "proximity")
MODELS = tuple((outcome, x) for outcome in OUTCOMES for x in DISTANCES)  # 1 to 4, as the paper counts

#: In the order of every model's line below.
NUMBERS = (
    "intercept",
    "its error",
    "EDF of the curve",
    "F of the curve",
    "EDF of levels",
    "EDF of slopes",
    "AIC",
)

TABLE_S2: dict[tuple[str, str], tuple[float, ...]] = {
    ("acceptance", "sparsity"): (3.28, 0.07, 1.01, 0.00, 235.35, 142.98, 5597.44),
    ("acceptance", "proximity"): (3.29, 0.07, 1.00, 0.89, 258.69, 133.20, 5590.47),
    ("action", "sparsity"): (2.63, 0.07, 4.25, 18.46, 269.32, 99.44, 5261.35),
    ("action", "proximity"): (2.63, 0.07, 4.32, 20.81, 288.58, 69.98, 5280.33),
}

#: p of the curve, of the participants' levels and of their slopes; 0 where the paper prints <0.001.
P_VALUES: dict[tuple[str, str], tuple[float, float, float]] = {
    ("acceptance", "sparsity"): (1.0, 0, 0),
    ("acceptance", "proximity"): (0.347, 0, 0),
    ("action", "sparsity"): (0, 0, 0),
    ("action", "proximity"): (0, 0, 0.009),
}

ANSWERS, LEFT = 1810, 1738  # ratings, and those without a change that was marked as impossible
QUOTED_SPAN = {"sparsity": (1, 12), "proximity": (0.14, 9.09)}  # least and greatest that the text quotes

#: Participant -> item: from code, to code; sparsity and proximity as printed. Only plans that are quoted whole.
QUOTED: dict[str, tuple[dict[str, tuple[int, int]], int, float]] = {
    "P006": ({"teleworking hours per day": (1, 2)}, 1, 0.167),
    "P446": ({"educational background": (2, 3)}, 1, 0.40),
    "P706": ({"position": (1, 4), "working hours per day": (6, 5)}, 2, 0.50),
    "P674": ({"TOEIC best score": (1, 2)}, 1, 0.14),
    "P718": ({"working hours per day": (4, 5)}, 1, 0.20),
    "P294": ({"number of side jobs": (2, 1)}, 1, 0.20),
    "P655": ({"service years": (1, 2)}, 1, 0.20),
}

#: Another reading of the ranges: item -> codes of its options, and its range. Three choices for three numbers.
ANOTHER: dict[str, tuple[tuple[int, ...], float]] = {
    "working hours per day": ((1, 2, 3, 4, 5, 6, 7), 5.0),
    "position": ((1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 10.0),
    "educational background": ((1, 2, 4, 5, 6), 5.0),  # one option more, between junior college and bachelor
}

#: A curve with an EDF below 2 is as good as a line; one of 3 to 6 bends as the published one does.
FLAT, BENT = (0.0, 2.0), (3.0, 6.0)


def tolerance(model: tuple[str, str], number: str) -> float:
    """How far a number may be from the printed one, in its own unit."""
    acceptance = model[0] == "acceptance"
    fixed = {
        "intercept": 0.15,
        "its error": 0.01,
        "EDF of the curve": 1.0 if acceptance else 1.5,
        "F of the curve": 1.5 if acceptance else 5.0,
    }
    share = {"EDF of levels": 0.15, "EDF of slopes": 0.15, "AIC": 0.02}
    if number in fixed:
        return fixed[number]
    return share[number] * TABLE_S2[model][NUMBERS.index(number)]
