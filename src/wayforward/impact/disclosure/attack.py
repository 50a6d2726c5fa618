"""Attack a service of recourse as a stranger could: what do its answers give away, before and after defences?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wayforward.errors import (
    DataError,
    ProblemError,
    is_whole,
    require_function,
    require_kind,
    require_whole,
    shown,
)
from wayforward.evaluate.stats import NOTHING, Estimate, mean, rate
from wayforward.impact.disclosure.attributes import AttributeInference, candidates, infer
from wayforward.impact.disclosure.extraction import Balls, Fidelity, extraction
from wayforward.impact.disclosure.membership import Membership, Z, closeness, distances, membership
from wayforward.impact.disclosure.reconstruction import Reconstruction, reconstruction
from wayforward.impact.disclosure.service import Service
from wayforward.impact.disclosure.shadows import Shadowed, Shadows, shadowed
from wayforward.language import N_, in_english
from wayforward.methods import chosen_method
from wayforward.methods.base import Method
from wayforward.problem import Disclosure, Problem
from wayforward.public import public
from wayforward.recourse import Recourse
from wayforward.shapes import People, PerPerson
from wayforward.streams import generator

QUERIES = (25, 50, 100, 200, 400)
PLAIN = N_("without a defence")
DEFENCES: dict[str, Disclosure] = {
    N_("crowd of 5"): Disclosure(crowd=5),
    N_("public grid"): Disclosure(grid=0.05),
    N_("beyond the boundary"): Disclosure(beyond=0.1),
    N_("all three"): Disclosure(crowd=5, grid=0.05, beyond=0.1),
    N_("private starts"): Disclosure(epsilon=1.0),  # of methods that start from observed people
}
_PROBE, _FEWEST = 1000, 20

Say = Callable[[str], None]


@public
@dataclass(frozen=True)
class Exposure:
    """What one way of answering gives away, and what it costs. keeps: what every option kept to. queries: in all.

    usable: share of refused people who get an option. cost: mean over those who get one. dearer: the share by which the
    mean cost is above that of the same people without a defence.
    """

    name: str
    keeps: Disclosure
    queries: int
    usable: Estimate
    cost: Estimate
    dearer: Estimate
    extraction: tuple[Fidelity, ...]
    balls: tuple[Balls, ...]
    membership: tuple[Membership, ...]
    attributes: tuple[AttributeInference, ...]
    reconstruction: Reconstruction
    shadows: tuple[Shadowed, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "name": self.name, "keeps": in_english(self.keeps.describe), "queries": self.queries,
            **{name: getattr(self, name).to_dict() for name in ("usable", "cost", "dearer", "reconstruction")},
            **{
                name: [one.to_dict() for one in getattr(self, name)]
                for name in ("extraction", "balls", "membership", "attributes", "shadows")
            },
        }  # fmt: skip


@public
@dataclass(frozen=True)
class Attack:
    """Exposures: the service as it is, then with each defence. accepts: share of people whom it accepts."""

    method: str
    model: str
    k: int
    people: int
    refused: int
    members: int
    accepts: float
    exposures: tuple[Exposure, ...]
    meta: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**vars(self), "exposures": [one.to_dict() for one in self.exposures]}


@public
def attack(
    problem: Problem,
    method: str | Method = "local-search",
    people: Any = None,
    *,
    members: Any = None,
    k: int = 1,
    queries: Sequence[int] = QUERIES,
    seeds: int = 3,
    most: int = 500,
    attributes: Sequence[str] | None = None,
    defences: Mapping[str, Disclosure] | None = None,
    shadows: Shadows | None = None,
    seed: int = 0,
    say: Say = lambda _: None,
) -> Attack:
    """Measure what a service that answers with this method gives away to somebody who sees its answers only.

    people: a table or (n, d) array of people whom the model was not trained on; half of them, drawn by chance, ask, the
    others test the copies. members: those whom it was trained on; left out, the problem's table. k: options a person.
    queries: sizes of the copies' lessons. most: people of each kind who ask. attributes: features to infer; left out,
    sensitive ones with few levels. defences: {name: Disclosure} to measure besides; None: those of `DEFENCES`, {} none.
    shadows: membership by models that the attacker trains on those people who do not ask; left out, without.

    Example: ``wf.attack(problem, "local-search", test, queries=(50, 200)).to_dict()``.
    Raises: DataError for too few people.
    """
    if people is None:
        raise DataError(
            "An attack needs people whom the model was not trained on. Give a table of them: attack(problem, method, "
            "people)."
        )
    require_kind(problem, Problem, "problem")
    require_whole(least=1, seeds=seeds, most=most)
    require_whole(seed=seed)
    require_function(say, "say")
    if shadows is not None:
        require_kind(shadows, Shadows, "shadows")
    sizes_wanted = isinstance(queries, Sequence) and len(queries) and all(is_whole(m, 2) for m in queries)
    if not sizes_wanted:
        raise DataError(f"queries={shown(queries)} are no numbers of answers. Give some, such as (25, 100).")
    if attributes is not None and (isinstance(attributes, str) or not isinstance(attributes, Sequence)):
        raise DataError(f"attributes={shown(attributes)} is no list of features. Give names, or [] for none.")
    named = isinstance(defences, Mapping) and all(
        isinstance(name, str) and isinstance(one, Disclosure) for name, one in defences.items()
    )
    if defences is not None and not named:
        raise DataError(f"defences={shown(defences)} is no {{name: Disclosure}}. Give {{}} for none.")
    chosen = chosen_method(method)
    unseen = problem.schema.encode(people)
    known = problem.require_reference() if members is None else problem.schema.encode(members, "members")
    rng = generator(seed, 0xA77)
    order = rng.permutation(len(unseen))
    labels = None if shadows is None else shadows.of(len(unseen))[order[len(order) // 2 :]]
    askers, own = unseen[order[: len(order) // 2]], unseen[order[len(order) // 2 :]]
    probe = own[:_PROBE]
    known = known[rng.permutation(len(known))]
    yes, member_yes = problem.reached(askers)[0], problem.reached(known[: 20 * most])[0]
    if (~yes).sum() > most:  # nobody asks after the last one of them
        askers, yes = (part[: np.flatnonzero(~yes)[most]] for part in (askers, yes))
    outsiders, insiders = askers[~yes], known[: 20 * most][~member_yes][:most]
    if min(len(outsiders), len(insiders)) < _FEWEST:
        raise DataError(
            f"Of the people who ask, {len(outsiders)} unseen ones and {len(insiders)} of the training table are "
            f"refused; at least {_FEWEST} of each are needed. Give a larger table of people."
        )
    inferred = candidates(problem.schema) if attributes is None else list(attributes)
    for name in inferred:
        if problem.schema[name].n_levels < 2:
            raise DataError(f"'{name}' is a number, and attributes to infer have levels. Name another one.")
    sizes = sorted({min(m, len(outsiders)) for m in queries})
    setting = _Setting(
        outsiders, insiders, askers, probe, unseen, known, k=k, queries=tuple(sizes), seeds=seeds, seed=seed,
        inferred=tuple(inferred), own=own, labels=labels, shadows=shadows,
    )  # fmt: skip
    exposures: list[Exposure] = []
    plain: Recourse | None = None
    chosen_defences = _own_defences(chosen) if defences is None else defences
    left_out: dict[str, str] = {}
    variants: dict[str, Disclosure | None] = {PLAIN: None, **chosen_defences}
    for name, disclosure in variants.items():
        say(name)
        try:
            variant = problem if disclosure is None else problem.with_(disclosure=_measured(disclosure, seed))
        except ProblemError as error:  # such as bounds that are not public
            if defences is not None:
                raise
            left_out[name] = str(error)
            continue
        copied = [one for one in exposures[0].extraction if one.attack == "labels"] if exposures else []
        exposure, answer = setting.exposure(name, variant, chosen, plain, copied)
        exposures.append(exposure)
        plain = answer if plain is None else plain
    return Attack(
        chosen.name, problem.model.name, k, len(unseen), int((~yes).sum()), len(known), float(yes.mean()),
        tuple(exposures), {"seed": seed, "seeds": seeds, "target": problem.target.describe(), "left_out": left_out},
    )  # fmt: skip


def _own_defences(method: Method) -> dict[str, Disclosure]:
    """Return those that change something for this method: starts matter to what starts from observed people."""
    return {name: one for name, one in DEFENCES.items() if method.needs_data or not one.epsilon}


def _measured(disclosure: Disclosure, seed: int) -> Disclosure:
    """Return a defence whose noise hangs on the attack's seed, so that the same attack measures the same."""
    drawn = (disclosure.epsilon or disclosure.beyond) and disclosure.noise_seed is None
    return replace(disclosure, noise_seed=seed) if drawn else disclosure


