"""Every number that the paper states in its Tables 1 to 6, under the key that we measure it under.

Each line of a table holds one mean ± spread for each way of asking, measure by measure. The paper does not say what
its spread is taken over. Its lines of CRUDS with HARE and Multi-HARE are the same for both classifiers, to the last
digit, so one of the two was copied; those of the network are left out of every verdict (`COPIED`).

Source: HARE: human-in-the-loop algorithmic recourse, under review; read from its text.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace

DATASETS = ("adult", "compas", "gmsc")
CLASSIFIERS = ("ann", "lr")
SCALES = ("near", "intermediate", "far")
MEASURES = ("gtp", "gtd", "success", "violations", "redundancy", "proximity", "sparsity")
TITLES = {
    1: "User satisfaction",
    2: "Budget of questions",
    3: "Number of iterations",
    4: "Classical measures",
    5: "Calibrating every candidate or the best one",
    6: "How far away people's wishes are",
}


@dataclass(frozen=True, order=True)
class Asking:
    """How people were asked. iterations 0: the base method alone, nobody was asked.

    asker: 'hare' or 'learned'. calibrate: which candidates are moved to the boundary. keep: ours, the plan from before
    takes part in each round; the printed algorithm drops it. step: how far a direction leads, in ranges (the paper's
    gamma, which is 1).
    """

    iterations: int = 0
    budget: int = 0
    calibrate: str = "every"
    asker: str = "hare"
    keep: bool = False
    step: float = 1.0

    @property
    def key(self) -> str:
        """One word for files and columns."""
        if not self.budget:
            return "base"
        if self.asker != "hare":
            return f"{self.asker}-{self.budget}"
        more = ("" if self.calibrate == "every" else f"-{self.calibrate}") + ("-kept" if self.keep else "")
        more += "" if self.step == 1 else f"-step{self.step:g}"
        return f"hare-{self.iterations}x{self.budget // max(1, self.iterations)}{more}"

    def __str__(self) -> str:
        if not self.budget:
            return "base"
        if self.asker != "hare":
            return f"ours: {self.asker}, {self.budget} questions"
        name = "HARE" if self.iterations == 1 else "Multi-HARE"
        more = [] if self.budget == 30 else [f"B={self.budget}"]
        more += [] if self.iterations in (1, 5) else [f"T={self.iterations}"]
        more += [] if self.calibrate == "every" else ["only the best calibrated"]
        more += [] if self.step == 1 else [f"steps of {self.step:g}"]
        return ("ours: " if self.keep else "") + f"{name} {', '.join(more)}".strip()

    @property
    def printed(self) -> Asking:
        """The same as the paper's algorithm is printed."""
        return replace(self, keep=False, step=1.0)

    @property
    def kept(self) -> Asking:
        """The same where the plan from before takes part in each round, which is ours."""
        return replace(self, keep=True)


BASE, HARE, MULTI = Asking(), Asking(1, 30), Asking(5, 30)


@dataclass(frozen=True, order=True)
class HareCase:
    """Whom we ask about what: a classifier, a data set, a base method, and how far away their wishes are.

    What the paper does not try: answers, how people err (`study.NOISES`) or that they choose 'by-direction'; pinned,
    False for wishes at percentiles of our own distances instead of the paper's; reach, how many times as far as pinned
    ones are; world, 'linear' for a causal one; the base 'wachter-small', whose steps are smaller than those of
    'wachter', 'face-strict', which keeps to people's limits, 'face-alike', which walks among people with the same
    immutables but for age, 'c-chvae-between' and 'cruds-between', whose binaries may end between 0 and 1, and
    'face-between', whose immutables may, too; the classifier 'lr-brief', a regression that is not trained to the end.
    """

    dataset: str
    base: str
    classifier: str = "ann"
    scale: str = "far"
    answers: str = "exact"
    pinned: bool = True
    world: str = ""
    reach: float = 1.0

    @property
    def key(self) -> str:
        """One word for files and columns."""
        more = [
            self.world,
            "" if self.pinned else "percentile",
            "" if self.answers == "exact" else self.answers,
            "" if self.reach == 1 else f"reach{self.reach:g}",
        ]
        return "-".join(
            [self.dataset, self.classifier, self.base, self.scale, *(word for word in more if word)]
        )

    @property
    def published(self) -> HareCase:
        """The case of the paper that this one is compared with."""
        base = self.base
        for ending in ("-small", "-alike", "-between", "-strict"):
            base = base.removesuffix(ending)
        classifier = self.classifier.removesuffix("-brief")
        return replace(self, pinned=True, base=base, classifier=classifier, answers="exact", reach=1.0)


