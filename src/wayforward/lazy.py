"""Faces of packages: names that are imported on first use, and old places that still answer, with a warning."""

from __future__ import annotations

import functools
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):  # a decorator
        """As Python's own from 3.12 on: before that all instances share a lock while one of them is worked out, and a
        thread that lets others in meanwhile (`deadline.pausing`) would wait for them for ever.
        """

        def __get__(self, instance, owner=None):
            """The value, worked out on first use and kept in the instance."""
            if instance is None:
                return self
            held = vars(instance)
            if self.attrname not in held:
                held[self.attrname] = self.func(instance)
            return held[self.attrname]


#: Documented modules of the last release, and where they are now. They answer for one release.
MOVED = {
    "wayforward.answers.rounding": "wayforward.problem.rounding",
    "wayforward.impact.change": "wayforward.impact.segregation.change",
    "wayforward.impact.dimensions": "wayforward.impact.segregation.dimensions",
    "wayforward.impact.gaps": "wayforward.impact.audit.gaps",
    "wayforward.impact.groups": "wayforward.groups",
    "wayforward.impact.pairs": "wayforward.impact.segregation.pairs",
    "wayforward.impact.segregation_index": "wayforward.impact.segregation.index",
    "wayforward.impact.twins": "wayforward.impact.audit.twins",
    "wayforward.impact.worst_off": "wayforward.impact.audit.worst_off",
    "wayforward.methods.engines.causal_grid": "wayforward.methods.engines.exact.causal_grid",
    "wayforward.people.preferences": "wayforward.preferences",
    "wayforward.people.sampling": "wayforward.preferences",
    "wayforward.people.talk": "wayforward.people.elicitor",
    "wayforward.people.wanted": "wayforward.people.ideal_profiles",
}


_IMPORTS, _PATIENCE = threading.RLock(), 30.0  # seconds


def alone(module: str) -> ModuleType:
    """Import a module while no other thread does that comes from outside: packages that two threads read at once, each
    from another end, are seen half made. Who has waited for long goes on."""
    there = sys.modules.get(module)
    if there is not None and not getattr(there.__spec__, "_initializing", False):
        return there
    held = _IMPORTS.acquire(timeout=_PATIENCE)
    try:
        return import_module(module)
    finally:
        if held:
            _IMPORTS.release()


def face(
    package: str, home: Mapping[str, str], moved: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """Return a package's `__getattr__`: `home` maps its names to its modules, `moved` old names to other packages."""

    def find(name: str) -> Any:
        if name in home:
            return getattr(import_module(f"{package}.{home[name]}"), name)
        if moved and name in moved:
            _warn(f"{package}.{name}", f"{moved[name]}.{name}", 3)
            return getattr(import_module(moved[name]), name)
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    return find


def hook(place: str) -> Any:
    """Return what stands at "module:name", for a method that hands on to a floor above its own when it is called.

    Example: ``hook("answers:explain")(recourse, 0)``.
    """
    module, name = place.split(":")
    return getattr(import_module(f"wayforward.{module}"), name)


def renamed_names(module: str, **new: str) -> Callable[[str], Any]:
    """Return a module's `__getattr__` for names of its own that have changed (Old="New"), with a warning."""

    def find(name: str) -> Any:
        if name not in new:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        _warn_renamed(f"{module}.{name}", new[name], 2)
        return getattr(sys.modules[module], new[name])

    return find


class Renamed:
    """The old name of an attribute: answer with the new one for one release, and warn.

    Example: ``class Gap: stands = Renamed("significant")``, without an annotation, so that it is no field.
    """

    def __init__(self, new: str) -> None:
        self.new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.old = owner.__name__, name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        _warn_renamed(f"{self.owner}.{self.old}", self.new, 3)
        return getattr(instance, self.new)


def renamed_parameters(**new: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that takes parameters under their old names too (old="new"), and warns."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **given: P.kwargs) -> R:
            for old in new.keys() & given.keys():
                _warn_renamed(f"{function.__name__}({old}=...)", new[old], 3)
                given[new[old]] = given.pop(old)
            return function(*args, **given)

        return call

    return decorate


def _warn_renamed(old: str, new: str, level: int) -> None:
    warnings.warn(
        f"{old} is now called '{new}'. The old name goes with the next release.",
        DeprecationWarning,
        stacklevel=level + 1,
    )


def _warn(old: str, new: str, level: int) -> None:
    warnings.warn(
        f"{old} has moved to {new}. The old name goes with the next release.",
        DeprecationWarning,
        stacklevel=level,
    )


class _Without(MetaPathFinder):
    """Answer imports of some packages, made by the thread that made this, as if they were not installed."""

    def __init__(self, packages: frozenset[str]) -> None:
        self.packages, self.thread = packages, threading.get_ident()

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if fullname.split(".")[0] in self.packages and threading.get_ident() == self.thread:
            raise ModuleNotFoundError(f"No module named '{fullname}'", name=fullname)


@contextmanager
def without_packages(*packages: str) -> Iterator[None]:
    """Import meanwhile, in this thread, as if some packages were not installed, but for those imported already."""
    finder = _Without(frozenset(packages) - sys.modules.keys())
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Moved(MetaPathFinder, Loader):
    """Import a module from where it is now under its old name."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = MOVED[spec.name]
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith("<frozen"):
            frame = frame.f_back  # out of the machinery of imports, to who imports
        warnings.warn_explicit(
            f"{spec.name} has moved to {new}. The old name goes with the next release.",
            DeprecationWarning,
            frame.f_code.co_filename,
            frame.f_lineno,
            module=frame.f_globals.get("__name__", "__main__"),
        )
        module = import_module(new)
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        old = module.__spec__.name if module.__spec__ is not None else ""
        module.__spec__ = self._specs.pop(old, module.__spec__)  # the module is the new one, under both names


if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
    sys.meta_path.append(_Moved())