@dataclass(frozen=True)
class _Setting:
    """Who asks whom: the same people in every exposure."""

    outsiders: People  # refused, unseen
    insiders: People  # refused, of the training table
    askers: People  # unseen, refused or not
    probe: People
    unseen: People  # all of them
    known: People  # the training table
    k: int
    queries: tuple[int, ...]
    seeds: int
    seed: int
    inferred: tuple[str, ...]
    own: People  # of the attacker: unseen, and not asking
    labels: np.ndarray | None  # of them
    shadows: Shadows | None

    def exposure(
        self, name: str, problem: Problem, method: Method, plain: Recourse | None, labels: Sequence[Fidelity]
    ) -> tuple[Exposure, Recourse]:
        """Attack one way of answering; plain: the same people's answers without a defence; labels: see `extraction`."""
        service = Service(problem, copy(method).fit(problem), self.k, self.seed)
        answer, inside = service.ask(self.outsiders), service.ask(self.insiders)
        decided = service.decide(self.askers)
        fidelities, balls = extraction(
            problem,
            answer,
            self.askers,
            decided,
            self.probe,
            queries=self.queries,
            seeds=self.seeds,
            seed=self.seed,
            labels=labels,
        )
        found = answer.found[:, 0]
        dearer = NOTHING
        if plain is not None:
            both = found & plain.found[:, 0]
            dearer = _dearer(plain.plain_cost[both, 0], answer.plain_cost[both, 0])
        disclosure = problem.disclosure
        one = Exposure(
            name, disclosure or Disclosure(), 0, rate(found),
            mean(np.where(found, answer.plain_cost[:, 0], np.nan), seed=self.seed), dearer, tuple(fidelities),
            tuple(balls), self._membership(answer, inside),
            tuple(infer(service, answer, self.probe, self.inferred, len(self.outsiders), self.seed)),
            reconstruction(answer, self.known, self.unseen),
            self._by_shadows(problem, method, answer, inside),
        )  # fmt: skip
        return replace(one, queries=service.queries), answer

    def _by_shadows(
        self, problem: Problem, method: Method, answer: Recourse, inside: Recourse
    ) -> tuple[Shadowed, ...]:
        if self.shadows is None or self.labels is None:
            return ()
        spread = self._spread()
        return shadowed(
            problem, method, self.own, self.labels, self.shadows, (inside.x, distances(inside, spread)),
            (answer.x, distances(answer, spread)), spread, seed=self.seed,
        )  # fmt: skip

    def _spread(self) -> np.ndarray:
        return np.asarray(np.nan_to_num(np.nanstd(self.probe, axis=0), nan=1.0))

    def _membership(self, answer: Recourse, inside: Recourse) -> tuple[Membership, ...]:
        spread = self._spread()
        returned = answer.after[answer.found]  # to others: nobody's own answer tells of them here
        categorical = answer.schema.is_categorical
        near = [
            closeness(rows[: len(self.probe)], returned, categorical, spread)
            for rows in (self.known, self.probe)
        ]
        cost = [np.where(one.found[:, 0], one.plain_cost[:, 0], np.nan) for one in (inside, answer)]
        return (
            membership("cost", *cost),
            membership("distance", distances(inside, spread), distances(answer, spread)),
            membership("closeness", *near),
        )


def _dearer(before: PerPerson, now: PerPerson) -> Estimate:
    """Return by which share the mean of `now` (n,) is above that of `before` (n,), with an interval over people."""
    n = len(before)
    if n < 2 or not before.mean() > 0:
        return NOTHING
    ratio = float(now.mean() / before.mean())
    half = Z * float(np.std(now - ratio * before, ddof=1) / before.mean() / np.sqrt(n))
    return Estimate(ratio - 1, ratio - 1 - half, ratio - 1 + half, n)


__all__ = ["DEFENCES", "PLAIN", "QUERIES", "Attack", "Exposure", "attack"]