@dataclass(frozen=True)
class Stated:
    """What a table states: the mean, and its spread where the paper gives one."""

    mean: float
    spread: float | None = None


#: Lines that the paper repeats from the other classifier: nothing to compare with.
COPIED = frozenset((HareCase(dataset, "cruds", "ann"), way) for dataset in DATASETS for way in (HARE, MULTI))

_WAYS: dict[int, tuple[Asking, ...]] = {
    1: (BASE, HARE, MULTI),
    2: (BASE, Asking(1, 10), HARE, Asking(1, 70), Asking(1, 100)),
    3: (HARE, Asking(3, 30), MULTI, Asking(10, 30)),
    4: (BASE, HARE, MULTI),
    5: (BASE, Asking(5, 30, "best"), MULTI),
    6: (BASE, HARE, MULTI),
}

_TABLE_1 = """
ann adult wachter | .93±.38 .69±.31 .58±.28 | .87±.03 .09±.04 .08±.03
ann compas wachter | .39±.34 .27±.26 .27±.26 | .75±.30 .27±.17 .26±.15
ann gmsc wachter | 1.07±.18 .89±.17 .90±.22 | .97±.26 .37±.09 .38±.12
ann adult growing-spheres | .92±.39 .71±.34 .56±.27 | .82±.09 .10±.05 .08±.03
ann compas growing-spheres | .40±.31 .26±.22 .25±.23 | .80±.10 .21±.10 .21±.10
ann gmsc growing-spheres | 1.06±.19 .89±.18 .83±.21 | 1.06±.09 .40±.06 .30±.07
ann adult face | 1.06±.36 .77±.35 .56±.26 | 1.06±.09 .24±.05 .08±.02
ann compas face | .42±.32 .26±.22 .25±.24 | .82±.16 .21±.10 .21±.10
ann gmsc face | 1.11±.19 .90±.18 .83±.22 | 1.09±.17 .42±.09 .32±.08
ann adult c-chvae | 1.32±.25 .83±.35 .60±.29 | .99±.03 .48±.06 .07±.03
ann compas c-chvae | .42±.32 .29±.30 .29±.31 | .76±.24 .26±.11 .25±.14
ann gmsc c-chvae | 1.13±.20 .91±.18 .83±.21 | 1.01±.13 .44±.07 .32±.07
ann compas clue | .95±.19 .32±.26 .26±.24 | .71±.19 .33±.12 .23±.10
ann gmsc clue | 1.22±.18 .93±.17 .84±.21 | 1.04±.10 .49±.09 .33±.07
ann adult cruds | 2.16±.54 1.09±.36 .50±.19 | 1.12±.12 1.00±.14 .09±.02
ann compas cruds | 1.22±.15 .23±.05 .15±.03 | .70±.20 .38±.09 .15±.02
ann gmsc cruds | 1.20±.22 .77±.19 .64±.15 | 1.01±.16 .34±.08 .23±.04
lr adult wachter | .94±.35 .63±.27 .39±.17 | .80±.10 .10±.01 .07
lr compas wachter | .25±.06 .16±.05 .15±.05 | .58±.17 .14±.07 .13±.08
lr gmsc wachter | .90±.18 .72±.17 .65±.15 | .73±.05 .30±.06 .21±.02
lr adult growing-spheres | .91±.38 .64±.29 .39±.21 | .72±.17 .12±.04 .05±.02
lr compas growing-spheres | .28±.08 .17±.05 .16±.06 | .89±.18 .15±.07 .17±.13
lr gmsc growing-spheres | .93±.17 .73±.16 .63±.18 | .87±.06 .29±.01 .19±.06
lr adult face | 1.19±.31 .77±.32 .43±.20 | 1.03±.12 .30±.06 .07±.02
lr compas face | .27±.07 .15±.05 .15±.05 | .72±.15 .14±.07 .16±.12
lr gmsc face | .96±.21 .74±.19 .63±.18 | .91±.10 .31±.04 .19±.07
lr adult c-chvae | 1.42±.20 .87±.30 .50±.23 | .96±.05 .50±.03 .09±.04
lr compas c-chvae | .31±.09 .12±.02 .13±.04 | .75±.22 .12±.07 .13±.04
lr gmsc c-chvae | .98±.24 .74±.21 .63±.19 | .86±.16 .30±.06 .19±.07
lr compas clue | .89±.03 .20±.05 .16±.05 | .67±.13 .27±.09 .17±.13
lr gmsc clue | 1.07±.23 .76±.20 .64±.18 | .87±.13 .33±.08 .20±.07
lr adult cruds | 2.92±.45 1.09±.36 .50±.19 | 1.22±.12 1.00±.14 .09±.02
lr compas cruds | 1.27±.02 .23±.05 .15±.03 | .70±.11 .38±.09 .15±.02
lr gmsc cruds | 1.04±.23 .77±.19 .64±.15 | .85±.14 .34±.08 .23±.04
"""

