"""The `remote` commands: every act of the client on a server that runs, made from the client's own methods."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, get_args

import typer

from wayforward.answers.tables import csv_text
from wayforward.cli.console import Commanding, Commands, room_for, tell
from wayforward.data.user_tables import read_table
from wayforward.errors import DataError
from wayforward.plain_files import read_text, write_text
from wayforward.serve.client import Client

Out = Annotated[
    Path | None,
    typer.Option("--out", help="Write the answer, for you alone; a list as a table, where it ends in .csv."),
]


def remote_app() -> typer.Typer:
    """Return a command for each public method of `Client`, in their order."""
    app = Commanding(
        cls=Commands, callback=_server, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
        rich_markup_mode=None, help="Every act on a server that runs, for programs and shells.",
    )  # fmt: skip
    for name, method in vars(Client).items():
        if not name.startswith("_"):
            app.command(name.replace("_", "-"), help=inspect.getdoc(method))(_command(name, method))
    return app


def _server(
    context: typer.Context,
    url: Annotated[
        str, typer.Option("--url", envvar="WAYFORWARD_URL", help="Where the server is.")
    ] = "http://127.0.0.1:8000",
    token: Annotated[
        str,
        typer.Option(
            "--token", envvar="WAYFORWARD_TOKEN", show_default=False,
            help="A token of an account, or the code of a case or a participation. Others on this machine may see "
            "options; they do not see the environment.",
        ),
    ] = "",
    language: Annotated[str, typer.Option("--language", help="Of texts: en or de.")] = "en",
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds to wait for an answer.")] = 60,
) -> None:  # fmt: skip
    context.obj = Client(url, token, timeout=timeout, language=language)


def _command(name: str, method: Callable[..., Any]) -> Callable[..., None]:
    """Return a function with the parameters of a method, in kinds that a shell can give."""
    shell = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    readers: dict[str, Callable[[Any], Any]] = {}
    for one in list(inspect.signature(method, eval_str=True).parameters.values())[1:]:
        kind, readers[one.name], how = _shell_kind(one)
        place = one.default is one.empty and one.kind is not one.KEYWORD_ONLY and "prompt" not in how
        about = typer.Argument(**how) if place else typer.Option(**how)
        default = [] if one.default == () else one.default
        kind = kind | None if default is None else kind
        shell.append(one.replace(kind=one.KEYWORD_ONLY, default=default, annotation=Annotated[kind, about]))
    shell.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Out))

    def run(context: typer.Context, out: Path | None, **given: Any) -> None:
        room_for(out)
        read = {key: value if value is None else readers[key](value) for key, value in given.items()}
        _show(getattr(context.obj, name)(**read), out)

    run.__signature__ = inspect.Signature(shell)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in shell}
    return run


def _shell_kind(one: inspect.Parameter) -> tuple[Any, Callable[[Any], Any], dict[str, Any]]:
    """Return what a shell gives for a parameter, how that is read, and what typer is told about it."""
    hint = one.annotation
    kinds = {*get_args(hint)} - {NoneType} if isinstance(hint, UnionType) else {hint}
    if one.name == "password":  # no option of a command line is a secret
        return str, str, {"prompt": True, "hide_input": True, "envvar": "WAYFORWARD_PASSWORD"}
    if Path in kinds:
        return Path, Path, {"exists": True, "dir_okay": False}
    if kinds == {Sequence[str]}:
        return list[str], list, {}
    if kinds == {Sequence[Mapping[str, Any]]}:
        return str, _rows, {"metavar": "TABLE", "help": "A file: CSV, Parquet or JSON."}
    if len(kinds) == 1 and (kind := next(iter(kinds))) in (str, int, float, bool):
        return kind, kind, {}
    texts = bool(kinds & {str, Any})
    about = "JSON, @FILE, or @- for the input." + (" Other texts stand for themselves." if texts else "")
    return str, lambda given: _json(one.name, given, texts), {"metavar": "JSON", "help": about}


def _json(name: str, given: str, texts: bool) -> Any:
    if given == "@-":
        given, texts = sys.stdin.read(), False
    elif given.startswith("@"):
        given, texts = read_text(given[1:], name, most=100_000_000), False
    try:
        return json.loads(given)
    except ValueError:
        if texts:
            return given
        raise DataError(f"{name} is no JSON. Give it like '{{\"home\": false}}', or as @FILE.") from None


def _rows(given: str) -> list[dict[str, Any]]:
    """The rows of a table as JSON can hold them; an empty cell is null."""
    if given.startswith("@") or given.endswith(".json"):
        rows: list[dict[str, Any]] = _json("TABLE", f"@{given.removeprefix('@')}", False)
        return rows
    frame = read_table(Path(given))
    columns = [[_cell(value) for value in frame[name].to_list()] for name in frame.columns]
    return [dict(zip(frame.columns, row, strict=True)) for row in zip(*columns, strict=True)]


def _cell(value: Any) -> Any:
    if value is None or value != value:
        return None
    return value if isinstance(value, str | int | float) else str(value)


def _show(got: Any, out: Path | None) -> None:
    if out is not None and out.suffix == ".csv" and isinstance(got, list):
        text = csv_text([row if isinstance(row, dict) else {"value": row} for row in got])
    elif isinstance(got, str):
        text = got if out is None or got.endswith("\n") else f"{got}\n"
    elif got is None:
        return
    else:
        text = json.dumps(got, indent=2, ensure_ascii=False) + "\n"
    if out is None or str(out) == "-":
        tell(text, nl=not text.endswith("\n"))
    else:
        write_text(out, text, private=True)
