"""Any saved world opens from one door, and a check says what a world misses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from wayforward.errors import DataError, FileFormatError, WorldError
from wayforward.schema import Feature, Schema
from wayforward.world import SCM, Independent, LinearWorld, load_world
from wayforward.world.chains import FEATURES, chain
from wayforward.world.check import check
from wayforward.world.graph import CausalGraph
from wayforward.world.registry import FITTED, world_class

SCHEMA = Schema(tuple(Feature(name=name, kind="real") for name in FEATURES))
OPTIONS = {"linear": {}, "flow": {"epochs": 2}, "gp": {"most": 60, "tune": 40}}


@pytest.mark.parametrize("kind", FITTED)
def test_every_kind_comes_back_as_itself(kind, tmp_path):
    if kind == "flow":
        pytest.importorskip("torch")
    true = chain("3-anm")
    x = true.sample(200, 0)
    world = world_class(kind).fit(CausalGraph.read(true), x, SCHEMA, **OPTIONS[kind])
    world.save(tmp_path / "world.safetensors")
    back = load_world(tmp_path / "world.safetensors", SCHEMA)
    assert type(back) is world_class(kind)
    action = np.full((200, 3), np.nan)
    action[:, 0] = 1
    np.testing.assert_allclose(back.consequences(x, action), world.consequences(x, action), atol=1e-9)
    assert CausalGraph.read(back) == CausalGraph.read(true)


def test_equations_from_yaml(tmp_path):
    chain("3-lin").to_yaml(tmp_path / "world.yaml")
    assert isinstance(load_world(tmp_path / "world.yaml"), SCM)
    assert load_world(tmp_path / "world.yaml", SCHEMA).schema == SCHEMA
    with pytest.raises(WorldError, match="'x3'"):
        load_world(tmp_path / "world.yaml", SCHEMA.drop("x3"))


def test_what_is_no_world(tmp_path):
    from safetensors.numpy import save_file

    with pytest.raises(FileFormatError, match="no world file"):
        load_world(tmp_path / "no.safetensors")
    (tmp_path / "a.safetensors").write_bytes(b"12345")
    with pytest.raises(FileFormatError, match=r"'a\.safetensors' is no saved world"):
        load_world(tmp_path / "a.safetensors")
    save_file(
        {"w": np.zeros(2)}, tmp_path / "b.safetensors", metadata={"wayforward": json.dumps({"kind": "net"})}
    )
    with pytest.raises(FileFormatError, match="holds 'net'"):
        load_world(tmp_path / "b.safetensors")
    with pytest.raises(FileFormatError, match="linear, flow, gp"):
        world_class("lin")


def test_a_true_world_passes_its_check():
    true = chain("3-anm")
    got = check(true, true.sample(4000, 0), SCHEMA)
    assert got.rows == 4000 and got.round_trip < 1e-9
    assert got.log_density == pytest.approx(true.log_density(true.sample(4000, 0)).mean())
    for feature in got.features:
        assert feature.gap < 0.05 and not feature.noise_left > got.by_chance
        assert feature.mean_world == pytest.approx(feature.mean, abs=0.1)
    assert "still depends" not in str(got)


@pytest.mark.parametrize("name", ["3-anm", "3-nonadditive"])
def test_the_check_sees_what_a_linear_world_misses(name):
    true = chain(name)
    world = LinearWorld.fit(CausalGraph.read(true), true.sample(4000, 0), SCHEMA)
    got = check(world, true.sample(4000, 1))
    left = {f.name: f.noise_left for f in got.features}
    assert np.isnan(left["x1"]) and left["x2"] > 2 * got.by_chance
    assert got.features[0].gap > 0.05  # x1 has two clusters, a normal has one
    assert "'x2'" in str(got) or "'x3'" in str(got)
    assert got.log_density < check(true, true.sample(4000, 1), SCHEMA).log_density - 0.1


def test_levels_and_worlds_that_know_little():
    schema = Schema(
        (Feature(name="a", kind="categorical", levels=("x", "y", "z")), Feature(name="b", kind="real"))
    )
    world = SCM(
        {"a": "u", "b": "2 * (a == 'y') + u"}, {"a": "Categorical(0.2, 0.5, 0.3)", "b": "Normal(0, 1)"}
    )
    x = world.bind(schema).sample(2000, 0)
    got = check(world, x, schema)
    assert got.features[0].gap < 0.05 and got.features[1].noise_left < got.by_chance
    silent = check(Independent(), x, schema)
    assert np.isnan(silent.log_density) and np.isnan(silent.features[0].gap)
    with pytest.raises(WorldError, match="not bound"):
        check(world, x)
    with pytest.raises(DataError, match="3 whole rows"):
        check(world, x[:3], schema)
