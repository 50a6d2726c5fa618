"""Worlds from the shell: fitted from a graph and a table, checked, and used for advice."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from wayforward.recourse import Recourse
from wayforward.schema import Schema
from wayforward.world import LinearWorld, load_world

from .conftest import ASK, Shell

GRAPH = "cause,effect\nage,income\nincome,savings\nhousing,savings\nsavings,y\n"
FIT = "world fit --graph graph.csv --train train.csv --label y --schema schema.yaml"


@pytest.fixture
def world(shell: Shell) -> Shell:
    Path("graph.csv").write_text(GRAPH)
    return shell


def test_fit_check_recommend(world: Shell):
    got = world(f"{FIT} --out world.safetensors --json fit.json")
    assert "savings" in got.output and "income, housing" in got.output and "log-density" in got.output
    told = json.loads(Path("fit.json").read_text())
    assert told["world"] == "LinearWorld" and told["features"]["savings"]["causes"] == ["income", "housing"]
    assert isinstance(load_world("world.safetensors"), LinearWorld)
    world("world check world.safetensors --train people.csv --json check.json")
    assert json.loads(Path("check.json").read_text())["rows"] == 60
    world(
        f"{ASK} --people people.csv --world world.safetensors --out r.json --plausibility at-least-as-likely"
    )
    got = Recourse.load("r.json")
    bound = load_world("world.safetensors", Schema.from_yaml("schema.yaml"))
    who, slot = np.nonzero(got.found & ~got.accepted[:, None])
    assert len(who)
    np.testing.assert_allclose(bound.consequences(got.x[who], got.action[who, slot]), got.after[who, slot])
    before, after = bound.log_density(got.x[who]), bound.log_density(got.after[who, slot])
    assert (after >= before - 1e-9).all()


@pytest.mark.parametrize("options", ["--kind gp", "--kind flow --epochs 2 --device cpu", "--soft"])
def test_other_kinds(world: Shell, options: str):
    if "flow" in options:
        pytest.importorskip("torch")
    world(f"{FIT} --out world.safetensors {options}")
    assert list(Path.cwd().glob("world*")) == [Path.cwd() / "world.safetensors"]
    found = load_world("world.safetensors", Schema.from_yaml("schema.yaml"))
    assert bool(found.soft) == ("soft" in options)


def test_equations_are_checked_too(world: Shell):
    Path("world.yaml").write_text(
        "equations: {age: u, income: 40 * age + u, savings: 0.5 * income + u, housing: u}\n"
    )
    got = world("world check world.yaml --train people.csv --label y --schema schema.yaml")
    assert "savings" in got.output


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"{FIT} --out w.safetensors --kind lin", "linear, flow, gp"),
        (f"{FIT} --out w.yaml", ".safetensors"),
        (f"{FIT} --out w.safetensors --epochs 3", "--epochs is for --kind flow"),
        (f"{FIT} --out w.safetensors --device cpu", "--device is for --kind flow"),
        (f"{FIT} --out w.safetensors --kind flow --device cuda:77", "device='cuda:77'"),
        (f"{FIT.replace('graph.csv', 'cycle.dot')} --out w.safetensors", "cycle: age -> income -> age"),
        (f"{FIT.replace('graph.csv', 'short.dot')} --out w.safetensors", "'housing' that is no node"),
        (f"{FIT.replace('graph.csv', 'none.dot')} --out w.safetensors", "cannot be read"),
        (f"{FIT} --out w.safetensors --drop incom", "Did you mean 'income'"),
        ("world check none.safetensors --train people.csv", "no world file"),
        (f"{ASK} --people people.csv --plausibility at-least-as-likely", "--world"),
        (f"{ASK} --people people.csv --world broken.safetensors", "broken.safetensors"),
    ],
)
def test_bad_input_ends_in_one_line(world: Shell, line: str, said: str):
    Path("cycle.dot").write_text("digraph { age -> income; income -> age; savings; housing }")
    Path("short.dot").write_text("digraph { age -> income -> savings }")
    Path("broken.safetensors").write_bytes(b"\x00" * 40)
    got = world(line, code=2)
    assert said in got.output.replace("\n", " ") and "Traceback" not in got.output
