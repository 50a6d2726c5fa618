"""The commands of studies: a protocol from its first line to the analysis of its export."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from wayforward.cli.app import app
from wayforward.study.ready_made import NAMES, ready_made


def run(*command: object, code: int = 0) -> str:
    got = CliRunner().invoke(app, ["study", *map(str, command)])
    assert got.exit_code == code, got.output
    return got.stdout if code == 0 else got.output


def test_from_a_new_protocol_to_its_analysis(tmp_path):
    pytest.importorskip("pandas")
    mine, folder = tmp_path / "mine.yaml", tmp_path / "export"
    run("new", mine, "--from", "car-loan")
    assert json.loads(run("validate", mine, "--json", "-"))["sha256"] == ready_made("car-loan").hash
    run("rehearse", mine, "--participants", 40, "--out", folder)
    found = json.loads(run("analyse", folder, "--json", "-"))
    assert {one["outcome"] for one in found["models"]} == {"acceptance", "action"}
    assert "there already" in run("new", mine, code=2)
    mine.write_text(mine.read_text().replace("minutes: 20", "minutes: many"))
    assert "minutes" in run("validate", mine, code=2)
    assert "Did you mean" in run("new", tmp_path / "x.yaml", "--from", "point-or-regions", code=2)


@pytest.mark.parametrize("name", NAMES)
def test_the_preview_holds_every_screen_and_asks_nobody(name, tmp_path):
    out = tmp_path / "screens.html"
    run("preview", name, "--out", out)
    page, protocol = out.read_text(), ready_made(name)
    for _, _, screen in protocol.screens:
        assert f"<em>{screen.id}" in page
    assert page.count("<form>") == len(list(protocol.screens)) and not re.search(
        r"(src|href|action)=|<script", page
    )
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for target in re.findall(r'(?:for|aria-describedby)="([^"]+)"', page):
        assert target in ids


def test_a_preview_speaks_a_language_of_the_protocol(tmp_path):
    out = tmp_path / "screens.html"
    run("preview", "point-or-region", "--language", "de", "--out", out)
    assert 'lang="de"' in out.read_text() and "Wie alt sind Sie?" in out.read_text()
    assert "no language 'fr'" in run("preview", "point-or-region", "--language", "fr", "--out", out, code=2)
