"""Still a yes when the weights of the model shift: exact for linear scores, bounds for dense networks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from wayforward.errors import ProblemError, is_number, is_one_of
from wayforward.language import gettext, in_english, marks
from wayforward.problem.robust.base import Robust
from wayforward.problem.robust.networks import boxes, least
from wayforward.problem.robust.spelling import Spelling, yes
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.model import DenseForm
    from wayforward.problem.population import Population
    from wayforward.problem.problem import Problem
    from wayforward.problem.target import BoundTarget

_BLOCK = 128  # rows of one interval product: fixed, because BLAS rounds differently for other shapes


@public
@dataclass(frozen=True, eq=False)
class WithinDelta(Robust):
    """Still a yes for every model whose weights lie within `delta` of this one's.

    Weights are those that the model itself holds, on the columns that it reads (after scaling and one-hot coding,
    where a pipeline has them). norm: 'linf', each weight by itself moves by at most delta; 'l2', each class's weights
    together (linear models only). bias: the intercepts move, too. Exact for linear scores and networks with one hidden
    layer; for deeper dense networks a sound bound (lines through all layers at once), so that an option may be robust
    and not be known to be. delta=0 is the plain problem. `measure`: the largest delta that the bound bears.

    Example: ``Problem(schema, model, target, robust=WithinDelta(0.05))``.
    Raises: ProblemError for other models (`AllModels` and `Stable` take any), or a delta below 0.
    Source: J. Jiang, F. Leofante, A. Rago, F. Toni (2023), Formalising the Robustness of Counterfactual Explanations
    for Neural Networks, AAAI; S. Upadhyay, S. Joshi, H. Lakkaraju (2021), Towards Robust and Reliable Algorithmic
    Recourse, NeurIPS, arXiv:2102.13620, for the linear case; H. Zhang, T.-W. Weng, P.-Y. Chen, C.-J. Hsieh, L. Daniel
    (2018), Efficient Neural Network Robustness Certification with General Activation Functions, NeurIPS,
    arXiv:1811.00866, for lines through layers, there for shifted inputs.
    """

    name: ClassVar[str] = "within-delta"
    spelling: ClassVar[Spelling | None] = Spelling(
        "within-delta:0.05", "how far weights may shift", {"norm": str, "bias": yes}
    )

    delta: float
    norm: Literal["linf", "l2"] = "linf"
    bias: bool = True
    _form: DenseForm | None = field(default=None, init=False, repr=False)
    _target: BoundTarget | None = field(default=None, init=False, repr=False)
    _slack: float = field(default=1e-9, init=False, repr=False)

    def __post_init__(self) -> None:
        if not (is_number(self.delta) and self.delta >= 0):
            raise ProblemError(f"delta={self.delta!r} is no size of a change of weights. Give 0 or more.")
        if not is_one_of(self.norm, ("linf", "l2")):
            raise ProblemError(f"norm={self.norm!r} is not known. Use 'linf' or 'l2'.")

    def fit(self, problem: Problem) -> Self:
        """See `Robust`."""
        form = problem.model.dense
        if form is None:
            raise ProblemError(
                f"WithinDelta bounds linear scores and dense networks whose weights could be read; "
                f"{problem.model.name} is neither. Use AllModels with retrained models, UnderNoise or Stable, which "
                "take any model."
            )
        if self.norm == "l2" and len(form.weights) > 1:
            raise ProblemError("norm='l2' is for linear models; networks are bounded with norm='linf'.")
        return self.with_state(_form=form, _target=problem.bound_target, _slack=problem.slack)

    def worst(self, after: np.ndarray) -> np.ndarray:
        """(m, d) -> (m,) the least score of any model within delta, or a bound below it."""
        from wayforward.model.fast import apply_link

        assert self._target is not None and self._form is not None
        target, link = self._target, self._form.link
        q = self._form.weights[-1].shape[1]
        each = np.eye(q)
        if target.target.interval is not None:
            low = self.least(after, np.concatenate([each, -each]))
            ends = [target.score(apply_link(end, link)) for end in (low[:, :q], -low[:, q:])]
            return np.asarray(np.minimum(*ends))  # falls away from the middle of the interval
        if q == 1:
            sign = 1.0 if target.columns[0] == 1 else -1.0
            return target.score(apply_link(sign * self.least(after, sign * each), link))
        if link == "softmax" and len(target.columns) == 1:  # differences from the one that is wanted
            wanted = int(target.columns[0])
            margin = -self.least(after, each[wanted] - each)
            margin[:, wanted] = 0.0
            return target.score(apply_link(margin, link))
        # every link is monotone in each margin
        side = np.where(np.isin(np.arange(q), target.columns), 1.0, -1.0)
        return target.score(apply_link(side * self.least(after, side[:, None] * each), link))

    def least(self, after: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """(m, d) rows, (g, q) directions -> (m, g) least of margins @ direction before the link, or a bound below."""
        from wayforward.model.fast import padded

        form = self._form
        assert form is not None
        if len(form.weights) == 1:
            margin, code = form.margin(after), form.encoder.encode(after)
            if self.norm == "l2":
                reach = np.sqrt((code**2).sum(1) + self.bias)
            else:
                reach = np.abs(code).sum(1) + self.bias
            return np.asarray(margin @ directions.T - self.delta * reach[:, None] * np.abs(directions).sum(1))
        if not len(after):
            return np.empty((0, len(directions)))
        return padded(lambda rows: self._through(rows, directions), after, _BLOCK)

    def _through(self, rows: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """(b, d) -> (b, g): see `networks`."""
        form = self._form
        assert form is not None
        layers = list(zip(form.weights, form.biases, form.activations, strict=True))
        at = boxes(layers, form.encoder.encode(rows), self.delta, self.bias)
        return np.stack([least(layers, at, self.delta, self.bias, one) for one in directions], axis=1)

    def score(
        self,
        people: Population,
        who: np.ndarray,
        after: np.ndarray,
        action: np.ndarray | None,
        plain: np.ndarray,
    ) -> np.ndarray:
        """See `Robust`."""
        return plain if self.delta == 0 else np.minimum(plain, self.worst(after))

    def holds(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """See `Robust`."""
        return np.ones(len(after), dtype=bool) if self.delta == 0 else self.worst(after) > self._slack

    def measure(
        self, problem: Problem, before: np.ndarray, action: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """(m,) the largest delta that the bound bears, to a thousandth; at most 1,024 times what is asked for."""
        good, bad = np.zeros(len(after)), np.full(len(after), np.inf)
        trial = np.full(len(after), self.delta or 1e-3)
        for _ in range(24):
            yes = np.zeros(len(after), dtype=bool)
            for delta in np.unique(trial):  # few: all start alike, and halve alike
                at = np.flatnonzero(trial == delta)
                yes[at] = self.with_state(delta=float(delta)).worst(after[at]) > self._slack
            good, bad = np.where(yes, trial, good), np.where(yes, bad, trial)
            trial = np.where(
                np.isfinite(bad), (good + bad) / 2, np.minimum(2 * trial, 1024 * (self.delta or 1e-3))
            )
        return good

    def describe(self) -> str:
        """The condition in English words."""
        return in_english(self.text)

    def text(self) -> str:
        """The condition in words, in the language in use."""
        return gettext(
            "still a yes for every model whose weights lie within {delta} ({norm})",
            delta=marks(f"{self.delta:g}"), norm=self.norm,
        )  # fmt: skip
