"""Adapters: one file a library. An adapter takes a model, the schema and `WrapOptions`, and returns an `Adapted`."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from wayforward.errors import ModelError
from wayforward.public import public

if TYPE_CHECKING:
    from wayforward.model.adapted import Adapted, WrapOptions
    from wayforward.schema import Schema

    Adapter: TypeAlias = Callable[[Any, Schema, WrapOptions], Adapted]

# library, or a type of it by its full name -> "file:function"; the first that the model's type or a base of it comes
# from. Files are imported on first use. A new adapter adds one line.
_ADAPTERS: dict[str, str | Adapter] = {
    "onnxruntime": "onnx_file:adapt",
    "torch.nn.modules.module.Module": "torch_module:adapt",
    "xgboost": "boosters:adapt_xgboost",
    "lightgbm": "boosters:adapt_lightgbm",
    "catboost": "boosters:adapt_catboost",
    "sklearn": "sklearn_estimator:adapt",
}
_PATH, _CALLABLE = "onnx_file:adapt", "function:adapt"


@public
def register_adapter(library: str, adapter: str | Adapter) -> None:
    """Let `wrap` read the models of another library: ``register_adapter("mylib", "my_package.mine:adapt")``.

    library: the package that the model's type, or a base of it, comes from, or such a type by its full name
    ("mylib.models.Booster"). adapter: the function, or where it is. It is asked before the adapters that are built
    in. `wayforward.testing.ModelContract` tests what any wrapped model promises.
    Raises: ModelError if the library is taken or the place is not 'module:function'.
    """
    if library in _ADAPTERS:
        raise ModelError(
            f"There is an adapter for '{library}' already. Name a type of it, such as '{library}.Model'."
        )
    if isinstance(adapter, str) and adapter.count(":") != 1:
        raise ModelError(f"The place of the adapter is {adapter!r}. Write it as 'module:function'.")
    builtin = dict(_ADAPTERS)
    _ADAPTERS.clear()
    _ADAPTERS.update({library: adapter, **builtin})


def library_of(model: Any) -> str:
    """Which library's adapter takes a model: a name of the table, 'path', 'sklearn' by its methods, or ''."""
    if isinstance(model, (str, os.PathLike)):
        return "path"
    types = [f"{t.__module__}.{t.__qualname__}." for t in type(model).__mro__]
    for library in _ADAPTERS:
        if any(name.startswith(f"{library}.") for name in types):
            return library
    trained = any(hasattr(model, name) for name in ("get_params", "predict_proba", "classes_"))
    return "sklearn" if trained and hasattr(model, "predict") else ""


def adapter_of(model: Any, name: str) -> Adapter:
    """The function that adapts a model. Raises: ModelError where there is none."""
    library = library_of(model)
    if not library and not callable(model):
        raise ModelError(
            f"{name} cannot be wrapped: it is no known model and not callable. Give a fitted estimator, a "
            "torch module, a booster, an ONNX file, or a function of rows."
        )
    place = _PATH if library == "path" else _ADAPTERS.get(library, _CALLABLE)
    if not isinstance(place, str):
        return place
    file, function = place.split(":")
    found: Adapter = getattr(import_module(file if "." in file else f"{__name__}.{file}"), function)
    return found
