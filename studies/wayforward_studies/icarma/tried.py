"""What was tried to bring iCARMA's hap to the paper's: one training per profile, other weights, another rule of masks.

Loan with the classifier that CARMA's authors released, in its true equations: no flow is learned, so that each trial is
one training and the density that judges is the true one.

Source: Budde, Majumdar, Uth, Langer & Valera (2026), iCARMA; the public code of CARMA (facts only).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from wayforward.errors import require
from wayforward.preferences import GAMMAS, Preferences, draw_rankings, draw_thresholds
from wayforward_studies.icarma.measures import measure, per_person
from wayforward_studies.icarma.preferences import LEVELS
from wayforward_studies.icarma.published import PROFILES, IcarmaCase, rows
from wayforward_studies.icarma.setting import released_loan_setting
from wayforward_studies.icarma.solvers import SETUPS, IcarmaStudy, training_law
from wayforward_studies.icarma.tables import SHARES, cells, tolerance
from wayforward_studies.pages import Line, Page, Row, Table, number
from wayforward_studies.replication import Replication, Request, at_least, checksums, known, made_with
from wayforward_studies.verdicts import Check

PAGES = ("tried",)
SEEDS = 2
_WEIGHTED = PROFILES[1:]
_FEATURES = (4, 0)


@dataclass(frozen=True)
class Trial:
    """One way to train and to read the networks. profiles: it answers for these; trained: on this one, or its own.

    rescaled: the hardest feature that somebody can act on has the full weight, however few those are. logit: act where
    the logit of class 1 is above 0, as in the public code, whatever that of class 0. setup: what differs from ours.
    """

    name: str
    text: str
    profiles: tuple[str, ...] = _WEIGHTED
    trained: str | None = "linear"
    rescaled: bool = False
    logit: bool = False
    setup: Mapping[str, Any] = field(default_factory=dict)


#: What the tables have first, then one change at a time.
TRIALS: tuple[Trial, ...] = (
    Trial("ours", "one training with linear weights answers for all profiles"),
    Trial("per profile", "one training for each profile", trained=None),
    Trial("mixed", "one training, each row with a profile of its own", trained="mixed"),
    Trial(
        "rescaled",
        "mixed, and t from 0 to 1 among the features that somebody can act on",
        trained="mixed",
        rescaled=True,
    ),
    Trial("class-1 logit", "ours, but act where the logit of class 1 is above 0", logit=True),
    Trial(
        "as published",
        "450 epochs at a constant rate of .005, the weight of the prior 1.5",
        setup={"epochs": 450, "schedule": "constant", "kl": 1.5},
    ),
    Trial("ours", "constant weights", ("constant",), "constant"),
    Trial("class-1 logit", "the same networks, other rule", ("constant",), "constant", logit=True),
    Trial("lower prior", "constant weights, prior .35", ("constant",), "constant", setup={"prior_max": 0.35}),
)


@dataclass(frozen=True)
class TriedRequest(Request):
    """seeds: networks of each training; the best on validation answers. epochs: None for those of the trial."""

    extras: tuple[str, ...] = PAGES
    seeds: int = SEEDS
    epochs: int | None = None
    out: Path = Path("docs/replication/icarma")

    def __post_init__(self) -> None:
        known("extra page", self.extras, PAGES)
        at_least(1, seeds=self.seeds, epochs=self.epochs)

    @property
    def pages(self) -> tuple[str, ...]:
        """The one page."""
        return self.extras

    @property
    def quick(self) -> bool:
        """Fewer people, networks or epochs than the page in the docs?"""
        return self.n is not None or self.seeds < SEEDS or self.epochs is not None


@dataclass
class TriedReplication(Replication):
    """The page 'tried'. make: gives the study, for tests with a small one."""

    paper: ClassVar[str] = "icarma"
    extra_pages: ClassVar[tuple[str, ...]] = PAGES
    decides: ClassVar[tuple[str, ...]] = tuple(
        f"icarma/{name}.py" for name in ("measures", "preferences", "setting", "solvers", "tried")
    )
    subfolder: ClassVar[str] = "icarma-tried"
    request: TriedRequest
    make: Callable[[], IcarmaStudy] | None = None
    _models: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False)

    def measure(self, name: str) -> Page:
        """Measure every trial."""
        request = self.request
        study = IcarmaStudy(released_loan_setting(), n=request.n) if self.make is None else self.make()
        lines: list[Row] = []
        with self.show("tried", len(TRIALS)) as tick:
            for done, trial in enumerate(TRIALS, 1):
                lines += [self._line(study, trial, p, many) for many in _FEATURES for p in trial.profiles]
                tick(done)
        made = {
            "people asked": len(study.x),
            "splits": study.setting.checksums,
            "seeds": request.seeds,
            "seed": request.seed,
            "trained": {trial.name: dict(trial.setup) for trial in TRIALS},
            "ours": dict(SETUPS["loan-ranks, weighted"]),
            "seconds_of_stages": sum(self.checkpoints.seconds.values()),
        }
        return Page(self.paper, request.file(name), _TITLE, tuple(lines), checks(lines), made)

    def _line(self, study: IcarmaStudy, trial: Trial, profile: str, many: int) -> Row:
        case = IcarmaCase(features=many, profile=profile)
        wishes = study.wishes(case)
        if trial.rescaled:
            wishes = rescaled(wishes, profile)
        stated = next(r for r in rows(2, "loan") if r.case == case and r.method == "icarma")

        def make() -> dict[str, np.ndarray]:
            model = self._model(study, trial, profile)
            masks = by_logit(model, study.x, wishes) if trial.logit else None
            return {"action": np.asarray(model.propose(study.x, wishes, masks).action)}

        decides = [
            study.setting.checksums,
            repr(trial),
            profile,
            many,
            self._trained(trial, profile),
            len(study.x),
        ]
        stage = f"{trial.name}-{profile}-{many}".replace(" ", "_")
        action = self.checkpoints.arrays(stage, decides, make)["action"]
        found = measure(per_person(study.problems["true"], study.x, action, wishes), seed=self.request.seed)
        out: Row = {"trial": trial.name, "text": trial.text, "features": many or "random", "profile": profile}
        for name in SHARES:
            one = getattr(found, name)
            out[f"{name}_paper"], out[f"{name}_tolerance"] = stated.value(name), stated.tolerance(name)
            out |= {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}
        return out

    def _trained(self, trial: Trial, profile: str) -> tuple[Any, ...]:
        """All that decides a training."""
        request, base = self.request, "loan-ranks" if profile == "constant" else "loan-ranks, weighted"
        setup = {**SETUPS[base], **trial.setup}
        if request.epochs is not None:
            setup["epochs"] = request.epochs
        return (
            trial.trained or profile,
            trial.rescaled,
            request.seeds,
            request.seed,
            tuple(sorted(setup.items())),
        )

    def _model(self, study: IcarmaStudy, trial: Trial, profile: str) -> Any:
        """Networks, trained once for all trials that share them."""
        from wayforward.methods.icarma import ICarma

        key = self._trained(trial, profile)
        if key not in self._models:
            trained, scaled, seeds, seed, setup = key
            method = ICarma(
                preset="loan-ranks",
                seeds=tuple(1000 * (i + 1) for i in range(seeds)),
                law=rescaled_law if scaled else training_law("uniform", "ranks"),
                profile=trained,
                validation=study.setting.refused("validation"),
                split_seed=seed,
                **dict(setup),
            )
            with self.show(f"training {trained}, epochs", method.epochs) as tick:
                method.progress = lambda done, total: tick(done)
                self._models[key] = method.fit(study.problems["true"])
        return self._models[key]

    @classmethod
    def laid_out(cls, page: Page) -> Page:
        """The page with its table."""
        made = page.provenance
        return replace(
            page,
            title=_TITLE,
            checks=checks(page.rows),
            intro=INTRO.format(n=made["people asked"], seeds=made["seeds"]),
            tolerance=tolerance(),
            tables=(_table(page.rows),),
            notes=f"{_left(page.rows)}Splits (sha256) {checksums(made['splits'])}; "
            f"{made['seconds_of_stages']:,.0f} seconds of work; {made_with(made)}.",
        )

    @classmethod
    def console(cls, page: Page) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """None: the table is wide."""
        return (), ()


def _left(lines: Iterable[Row]) -> str:
    """Which trials a page does not have, or not for every profile."""
    there = {(row["trial"], row["features"], row["profile"]) for row in lines}
    some = [
        f"{trial.name} ({profile}, {'all 4' if many == 4 else 'random'})"
        for trial in TRIALS
        for many in _FEATURES
        for profile in trial.profiles
        if (trial.name, many or "random", profile) not in there
    ]
    return f"Not measured yet: {', '.join(dict.fromkeys(some))}. " if some else ""


_TITLE = "Table 2, Loan: what was tried to bring hap to the paper's"
INTRO = (
    "iCARMA asks for the feature that people find hardest (hap) more often than the paper's, and in another order of "
    "the profiles. Each line changes one thing that public facts leave open. {n:,} people refused by the classifier "
    "that CARMA's authors released, actions learned and judged in Loan's true equations (in the tables: in a flow "
    "learned from data), the best of {seeds} networks on validation."
)


def rescaled(wishes: Preferences, profile: str) -> Preferences:
    """The same ranks, weighed among the features that a person can act on: the hardest of those has the full weight."""
    assert wishes.score is not None
    score = np.where(wishes.frozen | (wishes.score < 1) | (wishes.score > LEVELS), np.nan, wishes.score)
    most = np.nanmax(np.where(np.isnan(score), 1.0, score), axis=1, keepdims=True)
    t = np.where(np.isnan(score), 0.0, (score - 1) / np.maximum(most - 1, 1))
    return replace(wishes, weight=1 + 9 * t ** GAMMAS[profile])


def rescaled_law(n: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Ranks of a random number of features, spread over the whole scale: scores (n, 4) from 1 to 4, 5 for 'cannot'."""
    rank = draw_rankings(n, LEVELS, rng, threshold=draw_thresholds(n, LEVELS, rng))
    may = rank <= LEVELS
    most = np.where(may, rank, 1).max(1, keepdims=True)
    return np.where(may, 1 + (LEVELS - 1) * (rank - 1) / np.maximum(most - 1, 1), LEVELS + 1.0), LEVELS


