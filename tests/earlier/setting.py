"""The people, the model and the problem that the saved files of this folder are about. Needs no file but schema.yaml."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import wayforward as wf

HERE = Path(__file__).parent / "files"
CAUSES = {  # effect: its direct causes
    "education": ["age"],
    "income": ["age", "education", "sex"],
    "savings": ["income"],
    "hours": ["sex"],
    "debt": ["income", "savings"],
}
WEIGHT = np.array(
    [0.0, 0.125, 0.0, 1 / 256, 1 / 2048, 1 / 64, -1 / 512, 0.0]
)  # age, education, sex, income, savings, hours, debt, home
HOME = np.array([0.0, 0.5, -0.25])  # rent, own, family
LEVEL = 10.5  # a yes above it


def schema() -> wf.Schema:
    return wf.Schema.from_yaml(HERE / "schema.yaml")


def people(n: int = 240) -> np.ndarray:
    """(n, 8) whole numbers by arithmetic alone: the same on every machine and with every numpy."""
    i = np.arange(1, n + 1, dtype=np.int64)

    def wheel(a: int, m: int) -> np.ndarray:  # 0 .. m - 1, scattered
        return (i * a * a + i * i * 7 + (i * a) // 5) % m

    age = 20 + wheel(37, 46)
    education = np.minimum(3, (wheel(53, 10) + (age > 27) * 2 + (age > 40)) // 4)
    sex = wheel(91, 2)
    income = 8 * (120 + wheel(29, 90) + 30 * education + 2 * np.minimum(age - 20, 25) + 12 * sex)
    savings = 16 * np.maximum(0, wheel(71, 160) + income // 32 - 60)
    hours = 12 + wheel(47, 30) + 4 * sex
    debt = 32 * np.maximum(0, 60 + wheel(83, 120) - savings // 128 - income // 64)
    home = wheel(67, 3)
    return np.stack([age, education, sex, income, savings, hours, debt, home], axis=1).astype(np.float64)


def score(rows: np.ndarray) -> np.ndarray:
    """(m,) exact for whole numbers."""
    rows = np.asarray(rows, dtype=np.float64)
    return rows[:, :7] @ WEIGHT[:7] + HOME[rows[:, 7].astype(int)] - LEVEL


def probability(rows: np.ndarray) -> np.ndarray:
    """(m, 2) of no and yes: a ramp, so that no library's exponential matters."""
    yes = np.clip(0.5 + score(rows) / 64, 0.0, 1.0)
    return np.stack([1 - yes, yes], axis=1)


def labels(rows: np.ndarray) -> np.ndarray:
    return (score(rows) >= 0).astype(np.int64)


def problem(world: wf.World | None = None, **more: object) -> wf.Problem:
    own = schema()
    return wf.Problem(
        own,
        wf.wrap(probability, own, classes=(0, 1)),
        wf.Target(favourable=1),
        data=people(),
        world=world,
        **more,
    )


def refused(n: int = 6) -> np.ndarray:
    x = people()
    return x[labels(x) == 0][:n]


def wishes(n: int = 6) -> wf.Preferences:
    return (
        wf.Preferences.none(schema(), n)
        .freeze("income", who=[0, 2])
        .limit("savings", high=6000)
        .limit("hours", high=40, who=[1])
        .forbid("home", "family")
        .weigh(debt=2.0, hours=0.5)
        .at_most(2, who=[0, 3])
    )


def raised(x: np.ndarray) -> np.ndarray:
    """Actions: everybody earns 256 more."""
    action = np.full_like(x, np.nan)
    action[:, 3] = x[:, 3] + 256
    return action


def network():
    """A torch Sequential of fixed weights for the people's eight columns."""
    import torch

    layers = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    with torch.no_grad():
        layers[0].weight.copy_(torch.tensor(np.outer([1.0, 0.5, -0.5, 0.25], WEIGHT)))
        layers[0].bias.copy_(torch.tensor([-LEVEL, -LEVEL / 2, LEVEL / 2, -LEVEL / 4]))
        layers[2].weight.copy_(torch.tensor([[1.0, 0.5, -1.0, 0.25]]))
        layers[2].bias.zero_()
    return layers
