"""The two worlds of the study: who decides, who asks for recourse, and in which causal world they act.

Source: Budde, Majumdar, Uth, Langer & Valera (2026), iCARMA, appendix C; Majumdar & Valera (2024), CARMA.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import require
from wayforward.problem import AtLeastAsLikely, Plausibility, Problem, SquaredShift, Target
from wayforward.schema import Schema
from wayforward.world import World

EPOCHS, BATCH, RATE, WIDTH = 500, 256, 1e-3, 32


@dataclass(frozen=True)
class Setting:
    """A data set of the study, ready to ask: each split is (n, d), feature units, schema order.

    train, validation, test: everybody of that split, refused or not. world: the causal world that answers are
    judged in (the true SCM of Loan; a fitted flow of GMSC).
    """

    name: str
    schema: Schema
    model: Any  # a torch module on raw rows (m, d) -> (m, 1) logit
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    world: World

    def problem(self, *, plausibility: Plausibility | None = None, world: World | None = None) -> Problem:
        """The study's question, with the cost of the paper; `world` may be another one, such as a fitted flow."""
        from wayforward.model import wrap

        model = wrap(self.model, self.schema, output="logit", classes=(0, 1))
        return Problem(
            self.schema,
            model,
            Target(favourable=1),
            data=self.train,
            world=self.world if world is None else world,
            cost=SquaredShift(),
            plausibility=plausibility,
        )

    def strict(self, world: World | None = None) -> Problem:
        """As `problem`, where every option must be at least as likely as the person was."""
        used = self.world if world is None else world
        return self.problem(plausibility=AtLeastAsLikely(used), world=used)


def train_classifier(
    x: np.ndarray,
    y: np.ndarray,
    *,
    seed: int = 0,
    epochs: int = EPOCHS,
    weight: float = 1.0,
    path: Path | None = None,
) -> Any:
    """A ReLU network (32, 32) on raw rows, standardised inside; `weight` multiplies the loss of class 1.

    x (n, d), y (n,) 0 or 1. path: a safetensors file that is read where it exists and written where not.
    """
    torch = require("torch", extra="torch")
    torch.manual_seed(seed)
    mean, std = x.mean(0), x.std(0)
    scale = torch.nn.Linear(x.shape[1], x.shape[1])
    with torch.no_grad():
        scale.weight.copy_(torch.diag(torch.tensor(1 / std)))
        scale.bias.copy_(torch.tensor(-mean / std))
    layers = [
        torch.nn.Linear(x.shape[1], WIDTH),
        torch.nn.ReLU(),
        torch.nn.Linear(WIDTH, WIDTH),
        torch.nn.ReLU(),
    ]
    module = torch.nn.Sequential(scale, *layers, torch.nn.Linear(WIDTH, 1)).eval()
    for parameter in scale.parameters():
        parameter.requires_grad_(False)
    if path is not None and path.exists():
        from safetensors.torch import load_file

        module.load_state_dict(load_file(path))
        return module
    rows = torch.tensor((x - mean) / std, dtype=torch.float32)
    labels = torch.tensor(y, dtype=torch.float32)[:, None]
    loss = torch.nn.BCEWithLogitsLoss(pos_weight=torch.tensor(weight))
    optimiser = torch.optim.Adam(module[1:].parameters(), lr=RATE)
    for _ in range(epochs):
        for part in torch.randperm(len(rows)).split(BATCH):
            optimiser.zero_grad()
            loss(module[1:](rows[part]), labels[part]).backward()
            optimiser.step()
    if path is not None:
        from safetensors.torch import save_file

        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(module.state_dict(), path)
    return module


def loan_setting(*, seed: int = 0, cache: Path | None = None, acts: str = "icarma") -> Setting:
    """Loan on the released splits: classifier fitted on the folder `clf`, recourse asked on the folder `recourse`.

    acts: 'icarma' (income, savings, duration, amount) or 'carma' (education, amount, income, savings).
    """
    from wayforward.data import load

    people, decided = load("loan", variant=f"recourse+{acts}"), load("loan", variant="clf")
    fit = decided.fold == 0
    model = train_classifier(
        decided.x[fit],
        decided.y[fit],
        seed=seed,
        path=None if cache is None else cache / f"loan-clf-{seed}.safetensors",
    )
    train, validation, test = (people.x[people.fold == part] for part in range(3))
    world = people.world
    assert world is not None
    return Setting("loan", people.schema, model, train, validation, test, world)