def by_logit(model: Any, x: np.ndarray, wishes: Preferences) -> np.ndarray:
    """(n, d) bool: where the logit of class 1 alone is above 0, of the features that a person can act on."""
    torch = require("torch", extra="torch")
    people = model.problem_.population(x, wishes)
    wish, may = model._seen(people)
    engine = model.engine_
    world, mask, _ = engine.answering
    put = world.rows
    with torch.no_grad():
        rows_ = world.filled(put(people.x))
        z = engine.inputs(world, rows_, put(world.latents(people.x)))[None]
        logit = mask(torch.cat([z, put(wish)[None], put(may)[None]], dim=2))[0, :, engine.a :].numpy()
    out = np.zeros(people.x.shape, dtype=bool)
    out[:, engine.act] = (logit > 0) & may
    return out


def _table(lines: Iterable[Row]) -> Table:
    out = []
    for row in lines:
        judged = cells(row)
        many = "all 4" if row["features"] == 4 else "random"
        shown = [f"{row[f'{n}_paper']:.3f} → {number(row[n]):.3f} {judged[n].verdict}" for n in SHARES]
        out.append(Line((row["trial"], row["text"], many, row["profile"], *shown), tuple(judged.values())))
    return Table(("tried", "what", "features", "weights", *SHARES), tuple(out))


