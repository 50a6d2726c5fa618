"""COMPAS: ProPublica's table of defendants in Broward County, does a person re-offend within two years.

The file holds personal columns of real people. They are dropped before anything else happens.
"""

from __future__ import annotations

import numpy as np

from wayforward.data.columns import levels, number, parsed
from wayforward.data.dataset import Acts, Dataset, Entry, Source, Step, made
from wayforward.data.files import GITHUB, Files, Known, columns_of, numbers, rows_of
from wayforward.schema import Feature

FILE = "compas/compas-scores-two-years.csv"
PERSONAL = ("id", "name", "first", "last", "dob", "c_case_number", "r_case_number", "vr_case_number")
_USED = (
    "age",
    "sex",
    "race",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "c_charge_degree",
    "c_jail_in",
    "c_jail_out",
    "days_b_screening_arrest",
    "is_recid",
    "compas_screening_date",
    "score_text",
    "two_year_recid",
)

ENTRY = Entry(
    name="compas",
    title="COMPAS, two-year recidivism (ProPublica)",
    rows=6_172,
    favourable="1 (no new offence within two years; raw value 0)",
    sensitive=("race", "sex", "age"),
    source=Source(
        origin="github.com/propublica/compas-analysis, compas-scores-two-years.csv, commit bafff5da, 7,214 "
        "rows; read with or without its personal columns.",
        citation="Larson, Mattu, Kirchner and Angwin (2016), How We Analyzed the COMPAS Recidivism "
        "Algorithm, ProPublica.",
        terms="No licence is stated. Real people: no row may be shown, and the file may not be passed on.",
        url="https://github.com/propublica/compas-analysis",
    ),
    acts=("recommended", "benchmark", "hare", "carla", "segregation"),
    variants={
        "unfiltered": "all 7,214 rows, without ProPublica's filter; length of stay may be missing",
        "screened": "only people screened up to 2014-04-01, against the two-sided sample (Barenstein 2019)",
        "score": "the label is 'the COMPAS score is not High', as in CARLA, instead of re-offending",
    },
    files={
        FILE: Known(
            (
                "a5e5c34bfd2d1f065bb12a44c0323421baf74b98b97d585915a0c2e1513ecaba",  # personal columns removed
                "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",  # as published
            ),
            "https://github.com/propublica/compas-analysis",
            (f"{GITHUB}/propublica/compas-analysis/bafff5da/compas-scores-two-years.csv",),
        )
    },
)


def features(missing: bool) -> tuple[Feature, ...]:
    """The 9 features; `missing`: the length of stay may be missing."""
    races = ("African-American", "Asian", "Caucasian", "Hispanic", "Native American", "Other")
    return (
        number("age", "age", 18, 96, unit="years", sensitive=True),
        levels("sex", "sex", "binary", {"Female": "woman", "Male": "man"}, sensitive=True),
        levels("race", "race", "categorical", races, sensitive=True),
        number("juv_fel_count", "felonies as a minor", 0, 20),
        number("juv_misd_count", "misdemeanours as a minor", 0, 13),
        number("juv_other_count", "other offences as a minor", 0, 17),
        number("priors_count", "earlier offences", 0, 38),
        levels("c_charge_degree", "degree of the charge", "binary", {"M": "misdemeanour", "F": "felony"}),
        number("length_of_stay", "time in jail", 0, 800, unit="days", missing="stays" if missing else False),
    )


def _acts(made_of: tuple[Feature, ...]) -> dict[str, Acts]:
    recommended = Acts(
        "Nobody can act on any of these: counts of the past cannot go down. Problems on this set have no "
        "recourse; use 'benchmark' for the convention of the literature.",
        {f.name: "I" if f.name in ("age", "sex", "race") else "M" for f in made_of},
    )
    fixed = ("age", "sex", "race")
    return {
        "recommended": recommended,
        "benchmark": recommended.but(
            "A convention of the literature, not an action a person has: fewer earlier offences, less time "
            "in jail.",
            {"priors_count": "A-", "length_of_stay": "A-"},
        ),
        "hare": Acts.except_for("HARE: age, race and sex are fixed.", made_of, immutable=fixed),
        "carla": Acts.except_for("CARLA: age, race and sex are fixed.", made_of, immutable=fixed),
        "segregation": Acts.except_for(
            "Balanced recourse (social segregation): age, sex, race and charge degree are fixed; earlier "
            "offences and time in jail are free. That version has no juvenile counts; they follow here.",
            made_of,
            immutable=(*fixed, "c_charge_degree"),
            mutable=("juv_fel_count", "juv_misd_count", "juv_other_count"),
        ),
    }