_TABLE_2 = """
adult wachter | .93±.38 .69±.31 .69±.31 .67±.33 .67±.33 | .87±.03 .10±.04 .09±.04 .10±.03 .12±.03
compas wachter | .39±.34 .33±.34 .27±.26 .24±.23 .24±.25 | .75±.30 .40±.24 .27±.17 .21±.16 .20±.14
gmsc wachter | 1.07±.18 .95±.18 .89±.17 .86±.18 .85±.19 | .97±.26 .42±.14 .37±.09 .32±.04 .33±.04
adult growing-spheres | .92±.39 .75±.34 .71±.34 .68±.33 .65±.32 | .82±.09 .23±.07 .10±.05 .11±.02 .10±.02
compas growing-spheres | .40±.31 .34±.31 .26±.22 .25±.25 .23±.23 | .80±.10 .38±.09 .21±.10 .19±.10 .16±.09
gmsc growing-spheres | 1.06±.19 .91±.15 .89±.18 .85±.17 .83±.17 | 1.06±.09 .45±.16 .40±.06 .31±.05 .30±.02
adult face | 1.06±.36 .81±.35 .77±.35 .74±.34 .72±.34 | 1.06±.09 .33±.11 .24±.05 .20±.03 .19±.03
compas face | .42±.32 .34±.31 .26±.22 .25±.25 .23±.23 | .82±.16 .35±.10 .21±.10 .18±.10 .17±.09
gmsc face | 1.11±.19 .91±.15 .90±.18 .86±.17 .84±.17 | 1.09±.17 .46±.15 .42±.09 .34±.05 .31±.02
"""

_TABLE_3 = """
adult wachter | .69±.31 .48±.23 .58±.28 .59±.29 | .09±.04 .07±.01 .08±.03 .10±.03
compas wachter | .27±.26 .22±.18 .27±.26 .22±.20 | .27±.17 .22±.14 .26±.15 .20±.14
gmsc wachter | .89±.17 .89±.19 .90±.22 .87±.22 | .37±.09 .36±.09 .38±.12 .32±.04
adult growing-spheres | .71±.34 .55±.25 .56±.27 .58±.27 | .10±.05 .10±.02 .08±.03 .07±.02
compas growing-spheres | .26±.22 .27±.26 .25±.23 .28±.28 | .21±.10 .21±.08 .21±.10 .23±.10
gmsc growing-spheres | .89±.18 .86±.21 .83±.21 .85±.17 | .40±.06 .34±.11 .30±.07 .33±.05
adult face | .77±.35 .55±.26 .56±.26 .61±.28 | .24±.05 .11±.03 .08±.02 .08±.03
compas face | .26±.22 .27±.26 .25±.24 .27±.28 | .21±.10 .21±.08 .21±.10 .22±.09
gmsc face | .90±.18 .86±.21 .83±.22 .86±.18 | .42±.09 .34±.11 .32±.08 .34±.03
"""

