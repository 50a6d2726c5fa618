"""The two worlds of the study: who decides, who asks for recourse, and in which causal world they act.

Source: Budde, Majumdar, Uth, Langer & Valera (2026), iCARMA, appendix C; Majumdar & Valera (2024), CARMA.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import require
from wayforward.problem import AtLeastAsLikely, Plausibility, Problem, SquaredShift, Target
from wayforward.schema import Schema
from wayforward.world import World
from wayforward_studies.checkpoints import Checkpoints, fingerprint

EPOCHS, BATCH, RATE, WIDTH = 500, 256, 1e-3, 32

_OWN = ("icarma/setting.py",)  # what decides beside the package

#: Weight of the favourable class in the loss, and epochs: the default rate of the paper (.10) at its accuracy.
GMSC_WEIGHT, GMSC_EPOCHS = 0.2, 200

#: The flow of GMSC: splines over 32 hidden units, as published; small batches, since 60,000 rows need few epochs.
GMSC_FLOW = {"kind": "spline", "hidden": (32,), "batch": 500, "epochs": 40, "patience": 10}

_FRESH = (
    20_260_000  # seeds of the people drawn anew, far from those of the released ones and of `load("loan")`
)


@dataclass(frozen=True)
class IcarmaSetting:
    """A data set of the study, ready to ask: each split is (n, d), feature units, schema order.

    train, validation, test: everybody of that split, refused or not. world: the causal world that answers are
    judged in (the true SCM of Loan; a fitted flow of GMSC). learned: the world that the amortised methods learn in,
    a flow fitted to data. chosen: how each part was made, in words and numbers.
    """

    name: str
    schema: Schema
    model: Any  # a torch module on raw rows (m, d) -> (m, 1) logit
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    world: World
    learned: World | None = None
    chosen: Mapping[str, Any] = field(default_factory=dict)

    def refused(self, split: str = "test") -> np.ndarray:
        """(n, d) the people of a split whom the model refuses: those who ask for recourse."""
        x: np.ndarray = getattr(self, split)
        return np.asarray(x[~self.problem().reached(x)[0]])

    @property
    def checksums(self) -> dict[str, str]:
        """A hash of the people of each split, so that another run can say that it had the same."""
        splits = ("train", "validation", "test")
        return {name: hashlib.sha256(getattr(self, name).tobytes()).hexdigest()[:16] for name in splits}

    def problem(self, *, plausibility: Plausibility | None = None, world: World | None = None) -> Problem:
        """The study's question, with the cost of the paper; `world` may be another one, such as a fitted flow."""
        from wayforward.model import wrap

        model = wrap(self.model, self.schema, output="logit", classes=(0, 1))
        return Problem(
            self.schema,
            model,
            Target(favourable=1),
            data=self.train,
            least_change=None,
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
    name: str = "classifier",
    cache: Path | None = None,
) -> Any:
    """A ReLU network (32, 32) on raw rows, standardised inside; `weight` multiplies the loss of class 1.

    x (n, d), y (n,) 0 or 1. cache: the folder of finished stages, in which it has this name.
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

    def weights() -> dict[str, np.ndarray]:
        rows = torch.tensor((x - mean) / std, dtype=torch.float32)
        labels = torch.tensor(y, dtype=torch.float32)[:, None]
        loss = torch.nn.BCEWithLogitsLoss(pos_weight=torch.tensor(weight))
        optimiser = torch.optim.Adam(module[1:].parameters(), lr=RATE)
        for _ in range(epochs):
            for part in torch.randperm(len(rows)).split(BATCH):
                optimiser.zero_grad()
                loss(module[1:](rows[part]), labels[part]).backward()
                optimiser.step()
        return {key: tensor.numpy() for key, tensor in module.state_dict().items()}

    decides = [fingerprint(x, y), seed, epochs, weight]
    stored = Checkpoints(cache, own=_OWN).arrays(name, decides, weights)
    module.load_state_dict({key: torch.tensor(array) for key, array in stored.items()})
    return module


def loan_setting(*, seed: int = 0, cache: Path | None = None) -> IcarmaSetting:
    """Loan on the released splits: classifier fitted on the folder `clf`, recourse asked on the folder `recourse`."""
    from wayforward.data import load

    people, decided = load("loan", variant="recourse+icarma"), load("loan", variant="clf")
    fit = decided.fold == 0
    model = train_classifier(
        decided.x[fit],
        decided.y[fit],
        seed=seed,
        name="loan-clf",
        cache=cache,
    )
    train, validation, test = (people.x[people.fold == part] for part in range(3))
    world = people.world
    assert world is not None
    chosen = _quality(model, test, people.y[people.fold == 2], EPOCHS)
    return IcarmaSetting("loan", people.schema, model, train, validation, test, world, chosen=chosen)


#: The classifier that CARMA's authors released, as plain arrays.
_RELEASED = "carma_loan/released_classifier.npz"
_RELEASED_SHA256 = "810fb67b27124cdd3d0364f498033d7aa5a0270058782ac1ea465cc342491613"


def released_loan_setting(*, seed: int = 0, cache: Path | None = None) -> IcarmaSetting:
    """Loan on the released splits with the classifier that CARMA's authors released; no flow is needed to ask oracles.

    Those who ask are standardised by their own training split, as the public code does: 2,364 are refused (2,387 by the
    split that the classifier was trained on).
    """
    from wayforward.data import load

    people = load("loan", variant="recourse+icarma")
    model = released_classifier(people.x[people.fold == 0])
    train, validation, test = (people.x[people.fold == part] for part in range(3))
    world = people.world
    assert world is not None
    chosen = _quality(model, test, people.y[people.fold == 2], EPOCHS)
    return IcarmaSetting("loan-released", people.schema, model, train, validation, test, world, chosen=chosen)


def released_classifier(x: np.ndarray) -> Any:
    """The released network on raw rows; x (n, d): the people whose mean and deviation (ddof 1) standardise.

    Raises: DataError where the file is absent.
    """
    from wayforward.data.files import Files, Known

    torch = require("torch", extra="torch")
    known = {_RELEASED: Known((_RELEASED_SHA256,), "https://github.com/ayanmaj92/carma-recourse")}
    with np.load(io.BytesIO(Files("loan", known=known).read(_RELEASED)), allow_pickle=False) as arrays:
        released = dict(arrays)
    mean, std = x.mean(0), x.std(0, ddof=1)
    layers = [
        (np.diag(1 / std), -mean / std),
        *((released[f"weight_{i}"], released[f"bias_{i}"]) for i in range(3)),
    ]
    parts: list[Any] = []
    for weight, bias in layers:
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(weight))
            linear.bias.copy_(torch.tensor(bias))
        parts += [linear.requires_grad_(False), torch.nn.ReLU()]
    return torch.nn.Sequential(parts[0], *parts[2:-1]).eval()


def fresh_loan_setting(*, seed: int = 0, cache: Path | None = None) -> IcarmaSetting:
    """Loan on people drawn anew from the equations, as many as were released: 20,000 to decide, 20,000 to ask."""
    from wayforward.data import load
    from wayforward.data.loan import decision, sample

    people = load("loan", variant="icarma")
    decided, asking = sample(10_000, _FRESH + seed)[0], sample(20_000, _FRESH + 1000 + seed)[0]
    model = train_classifier(
        decided,
        decision(decided),
        seed=seed,
        name="loan-fresh-clf",
        cache=cache,
    )
    world = people.world
    assert world is not None
    train, validation, test = np.split(asking, [10_000, 15_000])
    chosen = _quality(model, test, decision(test), EPOCHS)
    return IcarmaSetting("loan-fresh", people.schema, model, train, validation, test, world, chosen=chosen)


def with_flow(
    setting: IcarmaSetting,
    *,
    seed: int = 0,
    cache: Path | None = None,
    epochs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> IcarmaSetting:
    """The setting with a causal flow fitted to its data: the learned world of Loan, the only world of GMSC.

    A finished flow is read from `cache`, an interrupted fit goes on there. progress: (epochs done, at most).
    """
    from wayforward.world import CausalFlow

    schema = setting.schema
    graph, rows, held_out, options = _flow_of(setting, seed)
    if epochs is not None:
        options["epochs"] = epochs

    def fitted(part: Path | None) -> CausalFlow:
        return CausalFlow.fit(
            graph, rows, schema, held_out=held_out, seed=seed, progress=progress, checkpoint=part, **options
        )

    flow = Checkpoints(cache, own=_OWN).model(
        f"{setting.name}-flow",
        [schema.to_dict(), str(graph), fingerprint(rows, held_out), seed, options],
        read=lambda file: CausalFlow.load(file, schema),
        make=fitted,
        write=CausalFlow.save,
    )
    known = setting.world if setting.name.startswith("loan") else flow
    return replace(setting, learned=flow, world=known, chosen={**setting.chosen, "flow": str(flow.report)})


def _flow_of(setting: IcarmaSetting, seed: int) -> tuple[Any, np.ndarray, np.ndarray, dict[str, Any]]:
    """Graph, rows, held-out rows and options of the flow: the folder of 25,000 for Loan, the splits of GMSC."""
    from wayforward.data import gmsc, load, loan

    if setting.name == "gmsc":
        return gmsc.GRAPH, setting.train, setting.validation, dict(GMSC_FLOW)
    if setting.name == "loan-fresh":
        drawn = loan.sample(22_500, _FRESH + 2000 + seed)[0]
        return loan.GRAPH, drawn[:20_000], drawn[20_000:], {}
    released = load("loan", variant="causal_estimator")
    return loan.GRAPH, released.x[released.fold == 0], released.x[released.fold == 1], {}


def gmsc_setting(*, seed: int = 0, cache: Path | None = None) -> IcarmaSetting:
    """Give Me Some Credit, the full file: half to train, a quarter to validate, a quarter to ask.

    The world is unknown here: `with_flow` fits it. The classifier weighs the favourable class down, until about one
    in ten is refused.
    """
    from wayforward.data import load
    from wayforward.world import Independent

    people = load("gmsc", variant="clipped+icarma")
    order = np.random.default_rng(seed).permutation(people.n)
    parts = np.split(order, [people.n // 2, people.n // 2 + people.n // 4])
    model = train_classifier(
        people.x[parts[0]],
        people.y[parts[0]],
        seed=seed,
        weight=GMSC_WEIGHT,
        epochs=GMSC_EPOCHS,
        name="gmsc-clf",
        cache=cache,
    )
    train, validation, test = (people.x[part] for part in parts)
    chosen = _quality(model, test, people.y[parts[2]], GMSC_EPOCHS) | {
        "weight of the favourable class": GMSC_WEIGHT
    }
    return IcarmaSetting("gmsc", people.schema, model, train, validation, test, Independent(), chosen=chosen)


def _quality(model: Any, x: np.ndarray, y: np.ndarray, epochs: int) -> dict[str, Any]:
    """The epochs of a classifier, its accuracy and the share that it refuses, on the test split."""
    torch = require("torch", extra="torch")
    with torch.no_grad():
        yes = (model(torch.tensor(x, dtype=torch.float32))[:, 0] > 0).numpy()
    out = {"accuracy": float((yes == (y == 1)).mean()), "refused": float(1 - yes.mean())}
    return {"classifier epochs": epochs} | {name: round(value, 4) for name, value in out.items()}
