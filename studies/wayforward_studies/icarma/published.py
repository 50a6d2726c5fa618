"""Every number that the paper states in its Tables 1, 2, 3, 5 and 6, under the key that we measure it under.

The costs of the tables are not in the text that this was read from, so there are none here.

Source: Budde, Majumdar, Uth, Langer & Valera (2026), From universal to individualized actionability: revisiting
personalization in algorithmic recourse (iCARMA).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

PROFILES = ("constant", "concave", "linear", "convex")

#: How far a measured share may be from the published one before the row is called better or worse.
TOLERANCE = {
    "oracle": {"validity": 0.03, "plausibility": 0.005, "hap": 0.04},
    "icarma": {"validity": 0.03, "plausibility": 0.08, "hap": 0.08},
}


@dataclass(frozen=True, order=True)
class IcarmaCase:
    """Whom we ask and what they say they can do.

    elicited: 'ranks' or 'scores'. law: how likely each ranking is: 'uniform', 'causal' or 'reverse'. features: how
    many features each person can act on; 0: as many as chance has it. profile: the shape of the cost weights.
    """

    dataset: str = "loan"
    elicited: str = "ranks"
    law: str = "uniform"
    features: int = 4
    profile: str = "constant"

    @property
    def drawn(self) -> str:
        """The name of the draw; the profile weighs what was drawn and draws nothing."""
        return f"{self.dataset}-{self.elicited}-{self.law}-{self.features or 'random'}"

    @property
    def key(self) -> str:
        """One word for files and columns."""
        return f"{self.drawn}-{self.profile}"

    def __str__(self) -> str:
        many = {0: "a random number of features", 1: "1 feature", 4: "all 4 features"}
        words = [many.get(self.features, f"{self.features} features")]
        if self.law != "uniform":
            words.insert(0, f"{self.law} order")
        if self.elicited == "scores":
            words = ["scores", "all 4 features" if self.features else "features at random"]
        if self.profile != "constant":
            words.append(f"{self.profile} weights")
        return ", ".join(words)


@dataclass(frozen=True)
class IcarmaPublished:
    """One line of one table: shares of people, None where the paper states none.

    method: 'oracle', 'oracle-free' (without the demand for plausibility), 'icarma', 'icarma-reverse' (trained on
    preferences of the reverse causal order).
    """

    table: int
    case: IcarmaCase
    method: str
    validity: float
    plausibility: float
    hap: float | None = None

    def value(self, name: str) -> float | None:
        """validity, plausibility or hap."""
        got: float | None = getattr(self, name)
        return got

    def tolerance(self, name: str) -> float:
        """How far a measured value may be from the published one; unmet plausibility is iCARMA's in both."""
        kind = "icarma" if self.method.startswith("icarma") else "oracle"
        if self.method == "oracle-free" and name == "plausibility":
            kind = "icarma"
        return TOLERANCE[kind][name]


def _table_1() -> Iterator[IcarmaPublished]:
    for features, oracle, validity, plausibility in (
        (4, 0.959, 0.999, 0.886),
        (3, 0.796, 0.995, 0.689),
        (2, 0.539, 0.991, 0.481),
        (1, 0.22, 0.836, 0.258),
        (0, 0.637, 0.963, 0.6),
    ):
        yield IcarmaPublished(1, IcarmaCase(features=features), "oracle", oracle, 1.0)
        yield IcarmaPublished(1, IcarmaCase(features=features), "icarma", validity, plausibility)
    yield IcarmaPublished(1, IcarmaCase("gmsc", features=4), "icarma", 0.88, 0.956)
    yield IcarmaPublished(1, IcarmaCase("gmsc", features=0), "icarma", 0.753, 0.886)


