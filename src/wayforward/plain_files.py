"""Text, YAML and JSON files: read strictly, written whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import secrets
import shutil
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NoReturn, TextIO

from wayforward.errors import DataError, FileFormatError, WayforwardError, WriteError, shown

MOST_CHARACTERS = 1_000_000  # of a file that people write by hand
# Lists and mappings in each other: YAML's reader calls itself for each, and ends the process.
MOST_NESTED = 100
MOST_BYTES = 2**30  # of a JSON file that the library wrote
_HALF = re.compile(r"\.(.{1,80})\.[0-9a-f]{16}(\.[^.]*)?", re.DOTALL)  # what `written` writes to


def check_size(text: str, name: str, most: int = MOST_CHARACTERS) -> str:
    """Return the text. Raises: FileFormatError if it is longer than `most` characters."""
    if len(text) > most:
        raise FileFormatError(f"The {name} has {len(text)} characters; at most {most} are read.")
    return text


def too_long(path: Any) -> str:
    """What to say of a name that the system does not take."""
    return f"{shown(path)} is too long for a path. Give a shorter name."


def as_path(given: Any) -> Path:
    """Return a path. Raises: FileFormatError for what can be none: another object, a zero byte, too long a name."""
    try:
        path = Path(given)
        os.lstat(path)
    except (TypeError, ValueError):
        raise FileFormatError(f"{shown(given)} is no path. Give the name of a file.") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise FileFormatError(too_long(given)) from None
    return path


def name_of(path: str | Path) -> str:
    """Return what errors call a path: its last part, or all of it where that is nothing, as of '.' and '/'."""
    return Path(path).name or str(path)


def no_file(path: str | Path) -> str:
    """What to say of a path at which there is no file to be read."""
    if os.path.exists(path) and not os.path.isdir(path):
        return f"'{name_of(path)}' is a pipe or a device, and no file. Write what it holds to a file, and name that."
    return f"There is no file '{name_of(path)}'. Check the path."


def require_regular(path: str | Path) -> os.stat_result:
    """Look at a file without opening it: a pipe would wait for ever, and a device never ends.

    Raises: OSError; FileFormatError for what is no path.
    """
    found = os.stat(as_path(path))
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise OSError(errno.EINVAL, "It is a pipe or a device, and no file")
    return found


def read_text(path: str | Path, what: str, most: int = MOST_CHARACTERS) -> str:
    """Read a UTF-8 file of at most `most` characters.

    Raises: FileFormatError ("The {what} 'name' cannot be read: ...") for one that is missing, too large or no text.
    """
    path = as_path(path)
    name = f"{what} '{name_of(path)}'"
    try:
        size = require_regular(path).st_size
        if size > 4 * most:
            raise FileFormatError(f"The {name} has {size:,} bytes, too many to be a {what}. Check the path.")
        return check_size(path.read_text(encoding="utf-8"), name, most)
    except OSError as error:
        raise FileFormatError(f"The {name} cannot be read: {error.strerror}. Check the path.") from None
    except ValueError:  # no UTF-8
        raise FileFormatError(f"The {name} cannot be read: it is not a text file. Check the path.") from None


def parse_yaml(text: str, name: str, most: int = MOST_CHARACTERS) -> Any:
    """YAML (or JSON) text -> plain data. No code is run; aliases, double entries, NaN and infinities are refused.

    `name` is what errors call the text. Raises: FileFormatError that names the line.
    """
    import yaml

    quick = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it was built

    class Loader(quick):  # type: ignore[misc, valid-type]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[str] = set()
            for key, _ in node.value:
                if isinstance(key.value, str) and key.value in seen:
                    line = key.start_mark.line + 1
                    raise FileFormatError(
                        f"The {name} has the entry '{key.value}' twice (line {line}). Remove one."
                    )
                seen.add(str(key.value))
            return super().construct_mapping(node, deep)

        def construct_yaml_float(self, node: Any) -> float:
            value = float(super().construct_yaml_float(node))
            if not math.isfinite(value):
                line = node.start_mark.line + 1
                raise FileFormatError(
                    f"The {name} has the number {node.value} in line {line}. Give a finite one, or leave it out."
                )
            return value

    Loader.add_constructor("tag:yaml.org,2002:float", Loader.construct_yaml_float)
    try:
        depth = 0
        for event in yaml.parse(check_size(text, name, most), quick):
            if isinstance(event, yaml.events.AliasEvent):
                line = 1 + (event.start_mark.line if event.start_mark else 0)
                raise FileFormatError(f"The {name} uses a YAML alias in line {line}. Write the value out.")
            depth += isinstance(event, yaml.events.CollectionStartEvent)
            depth -= isinstance(event, yaml.events.CollectionEndEvent)
            if depth > MOST_NESTED:
                raise RecursionError
        return yaml.load(text, Loader)  # a SafeLoader: builds plain data only
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" in line {min(mark.line, text.count(chr(10))) + 1}" if mark else ""
        why = getattr(error, "problem", None) or "cannot be read"
        raise FileFormatError(f"The {name} is no valid YAML{place}: {why}. Correct it.") from None
    except RecursionError:
        raise FileFormatError(f"The {name} is no valid YAML: it is nested too deeply. Correct it.") from None
    except (ValueError, OverflowError) as error:  # a date or a number that spells no value
        raise FileFormatError(f"The {name} holds a value that cannot be read: {str(error)[:80]}.") from None


def dump_yaml(data: Any, path: str | Path | None = None, *, width: int = 80) -> str:
    """Plain data -> YAML text in the order given; also written to `path` if given."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def quoted(dumper: Any, value: str) -> Any:  # a reader takes \x85 and its like for the end of a line
        style = None if value.isprintable() else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, quoted)
    text = str(yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=width))
    if path is not None:
        write_text(path, text)
    return text


def unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Entries of a JSON object as a mapping. Raises: ValueError for a name that is there twice."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"'{name:.40}' is there twice")
        found[name] = value
    return found


def read_json(path: str | Path) -> Any:
    """Parse a UTF-8 JSON file.

    Raises: OSError; ValueError for what is no JSON, NaN and infinities included; FileFormatError beyond MOST_BYTES.
    """

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no JSON")

    size = require_regular(path).st_size
    if size > MOST_BYTES:
        raise FileFormatError(
            f"'{name_of(path)}' has {size:,} bytes; of a JSON file at most {MOST_BYTES:,} are read. Check the path, or "
            "give a .parquet file."
        )
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def bounded_lines(
    file: TextIO, name: str, most: int = 4 * MOST_CHARACTERS, *, in_all: bool = False
) -> Iterator[str]:
    """Yield the lines of a table, each of at most `most` characters; in_all: all of them together.

    Raises: FileFormatError for what is longer, of which no more is read.
    """
    left = most
    while line := file.readline(left + 1):
        if len(line) > left:
            raise FileFormatError(
                f"'{name}' has a line of more than {most:,} characters, so it is no table. Check the file."
            )
        left -= len(line) if in_all else 0
        yield line


def require_once(names: Sequence[str], path: Path) -> None:
    """Raise DataError for a column of a table that is there twice: one of its values would be lost. '' is no name."""
    twice = next((name for name, count in Counter(names).items() if name and count > 1), None)
    if twice is not None:
        raise DataError(f"'{name_of(path)}' has the column '{twice}' twice. Rename or drop one of them.")


def file_digest(path: Path) -> str:
    """SHA-256 of a file. Raises: OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder and those above it, where it is not there. mode: of itself. Raises: WriteError that names it."""
    try:
        as_path(folder).mkdir(parents=True, exist_ok=True, mode=mode)
    except OSError as error:
        raise WriteError(
            f"The folder '{name_of(folder)}' cannot be made: {error.strerror}. Choose another place."
        ) from None


# what is told of each file, as (its place, the whole content beside it), at the last moment at which it is not there
before_it_is_there: ContextVar[Callable[[Path, Path], None] | None] = ContextVar(
    "before_it_is_there", default=None
)


