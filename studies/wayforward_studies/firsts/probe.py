"""PROBE's Table 1: recourse that stays a yes with a chosen chance when it is carried out with an error.

Facts, not code, of public records of the paper: M. Pawelczyk, T. Datta, J. van-den-Heuvel, G. Kasneci, H. Lakkaraju
(2023), Probabilistically Robust Recourse, ICLR, arXiv:2203.06768.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from wayforward_studies.firsts.original import SEPARATOR

if TYPE_CHECKING:
    import torch

PEOPLE, TEST = 500, 0.2
SIGMA, RATE = 0.1, 0.35  # of the error in every column, and the share of errors that may undo an option
PRICE, ROUNDS, LENGTH = 0.01, 200, 100  # of distance; steps of a round, and rounds at most
STEP = 1e-3  # Adam's rate
DRAWS = 1000  # errors by which an option is measured
HIDDEN, LEARNING = 50, 0.002
#: Data set and model -> epochs and batch.
TRAINING = {
    ("compas", "linear"): (25, 128), ("compas", "network"): (25, 25),
    ("gmc", "linear"): (50, 2048), ("gmc", "network"): (50, 2048),
    ("adult", "linear"): (100, 1024), ("adult", "network"): (30, 1024),
}  # fmt: skip

MEASURES = ("accuracy", "share with recourse", "invalidation", "cost")
AS_RUN, FREE, FAST, DEAR, HALF, LIBRARY = (
    "equations", "binaries not rounded", "steps of .05", "a price of 1", "towards .55", "wayforward's probe"
)  # fmt: skip
WAYS: dict[str, dict[str, Any]] = {
    AS_RUN: {}, FREE: {"rounded": False}, FAST: {"step": 0.05}, DEAR: {"price": 1.0}, HALF: {"target": 0.55}
}  # fmt: skip
LIBRARY_PEOPLE = 100  # of a seed, whom the library's method answers


@dataclass(frozen=True)
class Data:
    """Rows (n, d) in [0, 1], labels, 1 the yes, and which columns have two values."""

    x: np.ndarray
    y: np.ndarray
    binary: np.ndarray


@lru_cache(3)
def data(name: str) -> Data:
    """The table as the record has it."""
    if name == "compas":
        from wayforward.data import load

        scored, again = load("compas", variant="score"), load("compas")
        at = {f.name: scored.x[:, j] for j, f in enumerate(scored.schema.features)}
        black = scored.schema["race"].levels.index("African-American")
        numbers = [at["age"], at["priors_count"], at["length_of_stay"]]
        two = [~again.is_favourable, at["c_charge_degree"], at["race"] == black, at["sex"]]
        return _scaled(numbers, two, scored.is_favourable)
    return _gmc() if name == "gmc" else _adult()


def _scaled(numbers: list[np.ndarray], two: list[np.ndarray], yes: np.ndarray) -> Data:
    x = np.column_stack([*numbers, *two]).astype(float)
    x = (x - x.min(0)) / np.ptp(x, axis=0)
    return Data(x, yes.astype(int), np.arange(x.shape[1]) >= len(numbers))


def _gmc() -> Data:
    from wayforward.data import gmsc
    from wayforward.data.files import Files

    late, x = gmsc.read(Files("gmsc", known=gmsc.ENTRY.files))
    whole = ~np.isnan(x).any(1)
    late, x = late[whole], x[whole]
    near = (np.abs(x - x.mean(0)) < 3 * x.std(0, ddof=1)).all(1)  # which leaves the record's rows
    return _scaled(list(x[near].T), [], ~late[near])


def _adult() -> Data:
    from wayforward.data import adult
    from wayforward.data.files import Files, rows_of

    files = Files("adult", known=adult.ENTRY.files)
    first, second = (rows_of(files.read(name), space=True) for name in adult.FILES)
    raw = np.array(first + second[1:])  # the first line is a comment of the test file
    age, work, final, _, years, married, job, kin, race, sex, gain, loss, hours, country, income = raw.T
    numbers = [column.astype(float) for column in (age, final, years, gain, loss, hours)]
    two = [
        work == "Private",
        np.isin(married, ("Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent")),
        np.isin(job, ("Exec-managerial", "Prof-specialty")),
        kin == "Husband",
        race == "White",
        sex == "Male",
        country == "United-States",
    ]
    return _scaled(numbers, two, np.char.startswith(income, ">50K"))


def trained(
    rows: np.ndarray, y: np.ndarray, kind: str, epochs: int, batch: int, seed: int
) -> torch.nn.Sequential:
    """A regression or a network of one layer, with two outputs, by RMSprop on cross-entropy."""
    import torch

    x, told = torch.tensor(rows, dtype=torch.float32), torch.tensor(y)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        d = x.shape[1]
        layers: list[torch.nn.Module] = [torch.nn.Linear(d, 2)]
        if kind == "network":
            layers = [torch.nn.Linear(d, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 2)]
        model = torch.nn.Sequential(*layers)
        steps = torch.optim.RMSprop(model.parameters(), lr=LEARNING)
        for _ in range(epochs):
            for some in torch.randperm(len(x)).split(batch):
                steps.zero_grad()
                torch.nn.functional.cross_entropy(model(x[some]), told[some]).backward()
                steps.step()
    return model.eval()


@dataclass(frozen=True)
class Scored:
    """Log-odds of a yes and their slopes, of one hidden layer (`hidden`) or none."""

    weight: np.ndarray  # (d,) or (hidden,)
    constant: float
    hidden: tuple[np.ndarray, np.ndarray] | None = None  # (d, hidden), (hidden,)

    @classmethod
    def of(cls, model: torch.nn.Sequential) -> Scored:
        """Read from a network with two outputs."""
        parts = [part.detach().double().numpy() for part in model.parameters()]
        weight, constant = parts[-2], parts[-1]
        first = (parts[0].T, parts[1]) if len(parts) > 2 else None
        return cls(weight[1] - weight[0], float(constant[1] - constant[0]), first)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """(..., d) -> (...)."""
        if self.hidden is not None:
            x = np.maximum(x @ self.hidden[0] + self.hidden[1], 0)
        return np.asarray(x @ self.weight + self.constant)

    def slope(self, x: np.ndarray) -> np.ndarray:
        """(m, d) -> (m, d)."""
        if self.hidden is None:
            return np.tile(self.weight, (len(x), 1))
        on = x @ self.hidden[0] + self.hidden[1] > 0
        return np.asarray((on * self.weight) @ self.hidden[0].T)


def rate(score: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """The share of errors that undo each option, as if the score were linear around it, (m,)."""
    return np.asarray(ndtr(-score / (SIGMA * np.sqrt((slope**2).sum(1)) + 1e-12)))


def descend(
    model: Scored,
    x: np.ndarray,
    binary: np.ndarray,
    *,
    rounded: bool = True,
    step: float = STEP,
    target: float = 1.0,
    price: float = PRICE,
) -> np.ndarray:
    """Where Adam leads each row (m, d): cross-entropy, a falling price on distance, a hinge on the rate.

    A row ends where the model says yes and the rate is met; NaN where it never is. step: Adam's rate. target: the
    chance of a yes that the cross-entropy seeks. rounded: two-valued columns are read as the nearer of 0 and 1.
    """
    out = np.full(x.shape, np.nan)
    live, now, start = np.arange(len(x)), x.copy(), x
    first, second = np.zeros_like(x), np.zeros_like(x)

    def read(rows: np.ndarray) -> np.ndarray:
        return np.where(binary, np.round(rows), rows) if rounded else rows

    for t in range(1, ROUNDS * LENGTH + 1):
        seen = read(now)
        score, slope = model(seen), model.slope(seen)
        undone = rate(score, slope)
        done = (score > 0) & (undone <= RATE)
        if done.any():
            out[live[done]] = seen[done]
            stay = ~done
            live, now, start, first, second, score, slope, undone = (
                part[stay] for part in (live, now, start, first, second, score, slope, undone)
            )
            if not len(live):
                break
        spread = SIGMA * np.sqrt((slope**2).sum(1)) + 1e-12
        pushed = target - 1 / (1 + np.exp(-score))  # of the cross-entropy with that chance
        pushed = pushed + (undone > RATE) * np.exp(-0.5 * (score / spread) ** 2) / (
            np.sqrt(2 * np.pi) * spread
        )
        share = max(1 - (t - 1) // ROUNDS / LENGTH, 0)
        down = share * price * np.sign(now - start) - pushed[:, None] * slope
        first = 0.9 * first + 0.1 * down
        second = 0.999 * second + 0.001 * down**2
        now = now - step * first / (1 - 0.9**t) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
        now = np.clip(now, 0, 1)
    return out


def undone(model: Scored, after: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The share of errors in every column that undo each option, counted, (m,)."""
    out = np.zeros(len(after))
    for _ in range(DRAWS // 50):
        error = rng.normal(scale=SIGMA, size=(50, *after.shape))
        out += (model(after + error) <= 0).sum(0)
    return out / (DRAWS // 50 * 50)


def library(model: torch.nn.Sequential, rows: np.ndarray, x: np.ndarray, binary: np.ndarray) -> np.ndarray:
    """Where the library's `probe` leads each row (m, d); NaN where no option meets the rate."""
    from wayforward.methods import recommend
    from wayforward.problem import Problem, Target
    from wayforward.schema import Feature, Schema
    from wayforward.schema.tables import SchemaWarning

    schema = Schema(
        tuple(
            Feature(name=f"column {j}", kind="binary", levels=(0, 1))
            if two
            else Feature(name=f"column {j}", kind="real", low=0.0, high=1.0)
            for j, two in enumerate(binary)
        )
    )
    problem = Problem(schema, model, Target(favourable=1), data=rows[:5000], least_change=None)
    with warnings.catch_warnings(action="ignore", category=SchemaWarning):  # all may change, as published
        got = recommend(problem, x, "probe", sigma=SIGMA, rate=RATE, otherwise="none")
    return np.asarray(np.where(got.found, got.after[:, 0], np.nan))


def _measures(model: Scored, x: np.ndarray, after: np.ndarray, seed: int) -> dict[str, float]:
    found = ~np.isnan(after).any(1)
    out: dict[str, float] = {"share with recourse": found.mean(), "invalidation": np.nan, "cost": np.nan}
    if found.any():
        rates = undone(model, after[found], np.random.default_rng([3, seed]))
        cost = np.abs(after - x)[found].sum(1)
        out |= {"invalidation": rates.mean(), "cost": cost.mean()}
        out |= {"invalidation, spread": rates.std(), "cost, spread": cost.std()}
    return out


def measured(seed: int, n: int | None) -> dict[str, float]:
    """Everything of one seed, which draws the test part and trains the models."""
    out: dict[str, float] = {}
    for (name, kind), (epochs, batch) in TRAINING.items():
        table = data(name)
        order = np.random.default_rng([1, seed]).permutation(len(table.x))
        train = order[int(TEST * len(order)) :]
        native = trained(table.x[train], table.y[train], kind, epochs, batch, seed)
        model = Scored.of(native)
        said = model(table.x) > 0
        test = order[: int(TEST * len(order))]
        x = table.x[np.flatnonzero(~said)][:n]

        def note(way: str, got: dict[str, Any], where: tuple[str, str] = (name, kind)) -> None:
            out.update({SEPARATOR.join((*where, way, key)): value for key, value in got.items()})

        note(AS_RUN, {"accuracy": (said == table.y)[test].mean()})
        for way, how in WAYS.items():
            if way != FREE or table.binary.any():
                note(way, _measures(model, x, descend(model, x, table.binary, **how), seed))
        few = x[:LIBRARY_PEOPLE]
        note(LIBRARY, _measures(model, few, library(native, table.x, few, table.binary), seed))
    return {key: float(value) for key, value in out.items()}
