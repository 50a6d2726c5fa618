"""Adapters of the optional libraries: torch, XGBoost, LightGBM, CatBoost and ONNX; none is imported before it
is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import FileFormatError, ModelError, require
from wayforward.model.base import Access, Native, Task, label_indices, one_hot
from wayforward.model.encoder import (
    Column,
    Encoder,
    NotRead,
    finish,
    identity,
    probe_rows,
    raw_columns,
    read,
)
from wayforward.model.fast import DenseFast, Fast, padded
from wayforward.model.forms import Link
from wayforward.model.native import OutputKind, Table, as_probabilities, level_values, trained_names
from wayforward.schema import Schema
from wayforward.shapes import Floats, Ints

_MAX_ONNX_BYTES = 2 * 2**30


def make(
    kind: str,
    model: Any,
    schema: Schema,
    *,
    task: Task,
    classes: tuple[Any, ...] | None,
    output: OutputKind,
    encoder: Any,
    frame: Any,
    prepare: Callable[[Any], Any] | None,
    name: str,
    fast: bool,
) -> tuple[Native, Fast | None, list[str]]:
    """(native, fast path or None, notes) of a model of one of the optional libraries. See `wrap`."""
    if kind == "torch":
        return _torch(model, schema, task, classes, output, encoder, frame, name, fast)
    if kind == "onnx":
        return _onnx(model, schema, task, classes, output, encoder, frame, name)
    if kind == "catboost":
        if not getattr(model, "is_fitted", lambda: True)():
            raise ModelError(f"{name} is not fitted. Call fit on training data first, then wrap it.")
    elif hasattr(model, "get_params"):
        _check_sklearn_api(model, name)
    else:
        return _booster(kind, model, schema, classes, encoder, frame, name, fast)
    from wayforward.model import wrapping

    return wrapping._sklearn(model, schema, frame, encoder, prepare, name, fast)


def _check_sklearn_api(model: Any, name: str) -> None:
    from wayforward.model.wrapping import _fitted

    if hasattr(model, "get_booster"):  # XGBoost's own word on being fitted
        try:
            model.get_booster()
        except Exception:
            raise ModelError(
                f"{name} is not fitted. Call fit on training data first, then wrap it."
            ) from None
        return
    _fitted(model, name)


def encoder_for(schema: Schema, encoder: Any, frame: Any, name: str, width: int | None, one_hot: bool) -> Any:
    """The encoding of raw rows for a model on numbers: an Encoder where it can be read, else a function.

    Without an encoder: numeric as is and levels one-hot (torch, or where the width says so), else the level
    numbers.
    """
    if encoder is None:
        as_numbers = identity(schema, level_values(schema))
        wide = _one_hot(schema)
        if width is None:
            return wide if one_hot else as_numbers
        if width == (wide if one_hot else as_numbers).width:
            return wide if one_hot else as_numbers
        for made in (as_numbers, wide):
            if width == made.width:
                return made
        raise ModelError(
            f"{name} takes {width} numbers a row; the schema has {schema.d} features, {wide.width} with one "
            "column a level. Give wrap(..., encoder=...) the transformer that its training data went through."
        )
    if not hasattr(encoder, "transform"):
        return lambda x: np.asarray(encoder(x), dtype=np.float64)
    table = Table(schema, trained_names(encoder), frame, name)
    try:
        from wayforward.model.wrapping import _named_tables

        probe = table(probe_rows(schema))
        columns = raw_columns(schema, table.order)
        if table.names is None:
            columns = [
                c if v is None else Column(feature=c.feature, table=probe[:, i])
                for i, (c, v) in enumerate(zip(columns, level_values(schema), strict=True))
            ]
        else:
            columns = _named_tables(columns, probe)
        return finish(read(encoder, columns, probe, schema)[0], schema)
    except NotRead:
        return lambda x: np.asarray(_dense(encoder.transform(table(x))), dtype=np.float64)


def _dense(values: Any) -> Any:
    return values.toarray() if hasattr(values, "toarray") else values


def _one_hot(schema: Schema) -> Encoder:
    columns = []
    for j in range(schema.d):
        if not schema.has_levels[j]:
            columns.append(Column(feature=j))
            continue
        count = int(schema.n_levels[j])
        for k in range(count):
            table = np.zeros(count + 1)
            table[k] = 1.0
            columns.append(Column(feature=j, table=table))
    return Encoder(schema, columns)


def _encode(encoding: Any) -> Callable[[Floats], Floats]:
    return encoding.encode if isinstance(encoding, Encoder) else encoding


# -- torch -------------------------------------------------------------------------------------------------


def _torch(
    module: Any,
    schema: Schema,
    task: Task,
    classes: tuple[Any, ...] | None,
    output: OutputKind,
    encoder: Any,
    frame: Any,
    name: str,
    fast: bool,
) -> tuple[Native, Fast | None, list[str]]:
    torch = require("torch", extra="torch")
    parameters = list(module.parameters()) + list(module.buffers())
    floating = [p for p in parameters if p.is_floating_point()]
    device = parameters[0].device if parameters else torch.device("cpu")
    dtype = floating[0].dtype if floating else torch.float32
    module.eval()
    first = next((m for m in module.modules() if isinstance(m, torch.nn.Linear)), None)
    encoding = encoder_for(schema, encoder, frame, name, None if first is None else first.in_features, True)
    encode = _encode(encoding)

    def ask(x: Floats) -> Floats:
        with torch.inference_mode():
            rows = torch.as_tensor(encode(x), dtype=dtype, device=device)
            try:
                got = module(rows)
            except Exception as error:
                first_line = str(error).strip().splitlines()[0]
                raise ModelError(
                    f"{name} failed on a ({len(x)}, {rows.shape[1]}) tensor: {first_line[:200]} Without an "
                    "encoder it is given numeric features as they are and one column a level; give "
                    "wrap(..., encoder=...)."
                ) from error
        out: Floats = got.double().cpu().numpy()
        return out[:, None] if out.ndim == 1 else out

    from wayforward.model.verify import sample_rows

    probe = ask(sample_rows(schema, 64, missing=False))
    if probe.ndim != 2 or len(probe) != 64:
        raise ModelError(
            f"{name} returned shape {probe.shape} for 64 rows; (64,), (64, 1) or (64, classes) is needed."
        )
    kind = _torch_kind(module, probe, task, output)
    link: Link
    if task == "regression":
        link = "identity"
    elif kind == "probability":
        link = "probability"
    else:
        link = "logistic" if probe.shape[1] == 1 else "softmax"
    width = max(probe.shape[1], 2)
    found = () if task == "regression" else tuple(range(width)) if classes is None else classes
    if task == "classification" and len(found) != width:
        raise ModelError(
            f"{name} returns {probe.shape[1]} columns; classes has {len(found)} entries. Give {width}."
        )

    def predict(x: Floats) -> tuple[Floats, Ints]:
        out = padded(ask, x)
        if task == "regression":
            return out, np.zeros(len(x), np.int64)
        p = as_probabilities(out, kind, name)
        return p, p.argmax(axis=1)

    native = Native(
        predict, task, found, Access.GRADIENT if isinstance(encoding, Encoder) else Access.PROBABILITY, name
    )
    if task == "classification" and output == "auto":
        native.notes.append(f"outputs are read as {'probabilities' if kind == 'probability' else 'logits'}")
    if not isinstance(encoding, Encoder):
        return native, None, ["no fast path: the encoder cannot be read column by column"]
    head = TorchHead(encoding, module, link, device, dtype, lambda x: predict(x)[0])
    if not fast:
        return native, None, ["fast=False: the wrapped object answers every question"]
    dense = _read_sequential(module, encoding, link, torch)
    if dense is not None:
        return native, dense, []
    return native, head, []


def _torch_kind(module: Any, probe: Floats, task: Task, output: OutputKind) -> str:
    if output in ("probability", "logit"):
        return str(output)
    if task == "regression":
        return "value"
    last = [m for m in module.modules() if not list(m.children())][-1:]
    if last and type(last[0]).__name__ in ("Sigmoid", "Softmax"):
        return "probability"
    if last and type(last[0]).__name__ == "Linear":
        return "logit"
    inside = bool(((probe >= 0) & (probe <= 1)).all())
    sums = probe.shape[1] == 1 or bool(np.allclose(probe.sum(axis=1), 1.0, atol=1e-4))
    return "probability" if inside and sums else "logit"


class TorchHead(Fast):
    """A torch module that stays one: asked in padded chunks, differentiable through its network."""

    kind = "torch"

    def __init__(self, encoder: Encoder, module: Any, link: Link, device: Any, dtype: Any, ask: Any) -> None:
        self.encoder, self.module, self.link = encoder, module, link
        self.device, self.dtype, self._ask = device, dtype, ask

    def outputs(self, x: Floats) -> Floats:
        """(m, d) -> (m, c)."""
        out: Floats = self._ask(x)
        return out

    def network(self) -> Any:
        """The module as a TorchNetwork."""
        from wayforward.model.network import TorchNetwork

        def head(encoded: Any) -> Any:
            got = self.module(encoded.to(self.dtype))
            return got[:, None] if got.ndim == 1 else got

        return TorchNetwork(self.encoder, head, self.link, device=self.device, dtype=self.dtype)


def _read_sequential(module: Any, encoder: Encoder, link: Link, torch: Any) -> Any:
    """A plain stack of Linear layers and activations as a DenseFast; None for anything else."""
    if type(module) is not torch.nn.Sequential:
        return None
    names = {"ReLU": "relu", "Tanh": "tanh", "Sigmoid": "logistic"}
    weights: list[Floats] = []
    biases: list[Floats] = []
    activations: list[str] = []
    end: Link = link
    layers = [m for m in module if type(m).__name__ not in ("Identity", "Dropout")]
    for i, layer in enumerate(layers):
        kind = type(layer).__name__
        if kind == "Linear":
            weights.append(layer.weight.detach().double().cpu().numpy().T)
            bias = layer.bias
            biases.append(
                np.zeros(layer.out_features) if bias is None else bias.detach().double().cpu().numpy()
            )
            activations.append("identity")
        elif (
            i == len(layers) - 1
            and kind == "Sigmoid"
            and weights
            and weights[-1].shape[1] == 1
            and link == "probability"
        ):
            end = "logistic"
        elif i == len(layers) - 1 and kind == "Softmax" and layer.dim in (1, -1) and link == "probability":
            end = "softmax"
        elif kind in names and weights and activations[-1] == "identity":
            activations[-1] = names[kind]
        else:
            return None
    if not weights or weights[0].shape[0] != encoder.width:
        return None
    return DenseFast(encoder, weights, biases, activations, end)


# -- boosters ----------------------------------------------------------------------------------------------


def _booster(
    kind: str, booster: Any, schema: Schema, classes: Any, encoder: Any, frame: Any, name: str, fast: bool
) -> tuple[Native, Fast | None, list[str]]:
    from wayforward.model.tree_readers import read_trees
    from wayforward.model.trees import ForestFast

    names = trained_names(booster)
    if kind == "xgboost":
        xgboost = require("xgboost", extra="trees")
        width = booster.num_features()
        objective = _xgb_objective(booster)
    else:
        width = booster.num_feature()
        objective = str(booster.dump_model(num_iteration=1).get("objective", "")).split(" ")[0]
    if encoder is None and names is not None:
        table = Table(schema, names, "dict", name)  # an error where a name is not in the schema
        columns = [identity(schema, level_values(schema)).columns[j] for j in table.order]
        encoding: Any = Encoder(schema, columns)
    else:
        encoding = encoder_for(schema, encoder, frame, name, width, False)
    encode = _encode(encoding)
    classifier = objective.startswith(("binary", "multi", "softmax"))

    def ask(x: Floats) -> Floats:
        rows = encode(x)
        if kind == "xgboost":
            got = booster.predict(xgboost.DMatrix(rows, feature_names=names, nthread=1))
        else:
            got = booster.predict(rows, num_threads=1)
        return np.asarray(got, np.float64)

    if not classifier:
        native = Native(
            lambda x: (ask(x).reshape(len(x), -1), np.zeros(len(x), np.int64)),
            "regression",
            (),
            Access.PROBABILITY,
            name,
        )
    else:
        first = ask(probe_rows(schema)[:1])
        if objective == "multi:softmax":
            raise ModelError(
                f"{name} returns labels only (multi:softmax). Train it with multi:softprob, then wrap it."
            )
        count = first.shape[1] if first.ndim == 2 else 2
        found = tuple(range(count)) if classes is None else classes

        def predict(x: Floats) -> tuple[Floats, Ints]:
            p = as_probabilities(ask(x), "probability", name)
            return p, p.argmax(axis=1)

        native = Native(predict, "classification", found, Access.PROBABILITY, name)
    if not fast or not isinstance(encoding, Encoder):
        return (
            native,
            None,
            ["no fast path was asked for" if not fast else "no fast path: the encoder is a function"],
        )
    try:
        return native, ForestFast(encoding, read_trees(booster)), []
    except NotRead as error:
        return native, None, [f"no fast path: {error}"]


def _xgb_objective(booster: Any) -> str:
    import json

    return str(json.loads(booster.save_config())["learner"]["objective"]["name"])


# -- ONNX --------------------------------------------------------------------------------------------------


def onnx_session(path: Any) -> Any:
    """Open an ONNX file with one thread. Raises: FileFormatError, MissingExtra."""
    runtime = require("onnxruntime", extra="onnx")
    file = Path(os.fspath(path))
    if file.suffix.lower() in (".pkl", ".pickle", ".joblib"):
        raise FileFormatError(
            f"'{file.name}' is a pickle, which can run any code when it is read. Save the model with "
            "wayforward's save, with skops or as ONNX, and load that."
        )
    if file.suffix.lower() != ".onnx":
        raise FileFormatError(
            f"'{file.name}' is not an ONNX file. Open other files with wayforward.model.load."
        )
    if not file.is_file():
        raise FileFormatError(f"The model file '{file.name}' does not exist. Check the path.")
    if file.stat().st_size > _MAX_ONNX_BYTES:
        raise FileFormatError(f"'{file.name}' is larger than {_MAX_ONNX_BYTES:,} bytes. Is it an ONNX model?")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(file.read_bytes(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise FileFormatError(
            f"'{file.name}' cannot be read as ONNX: {first[:200]} Export the model again."
        ) from None


_NUMBERS = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}


def _onnx(
    model: Any,
    schema: Schema,
    task: Task,
    classes: tuple[Any, ...] | None,
    output: OutputKind,
    encoder: Any,
    frame: Any,
    name: str,
) -> tuple[Native, Fast | None, list[str]]:
    session = onnx_session(model) if isinstance(model, (str, os.PathLike)) else model
    inputs = session.get_inputs()
    feed = _onnx_feed(inputs, schema, encoder, frame, name)

    def run(x: Floats) -> list[Any]:
        try:
            return list(session.run(None, feed(x)))
        except Exception as error:
            first_line = str(error).strip().splitlines()[0]
            raise ModelError(
                f"{name} failed on {len(x)} rows: {first_line[:200]} Check its inputs."
            ) from error

    outputs = session.get_outputs()
    from wayforward.model.verify import sample_rows

    first = run(sample_rows(schema, 2, missing=False))
    if task == "regression":

        def value(x: Floats) -> tuple[Floats, Ints]:
            return padded(
                lambda rows: np.asarray(run(rows)[0], np.float64).reshape(len(rows), -1), x
            ), np.zeros(len(x), np.int64)

        return (
            Native(value, "regression", (), Access.PROBABILITY, name),
            None,
            ["onnxruntime answers every question"],
        )
    scores = next((i for i, got in enumerate(first) if _is_scores(got)), None)
    labels = next((i for i, got in enumerate(first) if i != scores and _is_labels(got)), None)
    if scores is None:
        if labels is None:
            raise ModelError(
                f"{name} has outputs {[o.name for o in outputs]}; none is a label or a score. Export again."
            )
        if classes is None:
            raise ModelError(f"{name} returns labels only. Give all of them: wrap(..., classes=(...)).")
        known: tuple[Any, ...] = classes

        def only_labels(x: Floats) -> tuple[Floats, Ints]:
            index = label_indices(padded(lambda rows: np.asarray(run(rows)[labels]), x), known, name)
            return one_hot(index, len(known)), index

        return Native(only_labels, "classification", known, Access.LABEL, name), None, []
    if isinstance(first[scores], list):
        found = tuple(first[scores][0]) if classes is None else classes
        pick: Callable[[Any], Floats] = lambda got: np.array(
            [[row[c] for c in found] for row in got], np.float64
        )
    else:
        width = max(np.asarray(first[scores]).reshape(2, -1).shape[1], 2)
        found = tuple(range(width)) if classes is None else classes
        pick = lambda got: np.asarray(got, np.float64).reshape(len(got), -1)
    kind = "logit" if output == "logit" else "probability"

    def predict(x: Floats) -> tuple[Floats, Ints]:
        p = as_probabilities(padded(lambda rows: pick(run(rows)[scores]), x), kind, name)
        if labels is None:
            return p, p.argmax(axis=1)
        named = padded(lambda rows: np.asarray(run(rows)[labels]), x)
        return p, label_indices(named, found, name)

    notes = ["onnxruntime answers every question; it computes in the precision that the file was exported in"]
    return Native(predict, "classification", found, Access.PROBABILITY, name), None, notes


def _is_scores(got: Any) -> bool:
    if isinstance(got, list):
        return bool(got) and isinstance(got[0], dict)
    return np.asarray(got).dtype.kind == "f"


def _is_labels(got: Any) -> bool:
    return not isinstance(got, list) and np.asarray(got).dtype.kind in "iuOUSb"


def _onnx_feed(
    inputs: Any, schema: Schema, encoder: Any, frame: Any, name: str
) -> Callable[[Floats], dict[str, Any]]:
    if len(inputs) == 1 and inputs[0].type in _NUMBERS:
        width = (
            inputs[0].shape[1] if len(inputs[0].shape) == 2 and isinstance(inputs[0].shape[1], int) else None
        )
        encode = _encode(encoder_for(schema, encoder, frame, name, width, False))
        kind = _NUMBERS[inputs[0].type]
        return lambda x: {inputs[0].name: encode(x).astype(kind)}
    unknown = [i.name for i in inputs if i.name not in schema.names]
    if unknown:
        raise ModelError(
            f"{name} has the input '{unknown[0]}', which is not in the schema. Infer the schema from the "
            "table that the model was trained on, or export it with one input a column."
        )

    def feed(x: Floats) -> dict[str, Any]:
        columns = schema.decode(x, like="dict")
        out = {}
        for i in inputs:
            values = columns[i.name]
            if i.type in _NUMBERS:
                out[i.name] = np.asarray(values, _NUMBERS[i.type])[:, None]
            else:
                out[i.name] = np.array([str(v) for v in values.tolist()], dtype=object)[:, None]
        return out

    return feed
