"""A yes all around where an action leads: carried out with errors, or in a neighbourhood that is stable."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from wayforward.errors import ProblemError, is_integer, is_number, is_one_of
from wayforward.language import gettext, in_english, marks
from wayforward.problem.over_draws import deviation as deviation_over_draws
from wayforward.problem.over_draws import mean as mean_over_draws
from wayforward.problem.over_draws import total as total_over_draws
from wayforward.problem.robust.base import Robust
from wayforward.problem.robust.spelling import Spelling, number, whole
from wayforward.public import public
from wayforward.streams import keys_of
from wayforward.streams import spread as spread_evenly

if TYPE_CHECKING:
    from wayforward.problem.population import Population
    from wayforward.problem.problem import Problem

_DRAWN = 1 << 18  # drawn rows shown to the model at once
_MOST_CACHED = 5_000_000  # errors kept for a search: more are drawn again when they are asked for
_MOST = 100_000  # draws a row
_SCREEN = 10  # draws by which observed people are told to last: where a search starts, no promise
_TAG = 0x0B  # of the draws of a person's errors


@dataclass(frozen=True, eq=False)
class _Drawn(Robust):
    """Conditions on draws around where an action leads. `_sigma`: in shares of a feature's range, or by name."""

    draws: int = field(default=100, kw_only=True)
    columns: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64), init=False, repr=False)
    spread: np.ndarray = field(default_factory=lambda: np.empty(0), init=False, repr=False)

    @property
    @abstractmethod
    def _sigma(self) -> float | Mapping[str, float]:
        """The size of the errors."""

    def __post_init__(self) -> None:
        sigma = self._sigma
        sizes = sigma.values() if isinstance(sigma, Mapping) else [sigma]
        if not all(is_number(size) and 0 <= size <= 1 for size in sizes):
            raise ProblemError(
                f"sigma={sigma!r} is no share of a range. Give 0 to 1, such as 0.05 for 5 %, or one a feature."
            )
        if not is_integer(self.draws) or self.draws < 10:
            raise ProblemError(f"draws={self.draws!r} are too few to tell a share by. Give 10 or more.")
        if self.draws > _MOST:
            raise ProblemError(
                f"draws={self.draws!r} for every row are more than memory holds; {_MOST:,} at most."
            )

    def fit(self, problem: Problem) -> Self:
        """See `Robust`."""
        schema = problem.schema
        width = problem.range_widths * ~(schema.has_levels | schema.carried)
        sigma = self._sigma
        if isinstance(sigma, Mapping):
            share = np.zeros(schema.d)
            for name, size in sigma.items():
                if name not in schema.names or schema.has_levels[schema.index(name)]:
                    raise ProblemError(
                        f"sigma has an entry for '{name}', which is no number of the schema. Name real or whole ones."
                    )
                share[schema.index(name)] = size
        else:
            share = np.full(schema.d, float(sigma))
        columns = np.flatnonzero((share * width > 0) & self._may_err(problem))
        return self.with_state(columns=columns, spread=(share * width)[columns])

    def _may_err(self, problem: Problem) -> np.ndarray:
        """(d,) bool: features whose value may come out otherwise."""
        return np.ones(problem.schema.d, dtype=bool)

    def _noise(self, before: np.ndarray) -> np.ndarray:
        """(m, d) people -> (draws, m, p) errors, the same whenever a person is asked about, in feature units."""
        from scipy.special import ndtri

        number = spread_evenly(keys_of(before, _TAG), self.draws, len(self.columns))
        return np.asarray(ndtri(number) * self.spread)

    def _noise_of(self, people: Population, who: np.ndarray) -> np.ndarray:
        if people.n * self.draws * len(self.columns) > _MOST_CACHED:
            return self._noise(people.x[who])
        known = people.cache.get(self)
        if known is None:
            known = people.cache[self] = self._noise(people.x)
        return np.asarray(known[:, who])

    def screen(self, people: Population, who: np.ndarray, after: np.ndarray, plain: np.ndarray) -> np.ndarray:
        """See `Robust`; by a few draws."""
        fewer = self.with_state(draws=min(self.draws, _SCREEN))
        return super(_Drawn, fewer).screen(people, who, after, plain)

    def _in_stages(
        self,
        people: Population,
        who: np.ndarray,
        plain: np.ndarray,
        ask: Callable[[np.ndarray, np.ndarray], np.ndarray],
        worth: Callable[[np.ndarray, np.ndarray], np.ndarray],
        lost: Callable[[np.ndarray, np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """(m,) scores, by a tenth of the draws first, and by more as long as a row may hold.

        ask: rows and errors -> (draws, rows) what the model says. worth: that, and rows -> scores by the draws so far.
        lost: the same -> bool, no further draw can help (or it is too far off to hope). A row that is no yes today or
        lost counts as a no, whatever it is worth.
        """
        out = np.array(plain)
        few = max(self.draws // 10, 10)
        ends = sorted({min(part, self.draws) for part in (few, 5 * few // 2, 5 * few, self.draws)})
        step = max(1, _DRAWN // self.draws)
        for start in range(0, len(who), step):
            rows = np.arange(start, min(start + step, len(who)))
            noise = self._noise_of(people, who[rows])
            scores = np.empty((0, len(rows)))
            for end in ends:
                scores = np.concatenate([scores, ask(rows, noise[len(scores) : end])])
                score = worth(scores, rows)
                if end == self.draws:
                    out[rows] = np.minimum(plain[rows], score)
                    break
                over = lost(scores, rows) | (plain[rows] <= 0)
                out[rows[over]] = np.minimum(plain[rows], np.minimum(score, -1e-6))[over]
                rows, scores, noise = rows[~over], scores[:, ~over], noise[:, ~over]
                if not len(rows):
                    break
        return out

    def _put(self, problem: Problem, value: np.ndarray) -> np.ndarray:
        """(..., p) values -> within the schema and on its steps: whole numbers stay whole."""
        return np.asarray(problem.schema.snap(value, self.columns))


@public
@dataclass(frozen=True, eq=False)
class UnderNoise(_Drawn):
    """A yes with probability `share` or more when values are carried out with an error.

    The error is Gaussian, on the numbers that a person acts on, with a standard deviation of `sigma` x the feature's
    range (one number, or {name: number}); levels are carried out as they are. on: 'acted', or 'numbers', all numbers
    whether acted on or not, as PROBE has it (in the independent world).

    closed=None: for a linear score of two classes (or one open side of a regression) in the independent world the
    probability is exact, with errors that are neither rounded nor cut off at the schema's bounds; otherwise it is the
    share of `draws` errors, which are evenly spread, keyed to the person, rounded to the feature's steps and kept
    within bounds, and sent through the world where acts have consequences. A search must reach a few draws more
    than the judge asks for. closed=False draws for linear models, too. `measure`: the probability.

    Each candidate row costs as many model rows as draws; budgets count the candidate alone, meta['model_rows'] all.
    Example: ``Problem(schema, model, target, robust=UnderNoise(0.05, share=0.9))``.
    Raises: ProblemError for a sigma, a share or a feature that makes no sense.
    Source: M. Pawelczyk, T. Datta, J. van-den-Heuvel, G. Kasneci, H. Lakkaraju (2023), Probabilistically Robust
    Recourse, ICLR, arXiv:2203.06768: 1 - share is their invalidation rate.
    """

    name: ClassVar[str] = "under-noise"
    spelling: ClassVar[Spelling | None] = Spelling(
        "noise:0.02,alpha=0.1",
        "the size of errors as a share of a range",
        {"share": number, "alpha": number, "on": str, "draws": whole},
    )

    sigma: float | Mapping[str, float] = 0.05
    share: float = 0.9
    on: Literal["acted", "numbers"] = "acted"
    closed: bool | None = None
    _slope: np.ndarray | None = field(default=None, init=False, repr=False)

    @property
    def _sigma(self) -> float | Mapping[str, float]:
        return self.sigma

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_number(self.share) and 0 < self.share < 1):
            raise ProblemError(f"share={self.share!r} is no probability between 0 and 1, such as 0.9.")
        if not is_one_of(self.on, ("acted", "numbers")):
            raise ProblemError(f"on={self.on!r} is not known. Use 'acted' or 'numbers'.")

    def fit(self, problem: Problem) -> Self:
        """See `Robust`."""
        fitted = super().fit(problem)
        slope = None if self.closed is False else linear_slope(problem)
        if self.closed and slope is None:
            raise ProblemError(
                "closed=True needs a linear score with one boundary, in the independent world. Leave it out: the "
                "probability is then told by draws."
            )
        if slope is not None:
            fitted = fitted.with_state(_slope=np.abs(slope[fitted.columns]) * fitted.spread)
        if self.on == "numbers" and not problem.independent:
            raise ProblemError("on='numbers' is for the independent world. Use on='acted'.")
        return fitted

    def _may_err(self, problem: Problem) -> np.ndarray:
        return np.asarray(problem.schema.actionable) if self.on == "acted" else super()._may_err(problem)

    def erring(
        self, problem: Problem, before: np.ndarray, action: np.ndarray | None, after: np.ndarray
    ) -> np.ndarray:
        """(m, p) bool: which of the columns are carried out with an error."""
        columns = self.columns
        there = ~np.isnan(after[:, columns])
        if self.on == "numbers":
            return np.asarray(there)
        if action is None or problem.independent:
            return np.asarray(problem.schema.differs(after, before)[:, columns] & there)
        return np.asarray(~np.isnan(action[:, columns]))

    def _carried(
        self,
        problem: Problem,
        before: np.ndarray,
        action: np.ndarray | None,
        after: np.ndarray,
        noise: np.ndarray,
    ) -> np.ndarray:
        """(draws, m, d) where actions lead when they are carried out with these errors (draws, m, p)."""
        erring, columns = self.erring(problem, before, action, after), self.columns
        through = action is not None and not problem.independent
        start = action if through and action is not None else after
        value = np.where(erring, self._put(problem, start[:, columns] + noise), start[:, columns])
        out = np.repeat(start[None], len(noise), axis=0)
        out[:, :, columns] = value
        if not through:
            return out
        people = np.tile(before, (len(noise), 1))
        led = problem.standing(people, problem.consequences(people, out.reshape(-1, out.shape[2])))
        return np.asarray(led.reshape(out.shape))

    def carried(
        self, people: Population, who: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """(draws, m, d) where the actions (m, d) of who (m,) lead when they are carried out with errors."""
        noise = self._noise(people.x[who])
        return self._carried(people.problem, people.x[who], action, after, noise)

    def _spread_of(self, problem: Problem, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """(m,) standard deviation of a linear score under the errors."""
        assert self._slope is not None
        return np.asarray(np.sqrt((self.erring(problem, before, None, after) * self._slope**2).sum(1)))

    def score(
        self,
        people: Population,
        who: np.ndarray,
        after: np.ndarray,
        action: np.ndarray | None,
        plain: np.ndarray,
    ) -> np.ndarray:
        """See `Robust`."""
        from scipy.special import ndtri

        problem = people.problem
        if not len(self.columns) or not len(who):
            return plain
        if self._slope is not None:
            sure = plain - float(ndtri(self.share)) * self._spread_of(problem, people.x[who], after)
            return np.asarray(np.minimum(plain, sure))

        def ask(rows: np.ndarray, noise: np.ndarray) -> np.ndarray:
            """(draws, rows) scores."""
            owner = who[rows]
            acts = None if action is None else action[rows]
            led = self._carried(problem, people.x[owner], acts, after[rows], noise)
            outputs = people.drawn_outputs(np.tile(owner, len(noise)), led.reshape(-1, people.d))
            return problem.bound_target.score(outputs).reshape(len(noise), -1)

        def low(score: np.ndarray, share: float, spare: int) -> np.ndarray:
            """(rows,) the score that this share of the draws, and some to spare, is above."""
            needed = min(int(np.ceil(share * len(score) - 1e-9)) + spare, len(score))
            return np.asarray(np.partition(score, len(score) - needed, axis=0)[len(score) - needed])

        # A search finds what suits its own draws: half a standard error more keeps the promise on others.
        spare = max(1, int(np.ceil(0.5 * np.sqrt(self.draws * self.share * (1 - self.share)))))
        misses = self.draws - min(int(np.ceil(self.share * self.draws - 1e-9)) + spare, self.draws)

        def worth(score: np.ndarray, rows: np.ndarray) -> np.ndarray:
            return low(score, self.share, spare if len(score) == self.draws else 0)

        def lost(score: np.ndarray, rows: np.ndarray) -> np.ndarray:
            """(rows,) bool: more misses than all draws together may have, or far fewer yes than would do."""
            far = low(score, max(self.share - 0.15, 0.05), 0) <= 0
            return np.asarray(far | ((score <= 0).sum(0) > misses))

        return self._in_stages(people, who, plain, ask, worth, lost)

    def measure(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """(m,) the probability of a yes when carried out with errors."""
        from scipy.special import ndtr

        if not len(self.columns):
            return problem.reached(after)[0].astype(np.float64)
        if self._slope is not None:
            score = problem.bound_target.score(problem.model.outputs(after))
            size = self._spread_of(problem, before, after)
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(size > 0, ndtr(score / size), (score > 0).astype(np.float64))
        out, step = np.empty(len(after)), max(1, _DRAWN // self.draws)
        for start in range(0, len(after), step):
            part = slice(start, start + step)
            rows = self._carried(problem, before[part], action[part], after[part], self._noise(before[part]))
            out[part] = problem.reached(rows.reshape(-1, after.shape[1]))[0].reshape(self.draws, -1).mean(0)
        return out

    def holds(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """See `Robust`."""
        return np.asarray(self.measure(problem, before, action, after) >= self.share - 1e-9)

    def describe(self) -> str:
        """The condition in English words."""
        return in_english(self.text)

    def text(self) -> str:
        """The condition in words, in the language in use."""
        size = self.sigma if not isinstance(self.sigma, Mapping) else max(self.sigma.values(), default=0.0)
        return gettext(
            "a yes with probability {share} or more when carried out with errors of {size} of a range",
            share=marks(f"{self.share:g}"), size=marks(f"{size:g}"),
        )  # fmt: skip


@public
@dataclass(frozen=True, eq=False)
class Stable(_Drawn):
    """Stable where it leads: the model's probability of a yes stays high all around. For trees, and for any other.

    All numbers err by `sigma` x their range (rounded to steps, within bounds); M is the probability of a favourable
    decision. kind='trex': mean M(drawn) - mean |M(here) - M(drawn)|; 'robx': mean M(drawn) - std M(drawn); it must be
    at least `tau`. For a constant M the stability is M.

    Example: ``Problem(schema, forest, target, robust=Stable(0.5, 0.02))``.
    Raises: ProblemError for a regression, or settings that make no sense.
    Source: F. Hamman, E. Noorani, S. Mishra, D. Magazzeni, S. Dutta (2023), Robust Counterfactual Explanations for
    Neural Networks With Probabilistic Guarantees, ICML, arXiv:2305.11997 (TreX); S. Dutta, J. Long, S. Mishra, C.
    Tilli, D. Magazzeni (2022), Robust Counterfactual Explanations for Tree-Based Ensembles, ICML, arXiv:2207.02739
    (RobX).
    """

    name: ClassVar[str] = "stable"
    spelling: ClassVar[Spelling | None] = Spelling(
        "stable:0.5,sigma=0.02", "the stability to reach", {"sigma": number, "kind": str, "draws": whole}
    )

    tau: float = 0.5
    sigma: float | Mapping[str, float] = 0.02
    kind: Literal["trex", "robx"] = "trex"

    @property
    def _sigma(self) -> float | Mapping[str, float]:
        return self.sigma

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_number(self.tau) and 0 < self.tau < 1):
            raise ProblemError(f"tau={self.tau!r} is no stability between 0 and 1, such as 0.5.")
        if not is_one_of(self.kind, ("trex", "robx")):
            raise ProblemError(f"kind={self.kind!r} is not known. Use 'trex' or 'robx'.")

    def fit(self, problem: Problem) -> Self:
        """See `Robust`."""
        if problem.target.interval is not None:
            raise ProblemError("Stable measures a probability; a regression has none. Use UnderNoise.")
        return super().fit(problem)

    def _scores_of(self, problem: Problem, after: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """(m, d) rows and errors (draws, m, p) -> (draws, m) probabilities of a yes."""
        columns = self.columns
        rows = np.repeat(after[None], len(noise), axis=0)
        value = self._put(problem, after[:, columns] + noise)
        rows[:, :, columns] = np.where(np.isnan(after[:, columns]), np.nan, value)
        scores = problem.bound_target.value(problem.model.outputs(rows.reshape(-1, after.shape[1])))
        return np.asarray(scores.reshape(len(noise), -1))

    def _stability(self, drawn: np.ndarray, here: np.ndarray) -> np.ndarray:
        """(draws, m) and (m,) probabilities -> (m,)."""
        if self.kind == "robx":
            return np.asarray(mean_over_draws(drawn) - deviation_over_draws(drawn))
        return np.asarray(mean_over_draws(drawn) - mean_over_draws(np.abs(here - drawn)))

    def score(
        self,
        people: Population,
        who: np.ndarray,
        after: np.ndarray,
        action: np.ndarray | None,
        plain: np.ndarray,
    ) -> np.ndarray:
        """See `Robust`."""
        problem = people.problem
        if not len(who):
            return plain
        here = problem.bound_target.value(problem.model.outputs(after))

        def ask(rows: np.ndarray, noise: np.ndarray) -> np.ndarray:
            return self._scores_of(problem, after[rows], noise)

        def worth(scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
            """(rows,) four times what stability is above tau: log-odds rise four times as fast, at most."""
            return 4 * (self._stability(scores, here[rows]) - self.tau)

        def lost(scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
            """(rows,) bool: below tau even if all draws to come say the most they can, or 0.2 below it so far."""
            left = self.draws - len(scores)
            if self.kind == "robx":
                most = total_over_draws(scores) + left
            else:  # no draw adds more than the row itself has
                most = total_over_draws(np.minimum(2 * scores - here[rows], here[rows])) + left * here[rows]
            return np.asarray((most < self.draws * self.tau - 1e-9) | (worth(scores, rows) + 0.8 <= 0))

        return self._in_stages(people, who, plain, ask, worth, lost)

    def measure(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """(m,) the stability."""
        out, step = np.empty(len(after)), max(1, _DRAWN // self.draws)
        here = problem.bound_target.value(problem.model.outputs(after))
        for start in range(0, len(after), step):
            part = slice(start, start + step)
            out[part] = self._stability(
                self._scores_of(problem, after[part], self._noise(before[part])), here[part]
            )
        return out

    def holds(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """See `Robust`."""
        return np.asarray(self.measure(problem, before, action, after) >= self.tau - 1e-12)

    def describe(self) -> str:
        """The condition in English words."""
        return in_english(self.text)

    def text(self) -> str:
        """The condition in words, in the language in use."""
        return gettext(
            "a stability ({kind}) of {least} or more", kind=self.kind, least=marks(f"{self.tau:g}")
        )


def linear_slope(problem: Problem) -> np.ndarray | None:
    """(d,) slope of a problem's score by each number, where the score is linear in them; else None.

    For two classes with log-odds as the score, and for a regression with one open side; independent world.
    """
    form, layers = problem.model.linear, problem.model.dense
    target, bound = problem.target, problem.bound_target
    if form is None or layers is None or not problem.independent:
        return None
    weight = form.weight
    if target.interval is not None:
        low, high = target.edges()
        if np.isfinite(low) and np.isfinite(high):
            return None
        return np.asarray(weight[:, 0] if np.isfinite(low) else -weight[:, 0])
    if bound.n_classes != 2 or len(bound.columns) != 1 or layers.link not in ("logistic", "softmax"):
        return None
    slope = weight[:, 0] if weight.shape[1] == 1 else weight[:, 1] - weight[:, 0]
    return np.asarray(slope if bound.columns[0] == 1 else -slope)