def _table_2() -> Iterator[IcarmaPublished]:
    soft = zip(
        (0.614, 0.492, 0.443, 0.387),
        ((0.999, 0.886, 0.852), (0.998, 0.631, 0.044), (0.996, 0.532, 0.029), (0.998, 0.541, 0.044)),
        strict=True,
    )
    both = zip(
        (0.694, 0.607, 0.596, 0.583),
        ((0.963, 0.6, 0.859), (0.951, 0.506, 0.447), (0.958, 0.439, 0.440), (0.962, 0.438, 0.436)),
        strict=True,
    )
    for features, oracle, lines in ((4, 0.959, soft), (0, 0.637, both)):
        for profile, (oracle_hap, icarma) in zip(PROFILES, lines, strict=True):
            case = IcarmaCase(features=features, profile=profile)
            yield IcarmaPublished(2, case, "oracle", oracle, 1.0, oracle_hap)
            yield IcarmaPublished(2, case, "icarma", *icarma)
    yield IcarmaPublished(2, IcarmaCase("gmsc", features=4, profile="linear"), "icarma", 0.865, 0.879, 0.30)
    yield IcarmaPublished(2, IcarmaCase("gmsc", features=3, profile="constant"), "icarma", 0.76, 0.88, 0.40)
    yield IcarmaPublished(2, IcarmaCase("gmsc", features=3, profile="linear"), "icarma", 0.73, 0.86, 0.34)


def _table_3() -> Iterator[IcarmaPublished]:
    soft = ((0.996, 0.841, 0.829), (0.995, 0.713, 0.225), (0.991, 0.646, 0.178), (0.982, 0.5, 0.194))
    both = ((0.991, 0.712, 0.838), (0.99, 0.618, 0.415), (0.987, 0.569, 0.349), (0.964, 0.443, 0.323))
    for features, lines in ((4, soft), (0, both)):
        for profile, line in zip(PROFILES, lines, strict=True):
            yield IcarmaPublished(
                3, IcarmaCase(elicited="scores", features=features, profile=profile), "icarma", *line
            )


def _table_5() -> Iterator[IcarmaPublished]:
    for features, oracle, validity, plausibility in (
        (4, 0.959, 0.998, 0.864),
        (3, 0.821, 0.997, 0.713),
        (2, 0.597, 0.997, 0.564),
        (1, 0.259, 0.886, 0.297),
        (0, 0.656, 0.971, 0.611),
    ):
        yield IcarmaPublished(5, IcarmaCase(law="causal", features=features), "oracle", oracle, 1.0)
        yield IcarmaPublished(
            5, IcarmaCase(law="causal", features=features), "icarma", validity, plausibility
        )
    for features, oracle, uniform, trained in (
        (4, 0.959, (1.0, 0.870), (1.0, 0.746)),
        (3, 0.778, (0.992, 0.644), (0.993, 0.587)),
        (2, 0.467, (0.988, 0.399), (0.961, 0.398)),
        (1, 0.166, (0.798, 0.194), (0.785, 0.210)),
        (0, 0.60, (0.950, 0.548), (0.935, 0.498)),
    ):
        case = IcarmaCase(law="reverse", features=features)
        yield IcarmaPublished(5, case, "oracle", oracle, 1.0)
        yield IcarmaPublished(5, case, "icarma", *uniform)
        yield IcarmaPublished(5, case, "icarma-reverse", *trained)


def _table_6() -> Iterator[IcarmaPublished]:
    for law, features, free, plausibility, strict in (
        ("uniform", 1, 0.876, 0.25, 0.22),
        ("uniform", 2, 0.994, 0.25, 0.539),
        ("causal", 1, 0.923, 0.28, 0.259),
        ("causal", 2, 0.997, 0.37, 0.597),
        ("reverse", 1, 0.838, 0.198, 0.166),
        ("reverse", 2, 0.997, 0.29, 0.467),
    ):
        case = IcarmaCase(law=law, features=features)
        yield IcarmaPublished(6, case, "oracle-free", free, plausibility)
        yield IcarmaPublished(6, case, "oracle", strict, 1.0)


ROWS: tuple[IcarmaPublished, ...] = (*_table_1(), *_table_2(), *_table_3(), *_table_5(), *_table_6())

TITLES = {
    1: "Hard limits: fewer features that each person can act on",
    2: "Rankings: soft preferences, alone and with hard limits",
    3: "Scores: soft preferences, alone and with hard limits",
    5: "Hard limits that follow the causal order, or run against it",
    6: "The oracle without its demand for plausibility",
}


def rows(table: int, dataset: str | None = None) -> tuple[IcarmaPublished, ...]:
    """The lines of one table, in the paper's order; `dataset`: only those of one data set."""
    return tuple(row for row in ROWS if row.table == table and dataset in (None, row.case.dataset))
