"""ONNX files and onnxruntime sessions: onnxruntime answers every question."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Timer
from typing import Any

import numpy as np

from wayforward.errors import FileFormatError, ModelError, require
from wayforward.model.adapted import Adapted, WrapOptions, as_probabilities, first_line, label_indices
from wayforward.model.encoder import Encoder
from wayforward.model.fast import padded
from wayforward.model.tables import encode_with, encoder_for
from wayforward.model.verify import sample_rows
from wayforward.plain_files import name_of
from wayforward.schema import Schema
from wayforward.shapes import Floats

_MAX_BYTES = 2 * 2**30
_PATIENCE = 120.0  # seconds for the first two rows: a loop in the file may have no end


def adapt(model: Any, schema: Schema, options: WrapOptions) -> Adapted:
    """A file or a session; its outputs are looked at on two rows. Raises: ModelError, FileFormatError, MissingExtra."""
    name = options.name
    session = onnx_session(model) if isinstance(model, (str, os.PathLike)) else model
    feed = _feed(session.get_inputs(), schema, options)

    def run(x: Floats) -> list[Any]:
        given = feed(x)
        try:
            return list(session.run(None, given))
        except Exception as error:
            raise ModelError(
                f"{name} failed on {len(x)} rows: {first_line(error).rstrip(' .')}. Check its inputs."
            ) from error

    def output(i: int, pick: Callable[[Any], np.ndarray]) -> Callable[[Floats], np.ndarray]:
        return lambda x: padded(lambda rows: pick(run(rows)[i]), x)

    with _ended_in_time(name) as limit:
        first = list(session.run(None, feed(sample_rows(schema, 2, missing=False)), limit))
    if options.task == "regression":
        native = Adapted.of_values(output(0, _as_columns), name)
        native.notes.append("onnxruntime answers every question")
        return native
    scores = next((i for i, got in enumerate(first) if _is_scores(got)), None)
    labels = next((i for i, got in enumerate(first) if i != scores and _is_labels(got)), None)
    named = None if labels is None else output(labels, np.asarray)
    if scores is None:
        if named is None:
            outputs = [o.name for o in session.get_outputs()]
            raise ModelError(f"{name} has outputs {outputs}; none is a label or a score. Export again.")
        if options.classes is None:
            raise ModelError(f"{name} returns labels only. Give all of them: wrap(..., classes=(...)).")
        return Adapted.of_labels(named, options.classes, name)
    if isinstance(first[scores], list):
        keys = tuple(first[scores][0])
        found = options.classes_of(len(keys), keys)
        scored = output(scores, lambda got: np.array([[row[c] for c in found] for row in got], np.float64))
    else:
        found = options.classes_of(_as_columns(first[scores]).shape[1])
        scored = output(scores, _as_columns)
    kind = "logit" if options.output == "logit" else "probability"
    native = Adapted.of_probabilities(lambda x: as_probabilities(scored(x), kind, name), found, name)
    if named is not None:
        most_likely = native.predict
        native.predict = lambda x: (most_likely(x)[0], label_indices(named(x), found, name))
        native.decision = None
    native.notes.append(
        "onnxruntime answers every question; it computes in the precision that the file was exported in"
    )
    return native


@contextmanager
def _ended_in_time(name: str) -> Iterator[Any]:
    """Options of a run that ends it when it takes too long. Raises: ModelError, also for a run that fails."""
    limit, late = require("onnxruntime", extra="onnx").RunOptions(), Event()

    def end() -> None:
        late.set()
        limit.terminate = True

    watch = Timer(_PATIENCE, end)
    watch.daemon = True
    watch.start()
    try:
        yield limit
    except Exception as error:
        why = (
            f"has no answer to two rows after {_PATIENCE:g} seconds."
            if late.is_set()
            else f"failed: {first_line(error)}"
        )
        raise ModelError(f"{name} {why} Check its inputs and its loops.") from error
    finally:
        watch.cancel()


def _as_columns(got: Any) -> Floats:
    return np.asarray(got, np.float64).reshape(len(got), -1)


def onnx_content(model: Any, name: str) -> bytes:
    """The bytes of an ONNX file or of a session's model. Raises: ModelError, FileFormatError."""
    if isinstance(model, (str, os.PathLike)):
        return _content(model)
    content, path = getattr(model, "_model_bytes", None), getattr(model, "_model_path", None)
    if content:
        return bytes(content)
    if path is None:
        raise ModelError(f"{name} does not show what it was made of. Wrap the path of the ONNX file instead.")
    return _content(path)


