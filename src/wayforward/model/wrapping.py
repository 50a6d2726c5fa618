"""wrap: an adapter for every kind of model, found by type without importing what is not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from wayforward.deadline import Pace
from wayforward.devices import device_of
from wayforward.errors import ModelError, is_whole, shown
from wayforward.model.adapted import (
    SINGLE,
    Adapted,
    OutputKind,
    WrapOptions,
    labelled,
    labels_in,
    without_warnings,
)
from wayforward.model.adapters import adapter_of, library_of
from wayforward.model.adapters.onnx_file import onnx_content, onnx_session
from wayforward.model.askings import check_steady, often
from wayforward.model.base import Access, Counter, Decision, Model, Scorer, Task, single_valued
from wayforward.model.encoder import NotRead
from wayforward.model.fast import DenseFast, Fast
from wayforward.model.forms import BoxBounds, DenseForm, FlatForest, LinearForm, Network, Rivals
from wayforward.model.rounding import DOUBLE_UNIT, SINGLE_UNIT
from wayforward.model.verify import check_missing, compared_rows, disagreement, find_decision
from wayforward.portable import Portable
from wayforward.public import public
from wayforward.schema import Schema
from wayforward.shapes import Floats, Ints, Mask

_TABLES = ("pandas", "polars", "pyarrow", "dict")
_MOST_ROWS = 1_000_000  # that a batch is padded to


@dataclass
class LabelFast(Fast):
    """A model that is asked for its own label, as outputs of which the label's is the largest. See `labelled`."""

    native: Adapted
    kind = "label"

    def outputs(self, x: Floats) -> Floats:
        """(m, d) -> (m, c)."""
        return labelled(*self.native.predict(x))


