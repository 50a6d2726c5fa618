"""The `serve` command: opens the web application."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from wayforward.cli.console import say
from wayforward.errors import DataError, require
from wayforward.plain_files import no_file

if TYPE_CHECKING:
    from wayforward.serve.projects import Given
    from wayforward.serve.settings import ServeSettings


def run(settings: ServeSettings, given: Given | None, *, host: str, port: int, check: bool) -> None:
    """Prepare and serve until it is stopped; with `check` only say whether this would be safe.

    Raises: DataError for an unsafe deployment on a public address; MissingExtra.
    """
    for module in ("fastapi", "uvicorn", "sqlalchemy", "argon2", "babel"):
        require(module, extra="web")
    from wayforward.serve.http.app import create_app
    from wayforward.serve.process import begin_process
    from wayforward.serve.services import Services
    from wayforward.serve.start import first_come, prepare, warm

    if check or not settings.private(host):
        wrong = settings.unsafe(host)
        if wrong:
            raise DataError("Not safe for real people:\n" + "\n".join(f"- {line}" for line in wrong))
    if check:
        say("Nothing speaks against this deployment.")
        return
    begin_process()
    with first_come(settings.home):
        services = Services.at(settings)
        lines = prepare(services, given, settings.demonstration)
    for line in lines:
        say(line)
    say(f"Open {settings.public_url}  (stop with Ctrl+C)")
    import uvicorn

    application = create_app(services=services)  # imports all pages, before a second thread imports anything
    threading.Thread(target=warm, args=(services,), daemon=True).start()
    uvicorn.run(
        application, host=host, port=port, log_level="warning", access_log=False,
        server_header=False, proxy_headers=bool(settings.proxies), forwarded_allow_ips=settings.proxies,
    )  # fmt: skip


def model_given(
    model: str | None, schema: Path | None, train: Path | None, world: Path | None, label: str | None,
    favourable: list[str], threshold: float | None, title: str,
) -> Given | None:  # fmt: skip
    """What the options say about a model; None where they say nothing. Raises: DataError for half of it."""
    from wayforward.model import ZOO
    from wayforward.serve.projects import Given

    if model is None and schema is None and train is None:
        return None
    if model is None or schema is None or train is None or label is None or not favourable:
        raise DataError(
            "A model of your own needs --model FILE, --schema FILE, --train FILE, --label COLUMN and --favourable "
            "VALUE. Give all of them, or none for the demonstration."
        )
    for file in (schema, train, *([world] if world else [])):
        if not file.is_file():
            raise DataError(no_file(file))
    return Given(
        title=title, model=model if model in ZOO else Path(model), schema=schema, train=train, label=label,
        favourable=tuple(favourable), world=world, threshold=threshold,
    )  # fmt: skip


__all__ = ["model_given", "run"]