def build(files: Files, chosen: frozenset[str]) -> Dataset:
    """Read the columns that are used, filter, and derive the length of stay."""
    head, *body = rows_of(files.read(FILE))
    wanted = [i for i, name in enumerate(head) if name in (*_USED, "decile_score")]
    raw = columns_of([[row[i] for i in wanted] for row in body], [head[i] for i in wanted])
    keep = np.ones(len(body), dtype=bool)
    steps = [Step("read the file, without its personal columns", len(body))]
    if "unfiltered" not in chosen:
        days = numbers(raw["days_b_screening_arrest"])
        keep = (
            (np.abs(days) <= 30)  # a missing value is not within 30 days
            & (raw["is_recid"] != "-1")
            & (raw["c_charge_degree"] != "O")
            & (raw["score_text"] != "N/A")
        )
        steps.append(
            Step("ProPublica's filter: screened within 30 days of the arrest (and known)", int(keep.sum()))
        )
    if "screened" in chosen:
        keep = keep & (raw["compas_screening_date"].astype("datetime64[D]") <= np.datetime64("2014-04-01"))
        steps.append(Step("dropped people screened after 2014-04-01", int(keep.sum())))
    raw = {name: values[keep] for name, values in raw.items()}
    stay, negative = _days_in_jail(raw["c_jail_in"], raw["c_jail_out"])
    made_of = features("unfiltered" in chosen)
    if "score" in chosen:
        y, label, words = raw["score_text"] != "High", "score_not_high", ("score not High", "score High")
    else:
        y, label = raw["two_year_recid"] == "0", "no_recidivism"
        words = ("no new offence within two years", "a new offence within two years")
    return made(
        ENTRY,
        chosen=chosen,
        features=made_of,
        columns=parsed(made_of[:-1], raw) | {"length_of_stay": stay},
        y=np.asarray(y).astype(np.int64),
        acts=_acts(made_of),
        label=label,
        label_text={1: words[0], 0: words[1]},
        steps=tuple(steps),
        notes=(
            "The raw label two_year_recid is 1 for a new offence; here 1 = no new offence.",
            "Personal columns (names, birth date, case numbers) are dropped on reading, where they are "
            "present.",
            f"length_of_stay is c_jail_out - c_jail_in in whole days; {negative} stays that end before "
            "they begin "
            "(by less than a day) count as 0.",
            "decile_score and priors_count stand twice in the raw file with identical values; one is kept.",
            "Sampling error (Barenstein 2019): people screened after 2014-04-01 are in the file only if "
            "they re-offended. The default keeps them, as the literature does; 'screened' drops them.",
            "age is the age in 2016, 1 to 4 years more than at screening.",
            "CARLA's compas predicts the score and uses two_year_recid as a feature: another task.",
        ),
        dropped={
            "age_cat": "derived from age",
            "score_text, decile_score, v_*": "the scores of the tool under study (score_text: variant "
            "'score')",
            "is_recid, is_violent_recid, r_*, vr_*, event, start, end, *_custody": "known after the outcome",
            "violent_recid": "empty",
            "c_charge_desc, c_offense_date, c_arrest_date, c_days_from_compas": "no feature",
            "screening dates, days_b_screening_arrest": "used for the filters only",
        },
    )


def _days_in_jail(entered: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, int]:
    """Whole days between two columns of timestamps, NaN where one is missing; and how many were negative."""
    start, end = (np.where(t == "", "NaT", t).astype("datetime64[s]") for t in (entered, left))
    days = (end - start) / np.timedelta64(1, "D")
    return np.floor(np.maximum(days, 0.0)), int((days < 0).sum())
