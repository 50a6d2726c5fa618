"""Who answers: the causal oracle, iCARMA in its setups, and our hybrid, each asked for every case of the study."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from wayforward.people import LOAN_LAWS, PreferenceLaw, Preferences
from wayforward.problem import Problem
from wayforward.replicate.icarma.keeping import Kept, Show, quiet
from wayforward.replicate.icarma.measures import Measured, PerPerson, measure, per_person
from wayforward.replicate.icarma.preferences import LEVELS, preferences
from wayforward.replicate.icarma.published import Case
from wayforward.replicate.icarma.setting import Setting


@dataclass
class Study:
    """One setting, the people who are asked, and everything that was answered so far.

    n: at most this many people, for a quick look; None: everybody whom the model refuses. seeds, epochs: of iCARMA;
    epochs None: as printed. seed: of the draws of preferences and of everything else.
    """

    setting: Setting
    kept: Kept = field(default_factory=Kept)
    n: int | None = None
    seeds: int = 10
    epochs: int | None = None
    seed: int = 0
    show: Show = quiet
    used: dict[str, Any] = field(default_factory=dict)  # parameters of each method that was used
    _models: dict[tuple[str, str, str, str], Any] = field(default_factory=dict)
    _measured: dict[tuple[Case, str, str], Measured] = field(default_factory=dict)

    @cached_property
    def x(self) -> np.ndarray:
        """(n, d) the people who are asked."""
        return self.setting.refused("test")[: self.n]

    @cached_property
    def problems(self) -> dict[str, Problem]:
        """The question in both worlds, without and with the demand for plausibility."""
        setting = self.setting
        learned = setting.world if setting.learned is None else setting.learned
        out = {"true": setting.problem(), "learned": setting.problem(world=learned)}
        return out | {"true strict": setting.strict(), "learned strict": setting.strict(learned)}

    def said(self, case: Case) -> Preferences:
        """What these people say, drawn once and replayed."""
        folder = None if self.kept.folder is None else self.kept.folder / "preferences"
        name = self.setting.name
        drawn = preferences(
            self.setting.schema, case, len(self.setting.refused("test")), seed=self.seed, folder=folder
        )
        assert name.startswith(case.dataset)
        return drawn.take(np.arange(len(self.x)))

    # -- answers -------------------------------------------------------------------------------------------

    def action(self, case: Case, method: str) -> np.ndarray:
        """(n, d) what each person should do, NaN where nothing is proposed."""
        return self.answer(self.said(case), method, case.elicited, case.profile, case.key)

    def answer(
        self,
        said: Preferences,
        method: str,
        elicited: str,
        profile: str,
        name: str,
        x: np.ndarray | None = None,
    ) -> np.ndarray:
        """The same for any preferences, of the people who are asked or of others x (n, d)."""
        people = self.x if x is None else x
        decides = {
            "setting": self.setting.checksums,
            "method": method,
            "frozen": said.frozen.tolist(),
            "weight": said.weight.tolist(),
            "training": [self.seeds, self.epochs, self.seed] if "oracle" not in method else [],
        }

        def make() -> dict[str, np.ndarray]:
            with self.show(f"{method}: {name}", len(people)) as tick:
                return {"action": self._solve(method, elicited, profile, people, said, tick)}

        stage = f"{self.setting.name}-{method}-{name}"
        return self.kept.arrays(stage, [decides, people.tolist()], make)["action"]

    def _solve(
        self, method: str, elicited: str, profile: str, x: np.ndarray, said: Preferences, tick: Any
    ) -> np.ndarray:
        if method.startswith("oracle"):
            from wayforward.methods.causal_oracle import CausalOracle

            problem = self.problems["true" if method == "oracle-free" else "true strict"]
            oracle = CausalOracle().fit(problem)
            got = oracle.recommend(x, preferences=said, progress=lambda done, total: tick(done))
            self.used[method] = oracle.parameters()
            return np.asarray(got.action[:, 0])
        if method.startswith("icarma"):
            model = self.model(
                elicited, "reverse" if method == "icarma-reverse" else "uniform", profile, "learned"
            )
            started = time.perf_counter()
            proposal = model.propose(x, said)
            self.kept.seconds[f"propose-{method}"] = time.perf_counter() - started
            tick(len(x))
            return np.asarray(proposal.action)
        raise NotImplementedError(method)

    def model(self, elicited: str, law: str, profile: str, world: str) -> Any:
        """A trained iCARMA: what people are asked, how their answers are drawn in training, how they are weighed."""
        key = (elicited, law, profile, world)
        if key not in self._models:
            self._models[key] = self._trained(*key)
        return self._models[key]

    def _trained(self, elicited: str, law: str, profile: str, world: str) -> Any:
        from wayforward.methods.icarma import ICarma

        preset = "gmsc" if self.setting.name == "gmsc" else f"loan-{elicited}"
        chosen: Any = profile
        method = ICarma(
            preset=preset,
            seeds=tuple(1000 * (i + 1) for i in range(self.seeds)),
            law=training_law(law, elicited),
            profile=chosen,
            validation=self.setting.refused("validation"),
            split_seed=self.seed,
            **({} if self.epochs is None else {"epochs": self.epochs}),
        )
        problem, name = self.problems[world], f"{self.setting.name}-icarma-{elicited}-{law}-{profile}-{world}"
        self.used[f"icarma, {elicited}"] = method.parameters()
        decides = [self.setting.checksums, method.parameters(), list(method.seeds), self.seed]
        file = self.kept.file(name, decides, ".safetensors")
        if file is not None and file.exists():
            method = ICarma.load(file, problem)
        else:
            with self.show(f"training {name}, epochs", method.epochs) as tick:
                method.progress = lambda done, total: tick(done)
                if file is not None:
                    method.checkpoint = file.with_suffix(".part")
                method.fit(problem)
            if file is not None:
                method.save(file)
                file.with_suffix(".part").unlink(missing_ok=True)
        report = method.report_
        self.kept.seconds[f"training {name}"] = report.seconds
        self.used[f"icarma, {elicited}, {law}, {profile}, {world} world"] = {
            "chosen seed": report.seed,
            "chosen epoch": report.epoch,
        }
        return method

    # -- measures ------------------------------------------------------------------------------------------

    def people(self, case: Case, method: str, world: str) -> PerPerson:
        """Each person's answer, replayed in the 'true' or the 'learned' world."""
        return per_person(self.problems[world], self.x, self.action(case, method), self.said(case))

    def measured(self, case: Case, method: str, world: str | None = None) -> Measured:
        """The measures of one line of a table, in the world that the method worked in or in another one."""
        used = world or self.home(method)
        key = (case, method, used)
        if key not in self._measured:
            self._measured[key] = measure(self.people(case, method, used), seed=self.seed)
        return self._measured[key]

    @property
    def ours(self) -> tuple[str, ...]:
        """Our own methods, shown after the paper's where they are there."""
        return ()

    def curve(self, case: Case) -> list[tuple[float, float]]:
        """Validity and plausibility of our hybrid over prices of plausibility, from none to a hard limit."""
        return []

    def home(self, method: str) -> str:
        """The world that a method works in: iCARMA learns in the flow, the oracle and the hybrid know the equations."""
        return "learned" if method.startswith("icarma") and self.setting.learned is not None else "true"


def training_law(law: str, elicited: str) -> PreferenceLaw:
    """What iCARMA sees in training: which and how many features are actionable, all as likely."""
    if elicited == "scores":
        return PreferenceLaw("scores", levels=LEVELS, cannot=True)
    return PreferenceLaw("ranks", favoured=LOAN_LAWS.get(law, ()), threshold="random")