_TABLE_4 = """
adult wachter | .93±.38 .69±.31 .58±.28 | .87±.03 .09±.04 .08±.03 | 1.00±.00 1.00±.00 1.00±.00
    | .00±.00 .00±.00 .00±.00 | 3.30±.13 3.41±.33 3.46±.14 | .02±.00 .10±.04 .25±.12 | 4.00±.00 4.00±.00 4.00±.00
adult growing-spheres | .92±.39 .71±.34 .56±.27 | .82±.09 .10±.05 .08±.03 | 1.00±.00 1.00±.00 1.00±.00
    | .00±.00 .00±.00 .00±.00 | 2.78±.06 3.43±.26 3.43±.27 | .01±.00 .09±.02 .29±.14 | 4.00±.00 4.00±.00 4.00±.00
adult face | 1.06±.36 .77±.35 .56±.26 | 1.06±.09 .24±.05 .08±.02 | 1.00±.00 1.00±.00 1.00±.00
    | 2.01±.02 2.00±.01 1.96±.02 | 2.80±.32 2.23±.21 2.43±.35 | .20±.02 .09±.03 .29±.15 | 4.22±.13 6.04±.02 5.97±.04
compas wachter | .39±.34 .27±.26 .27±.26 | .75±.30 .27±.17 .26±.15 | .83±.22 .82±.22 .82±.22
    | .00±.00 .00±.00 .00±.00 | 2.02±.19 1.67±.36 1.74±.32 | .03±.02 .09±.10 .09±.10 | 2.95±.01 3.00±.01 2.99±.01
compas growing-spheres | .40±.31 .26±.22 .25±.23 | .80±.10 .21±.10 .21±.10 | 1.00±.00 1.00±.00 1.00±.00
    | .00±.00 .00±.00 .00±.00 | 1.29±.12 1.81±.52 1.53±.46 | .04±.01 .13±.12 .15±.16 | 3.00±.00 3.00±.00 3.00±.00
compas face | .42±.32 .26±.22 .25±.24 | .82±.16 .21±.10 .21±.10 | 1.00±.00 1.00±.00 1.00±.00
    | .81±.06 .81±.06 .75±.10 | 1.08±.05 1.32±.54 1.12±.53 | .06±.01 .13±.12 .14±.14 | 2.55±.02 3.80±.05 3.70±.09
gmsc wachter | 1.07±.18 .89±.17 .90±.22 | .97±.26 .37±.09 .38±.12 | .86±.18 .86±.18 .86±.18
    | .00±.00 .00±.00 .00±.00 | 4.99±.21 4.64±.29 4.55±.51 | .03±.02 .15±.03 .14±.07 | 6.90±.07 7.99±.01 7.99±.01
gmsc growing-spheres | 1.06±.19 .89±.18 .83±.21 | 1.06±.09 .40±.06 .30±.07 | 1.00±.00 1.00±.00 1.00±.00
    | .00±.00 .00±.00 .00±.00 | 5.61±.40 4.48±.35 4.15±.39 | .02±.01 .15±.05 .21±.06 | 7.99±.02 8.00±.00 8.00±.00
gmsc face | 1.11±.19 .90±.18 .83±.22 | 1.09±.17 .42±.09 .32±.08 | 1.00±.00 1.00±.00 1.00±.00
    | .89±.03 .89±.03 .87±.03 | 4.93±.11 3.82±.15 3.67±.40 | .12±.01 .15±.06 .23±.08 | 6.05±.10 8.88±.03 8.85±.04
"""

_TABLE_5 = """
adult wachter | .93±.38 .64±.29 .58±.28 | .87±.03 .11±.03 .08±.03
compas wachter | .39±.34 .33±.25 .27±.26 | .75±.30 .54±.31 .26±.15
gmsc wachter | 1.07±.18 .95±.19 .90±.22 | .97±.26 .47±.09 .38±.12
adult growing-spheres | .92±.39 .68±.30 .56±.27 | .82±.09 .12±.04 .08±.03
compas growing-spheres | .40±.31 .30±.22 .25±.23 | .80±.10 .47±.22 .21±.10
gmsc growing-spheres | 1.06±.19 .89±.19 .83±.21 | 1.06±.09 .39±.02 .30±.07
adult face | 1.06±.36 .70±.29 .56±.26 | 1.06±.09 .15±.07 .08±.02
compas face | .42±.32 .31±.23 .25±.24 | .82±.16 .50±.26 .21±.10
gmsc face | 1.11±.19 .90±.19 .83±.22 | 1.09±.17 .40±.03 .32±.08
"""

