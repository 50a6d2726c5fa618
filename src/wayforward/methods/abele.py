"""abele: lore in the code of an autoencoder: a local tree on codes, and examples that it decodes on both sides."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from wayforward.methods.base import Budget, check_k, check_seed
from wayforward.methods.engines.latent.adoption import proposed_options
from wayforward.methods.engines.latent.codes import CodedPopulation, CodeSpace
from wayforward.methods.engines.latent.settings import DecodedSettings
from wayforward.methods.engines.surrogate.neighbourhood import Neighbourhood
from wayforward.methods.engines.surrogate.trees import LocalTrees, OwnBoxes, grow
from wayforward.methods.lore import Lore
from wayforward.methods.nearest_observable import thinned
from wayforward.methods.settings import require_setting
from wayforward.model import Access
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions, Floats, Ints, Mask, People
from wayforward.streams import Streams

if TYPE_CHECKING:
    from wayforward.problem import Population, Problem

_OBSERVED = 2000  # people whose codes say where codes lie
_LOOKED_AT = 8  # decoded rows of a person that are looked at closely, at most
_NO_WEIGHT = 1e-9


@public
@dataclass(frozen=True, eq=False)
class Exemplars:
    """What a tree on codes shows of n people: decoded rows on both sides.

    like (n, k, d): rows of the person's own leaf that get the person's answer, the nearest code first. unlike (n, k,
    d): counter-exemplars, rows of leaves of yes that the model accepts. NaN where there are fewer. saliency (n, d):
    how much each feature may move and the answer stays: the median difference of all rows of the leaf from the person,
    of levels the share that differ.
    """

    like: Floats
    unlike: Floats
    saliency: Floats


@public
@dataclass
class Abele(DecodedSettings, Lore):
    """Explain a refusal by a tree on latent codes bred around the person's own, and by rows decoded on its both sides.

    An autoencoder learns from observed people, and `lore` does the rest among its codes: a genetic search breeds codes
    with the person's own answer and with the other one, as near as can be; what they decode to is made legal, and what
    is less likely than most people are is passed over. A tree on codes gives the leaf that the person is in and leaves
    of yes; the nearest code of the one with the fewest conditions to be met anew is decoded, and the model itself asked
    about it. `exemplars(x)` returns decoded rows of both sides and how much each feature may move while the answer
    stays, `rules(x)` the rules, whose conditions are about codes. Of images, `wf.ImageProblem(units="pixels")`.

    In place of the published discriminator (adversarial) stands the bound of the autoencoder: rare, the share of
    observed people who are less likely than a row has to be; 0 for any row. Not published: adopt='part', which takes
    over only the changes of a decoded row that help ('all': whole rows, as published); complete, shrink: see
    `DecodedSettings`. samples, generations, depth, leaf: as of `lore`; latent, epochs, generator: of the autoencoder.
    Published: samples=1000, generations=10, depth=50, adopt='all', complete=False.
    Default budget: 20,000 model rows a person. Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``wf.method("abele").fit(problem).exemplars(refused, k=2).unlike``.
    Raises: ProblemError from `fit` without observed people; MissingExtra without torch; DeviceError.
    Source: R. Guidotti, A. Monreale, S. Matwin, D. Pedreschi (2019), Black Box Explanation by Learning Image Exemplars
    in the Latent Feature Space, ECML PKDD; arXiv:2002.03746.
    """

    name: ClassVar[str] = "abele"
    summary: ClassVar[str] = "a tree on an autoencoder's codes bred around the person, decoded on both sides"
    citation: ClassVar[str] = "Guidotti, Monreale, Matwin & Pedreschi (2019), ECML PKDD, arXiv:2002.03746"
    needs: ClassVar[int] = Access.LABEL

    samples: int = 200
    generations: int = 4
    _: KW_ONLY
    rare: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        Lore.__post_init__(self)
        require_setting(self, "rare", 0 <= self.rare < 1, "Use a share from 0 to below 1.")

    def _fit(self, problem: Problem) -> None:
        self.latent_ = self._latent_space(problem, "cvae", zeroth=True)
        if self.latent_ is not None:
            known = np.unique(problem.require_reference(), axis=0)
            self.space_ = CodeSpace(self.latent_, thinned(known, _OBSERVED), self.rare)
            self.reference_, self.far_ = self.space_.codes, self.space_.schema.span

    def exemplars(self, x: Any, k: int = 2, *, seed: int = 0) -> Exemplars:
        """Return rows like each person and unlike them, decoded on both sides of the tree: up to k of each.

        x: a table of people or an (n, d) array whom the model refuses; of others there are none (NaN). seed: that of
        `recommend`. Raises: MethodError before `fit`, or for k or seed; DataError for people who do not fit the schema.
        """
        problem = self._fitted_problem()
        check_k(k)
        check_seed(seed)
        everybody = problem.population(problem.schema.encode(x))
        n, d = everybody.x.shape
        out = Exemplars(np.full((n, k, d), np.nan), np.full((n, k, d), np.nan), np.full((n, d), np.nan))
        who = np.flatnonzero(~problem.reached(everybody.x)[0] & everybody.free.any(1))
        if not who.size:
            return out
        people = everybody.take(who)
        coded = self._coded(people)
        near, trees, price = self._surrogate(coded, Streams.of(people.x, seed), self._limit(Budget()))
        legal = np.isfinite(near.score)
        like = legal & ~near.reached & trees.home[trees.leaf]
        unlike = legal & near.reached & np.isfinite(price)[trees.leaf]
        far = np.abs((near.value - coded.x[:, None]) / self.space_.spread).sum(2)
        for rows, some in ((out.like, like), (out.unlike, unlike)):
            owner, place, after = _after(coded, near, some)
            order = np.lexsort((place, far[owner, place].round(9), owner))
            rank = rank_in_run(owner[order])
            first = order[rank < k]
            rows[who[owner[first]], rank[rank < k]] = after[first]
            if rows is out.like:
                out.saliency[who] = _saliency(people, owner, place, after, some)
        return out

    def _coded(self, people: Population) -> CodedPopulation:
        return self.space_.population(people)

    def _seen(self, people: Population) -> Population:
        return self._coded(people)

    def _tree(self, people: Population, near: Neighbourhood) -> LocalTrees:
        weight = np.where(np.isfinite(near.score), 1.0, _NO_WEIGHT)  # what is no likely row says nothing
        return grow(
            people.schema, people.x, near.value, near.reached, weight, depth=self.depth, leaf=self.leaf
        )

    def _bred(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = self._limit(budget)
        cap, coded = people.rows + limit, self._coded(people)
        near, trees, price = self._surrogate(coded, streams, limit)
        most = max(2 * k, 4)
        found, _ = OwnBoxes(coded, trees, price).usable(most, max(limit // 4, 1))
        proposals = np.full((people.n, 2 * most, people.d), np.nan)
        who, slot = np.nonzero(~np.isnan(found).all(2))
        proposals[who, slot] = coded.decoded(who, found[who, slot])
        if self.completes:  # nearest codes that were bred and accepted, of whatever leaf
            far = np.where(
                near.reached, np.abs((near.value - coded.x[:, None]) / self.space_.spread).sum(2), np.inf
            )
            place = far.argsort(1, kind="stable")[:, :most]
            who, slot = np.nonzero(np.isfinite(np.take_along_axis(far, place, 1)))
            proposals[who, most + slot] = coded.decoded(who, near.value[who, place[who, slot]])
        return proposed_options(people, proposals, k, cap, self, most=_LOOKED_AT * k)


def _after(coded: CodedPopulation, near: Neighbourhood, some: Mask) -> tuple[Ints, Ints, People]:
    """Decode the rows that are True in some (n, S): whose they are (m,), their places (m,), where they lead (m, d)."""
    owner, place = np.nonzero(some)
    action = coded.decoded(owner, near.value[owner, place])
    return owner, place, coded.people.after(owner, action)


def _saliency(people: Population, owner: Ints, place: Ints, after: People, some: Mask) -> Floats:
    """(n, d): the median difference of decoded rows (m, d) from their person; of levels the share that differ."""
    x, schema = people.x[owner], people.schema
    gap = np.nan_to_num(np.where(schema.is_categorical, schema.differs(after, x), after - x))
    every = np.full((*some.shape, people.d), np.nan)
    every[owner, place] = gap
    out = np.full((people.n, people.d), np.nan)
    there = some.any(1)
    out[there] = np.where(schema.is_categorical, np.nanmean(every[there], 1), np.nanmedian(every[there], 1))
    return out
