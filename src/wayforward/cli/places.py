"""What the options of commands name: read, written, or gone on with; one check and one lock for all, before any work.

A use belongs to the name of an option, whatever the command; a new option that names a file is added to USES.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from enum import Enum
from pathlib import Path
from typing import Any

from wayforward.errors import FileFormatError, WriteError
from wayforward.plain_files import (
    before_it_is_there,
    file_digest,
    locked,
    make_folder,
    name_of,
    place_of,
    read_json,
    read_text,
    sweep,
    write_text,
)

LOCK = "lock"
# also what a process that was killed left half written, and parts of earlier versions
HALF = re.compile(r"\.[\w-]+\.[0-9a-f]{16}(\.\w+)?")
OURS = re.compile(rf"manifest\.json|lock|people-\d+(\.half)?\.(parquet|json)|{HALF.pattern}")
_PATIENCE = 2.0  # seconds in which the reader of a pipe may come


class Use(Enum):
    """What a command does with what an option names."""

    READ = "read"
    FILE = "file"  # written whole, by one command at a time
    FOLDER = "folder"  # written into, by one command at a time
    EITHER = "either"  # a file or a folder, as the command says
    GOES_ON = "goes on"  # a file that is read and written again, by one command at a time
    SHARED = "shared"  # a file or a folder that several commands may read and add to at once


USES: Mapping[str, Use] = {
    **dict.fromkeys(
        (
            "train", "people", "schema", "preferences", "acts", "recourse", "answers", "graph", "source", "against",
            "pool", "replies", "world", "model", "scenario", "protocol", "what", "method",
        ),
        Use.READ,
    ),
    **dict.fromkeys(("json", "csv", "html", "report", "figure", "markdown"), Use.FILE),
    **dict.fromkeys(("letters", "folder"), Use.FOLDER),
    "out": Use.EITHER,
    **dict.fromkeys(("checkpoint", "state"), Use.GOES_ON),
    **dict.fromkeys(("noise_key", "entries", "home", "cache"), Use.SHARED),
}  # fmt: skip
OTHERWISE = {("wayforward replicate", "out"): Use.SHARED}  # each table is a file of its own

Named = list[tuple[str, Path]]  # an option as people type it, and what it names
_written: ContextVar[Named] = ContextVar("_written", default=[])  # noqa: B039  (never changed in place)
_held: ContextVar[frozenset[Path]] = ContextVar("_held", default=frozenset())


def use_of(parameter: Any, command: str = "") -> Use | None:
    """Return what a command does with what a parameter names; None where it names no file."""
    known = OTHERWISE.get((command, parameter.name), USES.get(parameter.name))
    if not is_path(parameter) and parameter.metavar != "TABLE":
        return known if known is Use.READ else None
    return known or Use.READ


def is_path(parameter: Any) -> bool:
    """True if a parameter takes a path, and not also other texts."""
    described = getattr(parameter, "type_descriptor", None)  # of typer's own, else of click
    return described.annotation is Path if described else type(parameter.type).__name__.endswith("Path")


@contextmanager
def apart(context: Any) -> Iterator[None]:
    """Run a command with its outputs to itself: at places of their own, at no input's, and at nobody else's meanwhile.

    Raises: FileFormatError where two options name one place, a file is named for a folder, or another command writes
    there; WriteError where nobody can write.
    """
    inputs: Named = []
    outputs: Named = []
    kinds: dict[str, Use] = {}
    for parameter in context.command.params:
        given = context.params.get(parameter.name)
        kind = use_of(parameter, context.info_name or "")
        if kind in (Use.FILE, Use.EITHER) and str(given) == "/dev/stdout":
            given = context.params[parameter.name] = "-"
        called = _called(parameter)
        for one in given if isinstance(given, list | tuple) else (given,):
            if one is None or isinstance(one, bool) or str(one) in ("-", ""):
                continue
            if kind is None or kind is Use.READ:
                inputs += [(called, file) for file in _read(one, kind, is_path(parameter))]
            elif isinstance(one, str | Path) and not _device(Path(one)):
                outputs.append((called, Path(one)))
                kinds[called] = kind
    for i, (called, path) in enumerate(outputs):
        for other, place in outputs[:i]:
            if _same(path, place):
                raise FileFormatError(
                    f"{other} and {called} both name '{name_of(path)}', and one would overwrite the other. Give each a "
                    "place of its own."
                )
        _require_no_input(called, path, inputs)
    for called, path in outputs:
        _require_room(called, path, kinds[called])
    alone = [(called, path) for called, path in outputs if kinds[called] is not Use.SHARED]
    with ExitStack() as stack:
        places = [held for _, path in alone if (held := stack.enter_context(_alone(path))) is not None]
        before = _written.set(outputs), _held.set(frozenset(places))
        try:
            yield
        finally:
            _written.reset(before[0])
            _held.reset(before[1])


def require_named(parameters: Sequence[Any], given: Mapping[str, Any]) -> None:
    """Raise FileFormatError where a path is empty, as of a variable that is not set: '' would be the current folder.

    given: what was typed, by the names of the parameters.
    """
    for one in parameters:
        typed = given.get(one.name)
        if is_path(one) and "" in (typed if isinstance(typed, list | tuple) else (typed,)):
            raise FileFormatError(f"{_called(one)} is empty. Name a file or a folder, or leave it out.")


def _called(parameter: Any) -> str:
    """What people call a parameter."""
    name: str = parameter.opts[0]
    return name if name.startswith("-") else parameter.metavar or parameter.name.upper()


def require_not_written(inputs: Named) -> None:
    """Raise FileFormatError if the command that runs writes what is read only now, such as the files of an answer."""
    for called, path in _written.get():
        _require_no_input(called, path, inputs)


def _read(given: Any, kind: Use | None, path: bool) -> list[Path]:
    """The files that a value names: itself, after @, or before the name of a class.

    path: it may be a folder; what also takes other texts, such as the name of a method, may by chance be called as one.
    """
    text = str(given)
    names = {text[1:]} if text.startswith("@") else {text, text.rpartition(":")[0]} if kind else set()
    with suppress(OSError, ValueError):
        there = os.path.exists if path else os.path.isfile
        return [Path(name) for name in sorted(names) if name and there(name)]
    return []


def _device(path: Path) -> bool:
    """A terminal, or where all is lost: several may write there."""
    try:
        return stat.S_ISCHR(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.realpath(one) == os.path.realpath(other) or one.samefile(other)
    except (OSError, ValueError):
        return False


def _require_no_input(called: str, path: Path, inputs: Named) -> None:
    for other, place in inputs:
        if _same(path, place):
            raise FileFormatError(
                f"{called} names '{name_of(path)}', which {other} reads: it would be overwritten. Choose another place."
            )
        if place.is_dir() and Path(os.path.realpath(place)) in Path(os.path.realpath(path)).parents:
            raise FileFormatError(
                f"{called} names a place in the folder '{name_of(place)}', which {other} reads. Choose one outside."
            )


def _require_room(called: str, path: Path, kind: Use) -> None:
    if os.path.realpath(path) == os.path.abspath(os.sep):
        raise FileFormatError(f"{called} names '{path}', the root of the disk. Name a place in it.")
    if kind in (Use.FILE, Use.GOES_ON):
        room_for(path)
    elif kind is Use.FOLDER and path.exists() and not path.is_dir():
        raise FileFormatError(
            f"{called} names the file '{name_of(path)}', and is a folder. Choose another place."
        )


def room_for(path: Path | None, endings: Sequence[str] = ()) -> None:
    """Fail before the work, not after it. Raises: FileFormatError if the file could not be written later."""
    if path is None or str(path) == "-":
        return
    if endings and path.suffix not in endings:
        raise FileFormatError(f"'{name_of(path)}' should end in {' or '.join(endings)}. Change the ending.")
    if path.is_dir():
        raise FileFormatError(f"'{name_of(path)}' is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise FileFormatError(
            f"'{path}' cannot be written: there is no such folder. Make it, or choose another place."
        )


# -- one command at a time -----------------------------------------------------------------------------------


def folder_beside(path: Path) -> Path:
    """Return the folder beside an output in which its lock and its finished parts are."""
    place = path if path.name not in ("", "..") else Path(os.path.realpath(path))
    return place.with_name(place.name + ".parts")


# -- folders of several files --------------------------------------------------------------------------------

_NOTE, _NOTED = ".written-by-wayforward.json", "wayforward.written/1"
_BEGUN = ".begun-by-wayforward"  # "digest name" before each file is there: who is killed leaves no note


def require_own_files(folder: Path, names: Sequence[str]) -> None:
    """Raise FileFormatError where files that would be written are there and not as an earlier run wrote them.

    names: of what is written into the folder, '*' for any; with '/' in folders below.
    """
    noted = _noted(folder)
    ours = noted | _begun(folder)
    strange = [
        name
        for name, file in _there(folder, names)
        if file.is_symlink() or not file.is_file() or (name, file_digest(file)) not in ours
    ]
    for name, known in ((_NOTE, noted), (_BEGUN, True)):
        note = folder / name
        strange += [name] if note.is_symlink() or (note.exists() and not (known and note.is_file())) else []
    if strange:
        more = f" and {len(strange) - 5:,} more" if len(strange) > 5 else ""
        raise FileFormatError(
            f"'{name_of(folder)}' holds {', '.join(strange[:5])}{more}, which would be overwritten and which no "
            "earlier run wrote as they are now. Move them away, or choose another folder."
        )


@contextmanager
def own_files(folder: Path, names: Sequence[str]) -> Iterator[None]:
    """Make a folder, and note what the block writes there as ours to be written again; see `require_own_files`.

    Raises: FileFormatError before the block where that would overwrite somebody's; WriteError.
    """
    make_folder(folder)
    require_own_files(folder, names)
    top = Path(os.path.realpath(folder))
    if _begun(top):
        for file in {half for name in names for half in (top / name).parent.glob(".*")}:
            if HALF.fullmatch(file.name) and not file.is_dir():
                file.unlink(missing_ok=True)

    def tell(place: Path, content: Path) -> None:
        if top in place.parents and place.name != _NOTE:
            line = f"{file_digest(content)} {json.dumps(place.relative_to(top).as_posix())}\n"
            begun = os.open(top / _BEGUN, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_NOFOLLOW, 0o666)
            with os.fdopen(begun, "a", encoding="utf-8") as file:
                file.write(line)

    before = before_it_is_there.set(tell)
    try:
        yield
    except BaseException:
        with suppress(Exception):
            _note(folder, names)
        raise
    finally:
        before_it_is_there.reset(before)
    _note(folder, names)


def _there(folder: Path, names: Sequence[str]) -> list[tuple[str, Path]]:
    """What is in a folder under these names, as (name, file); not what a killed run left half, which is nobody's."""
    found = []
    for name in names:
        one = folder / name
        files = sorted(folder.glob(name)) if "*" in name else [one] if os.path.lexists(one) else []
        found += [
            (file.relative_to(folder).as_posix(), file) for file in files if not HALF.fullmatch(file.name)
        ]
    return found


