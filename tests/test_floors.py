"""The house stands: a folder imports from the floors below it, for types and inside functions too."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx
import pytest

SOURCE = Path(__file__).parents[1] / "src" / "wayforward"

# From the ground up. Folders and files on one floor do not import each other.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("compiling", "errors", "lazy", "palette", "portable", "ranks", "shapes", "version"),
    ("cluster", "deadline", "language", "plain_files", "public", "streams"),
    ("devices", "registry", "tensor_files", "workers"),
    ("rules",),
    ("schema",),
    ("groups", "preferences", "recourse_meta", "regions", "scaling"),
    ("recourse",),
    ("model", "neighbours", "world"),
    ("data", "training"),
    ("density",),
    ("problem",),
    ("methods",),
    ("evaluate",),
    ("answers",),
    ("modalities", "people"),
    ("impact",),
    ("study",),
    ("scale",),
    ("serve", "testing", "tracks"),
    ("cli",),
    ("__main__",),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


def _name(file: Path) -> str:
    parts = ("wayforward", *file.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _statements(body: list[ast.stmt], types: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield imports anywhere in some statements; without types, not those for the type checker alone."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif types or not (
            isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        ):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, part, []), types)
            for inner in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                yield from _statements(inner.body, types)


@cache
def _trees() -> dict[str, tuple[Path, ast.Module]]:
    """Module -> its file, read."""
    return {_name(file): (file, ast.parse(file.read_text(encoding="utf-8"))) for file in SOURCE.rglob("*.py")}


@cache
def _imports(types: bool = True) -> dict[str, set[str]]:
    """Module -> modules of the package that it imports, anywhere in its text; a name counts for where it is defined."""
    files = {name: file for name, (file, _) in _trees().items()}
    nodes = {name: list(_statements(tree.body, types)) for name, (_, tree) in _trees().items()}
    faces = {
        name: {
            alias.asname or alias.name: (node.module, alias.name)
            for node in nodes[name]
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("wayforward")
            for alias in node.names
        }
        for name, file in files.items()
        if file.stem == "__init__"
    }

    def home(module: str, name: str) -> str:
        """The module that defines a name, through faces that only hand it on."""
        if f"{module}.{name}" in files:
            return f"{module}.{name}"
        onward = faces.get(module, {}).get(name)
        return module if onward is None or onward[0] == module else home(*onward)

    found: dict[str, set[str]] = defaultdict(set)
    for name, imports in nodes.items():
        for node in imports:
            if isinstance(node, ast.Import):
                found[name] |= {alias.name for alias in node.names if alias.name.startswith("wayforward")}
            elif node.module and node.module.startswith("wayforward"):
                found[name] |= {home(node.module, alias.name) for alias in node.names}
        found[name] -= {name}
    return dict(found)


def _room(module: str) -> str:
    """The folder or file that a module lies in; `_neighbours_jit` belongs to `neighbours`."""
    parts = module.split(".")
    room = parts[1] if len(parts) > 1 else ""
    return room if room in FLOOR else room.removeprefix("_").removesuffix("_jit")


def test_every_room_has_a_floor() -> None:
    """A new folder is placed before anything is built in it."""
    rooms = {_room(_name(file)) for file in SOURCE.rglob("*.py")} - {""}
    assert rooms == set(FLOOR), "place it in FLOORS, or take it out"


def test_no_arrow_runs_up() -> None:
    """Whoever imports stands above what is imported; the package's face hands on names of all floors."""
    up = [
        f"{module} -> {target}"
        for module, targets in _imports().items()
        for target in sorted(targets)
        if module != "wayforward" and _room(module) != _room(target)
        if FLOOR.get(_room(target), -1) >= FLOOR.get(_room(module), -1)
    ]
    assert not up


@pytest.mark.parametrize("room", sorted(FLOOR))
def test_a_folder_has_one_circle_at_most(room: str) -> None:
    """Inside a folder at most one group of files imports each other in a loop."""
    graph = networkx.DiGraph(
        (module, target)
        for module, targets in _imports().items()
        for target in targets
        if _room(module) == _room(target) == room
    )
    circles = [sorted(some) for some in networkx.strongly_connected_components(graph) if len(some) > 1]
    assert len(circles) <= 1, circles


def test_what_runs_has_no_circle() -> None:
    """Types aside, no files import each other in a loop, not even inside functions; faces only hand on."""
    graph = networkx.DiGraph(
        (module, target)
        for module, targets in _imports(types=False).items()
        for target in targets
        if module != "wayforward"
    )
    assert [sorted(some) for some in networkx.strongly_connected_components(graph) if len(some) > 1] == []


def test_no_package_and_a_part_of_it_wait_for_each_other() -> None:
    """Else threads that import both first at once see one of them half made.

    A part that says `from package import other_part` waits for the whole package, which waits for the part.
    """
    graph = networkx.DiGraph()
    for module, (_, tree) in _trees().items():
        for node in _statements([it for it in tree.body if not isinstance(it, ast.FunctionDef)], False):
            if not isinstance(node, ast.ImportFrom) or module == "wayforward":
                continue
            package = str(node.module)
            above = {".".join(package.split(".")[:i]) for i in range(2, package.count(".") + 1)}
            needed = {package, *(f"{package}.{alias.name}" for alias in node.names)}
            needed |= {whole for whole in above if not module.startswith(f"{whole}.")}
            graph.add_edges_from(
                (module, it) for it in needed & _trees().keys() if it not in (module, "wayforward")
            )
    circles = [sorted(some) for some in networkx.strongly_connected_components(graph) if len(some) > 1]
    assert not circles
