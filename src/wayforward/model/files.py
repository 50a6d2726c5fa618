"""Models in files, without pickle: skops for scikit-learn, native formats for boosters, safetensors, ONNX.

A pickle can run any code when it is read, so none is ever read or written.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import zipfile
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import FileFormatError, ModelError, WriteError, is_one_of, require
from wayforward.lazy import without_packages
from wayforward.model.adapted import first_line
from wayforward.model.base import Model
from wayforward.model.catboost_checks import check_catboost
from wayforward.model.tree_checks import (
    check_estimators,
    check_lightgbm,
    check_skops_boosters,
    check_xgboost,
)
from wayforward.plain_files import as_path, name_of, written
from wayforward.public import public
from wayforward.schema import Schema

_MAX_BYTES = 1 * 2**30  # of a file, and of all that a zip unpacks to
_MAX_RATIO = 200  # unpacked bytes per packed byte that an honest model does not pass
_FORMATS = (
    ".skops (scikit-learn), .safetensors (torch), .onnx, .ubj or .json (XGBoost), .txt (LightGBM), "
    ".cbm (CatBoost)"
)

# Types beyond skops' own list that a fitted pipeline may hold. Patterns over full names: data structures and
# estimators of the libraries themselves, never functions, so that nothing of a hostile file is called.
_TRUSTED = re.compile(
    r"sklearn\.tree\._tree\.Tree|sklearn\.pipeline\.(Pipeline|FeatureUnion)"
    r"|sklearn\.ensemble\._hist_gradient_boosting\.(predictor\.TreePredictor|binning\._BinMapper"
    r"|gradient_boosting\.HistGradientBoosting(Classifier|Regressor))"
    r"|sklearn\._loss\.(_loss|link|loss)\.[A-Za-z]+"
    r"|sklearn\.(compose|impute|preprocessing|linear_model|ensemble|tree|neural_network|svm|naive_bayes|neighbors"
    r"|calibration|pipeline|feature_extraction|feature_selection|decomposition|discriminant_analysis|dummy)(\._[a-z_]+|\.text)+\.[A-Z_][A-Za-z_]*"
    r"|xgboost\.(core\.Booster|sklearn\.XGB(Classifier|Regressor))"
    r"|lightgbm\.(basic\.Booster|sklearn\.LGBM(Classifier|Regressor))"
    r"|numpy\.(dtype|ndarray|float(32|64)|int(32|64)|bool_?|str_|random\.[a-z_]*\.?[A-Z][A-Za-z0-9]+)"
    r"|collections\.(OrderedDict|defaultdict)"
)


@public
def save(model: Any, path: str | os.PathLike[str]) -> Path:
    """Write a model, wrapped or not, to a file whose ending says the format; returns the path.

    scikit-learn -> .skops; torch Sequential -> .safetensors; XGBoost -> .ubj or .json; LightGBM -> .txt;
    CatBoost -> .cbm.
    Raises: FileFormatError for an ending that does not fit the model, or for a pickle.
    Example: ``save(pipeline, "model.skops")``.
    """
    if isinstance(model, Model):
        model = model if model.wrapped is None else model.wrapped
    file = as_path(path)
    from wayforward.model.adapters import library_of

    _no_pickle(file)
    kind, ending = library_of(model).split(".")[0], file.suffix.lower()
    allowed = {
        "sklearn": (".skops",),
        "torch": (".safetensors",),
        "xgboost": (".ubj", ".json"),
        "lightgbm": (".txt",),
        "catboost": (".cbm",),
    }.get(kind)
    if allowed is None:
        raise FileFormatError(
            f"A {type(model).__name__} cannot be saved without pickle. Save a fitted estimator, a torch "
            "Sequential or a booster."
        )
    if ending not in allowed:
        raise FileFormatError(
            f"'{name_of(file)}' does not fit a {kind} model. Use the ending {' or '.join(allowed)}."
        )
    with written(file) as half:
        if kind == "sklearn":
            half.write_bytes(_skops().dumps(model))
        elif kind == "torch":
            _save_torch(model, half)
        elif kind == "lightgbm":
            half.write_text(getattr(model, "booster_", model).model_to_string(), encoding="utf-8")
        else:
            model.save_model(os.fspath(half))
            if kind == "xgboost":  # which says nothing of a disk that is full
                _check_whole(half, file)
    return file


def _check_whole(half: Path, file: Path) -> None:
    """Raises: WriteError for a model of XGBoost that was cut off when it was written."""
    try:
        check_xgboost(half.read_bytes())
    except ValueError:
        raise WriteError(
            f"'{name_of(file)}' cannot be written: it was cut off. What was there before is as it was. Make room, then "
            "do it again."
        ) from None


@public
def load(path: str | os.PathLike[str], schema: Schema, **options: Any) -> Model:
    """Read a model file and wrap it; `options` are given on to `wrap`.

    Formats by ending: see `save`, and .onnx. Nothing in the file is run: skops files are checked against a
    list of types first. Raises: FileFormatError for a pickle, a broken, hostile or oversized file; ModelError
    from wrap.
    Example: ``load("model.skops", schema)``.
    """
    from wayforward.model.wrapping import wrap

    file = _checked(path)
    ending = file.suffix.lower()
    if ending == ".onnx":
        return wrap(file, schema, **options)
    readers = {
        ".skops": _load_skops,
        ".safetensors": _load_torch,
        ".ubj": _load_xgboost,
        ".json": _load_xgboost,
        ".txt": _load_lightgbm,
        ".cbm": _load_catboost,
    }
    if ending not in readers:
        raise FileFormatError(f"'{name_of(file)}' has an ending that is not known. Use {_FORMATS}.")
    return wrap(readers[ending](file), schema, **options)


def read_estimator(path: str | os.PathLike[str]) -> Any:
    """Read a fitted scikit-learn estimator or pipeline from a .skops file, checked as `load` does.

    For kinds of data beside tables, whose problems wrap it themselves. Raises: FileFormatError.
    """
    return _load_skops(_checked(path))


def _checked(path: str | os.PathLike[str]) -> Path:
    """The file of a model. Raises: FileFormatError for a pickle, and for one that is not there or is too large."""
    file = as_path(path)
    _no_pickle(file)
    if not file.is_file():
        raise FileFormatError(f"The model file '{name_of(file)}' does not exist. Check the path.")
    if file.stat().st_size > _MAX_BYTES:
        raise FileFormatError(
            f"'{name_of(file)}' has {file.stat().st_size:,} bytes, above {_MAX_BYTES:,}. Is it a model?"
        )
    return file


def _no_pickle(file: Path) -> None:
    if file.suffix.lower() in (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".dill"):
        raise FileFormatError(
            f"'{name_of(file)}' is a pickle, which can run any code when it is read. Save the model again with "
            f"wayforward.model.save as {_FORMATS}."
        )


def _broken(file: Path, error: Exception, what: str) -> FileFormatError:
    return FileFormatError(
        f"'{name_of(file)}' cannot be read as {what}: {first_line(error).rstrip(' .')}. Check the path, or save "
        "the model again."
    )


def own_process() -> None:
    """Say that nobody else in this process uses skops, as in a command: it may start without its list of types."""
    global _OWN_PROCESS
    _OWN_PROCESS = True


_OWN_PROCESS = False


def before_threads() -> None:
    """Import what reads models while this process has no other threads yet: later torch would come with it, which takes
    seconds and some 180 MB, and pandas, which takes 64 MB.
    """
    _skops()


def before_models() -> None:
    """In a process of ours: import what reads tables and runs kernels without what they take along for other uses, such
    as pyarrow with pandas (some 35 MB; Parquet files are read all the same, and bring it then).
    """
    if _OWN_PROCESS:
        for name in ("pandas", "numba"):
            with without_packages("pyarrow", "coverage", "cffi"), suppress(ImportError):
                import_module(name)


def _skops() -> Any:
    """Return `skops.io`, imported without torch where that can be, in a process of ours without its list of types, and
    scikit-learn without pandas, which it takes to read files of a kind of data set alone.

    On import skops looks through all of scikit-learn for estimators, which takes a fifth of a second (what of them is
    trusted is known here, see `_strange`), and comes by its adapter for torch, whose import takes seconds; where torch
    is not installed it goes on without. A process with other threads, which may want either at this moment, is left as
    it is.
    """
    import scipy.special  # noqa: F401  # for whose functions skops looks in all that is imported until it has them

    alone = "skops.io" not in sys.modules and threading.active_count() == 1
    with without_packages("pandas") if alone and _OWN_PROCESS else nullcontext():
        import sklearn.utils

    listed = sklearn.utils.all_estimators
    if alone and _OWN_PROCESS:
        sklearn.utils.all_estimators = list
    try:
        with without_packages("torch") if alone else nullcontext():
            from skops import io
    finally:
        sklearn.utils.all_estimators = listed
    return io


def _strange(unknown: list[str]) -> list[str]:
    """Return the types, among those that skops does not know, that are not loaded."""
    strange = sorted(name for name in unknown if not _TRUSTED.fullmatch(name))
    if _OWN_PROCESS and any(name.startswith("sklearn.") for name in strange):
        from sklearn.utils import all_estimators

        with without_packages("torch"):
            known = {f"{kind.__module__}.{kind.__name__}" for _, kind in all_estimators()}
        strange = [name for name in strange if name not in known]
    return strange


def _load_skops(file: Path) -> Any:
    io = _skops()
    try:
        with zipfile.ZipFile(file) as archive:
            packed = sum(entry.compress_size for entry in archive.infolist())
            unpacked = sum(entry.file_size for entry in archive.infolist())
    except Exception as error:  # a version to come is a NotImplementedError
        raise _broken(file, error, "a skops file") from None
    if unpacked > _MAX_BYTES or unpacked > _MAX_RATIO * max(packed, 4096):
        raise FileFormatError(
            f"'{name_of(file)}' unpacks from {packed:,} to {unpacked:,} bytes, which no model does. Do not use "
            "this file."
        )
    try:
        unknown = io.get_untrusted_types(file=file)
    except Exception as error:
        raise _broken(file, error, "a skops file") from None
    strange = _strange(unknown)
    if strange:
        raise FileFormatError(
            f"'{name_of(file)}' holds the type '{strange[0]}', which is not on the list of types that are "
            "loaded. If you trust the file, load it with skops yourself and give the model to wrap."
        )
    try:
        with zipfile.ZipFile(file) as archive:
            check_skops_boosters(json.loads(archive.read("schema.json")), archive.read)
        model = io.load(file, trusted=unknown)
        check_estimators(model)
    except Exception as error:
        raise _broken(file, error, "a skops file") from None
    return model


def _load_xgboost(file: Path) -> Any:
    xgboost = require("xgboost", extra="trees")
    booster = xgboost.Booster()
    try:
        booster.load_model(bytearray(check_xgboost(file.read_bytes())))
        booster.save_config()  # as when it is wrapped: now its base score is looked at, too
    except Exception as error:
        raise _broken(file, error, "an XGBoost model") from None
    return booster


def _load_lightgbm(file: Path) -> Any:
    lightgbm = require("lightgbm", extra="trees")
    content = file.read_bytes()
    if content[:4] != b"tree":
        raise FileFormatError(
            f"'{name_of(file)}' is not a LightGBM model file. Save it with booster.save_model."
        )
    try:
        text = content.decode("utf-8")
        check_lightgbm(text)
        booster = lightgbm.Booster(model_str=text)
        booster.dump_model(
            num_iteration=1
        )  # as when it is wrapped: some texts load, and cannot be told again
        return booster
    except Exception as error:
        raise _broken(file, error, "a LightGBM model") from None


def _load_catboost(file: Path) -> Any:
    catboost = require("catboost", extra="catboost")
    content = file.read_bytes()
    if content[:4] != b"CBM1":
        raise FileFormatError(
            f"'{name_of(file)}' is not a CatBoost model file. Save it with model.save_model."
        )
    try:
        check_catboost(content)
        model = catboost.CatBoost().load_model(blob=content)
        classes = getattr(model, "classes_", None)
        kind = (
            catboost.CatBoostClassifier
            if classes is not None and len(classes)
            else catboost.CatBoostRegressor
        )
        return kind().load_model(blob=content)
    except Exception as error:
        raise _broken(file, error, "a CatBoost model") from None


# -- torch: weights as safetensors, the architecture as a list of plain layers in its metadata ---------------

_LAYERS = {
    "Linear": ("in_features", "out_features"),
    "ReLU": (),
    "Tanh": (),
    "Sigmoid": (),
    "Identity": (),
    "Softmax": ("dim",),
    "Dropout": ("p",),
    "LeakyReLU": ("negative_slope",),
    "ELU": ("alpha",),
    "GELU": (),
    "SiLU": (),
    "BatchNorm1d": ("num_features",),
    "LayerNorm": ("normalized_shape",),
}


def _weight_shape(kind: str, given: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The shape of a layer's weights; None for a layer without."""
    if kind == "Linear":
        return int(given["out_features"]), int(given["in_features"])
    if kind == "BatchNorm1d":
        return (int(given["num_features"]),)
    if kind == "LayerNorm":
        return tuple(int(size) for size in np.atleast_1d(given["normalized_shape"]))
    return None


