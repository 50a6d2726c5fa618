"""Model extraction: how well a copy that is made from answers agrees with the service, by number of queries.

Every attack gets the same number of queries. `labels` asks for the decisions of people at random, the yardstick;
`both` asks for the same people and learns from the options of those who are refused, too. The others ask for refused
people only: `options` learns from the rows and the options; `boundary` learns besides that just short of an option the
answer is a no; `balls` learns that whatever costs less than the answer is a no: the factual balls of the survey's eq.
7; `plane` lays a hyperplane through the options.

Sources: U. Aivodji, A. Bolot, S. Gambs (2020), Model extraction from counterfactual explanations, arXiv:2009.01884;
A.-H. Karimi, G. Barthe, B. Schoelkopf, I. Valera (2022), A survey of algorithmic recourse, ACM Comput. Surv. 55(5).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayforward.evaluate.stats import NOTHING, Estimate
from wayforward.model.tables import encode_with, one_hot_of
from wayforward.problem import Problem
from wayforward.public import public
from wayforward.recourse import Recourse
from wayforward.shapes import Floats, Mask, People, Rows
from wayforward.streams import generator

ATTACKS = ("labels", "both", "options", "boundary", "balls")
FAMILIES = ("line", "forest", "net")
_SHORT = 0.05  # of the way: how far before an option its boundary is looked for
_IN_BALL = 4  # rows drawn from each factual ball
_HALVINGS = 8


@public
@dataclass(frozen=True)
class Fidelity:
    """How often a copy agrees with the service on people whom it never asked about; intervals are over seeds.

    balanced: mean of the agreement over those whom the service accepts and those whom it refuses.
    """

    attack: str
    family: str
    queries: int
    agreement: Estimate
    balanced: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**vars(self), "agreement": self.agreement.to_dict(), "balanced": self.balanced.to_dict()}


@public
@dataclass(frozen=True)
class Balls:
    """The factual balls of so many queries: how much of the refused people lie in them, and how true they are.

    covered: share of refused people, never asked about, in some ball (eq. 7 over people instead of a volume). wrong:
    the same of accepted people, where a ball says no. true: share of rows drawn from the balls that are refused.
    """

    queries: int
    covered: Estimate
    wrong: Estimate
    true: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        parts = {name: getattr(self, name).to_dict() for name in ("covered", "wrong", "true")}
        return {"queries": self.queries, **parts}


def extraction(
    problem: Problem,
    answers: Recourse,
    crowd: People,
    decided: Mask,
    probe: Rows,
    *,
    queries: Sequence[int],
    seeds: int,
    seed: int = 0,
    labels: Sequence[Fidelity] = (),
) -> tuple[list[Fidelity], list[Balls]]:
    """Copy the service from its answers; return how well each copy agrees, and what the factual balls cover.

    crowd (c, d): people at random; decided (c,): who of them is accepted. answers: the answers to the others, in order.
    Each attack takes so many of them at random. probe (p, d): people that nobody asks about. queries: sizes of attacks.
    labels: copies from decisions alone of the same people, measured before; they are the same whatever is answered.
    """
    place = np.cumsum(~decided) - 1  # of a refused one of the crowd among those who were answered
    truth = problem.reached(probe)[0]
    scores: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
    shares: dict[int, list[tuple[float, float, float]]] = {}
    for run in range(seeds):
        rng = generator(seed, run)
        order, others = rng.permutation(answers.n), rng.permutation(len(crowd))
        for m in queries:
            if m > min(answers.n, len(crowd)):
                continue
            some = answers[order[:m]]
            inside = ball_rows(problem, some, rng)
            covers = in_balls(problem, some, probe)
            true = 1.0 - problem.reached(inside)[0].mean() if len(inside) else np.nan
            shares.setdefault(m, []).append((_mean(covers[~truth]), _mean(covers[truth]), float(true)))
            for attack in ATTACKS[1:] if labels else ATTACKS:
                some_of_all = others[:m]
                if attack in ("labels", "both"):
                    rows, yes = crowd[some_of_all], decided[some_of_all]
                    if attack == "both":
                        more = lessons(answers[place[some_of_all[~yes]]], inside, "boundary")
                        rows, yes = np.concatenate([rows[yes], more[0]]), np.append(yes[yes], more[1])
                else:
                    rows, yes = lessons(some, inside, attack)
                for family, verdict in _copies(problem, rows, yes, probe, run):
                    scores.setdefault((attack, family, m), []).append(_agreement(verdict, truth))
            verdict = plane(problem, some, probe)
            scores.setdefault(("plane", "line", m), []).append(_agreement(verdict, truth))
    fidelities = [
        Fidelity(*key, *(over_seeds([one[part] for one in found]) for part in (0, 1)))
        for key, found in scores.items()
    ]
    fidelities += labels
    balls = [
        Balls(m, *(over_seeds([one[i] for one in found]) for i in range(3))) for m, found in shares.items()
    ]
    return fidelities, balls


def lessons(answers: Recourse, inside: Rows, attack: str) -> tuple[Rows, Mask]:
    """Return rows (m, d) and labels (m,) that an attack learns from: people, options, and what it infers from them."""
    no, yes = [answers.x], [answers.after[answers.found]]
    if attack == "boundary":
        who, slot = np.nonzero(answers.found)
        before, after = answers.x[who], answers.after[who, slot]
        number = ~answers.schema.has_levels & ~np.isnan(before)
        short = np.where(number, after - _SHORT * (after - before), after)
        no.append(short[(number & answers.changed[who, slot]).any(1)])
    elif attack == "balls":
        no.append(inside)
    refused, accepted = np.concatenate(no), np.concatenate(yes)
    return np.concatenate([refused, accepted]), np.arange(len(refused) + len(accepted)) >= len(refused)


def ball_rows(problem: Problem, answers: Recourse, rng: np.random.Generator) -> Rows:
    """(m, d) rows that cost each person less than their cheapest option: legal acts, pulled towards them until so."""
    who = np.repeat(np.flatnonzero(answers.found[:, 0]), _IN_BALL)
    if not len(who):
        return np.empty((0, answers.d))
    people = problem.population(answers.x)
    x = answers.x[who]
    aim = people.low[who] + rng.random(x.shape) * (people.high[who] - people.low[who])
    aim = np.where(rng.random(x.shape) < 2 / max(1, problem.schema.actionable.sum()), aim, np.nan)
    aim = np.where(np.isnan(x), np.nan, aim)
    action = people.snap(who, aim)
    level = problem.schema.has_levels
    share = rng.random(len(who))[:, None]
    for _ in range(_HALVINGS):
        dear = problem.cost.total(x, action) >= answers.plain_cost[who, 0]
        if not dear.any():
            break
        nearer = np.where(
            level, np.where(rng.random(x.shape) < 0.5, action, np.nan), x + share * (action - x)
        )
        action = np.where(dear[:, None], nearer, action)
    there = (problem.cost.total(x, action) < answers.plain_cost[who, 0]) & ~np.isnan(action).all(1)
    return np.asarray(np.where(np.isnan(action), x, action)[there])


def in_balls(problem: Problem, answers: Recourse, probe: People) -> Mask:
    """(p,) bool: people who stand nearer to some person who was answered than that person's cheapest option does."""
    centre = np.flatnonzero(answers.found[:, 0])
    covered = np.zeros(len(probe), dtype=bool)
    for i in centre:  # one ball after another: memory stays that of the probe
        open_ = np.flatnonzero(~covered)
        rows = probe[open_]
        x = np.broadcast_to(answers.x[i], rows.shape)
        moved = np.where(problem.schema.differs(x, rows), rows, np.nan)
        covered[open_] = problem.cost.total(x, moved) < answers.plain_cost[i, 0]
    return covered


