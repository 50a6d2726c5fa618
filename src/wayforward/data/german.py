"""German: the 1,000 applicants of UCI Statlog German Credit, with the corrected meaning of the codes."""

from __future__ import annotations

import numpy as np

from wayforward.data.dataset import Acts, Dataset, Entry, Source, Step, made
from wayforward.data.files import Files, columns_of, numbers, rows_of, whole
from wayforward.schema import Feature

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
        "after "
        "Groemping (2019), South German Credit, doi:10.24432/C5QG88.",
        terms="CC BY 4.0, as reported by UCI.",
        url="https://doi.org/10.24432/C5NC77",
    ),
    acts=("recommended", "benchmark", "segregation", "mace", "reachml"),
    files=(FILE,),
)

FEATURES = (
    Feature(
        name="checking_status",
        kind="ordinal",
        levels=("A11", "A12", "A13", "A14"),
        level_labels=(
            "no account",
            "below 0 DM",
            "0 to below 200 DM",
            "200 DM or more, or salary for a year",
        ),
        label="checking account",
    ),
    Feature(
        name="duration_months",
        kind="integer",
        low=4,
        high=72,
        unit="months",
        label="loan duration",
        bounds="observed",
    ),
    Feature(
        name="credit_history",
        kind="categorical",
        levels=("A30", "A31", "A32", "A33", "A34"),
        level_labels=(
            "payment delayed in the past",
            "critical account",
            "no credits taken, or all paid back",
            "existing credits paid back so far",
            "all credits at this bank paid back",
        ),
        label="credit history",
    ),
    Feature(
        name="purpose",
        kind="categorical",
        levels=("A40", "A41", "A42", "A43", "A44", "A45", "A46", "A48", "A49", "A410"),
        level_labels=(
            "other",
            "new car",
            "used car",
            "furniture or equipment",
            "radio or television",
            "household appliances",
            "repairs",
            "vacation",
            "retraining",
            "business",
        ),
        label="purpose of the loan",
    ),
    Feature(
        name="credit_amount",
        kind="integer",
        low=250,
        high=18_424,
        unit="DM",
        label="loan amount",
        bounds="observed",
    ),
    Feature(
        name="savings",
        kind="ordinal",
        levels=("A61", "A62", "A63", "A64", "A65"),
        level_labels=(
            "none or unknown",
            "below 100 DM",
            "100 to below 500 DM",
            "500 to below 1,000 DM",
            "1,000 DM or more",
        ),
        label="savings",
    ),
    Feature(
        name="employment_since",
        kind="ordinal",
        levels=("A71", "A72", "A73", "A74", "A75"),
        level_labels=(
            "unemployed",
            "less than 1 year",
            "1 to less than 4 years",
            "4 to less than 7 years",
            "7 years or more",
        ),
        label="time in the present job",
    ),
    Feature(
        name="installment_rate",
        kind="ordinal",
        levels=(1, 2, 3, 4),
        level_labels=("35 % or more", "25 to below 35 %", "20 to below 25 %", "below 20 %"),
        label="instalment as a share of income",
        description="A higher code is a smaller burden.",
    ),
    Feature(
        name="personal_status_sex",
        kind="categorical",
        levels=("A91", "A92", "A93", "A94"),
        level_labels=(
            "man, divorced or separated",
            "woman, not single, or man, single",
            "man, married or widowed",
            "woman, single",
        ),
        label="personal status and sex",
        sensitive=True,
    ),
    Feature(
        name="other_debtors",
        kind="categorical",
        levels=("A101", "A102", "A103"),
        level_labels=("none", "co-applicant", "guarantor"),
        label="other debtors or guarantors",
    ),
    Feature(
        name="residence_since",
        kind="ordinal",
        levels=(1, 2, 3, 4),
        level_labels=(
            "less than 1 year",
            "1 to less than 4 years",
            "4 to less than 7 years",
            "7 years or more",
        ),
        label="time at the present home",
    ),
    Feature(
        name="property",
        kind="ordinal",
        levels=("A121", "A122", "A123", "A124"),
        level_labels=(
            "none or unknown",
            "car or other",
            "building society savings or life insurance",
            "real estate",
        ),
        label="most valuable property",
    ),
    Feature(
        name="age",
        kind="integer",
        low=19,
        high=75,
        unit="years",
        label="age",
        sensitive=True,
        bounds="observed",
    ),
    Feature(
        name="other_installment_plans",
        kind="categorical",
        levels=("A141", "A142", "A143"),
        level_labels=("at a bank", "at stores", "none"),
        label="other instalment plans",
    ),
    Feature(
        name="housing",
        kind="categorical",
        levels=("A151", "A152", "A153"),
        level_labels=("for free", "rented", "owned"),
        label="housing",
    ),
    Feature(
        name="existing_credits",
        kind="ordinal",
        levels=(1, 2, 3, 4),
        level_labels=("one", "2 or 3", "4 or 5", "6 or more"),
        label="credits at this bank",
    ),
    Feature(
        name="job",
        kind="ordinal",
        levels=("A171", "A172", "A173", "A174"),
        level_labels=(
            "unemployed, or unskilled and not resident",
            "unskilled, resident",
            "skilled",
            "manager, self-employed or highly qualified",
        ),
        label="job",
    ),
    Feature(
        name="people_liable",
        kind="binary",
        levels=(1, 2),
        level_labels=("0 to 2", "3 or more"),
        label="people who depend on the applicant",
    ),
    Feature(
        name="telephone",
        kind="binary",
        levels=("A191", "A192"),
        level_labels=("no", "yes"),
        label="telephone in the applicant's name",
    ),
    Feature(
        name="foreign_worker",
        kind="binary",
        levels=("A201", "A202"),
        level_labels=("no", "yes"),
        label="foreign worker",
        sensitive=True,
    ),
)
NAMES = tuple(feature.name for feature in FEATURES)

