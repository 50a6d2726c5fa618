"""Loan: people drawn from the structural equations of the Loan world, or the released tensors."""

from __future__ import annotations

import io

import numpy as np

from wayforward.data.columns import levels, number
from wayforward.data.dataset import Acts, Dataset, Entry, Source, Step, made
from wayforward.data.files import Files, Known
from wayforward.schema import Schema
from wayforward.streams import generator
from wayforward.world.base import World
from wayforward.world.loan import loan

NAMES = ("gender", "age", "education", "loan_amount", "loan_duration", "income", "savings")
GRAPH = (
    ("gender", "education"),
    ("age", "education"),
    ("gender", "loan_amount"),
    ("age", "loan_amount"),
    ("gender", "loan_duration"),
    ("age", "loan_duration"),
    ("loan_amount", "loan_duration"),
    ("gender", "income"),
    ("age", "income"),
    ("education", "income"),
    ("income", "savings"),
)
SIZE, SEED = 10_000, 0

_RELEASED = {
    "recourse": {
        "0_10000": "841cd52894b41d30a30544624df8802772c2564362d67912f4d27e800081d970",
        "1_5000": "c7c8ef99d6b646a3c5a7bc19bec9fd988a7aebd5f40221206835e3888348b57c",
        "2_5000": "d1e8bc52dc6645516653f7ed97012fa0f911f6bb7a84d6d3d043b4df17fb4534",
    },
    "clf": {
        "0_10000": "e204c4189d66b17632f2333cc1c7d370fe148dadfe7a7cf2b9137fe014231029",
        "1_5000": "bbc8882e924bd248ce0f3cec4180ec4f93fda913ffb12a47e2f8d35e3fd01f3d",
        "2_5000": "f94218d4f69e6806e8912a20fa6d07d18ac4569870151ce015f808232ebc6f5c",
    },
    "causal_estimator": {
        "0_20000": "56538b0a19c258fb41396e346abe84dfe5fd277199ba33c58f2814f09f8bff16",
        "1_2500": "1b9fcf0fadd47291a3f97215b681127a24fbd2f101c61f1e00894e0bd932d85c",
        "2_2500": "08fd73e2f1575edf182cd9ca1684be8df1582059edce2df52ba1655257312579",
    },
}

ENTRY = Entry(
    name="loan",
    title="Loan (semi-synthetic, drawn from known structural equations)",
    rows=SIZE,
    favourable="1 (loan granted)",
    sensitive=("gender", "age"),
    source=Source(
        origin="Drawn here from the published equations with NumPy's PCG64; no file is needed. The "
        "released tensors (variants recourse, clf, causal_estimator) are those of "
        "github.com/ayanmaj92/carma-recourse, commit fb8ad2ca.",
        citation="Majumdar and Valera (2024), CARMA: A practical framework to generate recommendations for "
        "causal algorithmic recourse at scale, FAccT, doi:10.1145/3630106.3659003; equations after Karimi "
        "et al. (2020).",
        terms="The equations are public; the released tensors are under the MIT licence (2025 Ayan "
        "Majumdar).",
        url="https://doi.org/10.1145/3630106.3659003",
    ),
    acts=("recommended", "benchmark", "carma", "icarma"),
    variants={
        "karimi": "drawn from the original equations of Karimi et al. (2020), with a label drawn at random",
        "recourse": "the 20,000 released rows meant for recourse methods",
        "clf": "the 20,000 released rows meant for the classifier",
        "causal_estimator": "the 25,000 released rows meant for causal generative models (labels recomputed)",
    },
    exclusive=(("karimi", "recourse", "clf", "causal_estimator"),),
    files={
        f"carma_loan/{folder}/{part}.npz": Known(
            (sha256,), "https://github.com/ayanmaj92/carma-recourse (tensors, to be converted to .npz)"
        )
        for folder, parts in _RELEASED.items()
        for part, sha256 in parts.items()
    },
    needs_files=False,
)

# The variables have no hard ends. These ranges hold all 65,000 released rows and about 99.999 % of all draws.
FEATURES = (
    levels("gender", "gender", "binary", {0: "group 0", 1: "group 1 (higher income)"}, sensitive=True),
    number(
        "age",
        "age",
        -35,
        100,
        kind="real",
        unit="years from 35",
        description="Years above or below 35.",
        sensitive=True,
    ),
    number(
        "education",
        "education",
        -0.5,
        0.5,
        kind="real",
        bounds="declared",
        description="A score from -0.5 (least) to 0.5 (most).",
    ),
    number("loan_amount", "loan amount", -60, 12, kind="real"),
    number("loan_duration", "loan duration", -55, 21, kind="real"),
    number("income", "income", -12, 15, kind="real"),
    number("savings", "savings", -30, 35, kind="real"),
)

ACTS = {
    "recommended": Acts(
        "Raise education, income or savings; change the amount; the duration follows.",
        dict(zip(NAMES, ("I", "I", "A+", "A", "M", "A+", "A+"), strict=True)),
        # 100 EUR, 50 EUR a month and 100 EUR in the units that people say
        least={"loan_amount": 0.1, "income": 0.2, "savings": 0.2},
    ),
    "carma": Acts(
        "CARMA (2024): acts on education, amount, income and savings in either direction.",
        dict(zip(NAMES, ("I", "I", "A", "A", "M", "A", "A"), strict=True)),
    ),
    "icarma": Acts(
        "iCARMA: acts on income, savings, duration and amount.",
        dict(zip(NAMES, ("I", "I", "M", "A", "A", "A", "A"), strict=True)),
    ),
}
ACTS["benchmark"] = Acts(f"As carma. {ACTS['carma'].source}", ACTS["carma"].marks)