@contextmanager
def written(path: str | Path, *, private: bool = False) -> Iterator[Path]:
    """Yield a path beside a place; what the block writes there takes the place, whole and on the disk, or not at all.

    Its name cannot be foreseen and it is a new file, so that nobody's link is followed; it ends as the place does.
    private: for the owner of the file only. Raises: WriteError where it cannot be written; what was there stays.
    Example: ``with written("model.ubj") as half: booster.save_model(half)``.
    """
    place = Path(os.path.realpath(as_path(path)))  # a link stays a link
    if not place.exists() and Path(path).exists():  # a pipe without a name, as of /dev/stdout
        place = Path(path)
    with place_of(path):
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        no_file = place.exists() and not place.is_file()
    if no_file:  # a pipe or a terminal
        with place_of(path), _read_by_somebody(place):
            yield place
        return
    fresh = place.with_name(f".{place.stem[:80]}.{secrets.token_hex(8)}{place.suffix}")
    held = None
    try:
        with place_of(path):
            held = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if private else 0o666)
            if not locked(held):  # where no file is held an open one may be in the way
                os.close(held)
                held = None
            yield fresh
            if place.exists() and not private:
                shutil.copymode(place, fresh)
            with fresh.open("rb") as file:
                os.fsync(file.fileno())
            if (tell := before_it_is_there.get()) is not None:
                tell(place, fresh)
            fresh.replace(place)
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        if held is not None:
            os.close(held)


def locked(file: int) -> bool | None:
    """Hold an open file for this process; False where another one does, None where files cannot be held."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system that knows no locks
        return None
    return True


def sweep(folder: Path, ours: Callable[[str], object]) -> None:
    """Delete what `written` left half in a folder when it was killed, of files whose name, cut to 80 characters before
    its ending, is `ours`. What somebody writes at this moment is held, and stays."""
    with suppress(OSError):
        for file in list(os.scandir(folder)):
            half = _HALF.fullmatch(file.name)
            name = half and half[1] + (half[2] or "")
            if not name or not ours(name) or not file.is_file(follow_symlinks=False):
                continue
            with suppress(OSError):
                held = os.open(file.path, os.O_RDONLY | os.O_NOFOLLOW)
                try:
                    if locked(held):
                        os.unlink(file.path)
                finally:
                    os.close(held)


@contextmanager
def _read_by_somebody(place: Path) -> Iterator[None]:
    """Keep a pipe open, so that its reader waits for all. Raises: OSError where nobody reads: that waits for ever."""
    if not place.is_fifo():
        yield
        return
    try:
        end = os.open(place, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from None
        raise
    try:
        yield
    finally:
        os.close(end)


@contextmanager
def place_of(path: str | Path) -> Iterator[None]:
    """Faults of the disk, which libraries tell in errors of their own, as one error that names the file."""
    try:
        yield
    except WayforwardError:
        raise
    except Exception as error:
        number = getattr(error, "errno", None) or _errno_in(str(error))
        if number is None:
            raise
        step = "Make room" if number in (errno.ENOSPC, errno.EDQUOT) else "Choose another place"
        raise WriteError(
            f"'{name_of(path)}' cannot be written: {os.strerror(number)}. What was there before is as it was. "
            f"{step}, then do it again."
        ) from None


def _errno_in(text: str) -> int | None:
    """The fault that another library names in its own words, such as "IoError: No space left on device"."""
    known = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EFBIG, errno.EIO)
    return next((number for number in known if os.strerror(number) in text), None)


def write_bytes(path: str | Path, content: bytes, *, private: bool = False) -> None:
    """Write a file whole or not at all; see `written`. Raises: WriteError."""
    with written(path, private=private) as half:
        half.write_bytes(content)


def write_text(path: str | Path, text: str, *, private: bool = False) -> None:
    """Write a UTF-8 file whole or not at all; see `written`. Raises: WriteError."""
    write_bytes(path, text.encode("utf-8"), private=private)
