"""The real tables as the public code runs them: its classifier, its methods, and how it counts them.

Facts, not code, of the public code beside R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social
Segregation, ICML. Each method takes the people of several seeds (and attributes) of one table and returns where the
refused of each end (r, e), NaN for whoever found nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from wayforward_studies.balanced import as_run_methods
from wayforward_studies.balanced.as_run_nets import Autoencoders, Mixture
from wayforward_studies.balanced.as_run_people import rmsprop_net
from wayforward_studies.balanced.measures import measured
from wayforward_studies.balanced.setting import BalancedStudy

ENOUGH, PROPOSED = 1000, 5_000
#: How many draws there are at most for people with the same immutables; on German nearly everybody has their own.
MOST, MOST_OF = 100_000, {"germanrun": 20_000}
#: Which share of EBR's draws is left out as the less likely one: of GMC as the public code says, elsewhere its default.
QUANTILES: Mapping[str, float] = {"gmcrun": 0.7}
DEFAULT_QUANTILE = 0.6
#: How much the entropy of IBR's discriminator weighs.
GAMMAS: Mapping[str, float] = {"gmcrun": 200.0}
WIDTH, LATENT, HIDDEN = 0.01, 2, (256,)


@dataclass(frozen=True)
class TablePeople:
    """The people of one setting and seed. all_free: immutables move, too. weights: of a classifier that is there."""

    study: BalancedStudy
    all_free: bool = False
    weights: tuple[np.ndarray, ...] | None = None

    @property
    def seed(self) -> int:
        """Of the draw, the classifier and the methods."""
        return self.study.seed

    @property
    def table(self) -> str:
        """The name of the table."""
        return self.study.name.split("-")[0]

    @property
    def flag(self) -> int:
        """The column of the group."""
        return self.study.schema.index(self.study.name.split("-")[1])

    @cached_property
    def free(self) -> np.ndarray:
        """(e,) columns that methods move."""
        if self.all_free:
            return np.arange(self.study.schema.d)
        return np.array([self.study.schema.index(name) for name in self.study.keep])

    @cached_property
    def held(self) -> np.ndarray:
        """(i,) the other columns, that of the group among them."""
        return np.setdiff1d(np.arange(self.study.schema.d), self.free)

    @cached_property
    def net(self) -> tuple[np.ndarray, ...]:
        """The classifier's weights."""
        return self.weights or rmsprop_net(self.study.x, self.study.y, self.seed)

    @cached_property
    def refused(self) -> np.ndarray:
        """(n,) bool: whom it refuses."""
        return np.asarray(self._odds(self.study.x) <= 0)

    @cached_property
    def here(self) -> np.ndarray:
        """(r, e): what can be moved of the refused."""
        return np.asarray(self.study.x[np.ix_(self.refused, self.free)])

    @cached_property
    def given(self) -> np.ndarray:
        """(r, i): what cannot."""
        return np.asarray(self.study.x[np.ix_(self.refused, self.held)])

    def score(self, rows: np.ndarray, who: np.ndarray | None = None) -> np.ndarray:
        """Rows (q, ..., e) of the refused who (q,) -> (q, ...): log-odds of a yes."""
        first, bias, _, _ = self.net
        fixed = self.given @ first[self.held] + bias
        fixed = (fixed if who is None else fixed[who]).reshape(-1, *(1,) * (rows.ndim - 2), len(bias))
        return self._out(rows @ first[self.free] + fixed)

    def slope(self, rows: np.ndarray, who: np.ndarray | None = None) -> np.ndarray:
        """Rows (q, e) of the refused who (q,) -> (q, e)."""
        first, bias, last, _ = self.net
        fixed = self.given @ first[self.held] + bias
        on = rows @ first[self.free] + (fixed if who is None else fixed[who]) > 0
        return np.asarray((on * last) @ first[self.free].T)

    def _odds(self, x: np.ndarray) -> np.ndarray:
        return self._out(x @ self.net[0] + self.net[1])

    def _out(self, hidden: np.ndarray) -> np.ndarray:
        return np.asarray(np.maximum(hidden, 0) @ self.net[2] + self.net[3])


Ends = list[np.ndarray]


