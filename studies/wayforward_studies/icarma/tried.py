"""What was tried to bring iCARMA's numbers to the paper's: other trainings, another rule of masks, another flow.

Loan: on one page in the setting of the tables (our classifier, the learned flow), on another with the classifier that
CARMA's authors released, in the true equations: there no flow is learned and the density that judges is the true one.
GMSC: in the flow of the tables, and in one without walls and whole numbers.

Source: Budde, Majumdar, Uth, Langer & Valera (2026), iCARMA; the public code of CARMA (facts only).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.errors import require
from wayforward.preferences import GAMMAS, Preferences, draw_rankings, draw_thresholds
from wayforward.streams import Streams
from wayforward_studies.icarma.measures import measure, per_person
from wayforward_studies.icarma.preferences import LEVELS
from wayforward_studies.icarma.published import PROFILES, ROWS, IcarmaCase
from wayforward_studies.icarma.run import IcarmaReplication, IcarmaRequest
from wayforward_studies.icarma.setting import IcarmaSetting, loan_setting, released_loan_setting, with_flow
from wayforward_studies.icarma.solvers import SETUPS, IcarmaStudy, training_law
from wayforward_studies.icarma.tables import SHARES, cells, tolerance
from wayforward_studies.pages import Line, Page, Row, Table, number
from wayforward_studies.replication import Replication, Request, at_least, checksums, known, made_with
from wayforward_studies.verdicts import Check, Verdict

if TYPE_CHECKING:
    from wayforward.methods.icarma import ICarma
    from wayforward.problem import Problem

PAGES = ("tried", "tried-flow", "tried-gmsc")
SEEDS = 2
TABLES_SEEDS = 10  # networks of a training of GMSC's tables
_WEIGHTED = PROFILES[1:]
_LESS = 0.02  # by how much a mean gap has to be less, beyond the chance of two trainings


@dataclass(frozen=True)
class Trial:
    """One way to train and to read the networks. profiles: it answers for these; trained: on this one, or its own.

    elicited: 'ranks' (Table 2) or 'scores' (Table 3, in the setting of the tables only). rescaled: the hardest feature
    that somebody can act on has the full weight, however few those are. logit: act where the logit of class 1 is above
    0, as in the public code, whatever that of class 0. setup: what differs from ours. features: how many features
    somebody can act on, 0: a random number. stored: answered by the networks of the tables. ends: the flow keeps to the
    ends of ranges and to whole numbers. complement: priors of masks as in `complement_prior`. one: of features that
    share a person's hardest score one counts for hap.
    """

    name: str
    text: str
    profiles: tuple[str, ...] = _WEIGHTED
    trained: str | None = "linear"
    rescaled: bool = False
    logit: bool = False
    setup: Mapping[str, Any] = field(default_factory=dict)
    elicited: str = "ranks"
    features: tuple[int, ...] = (4, 0)
    stored: bool = False
    ends: bool = True
    complement: bool = False
    one: bool = False


_COMPLEMENT = (
    "one training for each profile, and the prior of a mask falls with (1 - t) to the power, not with t to it"
)
_ONE = "ours, but of features that share the hardest score one counts, drawn by chance"
_FREE = "entropy in full, the prior counts .9 and the multiplier has no cap, as printed"
#: Epochs, the rate of learning and the weight of the prior as the paper prints them.
_RANKS_PRINTED: dict[str, Any] = {"epochs": 450, "schedule": "constant", "kl": 1.5}
_SCORES_PRINTED: dict[str, Any] = {"epochs": 900, "schedule": "constant", "kl": 0.9, "rate": 0.001}
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
        setup=_RANKS_PRINTED,
    ),
    Trial("wider prior", "the prior of a mask falls from .9 to .05, not from .5", setup={"prior_max": 0.9}),
    Trial("lighter prior", "the prior counts 1, not 2.5", setup={"kl": 1.0}),
    Trial("ours", "constant weights", ("constant",), "constant"),
    Trial("class-1 logit", "the same networks, other rule", ("constant",), "constant", logit=True),
    Trial("lower prior", "constant weights, prior .35", ("constant",), "constant", setup={"prior_max": 0.35}),
)
#: In the setting of the tables alone.
FLOW_TRIALS: tuple[Trial, ...] = (
    Trial("as published", "the same, constant weights", ("constant",), "constant", setup=_RANKS_PRINTED),
    Trial("complement", _COMPLEMENT, ("concave",), None, complement=True),
    Trial(
        "complement, wider prior",
        "the same, from .9",
        ("concave",),
        None,
        complement=True,
        setup={"prior_max": 0.9},
    ),
)
#: The same for scores; the paper's Table 3.
SCORE_TRIALS: tuple[Trial, ...] = (
    Trial("ours", "one training with linear weights answers for all profiles", elicited="scores"),
    Trial("per profile", "one training for each profile", trained=None, elicited="scores"),
    Trial("mixed", "one training, each row with a profile of its own", trained="mixed", elicited="scores"),
    Trial("class-1 logit", "ours, other rule", logit=True, elicited="scores"),
    Trial("one of the hardest", _ONE, one=True, elicited="scores"),
    Trial(
        "as published",
        "900 epochs at a constant rate of .001, the weight of the prior .9",
        setup=_SCORES_PRINTED,
        elicited="scores",
    ),
    Trial(
        "as published",
        "the same, constant weights",
        ("constant",),
        "constant",
        setup=_SCORES_PRINTED,
        elicited="scores",
    ),
    Trial("complement", _COMPLEMENT, ("concave", "convex"), None, complement=True, elicited="scores"),
    Trial(
        "complement, one of the hardest",
        "the same networks, and one counts",
        ("concave", "convex"),
        None,
        complement=True,
        one=True,
        elicited="scores",
    ),
    Trial("printed masks", _FREE, setup={"entropy": 1.0, "kl": 0.9, "cap": 1e6}, elicited="scores"),
    Trial("wider prior", "the prior falls from .9 to .05", setup={"prior_max": 0.9}, elicited="scores"),
    Trial("lighter prior", "the prior counts .9, as printed", setup={"kl": 0.9}, elicited="scores"),
    Trial("heavier prior", "the prior counts 2.5, not 1.5", setup={"kl": 2.5}, elicited="scores"),
    Trial("ours", "constant weights", ("constant",), "constant", elicited="scores"),
    Trial(
        "class-1 logit",
        "the same networks, other rule",
        ("constant",),
        "constant",
        logit=True,
        elicited="scores",
    ),
    Trial(
        "lower prior",
        "constant weights, prior .35",
        ("constant",),
        "constant",
        setup={"prior_max": 0.35},
        elicited="scores",
    ),
)


def _of_gmsc(name: str, text: str, **how: Any) -> tuple[Trial, Trial]:
    """A trial with constant weights (Tables 1 and 2) and with linear ones (Table 2)."""
    return (
        Trial(name, text, ("constant",), "constant", features=(4, 3, 0), **how),
        Trial(name, text, ("linear",), "linear", features=(4, 3), **how),
    )


#: Masks as the paper's text has them: their entropy in full, the prior at 1.1, a multiplier that meets no cap.
_PRINTED_MASKS: dict[str, Any] = {"entropy": 1.0, "kl": 1.1, "cap": 1e6}
_MASKS = "entropy in full, the prior counts 1.1 and the multiplier has no cap, as printed"
_RULE = "the same networks, but act where the logit of class 1 is above 0"
#: Give Me Some Credit.
GMSC_TRIALS: tuple[Trial, ...] = (
    *_of_gmsc("ours", "the networks of the tables", stored=True),
    *_of_gmsc("class-1 logit", _RULE, stored=True, logit=True),
    *_of_gmsc("plain flow, entropy", "entropy in full", ends=False, setup={"entropy": 1.0}),
    *_of_gmsc("plain flow, entropy, class-1 logit", _RULE, ends=False, logit=True, setup={"entropy": 1.0}),
    *_of_gmsc("plain flow, printed masks", _MASKS, ends=False, setup=_PRINTED_MASKS),
    *_of_gmsc("plain flow, printed masks, class-1 logit", _RULE, ends=False, logit=True, setup=_PRINTED_MASKS),
)  # fmt: skip


def trials_of(page: str) -> tuple[Trial, ...]:
    """Those of a page."""
    return {"tried": TRIALS, "tried-flow": (*TRIALS, *FLOW_TRIALS, *SCORE_TRIALS), "tried-gmsc": GMSC_TRIALS}[
        page
    ]


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
        """Those that were asked for."""
        return self.extras

    @property
    def quick(self) -> bool:
        """Fewer people, networks or epochs than the page in the docs?"""
        return self.n is not None or self.seeds < SEEDS or self.epochs is not None


@dataclass
class TriedReplication(Replication):
    """The pages. make: gives the study, for tests with a small one. trials: those of a page, cheaper ones in a test."""

    paper: ClassVar[str] = "icarma"
    extra_pages: ClassVar[tuple[str, ...]] = PAGES
    decides: ClassVar[tuple[str, ...]] = tuple(
        f"icarma/{name}.py" for name in ("measures", "preferences", "setting", "solvers", "tried")
    )
    subfolder: ClassVar[str] = "icarma-tried"
    request: TriedRequest
    make: Callable[[], IcarmaStudy] | None = None
    trials: Callable[[str], tuple[Trial, ...]] = trials_of
    _models: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False)
    _open: IcarmaStudy | None = field(default=None, repr=False)

    def measure(self, name: str) -> Page:
        """Measure every trial."""
        request, trials = self.request, self.trials(name)
        study = self._study(name) if self.make is None else self.make()
        self._models.clear()
        self._open = None
        lines: list[Row] = []
        with self.show(name, len(trials)) as tick:
            for done, trial in enumerate(trials, 1):
                asked = study if trial.ends else self._without_ends(study)
                lines += [
                    self._line(asked, trial, p, many) for many in trial.features for p in trial.profiles
                ]
                tick(done)
        made = {
            "people asked": len(study.x),
            "splits": study.setting.checksums,
            "seeds": request.seeds,
            "seed": request.seed,
            "made": dict(study.setting.chosen),
            "trained": {f"{trial.name}, {trial.elicited}": dict(trial.setup) for trial in trials},
            "ours": {
                setup: dict(found)
                for setup, found in SETUPS.items()
                if setup.startswith("gmsc" if name == "tried-gmsc" else "loan")
            },
            "seconds_of_stages": sum(self.checkpoints.seconds.values()),
        }
        if self._open is not None:
            made["made without ends"] = dict(self._open.setting.chosen)
        return Page(self.paper, request.file(name), _TITLES[name], tuple(lines), checks(lines), made)

    def _study(self, name: str) -> IcarmaStudy:
        """Whom the released classifier refuses, or ours, with the flow of the tables from the same cache."""
        request = self.request
        if name == "tried":
            return IcarmaStudy(released_loan_setting(), n=request.n)
        if name == "tried-gmsc":  # with the networks of the tables
            asked = IcarmaRequest(
                datasets=("gmsc",),
                tables=(1,),
                n=request.n,
                seeds=min(TABLES_SEEDS, 5 * request.seeds),
                epochs=request.epochs,
                cache=request.cache,
            )
            return IcarmaReplication(asked, self.show).study("gmsc")
        setting = loan_setting(cache=request.cache)
        with self.show("loan: causal flow, epochs", 1000) as tick:
            setting = with_flow(setting, cache=request.cache, progress=lambda done, total: tick(done))
        return IcarmaStudy(setting, n=request.n)

    def _without_ends(self, study: IcarmaStudy) -> IcarmaStudy:
        """The same people and decisions, in a flow that may lead beyond the data and between whole numbers."""
        if self._open is None:
            folder = None if self.checkpoints.folder is None else self.checkpoints.folder / "without-ends"
            with self.show("gmsc without ends: causal flow, epochs", 1000) as tick:
                setting = with_flow(
                    without_ends(study.setting), cache=folder, progress=lambda done, total: tick(done)
                )
            self._open = IcarmaStudy(setting, n=study.n)
        return self._open

    def _line(self, study: IcarmaStudy, trial: Trial, profile: str, many: int) -> Row:
        case = IcarmaCase(_dataset(study), trial.elicited, features=many, profile=profile)
        wishes = study.wishes(case)
        if trial.rescaled:
            wishes = rescaled(wishes, profile)
        stated = max(  # of tables that share a line, the one that states its hap
            (row for row in ROWS if row.case == case and row.method == "icarma"), key=lambda row: row.table
        )
        world = study.home("icarma")

        def make() -> dict[str, np.ndarray]:
            model = self._model(study, trial, profile)
            masks = by_logit(model, study.x, wishes) if trial.logit else None
            return {"action": np.asarray(model.propose(study.x, wishes, masks).action)}

        decides = [
            study.setting.name,
            study.setting.checksums,
            repr(trial),
            profile,
            many,
            self._trained(study, trial, profile),
            len(study.x),
        ]
        stage = f"{study.setting.name}-{trial.elicited}-{trial.name}-{profile}-{many}".replace(" ", "_")
        action = self.checkpoints.arrays(stage, decides, make)["action"]
        asked = one_hardest(wishes, study.x) if trial.one else wishes
        found = measure(per_person(study.problems[world], study.x, action, asked), seed=self.request.seed)
        out: Row = {"trial": trial.name, "text": trial.text, "elicited": trial.elicited}
        out |= {"features": many or "random", "profile": profile}
        for name in SHARES:
            one, value = getattr(found, name), stated.value(name)
            out[f"{name}_paper"] = value
            out[f"{name}_tolerance"] = None if value is None else stated.tolerance(name)
            out |= {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}
        return out

    def _trained(self, study: IcarmaStudy, trial: Trial, profile: str) -> tuple[Any, ...]:
        """All that decides a training."""
        request, base = self.request, _preset(study, trial)
        setup = {**SETUPS[base if profile == "constant" else f"{base}, weighted"], **trial.setup}
        if request.epochs is not None:
            setup["epochs"] = request.epochs
        return (
            trial.elicited,
            trial.trained or profile,
            trial.rescaled,
            request.seeds,
            request.seed,
            tuple(sorted(setup.items())),
            trial.stored,
            trial.ends,
            trial.complement,
        )

    def _model(self, study: IcarmaStudy, trial: Trial, profile: str) -> Any:
        """Networks, trained once for all trials that share them."""
        from wayforward.methods.icarma import ICarma

        if trial.stored:
            return study.model(trial.elicited, "uniform", profile, study.home("icarma"))
        key = self._trained(study, trial, profile)
        if key not in self._models:
            elicited, trained, scaled, seeds, seed, setup, *_ = key
            kind = complemented if trial.complement else ICarma
            method = kind(
                preset=_preset(study, trial),
                seeds=tuple(1000 * (i + 1) for i in range(seeds)),
                law=rescaled_law if scaled else training_law("uniform", elicited),
                profile=trained,
                validation=study.setting.refused("validation"),
                split_seed=seed,
                **dict(setup),
            )
            with self.show(f"training {elicited} {trained}, epochs", method.epochs) as tick:
                method.progress = lambda done, total: tick(done)
                self._models[key] = method.fit(study.problems[study.home("icarma")])
        return self._models[key]

    @classmethod
    def laid_out(cls, page: Page) -> Page:
        """The page with its table."""
        made = page.provenance
        return replace(
            page,
            title=_TITLES[page.stem],
            checks=checks(page.rows),
            intro=_INTROS[page.stem].format(n=made["people asked"], seeds=made["seeds"]),
            tolerance=tolerance(),
            tables=(_table(page.rows),),
            notes=f"{_left(page.stem, page.rows)}Splits (sha256) {checksums(made['splits'])}; "
            f"{made['seconds_of_stages']:,.0f} seconds of work; {made_with(made)}.",
        )

    @classmethod
    def console(cls, page: Page) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """None: the table is wide."""
        return (), ()


def _dataset(study: IcarmaStudy) -> str:
    return "gmsc" if study.setting.name == "gmsc" else "loan"


def _preset(study: IcarmaStudy, trial: Trial) -> str:
    return "gmsc" if _dataset(study) == "gmsc" else f"loan-{trial.elicited}"


def without_ends(setting: IcarmaSetting) -> IcarmaSetting:
    """The same without ends and steps: a flow has no walls and no cells, advice may be any number within the data."""
    open_ = tuple(
        feature if feature.has_levels else replace(feature, kind="real", low=None, high=None, step=None)
        for feature in setting.schema.features
    )
    return replace(setting, schema=replace(setting.schema, features=open_), learned=None)


def _left(page: str, lines: Iterable[Row]) -> str:
    """Which trials a page does not have, or not for every profile."""
    there = {(row["elicited"], row["trial"], row["features"], row["profile"]) for row in lines}
    some = [
        f"{trial.name} ({trial.elicited}, {profile}, {_many(many)})"
        for trial in trials_of(page)
        for many in trial.features
        for profile in trial.profiles
        if (trial.elicited, trial.name, many or "random", profile) not in there
    ]
    return f"Not measured yet: {', '.join(some)}. " if some else ""


def _many(features: Any) -> str:
    return {4: "all 4", "random": "random", 0: "random"}.get(features, str(features))


_TITLES = {
    "tried": "Table 2, Loan: what was tried, with the released classifier in the true equations",
    "tried-flow": "Tables 2 and 3, Loan: what was tried in the setting of the tables",
    "tried-gmsc": "Tables 1 and 2, Give Me Some Credit: what was tried",
}
_INTRO = (
    "With weights, iCARMA asks for the feature that people find hardest (hap) more often than the paper's, and leads "
    "to less likely places. Each line changes one thing that public facts leave open, or a few."
)
_INTROS = {
    "tried": f"{_INTRO} "
    "{n:,} people refused by the classifier that CARMA's authors released, actions learned and judged in "
    "Loan's true equations (in the tables: in a flow learned from data), the best of {seeds} networks on validation.",
    "tried-flow": f"{_INTRO} "
    "{n:,} people refused by the classifier of the tables, actions learned and judged in the flow that "
    "the tables have, the best of {seeds} networks on validation (in the tables: of 10).",
    "tried-gmsc": "On Give Me Some Credit iCARMA's answers are less often plausible than the paper's when people can "
    "act on some features only, less often valid with a random number of them, and ask for what is hardest more often. "
    "Each line changes what the paper leaves open, or what is not as it prints it here. *Plain flow*: every feature is "
    "any number, so that the flow that networks learn in has no walls at the ends of ranges and no whole numbers; what "
    "they propose still stays within the data, as in the tables. *Entropy*: what the masks' own entropy counts for, in "
    "full as printed, a tenth in ours. {n:,} people refused by the classifier of the tables; actions are learned and "
    "judged in the flow of the line, the best of {seeds} networks on validation (*ours* and its other rule: of 10).",
}


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


def one_hardest(wishes: Preferences, x: np.ndarray) -> Preferences:
    """The same wishes of people x (n, d), of whom each has one hardest feature: chance breaks ties."""
    assert wishes.score is not None
    chance = Streams.of(x, 0).uniform(np.arange(len(x)), x.shape[1])
    asked = (wishes.score >= 1) & (wishes.score <= LEVELS)
    return replace(wishes, score=wishes.score + np.where(asked, chance / 2, 0.0))


def complement_prior(wish: Any, gamma: float, most: float, least: float) -> Any:
    """Priors of masks that fall with the complement: least + (most - least)(1 - t) ** gamma; wish is t ** gamma."""
    return least + (most - least) * (1 - wish ** (1 / gamma)) ** gamma


def complemented(**settings: Any) -> ICarma:
    """iCARMA with such priors, for one profile, since what the networks see does not tell it."""
    from wayforward.methods.icarma import ICarma

    class Complemented(ICarma):
        def _engine(self, problem: Problem, stored: dict[str, Any] | None = None) -> Any:
            engine: Any = super()._engine(problem, stored)
            gamma, most, least = GAMMAS[self._profile()], self.prior_max, self.prior_min
            engine._prior = lambda wish: complement_prior(wish, gamma, most, least)
            return engine

    return Complemented(**settings)


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
        shown = [
            f"{row[f'{n}_paper']:.3f} → {number(row[n]):.3f} {judged[n].verdict}"
            if n in judged
            else f"{number(row[n]):.3f}"
            for n in SHARES
        ]
        names = (row["trial"], row["text"], row["elicited"], _many(row["features"]), row["profile"])
        out.append(Line((*names, *shown), tuple(judged.values())))
    return Table(("tried", "what", "asked for", "features", "weights", *SHARES), tuple(out))


def checks(lines: Sequence[Row]) -> tuple[Check, ...]:
    """Of each trial: does it bring hap nearer to the paper's than ours does, and how many numbers are worse?"""
    if any(row["hap_paper"] is None for row in lines):
        return _fewer(lines)
    groups: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in lines:
        key = (row["elicited"], row["trial"], row["features"], row["profile"] == "constant")
        groups.setdefault(key, {})[row["profile"]] = row
    out = []
    for (elicited, trial, many, constant), mine in groups.items():
        base = groups.get((elicited, "ours", many, constant), {})
        if trial == "ours" or not mine.keys() <= base.keys():
            continue
        ours = [base[profile] for profile in mine]
        before, after = (
            sum(abs(number(row["hap"]) - row["hap_paper"]) for row in some) / len(mine)
            for some in (ours, mine.values())
        )
        out.append(
            Check(
                f"{trial}, {elicited}, {'constant' if constant else 'with'} weights, {_many(many)}",
                f"brings hap nearer to the paper's than ours, by more than {_LESS:g}",
                True if after < before - _LESS else False if after > before + _LESS else None,
                f"mean gap {before:.3f} ours, {after:.3f} so; worse numbers {_worse(ours)} ours, "
                f"{_worse(mine.values())} so, of {3 * len(mine)}; hap "
                + ", ".join(
                    f"{p} {number(r['hap']):.3f} (paper {r['hap_paper']:.3f})" for p, r in mine.items()
                ),
                aim=True,
            )
        )
    return tuple(out)


def _fewer(lines: Sequence[Row]) -> tuple[Check, ...]:
    """Of each trial, where the paper states hap of a few lines only: are fewer of its numbers worse than with ours?

    Of the lines that both have.
    """
    groups: dict[str, list[Row]] = {}
    for row in lines:
        groups.setdefault(row["trial"], []).append(row)
    out = []
    for trial, mine in groups.items():
        base = {(row["features"], row["profile"]): row for row in groups.get("ours", ())}
        mine = [row for row in mine if (row["features"], row["profile"]) in base]
        if trial == "ours" or not mine:
            continue
        ours = [base[row["features"], row["profile"]] for row in mine]
        before, after = _worse(ours), _worse(mine)
        out.append(
            Check(
                trial,
                "fewer of the paper's numbers are worse than with ours",
                True if after < before else False if after > before else None,
                f"{before} ours, {after} so, of {sum(len(cells(row)) for row in mine)}",
                aim=True,
            )
        )
    return tuple(out)


def _worse(some: Iterable[Row]) -> int:
    return sum(cell.verdict == Verdict.WORSE for row in some for cell in cells(row).values())
