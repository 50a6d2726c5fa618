"""GMSC: Give Me Some Credit, will a borrower be 90 days late within two years."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from wayforward.data.dataset import Acts, Dataset, Entry, Source, Step, made
from wayforward.data.files import Files, Known
from wayforward.errors import DataError
from wayforward.schema import Feature
from wayforward.schema.feature import Missing

FILE = "gmsc/cs-training.csv"

# The raw order after the row number. Hyphens are no part of a Python name, so they became underscores.
NAMES = (
    "RevolvingUtilizationOfUnsecuredLines",
    "age",
    "NumberOfTime30_59DaysPastDueNotWorse",
    "DebtRatio",
    "MonthlyIncome",
    "NumberOfOpenCreditLinesAndLoans",
    "NumberOfTimes90DaysLate",
    "NumberRealEstateLoansOrLines",
    "NumberOfTime60_89DaysPastDueNotWorse",
    "NumberOfDependents",
)
_USE, _AGE, _LATE30, _DEBT, _INCOME, _LINES, _LATE90, _HOMES, _LATE60, _DEPENDENTS = range(10)
_LATE = [_LATE30, _LATE90, _LATE60]

# Above these a value is no longer a share, or no longer a monthly income: 0.3 % of the complete rows.
MOST_USE, MOST_DEBT, MOST_INCOME = 10.0, 10.0, 100_000.0

ENTRY = Entry(
    name="gmsc",
    title="Give Me Some Credit (Kaggle 2011)",
    rows=117_522,
    favourable="1 (not 90 days late within two years; raw value 0)",
    sensitive=("age",),
    source=Source(
        origin="Kaggle competition GiveMeSomeCredit, cs-training.csv, 150,000 rows, 12 columns.",
        citation="Credit Fusion and Will Cukierski (2011), Give Me Some Credit, Kaggle.",
        terms="The competition's rules; no open licence. Research only; do not pass the file on.",
        url="https://www.kaggle.com/c/GiveMeSomeCredit",
    ),
    acts=("recommended", "benchmark", "hare", "pear", "carla", "segregation", "icarma", "reachml"),
    variants={
        "missing": "rows with missing values stay (income, debt ratio, late payments, dependents may be "
        "missing)",
        "outliers": "rows with a utilisation or debt ratio above 10 or an income above 100,000 stay",
        "clipped": "the preparation of PEAR and iCARMA: complete rows, utilisation and debt ratio cut at "
        "1, income at 17,000, codes 96 and 98 set to 18",
    },
    exclusive=(("missing", "clipped"), ("outliers", "clipped")),
    files={
        FILE: Known(
            ("1bd46da486a5708c58c7b01a034fae2a13b327f6f7b62ea7ba4fe3b5824b24ac",),
            "https://www.kaggle.com/c/GiveMeSomeCredit/data (accept the competition rules there)",
        )
    },
)

# The causal graph of PEAR, adopted by iCARMA.
_SHORT = dict(
    zip(
        ("AGE", "NDP", "INC", "RUL", "NCL", "NEL", "DBR", "30L", "60L", "90L"),
        (
            NAMES[i]
            for i in (_AGE, _DEPENDENTS, _INCOME, _USE, _LINES, _HOMES, _DEBT, _LATE30, _LATE60, _LATE90)
        ),
        strict=True,
    )
)
GRAPH = tuple(
    (_SHORT[cause], _SHORT[effect])
    for cause, effects in {
        "AGE": ("INC", "DBR", "NDP", "NCL", "NEL"),
        "INC": ("NCL", "NEL", "RUL"),
        "RUL": ("30L", "60L", "90L"),
        "NCL": ("30L", "60L", "90L", "DBR"),
        "NEL": ("30L", "60L", "90L", "DBR"),
    }.items()
    for effect in effects
)

_LABELS = {
    _USE: "share of credit limits in use",
    _AGE: "age",
    _LATE30: "times 30 to 59 days late in two years",
    _DEBT: "debt and living costs as a share of income",
    _INCOME: "monthly income",
    _LINES: "open loans and credit lines",
    _LATE90: "times 90 days late or more",
    _HOMES: "real-estate loans",
    _LATE60: "times 60 to 89 days late in two years",
    _DEPENDENTS: "people who depend on the borrower",
}


# a borrower can state an income and who depends on it; not a ratio without an income, nor what was only a code
_MISSING: dict[int, Missing] = {
    _INCOME: "may be told",
    _DEPENDENTS: "may be told",
    _DEBT: "stays",
    **dict.fromkeys(_LATE, "stays"),
}


def features(x: np.ndarray, high: dict[int, float], missing: bool) -> tuple[Feature, ...]:
    """The 10 features; `high`: ends that a variant sets, else the largest value of the rows."""
    return tuple(
        Feature(
            name=name,
            kind="real" if j in (_USE, _DEBT) else "integer",
            low=21 if j == _AGE and np.nanmin(x[:, j]) >= 21 else 0,
            high=high.get(j, float(np.ceil(np.nanmax(x[:, j])))),
            unit="years" if j == _AGE else "",
            label=_LABELS[j],
            description={
                _USE: "1 means that the limits are used up; more is possible.",
                _INCOME: "The source does not state the currency.",
            }.get(j, ""),
            sensitive=j == _AGE,
            missing=_MISSING[j] if missing and np.isnan(x[:, j]).any() else False,
            bounds="observed",
        )
        for j, name in enumerate(NAMES)
    )


def _acts(made_of: tuple[Feature, ...]) -> dict[str, Acts]:
    name = NAMES.__getitem__
    recommended = Acts(
        "Earn more, use less of the limits, owe less, open or close credit; late payments are the past.",
        {
            name(_USE): "A-",
            name(_AGE): "I",
            name(_LATE30): "M",
            name(_DEBT): "A-",
            name(_INCOME): "A+",
            name(_LINES): "A",
            name(_LATE90): "M",
            name(_HOMES): "A",
            name(_LATE60): "M",
            name(_DEPENDENTS): "I",
        },
        # A real-estate loan is one of the loans; every raw row agrees.
        (f"after.{name(_HOMES)} <= after.{name(_LINES)}",),
        {name(_USE): 0.02, name(_DEBT): 0.01, name(_INCOME): 100},
    )
    people = (name(_AGE), name(_DEPENDENTS))
    late = {name(j): "A-" for j in _LATE}
    return {
        "recommended": recommended,
        "benchmark": Acts(
            "As recommended, without its rule, and late payments may go down: a convention of the "
            "literature, not an action a person has.",
            {**recommended.marks, **late},
        ),
        "hare": Acts.except_for("HARE: age and dependents are fixed.", made_of, immutable=people),
        "pear": Acts.except_for("PEAR: age and dependents are fixed.", made_of, immutable=people),
        "carla": Acts.except_for("CARLA: age is fixed.", made_of, immutable=("age",)),
        "segregation": Acts.except_for(
            "Balanced recourse (social segregation): age is fixed, the other nine are free.",
            made_of,
            immutable=("age",),
        ),
        "icarma": Acts.except_for(
            "iCARMA: acts on income, utilisation, credit lines and real-estate loans; age and dependents "
            "are fixed, debt ratio and late payments follow.",
            made_of,
            immutable=people,
            mutable=(name(_DEBT), *late),
        ),
        "reachml": Acts(
            "ReachML (there on binned features): age, dependents and late payments are fixed; income only "
            "up; utilisation, debt ratio, credit lines and real-estate loans only down.",
            {f.name: "I" if f.name in (*people, *late) else "A-" for f in made_of} | {name(_INCOME): "A+"},
        ),
    }


def read(files: Files) -> tuple[np.ndarray, np.ndarray]:
    """(150000,) who was late and (150000, 10) features as they stand in the file, NaN where they are missing."""
    content = files.read(FILE).replace(b"NA", b"nan")
    table = np.loadtxt(io.BytesIO(content), delimiter=",", skiprows=1, usecols=range(1, 12))
    if table.shape[1] != 1 + len(NAMES):
        raise DataError(f"The gmsc file has {table.shape[1]} columns; expected 11 beside the row number.")
    return table[:, 0] == 1, table[:, 1:]


def build(files: Files, chosen: frozenset[str]) -> Dataset:
    """Read the file, mend the codes, and keep the complete and credible rows unless told otherwise."""
    late, x = read(files)
    keep = np.ones(len(x), dtype=bool)
    steps = [Step("read cs-training.csv", len(x))]

    def drop(what: str, wrong: Any) -> None:
        keep[wrong] = False
        steps.append(Step(what, int(keep.sum())))

    coded = np.asarray((x[:, _LATE] > 90).any(axis=1))
    high: dict[int, float] = {}
    if "clipped" in chosen:
        drop("dropped rows with a missing value", np.isnan(x).any(axis=1))
        x[:, _LATE] = np.where(x[:, _LATE] > 90, 18.0, x[:, _LATE])
        high = {_USE: 1.0, _DEBT: 1.0, _INCOME: 17_000.0}
        for j, most in high.items():
            cut = int((x[keep, j] > most).sum())
            steps.append(Step(f"cut {NAMES[j]} at {most:,.0f} in {cut:,} rows", int(keep.sum())))
            x[:, j] = np.minimum(x[:, j], most)
    else:
        drop("dropped the row with age 0", x[:, _AGE] == 0)
        x[coded[:, None] & np.isin(np.arange(len(NAMES)), _LATE)] = np.nan
        steps.append(
            Step(f"codes 96 and 98 of late payments became missing in {coded.sum()} rows", int(keep.sum()))
        )
        amount = ~(x[:, _INCOME] > 1)  # unknown, 0 or 1: then DebtRatio holds the debt itself
        x[amount, _DEBT] = np.nan
        steps.append(
            Step(
                f"DebtRatio became missing in {int((amount & keep).sum()):,} rows where income is missing, "
                "0 or 1 "
                "(there it is an amount, no ratio)",
                int(keep.sum()),
            )
        )
        if "missing" not in chosen:
            drop("dropped rows with a missing value", np.isnan(x).any(axis=1))
        if "outliers" not in chosen:
            high = {_USE: MOST_USE, _DEBT: MOST_DEBT, _INCOME: MOST_INCOME}
            for j, most in high.items():
                drop(f"dropped rows with {NAMES[j]} above {most:,.0f}", x[:, j] > most)
    x, late = x[keep], late[keep]
    made_of = features(x, high, "missing" in chosen)
    return made(
        ENTRY,
        chosen=chosen,
        features=made_of,
        columns={name: x[:, j] for j, name in enumerate(NAMES)},
        y=(~late).astype(np.int64),
        acts=_acts(made_of),
        label="paid_on_time",
        label_text={1: "never 90 days late within two years", 0: "90 days late or worse within two years"},
        steps=tuple(steps),
        notes=(
            "The raw label SeriousDlqin2yrs is 1 for a serious delinquency; here 1 = none. (CARLA's copy "
            "flips the label under the old name.)",
            "96 and 98 in the three late-payment counts are codes, no counts: the same 269 rows hold them "
            "in all three.",
            "Where income is missing, 0 or 1, DebtRatio is an amount; it is treated as missing there.",
            "Utilisation should lie between 0 and 1; 3,321 raw rows exceed 1 (kept: people over their "
            "limit), 241 exceed 10 (dropped unless 'outliers').",
            "609 raw rows repeat another row apart from the row number; they are kept.",
            "Strong imbalance: train with class weights or choose a threshold, or almost nobody is refused.",
            "Hyphens in column names became underscores.",
        ),
        dropped={"(unnamed)": "the row number"},
        graph=GRAPH,
    )
