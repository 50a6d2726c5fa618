"""What a time series' answer would take to be another: a series is its channels, or stretches of time of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from wayforward.errors import DataError, ProblemError, is_integer, is_list, is_number, shown
from wayforward.modalities.array_problem import ArrayProblem
from wayforward.modalities.arrays import (
    ArrayModel,
    ArrayUnits,
    CheckedLabels,
    ConstantFill,
    encode_array,
    read_array,
    size_of,
)
from wayforward.modalities.series.answers import SeriesRecourse
from wayforward.modalities.series.segments import ChannelMean, NearestFill, Stretches
from wayforward.modalities.units import padded_size, unit_schema
from wayforward.problem import Target
from wayforward.public import public
from wayforward.recourse import Recourse
from wayforward.schema import Schema

Units = Literal["channels", "stretches"]
Replace = Literal["distractor", "mean"]
MOST_DISTRACTORS = 64


@public
class SeriesProblem(ArrayProblem[SeriesRecourse]):
    """A model of time series, and the answer that is wanted of it: which channels would have to be others?

    model: a torch module of (n, channels, times); a function of such arrays that returns probabilities; an estimator
    with `predict` and `predict_proba` that takes them, as sktime's and aeon's do; or a scikit-learn classifier on
    flattened series (n, channels * times), told by its `n_features_in_`. series: (n, channels, times), some of the kind
    it is asked about, with `labels` (n,) where they are known. favourable: the answer that is wanted, or target: a
    `wf.Target` in its place. classes: of a module or a function, its labels in column order. channels: their names.

    units: 'channels', whole ones; 'stretches', each channel in 4 stretches of time, or `Stretches(parts)`; or a
    function of a (channels, times) series that gives labels of that shape. replace: what a unit takes: the same place
    of a 'distractor', one of `series` with the wanted answer (and, with labels, whose label it is); the 'mean' of its
    channel; or a number. distractors: how many of them are offered, the nearest first; what is taken from them is shown
    in answers. keep: names or numbers of channels that stay in every series, or (channels, times) bool: times whose
    units stay.

    Changing a unit costs 1. What is said of a series was judged on the exact series that is returned, by the model
    itself. In `recommend`, `keep` names what stays besides, and `most` says how many units may change.
    Example: ``SeriesProblem(model, series, favourable="ok").recommend(series[:3], method="comte", k=2)``.
    Raises: ProblemError, DataError, ModelError.
    """

    things: ClassVar[str] = "series"
    thing: ClassVar[str] = "series"

    def __init__(
        self,
        model: Any,
        series: Any,
        favourable: Any = None,
        *,
        target: Target | None = None,
        labels: Any = None,
        classes: Sequence[Any] | None = None,
        channels: Sequence[str] | None = None,
        units: Units | Callable[[np.ndarray], np.ndarray] = "channels",
        replace: Replace | float = "distractor",
        distractors: int = 2,
        keep: Any = None,
    ) -> None:
        super().__init__(favourable, target)
        try:
            given = read_array(series)
        except ValueError:
            raise DataError(
                "series have several lengths. Give arrays of one shape, (channels, times): cut, pad or resample them "
                "as the model expects them."
            ) from None
        if given.ndim != 3 or not given.size or given.dtype.kind not in "biuf":
            raise DataError(
                f"series has shape {given.shape} and type {given.dtype}. Give numbers of shape (n, channels, times); "
                "one channel is (n, 1, times)."
            )
        self.shape = given.shape[1:]
        self.named = channels is not None
        self.channels = _names(channels, self.shape[0])
        self.examples = self._all(given)
        self._labels(labels)  # they are wanted of distractors alone, and must be right anyway
        self.keep = self._mask(keep)
        self.replace, self._choices = replace, 1
        cut = _segmenter(units)
        self._padded = cut is not None and not isinstance(cut, Stretches)
        self._whole = cut is None
        low, high = float(given.min()), float(given.max())
        segment = CheckedLabels(Stretches(1) if cut is None else cut, "a series", "number")
        self.units: ArrayUnits = ArrayUnits(
            self.shape, low, high if high > low else low + 1.0, segment, _fill(replace)
        )
        flat = getattr(model, "n_features_in_", None) == size_of(self.units)
        self.model = ArrayModel(model, self.units, classes, "first", flat)
        if replace == "distractor":
            if type(distractors) is not int or not 1 <= distractors <= MOST_DISTRACTORS:
                raise ProblemError(
                    f"distractors={shown(distractors)} is no number of series to take from. Use 1 to "
                    f"{MOST_DISTRACTORS}."
                )
            others = self._wanted(labels, "replace='mean'")
            self._choices = min(int(distractors), len(others))
            self._replace_from(NearestFill(others, self._choices))

    def _checked(self, given: np.ndarray) -> str:
        odd = ~np.isfinite(given)
        if odd.any():
            channel, time = (int(place) for place in np.argwhere(odd)[0])
            raise DataError(
                f"{self.channels[channel]!r} is {given[channel, time]} at time {time}, from 0. Fill gaps as the model "
                "expects them."
            )
        return encode_array(given.astype(np.float64))

    def _size(self, content: str) -> int:
        count = self.units.count(content)
        return padded_size(count) if self._padded else count

    def _schema(self, size: int) -> Schema:
        middle = encode_array(np.full(self.shape, (self.units.low + self.units.high) / 2))
        if self.replace == "distractor":
            choices = tuple(f"distractor {i + 1}" for i in range(self._choices))
        else:
            choices = ("replaced",)
        names = tuple(self.channels) if self._whole else ()
        return unit_schema("series", "unit", size, choices, middle, names)

    def _fixed_units(self, content: str, keep: Any) -> list[int]:
        return self._units_under(content, self.keep | self._mask(keep))

    def _answer(self, contents: list[str], recourse: Recourse) -> SeriesRecourse:
        return SeriesRecourse(
            recourse, tuple(contents), self.units, tuple(self.channels) if self.named else ()
        )

    def _mask(self, keep: Any) -> np.ndarray:
        """(channels, times) bool."""
        mask = np.zeros(self.shape, dtype=bool)
        if keep is None:
            return mask
        if isinstance(keep, np.ndarray) and keep.dtype == bool:
            if keep.shape != self.shape:
                raise ProblemError(
                    f"keep has shape {keep.shape}. Give True or False for each of {self.shape[0]} channels by "
                    f"{self.shape[1]} times, or names of channels."
                )
            return keep
        if not is_list(keep):
            raise ProblemError(f"keep={shown(keep)} is no list of channels. Give a list: [{keep!r}].")
        for one in keep:
            if isinstance(one, str) and one in self.channels:
                mask[self.channels.index(one)] = True
            elif is_integer(one) and 0 <= one < self.shape[0]:
                mask[one] = True
            else:
                raise ProblemError(
                    f"keep names {shown(one)}, which is no channel. Channels are "
                    f"{', '.join(map(repr, self.channels[:10]))}, or 0 to {self.shape[0] - 1}."
                )
        return mask


def _names(given: Sequence[str] | None, many: int) -> list[str]:
    if given is None:
        return [f"channel {i + 1}" for i in range(many)]
    names: list[Any] = list(given) if is_list(given) else [given]
    if len(names) != many or not all(isinstance(n, str) and n for n in names) or len(set(names)) < many:
        raise DataError(
            f"channels={shown(given)} are no names of {many} channels. Give {many} different ones."
        )
    if "series" in names:
        raise DataError("A channel is called 'series', which is the name of the whole. Give it another name.")
    return names


def _segmenter(units: Any) -> Callable[[np.ndarray], np.ndarray] | None:
    """None: whole channels."""
    if isinstance(units, str) and units in ("channels", "stretches"):
        return None if units == "channels" else Stretches()
    if not callable(units):
        raise ProblemError(
            f"units={shown(units)} is not known. Use 'channels', 'stretches', Stretches(parts), or give a function."
        )
    made: Callable[[np.ndarray], np.ndarray] = units
    return made


def _fill(given: Any) -> Callable[[np.ndarray], np.ndarray]:
    if is_number(given):
        return ConstantFill(float(given))
    if not isinstance(given, str) or given not in ("distractor", "mean"):
        raise ProblemError(
            f"replace={shown(given)} is not known. Use a finite number or one of 'distractor', 'mean'."
        )
    return ChannelMean()