def hyperplane(points: Floats, spread: Floats) -> tuple[Floats, float]:
    """Return the weights (d,) and the offset of the plane that lies nearest to points (m, d); exact if all lie on it.

    spread (n, d): rows that say along which directions people differ; a plane tells nothing about others. The least
    squares are total, in directions of equal spread, so d points in general position are enough where d directions are.
    """
    scale = np.linalg.svd(spread - spread.mean(0), full_matrices=False)
    large = scale[1] > 1e-9 * max(scale[1].max(initial=0.0), 1e-300)
    whiten = scale[2][large].T / scale[1][large]  # (d, r)
    middle = points.mean(0)
    directions = np.linalg.svd((points - middle) @ whiten)[2]
    weight = whiten @ directions[-1]
    return weight, -float(weight @ middle)


def plane(problem: Problem, answers: Recourse, probe: People) -> Mask:
    """(p,) bool: what the plane through the options says of people; a no for everybody where there are no options."""
    found = answers.after[answers.found]
    if not len(found):
        return np.zeros(len(probe), dtype=bool)
    encode = encode_with(one_hot_of(problem.schema))
    refused = _filled(encode(answers.x), encode(answers.x))
    weight, offset = hyperplane(
        _filled(encode(found), encode(answers.x)),
        np.concatenate([refused, _filled(encode(probe), encode(answers.x))]),
    )
    side = np.sign(np.median(refused @ weight + offset)) or 1.0
    return np.asarray(side * (_filled(encode(probe), encode(answers.x)) @ weight + offset) <= 1e-9)


