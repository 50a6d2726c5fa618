"""Arrays of one shape behind units: a row stands for an array, and the model is asked about that one.

An array is cut into units by a label for each of its numbers, and a unit that was replaced takes its numbers from
another array, its fill. Images are such arrays; whatever else has a shape (series of channels and times) can be.
"""

from __future__ import annotations

import base64
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from wayforward.errors import DataError, ModelError, ProblemError, WayforwardError, require
from wayforward.modalities.model import listed, of_function, safely
from wayforward.modalities.units import things_of
from wayforward.model import Access, Adapted, WrapOptions, register_adapter, wrap
from wayforward.model.adapted import label_indices
from wayforward.model.adapters import library_of
from wayforward.model.adapters import torch_module as torch_adapter
from wayforward.model.encoder import NotRead
from wayforward.model.fast import Fast
from wayforward.model.forms import Block, Link
from wayforward.model.network import TorchNetwork
from wayforward.model.verify import sample_rows
from wayforward.model.wrapping import Wrapped
from wayforward.schema import Feature, Schema
from wayforward.shapes import Floats, Ints

MOST_NUMBERS = 16_384  # of an array that is given to an estimator as one row
_AT_ONCE = 1 << 24  # numbers of arrays that are made at once
_REMEMBERED = 1 << 25  # numbers of arrays whose units and fills are kept


def encode_array(values: np.ndarray) -> str:
    """Return an array as a string that the carried feature holds: bytes as they are, other numbers as float64."""
    exact = values if values.dtype == np.uint8 else np.asarray(values, dtype="<f8")
    shape = "x".join(map(str, exact.shape))
    return f"{exact.dtype.str} {shape} {base64.b64encode(np.ascontiguousarray(exact).tobytes()).decode()}"


def decode_array(text: str) -> np.ndarray:
    """Return the array of a string. Raises: DataError."""
    try:
        kind, shape, numbers = text.split(" ")
        size = tuple(int(part) for part in shape.split("x"))
        return np.frombuffer(base64.b64decode(numbers), dtype=np.dtype(kind)).reshape(size)
    except (ValueError, TypeError):
        raise DataError(
            "The value that a row carries is no array. Make rows with the problem's own `rows`."
        ) from None


def read_array(things: Any) -> np.ndarray:
    """Return an array; what is masked is a gap (NaN). Raises: ValueError for several shapes."""
    if isinstance(things, (list, tuple)) and any(map(np.ma.isMaskedArray, things)):
        things = np.ma.stack(things)
    if np.ma.is_masked(things) and things.dtype.kind in "biuf":
        return np.asarray(things.astype(np.float64).filled(np.nan))
    return np.asarray(things)


@dataclass
class CheckedLabels:
    """Labels of a segmenter, checked: whole numbers from 0 without a gap. thing, place: in errors, "image", "pixel"."""

    segmenter: Callable[[np.ndarray], np.ndarray]
    thing: str
    place: str

    def __call__(self, array: np.ndarray) -> np.ndarray:
        """(h, w, ...) -> (h, w). Raises: ProblemError."""
        try:
            label = np.asarray(self.segmenter(array))
        except WayforwardError:
            raise
        except Exception as error:
            raise ProblemError(
                f"units, the function that was given, failed on {self.thing} of {array.shape[0]} by {array.shape[1]}: "
                f"{type(error).__name__}. It gets an array and is to return a whole number for each {self.place}."
            ) from error
        if label.shape != array.shape[:2] or label.dtype.kind not in "iu":
            raise ProblemError(
                f"units gave labels of shape {label.shape} and type {label.dtype} for {self.thing} of {array.shape[0]} "
                f"by {array.shape[1]}. Return one whole number a {self.place}."
            )
        return np.unique(label, return_inverse=True)[1].reshape(label.shape)


@dataclass(frozen=True)
class ConstantFill:
    """One value for all."""

    value: float

    def __call__(self, array: np.ndarray) -> np.ndarray:
        """Any shape -> the same."""
        return np.full(array.shape, float(self.value))


def nearest(others: np.ndarray, array: np.ndarray, many: int = 1, scale: Any = 1.0) -> np.ndarray:
    """Return the nearest (many, *shape) of other arrays (R, *shape), or all where there are fewer; of equals the first.

    By the sum of squares of differences, each divided by `scale`, that fits the shape.
    """
    gap = (((others - array) / scale).reshape(len(others), -1) ** 2).sum(1)
    return np.asarray(others[gap.argsort(kind="stable")[:many]])


class ArrayParts(NamedTuple):
    """One array in units. values (P,), label (P,) of the unit of each number, fills (L, P): what may take its place."""

    values: Floats
    label: Ints
    fills: Floats


