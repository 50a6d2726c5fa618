"""The web application: for applicants, lenders, auditors and participants of studies. `wayforward serve` opens it.

Plans come from `Problem`, questions from `Dialogue`, audits from `impact`: nothing here decides anything. The floor
below the pages are services (`accounts`, `projects`, `cases`, `jobs`), plain functions over a database session; pages,
the JSON interface and the commands call the same ones. It needs the extra `web`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wayforward.lazy import face

_HOME = {"ServeSettings": "settings", "create_app": "http.app"}

__all__ = ["ServeSettings", "create_app"]

__getattr__ = face(__name__, _HOME)


if TYPE_CHECKING:
    from wayforward.serve.http.app import create_app
    from wayforward.serve.settings import ServeSettings