ACTS = {
    "recommended": Acts(
        "Corrected meaning of the codes: more on the accounts, a longer job, a smaller burden, a guarantor, "
        "no other instalment plan; amount and duration either way; the past and the person stay.",
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
    ),
    "benchmark": Acts.except_for(
        "A common convention: age, personal status and sex, foreign worker and purpose are fixed, the "
        "records of the "
        "past follow, everything else moves either way.",
        FEATURES,
        immutable=("age", "personal_status_sex", "foreign_worker", "purpose"),
        mutable=("credit_history", "existing_credits", "residence_since"),
    ),
    "segregation": Acts.except_for(
        "Balanced recourse (social segregation): 12 features fixed, 8 free; the paper names these five of "
        "the eight, "
        "so the other three are fixed here too.",
        FEATURES,
        immutable=set(NAMES)
        - {"people_liable", "installment_rate", "employment_since", "job", "credit_amount"},
    ),
    "mace": Acts(
        "MACE's four columns: sex any, age the same or more, credit amount any, duration fixed; the rest "
        "is fixed "
        "because that version leaves it out.",
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
    columns = {
        feature.name: raw[feature.name]
        if feature.levels and isinstance(feature.levels[0], str)
        else whole(raw[feature.name])
        if feature.has_levels
        else numbers(raw[feature.name])
        for feature in FEATURES
    }
    return made(
        ENTRY,
        chosen=chosen,
        features=FEATURES,
        columns=columns,
        y=good.astype(np.int64),
        acts=ACTS,
        label="good_risk",
        label_text={1: "good credit risk", 0: "bad credit risk"},
        steps=(Step("read german.data", good.size),),
        notes=(
            "The raw label is 1 = good, 2 = bad; here 1 = good, 0 = bad. UCI's cost matrix: calling a bad "
            "risk good "
            "costs 5, the reverse 1.",
            "UCI's names of several codes are wrong. The codes are untouched; their labels and the "
            "directions follow "
            "Groemping's correction (so A11 is 'no account' and A201 is 'no foreign worker').",
            "installment_rate is an ordinal code that runs backwards: 4 is the smallest burden, so "
            "'increase' helps. "
            "It depends on duration and amount; a causal world should let it move with them.",
            "installment_rate, residence_since, existing_credits and people_liable look like counts and "
            "are codes.",
            "Sex cannot be recovered: A92 mixes women who are not single with single men. A47 and A95 do "
            "not occur.",
            "'Unknown or none' is a level of checking_status, savings and property; no value is missing.",
            "german_raw.csv of other repositories (GoodCustomer, Gender, ...) is another, processed table.",
        ),
        dropped={},
    )
