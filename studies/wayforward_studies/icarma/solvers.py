"""Who answers: the causal oracle, iCARMA in its setups, and our hybrid, each asked for every case of the study."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.preferences import LOAN_LAWS, PreferenceLaw, Preferences
from wayforward.problem import Problem
from wayforward_studies.checkpoints import Checkpoints, Show, quiet
from wayforward_studies.icarma.measures import IcarmaMeasures, PerPerson, measure, per_person
from wayforward_studies.icarma.preferences import LEVELS, preferences
from wayforward_studies.icarma.published import IcarmaCase
from wayforward_studies.icarma.setting import IcarmaSetting

#: How iCARMA is trained: batch, margin, temperature and the weights of effort and range as the paper prints them
#: (the presets), the rest found by us on validation, since the paper's text lost the form of its losses. The networks
#: see each person's weights, so those trained with linear weights answer for concave and convex ones, too. Weights
#: lean harder on the prior of the mask (`kl`), which is what tells the networks to leave hard features alone.
_NETWORKS = {"mask_width": 32, "action_width": 64, "entropy": 0.1, "plausibility": 3.0}
SETUPS: dict[str, dict[str, Any]] = {
    "loan-ranks": {**_NETWORKS, "epochs": 120, "cap": 20.0, "kl": 1.0},
    "loan-ranks, weighted": {**_NETWORKS, "epochs": 200, "cap": 20.0, "kl": 2.5},
    "loan-scores": {**_NETWORKS, "epochs": 120, "cap": 20.0, "kl": 1.0},
    "loan-scores, weighted": {**_NETWORKS, "epochs": 200, "cap": 20.0, "kl": 1.5},
    "gmsc": {**_NETWORKS, "epochs": 150, "cap": 20.0, "kl": 1.0},
    "gmsc, weighted": {**_NETWORKS, "epochs": 150, "cap": 25.0, "kl": 2.5},
}

#: What our hybrid pays for ending less likely than the person was, in units of cost; and the prices of the curve.
PRICE = 1.0
PRICES = (0.0, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, np.inf)
_PART = 512  # people between two words about progress


@dataclass
class IcarmaStudy:
    """One setting, the people who are asked, and everything that was answered so far.

    n: at most this many people, for a quick look; None: everybody whom the model refuses. seeds, epochs: of iCARMA;
    epochs None: those of `SETUPS`. seed: of the draws of preferences and of everything else.
    """

    setting: IcarmaSetting
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    n: int | None = None
    seeds: int = 10
    epochs: int | None = None
    seed: int = 0
    show: Show = quiet
    used: dict[str, Any] = field(default_factory=dict)  # parameters of each method that was used
    _models: dict[tuple[str, str, str, str], Any] = field(default_factory=dict)
    _measured: dict[tuple[IcarmaCase, str, str], IcarmaMeasures] = field(default_factory=dict)

    @cached_property
    def everybody(self) -> np.ndarray:
        """(N, d) all refused people of the test split; they say what they can do before a quick look takes some."""
        return self.setting.refused("test")

    @cached_property
    def x(self) -> np.ndarray:
        """(n, d) the people who are asked."""
        return self.everybody[: self.n]

    @cached_property
    def problems(self) -> dict[str, Problem]:
        """The question in both worlds, without and with the demand for plausibility."""
        setting = self.setting
        learned = setting.world if setting.learned is None else setting.learned
        out = {"true": setting.problem(), "learned": setting.problem(world=learned)}
        return out | {"true strict": setting.strict(), "learned strict": setting.strict(learned)}

    def wishes(self, case: IcarmaCase) -> Preferences:
        """What these people say, whichever method asks."""
        drawn = preferences(self.setting.schema, case, len(self.everybody), seed=self.seed)
        return drawn.take(np.arange(len(self.x)))

    # -- answers -------------------------------------------------------------------------------------------

    def action(self, case: IcarmaCase, method: str) -> np.ndarray:
        """(n, d) what each person should do, NaN where nothing is proposed."""
        return self.answer(self.wishes(case), method, case.elicited, case.profile, case.key)

    def answer(
        self,
        wishes: Preferences,
        method: str,
        elicited: str,
        profile: str,
        name: str,
        x: np.ndarray | None = None,
    ) -> np.ndarray:
        """The same for any preferences, of the people who are asked or of others x (n, d)."""
        people = self.x if x is None else x
        if method.startswith("polished"):
            found = self._searched(wishes, elicited, profile, name, people)
            price = np.inf if method == "polished-hard" else PRICE
            return cheapest(
                found["cost"], found["short"], found["action"], price, hard=method == "polished-hard"
            )
        if method.startswith("icarma"):  # answers in a second, so nothing is kept
            law = "reverse" if method == "icarma-reverse" else "uniform"
            proposal = self.model(elicited, law, profile, "learned").propose(people, wishes)
            return np.asarray(proposal.action)
        oracle = grid_alone()
        self.used[method] = oracle.parameters()

        def make() -> dict[str, np.ndarray]:
            oracle.fit(self.problems["true" if method == "oracle-free" else "true strict"])
            with self.show(f"{method}: {name}", len(people)) as tick:
                got = oracle.recommend(
                    people, preferences=wishes, progress=lambda done, total: tick(done), minimal=False
                )
            return {"action": got.action[:, 0]}

        decides = [self._decides(method, wishes), people.tolist()]
        return self.checkpoints.arrays(f"{self.setting.name}-{method}-{name}", decides, make)["action"]

    def _decides(self, method: str, wishes: Preferences) -> dict[str, Any]:
        """All that an answer depends on, beside the people."""
        return {
            "setting": self.setting.checksums,
            "method": method,
            "frozen": wishes.frozen.tolist(),
            "weight": wishes.weight.tolist(),
            "training": [],
        }

    def model(self, elicited: str, law: str, profile: str, world: str) -> Any:
        """A trained iCARMA: what people are asked, how their answers are drawn in training, how they are weighed."""
        weights = "constant" if profile == "constant" else "linear"
        key = (elicited, law, weights, world)
        if key not in self._models:
            self._models[key] = self._trained(*key)
        model = self._models[key]
        report = model.report_
        name = f"icarma, {elicited}, {law} law, {weights} weights, {world} world"
        self.checkpoints.seconds[f"training {name}"] = report.seconds
        self.used[name] = model.parameters() | {
            "seeds": list(model.seeds),
            "chosen seed": report.seed,
            "chosen epoch": report.epoch,
            "trained on": report.trained_on,
            "chosen on": report.chosen_on,
        }
        return model

    def _trained(self, elicited: str, law: str, profile: str, world: str) -> Any:
        from wayforward.methods.icarma import ICarma

        preset = "gmsc" if self.setting.name == "gmsc" else f"loan-{elicited}"
        chosen: Any = profile
        setup = dict(SETUPS[preset if profile == "constant" else f"{preset}, weighted"])
        if self.epochs is not None:
            setup["epochs"] = self.epochs
        method = ICarma(
            preset=preset,
            seeds=self._seeds,
            law=training_law(law, elicited),
            profile=chosen,
            validation=self.setting.refused("validation"),
            split_seed=self.seed,
            **setup,
        )
        problem, name = self.problems[world], f"{self.setting.name}-icarma-{elicited}-{law}-{profile}-{world}"
        decides = [self.setting.checksums, method.parameters(), list(method.seeds), self.seed]

        def fitted(part: Path | None) -> ICarma:
            with self.show(f"training {name}, epochs", method.epochs) as tick:
                method.progress, method.checkpoint = (lambda done, total: tick(done)), part
                return method.fit(problem)

        return self.checkpoints.model(
            name, decides, read=lambda file: ICarma.load(file, problem), make=fitted, write=ICarma.save
        )

    @property
    def _seeds(self) -> tuple[int, ...]:
        return tuple(1000 * (i + 1) for i in range(self.seeds))

    # -- measures ------------------------------------------------------------------------------------------

    def people(self, case: IcarmaCase, method: str, world: str) -> PerPerson:
        """Each person's answer, replayed in the 'true' or the 'learned' world."""
        return per_person(self.problems[world], self.x, self.action(case, method), self.wishes(case))

    def measured(self, case: IcarmaCase, method: str, world: str | None = None) -> IcarmaMeasures:
        """The measures of one line of a table, in the world that the method worked in or in another one."""
        used = world or self.home(method)
        key = (case, method, used)
        if key not in self._measured:
            self._measured[key] = measure(self.people(case, method, used), seed=self.seed)
        return self._measured[key]

    @property
    def ours(self) -> tuple[str, ...]:
        """Our hybrid, shown after the paper's methods: plausibility as a hard limit, and at `PRICE`."""
        return ("polished-hard", "polished-price")

    def curve(self, case: IcarmaCase) -> list[tuple[str, float, float]]:
        """Validity and plausibility of the hybrid on the way from plausibility that costs nothing to a hard limit.

        'price': everybody gets a proposal, an implausible one at a price. 'withheld': of those at an infinite price
        the least likely are withheld, until only plausible ones are left.
        """
        found = self._searched(self.wishes(case), case.elicited, case.profile, case.key, self.x)
        parts = found["cost"], found["short"], found["action"]
        out = []
        for price in PRICES:
            out.append(("price", *self._point(case, cheapest(*parts, price))))
        best = picked(*parts, np.inf)
        short = found["short"][np.arange(len(best)), best]
        everyone = cheapest(*parts, np.inf)
        for share in (1.0, 0.75, 0.5, 0.25, 0.0):
            limit = np.quantile(short[short > 0], share) if share and (short > 0).any() else 0.0
            shown = np.where((short > limit)[:, None], np.nan, everyone)
            out.append(("withheld", *self._point(case, shown)))
        return out

    def _point(self, case: IcarmaCase, action: np.ndarray) -> tuple[float, float]:
        one = measure(per_person(self.problems["true"], self.x, action, self.wishes(case)), seed=self.seed)
        return one.validity.value, one.plausibility.value

    def _searched(
        self, wishes: Preferences, elicited: str, profile: str, name: str, x: np.ndarray
    ) -> dict[str, np.ndarray]:
        """What the hybrid knows of each person: cost and shortfall (n, m) and action (n, m, d) of m proposals."""
        model = self.model(elicited, "uniform", profile, "learned")
        self.used["icarma-polished"] = {"price": PRICE, "per": "person", "prices of the curve": list(PRICES)}
        networks = [model.parameters(), model.report_.seed, model.report_.epoch]
        decides = [self._decides("polished", wishes), x.tolist(), networks]

        def make() -> dict[str, np.ndarray]:
            from wayforward.methods.icarma_polished import Polished

            problem = self.problems["true"]
            method = Polished(plausibility="price", price=PRICE, icarma=model).fit(problem)
            parts: list[dict[str, np.ndarray]] = []
            with self.show(f"icarma-polished: {name}", len(x)) as tick:
                for start in range(0, len(x), _PART):
                    rows = np.arange(start, min(start + _PART, len(x)))
                    people = problem.population(x[rows], wishes.take(rows))
                    with np.errstate(invalid="ignore"):  # two shortfalls without an end have no difference
                        got = method.search(people, np.array([0.0, np.inf]), seed=self.seed)
                    n, d = people.x.shape
                    parts.append(
                        {
                            "cost": got.cost.reshape(n, -1),
                            "short": got.short.reshape(n, -1),
                            "action": got.action.reshape(n, -1, d),
                        }
                    )
                    tick(int(rows[-1]) + 1)
            return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}

        return self.checkpoints.arrays(f"{self.setting.name}-polished-{name}", decides, make)

    def home(self, method: str) -> str:
        """The world that a method works in: iCARMA learns in the flow, the oracle and the hybrid know the equations."""
        return "learned" if method.startswith("icarma") and self.setting.learned is not None else "true"