def ebr(several: Sequence[TablePeople], enough: int = ENOUGH, quantile: float | None = None) -> Ends:
    """Nearest accepted of the likelier of 1,000 draws at each person's immutables; where none is, the farthest.

    Draws are of the own group's density and stay with the chance of the other group's / 20; whoever has the same
    immutables has the same draws. enough: how many draws; quantile: which share of them is left out, the table's own.
    """
    out, fitted = [], {}
    for people in several:
        x, rng = people.study.x, np.random.default_rng([17, people.seed])
        if people.seed not in fitted:  # the attributes of one table share it
            rows = x[~people.refused]
            fitted[people.seed] = Mixture(rows[:, people.free], rows[:, people.held], people.seed)
        end = np.full_like(people.here, np.nan)
        kinds, kind = np.unique(people.given, axis=0, return_inverse=True)
        flag = int(np.flatnonzero(people.held == people.flag)[0])
        for k, own in enumerate(kinds):
            other = own.copy()
            other[flag] = 1 - own[flag]
            both = fitted[people.seed].given(np.stack([own, other]))
            pool = np.zeros((0, len(people.free)))
            for _ in range(MOST_OF.get(people.table, MOST) // PROPOSED):
                drawn = both.sample(PROPOSED, 0, rng)
                pool = np.r_[pool, drawn[rng.random(PROPOSED) < both.density(drawn)[1] / 20]]
                if len(pool) >= enough:
                    break
            if not len(pool):
                continue
            pool = pool[:enough]
            product = both.density(pool).prod(0)
            left_out = QUANTILES.get(people.table, DEFAULT_QUANTILE) if quantile is None else quantile
            pool = pool[product >= np.quantile(product, left_out)]
            mine = np.flatnonzero(kind.ravel() == k)
            far = cdist(people.here[mine], pool)
            good = people.score(pool[None], mine[:1])[0] > 0
            at = np.where(good, far, np.inf).argmin(1) if good.any() else far.argmax(1)
            end[mine] = pool[at]
        out.append(end)
    return out


def _decoded(several: Sequence[TablePeople], salt: int, hide: bool, **training: Any) -> Ends:
    """Train an autoencoder for each, side by side, and search around everybody's code. hide: the group is not given."""
    held = [[j for j in p.held if not (hide and j == p.flag)] for p in several]
    auto = Autoencoders(
        np.stack([p.study.x[:, p.free] for p in several]),
        np.stack([p.study.x[:, some] for p, some in zip(several, held, strict=True)]),
        [p.seed for p in several],
        group=np.stack([p.study.groups.member for p in several]) if hide else None,
        hidden=HIDDEN,
        latent=LATENT,
        **training,
    )
    return [
        as_run_methods.in_shells(
            p, auto.alone(k), p.study.x[np.ix_(p.refused, held[k])], salt=salt, width=WIDTH
        )[0]
        for k, p in enumerate(several)
    ]


def ibr(several: Sequence[TablePeople]) -> Ends:
    """In latent shells of an autoencoder that is paid for hiding the group."""
    return _decoded(several, 19, True, gamma=GAMMAS.get(several[0].table, 1.0), batch=32)


def c_chvae(several: Sequence[TablePeople]) -> Ends:
    """In latent shells of an autoencoder whose decoder sees everything that cannot change, the group too."""
    first = {p.seed: p for p in several}  # the attributes of one table share it
    ends = dict(
        zip(first, _decoded([*first.values()], 37, False, kl=0.3, epochs=500, batch=128), strict=True)
    )
    return [ends[p.seed] for p in several]


def wachter(several: Sequence[TablePeople]) -> Ends:
    """Descent over all columns; what cannot change is put back afterwards, as the paper says, valid or not."""
    moved = [replace(p, all_free=True, weights=p.net) for p in several]
    return [as_run_methods.wachter(m)[0][:, p.free] for m, p in zip(moved, several, strict=True)]


def wachter_within(several: Sequence[TablePeople]) -> Ends:
    """Descent over what can change."""
    return [as_run_methods.wachter(p)[0] for p in several]


def spheres(several: Sequence[TablePeople]) -> Ends:
    """Growing spheres over what can change."""
    return [as_run_methods.spheres(p)[0] for p in several]


METHODS: dict[str, Callable[[Sequence[TablePeople]], Ends]] = {
    "ibr": ibr,
    "ebr": ebr,
    "c-chvae": c_chvae,
    "growing-spheres": spheres,
    "wachter": wachter,
    "wachter, within limits": wachter_within,
}


def counted(people: TablePeople, end: np.ndarray) -> dict[str, float]:
    """All measures as the public code counts: all move, valid or not; who found nothing, to the point of zeros."""
    end = np.nan_to_num(end)
    after = people.study.x.copy()
    after[np.ix_(people.refused, people.free)] = end
    got = measured(people.study, people.refused, people.refused, after)
    return got | {"invalid": float((people.score(end) <= 0).mean())}
