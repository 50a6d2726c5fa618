"""What each page of an original paper says: the paper's numbers, tolerances, ways and texts."""

from __future__ import annotations

from wayforward_studies.firsts import globe_ce, mace, probe, roar
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
  steps on columns of such different widths, and moves credit's numbers by up to 2.4 points.
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

GLOBE_CE = Original(
    name="globe-ce",
    title="GLOBE-CE's notebook of German Credit: one direction, or a few rules",
    intro="Ley, Mishra and Magazzeni (2023) explain everybody who is refused at once: GLOBE-CE by one direction along "
    "which each person goes as far as they need, AReS (Rawal and Lakkaraju, 2020) by rules. **The paper itself was not "
    "read**: these are the numbers that a notebook of the authors' public repository prints, and its setting (facts, "
    "no code of it). German Credit, of which the first 800 rows train a regression on 71 columns (all but three "
    "features one-hot); everybody whom it refuses of them; a change of a number costs its tenths of the range, another "
    "level 1, everything moves. GLOBE-CE: 1,000 directions by chance, each of two features and a cost of 2, of which "
    "the one stays that turns most people; then 1,000 lengths of it. AReS: a support of .16, 20 rules, conditions of "
    "up to 7, 10 subgroups, 10 bins, by the library's `ares` in the published form. *Coverage*: per cent of the "
    "refused whom it turns; *cost*: the least of each of these. ± is the 95 % interval of our mean over {seeds} seeds, "
    "which draw the directions.",
    tolerance="Tolerance: 5 points of coverage, .1 of a cost.",
    notes="""
- **What is different.** How many features a direction has is not among the facts that we have: two are what
  users of the authors' code take. Its regression was stopped after 1,000 steps, before its end, and refuses
  180 people; ours, stopped there, too, refuses {refused:.0f} (right for {right_training:.1f} % of the training and
  {right_test:.1f} % of the test rows; the notebook 78.9 and 75.5).
- **One draw.** The notebook's numbers are those of one set of directions, and hang on it: of 100 sets of ours the
  middle eight tenths have a coverage of {coverage_tenth:.0f} to {coverage_most:.0f} % at a cost of {cost_tenth:.2f}
  to {cost_most:.2f} (medians {coverage_median:.0f} and {cost_median:.2f}).
- **AReS.** The notebook's is a fast variant of its authors, which keeps the rules that raise coverage; the published
  form weighs coverage against wrong rules, width and cost.
""",
    keys=("method",),
    numbers=(
        Number(("GLOBE-CE",), "coverage", 95.0, 5.0, 1), Number(("GLOBE-CE",), "cost", 1.09, 0.1, -1),
        Number(("AReS",), "coverage", 81.67, 5.0, 1), Number(("AReS",), "cost", 1.1, 0.1, -1),
    ),
    ways={
        globe_ce.AS_RUN: "",
        globe_ce.CONVERGED: "it is not stopped.",
        globe_ce.EARLY: "it is stopped there.",
        globe_ce.ONE: "directions of one.",
        globe_ce.WIDER: "directions of three.",
        globe_ce.LIBRARY: "`globe-ce` with one line of two features: steps that people can say, chosen by how many it "
        "turns and by cost.",
        globe_ce.OPEN: "`ares` in its own form, which counts the people whom rules serve, and whose conditions may be "
        "half-lines.",
    },
    measured=globe_ce.measured,
    decides=("firsts/globe_ce.py",),
    decimals={"coverage": 1},
)  # fmt: skip

_PROBE = {  # accuracy, share with recourse, invalidation and its spread, cost and its spread
    ("compas", "linear"): (0.84, 1.00, 0.28, 0.02, 0.63, 0.39),
    ("compas", "network"): (0.85, 1.00, 0.33, 0.02, 0.80, 0.34),
    ("gmc", "linear"): (0.92, 1.00, 0.24, 0.01, 0.60, 0.56),
    ("gmc", "network"): (0.93, 1.00, 0.25, 0.03, 0.47, 0.21),
    ("adult", "linear"): (0.83, 1.00, 0.34, 0.02, 1.56, 0.92),
    ("adult", "network"): (0.85, 0.99, 0.35, 0.01, 1.43, 0.49),
}
PROBE = Original(
    name="probe",
    title="PROBE's Table 1: recourse that bears an error",
    intro="Pawelczyk, Datta, van-den-Heuvel, Kasneci and Lakkaraju (2023) look for recourse that an error undoes no "
    f"more often than a target, here .35 at a standard deviation of .1 in every column. {_UNREAD}, and so is the "
    "setting (facts, no code of it): COMPAS, Give Me Some Credit and Adult with two-valued columns in place of "
    "categories, all in [0, 1]; a regression, and a network of 50 units; the first 500 refused people; Adam from the "
    "person on with cross-entropy, a price on the l1 distance and a hinge on the rate to first order, until there is "
    "a yes that meets it; two-valued columns are rounded, all move. *Share with recourse*: of the refused; "
    "*invalidation*: the share of errors that undo an option, counted, in the mean of people (*their spread*); "
    f"*cost*: l1. ± is the 95 % interval of our mean over {{seeds}} seeds, which draw the test part and train the "
    "models.",
    tolerance="Tolerance: .02 of accuracy and share, .03 of invalidation, 15 % of a cost.",
    notes="""
- **What is different.** Which rows are the test part; the table's order decides who the first 500 are, and it is that
  of the raw files. The other columns of the paper's table (other methods) are not among the facts that we have.
- **Costs** are lower than the paper's on COMPAS and Adult: where an option ends at the first point that meets the
  rate, with two-valued columns read as 0 or 1 on the way, hardly anybody's flip. The record's own run has .76 on
  Adult with the network, too (paper 1.43).
- **Invalidation** ends at the target of .35 where steps are small, and lower where they are large; the paper's lies
  below it on COMPAS and GMC with regression, at .28 and .24. The record's step is .001; which the paper took is not
  known.
- **The cross-entropy** here goes on towards a yes. The record has a target of .55 for it, which holds back: with
  steps of .001 many on Adult and GMC with the network do not reach the rate (*towards .55*).
- **wayforward's probe** answers the first 100 people: the least distance at which the rate is met. To first order:
  counted, it is .33 to .38 of networks' options.
""",
    keys=("data", "model"),
    numbers=tuple(
        number
        for where, (right, share, rate, rates, cost, costs) in _PROBE.items()
        for number in (
            Number(where, "accuracy", right, 0.02, 1),
            Number(where, "share with recourse", share, 0.02, 1),
            Number(where, "invalidation", rate, 0.03, -1, rates),
            Number(where, "cost", cost, 0.15 * cost, -1, costs),
        )
    ),
    ways={
        probe.AS_RUN: "",
        probe.FREE: "two-valued columns end anywhere in [0, 1].",
        probe.FAST: "Adam's rate, in place of .001.",
        probe.DEAR: "of distance, in place of .01.",
        probe.HALF: "the chance of a yes that the cross-entropy seeks, in place of 1.",
        probe.LIBRARY: "`probe` with sigma=.1 and rate=.35, two-valued columns as such; of the first 100 people.",
    },
    measured=probe.measured,
    decides=("firsts/probe.py",),
    n=probe.PEOPLE,
)

#: The pages, in their order.
ORIGINALS: dict[str, Original] = {one.name: one for one in (ROAR, MACE, GLOBE_CE, PROBE)}