def _save_torch(module: Any, file: Path) -> None:
    torch = require("torch", extra="torch")
    safetensors = require("safetensors.torch", extra="torch")
    if type(module) is not torch.nn.Sequential:
        raise FileFormatError(
            f"A {type(module).__name__} has code of its own, which a file cannot hold. Export it to ONNX, "
            "or save a torch.nn.Sequential."
        )
    layers = []
    for layer in module:
        kind = type(layer).__name__
        if kind not in _LAYERS or type(layer).__module__.split(".")[0] != "torch":
            raise FileFormatError(
                f"The layer {kind} is not one of {', '.join(_LAYERS)}. Export the module to ONNX."
            )
        entry: dict[str, Any] = {"kind": kind}
        for key in _LAYERS[kind]:
            value = getattr(layer, key)
            entry[key] = list(value) if isinstance(value, tuple) else value
        if kind == "Linear":
            entry["bias"] = layer.bias is not None
        layers.append(entry)
    dtype = str(next(module.parameters()).dtype).removeprefix("torch.")
    weights = {name: value.detach().cpu().contiguous() for name, value in module.state_dict().items()}
    safetensors.save_file(
        weights, file, metadata={"wayforward": json.dumps({"layers": layers, "dtype": dtype})}
    )


def _load_torch(file: Path) -> Any:
    torch = require("torch", extra="torch")
    safetensors = require("safetensors", extra="torch")
    try:
        with safetensors.safe_open(os.fspath(file), framework="pt") as stream:
            metadata = stream.metadata() or {}
            weights = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
        plan = json.loads(metadata["wayforward"])
        layers = []
        for number, entry in enumerate(plan["layers"]):
            kind = entry["kind"]
            if not is_one_of(kind, _LAYERS):
                raise ValueError(f"unknown layer {kind!r}")
            given = {key: entry[key] for key in _LAYERS[kind]}
            if any(not isinstance(v, (int, float, list)) for v in given.values()):
                raise ValueError(f"layer {kind} has a setting that is not a number")
            shape = _weight_shape(kind, given)
            if shape is not None and tuple(weights[f"{number}.weight"].shape) != shape:
                raise ValueError(f"layer {kind} is not as large as its weights")
            if kind == "Linear":
                given["bias"] = bool(entry.get("bias", True))
            layers.append(getattr(torch.nn, kind)(**given))
        module = torch.nn.Sequential(*layers).to(
            getattr(torch, {"float64": "float64"}.get(plan["dtype"], "float32"))
        )
        module.load_state_dict(weights)
    except KeyError as error:
        raise FileFormatError(
            f"'{name_of(file)}' holds weights without the layers ({error} is missing). Save it with "
            "wayforward.model.save."
        ) from None
    except Exception as error:
        raise _broken(file, error, "a torch Sequential") from None
    return module.eval()


__all__ = ["ModelError", "load", "save"]
