"""ebr: draw profiles that are likely in every group of the accepted, and take the nearest that the model accepts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from wayforward.density.base import Densities, Kind, Scale, mixed
from wayforward.errors import MethodError, is_one_of
from wayforward.methods.base import Budget, Method
from wayforward.methods.engines.polish import revert, shrink
from wayforward.methods.settings import check_choices, check_least
from wayforward.problem.batching import distinct_changes, tidy
from wayforward.problem.learned import problem_density
from wayforward.problem.plausibility.balanced_search import fewer
from wayforward.public import public
from wayforward.ranks import rank_in_run
from wayforward.shapes import Actions

if TYPE_CHECKING:
    from wayforward.groups import Groups
    from wayforward.problem import Population, Problem
    from wayforward.problem.population import Evaluated, Worth
    from wayforward.streams import Streams

_ROWS = 1 << 16  # proposals held at once


@public
@dataclass
class Ebr(Method):
    """Explicit balanced recourse: nearest of the draws from the product of the groups' densities.

    Conditional densities of what people can change, given what they cannot, are learnt for each group of accepted
    people. For everyone, `proposals` a round come from the groups' mixture and are thinned to the product of all
    groups' densities by rejection, until `enough` or more are left or `rounds` are over. What the person may not change
    is put back, values are snapped and held inside their limits; of the rows that are still likely enough in all groups
    (`beta`) and that the model accepts, the nearest is the answer. So people of all groups are led to the same region.
    More than two groups: the product is over all.

    Of how many draws the nearest is taken is not published. Everybody gets the same number of proposals here, so there
    are many draws where groups are alike and few where they hardly overlap, and published costs are near in both. With
    more, options are cheaper and lie where the region is nearest to the person's own group.

    groups: `Groups` of the people in the problem's table, or the name of a feature; None: the one sensitive feature.
    beta, beta_scale: how high the product must be. 'mass': above what a share beta of the product's own draws have;
    'relative': beta times the greatest product among proposals; 'absolute': beta, numbers in shares of their ranges.
    density: 'mixture' (networks, extra `torch`), 'kernel', 'flow' (extra `torch`). nearest: by the problem's 'cost' or
    'l2' in shares of the ranges. thin: False also considers proposals that rejection would drop; people of whom no
    draw was kept get these anyway. shrink: give back what the decision does not need, as long as the row stays above
    beta; not published, and it moves people to the edge of the region that is nearest to their own group.
    device: of the networks, see `device_of`; None: the CPU.
    Default budget: 2,000 model rows a person.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Raises: ProblemError for a group without accepted people, which has no density; DataError for what is no group.
    Example: ``wf.recommend(problem, refused, method="ebr", groups="sex", beta=0.3, seed=0)``.
    Source: R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation, ICML, section 5.1.
    """

    name: ClassVar[str] = "ebr"
    summary: ClassVar[str] = (
        "nearest of the profiles that are likely in every group of the accepted; labels suffice"
    )
    citation: ClassVar[str] = "Gao & Lakkaraju (2023), ICML, section 5.1"
    needs_data: ClassVar[bool] = True

    groups: Groups | str | None = field(default=None, repr=False)
    beta: float = 0.3
    beta_scale: Scale = "mass"
    density: Kind = "mixture"
    proposals: int = 256
    rounds: int = 40
    enough: int = 5
    nearest: Literal["cost", "l2"] = "cost"
    thin: bool = True
    shrink: bool = False
    train_seed: int = 0
    device: str | None = None

    def __post_init__(self) -> None:
        check_least(self, proposals=8, rounds=1, enough=1)
        check_beta(self.name, self.beta, self.beta_scale)
        check_choices(self, density=get_args(Kind), nearest=("cost", "l2"))

    @property
    def _keeps_more(self) -> bool:
        return True  # the balance of all answers

    def _fit(self, problem: Problem) -> None:
        from wayforward.scaling import ranges

        self.density_: Densities = problem_density(
            problem, self.groups, self.density, seed=self.train_seed, device=self.device
        )
        self.span_, _ = ranges(problem.schema, problem.reference)

    def _recommend(self, people: Population, k: int, streams: Streams, budget: Budget) -> Actions:
        limit = budget.rows_or(2000)
        search = GroupDraws(self, people, streams, limit, max(self.enough, k))
        for turn in range(self.rounds):
            if not search.round(turn):
                break
        return search.options(k)


def check_beta(name: str, beta: float, scale: str) -> None:
    """Check beta and its scale. Raises: MethodError for a scale that there is not, or a beta that it does not know."""
    if not is_one_of(scale, get_args(Scale)):
        raise MethodError(f"'{name}' has beta_scale={scale!r}. Choose one of {', '.join(get_args(Scale))}.")
    if isinstance(beta, bool) or not (isinstance(beta, (int, float)) and math.isfinite(beta)) or beta < 0:
        raise MethodError(f"'{name}' has beta={beta!r}. Use 0 (no demand) or more.")
    if scale == "mass" and beta >= 1:
        raise MethodError(
            f"'{name}' has beta={beta!r}, and nothing exceeds all of the mass. Use less than 1."
        )


class GroupDraws:
    """The state of everyone's sampling: the greatest ratio so far, how many draws were accepted, the options."""

    def __init__(self, method: Ebr, people: Population, streams: Streams, limit: int, enough: int) -> None:
        self.method, self.people, self.streams = method, people, streams
        self.cap, self.enough = people.rows + limit, enough
        n = people.n
        self.top = np.full(n, -np.inf)  # log of the greatest product / mixture among proposals
        self.accepted, self.n_valid = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.owner: list[np.ndarray] = []
        self.action: list[np.ndarray] = []

    def round(self, turn: int) -> bool:
        """Draw one round of proposals for everyone who needs more; return False when nobody does."""
        people, method = self.people, self.method
        more = (self.accepted < self.enough) | (self.n_valid == 0)
        live = np.flatnonzero(more & (people.rows < self.cap))
        if not live.size:
            return False
        size = max(1, _ROWS // method.proposals)
        for begin in range(0, live.size, size):
            self._sample(live[begin : begin + size], turn)
        return True

    def _sample(self, who: np.ndarray, turn: int) -> None:
        """Draw proposals for some people and thin them to the product of the groups' densities."""
        people, s, d = self.people, self.method.proposals, self.people.d
        density = self.method.density_
        drawn = density.sample(people.x[who], s, self.streams.take(who), tag=turn + 1)
        log = density.log_density(drawn.reshape(-1, d)).reshape(len(who), s, -1)
        ratio = log.sum(2) - mixed(log)
        self.top[who] = np.maximum(self.top[who], ratio.max(1))
        luck = self.streams.uniform(who, s, tag=0xEB0000 + turn)
        take = np.log(luck) < ratio - self.top[who, None]
        needy = (self.n_valid[who] == 0) & (turn > 0)
        self.accepted[who] += take.sum(1)
        # Who has nothing yet looks at the likeliest of the other proposals as well: they need only be above beta.
        if not self.method.thin:
            take[:] = True
        elif needy.any():
            likely = ratio[needy].argsort(1)[:, -max(s // 16, 8) :]
            extra = take[needy]
            np.put_along_axis(extra, likely, True, axis=1)
            take[needy] = extra
        at, slot = np.nonzero(take)
        self._record(who[at], drawn[at, slot])

    def _record(self, owner: np.ndarray, rows: np.ndarray) -> None:
        """Record drawn rows (m, d) that the person may take, that stay above beta, and that the model accepts."""
        people = self.people
        density = self.method.density_
        action = fewer(people, density, owner, tidy(people, owner, np.where(density.made, rows, np.nan)))
        some = ~np.isnan(action).all(1)
        owner, action = owner[some], action[some]
        above = self.method.density_.above(
            people.after(owner, action), self.method.beta, self.method.beta_scale
        )
        owner, action = owner[above], action[above]
        room = rank_in_run(owner) < (self.cap - people.rows)[owner]
        owner, action = owner[room], action[room]
        if not owner.size:
            return
        good = people.evaluate(owner, action).reached
        self.n_valid += np.bincount(owner[good], minlength=people.n)
        self.owner.append(owner[good])
        self.action.append(action[good])

    def options(self, k: int) -> np.ndarray:
        """Return options (n, k, d): the nearest recorded rows."""
        people, method = self.people, self.method
        if not self.owner:
            return np.full((people.n, k, people.d), np.nan)
        owner, action = np.concatenate(self.owner), np.concatenate(self.action)
        if method.nearest == "l2":
            owner, action = self._least(owner, action, self._length(owner, action), max(k, 1))
        if method.shrink:
            owner, action = self._least(owner, action, people.cost(owner, action), max(3, 2 * k))
            within = _above_beta(people, method)
            back = revert(within, owner, action, within.parts(owner, action), sweeps=2)
            action = shrink(within, owner, back)
        return distinct_changes(people, owner, action, k)

    def _length(self, owner: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Return the Euclidean length (m,) of changes in shares of the ranges, 1 for another category."""
        schema, x = self.people.schema, self.people.x[owner]
        move = np.nan_to_num(np.abs(action - x) / self.method.span_)
        move = np.where((schema.is_categorical | np.isnan(x)) & ~np.isnan(action), 1.0, move)
        return np.asarray(np.sqrt((move * move).sum(1)))

    @staticmethod
    def _least(
        owner: np.ndarray, action: np.ndarray, size: np.ndarray, most: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return each person's `most` rows of least size (m,): owner and action."""
        order = np.lexsort((*np.nan_to_num(action, nan=np.inf).T, size.round(12), owner))
        order = order[rank_in_run(owner[order]) < most]
        return owner[order], action[order]


def _above_beta(people: Population, method: Ebr) -> Population:
    """Return the same people, for whom only rows above beta reach the decision."""
    from wayforward.problem import Population as Base

    class Within(Base):
        def evaluate(self, who: np.ndarray, action: np.ndarray, worth: Worth | None = None) -> Evaluated:
            seen = super().evaluate(who, action, worth)
            yes = np.flatnonzero(seen.reached)
            seen.reached[yes] = method.density_.above(seen.after[yes], method.beta, method.beta_scale)
            return seen

    some = Within(people.problem, people.x, people.preferences)
    some.weight, some.plain_weight, some.aim = people.weight, people.plain_weight, people.aim
    return some