def _sigmoid(z: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / (1.0 + np.exp(-z)))


def equations(u: np.ndarray, karimi: bool = False) -> np.ndarray:
    """Exogenous noise (n, 7) -> people (n, 7), both in the order of `NAMES`; each row stands alone.

    karimi: the original equations, where gender raises amount and duration instead of lowering them.
    """
    ug, ua, ue, ul, ud, ui, us = np.asarray(u, dtype=np.float64).T
    g, a = ug, ua - 35.0
    larger = g if karimi else 1.0 - g
    e = -0.5 + _sigmoid(-1.0 + 0.5 * g + _sigmoid(0.1 * a) + ue)
    amount = 1.0 - 0.01 * (a - 5.0) ** 2 + larger + ul
    duration = -1.0 + 0.1 * a + 2.0 * larger + amount + ud
    income = -4.0 + 0.1 * (a + 35.0) + 2.0 * g + g * e + ui
    savings = -4.0 + 1.5 * np.maximum(income, 0.0) + us
    return np.stack([g, a, e, amount, duration, income, savings], axis=1)


def decision(x: np.ndarray) -> np.ndarray:
    """(n, 7) -> (n,) int, 1 where the loan is granted.

    The rule: -L - D + I + S + s I S >= 0 with s = 1 where both I and S are at least 0, else -1.
    """
    amount, duration, income, savings = np.asarray(x, dtype=np.float64)[:, 3:7].T
    sign = np.where((income >= 0) & (savings >= 0), 1.0, -1.0)
    return np.asarray(-amount - duration + income + savings + sign * income * savings >= 0).astype(np.int64)


def sample(n: int, seed: int = SEED, karimi: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Draw n people. Returns x (n, 7) and the noise u (n, 7) that made them."""
    rng = generator(seed)
    u = np.stack(
        [
            rng.integers(0, 2, n).astype(np.float64),
            rng.gamma(10.0, 3.5, n),
            rng.normal(0.0, 0.5, n),
            rng.normal(0.0, 2.0, n),
            rng.normal(0.0, 3.0, n),
            rng.normal(0.0, 2.0, n),
            rng.normal(0.0, 5.0, n),
        ],
        axis=1,
    )
    return equations(u, karimi), u


def _drawn_decision(x: np.ndarray) -> np.ndarray:
    """(n, 7) -> (n,) int, the label of Karimi et al. (2020), drawn with a seed of its own."""
    amount, duration, income, savings = x[:, 3:7].T
    chance = _sigmoid(0.3 * (-amount - duration + income + savings + income * savings))
    return (np.random.default_rng([SEED, 1]).random(len(x)) < chance).astype(np.int64)


def _carma_world(schema: Schema) -> World:
    return loan("carma").bind(schema)


def _karimi_world(schema: Schema) -> World:
    return loan("karimi").bind(schema)


def build(files: Files, chosen: frozenset[str]) -> Dataset:
    """Draw or read the people."""
    folder = next(iter(chosen), None)
    notes = [
        "Values are in the units of the equations: income and savings can be negative, age counts from 35.",
        "The label is drawn with probability sigmoid(0.3 (-L - D + I + S + I S)): no classifier is perfect."
        if folder == "karimi"
        else "The label is a threshold without noise, so a perfect classifier exists.",
    ]
    fold: np.ndarray | None = None
    if folder is None or folder == "karimi":
        x, u = sample(SIZE, SEED, karimi=folder == "karimi")
        y = decision(x) if folder is None else _drawn_decision(x)
        steps = (Step(f"drawn from the structural equations with seed {SEED}", SIZE),)
    else:
        parts = []
        for part in _RELEASED[folder]:
            with np.load(
                io.BytesIO(files.read(f"carma_loan/{folder}/{part}.npz")), allow_pickle=False
            ) as arrays:
                parts.append({name: arrays[name] for name in ("X", "U", "Y")})
        x, u = (np.concatenate([part[name] for part in parts]).astype(np.float64) for name in ("X", "U"))
        y = np.concatenate([part["Y"] for part in parts]).astype(np.int64)
        fold = np.repeat(np.arange(3), [len(part["Y"]) for part in parts])
        steps = (Step(f"released tensors of the folder {folder}, splits 0, 1 and 2", len(y)),)
        if folder == "causal_estimator":
            changed = int((decision(x) != y).sum())
            y = decision(x)
            notes.append(
                f"This folder was released with an older label rule. The labels were recomputed with the "
                "rule of the "
                f"other two folders; {changed:,} of {len(y):,} changed."
            )
        notes.append("The three folders are independent draws of the same equations.")
    return made(
        ENTRY,
        chosen=chosen,
        features=FEATURES,
        columns={name: x[:, j] if j else x[:, j].astype(int) for j, name in enumerate(NAMES)},
        y=y,
        acts=ACTS,
        label="granted",
        label_text={1: "loan granted", 0: "loan refused"},
        steps=steps,
        notes=tuple(notes),
        dropped={},
        fold=fold,
        fold_names=("training", "validation", "test") if fold is not None else (),
        graph=GRAPH,
        extra={"noise": u},
        world_of=_karimi_world if folder == "karimi" else _carma_world,
    )