def _noted(folder: Path) -> set[tuple[str, str]]:
    """The files that earlier runs wrote to the end, as (name, digest)."""
    with suppress(OSError, ValueError):
        found = read_json(folder / _NOTE)
        if (
            isinstance(found, dict)
            and found.get("format") == _NOTED
            and isinstance(found.get("sha256"), dict)
        ):
            return {(str(name), str(digest)) for name, digest in found["sha256"].items()}
    return set()


def _begun(folder: Path) -> set[tuple[str, str]]:
    """The files that a run wrote which was killed before its note, as (name, digest)."""
    found = set()
    with suppress(FileFormatError):
        for line in read_text(folder / _BEGUN, "note", 100_000_000).splitlines():
            with suppress(ValueError):  # the last may be half
                digest, name = line.split(" ", 1)
                found.add((str(json.loads(name)), digest))
    return found


def _note(folder: Path, names: Sequence[str]) -> None:
    files = {name: file_digest(file) for name, file in _there(folder, names)}
    if files:
        known = {"format": _NOTED, "sha256": dict(_noted(folder)) | files}
        write_text(folder / _NOTE, json.dumps(known, indent=1) + "\n")
        (folder / _BEGUN).unlink(missing_ok=True)


@contextmanager
def _alone(path: Path) -> Iterator[Path | None]:
    """Keep other commands from a place while the block runs; yield the folder of its lock, None where none is needed.

    Raises: FileFormatError where another command writes there.
    """
    if path.is_fifo():
        with _reader_of(path):
            yield None
        return
    place = Path(os.path.realpath(path))
    if (
        not place.name
        or not place.parent.is_dir()
        or (place.exists() and not (place.is_file() or place.is_dir()))
    ):
        yield None  # a pipe without a name, or in a folder that is made by this command
        return
    folder = folder_beside(place)
    inside = place.is_dir() and not os.access(place.parent, os.W_OK)
    held = _hold_itself(place) if inside else hold(folder)
    sweep(place.parent, {place.stem[:80] + place.suffix}.__contains__)
    try:
        yield folder
    finally:
        if not inside:
            with suppress(OSError):
                if os.listdir(folder) == [LOCK]:
                    (folder / LOCK).unlink()
                    folder.rmdir()
        os.close(held)


