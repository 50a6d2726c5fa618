"""Law: LSAC's bar passage study in its two public extracts, which share no key and are never joined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from wayforward.data.columns import levels, number, parsed
from wayforward.data.dataset import Acts, Dataset, Entry, Source, Step, made
from wayforward.data.files import Files, Known, columns_of, numbers, rows_of
from wayforward.schema import Feature

FILE, BAR_FILE = "law/law_data.csv", "law/bar_pass_prediction.csv"

ENTRY = Entry(
    name="law",
    title="Law school, LSAC National Longitudinal Bar Passage Study",
    rows=21_790,
    favourable="1 (passed the bar at the first try)",
    sensitive=("race", "sex"),
    source=Source(
        origin="law_data.csv of the counterfactual fairness literature (21,791 rows); variant bar: "
        "bar_pass_prediction.csv, another extract of the same study (22,407 rows).",
        citation="Wightman (1998), LSAC National Longitudinal Bar Passage Study; the first extract after "
        "Kusner et al. (2017), Counterfactual Fairness.",
        terms="No licence is stated. Research only; do not pass the file on.",
        url="https://github.com/mkusner/counterfactual-fairness",
    ),
    acts=("recommended", "benchmark", "segregation"),
    variants={
        "zfya": "the label is a standardised first-year average (ZFYA) above 0; the bar result is dropped",
        "zfya_score": "the label is ZFYA itself, a number (regression); above 0 is favourable",
        "bar": "the other extract, bar_pass_prediction.csv, with label pass_bar",
        "missing": "with bar: rows with missing values stay",
    },
    exclusive=(("zfya", "zfya_score", "bar"), ("zfya", "missing"), ("zfya_score", "missing")),
    files={
        FILE: Known(
            ("cbf494af5e0ac317015cf64945a20587c08ec77118e183d3ddb0026719956d88",),
            "https://github.com/osu-srml/CF_Representation_Learning (data/law_data.csv, commit 8d9a9e50)",
        ),
        BAR_FILE: Known(
            ("76ebfdb0427ce8db038d53fa5943180ac77096bffb8264f000ed21e9f0ec82f2",),
            "https://github.com/TheRohanVerma/CMPUT622_FairSMOTE_vs_FairClassBal "
            "(data/bar_pass_prediction.csv, commit a895803f)",
        ),
    },
)

# Kusner et al. (2017): race and sex (and a latent knowledge) cause the three scores.
GRAPH = tuple((cause, effect) for cause in ("race", "sex") for effect in ("UGPA", "LSAT", "ZFYA"))

_LSAT: dict[str, Any] = {
    "kind": "real", "step": 0.1, "unit": "points", "bounds": "declared", "description": "The old scale from 10 to 48.",
}  # fmt: skip
_SEX = levels("sex", "sex", "binary", {1: "woman", 2: "man"}, sensitive=True)

FEATURES = (
    levels(
        "race",
        "race",
        "categorical",
        {
            **{race: race for race in ("White", "Black", "Asian", "Hispanic", "Mexican", "Other")},
            "Puertorican": "Puerto Rican",
            "Amerindian": "American Indian",
        },
        sensitive=True,
    ),
    _SEX,
    number("LSAT", "law school admission test", 10, 48, **_LSAT),
    number("UGPA", "college grade average", 0, 4.2, kind="real", step=0.1, unit="points"),
    levels(
        "region_first", "region", "categorical", ("NE", "GL", "FW", "SE", "MS", "SC", "Mt", "NG", "MW", "NW")
    ),
    number("ZFYA", "first-year average, standardised", -3.35, 3.48, kind="real", step=0.01),
)
_NOTES = (
    "sander_index = 0.6 LSAT / 48 + 0.4 UGPA / 4.2 exactly: a derived copy, dropped.",
    "sex: 1 is a woman, 2 a man. LSAT has fractions in about 9 % of the rows; Kusner et al. round it.",
    "UGPA is 0 in 2 rows and above 4.0 in 18.",
    "125 raw rows repeat another row apart from the row number; they are kept.",
    "The row numbers of this extract and the IDs of the other do not refer to the same people.",
)


def build(files: Files, chosen: frozenset[str]) -> Dataset:
    """Read the extract that was chosen."""
    if "bar" in chosen:
        return _bar(files, chosen)
    return _law_data(files, chosen)


def _law_data(files: Files, chosen: frozenset[str]) -> Dataset:
    head, *body = rows_of(files.read(FILE))
    raw = columns_of(body, head)
    steps = [Step("read law_data.csv", len(body))]
    keep = raw["region_first"] != "PO"
    raw = {name: values[keep] for name, values in raw.items()}
    steps.append(Step("dropped the one row with region PO, as Kusner et al. do", int(keep.sum())))
    zfya = numbers(raw["ZFYA"])
    by_score = bool(chosen & {"zfya", "zfya_score"})
    made_of = FEATURES[:-1] if by_score else FEATURES
    passed = numbers(raw["first_pf"]) == 1
    if by_score:
        label_text = {1: "first-year average above 0", 0: "first-year average 0 or below"}
        dropped = {"first_pf": "known only after the label"}
    else:
        label_text = {1: "passed the bar at the first try", 0: "did not pass at the first try"}
        dropped = {}
    score = "zfya_score" in chosen
    return made(
        ENTRY,
        chosen=chosen,
        features=made_of,
        columns=parsed(made_of, raw),
        y=zfya if score else (zfya > 0 if by_score else passed).astype(np.int64),
        acts=_acts(made_of),
        label="ZFYA" if score else "ZFYA_above_0" if by_score else "first_pf",
        label_text={} if score else label_text,
        task="regression" if score else "classification",
        favourable=(0.0, np.inf) if score else 1,
        steps=tuple(steps),
        notes=_NOTES,
        dropped={
            "(unnamed)": "the row number",
            "sander_index": "derived from LSAT and UGPA",
            **dropped,
        },
        graph=tuple(edge for edge in GRAPH if edge[1] in {f.name for f in made_of}),
    )


def _acts(made_of: tuple[Feature, ...]) -> dict[str, Acts]:
    people = ("race", "sex", "region_first")
    fixed = Acts.except_for(
        "Balanced recourse (social segregation): sex, race and region are fixed, the scores are free.",
        made_of,
        immutable=people,
    )
    return {
        "recommended": Acts(
            "Test and grades can rise; who a person is stays. (Once college is over, UGPA is the past: "
            "revise it to mutable then.)",
            {f.name: "I" if f.name in people else "A+" for f in made_of},
        ),
        "benchmark": Acts(f"As segregation. {fixed.source}", fixed.marks),
        "segregation": fixed,
    }


# -- the other extract ---------------------------------------------------------------------------------------

_RANK: dict[str, Any] = {"bounds": "declared", "description": "Class rank in tenths."}

BAR_FEATURES = (
    number("lsat", "law school admission test", 10, 48, **_LSAT),
    number("ugpa", "college grade average", 0, 4.0, **(_LSAT | {"description": ""})),
    number("zfygpa", "first-year average, standardised", -3.35, 3.25, kind="real", step=0.01),
    number("zgpa", "final average, standardised", -6.44, 3.45, kind="real", step=0.01),
    number("decile1", "class rank, first year", 1, 10, **_RANK),
    number("decile1b", "class rank, first year (second source)", 1, 10, **_RANK),
    number("decile3", "class rank, third year", 1, 10, **_RANK),
    levels("fulltime", "way of studying", "binary", {1: "full time", 2: "part time"}),
    levels("tier", "group of law schools", "ordinal", {i: f"group {i}" for i in range(1, 7)}),
    levels(
        "fam_inc",
        "income of the parents",
        "ordinal",
        {1: "lowest", 2: "low", 3: "middle", 4: "high", 5: "highest"},
        sensitive=True,
    ),
    number("DOB_yr", "year of birth (19..)", 10, 71),
    _SEX,
    levels(
        "race1",
        "race",
        "categorical",
        {"white": "white", "black": "Black", "hisp": "Hispanic", "asian": "Asian", "other": "other"},
        sensitive=True,
    ),
)


def _bar(files: Files, chosen: frozenset[str]) -> Dataset:
    head, *body = rows_of(files.read(BAR_FILE))
    raw = columns_of(body, head)
    names = [f.name for f in BAR_FEATURES]
    steps = [Step("read bar_pass_prediction.csv", len(body))]
    gaps = {name: raw[name] == "" for name in names}
    if "missing" in chosen:
        missing = frozenset(name for name in names if gaps[name].any())
    else:
        missing = frozenset()
        keep = ~np.any(list(gaps.values()), axis=0)
        raw = {name: values[keep] for name, values in raw.items()}
        steps.append(Step("dropped rows with a missing value in a feature", int(keep.sum())))
    made_of = tuple(replace(f, missing="stays" if f.name in missing else False) for f in BAR_FEATURES)
    people = ("fam_inc", "DOB_yr", "sex", "race1")
    follows = ("decile1", "decile1b", "decile3", "tier")
    fixed = Acts.except_for(
        "The person is fixed, the group of law schools and the ranks follow, grades and way of studying "
        "are free.",
        made_of,
        immutable=people,
        mutable=follows,
    )
    rising = dict.fromkeys(("lsat", "ugpa", "zfygpa", "zgpa"), "A+")
    return made(
        ENTRY,
        chosen=chosen,
        features=made_of,
        columns=parsed(made_of, raw),
        y=(raw["pass_bar"] == "1").astype(np.int64),
        acts={
            "recommended": fixed.but(
                "Test and grades can rise; ranks follow; who a person is stays.", rising
            ),
            "benchmark": fixed,
            "segregation": fixed.but(
                "Balanced recourse uses the other extract; here sex, race, year of birth and family income "
                "are fixed.",
                {},
            ),
        },
        label="pass_bar",
        label_text={1: "passed the bar", 0: "did not pass the bar"},
        steps=tuple(steps),
        notes=(
            "(Nearly) only people who sat the exam are in it; 94.8 % of the raw rows pass: strong imbalance.",
            "The column hisp is wrong (1 for race 1, 0 for the Hispanic groups 4 to 6); race1 is used.",
            "age is negative (bar1_yr - DOB_yr); DOB_yr is used, with its oldest values as they stand.",
            "The IDs of this extract and the row numbers of the other do not refer to the same people.",
        ),
        dropped={
            "ID": "identifier",
            "grad, Dropout, bar, bar1, bar1_yr, bar2, bar2_yr": "known only at or after the exam",
            "dnn_bar_pass_prediction": "the output of a model",
            "gpa, index6040, indxgrp, indxgrp2": "derived from lsat and ugpa",
            "gender, male, race, race2, asian, black, hisp, other": "copies of sex and race1",
            "cluster, parttime, age": "copies of tier and fulltime; broken",
        },
    )