def grid_alone() -> Any:
    """The causal oracle without proofs that nothing exists off its grid: the tables ask what the grid holds."""
    from wayforward.methods.causal_oracle import CausalOracle

    class GridAlone(CausalOracle):
        @property
        def _prove(self) -> bool:  # a hundred times the work of the grid, for the same actions
            return False

    return GridAlone()


def picked(cost: np.ndarray, short: np.ndarray, action: np.ndarray, price: float) -> np.ndarray:
    """(n,) the place of the best of m proposals: cost (n, m), and `price` on top where `short` (n, m) is above 0."""
    rank = np.where(np.isfinite(cost), cost + np.where(short > 0, min(price, 1e12), 0.0), np.inf)
    return np.asarray(rank.argmin(axis=1))


def cheapest(
    cost: np.ndarray, short: np.ndarray, action: np.ndarray, price: float, *, hard: bool = False
) -> np.ndarray:
    """The best of m proposals, action (n, m, d) -> (n, d), NaN where there is none; see `picked`.

    An infinite price takes a plausible proposal wherever there is one, and another one still; `hard` takes none.
    """
    best, rows = picked(cost, short, action, np.inf if hard else price), np.arange(len(cost))
    there = np.isfinite(cost[rows, best]) & ~(hard & (short[rows, best] > 0))
    return np.where(there[:, None], action[rows, best], np.nan)


def training_law(law: str, elicited: str) -> PreferenceLaw:
    """What iCARMA sees in training: which and how many features are actionable, all as likely."""
    if elicited == "scores":
        return PreferenceLaw("scores", levels=LEVELS, cannot=True)
    return PreferenceLaw("ranks", favoured=LOAN_LAWS.get(law, ()), threshold="random")
