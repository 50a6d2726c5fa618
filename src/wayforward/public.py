"""What others call: an error that escapes a public function is told as a mistake in an argument, where it is one.

Nothing is looked at before a call, so that whatever works goes on to work. When a call has failed, its arguments are
held against the signature, and the first that does not fit is named; where all of them fit, the error is ours, and it
stays as it is.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
import types
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np
from jaxtyping import AbstractArray, Float, jaxtyped

from wayforward.errors import DataError, WayforwardError, is_integer, is_list, is_real, shown

_OF_SHAPES = ("broadcast", "shape", "dimension", "index", "same length")
_OPEN = ("npt.ArrayLike", "Array", "Tensor")  # notes of what numbers are made of
_LOOKED_AT = 50  # items of a list that are held against what it should hold
_COUNTS = ("budget", "k", "m", "n", "seed")  # whole numbers of which none is below zero
_MARK = "__wayforward_public__"
_WORDS: dict[Any, str] = {
    bool: "True or False", int: "a whole number", float: "a number", str: "a text", Path: "a path",
    type(None): "None",
}  # fmt: skip
T = TypeVar("T")


def public(held: T) -> T:
    """Mark a function, or a class with its public methods, as what others call. Decorates the outermost."""
    if inspect.isclass(held):
        for name, member in list(vars(held).items()):
            if name.startswith("_") and name != "__init__":
                continue
            if isinstance(member, types.FunctionType):
                setattr(held, name, _explained(member))
            elif isinstance(member, (classmethod, staticmethod)):
                setattr(held, name, type(member)(_explained(member.__func__)))
        return held
    made: T = _explained(held)
    return made


def _explained(function: Any) -> Any:
    if getattr(function, _MARK, False) or inspect.isgeneratorfunction(function):
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except WayforwardError:
            raise
        except Exception as error:
            try:
                why = misfit(function, args, kwargs, error)
            except Exception:  # what was given cannot even be looked at
                why = None
            if why is None:
                raise
            raise DataError(why) from error

    setattr(call, _MARK, True)
    return call


def misfit(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    error: Exception | None = None,
) -> str | None:
    """Return what is wrong with the first argument that does not fit a function's signature, or None.

    error: that ended the call; where each argument fits, it tells what does not fit together.
    """
    signature = inspect.signature(function)
    name = function.__qualname__.removesuffix(".__init__")
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return None  # Python's own words name the argument
    known = _Names(function.__globals__)
    width = next((one for one in map(_width, given.values()) if one is not None), None)
    with jaxtyped("context"):  # the same letter is the same number
        for argument, value in given.items():
            parameter = signature.parameters[argument]
            if argument in ("self", "cls") or parameter.kind in (
                parameter.VAR_POSITIONAL,
                parameter.VAR_KEYWORD,
            ):
                continue
            if parameter.default is value:
                continue
            hint = _hint(parameter.annotation, known)
            count = argument in _COUNTS and is_integer(value)
            if not _fits(value, hint) or (count and value < 0) or _of_another(value, hint, width):
                alone = np.isscalar(value)  # a table would show people's rows
                what = shown(value) if alone or value is None else _kind(value)
                return (
                    f"{name}() got {argument}={what}. Give {_words(hint)}{' of 0 or more' if count else ''}."
                )
    return None if error is None else _together(name, signature.parameters, given, width, error)


def _together(
    name: str,
    notes: Mapping[str, inspect.Parameter],
    given: Mapping[str, Any],
    width: int | None,
    error: Exception,
) -> str | None:
    """Return what is wrong with arguments each of which fits: lengths that differ, what no numbers can be made of."""
    raised = str(error)
    if isinstance(error, ArithmeticError):
        numbers = [f"{key}={shown(value)}" for key, value in given.items() if is_real(value)]
        return (
            f"{name}() cannot be computed with {', '.join(numbers)}: {raised}. Give others."
            if numbers
            else None
        )
    odd = [
        f"{key}, {_kind(value)}" for key, value in given.items()
        if key != "self" and value is not notes[key].default and _is_odd(value, str(notes[key].annotation), raised)
    ]  # fmt: skip
    if odd:
        return f"{name}() cannot use {' and '.join(odd)}. Give what its signature says."
    sizes = {key: value.shape for key, value in given.items() if isinstance(value, np.ndarray)}
    apart = len({size[:1] for size in sizes.values()}) > 1 or any(
        width is not None and size[-1:] != (width,) for size in sizes.values()
    )
    if apart and any(word in raised for word in _OF_SHAPES):
        each = ", ".join(f"{key} {size}" for key, size in sizes.items())
        return f"{name}() got arrays whose shapes do not fit: {each}. Give them as the signature says."
    return None


def _is_odd(value: Any, note: str, raised: str) -> bool:
    """Whether no numbers can be made of what came, where its signature does not say what it is to be."""
    if isinstance(value, np.ndarray):
        if "used as indices" in raised or "bitwise" in raised:
            return value.dtype.kind not in "biu"
        bare = (
            value.dtype.kind not in "biuf"
            or isinstance(value, np.ma.MaskedArray)
            or not (value.ndim and value.size)
        )
        return bare and note != "Any" and "Sequence" not in note  # people may come as any kind of table
    if note in _OPEN and (isinstance(value, np.generic) or not hasattr(value, "shape")):
        return True
    if note in ("Array", "Tensor"):
        return type(value).__module__.partition(".")[0] != "torch"
    if isinstance(value, slice):
        return any(word in raised for word in _OF_SHAPES)
    return isinstance(value, complex)


def _width(value: Any) -> int | None:
    """How many features the rows have that belong to a schema, a problem or an answer."""
    found = getattr(getattr(value, "schema", value), "d", None)
    return found if isinstance(found, int) else None


def _of_another(value: Any, hint: Any, width: int | None) -> bool:
    """Whether rows of features have another number of them than the schema that came with them."""
    some = [one for one in (hint, *get_args(hint)) if inspect.isclass(one) and issubclass(one, AbstractArray)]
    rows = any(one.dim_str.split()[-1:] == ["d"] for one in some)
    return rows and width is not None and value is not None and np.shape(value)[-1] != width


class _Names(dict[str, Any]):
    """Names of a module, those that it imports for the type checker alone too."""

    def __missing__(self, name: str) -> Any:
        module = sys.modules[self["__name__"]]
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for one in node.names:
                    if (one.asname or one.name) == name:
                        return getattr(importlib.import_module(node.module), one.name)
        raise KeyError(name)


def _kind(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return f"a {type(value).__name__}" + (f" of shape {shape}" if isinstance(shape, tuple) else "")


def _hint(annotation: Any, known: Mapping[str, Any]) -> Any:
    """What an annotation means; Any where it names what is not there at run time."""
    if not isinstance(annotation, str):
        return Any if annotation is inspect.Parameter.empty else annotation
    for part in (annotation, annotation.removesuffix(" | None")):
        try:
            found = eval(part, {}, known)  # of the library's own source
        except Exception:
            continue
        return found if part == annotation else found | None
    return Any


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value fits a type hint; what cannot be told fits."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, (str, TypeVar)):
        return True
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return np.isscalar(value) and value in inner
    if hint is None or hint is type(None):
        return value is None
    if inspect.isclass(hint) and issubclass(hint, AbstractArray):
        return _is_array(value, hint)
    if hint is np.ndarray or origin is np.ndarray:
        return isinstance(value, np.ndarray) and value.ndim > 0 and value.dtype.kind not in "Oc"
    if hint is bool:
        return isinstance(value, (bool, np.bool_))
    if hint in (int, float):
        number = is_integer(value) if hint is int else is_real(value)
        return number and (abs(value) < 2**63 or value in (np.inf, -np.inf))
    if origin in (type, Callable) or (origin is not None and origin.__name__ == "Callable"):
        return callable(value)
    holds = hint if origin is None else origin
    if not inspect.isclass(holds):
        return True
    if getattr(holds, "_is_protocol", False) and not getattr(holds, "_is_runtime_protocol", False):
        return True
    held: Any = value
    try:
        if issubclass(holds, Iterable) and not issubclass(holds, (str, bytes)) and not is_list(value):
            return False
        rows = isinstance(value, np.ndarray) and holds.__name__ in ("Sequence", "Collection")
        if not rows and not isinstance(value, holds):
            return False
    except TypeError:
        return True
    if issubclass(holds, Mapping) and len(inner) == 2:
        some = list(held.items())[:_LOOKED_AT]
        return all(_fits(key, inner[0]) and _fits(one, inner[1]) for key, one in some)
    if holds is tuple and inner and inner[-1] is not Ellipsis:
        return len(held) == len(inner) and all(map(_fits, held, inner))
    if inner and issubclass(holds, Collection):
        return all(_fits(one, inner[0]) for one in list(held)[:_LOOKED_AT])
    return True


def _is_array(value: Any, hint: Any) -> bool:
    """Whether a value is an array of a shape; whole numbers are numbers, a mask is none."""
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
        return False
    if hint.dtype is Float and value.dtype.kind in "iuf":
        value = value.astype(np.float64)
    return isinstance(value, hint)


def _words(hint: Any) -> str:
    """A type hint, as an error says it."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in _WORDS:
        return _WORDS[hint]
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(_words, inner)))
    if origin is Literal:
        return f"one of {', '.join(map(repr, inner))}"
    if inspect.isclass(hint) and issubclass(hint, AbstractArray):
        kind = {"Int": "whole numbers", "Bool": "True and False"}.get(hint.dtype.__name__, "numbers")
        return f"an array of {kind}, shape ({', '.join(hint.dim_str.split())})"
    if origin is not None and origin.__name__ == "Callable":
        return "a function"
    if inner and inspect.isclass(origin):
        kind = "mapping" if issubclass(origin, Mapping) else origin.__name__.lower()
        return f"a {kind} of {', '.join(_words(one) for one in inner if one is not Ellipsis)}"
    return f"a {getattr(hint, '__name__', hint)}"


def is_public(held: Any) -> bool:
    """Whether a function is marked, or a class has marked methods."""
    return bool(getattr(held, _MARK, False)) or any(
        getattr(getattr(one, "__func__", one), _MARK, False) for one in vars(held).values()
    )


__all__ = ["is_public", "misfit", "public"]