def _off(lines: Sequence[Row], trial: str, many: Any, constant: bool = False) -> dict[str, float]:
    """hap of a trial by profile."""
    return {
        row["profile"]: number(row["hap"])
        for row in lines
        if row["trial"] == trial and row["features"] == many and (row["profile"] == "constant") is constant
    }


def checks(lines: Sequence[Row]) -> tuple[Check, ...]:
    """Of each trial: does it bring hap nearer to the paper's than ours, by more than the interval of a share?"""
    paper = {(row["features"], row["profile"]): row["hap_paper"] for row in lines}
    out = []
    for trial in dict.fromkeys(row["trial"] for row in lines):
        for constant in (False, True):
            for many in (4, "random"):
                mine, base = _off(lines, trial, many, constant), _off(lines, "ours", many, constant)
                if trial == "ours" or not mine or not base:
                    continue
                gaps = [
                    float(np.mean([abs(values[p] - paper[many, p]) for p in mine])) for values in (base, mine)
                ]
                what = "all 4" if many == 4 else "a random number"
                out.append(
                    Check(
                        f"{trial}, {'constant' if constant else 'with'} weights, {what}",
                        "brings hap nearer to the paper's than ours, by more than .02",
                        True if gaps[1] < gaps[0] - 0.02 else False if gaps[1] > gaps[0] + 0.02 else None,
                        f"mean gap {gaps[0]:.3f} ours, {gaps[1]:.3f} so; hap "
                        + ", ".join(f"{p} {v:.3f} (paper {paper[many, p]:.3f})" for p, v in mine.items()),
                        aim=True,
                    )
                )
    return tuple(out)