def onnx_session(source: Any) -> Any:
    """Open an ONNX file, or its bytes, with one thread. Raises: FileFormatError, MissingExtra."""
    runtime = require("onnxruntime", extra="onnx")
    content = source if isinstance(source, bytes) else _content(source)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        what = "The content" if isinstance(source, bytes) else f"'{Path(os.fspath(source)).name}'"
        raise FileFormatError(
            f"{what} cannot be read as ONNX: {first_line(error).rstrip(' .')}. Export the model again."
        ) from None


def _content(path: Any) -> bytes:
    file = Path(os.fspath(path))
    if file.suffix.lower() in (".pkl", ".pickle", ".joblib"):
        raise FileFormatError(
            f"'{name_of(file)}' is a pickle, which can run any code when it is read. Save the model with "
            "wayforward's save, with skops or as ONNX, and load that."
        )
    if file.suffix.lower() != ".onnx":
        raise FileFormatError(
            f"'{name_of(file)}' is not an ONNX file. Open other files with wayforward.model.load."
        )
    if not file.is_file():
        raise FileFormatError(f"The model file '{name_of(file)}' does not exist. Check the path.")
    if file.stat().st_size > _MAX_BYTES:
        raise FileFormatError(f"'{name_of(file)}' is larger than {_MAX_BYTES:,} bytes. Is it an ONNX model?")
    return file.read_bytes()


_NUMBERS = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}
_WHOLE = ("tensor(int64)", "tensor(int32)")


def _is_scores(got: Any) -> bool:
    if isinstance(got, list):
        return bool(got) and isinstance(got[0], dict)
    return np.asarray(got).dtype.kind == "f"


def _is_labels(got: Any) -> bool:
    return not isinstance(got, list) and np.asarray(got).dtype.kind in "iuOUSb"


def _feed(inputs: Any, schema: Schema, options: WrapOptions) -> Callable[[Floats], dict[str, Any]]:
    """What the session is given: one array of numbers, or one column a feature."""
    if len(inputs) == 1 and inputs[0].type in _NUMBERS:
        width = (
            inputs[0].shape[1] if len(inputs[0].shape) == 2 and isinstance(inputs[0].shape[1], int) else None
        )
        encoding = encoder_for(schema, options, width, one_hot=False)
        encode, of = encode_with(encoding), [inputs[0].name]
        if options.encoder is None and isinstance(encoding, Encoder):
            of = [schema.names[column.feature] for column in encoding.columns]
            _check_whole(dict.fromkeys(of, inputs[0]), schema, options.name)
        cast = _cast(inputs[0], of, options.name)
        return lambda x: {inputs[0].name: cast(encode(x))}
    unknown = [i.name for i in inputs if i.name not in schema.names]
    if unknown:
        raise ModelError(
            f"{options.name} has the input '{unknown[0]}', which is not in the schema. Infer the schema from the "
            "table that the model was trained on, or export it with one input a column."
        )
    _check_whole({i.name: i for i in inputs}, schema, options.name)
    casts = {i.name: _cast(i, [i.name], options.name) for i in inputs if i.type in _NUMBERS}

    def feed(x: Floats) -> dict[str, Any]:
        columns = schema.decode(x, like="dict")
        out = {}
        for i in inputs:
            values = columns[i.name]
            if i.name in casts:
                out[i.name] = casts[i.name](np.asarray(values, np.float64)[:, None])
            else:
                out[i.name] = np.array([str(v) for v in values.tolist()], dtype=object)[:, None]
        return out

    return feed


def _check_whole(inputs: dict[str, Any], schema: Schema, name: str) -> None:
    """Refuse inputs of whole numbers for features, by name, that may have fractions."""
    for column, given in inputs.items():
        feature = schema.features[schema.index(column)]
        if given.type in _WHOLE and not feature.has_levels and feature.kind != "integer":
            raise ModelError(
                f"{name} takes whole numbers for '{column}', whose values may have fractions; they would be cut off. "
                "Export the model with a float input for it, or make it kind='integer' in the schema."
            )


def _cast(given: Any, columns: list[str], name: str) -> Callable[[Floats], np.ndarray]:
    """(m, width) numbers as an input's type; where it is whole, what a cast would cut off is refused by its column."""
    kind = _NUMBERS[given.type]
    if given.type not in _WHOLE:
        return lambda values: values.astype(kind)
    most = 2.0**31 if given.type == "tensor(int32)" else 2.0**63

    def whole(values: Floats) -> np.ndarray:
        wrong = ~((values == np.round(values)) & (np.abs(values) < most))
        if wrong.any():
            row, at = np.argwhere(wrong)[0]
            column, value = columns[at % len(columns)], values[row, at]
            raise ModelError(
                f"{name} takes whole numbers for '{column}' and cannot be given {value:g}. "
                "Export the model with a float input for it, or leave out the people who have such a value."
            )
        return values.astype(kind)

    return whole
