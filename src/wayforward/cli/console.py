"""What a person at a shell sees: tables, progress, and one line for what went wrong."""

from __future__ import annotations

import errno
import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
import typer.core

from wayforward import plain_files
from wayforward.cli.exit_codes import BAD_INPUT, INTERRUPTED, NO_MEMORY, NOT_WRITTEN
from wayforward.cli.places import apart, require_named
from wayforward.cli.places import room_for as room_for  # with the others, for commands
from wayforward.errors import WayforwardError, WriteError
from wayforward.language import gettext, marks, ngettext, one_line, visible

DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)  # faults of the place, not of the input


class Command(typer.core.TyperCommand):
    """A command that has its outputs to itself while it works, see `apart`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed. Raises: FileFormatError for a path that is empty."""
        if any(not one or one.endswith("=") for one in args):
            require_named(self.get_params(ctx), self.make_parser(ctx).parse_args(list(args))[0])
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Raises: FileFormatError or WriteError before any work, for places that clash."""
        with apart(ctx):
            return super().invoke(ctx)


class Commanding(typer.Typer):
    """Commands of this kind, without saying so at each."""

    def command(self, name: str | None = None, **how: Any) -> Any:
        """Return the decorator of a command; options as typer's."""
        return super().command(name, **{"cls": Command, **how})


class Commands(typer.core.TyperGroup):
    """Commands whose errors of the library become one line and an exit code, here and nowhere else."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Raises: typer.Exit with the code of bad input, an interruption, a full disk or memory."""
        try:
            with notes(), apart(ctx):
                return super().invoke(ctx)
        except WayforwardError as error:
            say(f"wayforward: {error}")
            raise typer.Exit(NOT_WRITTEN if isinstance(error, WriteError) else BAD_INPUT) from None
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                say(f"wayforward: {plain_files.too_long(error.filename)}")
                raise typer.Exit(BAD_INPUT) from None
            if error.errno not in DISK:
                raise
            say(
                f"wayforward: A file cannot be written: {error.strerror}. Make room, or choose another place."
            )
            raise typer.Exit(NOT_WRITTEN) from None
        except MemoryError:
            say(
                "wayforward: There is not enough memory for this. Give fewer people at once (--n, or --out FOLDER, "
                "which works shard by shard), fewer --workers, or a machine with more."
            )
            raise typer.Exit(NO_MEMORY) from None
        except KeyboardInterrupt:
            say("wayforward: interrupted. The same command goes on where it stopped, if it writes a file.")
            raise typer.Exit(INTERRUPTED) from None


@contextmanager
def notes() -> Iterator[None]:
    """Print each warning of the library once, as a line, without the place in the code."""
    from wayforward.schema import SchemaWarning

    shown: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", SchemaWarning)
        otherwise = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
            if not issubclass(category, SchemaWarning):
                otherwise(message, category, *place)
            elif str(message) not in shown:
                shown.add(str(message))
                say(f"note: {message}")

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def say(text: str) -> None:
    """Print one message on the error stream, so that what is piped stays clean."""
    typer.echo(visible(text), err=True)


def left_out_note(unread: Collection[int]) -> None:
    """Say how many people could not be read and are left out, where there are any."""
    if unread:
        say(
            ngettext(
                "note: {n} person could not be read and is left out.",
                "note: {n} people could not be read and are left out.",
                len(unread),
            )
        )


def tell(text: str, *, nl: bool = True) -> None:
    """Print on the output what somebody reads, without what a terminal would obey."""
    typer.echo(visible(text), nl=nl)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table, as wide as it needs to be where the output is not a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    name = Text(one_line(title)) if title else None
    grid = Table(title=name, title_justify="left", header_style="bold", show_header=any(columns))
    for i, head in enumerate(columns):
        grid.add_column(Text(one_line(head)), overflow="fold", justify="left" if i == 0 else "default")
    for row in rows:
        texts = (number(cell) if isinstance(cell, float) else str(cell) for cell in row)
        grid.add_row(*(Text(visible(text)) for text in texts))  # a level such as "[/red]" is no markup
    Console(width=None if sys.stdout.isatty() else 160, soft_wrap=False).print(grid)


def number(value: float) -> str:
    """Format with four significant digits; a dash where there is no number."""
    return f"{value:.4g}" if math.isfinite(value) else "–"


class Steps:
    """Progress of long work: a bar on a terminal, a line every few seconds elsewhere."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done = what, total, 0
        self._advance: Callable[[int], None] = lambda done: None

    def __call__(self, done: int) -> None:
        """`done` of the total are ready now."""
        self.done = done
        self._advance(done)


@contextmanager
def steps(what: str, total: int) -> Iterator[Steps]:
    """Show the progress of `total` pieces of work while the block runs."""
    shown = Steps(what, total)
    if not sys.stderr.isatty():
        last = time.monotonic()

        def line(done: int) -> None:
            nonlocal last
            if time.monotonic() - last >= 5.0:
                last = time.monotonic()
                of = {"done": marks(f"{done:,}"), "total": marks(f"{total:,}")}
                say(gettext("{what}: {done} of {total}", what=what, **of))

        shown._advance = line
        yield shown
        return

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        shown._advance = lambda done: bar.update(task, completed=done)
        yield shown


@contextmanager
def counted(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show progress whose total may be known only in the end: a line every few seconds."""
    last = time.monotonic()

    def show(done: int, total: int | None) -> None:
        nonlocal last
        if time.monotonic() - last >= 2.0:
            last = time.monotonic()
            say(f"{what}: {done:,}" + ("" if total is None else f" of {total:,}"))

    yield show


def plain(value: Any) -> Any:
    """Return what JSON can hold: numbers without NaN and infinity, names for the rest."""
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, (bool, str)) or value is None:
        return value
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)


def write_json(value: Any, path: Path | None) -> None:
    """Write to a file, whole or not at all; '-' is the output. Raises: FileFormatError."""
    if path is None:
        return
    text = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if str(path) == "-":
        typer.echo(text, nl=False)
        return
    write_text(path, text)


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all. Raises: FileFormatError."""
    room_for(path)
    plain_files.write_text(path, text)


def save_figure(figure: Any, path: Path, **how: Any) -> None:
    """Write a figure of matplotlib, whole or not at all; its ending says as what. Raises: FileFormatError."""
    with plain_files.written(path) as half:
        figure.savefig(half, **how)
