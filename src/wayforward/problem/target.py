"""What a yes is: a class, a probability above a threshold, one of many classes, or a range of a prediction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import ProblemError, is_list, is_real, require_kind, require_switch, shown
from wayforward.language import gettext, in_english, marks, one_line
from wayforward.public import public
from wayforward.schema.units import unit_text

if TYPE_CHECKING:
    from wayforward.model import Model

TIMES = frozenset(
    f"{one}{s}" for one in ("minute", "hour", "day", "week", "month", "year") for s in ("", "s")
)
_TINY = 1e-12
_LEAST = 1e-15  # of a score that is not zero
_DIGITS = 12  # to which sums of decimals are right: 0.5 + 0.07 is 0.57


def _is_number(value: Any) -> bool:
    return is_real(value) and not np.isnan(float(value))


@public
@dataclass(frozen=True)
class Target:
    """The decision that a person wants.

    favourable: the label of the favourable class, or several. threshold: the probability of the favourable
    class(es) that is needed; left out, the model's own decision counts. margin: how far beyond the threshold
    (probability), or beyond the edges of the interval (units of the prediction), the answer must be.
    interval: for regression, (low, high), either of which may be None. unit: of the prediction, for people. gain: what
    is predicted is a difference from the person's own value now (`SurvivalProblem`), which texts say: "at least 6
    months longer than now", or "more" for what is no time.

    Example: ``Target(favourable=1)``, ``Target(1, threshold=0.7)``, ``Target(interval=(50_000, None), unit="EUR")``.
    Raises: ProblemError for a target that contradicts itself; from `bind`, for one that the model cannot reach.
    """

    favourable: Any = None
    threshold: float | None = None
    margin: float = 0.0
    interval: tuple[float | None, float | None] | None = None
    unit: str = ""
    gain: bool = False

    def __post_init__(self) -> None:
        if (self.favourable is None) == (self.interval is None):
            raise ProblemError(
                "A target is either favourable=<class label> (classification) or interval=(low, high) (regression). "
                f"Got favourable={self.favourable!r} and interval={self.interval!r}."
            )
        require_switch(self.gain, "gain", ProblemError)
        require_kind(self.unit, str, "unit", ProblemError)
        if self.gain and self.interval is None:
            raise ProblemError(
                "gain=True says that a prediction is a difference. Give interval=(low, high), or leave gain out."
            )
        if is_list(self.favourable) and not isinstance(
            self.favourable, Collection
        ):  # may be gone through once
            object.__setattr__(self, "favourable", tuple(self.favourable))
        if self.interval is None and not self.labels:
            raise ProblemError(f"favourable={self.favourable!r} names no class. Give a label, or several.")
        if not all(np.isscalar(label) and not isinstance(label, np.void) for label in self.labels):
            raise ProblemError(
                f"favourable={shown(self.favourable)} holds something else than labels. Give a label, or several."
            )
        for i, label in enumerate(self.labels):
            if isinstance(label, (float, np.floating)) and np.isnan(label):
                raise ProblemError(
                    f"favourable={shown(self.favourable)} holds NaN, which is no label. Give one."
                )
            if label in self.labels[:i]:
                raise ProblemError(
                    f"favourable={shown(self.favourable)} names {shown(label)} twice. Name each label once."
                )
        for name, value in (("threshold", self.threshold), ("margin", self.margin)):
            if not (value is None and name == "threshold") and not _is_number(value):
                raise ProblemError(
                    f"{name}={value!r} is not a number. Give one, such as {name}=0.1, or leave it out."
                )
        if self.threshold is not None and not 0.0 < self.threshold < 1.0:
            raise ProblemError(f"threshold={self.threshold} is not a probability between 0 and 1.")
        if self.margin < 0:
            raise ProblemError(f"margin={self.margin} is below zero. Use margin >= 0.")
        if self.interval is not None:
            pair = tuple(self.interval) if isinstance(self.interval, Sequence) else ()
            if len(pair) != 2 or not all(end is None or _is_number(end) for end in pair):
                raise ProblemError(
                    f"interval={self.interval!r} is no pair of numbers. Give (low, high); None leaves an end open."
                )
            low, high = self.edges()
            if (np.isinf(low) and np.isinf(high)) or low == np.inf or high == -np.inf:
                raise ProblemError(
                    f"interval={self.interval!r} has no end, so it asks for nothing. Give a finite low, high, or both."
                )
            if low + self.margin > high - self.margin:
                raise ProblemError(f"The interval {self.interval} with margin {self.margin} is empty.")
            if self.threshold is not None:
                raise ProblemError("A threshold goes with a class, not with an interval. Leave one out.")
        elif self.threshold is None and self.margin >= 0.5:
            raise ProblemError(
                f"margin={self.margin} leaves no probability that would do. Use less than 0.5."
            )
        elif self.threshold is not None and self.threshold + self.margin >= 1.0:
            raise ProblemError(f"threshold {self.threshold} and margin {self.margin} add up to 1 or more.")

    def beyond(self, edge: float, side: int = 1) -> float:
        """Return where `margin` beyond an edge is (side -1: before it), as decimals add up."""
        return edge if self.margin == 0 else round(edge + side * self.margin, _DIGITS)

    def edges(self) -> tuple[float, float]:
        """Return the ends of the interval that is wanted, infinite where it is open."""
        assert self.interval is not None
        low, high = self.interval
        return (-np.inf if low is None else float(low)), (np.inf if high is None else float(high))

    @property
    def labels(self) -> tuple[Any, ...]:
        """The favourable labels; empty for regression."""
        if self.interval is not None:
            return ()
        return tuple(self.favourable) if is_list(self.favourable) else (self.favourable,)

    def decided_by(self, model: Model) -> Model:
        """Return the model as a search for this target sees it: by its own label, where that alone decides."""
        return model if self.interval is not None or self.threshold is not None else model.by_label()

    def bind(self, model: Model) -> BoundTarget:
        """Fit the target to a model. Raises: ProblemError if the model has no such class or task."""
        if self.interval is not None:
            if model.task != "regression":
                raise ProblemError(
                    "An interval needs a regression model; this one classifies. Use favourable=<class>."
                )
            return BoundTarget(self, np.array([], dtype=np.int64), 1)
        if model.task == "regression":
            raise ProblemError(
                f"favourable={self.favourable!r} needs a classifier; this model predicts a number. "
                "Use interval=(low, high)."
            )
        classes = list(model.classes)
        index = []
        for label in self.labels:
            match = [i for i, c in enumerate(classes) if c == label or str(c) == str(label)]
            if not match:
                known = ", ".join(repr(c) for c in classes[:10])
                raise ProblemError(
                    f"The model has no class {label!r}; its classes are {known}. Choose favourable among them."
                )
            index.append(match[0])
        if len(set(index)) == len(classes):
            raise ProblemError(
                "Every class of the model is favourable, so nobody is refused. Leave at least one out."
            )
        columns = np.array(sorted(set(index)), dtype=np.int64)
        label_only = int(model.access) <= 1  # Access.LABEL
        if self.threshold is not None or len(classes) > 2:
            return BoundTarget(
                self, columns, len(classes), provable=model.decision.exact, label_only=label_only
            )
        needed = model.decision.needed(int(columns[0]))
        if needed + self.margin >= 1.0:
            raise ProblemError(
                f"The model decides for {self.labels[0]!r} from a probability of {needed:g}; with a margin of "
                f"{self.margin} that is 1 or more. Use a smaller margin."
            )
        return BoundTarget(self, columns, 2, needed, model.decision.exact, label_only)

    def describe(self) -> str:
        """The target in English words, by which files and other processes know it."""
        return in_english(self.text)

    def text(self) -> str:
        """The target in words, for people."""
        if self.interval is not None:
            low, high = self.edges()
            if self.gain and np.isinf(high) and low > 0:
                return gettext("at least {gain}", gain=gain_text(self._end(low), 1, self.unit))
            if self.gain and np.isinf(low) and high < 0:
                return gettext("at least {gain}", gain=gain_text(self._end(-high), -1, self.unit))
            if np.isinf(high):
                return gettext("a prediction of {value} or more", value=self._end(low))
            if np.isinf(low):
                return gettext("a prediction of {value} or less", value=self._end(high))
            return gettext("a prediction from {low} to {high}", low=marks(f"{low:g}"), high=self._end(high))
        labels = [one_line(str(label)) for label in self.labels]
        named = labels[0]
        for label in labels[1:]:
            named = gettext("{first} or {last}", first=named, last=label)
        if self.threshold is None:
            return gettext("the decision '{label}'", label=named)
        share = marks(f"{self.threshold + self.margin:g}")
        return gettext("the decision '{label}' with probability {share} or more", label=named, share=share)

    def _end(self, value: float) -> str:
        return f"{marks(f'{value:g}')} {unit_text(self.unit)}".rstrip()


def gain_text(amount: str, sign: float, unit: str) -> str:
    """Return a difference from now in words: "6 months longer than now", "200 EUR less than now"."""
    if unit.strip() in TIMES:
        if sign < 0:
            return gettext("{amount} shorter than now", amount=amount)
        return gettext("{amount} longer than now", amount=amount)
    if sign < 0:
        return gettext("{amount} less than now", amount=amount)
    return gettext("{amount} more than now", amount=amount)


@public
@dataclass(frozen=True)
class BoundTarget:
    """A target whose classes are columns of one model's outputs."""

    target: Target
    columns: np.ndarray  # favourable columns of the outputs
    n_classes: int
    own: float = 0.5  # of two classes: the probability from which the favourable one is the model's label
    provable: bool = True  # the model itself says how its label follows from its outputs
    label_only: bool = False  # the model gives labels, so that its outputs say nothing of how far a yes is

    def reads_as(self, other: BoundTarget) -> bool:
        """Do both say the same of the same outputs?"""
        plain = [(one.target, one.n_classes, one.own, one.columns.tolist()) for one in (self, other)]
        return plain[0] == plain[1]

    @property
    def level(self) -> float:
        """The probability that is needed, margin included, where a target is one: a threshold, or of two classes."""
        return self.target.beyond(self.own if self.target.threshold is None else self.target.threshold)

    def needed(self) -> dict[str, Any]:
        """What a yes takes, as plain data: {"level": probability}, or {"low", "high", "unit"} of a prediction, margin
        included and None where open ("gain": True of a difference from now); {} where the best of many classes or a
        label decides."""
        if self.target.interval is not None:
            low, high = (float(end) if np.isfinite(end) else None for end in self._inside)
            gain = {"gain": True} if self.target.gain else {}
            return {"low": low, "high": high, "unit": self.target.unit, **gain}
        one = self.target.threshold is not None or self.n_classes == 2
        return {"level": float(self.level)} if one and not self.label_only else {}

    def _favourable(self) -> np.ndarray:
        mask = np.zeros(self.n_classes, dtype=bool)
        mask[self.columns] = True
        return mask

    def value(self, outputs: np.ndarray) -> np.ndarray:
        """(m, c) -> (m,) what people see: probability of a favourable decision, or the predicted number."""
        if self.target.interval is not None:
            return outputs[:, 0]
        return outputs[:, self.columns[0]] if len(self.columns) == 1 else outputs[:, self.columns].sum(1)

    @property
    def _level(self) -> float | None:
        """The probability of a favourable decision that is needed; None where a label, or a lead, is needed."""
        target = self.target
        if target.threshold is not None:
            return self.level
        return self.level if target.margin > 0 and self.n_classes == 2 else None

    @property
    def _inside(self) -> tuple[float, float]:
        """The least and the greatest prediction that will do."""
        low, high = self.target.edges()
        return self.target.beyond(low), self.target.beyond(high, -1)

    def _lead(self, yes: np.ndarray, no: np.ndarray) -> np.ndarray:
        """(m, c), (m, c) -> (m,): by how much the best favourable output in `yes` is above the best other in `no`."""
        return np.asarray(yes[:, self.columns].max(1) - np.delete(no, self.columns, axis=1).max(1))

    def score(self, outputs: np.ndarray) -> np.ndarray:
        """(m, c) -> (m,) how far the decision is turned. Log-odds, or units of the prediction.

        Above zero the decision is turned, below it is not. At zero a threshold, a margin and the edges of an
        interval are reached; without any of these the model's own label decides. The sign is exact.
        """
        target, lead = self.target, self._beyond(outputs)
        if target.interval is not None:
            return lead
        if target.threshold is not None or self.n_classes == 2:
            level, value = self.level, self.value(outputs)
            p = np.clip(value, _TINY, 1 - _TINY)
            score = np.log(p) - np.log1p(-p) - np.log(level / (1 - level))
        else:
            yes, no = outputs[:, self.columns].max(1), np.delete(outputs, self.columns, axis=1).max(1)
            score = np.log(np.maximum(yes - target.margin, _TINY)) - np.log(
                np.maximum(no + target.margin, _TINY)
            )
        # logarithms round: at equality, and a hair from it, the outputs themselves have the last word
        return np.asarray(
            np.where(lead > 0, np.maximum(score, _LEAST), np.where(lead < 0, np.minimum(score, -_LEAST), 0.0))
        )

    def turned(self, outputs: np.ndarray) -> np.ndarray:
        """(m, c) -> (m,) bool: `score` is 0 or more."""
        return np.asarray(self._beyond(outputs) >= 0)

    def _beyond(self, outputs: np.ndarray) -> np.ndarray:
        """(m, c) -> (m,) how far the outputs are beyond what is needed, in their own unit."""
        target = self.target
        if target.interval is not None:
            low, high = self._inside
            return np.minimum(outputs[:, 0] - low, high - outputs[:, 0])
        if target.threshold is not None or self.n_classes == 2:
            return np.asarray(self.value(outputs) - self.level)
        lead = self._lead(outputs, outputs)
        return np.round(lead - 2 * target.margin, _DIGITS) if target.margin else lead

    def reached(self, outputs: np.ndarray, labels: np.ndarray | None = None) -> np.ndarray:
        """(m, c) outputs, (m,) label indices -> (m,) bool: is this a yes?

        A value exactly at what is asked for is a yes. Without a threshold the model's own label decides (ties
        included), and a margin asks for more besides: of two classes a probability this far beyond the model's own, of
        more a lead of twice the margin over every other class. `labels` default to the first maximum.
        """
        target = self.target
        if target.interval is not None:
            low, high = self._inside
            return np.asarray((outputs[:, 0] >= low) & (outputs[:, 0] <= high))
        if target.threshold is not None:
            return np.asarray(self.value(outputs) >= self._level)
        if labels is None and self.own != 0.5:
            return np.asarray(self.value(outputs) >= self.level)
        chosen = outputs.argmax(1) if labels is None else labels
        yes = self._favourable()[chosen]
        if target.margin == 0:
            return np.asarray(yes)
        if self._level is not None:
            return np.asarray(yes & (self.value(outputs) >= self._level))
        return np.asarray(yes & (self.score(outputs) >= 0))

    def surely_missed(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """(n, c) bounds on the outputs over a set of rows -> (n,) bool: no row of the set can be a yes.

        The bounds are those of the model itself, its own arithmetic included (`Model.box_bounds`). Without a threshold
        its label must be that of its largest output wherever that is clear, as for every model that gives bounds.
        """
        target = self.target
        if target.interval is not None:
            first, last = self._inside
            return np.asarray((high[:, 0] < first) | (low[:, 0] > last))
        if target.threshold is not None:
            return np.asarray(high[:, self.columns].sum(1) < self._level)
        if not self.provable:
            return np.zeros(len(low), dtype=bool)
        if self.own != 0.5:
            return np.asarray(high[:, self.columns[0]] < self.level)
        missed = self._lead(high, low) < 0
        if self._level is not None:
            return np.asarray(missed | (high[:, self.columns[0]] < self._level))
        return np.asarray(missed | (self._lead(high, low) < 2 * target.margin - 10.0**-_DIGITS))

    def surely_reached(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """(n, c) bounds on the outputs over a set of rows -> (n,) bool: every row of the set is a yes.

        As `surely_missed`, the other way round; what neither says is open.
        """
        target = self.target
        if target.interval is not None:
            first, last = self._inside
            return np.asarray((low[:, 0] >= first) & (high[:, 0] <= last))
        if target.threshold is not None:
            return np.asarray(low[:, self.columns].sum(1) >= self._level)
        if not self.provable:
            return np.zeros(len(low), dtype=bool)
        if self.own != 0.5:
            return np.asarray(low[:, self.columns[0]] >= self.level)
        reached = self._lead(low, high) > 0
        if self._level is not None:
            return np.asarray(reached & (low[:, self.columns[0]] >= self._level))
        return np.asarray(reached & (self._lead(low, high) > 2 * target.margin + 10.0**-_DIGITS))