class Composer(Protocol):
    """How a row becomes an array of this shape, its numbers one after another (P,)."""

    shape: tuple[int, ...]
    low: float
    high: float

    def compose(self, rows: Floats, schema: Schema) -> Floats:
        """(m, d) -> (m, P)."""

    def blocks(self, schema: Schema) -> tuple[Block, ...]:
        """The code of a row, for gradients."""

    def composite(self, code: Any, schema: Schema) -> Any:
        """(m, e) code -> (m, P), both tensors: differentiable with respect to the code."""


@dataclass
class ArrayUnits:
    """Rows of units. low, high: the least and the greatest number.

    segment: an array -> a label for each number, from 0, or for each place along its first axes.
    fill: an array -> what may take the place of its numbers, (L, *shape) or (*shape,).
    """

    shape: tuple[int, ...]
    low: float
    high: float
    segment: Callable[[np.ndarray], np.ndarray]
    fill: Callable[[np.ndarray], np.ndarray]
    _known: OrderedDict[str, ArrayParts] = field(default_factory=OrderedDict, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_known": OrderedDict()}

    def parts(self, content: str) -> ArrayParts:
        """Return the units and fills of an array, as `encode_array` holds it."""
        if content not in self._known:
            values = decode_array(content)
            whole = values.astype(np.float64)
            label = np.asarray(self.segment(whole))
            label = label.reshape(label.shape + (1,) * (whole.ndim - label.ndim))
            label = np.broadcast_to(label, whole.shape).reshape(-1).astype(np.int64)
            fills = np.asarray(self.fill(whole), dtype=np.float64).reshape(-1, whole.size)
            if values.dtype == np.uint8:
                fills = fills.round()
            self._known[content] = ArrayParts(whole.reshape(-1), label, fills)
            if len(self._known) > max(64, _REMEMBERED // whole.size):
                self._known.popitem(last=False)
        return self._known[content]

    def count(self, content: str) -> int:
        """Return how many units an array has."""
        return int(self.parts(content).label.max()) + 1

    def compose(self, rows: Floats, schema: Schema) -> Floats:
        """See `Composer`."""
        contents, which = things_of(rows, schema)
        parts = [self.parts(content) for content in contents]
        label = np.stack([part.label for part in parts])
        source = np.stack(
            [np.concatenate([part.fills, part.values[None]]) for part in parts]
        )  # (t, L + 1, P)
        # Numbers that always change together are copied in runs, as long as they are.
        edges = np.flatnonzero((np.diff(label, axis=1) != 0).any(0)) + 1
        length = int(np.gcd.reduce([label.shape[1], *edges.tolist()]))
        label, level = label[:, ::length], rows[:, 1:].astype(np.int64)
        alike = (label == label[0]).all()
        chosen = level[:, label[0]] if alike else np.take_along_axis(level, label[which], axis=1)
        runs = source.reshape(*source.shape[:2], -1, length)
        return np.asarray(runs[which[:, None], chosen, np.arange(runs.shape[2])].reshape(len(rows), -1))

    def blocks(self, schema: Schema) -> tuple[Block, ...]:
        """See `Composer`: the key as it is, and one column a level."""
        made, at = [Block(0, slice(0, 1), "numeric")], 1
        for j in range(1, schema.d):
            size = int(schema.n_levels[j])
            made.append(Block(j, slice(at, at + size), "levels"))
            at += size
        return tuple(made)

    def composite(self, code: Any, schema: Schema) -> Any:
        """See `Composer`: each number is the mean of what it may be, weighted by the code of its unit."""
        torch = require("torch", extra="torch")
        contents, which = things_of(code[:, :1].detach().cpu().numpy(), schema)
        parts = [self.parts(content) for content in contents]
        source = np.stack([np.concatenate([part.fills, part.values[None]]) for part in parts])
        label = torch.as_tensor(np.stack([part.label for part in parts])[which], device=code.device)
        weight = code[:, 1:].reshape(len(code), schema.d - 1, -1)
        share = torch.take_along_dim(weight, label[:, :, None], dim=1)  # (m, P, L + 1)
        choices = torch.as_tensor(source, dtype=code.dtype, device=code.device).transpose(1, 2)
        return (share * choices[torch.as_tensor(which, device=code.device)]).sum(2)


@dataclass
class PlainArrays:
    """Rows that are the numbers of an array themselves. low, high: the least and the greatest."""

    shape: tuple[int, ...]
    low: float
    high: float

    def compose(self, rows: Floats, schema: Schema) -> Floats:
        """See `Composer`."""
        return rows

    def blocks(self, schema: Schema) -> tuple[Block, ...]:
        """See `Composer`."""
        middle, scale = (self.low + self.high) / 2, (self.high - self.low) / 4
        return tuple(Block(j, slice(j, j + 1), "numeric", middle, scale) for j in range(schema.d))

    def composite(self, code: Any, schema: Schema) -> Any:
        """See `Composer`."""
        return code * ((self.high - self.low) / 4) + (self.low + self.high) / 2


def plain_schema(names: Sequence[str], low: float, high: float, whole: bool = False) -> Schema:
    """Return the schema of rows that are the numbers of arrays. whole: what changes becomes a whole number."""
    if whole:
        made = [Feature(name=name, kind="integer", low=np.ceil(low), high=np.floor(high)) for name in names]
    else:
        made = [Feature(name=name, kind="real", low=low, high=high) for name in names]
    schema = Schema(tuple(made))
    vars(schema)["warned_of_acts"] = True  # no number of an array is a person's age
    return schema


class ArrayModel:
    """A model of arrays: a scikit-learn classifier on flattened arrays, a torch module, or a function.

    units: how a row becomes an array. classes: of a function or a module, its labels in column order. channels: the
    axis that holds channels, which a torch module has first; None: there is one channel and no axis. flat: an estimator
    takes flattened arrays; else arrays as they are.
    """

    def __init__(
        self,
        model: Any,
        units: Composer,
        classes: Sequence[Any] | None = None,
        channels: Literal["first", "last"] | None = None,
        flat: bool = True,
    ) -> None:
        self.model, self.units, self.channels, self.flat = model, units, channels, flat
        self.classes = listed(classes)

    def with_units(self, units: Composer) -> ArrayModel:
        """Return the same model behind other units."""
        return ArrayModel(self.model, units, self.classes, self.channels, self.flat)

    def __repr__(self) -> str:
        return f"ArrayModel({type(self.model).__name__})"

    def shaped(self, flat: Any) -> Any:
        """(m, P) array or tensor -> (m, *shape), or (m, channels, ...) as a torch module has it."""
        made = flat.reshape(-1, *self.units.shape)
        if library_of(self.model) != _TORCH or self.channels == "first":
            return made
        if self.channels is None:
            return made[:, None]
        order = (0, made.ndim - 1, *range(1, made.ndim - 1))
        return made.permute(*order) if hasattr(made, "permute") else made.transpose(order)


_TORCH = "torch.nn.modules.module.Module"


def adapt(given: ArrayModel, schema: Schema, options: WrapOptions) -> Adapted:
    """See `ArrayModel`. Raises: ModelError."""
    model, units = given.model, given.units
    options = WrapOptions(f"The model {type(model).__name__}", classes=given.classes)

    def arrays(rows: Floats) -> Any:
        return given.shaped(units.compose(rows, schema))

    if library_of(model) == _TORCH:
        return _of_module(given, schema, options, arrays)
    if hasattr(model, "predict") and given.flat:
        return _of_estimator(given, schema, options)
    what = f"{'x'.join(map(str, units.shape))} arrays"
    size = ", ".join(map(str, units.shape))
    advice = f"Give a fitted classifier, a torch module, or a function of (m, {size}) arrays that gives probabilities."
    if hasattr(model, "predict"):
        return _of_whole(given, arrays, schema, options, what, advice)
    made = of_function(model, arrays, schema, options, what, advice)
    return replace(made, predict=_piecewise(made.predict, size_of(units)))


def size_of(units: Composer) -> int:
    """Return how many numbers an array has."""
    return int(np.prod(units.shape))


def _piecewise(
    ask: Callable[[Floats], tuple[Floats, Ints]], size: int
) -> Callable[[Floats], tuple[Floats, Ints]]:
    """Ask about rows (m, d) in pieces whose arrays, of `size` numbers each, fit in memory together."""
    step = max(1, _AT_ONCE // size)

    def predict(rows: Floats) -> tuple[Floats, Ints]:
        starts = range(0, max(len(rows), 1), step)
        outputs, labels = zip(*(ask(rows[begin : begin + step]) for begin in starts), strict=True)
        return np.concatenate(outputs), np.concatenate(labels)

    return predict


def _of_whole(
    given: ArrayModel,
    arrays: Callable[[Floats], Any],
    schema: Schema,
    options: WrapOptions,
    what: str,
    advice: str,
) -> Adapted:
    """An estimator that takes arrays as they are: it says the label, its probabilities alone are the fast path."""
    model = given.model
    if not hasattr(model, "predict_proba"):
        raise ModelError(f"{options.name} has no predict_proba. {advice}")
    classes = options.classes if options.classes is not None else tuple(np.asarray(model.classes_).tolist())
    made = of_function(model.predict_proba, arrays, schema, replace(options, classes=classes), what, advice)
    likely = _piecewise(made.predict, size_of(given.units))

    def labelled(rows: Floats) -> tuple[Floats, Ints]:
        labels = safely(lambda: model.predict(arrays(rows)), options.name, what, advice)
        return made.predict(rows)[0], label_indices(labels, classes, options.name)

    predict = _piecewise(labelled, size_of(given.units))
    return replace(
        made, predict=predict, read=lambda: ArrayFast(lambda rows: likely(rows)[0], None), askings=2
    )


class ArrayNetwork(TorchNetwork):
    """A network of arrays (m, P) behind the code of rows. margin: (m, P) tensor -> (m, q) before the link."""

    def __init__(
        self, units: Composer, schema: Schema, margin: Callable[[Any], Any], link: Link, device: Any
    ) -> None:
        torch = require("torch", extra="torch")
        self.schema, self.units, self.link, self._of_arrays = schema, units, link, margin
        self.device, self.dtype = torch.device(device), torch.float64  # in which the keys of things are exact
        self.blocks = units.blocks(schema)
        self.width = self.blocks[-1].columns.stop

    def margin(self, code: Any) -> Any:
        """See `TorchNetwork.margin`."""
        return self._of_arrays(self.units.composite(code, self.schema)).to(self.dtype)


class ArrayFast(Fast):
    """A model of arrays asked about rows; differentiable where the model is."""

    kind = "arrays"

    def __init__(self, ask: Callable[[Floats], Floats], network: ArrayNetwork | None) -> None:
        self._ask, self._network = ask, network
        self.access = Access.PROBABILITY if network is None else Access.GRADIENT

    def outputs(self, x: Floats) -> Floats:
        """(m, d) -> (m, c)."""
        return self._ask(x)

    def network(self) -> ArrayNetwork | None:
        """See `Fast`."""
        return self._network


def _of_module(
    given: ArrayModel, schema: Schema, options: WrapOptions, arrays: Callable[[Floats], Any]
) -> Adapted:
    torch = require("torch", extra="torch")
    native = torch_adapter.adapt(given.model, schema, replace(options, encoder=arrays))

    def read() -> Fast:
        one = next(p for p in [*given.model.parameters(), torch.empty(0)] if p.is_floating_point())
        head = torch_adapter.ModuleHead(given.model, one.dtype)
        with torch.inference_mode():
            rows = torch.tensor(arrays(sample_rows(schema, 64)), dtype=one.dtype, device=one.device)
            probe = head(rows).double().cpu().numpy()
        link = torch_adapter.link_of(
            torch_adapter.output_kind(given.model, probe, "classification", "auto"), probe
        )
        network = ArrayNetwork(given.units, schema, lambda flat: head(given.shaped(flat)), link, one.device)
        return ArrayFast(lambda rows: native.predict(rows)[0], network)

    return replace(native, read=read)


def _of_estimator(given: ArrayModel, schema: Schema, options: WrapOptions) -> Adapted:
    units = given.units
    size = size_of(units)
    if size > MOST_NUMBERS:
        raise ModelError(
            f"{options.name} would be given rows of {size:,} numbers; up to {MOST_NUMBERS:,} are supported. Give a "
            "torch module or a function of arrays."
        )
    names = [f"value {i + 1}" for i in range(size)]
    inner = wrap(given.model, plain_schema(names, units.low, units.high))
    assert isinstance(inner, Wrapped)
    fast = inner.fast

    def composed(ask: Callable[[Floats], Any]) -> Callable[[Floats], Any]:
        return lambda rows: ask(units.compose(rows, schema))

    def read() -> Fast:
        if fast is None:
            raise NotRead("; ".join(inner.notes) or "it cannot be read")
        network: Any = inner.network
        if network is not None:
            whole = network
            network = ArrayNetwork(
                units, schema, lambda flat: whole.margin(whole.encode(flat)), whole.link, whole.device
            )
        quick = _piecewise(composed(lambda flat: (fast.outputs(flat), np.zeros(len(flat), np.int64))), size)
        return ArrayFast(lambda rows: quick(rows)[0], network)

    predict = _piecewise(composed(inner.native_path.predict), size)
    return replace(
        inner.native_path, predict=predict, read=read, decision=inner.decision, name=options.name, table=None
    )


register_adapter(f"{ArrayModel.__module__}.{ArrayModel.__qualname__}", adapt)