def over_seeds(values: Sequence[float]) -> Estimate:
    """Return the mean of a share over seeds with a 95 % interval of Student's t, within 0 and 1."""
    from scipy.stats import t

    known = np.asarray([v for v in values if np.isfinite(v)])
    if not len(known):
        return NOTHING
    middle, n = float(known.mean()), len(known)
    half = float(t.ppf(0.975, n - 1) * known.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return Estimate(middle, max(0.0, middle - half), min(1.0, middle + half), n)


def _filled(rows: Floats, among: Floats) -> Floats:
    """Missing numbers stand in the middle of the others."""
    with np.errstate(all="ignore"):
        middle = np.where(np.isnan(among).all(0), 0.0, np.nanmedian(np.nan_to_num(among), axis=0))
    return np.where(np.isnan(rows), middle, rows)


def _copies(problem: Problem, rows: Rows, yes: Mask, probe: People, seed: int) -> Iterator[tuple[str, Mask]]:
    """Yield each family with what its copy says of the probe."""
    if yes.all() or not yes.any():
        for family in FAMILIES:
            yield family, np.full(len(probe), bool(yes.any()))
        return
    encode = encode_with(one_hot_of(problem.schema))
    taught, shown = encode(rows), encode(probe)
    taught, shown = _filled(taught, taught), _filled(shown, taught)
    middle, width = taught.mean(0), taught.std(0)
    width = np.where(width > 0, width, 1.0)
    for family in FAMILIES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a copy that has not converged is a copy
            model = _learner(family, seed).fit((taught - middle) / width, yes)
        yield family, np.asarray(model.predict((shown - middle) / width), dtype=bool)


def _learner(family: str, seed: int) -> Any:
    if family == "line":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=10.0, max_iter=500)
    if family == "forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(25, random_state=seed, n_jobs=1)
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((32,), solver="lbfgs", alpha=0.1, max_iter=80, random_state=seed)


def _agreement(verdict: Mask, truth: Mask) -> tuple[float, float]:
    same = verdict == truth
    sides = [float(same[side].mean()) for side in (truth, ~truth) if side.any()]
    return float(same.mean()), float(np.mean(sides))


def _mean(hit: Mask) -> float:
    return float(hit.mean()) if hit.size else float("nan")


__all__ = [
    "ATTACKS", "FAMILIES", "Balls", "Fidelity", "ball_rows", "extraction", "hyperplane", "in_balls", "lessons",
    "over_seeds", "plane",
]  # fmt: skip
