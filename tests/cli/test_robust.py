"""--robust: what options must withstand, at every command that looks for plans; mistakes end in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import wayforward as wf
from wayforward.cli.inputs import Inputs
from wayforward.problem import AllModels

from .conftest import ASK, Shell
from .test_dialogue import ASK as TALK
from .test_dialogue import refused, typed


def costs(shell: Shell, more: str) -> tuple[wf.Recourse, dict]:
    shell(f"{ASK} --people people.csv --out a.json --json n.json {more}")
    return wf.Recourse.load(Path("a.json")), json.loads(Path("n.json").read_text())


def test_options_keep_what_was_asked_for(shell: Shell):
    plain, _ = costs(shell, "")
    got, numbers = costs(shell, "--robust within-delta:0.1 --robust noise:0.02,alpha=0.2")
    both = plain.found[:, 0] & got.found[:, 0]
    assert both.sum() > 5 and (got.cost[both, 0] > plain.cost[both, 0]).all()
    assert numbers["question"]["robust"] == ["within-delta:0.1", "noise:0.02,alpha=0.2"]
    assert "within 0.1" in got.meta["robust"] and "probability 0.8" in got.meta["robust"]
    told = shell("evaluate a.json --json e.json")
    assert "100.0% are still a yes for every model" in told.output
    assert json.loads(Path("e.json").read_text())["robust"]["kept"]["value"] == 1
    shell("evaluate a.json --robust within-delta:0.4 --json e.json")
    assert json.loads(Path("e.json").read_text())["robust"]["kept"]["value"] < 0.5
    shell("evaluate a.json --robust none --json e.json")
    assert "robust" not in json.loads(Path("e.json").read_text())


def test_models_trained_again_say_yes_and_an_audit_judges_by_others(shell: Shell):
    got, _ = costs(shell, "--robust models:3")
    question = Inputs.from_plain(got.meta["question"])
    robust = question.prepare(got.schema).problem.robust
    assert isinstance(robust, AllModels) and len(robust.models) == 3
    assert got.found[:, 0].sum() > 5
    assert robust.votes(got.after[got.found[:, 0], 0]).all()
    first = robust.models[0].named_steps["model"].coef_
    ask = f"audit {ASK.removeprefix('recommend ')} --second none --retrained 2 --group housing --n 30 --json a.json"
    shell(f"{ask}")
    before = json.loads(Path("a.json").read_text())["robustness"]["groups"][0]["yes_of_retrained_models"]
    shell(f"{ask} --robust models:3 --robust within-delta:0.1")
    numbers = json.loads(Path("a.json").read_text())
    after = numbers["robustness"]["groups"][0]["yes_of_retrained_models"]
    assert after["value"] > before["value"]
    from wayforward.cli.audit import _trained_again

    others = _trained_again(question, question.prepare(got.schema), 1)
    assert not np.allclose(others[0].named_steps["model"].coef_, first)


def test_a_dialogue_offers_what_lasts_and_keeps_to_it(shell: Shell):
    i = refused(shell)
    cost = []
    for more in ("", "--robust within-delta:0.1"):
        shell(
            f"{TALK} {i} --questionnaire none --replies - --json out.json {more}".replace(
                "--replies -", _yes()
            )
        )
        cost.append(json.loads(Path("out.json").read_text())["cost"])
    assert cost[1] > cost[0]
    typed(f"{TALK} {i} --state s.json --robust within-delta:0.1", "no\nq\n")
    same = typed(f"{TALK} {i} --state s.json --robust within-delta:0.1", "q\n")
    assert "We go on where you stopped" in same
    for other in ("", " --robust within-delta:0.2", " --robust noise:0.02"):
        told = typed(f"{TALK} {i} --state s.json{other}", "q\n", code=2)
        assert "what a plan must withstand" in told and "within 0.1" in told


def _yes() -> str:
    Path("yes.txt").write_text("yes\n" * 3)
    return "--replies yes.txt"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("--robust noise", "needs the size of errors"),
        ("--robust delta:0.1", "Known: within-delta, noise, models, next, stable"),
        ("--robust within-delta:0.1,nrm=l2", "'nrm=l2' is no setting"),
        ("--robust within-delta:0.1 --model rf", "AllModels"),
    ],
)
def test_bad_conditions_are_one_line(shell: Shell, more: str, told: str):
    for command in ("recommend", "audit --group housing", "dialogue"):
        got = shell(f"{command} {ASK.removeprefix('recommend ')} {more}", code=2)
        assert told in got.output and "Traceback" not in got.output


def test_a_model_from_a_file_cannot_be_trained_again(shell: Shell):
    from wayforward.data.user_tables import read_table
    from wayforward.model import save, train

    schema = wf.Schema.from_yaml(Path("schema.yaml"))
    table = read_table(Path("train.csv"))
    model = train("lr", schema, table, table["y"])
    save(model, Path("model.skops"))
    got = shell(
        f"{ASK} --people people.csv --robust models:2".replace("--model lr", "--model model.skops"), code=2
    )
    assert "cannot be trained again" in got.output
