"""plausible-counterfactuals: a front of options, bred in the code of an autoencoder: sure, near in the code, likely."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from wayforward.methods.base import Budget
from wayforward.methods.engines.breeding import BreedingMethod
from wayforward.methods.engines.finish import finished
from wayforward.methods.engines.fronts import Front, best_first
from wayforward.methods.engines.latent.settings import DecodedSettings
from wayforward.methods.engines.population import Evolution, Individuals, blended
from wayforward.methods.nearest_observable import thinned
from wayforward.methods.settings import check_least, require_setting
from wayforward.public import public
from wayforward.shapes import Actions, Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem
    from wayforward.streams import Streams

_CROSS, _CROSS_SPREAD = 0.9, 15.0  # of simulated binary crossing
_STEP_SPREAD = 20.0  # of polynomial mutation
_FAR = 3.0  # standard deviations that a mutation spans


class _Herd(NamedTuple):
    """Candidates of q people: z (q, P, latent), adopts (q, P, d) bool, what became of them, objectives (q, P, 3)."""

    z: Floats
    adopts: Mask
    found: Individuals
    value: Floats

    def and_also(self, other: _Herd) -> _Herd:
        """Both, side by side."""
        z, adopts, value = (
            np.concatenate([getattr(h, p) for h in (self, other)], axis=1) for p in ("z", "adopts", "value")
        )
        return _Herd(z, adopts, self.found.and_also(other.found), value)

    def at(self, place: Ints) -> _Herd:
        """The candidates at places (q, k) of each person."""
        row = np.arange(len(place))[:, None]
        return _Herd(
            self.z[row, place], self.adopts[row, place], self.found.at(place), self.value[row, place]
        )

    def take(self, some: Ints) -> _Herd:
        """The candidates of some of the people."""
        return _Herd(self.z[some], self.adopts[some], self.found.take(some), self.value[some])


@public
@dataclass
class PlausibleCounterfactuals(DecodedSettings, BreedingMethod):
    """Breed codes of an autoencoder by NSGA-II in three objectives, and return the front: what nothing seen beats.

    The objectives: how sure the yes is, to be great; how far the code lies from the person's own, by absolute values,
    to be small; how likely the row is to the autoencoder (its bound), to be great. A candidate is a code and the
    features that adopt what is decoded there; everything is projected on what the person may do. Candidates that do not
    turn the decision come after all that do, by what they lack. The first ones lie ever farther around the person's
    code, and at codes of accepted people. With k=1 the cheapest of the front is returned, else up to k of it that lie
    far apart.

    In place of the published generator and discriminator (images, adversarial) stand the autoencoder of tables and its
    bound. Not published: adopt='part', candidates may adopt some features alone, without which a rule such as "at most
    4 changes" would forbid most ('all': whole rows, as published); complete: who has no option goes on by single
    changes; shrink: what is returned is polished, cheaper and less likely. As published, an option may hold an act that
    only makes it likelier (`minimal=False`).

    population, generations: sizes of the search. mutate: chance that a coordinate of a child's code moves, and a
    feature is adopted or left; None for one of each. front: options remembered. latent, epochs, generator: of the
    autoencoder; device: see `device_of`. Default budget: 20,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.recommend(problem, refused, method="plausible-counterfactuals", k=5)``.
    Raises: ProblemError from `fit` without observed people; MissingExtra without torch; DeviceError.
    Source: A. Barredo-Arrieta, J. Del Ser (2020), Plausible Counterfactuals: Auditing Deep Learning Classifiers with
    Realistic Adversarial Examples, IJCNN, arXiv:2003.11323.
    """

    name: ClassVar[str] = "plausible-counterfactuals"
    summary: ClassVar[str] = (
        "a front of options bred in an autoencoder's code: sure, near in the code, likely"
    )
    citation: ClassVar[str] = "Barredo-Arrieta & Del Ser (2020), IJCNN, arXiv:2003.11323"

    _: KW_ONLY
    shrink: bool = False
    population: int = 24
    generations: int = 20
    mutate: float | None = None
    front: int = 30

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, population=4, generations=1, front=2)
        require_setting(
            self, "mutate", self.mutate is None or 0 <= self.mutate <= 1, "Use a share from 0 to 1."
        )

    def _fit(self, problem: Problem) -> None:
        self.latent_ = self._latent_space(problem, "cvae", zeroth=True)
        if self.latent_ is not None:
            accepted = np.unique(problem.reference_accepted, axis=0)
            self.codes_ = self.latent_.encode(thinned(accepted, 1000))

    def _width(self, d: int) -> int:
        return self.front + 2 * self.population

    def _bred(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        cap = people.rows + budget.rows_or(20_000)
        front = self.searched(people, streams, cap)
        out = front.options(k)
        who, slot = np.nonzero(~np.isnan(out).all(2))
        if self.shrinks and who.size:
            out = finished(people, who, out[who, slot], k, cap=cap, go_on=False, shrink=True)
        lost = np.setdiff1d(np.arange(people.n), who)
        if self.complete and lost.size:
            place = front.there.nonzero()
            action = front.found.action[place]
            out[lost] = finished(people, place[0], action, k, cap=cap, go_on=True, shrink=False)[lost]
        return out

    def searched(self, people: Population, streams: Streams, cap: Ints) -> Front:
        """Breed for everybody, and return what nothing that was seen beats. cap (n,): model rows of each person."""
        search, at = Evolution(people, streams, cap, 1), np.arange(people.n)
        home = self.latent_.encode(people.x)
        front = Front(people.n, self.front, people.d, 3)
        herd = self._weighed(search, at, home, *self._first(search, at, home))
        front.add(at, herd.found, herd.value)
        for turn in range(1, self.generations + 1):
            herd = self._fittest(search, at, herd)
            on = np.flatnonzero(~search.spent(at))
            at, herd = at[on], herd.take(on)
            if not at.size:
                break
            children = self._weighed(search, at, home, *self._children(search, at, herd, 64 + 16 * turn))
            front.add(at, children.found, children.value)
            herd = herd.and_also(children)
        return front

    def _fittest(self, search: Evolution, at: Ints, herd: _Herd) -> _Herd:
        return herd.at(best_first(herd.found, herd.value, search.gap(at, herd.found))[:, : self.population])

    def _first(self, search: Evolution, at: Ints, home: Floats) -> tuple[Floats, Mask]:
        """Return codes (q, P, latent) around people's own and of accepted people, and what adopts them (q, P, d)."""
        size, q = self.population, home.shape[1]
        far = _FAR * (np.arange(size) / size)[:, None]
        z = home[:, None] + far * search.streams.normal(at, size, q, tag=1)
        draw = search.draw(at, size, tag=2)
        there = np.broadcast_to((np.arange(size) % 2 == 1)[:, None], z.shape)
        z = np.where(there, self.codes_[(draw * len(self.codes_)).astype(np.int64)], z)
        share = search.draw(at, size, 1, tag=3)
        adopts = search.draw(at, size, search.people.d, tag=4) < share
        return z, adopts if self.partial else np.ones_like(adopts)

    def _children(self, search: Evolution, at: Ints, herd: _Herd, tag: int) -> tuple[Floats, Mask]:
        """Return codes and adoptions of children: simulated binary crossing and polynomial mutation."""
        size, (q, d) = self.population, (herd.z.shape[2], search.people.d)
        many = np.maximum(herd.found.there.sum(1), 1)[:, None, None]
        duel = (search.draw(at, 4, size, tag=tag) * many).astype(np.int64)  # the better of two, twice
        one, other = (herd.at(np.minimum(duel[:, i], duel[:, i + 1])) for i in (0, 2))
        gene = search.draw(at, 4, size, q, tag=tag + 1)
        cross = (gene[:, 0, :, :1] < _CROSS) & (gene[:, 1] < 0.5)
        z = np.where(cross, blended(one.z, other.z, gene[:, 2], _CROSS_SPREAD), one.z)
        coin, share = gene[:, 3], search.draw(at, size, q, tag=tag + 2)
        step = np.where(share < 0.5, (2 * share) ** (1 / (1 + _STEP_SPREAD)) - 1,
                        1 - (2 * (1 - share)) ** (1 / (1 + _STEP_SPREAD)))  # fmt: skip
        z = np.where(coin < (1 / q if self.mutate is None else self.mutate), z + 2 * _FAR * step, z)
        coin = search.draw(at, 2, size, d, tag=tag + 3)
        adopts = np.where(coin[:, 0] < 0.5, one.adopts, other.adopts)
        adopts = adopts ^ (coin[:, 1] < (1 / d if self.mutate is None else self.mutate))
        return z, adopts if self.partial else np.ones_like(adopts)

    def _weighed(self, search: Evolution, at: Ints, home: Floats, z: Floats, adopts: Mask) -> _Herd:
        """Decode codes, ask about the rows, and weigh them: inf where the decision is not turned."""
        people, latent, (q, p, d) = search.people, self.latent_, adopts.shape
        who = np.repeat(at, p)
        free = people.free[who] & adopts.reshape(-1, d) & ~(np.isnan(people.x[who]) & latent.numbers)
        action = latent.decoded(people, who, free, z.reshape(q * p, -1)).reshape(q, p, d)
        found = search.evaluate(at, action)
        value = np.full((q, p, 3), np.inf)
        row, place = np.nonzero(found.reached)
        value[row, place, 0] = -np.tanh(found.score[row, place] / 2)
        value[row, place, 1] = np.abs(z[row, place] - home[at[row]]).sum(1)
        after = people.after(at[row], found.action[row, place])
        value[row, place, 2] = -latent.generator.log_bound(after, draws=1)
        return _Herd(z, adopts, found, value.round(9))
