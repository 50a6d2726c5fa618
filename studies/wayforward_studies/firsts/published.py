"""What each page of an original paper says: the paper's numbers, tolerances, ways and texts."""

from __future__ import annotations

from wayforward_studies.firsts import mace, roar
from wayforward_studies.firsts.original import Number, Original

_UNREAD = (
    "**The paper itself was not read**: its numbers are those that a public record of a reproduction states"
)

_ROAR = {
    ("linear", "l1"): ((3.13, 0.32), (1.0, 0.0), (0.94, 0.08)),
    ("linear", "pfc"): ((0.36, 0.08), (1.0, 0.0), (1.0, 0.0)),
    ("network", "l1"): ((1.83, 0.19), (0.78, 0.06), (0.72, 0.10)),
    ("network", "pfc"): ((0.64, 0.08), (0.85, 0.07), (0.82, 0.05)),
}
ROAR = Original(
    name="roar",
    title="ROAR's Table 1, correction shift (German Credit)",
    intro="Upadhyay, Joshi and Lakkaraju (2021) look for recourse that holds when a model's weights shift, and ask "
    f"a model trained on a corrected table whether it does. {_UNREAD}, the setting is that of the authors' public "
    "code (facts, no code of it). Duration, amount and age in deviations and four one-hot columns of personal "
    "status, all of which move freely; five folds; regression, and networks of 50, 100 and 200 units with LIME's "
    "line around each person; Adam from the person on, with the worst case of weights within .1 and a price on "
    "distance (*l1*, or *pfc*, weighed by comparing features in pairs), chosen on refused training people. The old "
    f"models refuse {{linear refused:.0f}} and {{network refused:.0f}} people a fold. *Spreads* in brackets are the "
    f"paper's over folds; ± is the 95 % interval of our mean over {{seeds}} seeds, which draw the order of the "
    "corrected table, the comparisons, the networks and LIME's samples.",
    tolerance="Tolerance: 15 % of a cost, .05 of a validity.",
    notes="""
- **What is different.** For these four features the corrected table is the same 1,000 rows in another order, which is
  not public here: it is drawn. So are the comparisons of features (fair coins, 50 for each ordered pair).
- **The networks' line** is one of the log-odds, as that is what the loss takes a sigmoid of. The public code is known
  to give LIME the chance of a yes, and to take one coefficient for all: so nearly nobody moves, and the paper's
  numbers do not come out (*LIME of chances*, *one coefficient*; a cost of nothing is "better" and no recourse). Which
  of them the paper's own run did is not known; all were looked at before this one was counted.
- **wayforward's roar** reaches the validity by less than the equations ask for: they stop where a further unit of
  distance is not worth its price, `roar` where the worst score turns the decision.
""",
    keys=("model", "distance"),
    numbers=tuple(
        Number(where, measure, mean, 0.15 * mean if measure == "cost" else 0.05, sign, spread)
        for where, stated in _ROAR.items()
        for measure, sign, (mean, spread) in zip(roar.MEASURES, (-1, 1, 1), stated, strict=True)
    ),
    ways={
        roar.AS_RUN: "",
        roar.FIXED: "no price is chosen.",
        roar.UNITS: "its coefficients are divided by the columns' deviations, in whose units LIME gives them.",
        roar.CHANCES: "its line is one of the chance of a yes, and not of its log-odds.",
        roar.SINGLE: "so, and the largest coefficient stands for all, as the public code reads them.",
        roar.LIBRARY: "`roar` with rho=.1 and bias: the least distance at which the worst score turns the decision; no "
        "price, and its own line around the option in place of LIME's.",
    },
    measured=roar.measured,
    decides=("firsts/roar.py",),
)

_MACE = {
    ("adult", "l0"): 62.0, ("adult", "l1"): 92.0, ("adult", "linf"): 86.0,
    ("credit", "l0"): 80.0, ("credit", "l1"): 82.0, ("credit", "linf"): 80.0,
}  # fmt: skip
MACE = Original(
    name="mace",
    title="MACE's Table 3: nearer than the nearest observed",
    intro="Karimi, Barthe, Balle and Valera (2020) find the nearest counterfactual exactly, and say by how many per "
    "cent it is nearer than the nearest observed row that is accepted, in the mean of 500 refused people. "
    f"{_UNREAD}, the setting is that of the record (facts, no code of it). As many rows of one label as of the other "
    "(22,000 of Adult, 13,000 of credit card clients in the columns of Ustun et al.); one-hot categories and "
    "thermometers of ordinal levels (51 and 20 columns); logistic regression by scikit-learn's defaults of that "
    "time; 6,601 and 3,900 rows of the test part, of whom the refused are asked and the accepted observed; "
    "everything may change, whole numbers stay whole. Distances are of changes as shares of ranges: the share of "
    "features that change (*l0*), the mean (*l1*), the largest (*linf*). Both answers are exact: ours by "
    f"`actionable-recourse`. ± is the 95 % interval of our mean over {{seeds}} seeds, which draw the rows and their "
    "parts.",
    tolerance="Tolerance: 5 points. Both distances are optimal, so that more is not better: what is beyond is worse.",
    notes="""
- **What is different.** Which rows are drawn, and which are the test part, which the record's seed says and no table
  does. MACE's answers are within .001 of the least mean distance, ours are the least.
- **The classifier.** scikit-learn's default was liblinear when the paper was written; today's stops after a hundred
  steps on columns of such different widths, and moves credit's l1 beyond the tolerance.
""",
    keys=("data", "distance"),
    numbers=tuple(Number(where, mace.IMPROVEMENT, paper, 5.0, 0) for where, paper in _MACE.items()),
    ways={
        mace.AS_RUN: "",
        mace.TODAY: "the regression by scikit-learn's default of today.",
        mace.KEEP: "of Adult and of credit: nobody changes sex or gets younger, and no such row counts as observed.",
    },
    measured=mace.measured,
    decides=("firsts/mace.py",),
    n=mace.PEOPLE,
    decimals={mace.IMPROVEMENT: 1},
)

#: The pages, in their order.
ORIGINALS: dict[str, Original] = {one.name: one for one in (ROAR,)}
