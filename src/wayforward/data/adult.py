"""Adult: the 1994 census extract of UCI, does a person earn more than 50,000 USD a year."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wayforward.data.columns import levels, number, parsed
from wayforward.data.dataset import Acts, Dataset, Entry, Source, Step, made
from wayforward.data.files import GITHUB, UCI, Files, Known, columns_of, numbers, rows_of
from wayforward.schema import Feature
from wayforward.schema.feature import Missing

FILES = ("adult/adult.data", "adult/adult.test")

ENTRY = Entry(
    name="adult",
    title="Adult, also called Census Income (UCI)",
    rows=45_222,
    favourable="1 (more than 50,000 USD a year; raw value >50K)",
    sensitive=("sex", "race", "age", "native_country"),
    source=Source(
        origin="UCI Machine Learning Repository, adult.data (32,561 rows, training) and adult.test (16,281 "
        "rows).",
        citation="Becker and Kohavi (1996), Adult, doi:10.24432/C5XW20.",
        terms="CC BY 4.0, as reported by UCI.",
        url="https://doi.org/10.24432/C5XW20",
    ),
    acts=("recommended", "benchmark", "hare", "carla", "pear"),
    variants={
        "missing": "all 48,842 rows; unknown workclass, occupation and country stay as missing values",
    },
    files={
        file: Known(
            (sha256,),
            "https://doi.org/10.24432/C5XW20",
            (f"{UCI}/{file}", f"{GITHUB}/amirhk/mace/01e6a405/_data_main/{Path(file).name}"),
        )
        for file, sha256 in zip(
            FILES,
            (
                "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            ),
            strict=True,
        )
    },
)

_RAW = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
)
_EDUCATION = {
    "Preschool": "preschool",
    "1st-4th": "grades 1 to 4",
    "5th-6th": "grades 5 and 6",
    "7th-8th": "grades 7 and 8",
    "9th": "grade 9",
    "10th": "grade 10",
    "11th": "grade 11",
    "12th": "grade 12, no diploma",
    "HS-grad": "high school diploma",
    "Some-college": "some college",
    "Assoc-voc": "vocational associate degree",
    "Assoc-acdm": "academic associate degree",
    "Bachelors": "bachelor's degree",
    "Masters": "master's degree",
    "Prof-school": "professional degree",
    "Doctorate": "doctorate",
}
_WORKCLASS = {
    "Private": "private company",
    "Self-emp-not-inc": "self-employed, not incorporated",
    "Local-gov": "local government",
    "State-gov": "state government",
    "Self-emp-inc": "self-employed, incorporated",
    "Federal-gov": "federal government",
    "Without-pay": "without pay",
    "Never-worked": "never worked",
}
_MARITAL = {
    "Married-civ-spouse": "married, civilian spouse",
    "Never-married": "never married",
    "Divorced": "divorced",
    "Separated": "separated",
    "Widowed": "widowed",
    "Married-spouse-absent": "married, spouse absent",
    "Married-AF-spouse": "married, spouse in the armed forces",
}
_OCCUPATION = {
    "Prof-specialty": "professional specialty",
    "Craft-repair": "craft and repair",
    "Exec-managerial": "executive or managerial",
    "Adm-clerical": "administrative or clerical",
    "Sales": "sales",
    "Other-service": "other service",
    "Machine-op-inspct": "machine operation and inspection",
    "Transport-moving": "transport and moving",
    "Handlers-cleaners": "handling and cleaning",
    "Farming-fishing": "farming and fishing",
    "Tech-support": "technical support",
    "Protective-serv": "protective service",
    "Priv-house-serv": "private household service",
    "Armed-Forces": "armed forces",
}
_RELATIONSHIP = {
    "Husband": "husband",
    "Not-in-family": "not in a family",
    "Own-child": "child of the household",
    "Unmarried": "unmarried",
    "Wife": "wife",
    "Other-relative": "other relative",
}
_RACE = {
    "White": "White",
    "Black": "Black",
    "Asian-Pac-Islander": "Asian or Pacific Islander",
    "Amer-Indian-Eskimo": "American Indian or Eskimo",
    "Other": "other",
}
_WITH_GAPS = ("workclass", "occupation", "native_country")


def features(countries: tuple[str, ...], missing: bool) -> tuple[Feature, ...]:
    """The 12 features; `missing`: keep the level and the gaps that only incomplete rows have."""
    gaps: Missing | bool = "stays" if missing else False  # of a census: nobody tells it more afterwards
    work = _WORKCLASS if missing else {k: v for k, v in _WORKCLASS.items() if k != "Never-worked"}
    return (
        number("age", "age", 17, 90, unit="years", sensitive=True),
        levels("workclass", "employer", "categorical", work, missing=gaps),
        levels("education", "education", "ordinal", _EDUCATION),
        levels("marital_status", "marital status", "categorical", _MARITAL),
        levels("occupation", "occupation", "categorical", _OCCUPATION, missing=gaps),
        levels("relationship", "place in the household", "categorical", _RELATIONSHIP),
        levels("race", "race", "categorical", _RACE, sensitive=True),
        levels("sex", "sex", "binary", {"Female": "woman", "Male": "man"}, sensitive=True),
        number(
            "capital_gain",
            "capital gain",
            0,
            99_999,
            bounds="declared",
            unit="USD/year",
            description="99,999 is a top code: that much or more.",
        ),
        number("capital_loss", "capital loss", 0, 4_356, unit="USD/year"),
        number(
            "hours_per_week",
            "working time",
            1,
            99,
            bounds="declared",
            unit="hours/week",
            description="99 is a top code: that much or more.",
        ),
        levels(
            "native_country",
            "country of birth",
            "categorical",
            dict(
                zip(
                    countries,
                    tuple(country.replace("-", " ").replace("&", " and ") for country in countries),
                    strict=True,
                )
            ),
            sensitive=True,
            missing=gaps,
        ),
    )


def _acts(made_of: tuple[Feature, ...]) -> dict[str, Acts]:
    recommended = Acts(
        "Job, hours and capital gain move, education only rises; who a person is stays.",
        {
            "age": "I",
            "workclass": "A",
            "education": "A+",
            "marital_status": "M",
            "occupation": "A",
            "relationship": "I",
            "race": "I",
            "sex": "I",
            "capital_gain": "A+",
            "capital_loss": "M",
            "hours_per_week": "A",
            "native_country": "I",
        },
        least={"capital_gain": 100},
    )
    return {
        "recommended": recommended,
        "benchmark": recommended.but(
            "As recommended, but capital loss is free, as in most papers.", {"capital_loss": "A"}
        ),
        "hare": Acts.except_for(
            "HARE: age, sex, fnlwgt, native country, race and relationship are fixed.",
            made_of,
            immutable=("age", "sex", "native_country", "race", "relationship"),
        ),
        "carla": Acts.except_for("CARLA: age and sex are fixed.", made_of, immutable=("age", "sex")),
        "pear": Acts.except_for(
            "PEAR: age, sex, native country, relationship, race and marital status are fixed.",
            made_of,
            immutable=("age", "sex", "native_country", "relationship", "race", "marital_status"),
        ),
    }


def build(files: Files, chosen: frozenset[str]) -> Dataset:
    """Read both files; keep the complete rows unless 'missing' was chosen."""
    train = rows_of(files.read(FILES[0]), space=True)
    test = rows_of(files.read(FILES[1]), space=True)[1:]  # the first line is a comment of the test file
    raw = columns_of(train + test, _RAW)
    fold = np.repeat([0, 1], [len(train), len(test)])
    steps = [Step("read adult.data and adult.test (whose first line is a comment)", fold.size)]
    gap = {name: raw[name] == "?" for name in _WITH_GAPS}
    keep = np.ones(fold.size, dtype=bool)
    if "missing" not in chosen:
        for name in _WITH_GAPS:
            keep &= ~gap[name]
            steps.append(Step(f"dropped rows with unknown {name}", int(keep.sum())))
    raw = {name: values[keep] for name, values in raw.items()}
    rich = (
        np.char.rstrip(raw["income"].astype(str), ".") == ">50K"
    )  # the test file ends its labels with a dot
    countries = tuple(sorted(set(raw["native_country"].tolist()) - {"?"}))
    made_of = features(countries, "missing" in chosen)
    return made(
        ENTRY,
        chosen=chosen,
        features=made_of,
        columns=parsed(made_of, raw, missing="?"),
        y=rich.astype(np.int64),
        acts=_acts(made_of),
        label="above_50k",
        label_text={1: "more than 50,000 USD a year", 0: "50,000 USD a year or less"},
        steps=tuple(steps),
        notes=(
            "The raw label is >50K or <=50K (with a dot at the end in adult.test); here 1 = more than "
            "50,000 USD.",
            "Hyphens in column names became underscores.",
            "relationship encodes sex and marital status (husband, wife), so it is fixed.",
            "capital_gain is 0 in 91.7 % and capital_loss in 95.3 % of the rows: medians and MAD are 0. "
            "99,999 (gain), 99 (hours) and 90 (age) are top codes; they are kept as numbers.",
            "24 training and 5 test rows repeat another row; they are kept.",
            "'Never-worked' occurs only in incomplete rows, so it is a level only in the variant 'missing'.",
            "Binarised versions (White or not, married or not) are other tables; results are not comparable.",
        ),
        dropped={
            "education_num": "one to one with education",
            "fnlwgt": "a sampling weight, no feature of the person; kept in extra['fnlwgt']",
        },
        fold=fold[keep],
        fold_names=("adult.data", "adult.test"),
        extra={"fnlwgt": numbers(raw["fnlwgt"])},
    )