@contextmanager
def _reader_of(pipe: Path) -> Iterator[None]:
    """Hold a pipe open, so that its reader stays. Raises: WriteError where nobody reads it."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            held = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            break
        except OSError as error:
            if time.monotonic() > end:
                raise WriteError(
                    f"'{pipe.name}' cannot be written: it is a pipe that nobody reads ({error.strerror}). Start its "
                    "reader first, or choose a file."
                ) from None
            time.sleep(0.05)
    try:
        yield
    finally:
        os.close(held)


def _are_parts(folder: Path) -> bool:
    """True if a folder has nothing in it that is not of this module."""
    try:
        return all(OURS.fullmatch(file.name) and not file.is_symlink() for file in folder.iterdir())
    except FileNotFoundError:  # whoever wrote there is done just now
        return True


def require_parts(folder: Path) -> None:
    """Raise FileFormatError for a folder of somebody else's where the parts of an output are kept."""
    link, there = folder.is_symlink(), folder.exists()
    if link or (there and not (folder.is_dir() and _are_parts(folder))):
        raise FileFormatError(
            f"'{name_of(folder)}' is there already and holds something else than finished parts. Move it away, or "
            "choose another output."
        )


def is_held(folder: Path) -> bool:
    """True if the command that runs has locked this folder of parts already."""
    return Path(os.path.realpath(folder)) in _held.get()


def hold(folder: Path) -> int:
    """Make a folder of parts and keep other commands out of it, until what is returned is closed.

    Raises: FileFormatError where another command writes to its output, or what is there is no folder of parts.
    """
    require_parts(folder)
    while True:
        make_folder(folder)
        with place_of(folder / LOCK):
            try:
                held = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o666)
            except FileNotFoundError:  # whoever was here before took it away just now
                continue
        if locked(held) is False:  # where files cannot be held, nobody waits
            os.close(held)
            raise _another(folder.name.removesuffix(".parts"))
        with suppress(OSError):
            if os.path.samestat(os.fstat(held), os.stat(folder / LOCK)):
                return held
        os.close(held)  # the one that was locked is there no more


def _hold_itself(folder: Path) -> int:
    held = os.open(folder, os.O_RDONLY)
    if locked(held) is False:  # where files cannot be held, nobody waits
        os.close(held)
        raise _another(folder.name)
    return held


def _another(name: str) -> FileFormatError:
    return FileFormatError(
        f"Another command writes to '{name}' at this moment. Wait until it is done, or choose another output."
    )
