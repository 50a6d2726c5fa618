"""Default of credit card clients, Taiwan 2005: will a client miss the next payment."""

from __future__ import annotations

import io

import numpy as np

from wayforward.data.columns import levels, number
from wayforward.data.dataset import Acts, Dataset, Entry, Source, Step, made
from wayforward.data.files import GITHUB, Files, Known
from wayforward.schema import Feature

FILE = "default_credit/credit_card.csv"

ENTRY = Entry(
    name="default_credit",
    title="Default of Credit Card Clients (UCI, Taiwan 2005)",
    rows=30_000,
    favourable="1 (pays next month; raw value 0)",
    sensitive=("SEX", "AGE", "MARRIAGE"),
    source=Source(
        origin="UCI Machine Learning Repository (an .xls file there); CSV export with the original "
        "columns, 30,000 rows, 25 columns.",
        citation="Yeh (2009), Default of Credit Card Clients, doi:10.24432/C55S3H.",
        terms="CC BY 4.0, as reported by UCI.",
        url="https://doi.org/10.24432/C55S3H",
    ),
    acts=("recommended", "benchmark"),
    variants={"raw-codes": "EDUCATION and MARRIAGE keep their undocumented codes as levels of their own"},
    files={
        FILE: Known(
            ("4edce6da569b2c30788a85fd98a9bafb1a983e8ca1a7aac875dd7ff853cbd0bb",),
            "https://doi.org/10.24432/C55S3H",
            (f"{GITHUB}/ofurman/counterfactuals/3587f943/data/credit_card.csv",),
        )
    },
)

_MONTHS = ("September", "August", "July", "June", "May", "April")
_PAY = ("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6")  # the source skips PAY_1
_BILL = tuple(f"BILL_AMT{i}" for i in range(1, 7))
_PAID = tuple(f"PAY_AMT{i}" for i in range(1, 7))
_RAW = ("ID", "LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", *_PAY, *_BILL, *_PAID, "default")
_LOW_BILL = (-165_580, -69_777, -157_264, -170_000, -81_334, -339_603)
_HIGH_BILL = (964_511, 983_931, 1_664_089, 891_586, 927_171, 961_664)
_HIGH_PAID = (873_552, 1_684_259, 896_040, 621_000, 426_529, 528_666)
_STATUS = {
    -2: "no use of the card",
    -1: "paid in full",
    0: "revolving credit",
    **{i: f"{i} month{'s' if i > 1 else ''} late" for i in range(1, 9)},
}


def features(raw_codes: bool) -> tuple[Feature, ...]:
    """The 23 features; `raw_codes`: undocumented codes are levels of their own."""
    if raw_codes:
        education = levels(
            "EDUCATION",
            "education",
            "categorical",
            {
                0: "code 0",
                1: "graduate school",
                2: "university",
                3: "high school",
                4: "other",
                5: "code 5",
                6: "code 6",
            },
        )
        marriage = levels(
            "MARRIAGE",
            "marital status",
            "categorical",
            {0: "code 0", 1: "married", 2: "single", 3: "other"},
            sensitive=True,
        )
    else:
        education = levels(
            "EDUCATION",
            "education",
            "ordinal",
            {4: "other or unknown", 3: "high school", 2: "university", 1: "graduate school"},
            description="The raw code falls with more education; the levels here rise.",
        )
        marriage = levels(
            "MARRIAGE",
            "marital status",
            "categorical",
            {1: "married", 2: "single", 3: "other or unknown"},
            sensitive=True,
        )
    return (
        number("LIMIT_BAL", "credit limit", 10_000, 1_000_000, unit="NT$"),
        levels("SEX", "sex", "binary", {1: "man", 2: "woman"}, sensitive=True),
        education,
        marriage,
        number("AGE", "age", 21, 79, unit="years", sensitive=True),
        *(
            levels(name, f"payment status in {month}", "ordinal", _STATUS)
            for name, month in zip(_PAY, _MONTHS, strict=True)
        ),
        *(
            number(
                name,
                f"bill in {month}",
                low,
                high,
                unit="NT$",
                description="Negative: credit on the account.",
            )
            for name, month, low, high in zip(_BILL, _MONTHS, _LOW_BILL, _HIGH_BILL, strict=True)
        ),
        *(
            number(name, f"payment in {month}", 0, high, unit="NT$")
            for name, month, high in zip(_PAID, _MONTHS, _HIGH_PAID, strict=True)
        ),
    )


def _acts(made_of: tuple[Feature, ...], raw_codes: bool) -> dict[str, Acts]:
    marks = dict.fromkeys((f.name for f in made_of), "M")
    marks |= {"SEX": "I", "MARRIAGE": "I", "AGE": "I", "BILL_AMT1": "A-", "PAY_AMT1": "A+"}
    marks["EDUCATION"] = "M" if raw_codes else "A+"
    recommended = Acts(
        "Owe less on the last bill, pay more of it, more education; earlier months are the past and the "
        "bank sets the limit.",
        marks,
        least={"BILL_AMT1": 500, "PAY_AMT1": 500},
    )
    return {
        "recommended": recommended,
        "benchmark": recommended.but(
            "As recommended, and the literature's convention that the last status and earlier bills may "
            "fall and earlier payments rise.",
            {"PAY_0": "A-", **dict.fromkeys(_BILL, "A-"), **dict.fromkeys(_PAID, "A+")},
        ),
    }


def build(files: Files, chosen: frozenset[str]) -> Dataset:
    """Read the file; merge the undocumented codes unless told otherwise."""
    table = np.loadtxt(io.BytesIO(files.read(FILE)), delimiter=",", skiprows=1, dtype=np.int64)
    raw = dict(zip(_RAW, table.T, strict=True))
    steps = [Step("read the file", len(table))]
    raw_codes = "raw-codes" in chosen
    if not raw_codes:
        for name, codes, other in (("EDUCATION", (0, 5, 6), 4), ("MARRIAGE", (0,), 3)):
            odd = np.isin(raw[name], codes)
            raw[name] = np.where(odd, other, raw[name])
            text = ", ".join(map(str, codes))
            steps.append(
                Step(
                    f"{name}: undocumented code {text} became {other} (other) in {odd.sum()} rows", len(table)
                )
            )
    made_of = features(raw_codes)
    return made(
        ENTRY,
        chosen=chosen,
        features=made_of,
        columns={f.name: raw[f.name].tolist() if f.has_levels else raw[f.name] for f in made_of},
        y=(raw["default"] == 0).astype(np.int64),
        acts=_acts(made_of, raw_codes),
        label="pays_next_month",
        label_text={1: "pays next month", 0: "default next month"},
        steps=tuple(steps),
        notes=(
            "The raw label is 1 for a default; here 1 = no default.",
            "The payment columns are PAY_0, PAY_2, ..., PAY_6 (no PAY_1), September back to April 2005.",
            "PAY codes -2 (no use) and 0 (revolving credit) are frequent and undocumented. The scale is "
            "not linear below 1 (default share by PAY_0: 0.13, 0.17, 0.13, then 0.34 and 0.69), so the "
            "columns are ordinal.",
            "EDUCATION codes 0, 5 and 6 (345 rows) and MARRIAGE code 0 (54 rows) are undocumented. 'Other "
            "or unknown' stands lowest in EDUCATION because its place is not known.",
            "Bill, payment and status of neighbouring months depend on each other; a payment in September "
            "is usually read as one on the August bill.",
            "35 raw rows repeat another row apart from ID; they are kept.",
            "Ustun et al. and MACE use a processed table with other features; results are not comparable.",
        ),
        dropped={"ID": "identifier"},
    )
