"""What `wayforward serve` does in which order."""

from __future__ import annotations

import time

import pytest

from wayforward.cli.serve import run
from wayforward.serve.settings import ServeSettings

uvicorn = pytest.importorskip("uvicorn", reason="the web application needs the extra web")


def test_all_pages_are_imported_before_a_second_thread_begins(tmp_path, monkeypatch):
    """A server that was started again ended with "cannot import name ... from partially initialized module"."""
    order = []

    def application(services):
        time.sleep(0.3)  # a thread that had begun would be first
        order.append("pages")

    monkeypatch.setattr("wayforward.serve.http.app.create_app", application)
    monkeypatch.setattr("wayforward.serve.start.warm", lambda services: order.append("warm"))
    monkeypatch.setattr("wayforward.serve.start.prepare", lambda *given: [])
    monkeypatch.setattr("wayforward.serve.process.begin_process", lambda: None)
    monkeypatch.setattr(uvicorn, "run", lambda app, **more: time.sleep(0.3))
    run(ServeSettings(home=tmp_path), None, host="127.0.0.1", port=1, check=False)
    assert order == ["pages", "warm"]