class Wrapped(Portable, Model):
    """A model made of the object itself (native) and, where it could be read and verified, a fast path."""

    def __init__(
        self,
        wrapped: Any,
        schema: Schema,
        options: WrapOptions,
        native: Adapted,
        fast: Fast | None,
        decision: Decision,
    ) -> None:
        super().__init__()
        self.wrapped, self.schema, self.options = wrapped, schema, options
        self.decision = decision
        self.native_path, self.fast = native, fast
        self.task, self.classes, self.name = native.task, native.classes, native.name
        self.access = native.access if fast is None else max(native.access, fast.access)
        self.notes += native.notes
        self.askings = native.askings
        self.device: str | None = None  # where torch evaluates the fast path
        self._network: Network | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the object itself and how it was wrapped. Raises: ModelError for an ONNX session without its bytes."""
        fast = "label" if isinstance(self.fast, LabelFast) else self.fast is not None
        state = vars(self) | {"fast": fast, "counter": Counter(), "_network": None, "_memory": None}
        del state["native_path"]
        state["steps_read"] = self.native_path.steps_read
        if library_of(self.wrapped) in ("path", "onnxruntime"):
            state["onnx"] = onnx_content(self.wrapped, self.name)
            state["wrapped"] = self.wrapped if isinstance(self.wrapped, (str, os.PathLike)) else None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Adapt and read the object again, as `wrap` did; what was verified then is not verified again."""
        fast, content, steps_read = state.pop("fast"), state.pop("onnx", None), state.pop("steps_read")
        vars(self).update(state)
        model = self.wrapped if content is None else onnx_session(content)
        if self.wrapped is None:
            self.wrapped = model
        self.native_path = _adapted(model, self.schema, self.options)
        self.fast = _read(self.native_path) if fast is True or steps_read else None
        if steps_read:
            self.native_path = _through_encoder(self.native_path, self.fast, None)
        if fast == "label":
            self.fast = LabelFast(self.native_path)
        if self.device is not None and isinstance(self.fast, DenseFast):
            self.fast = _on_device(self.fast, self.device)

    def _handed(self, m: int, native: bool) -> tuple[int, int]:
        size = self.native_path.batch if native or not self.has_fast_path else None
        often = self.native_path.askings
        calls = 1 if size is None else -(-m // size)
        return (m if size is None else calls * size) * often, calls * often

    def _outputs(self, x: Floats) -> Floats:
        return self.native_path.predict(x)[0] if self.fast is None else self.fast.outputs(x)

    def _native(self, x: Floats) -> tuple[Floats, Ints]:
        return self.native_path.predict(x)

    def specialise(self, x: Floats, free: Mask) -> Scorer:
        """See Model.specialise."""
        default = Scorer(self)
        return default if self.fast is None else self.fast.specialise(x, free, default)

    def by_label(self) -> Model:
        """See Model.by_label."""
        if self.decision.by_output:
            return self
        other = copy(self)  # counts together with the model itself
        other.fast, other.access, other.decision = (
            LabelFast(self.native_path),
            Access.PROBABILITY,
            Decision(exact=False),
        )
        return other

    def on(self, device: str) -> Model:
        """See Model.on."""
        if not isinstance(self.fast, DenseFast):
            return super().on(device)
        other = copy(self)  # counts together with the model itself
        other.device, other.fast = device, _on_device(self.fast, device)
        difference = disagreement(other.fast, self.native_path, self.schema, None, self.decision)
        if difference:
            raise ModelError(f"{self.name} does not answer on '{device}' as it does itself: {difference}.")
        return other

    @property
    def has_fast_path(self) -> bool:
        """See Model.has_fast_path."""
        return self.fast is not None and not isinstance(self.fast, LabelFast)

    @property
    def linear(self) -> LinearForm | None:
        """See Model.linear."""
        return None if self.fast is None else self.fast.linear()

    @property
    def single_index(self) -> LinearForm | None:
        """See Model.single_index."""
        return None if self.fast is None else self.fast.single_index()

    def rivals(self, x: Floats, value: Floats) -> Rivals | None:
        """See Model.rivals."""
        return None if self.fast is None else self.fast.rivals(x, value)

    @property
    def dense(self) -> DenseForm | None:
        """See Model.dense."""
        return None if self.fast is None else self.fast.dense()

    @property
    def forest(self) -> FlatForest | None:
        """See Model.forest."""
        return None if self.fast is None else self.fast.forest()

    def forget_inside(self) -> None:
        """See Model.forget_inside."""
        if self.fast is not None:
            self.fast.forget()

    @property
    def network(self) -> Network | None:
        """See Model.network."""
        if self._network is None and self.fast is not None:
            self._network = self.fast.network()
        return self._network

    def thresholds(self) -> list[Floats] | None:
        """See Model.thresholds."""
        return None if self.fast is None else self.fast.thresholds()

    @property
    def bounded(self) -> bool:
        """See Model.bounded."""
        return self.fast is not None and self.fast.bounded

    @property
    def listed(self) -> Ints:
        """See Model.listed."""
        return super().listed if self.fast is None else self.fast.listed

    def margin_bounds(
        self, low: Floats, high: Floats, levels: Mapping[int, Mask] | None = None
    ) -> tuple[Floats, Floats] | None:
        """See Model.margin_bounds."""
        found = self._bounds(low, high, levels, DOUBLE_UNIT)
        if found is None or (np.isinf(found.least) & np.isinf(found.most)).all():
            return None
        return found.least, found.most

    def box_bounds(
        self, low: Floats, high: Floats, levels: Mapping[int, Mask] | None = None
    ) -> BoxBounds | None:
        """See Model.box_bounds."""
        found = self._bounds(low, high, levels, self._unit)
        if found is None:
            return None
        if not self.decision.exact:  # its label may follow from what its outputs leave out
            alone = single_valued(np.asarray(low), np.asarray(high), {} if levels is None else levels)
            found = found._replace(constant=np.asarray(alone.all(axis=1)))
        least, most = self._promised(found.least, found.most)
        return found._replace(least=least, most=most)

    def bounds_at(self, margin: Floats) -> tuple[Floats, Floats] | None:
        """See Model.bounds_at."""
        found = None if self.fast is None else self.fast.around(margin, margin, self._unit)
        return None if found is None else self._promised(*found)

    @property
    def _unit(self) -> float:
        return SINGLE_UNIT if self.native_path.tolerance >= SINGLE else DOUBLE_UNIT

    def _promised(self, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """Widen bounds by what the object's arithmetic may be off."""
        room = self.native_path.tolerance
        if self.task == "regression":
            return least - room * np.maximum(np.abs(least), 1.0), most + room * np.maximum(np.abs(most), 1.0)
        return least - room, most + room

    def _bounds(
        self, low: Floats, high: Floats, levels: Mapping[int, Mask] | None, unit: float
    ) -> BoxBounds | None:
        if self.fast is None:
            return None
        low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
        return self.fast.bounds(low, high, {} if levels is None else levels, unit)


@public
def wrap(
    model: Any,
    schema: Schema,
    *,
    task: Task = "classification",
    classes: Any = None,
    output: OutputKind = "auto",
    takes: str = "auto",
    frame: Any = None,
    encoder: Any = None,
    prepare: Callable[[Any], Any] | None = None,
    verify_on: Any = None,
    fast: bool = True,
    batch_rows: int | None = None,
    random: bool = False,
) -> Model:
    """Wrap a trained model so that every method can ask it; a wrapped model comes back as it is.

    model: a fitted scikit-learn estimator or Pipeline on the raw table (or on an array in schema order), a
    torch module, an XGBoost, LightGBM or CatBoost model, a path to an ONNX file or an onnxruntime session, or
    a callable. task, classes, output: what a callable, torch or ONNX model returns: 'classification' or
    'regression'; the labels in column order; 'probability', 'label', 'logit', 'value', or 'auto' to look at
    it. takes: 'array' gives a callable (m, d) float64 in feature units with level indices; 'frame' gives a
    table; 'auto' asks once whether it takes an array. frame: table library the model was trained on ('pandas',
    'polars', 'pyarrow', or that table, whose pandas categories are then kept); None picks the first installed.
    encoder: for models trained on encoded arrays, a fitted transformer from the raw table, or a callable. prepare: a
    last function on each table. verify_on: a table or (N, d) array of further rows on which the fast path must agree
    with the model, and where it is looked for how `predict` follows from the probabilities (`Model.decision`), unless
    the model itself says so. fast=False keeps to the wrapped object alone. batch_rows: None hands a callable the rows
    in question and no others. A number hands it batches of that size, the last one filled up with copies of a row,
    for a callable whose result for a row hangs on its batch, as matrix products do in their last bits; the rows that
    fill up are counted too. Callables get arrays and tables of their own, which they may write to.
    A model is asked about a few rows twice and about one of them alone, and must answer alike. random=True: it is
    random, and asked several times about each row; its outputs are the shares of the askings that gave each label
    (the mean, in a regression), so that answers say which share of them said yes.
    Raises: ModelError that says what is wrong and what to do; MissingExtra.
    Example: ``wrap(pipeline, schema)``.
    """
    if isinstance(model, Model):
        return model
    if not isinstance(schema, Schema):
        raise ModelError(f"wrap needs a Schema; got {type(schema).__name__}. Make one: Schema.infer(table).")
    _check_arguments(locals())
    options = WrapOptions(
        _name(model), task, None if classes is None else labels_in(classes), output, takes,
        frame.head(0) if hasattr(frame, "head") else frame,  # its types, nobody's row
        encoder, prepare, batch_rows, random,
    )  # fmt: skip
    extra = None if verify_on is None else np.asarray(schema.encode(verify_on, "verification"))
    native = _adapted(model, schema, options)
    pace = Pace()
    path: Fast | None = None
    quick, notes = native, list[str]()
    if fast:
        # first steps that were read are done in the place of the object's own from here on, which take most of the time
        path, quick, notes = _readable(native, schema, extra)
    elif native.read:
        notes = ["fast=False: the wrapped object answers every question"]
    check_missing(quick, schema)
    if not random:
        check_steady(quick, schema, pace)
    decision, note = native.decision, ""
    if decision is None:
        decision, note = find_decision(quick, schema, extra)
    elif own := decision.describe(native.classes):
        note = f"{options.name} {own} (its own setting)"
    if path is not None and (difference := _difference(path, quick, schema, extra, decision)):
        path, notes = None, [difference]
        if quick is not native and not random:
            check_steady(native, schema, pace)
    if path is not None:
        native = quick
    made = Wrapped(model, schema, options, native, path, decision)
    made.notes += [note, *notes] if note else notes
    made.paces = made.paces[0], pace
    if extra is not None:
        native.predict(extra[:8])
    return made


_KNOWN = {
    "task": get_args(Task),
    "output": get_args(OutputKind),
    "takes": ("auto", "array", "frame", "numbered"),
    "fast": (True, False),
    "random": (True, False),
}


def _check_arguments(given: Mapping[str, Any]) -> None:
    """Raises: ModelError for the first argument of `wrap` that is none."""
    for argument, known in _KNOWN.items():
        value = given[argument]
        if not any(value is one or (isinstance(value, str) and value == one) for one in known):
            words = ", ".join(map(repr, known))
            raise ModelError(f"{argument}={shown(value)} is not known. Use one of {words}.")
    size, frame = given["batch_rows"], given["frame"]
    if size is not None and not is_whole(size, 1, _MOST_ROWS):
        raise ModelError(
            f"batch_rows={shown(size)} is no number of rows. Give 1 to {_MOST_ROWS:,}, or None for no padding."
        )
    if not (frame is None or (isinstance(frame, str) and frame in _TABLES) or hasattr(frame, "columns")):
        raise ModelError(
            f"frame={shown(frame)} is no table. Give one, or one of {', '.join(map(repr, _TABLES))}."
        )
    if hasattr(frame, "columns"):
        columns = {str(name) for name in getattr(frame, "column_names", frame.columns)}
        if columns.isdisjoint(given["schema"].names):
            raise ModelError(
                f"frame has {len(columns)} columns, and none is a feature of the schema. Give the table that the model "
                f"was trained on, or one of {', '.join(map(repr, _TABLES))}."
            )
    for argument, valid in (("encoder", hasattr(given["encoder"], "transform")), ("prepare", False)):
        value = given[argument]
        if not (value is None or callable(value) or valid):
            raise ModelError(f"{argument}={shown(value)} cannot be called. Give a function, or leave it out.")


def _adapted(model: Any, schema: Schema, options: WrapOptions) -> Adapted:
    native = adapter_of(model, options.name)(model, schema, options)
    return often(native) if options.random else native


def _on_device(fast: DenseFast, device: str) -> Fast:
    from wayforward.model.dense_torch import DenseOnDevice

    return DenseOnDevice(fast, device_of(device))


def _read(native: Adapted) -> Fast | None:
    """The fast path, None where there is none. Raises: NotRead, and whatever the object raises."""
    with without_warnings():
        return None if native.read is None else native.read()


def _readable(
    native: Adapted, schema: Schema, extra: Floats | None
) -> tuple[Fast | None, Adapted, list[str]]:
    """The fast path where the model can be read, not yet compared; the object asked through its encoder; and notes."""
    try:
        path = _read(native)
        quick = native if path is None else _through_encoder(native, path, compared_rows(path, schema, extra))
    except NotRead as why:
        return None, native, [f"no fast path: {why}"]
    except Exception as error:  # reading is a shortcut: whatever goes wrong, the model itself still answers
        return None, native, [f"no fast path: {type(error).__name__}: {error}"]
    return path, quick, []


def _difference(path: Fast, native: Adapted, schema: Schema, extra: Floats | None, decision: Decision) -> str:
    """Return why a fast path is of no use; '' where both agree."""
    try:
        difference = disagreement(path, native, schema, extra, decision)
    except ModelError:
        raise
    except Exception as error:  # such as a booster that takes its categories only as pandas has them
        return f"no fast path: {type(error).__name__}: {error}"
    return f"the fast path was dropped: {difference}" if difference else ""


def _through_encoder(native: Adapted, path: Fast | None, rows: Floats | None) -> Adapted:
    """The object asked through its fast path's encoder, if that makes the same bits of rows (m, d) as its own steps."""
    if path is None or path.first_steps is None or native.encoded is None:
        return native
    quick = native.encoded(path.first_steps, rows)
    return native if quick is None else replace(native, predict=quick, steps_read=True)


def _name(model: Any) -> str:
    if isinstance(model, (str, os.PathLike)):
        return f"The ONNX model '{os.path.basename(os.fspath(model))}'"
    if hasattr(model, "steps"):
        return (
            f"The pipeline ending in {type(model.steps[-1][1]).__name__}"
            if model.steps
            else "The empty pipeline"
        )
    label = getattr(model, "__name__", None) if not isinstance(model, type) else None
    return f"The function {label}" if label and callable(model) else f"The {type(model).__name__}"