_TABLE_6 = """
adult wachter near | .18±.06 .08±.02 .07±.01 | .70±.26 .09±.02 .06±.03
adult wachter intermediate | .58±.23 .36±.17 .29±.13 | .89±.09 .10±.02 .06±.02
adult wachter far | .93±.38 .69±.31 .58±.28 | .87±.03 .09±.04 .08±.03
adult growing-spheres near | .15±.06 .09±.04 .08±.03 | .50±.19 .12±.07 .09±.04
adult growing-spheres intermediate | .56±.25 .39±.17 .30±.13 | .74±.13 .10±.03 .08±.04
adult growing-spheres far | .92±.39 .71±.34 .56±.27 | .82±.09 .10±.05 .08±.03
adult face near | .39±.04 .12±.03 .10±.01 | .84±.15 .23±.02 .15±.08
adult face intermediate | .73±.21 .44±.19 .31±.13 | 1.03±.11 .22±.04 .09±.04
adult face far | 1.06±.36 .77±.35 .56±.26 | 1.06±.09 .24±.05 .08±.02
compas wachter near | .12±.07 .05±.02 .06±.02 | .45±.10 .12±.03 .11±.03
compas wachter intermediate | .27±.21 .17±.13 .17±.13 | .72±.29 .26±.15 .25±.12
compas wachter far | .39±.34 .27±.26 .27±.26 | .75±.30 .27±.17 .26±.15
compas growing-spheres near | .11±.03 .07±.02 .05±.01 | .44±.08 .12±.03 .10±.04
compas growing-spheres intermediate | .29±.17 .16±.10 .16±.11 | .74±.06 .20±.09 .20±.07
compas growing-spheres far | .40±.31 .26±.22 .25±.23 | .80±.10 .21±.10 .21±.10
compas face near | .15±.04 .06±.02 .06±.01 | .51±.01 .11±.04 .10±.04
compas face intermediate | .31±.18 .16±.11 .16±.12 | .73±.13 .21±.09 .20±.07
compas face far | .42±.32 .26±.22 .25±.24 | .82±.16 .21±.10 .21±.10
gmsc wachter near | .20±.03 .15±.01 .15±.01 | .68±.19 .38±.05 .34±.02
gmsc wachter intermediate | .65±.03 .52±.03 .52±.08 | .88±.25 .36±.08 .36±.10
gmsc wachter far | 1.07±.18 .89±.17 .90±.22 | .97±.26 .37±.09 .38±.12
gmsc growing-spheres near | .21±.02 .17±.02 .16±.01 | .90±.13 .43±.05 .39±.11
gmsc growing-spheres intermediate | .66±.05 .53±.04 .49±.06 | 1.04±.10 .39±.06 .30±.04
gmsc growing-spheres far | 1.06±.19 .89±.18 .83±.21 | 1.06±.09 .40±.06 .30±.07
gmsc face near | .33±.03 .17±.01 .16±.01 | .83±.18 .41±.07 .36±.10
gmsc face intermediate | .73±.04 .53±.04 .49±.06 | 1.06±.13 .42±.08 .31±.04
gmsc face far | 1.11±.19 .90±.18 .83±.22 | 1.09±.17 .42±.09 .32±.08
"""

_TABLES = {1: _TABLE_1, 2: _TABLE_2, 3: _TABLE_3, 4: _TABLE_4, 5: _TABLE_5, 6: _TABLE_6}


@dataclass(frozen=True)
class HarePublished:
    """One line of one table: a case, a way of asking, and what is stated about them by name of the measure."""

    table: int
    case: HareCase
    way: Asking
    stated: dict[str, Stated]


@functools.cache
def rows(table: int) -> tuple[HarePublished, ...]:
    """The lines of a table in the paper's order, a way of asking each."""
    lines = _TABLES[table].strip().replace("\n    |", " |").splitlines()
    parts = ([part.split() for part in line.split("|")] for line in lines)
    return tuple(row for who, *cells in parts for row in _line(table, who, cells))


def _line(table: int, who: list[str], cells: list[list[str]]) -> Iterator[HarePublished]:
    classifier = who.pop(0) if table == 1 else "ann"
    case = HareCase(who[0], who[1], classifier, who[2] if table == 6 else "far")
    for place, way in enumerate(_WAYS[table]):
        names = MEASURES[: len(cells)]
        yield HarePublished(
            table, case, way, {name: _number(cell[place]) for name, cell in zip(names, cells, strict=True)}
        )


def _number(text: str) -> Stated:
    mean, _, spread = text.partition("±")
    return Stated(float(mean), float(spread) if spread else None)


def radius(dataset: str, classifier: str, scale: str) -> float:
    """How far away the paper's wishes are on average: what Wachter's small steps leave of the way to them.

    With logistic regression the paper states the far scale only; nearer ones keep the network's proportions. For
    classifiers that it does not try, the network's distances are taken.
    """
    classifier = classifier if classifier in CLASSIFIERS else "ann"
    stated = {row.case: row.stated["gtp"].mean for table in (1, 6) for row in rows(table) if row.way == BASE}
    if (case := HareCase(dataset, "wachter", classifier, scale)) in stated:
        return stated[case]
    network = {s: stated[HareCase(dataset, "wachter", "ann", s)] for s in SCALES}
    return stated[HareCase(dataset, "wachter", classifier, "far")] * network[scale] / network["far"]
