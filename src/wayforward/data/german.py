"""German: the 1,000 applicants of UCI Statlog German Credit, with the corrected meaning of the codes."""

from __future__ import annotations

import numpy as np

from wayforward.data.columns import levels, number, parsed
from wayforward.data.dataset import Acts, Dataset, Entry, Source, Step, made
from wayforward.data.files import GITHUB, UCI, Files, Known, columns_of, numbers, rows_of

FILE = "german/german.data"

ENTRY = Entry(
    name="german",
    title="German Credit (UCI Statlog)",
    rows=1_000,
    favourable="1 (good risk; raw value 1)",
    sensitive=("age", "personal_status_sex", "foreign_worker"),
    source=Source(
        origin="UCI Machine Learning Repository, file german.data, 1,000 rows, 21 columns without a header.",
        citation="Hofmann (1994), Statlog (German Credit Data), doi:10.24432/C5NC77; meaning of the codes "
        "after Groemping (2019), South German Credit, doi:10.24432/C5QG88.",
        terms="CC BY 4.0, as reported by UCI.",
        url="https://doi.org/10.24432/C5NC77",
    ),
    acts=("recommended", "benchmark", "segregation", "mace", "reachml"),
    files={
        FILE: Known(
            ("b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",),
            "https://doi.org/10.24432/C5NC77",
            (
                f"{UCI}/statlog/german/german.data",
                f"{GITHUB}/amirhk/mace/01e6a405/_data_other/uci_german.csv",
            ),
        )
    },
)

FEATURES = (
    levels(
        "checking_status",
        "checking account",
        "ordinal",
        {
            "A11": "no account",
            "A12": "below 0 DM",
            "A13": "0 to below 200 DM",
            "A14": "200 DM or more, or salary for a year",
        },
    ),
    number("duration_months", "loan duration", 4, 72, unit="months"),
    levels(
        "credit_history",
        "credit history",
        "categorical",
        {
            "A30": "payment delayed in the past",
            "A31": "critical account",
            "A32": "no credits taken, or all paid back",
            "A33": "existing credits paid back so far",
            "A34": "all credits at this bank paid back",
        },
    ),
    levels(
        "purpose",
        "purpose of the loan",
        "categorical",
        {
            "A40": "other",
            "A41": "new car",
            "A42": "used car",
            "A43": "furniture or equipment",
            "A44": "radio or television",
            "A45": "household appliances",
            "A46": "repairs",
            "A48": "vacation",
            "A49": "retraining",
            "A410": "business",
        },
    ),
    number("credit_amount", "loan amount", 250, 18_424, unit="DM"),
    levels(
        "savings",
        "savings",
        "ordinal",
        {
            "A61": "none or unknown",
            "A62": "below 100 DM",
            "A63": "100 to below 500 DM",
            "A64": "500 to below 1,000 DM",
            "A65": "1,000 DM or more",
        },
    ),
    levels(
        "employment_since",
        "time in the present job",
        "ordinal",
        {
            "A71": "unemployed",
            "A72": "less than 1 year",
            "A73": "1 to less than 4 years",
            "A74": "4 to less than 7 years",
            "A75": "7 years or more",
        },
    ),
    levels(
        "installment_rate",
        "instalment as a share of income",
        "ordinal",
        {1: "35 % or more", 2: "25 to below 35 %", 3: "20 to below 25 %", 4: "below 20 %"},
        description="A higher code is a smaller burden.",
    ),
    levels(
        "personal_status_sex",
        "personal status and sex",
        "categorical",
        {
            "A91": "man, divorced or separated",
            "A92": "woman, not single, or man, single",
            "A93": "man, married or widowed",
            "A94": "woman, single",
        },
        sensitive=True,
    ),
    levels(
        "other_debtors",
        "other debtors or guarantors",
        "categorical",
        {"A101": "none", "A102": "co-applicant", "A103": "guarantor"},
    ),
    levels(
        "residence_since",
        "time at the present home",
        "ordinal",
        {
            1: "less than 1 year",
            2: "1 to less than 4 years",
            3: "4 to less than 7 years",
            4: "7 years or more",
        },
    ),
    levels(
        "property",
        "most valuable property",
        "ordinal",
        {
            "A121": "none or unknown",
            "A122": "car or other",
            "A123": "building society savings or life insurance",
            "A124": "real estate",
        },
    ),
    number("age", "age", 19, 75, unit="years", sensitive=True),
    levels(
        "other_installment_plans",
        "other instalment plans",
        "categorical",
        {"A141": "at a bank", "A142": "at stores", "A143": "none"},
    ),
    levels("housing", "housing", "categorical", {"A151": "for free", "A152": "rented", "A153": "owned"}),
    levels(
        "existing_credits",
        "credits at this bank",
        "ordinal",
        {1: "one", 2: "2 or 3", 3: "4 or 5", 4: "6 or more"},
    ),
    levels(
        "job",
        "job",
        "ordinal",
        {
            "A171": "unemployed, or unskilled and not resident",
            "A172": "unskilled, resident",
            "A173": "skilled",
            "A174": "manager, self-employed or highly qualified",
        },
    ),
    levels("people_liable", "people who depend on the applicant", "binary", {1: "0 to 2", 2: "3 or more"}),
    levels("telephone", "telephone in the applicant's name", "binary", {"A191": "no", "A192": "yes"}),
    levels("foreign_worker", "foreign worker", "binary", {"A201": "no", "A202": "yes"}, sensitive=True),
)
NAMES = tuple(feature.name for feature in FEATURES)

ACTS = {
    "recommended": Acts(
        "Corrected meaning of the codes: more on the accounts, a longer job, a smaller burden, a "
        "guarantor, no other instalment plan; amount and duration either way; the past and the person stay.",
        {
            "checking_status": "A+",
            "duration_months": "A",
            "credit_history": "M",
            "purpose": "I",
            "credit_amount": "A",
            "savings": "A+",
            "employment_since": "A+",
            "installment_rate": "A+",
            "personal_status_sex": "I",
            "other_debtors": "A",
            "residence_since": "M",
            "property": "M",
            "age": "I",
            "other_installment_plans": "A",
            "housing": "M",
            "existing_credits": "M",
            "job": "A+",
            "people_liable": "M",
            "telephone": "A+",
            "foreign_worker": "I",
        },
        (
            "after.other_debtors == before.other_debtors or after.other_debtors == 'A103'",
            "after.other_installment_plans == before.other_installment_plans or "
            "after.other_installment_plans == 'A143'",
        ),
        {"credit_amount": 100},
    ),
    "benchmark": Acts.except_for(
        "A common convention: age, personal status and sex, foreign worker and purpose are fixed, the "
        "records of the past follow, everything else moves either way.",
        FEATURES,
        immutable=("age", "personal_status_sex", "foreign_worker", "purpose"),
        mutable=("credit_history", "existing_credits", "residence_since"),
    ),
    "segregation": Acts.except_for(
        "Balanced recourse (social segregation): 12 features fixed, 8 free; the paper names these five of "
        "the eight, so the other three are fixed here too.",
        FEATURES,
        immutable=set(NAMES)
        - {"people_liable", "installment_rate", "employment_since", "job", "credit_amount"},
    ),
    "mace": Acts(
        "MACE's four columns: sex any, age the same or more, credit amount any, duration fixed; the rest "
        "is fixed because that version leaves it out.",
        {
            name: {"personal_status_sex": "A", "age": "A+", "credit_amount": "A"}.get(name, "I")
            for name in NAMES
        },
    ),
    "reachml": Acts(
        "ReachML (there on binned features): employment, savings, checking account and guarantor only up, "
        "the rest fixed.",
        {
            name: {
                "employment_since": "A+",
                "savings": "A+",
                "checking_status": "A+",
                "other_debtors": "A",
            }.get(name, "I")
            for name in NAMES
        },
        ("after.other_debtors == before.other_debtors or after.other_debtors == 'A103'",),
    ),
}


def build(files: Files, chosen: frozenset[str]) -> Dataset:
    """Read the file; nothing is dropped, no value is changed."""
    raw = columns_of(rows_of(files.read(FILE), delimiter=" "), (*NAMES, "class"))
    good = numbers(raw["class"]) == 1
    return made(
        ENTRY,
        chosen=chosen,
        features=FEATURES,
        columns=parsed(FEATURES, raw),
        y=good.astype(np.int64),
        acts=ACTS,
        label="good_risk",
        label_text={1: "good credit risk", 0: "bad credit risk"},
        steps=(Step("read german.data", good.size),),
        notes=(
            "The raw label is 1 = good, 2 = bad; here 1 = good, 0 = bad. UCI's cost matrix: calling a bad "
            "risk good costs 5, the reverse 1.",
            "UCI's names of several codes are wrong. The codes are untouched; their labels and the "
            "directions follow Groemping's correction (so A11 is 'no account' and A201 is 'no foreign "
            "worker').",
            "installment_rate is an ordinal code that runs backwards: 4 is the smallest burden, so "
            "'increase' helps. It depends on duration and amount; a causal world should let it move with "
            "them.",
            "installment_rate, residence_since, existing_credits and people_liable look like counts and "
            "are codes.",
            "Sex cannot be recovered: A92 mixes women who are not single with single men. A47 and A95 do "
            "not occur.",
            "'Unknown or none' is a level of checking_status, savings and property; no value is missing.",
            "german_raw.csv of other repositories (GoodCustomer, Gender, ...) is another, processed table.",
        ),
        dropped={},
    )
