"""Files saved before the house was put in order still load, and hold what they held.

They were written by commit c85222f, small, each in its format. `expected.json` holds the numbers that were true then.
"""

import json
import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import wayforward as wf
from wayforward.groups import Groups
from wayforward.impact import society
from wayforward.people.dialogue import Dialogue
from wayforward.preferences import PreferencePlan
from wayforward.problem.cost import cost_from_dict
from wayforward.problem.plausibility import plausibility_from_dict

from . import setting as s

for _library in ("torch", "pandas", "pyarrow", "skops", "xgboost", "lightgbm", "catboost", "onnxruntime"):
    pytest.importorskip(_library)

from wayforward.density.generative import load_generator  # noqa: E402

FOLDER = Path(__file__).parent / "files"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())

UNCHECKED = "This comes from a file and was not checked again, so it may not hold."  # without a checksum then


def numbers(thing) -> np.ndarray:
    return np.array(thing, dtype=object).astype(np.float64)


def same(got, wanted, rtol: float = 1e-9, atol: float = 0.0, what: str = "") -> None:
    """Arrays close, text and bools equal, dicts entry by entry."""
    if isinstance(wanted, dict):
        assert isinstance(got, dict) and set(map(str, got)) == set(wanted), (what, got, wanted)
        for key, value in got.items():
            same(value, wanted[str(key)], rtol, atol, f"{what}.{key}")
        return
    if isinstance(wanted, list) and not isinstance(got, np.ndarray) and _texts(wanted):
        assert len(got) == len(wanted), (what, got, wanted)
        for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
            same(a, b, rtol, atol, f"{what}[{i}]")
        return
    if isinstance(wanted, (str, bool, type(None))) and wanted not in ("nan", "inf", "-inf"):
        assert got == wanted, (what, got, wanted)
        return
    a, b = np.asarray(got, dtype=np.float64), numbers(wanted)
    assert a.shape == b.shape, (what, a.shape, b.shape)
    np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=what)


def _texts(thing) -> bool:
    if isinstance(thing, list):
        return any(_texts(one) for one in thing)
    return (
        isinstance(thing, dict)
        or thing is None
        or (isinstance(thing, str) and thing not in ("nan", "inf", "-inf"))
    )


schema, x, refused = s.schema(), s.people(), s.refused()
y = s.labels(x)


def line():
    """The linear world of the files."""
    return wf.LinearWorld.load(FOLDER / "world-linear.safetensors", schema)


def check(*files):
    """Run a check for each of some files, with the numbers that were stored beside them."""
    return pytest.mark.parametrize(
        ("file", "stored"), [pytest.param(f, EXPECTED.get(f), id=f) for f in files]
    )


@check("schema.yaml")
def test_of_schema(file, stored):
    same(schema.to_dict(), stored["to_dict"])
    assert schema.to_yaml() == (FOLDER / file).read_text()


@check("people.csv")
def test_of_people(file, stored):
    import pandas

    frame = pandas.read_csv(FOLDER / file)
    assert (
        np.array_equal(schema.encode(frame.drop(columns="granted")), x)
        and frame["granted"].tolist() == y.tolist()
    )
    same(x.sum(0), stored["sum"])


@check(
    "world-scm.yaml",
    "world-scm-soft.yaml",
    "world-linear.safetensors",
    "world-flow-affine.safetensors",
    "world-flow-spline.safetensors",
    "world-gp.safetensors",
)
def test_of_world(file, stored):
    load = {"linear": wf.LinearWorld, "flow": wf.CausalFlow, "gp": wf.GaussianProcessWorld}.get(
        file.split("-")[1].split(".")[0]
    )
    worlds = [wf.world.load_world(FOLDER / file, schema)]
    worlds.append(load.load(FOLDER / file, schema) if load else wf.SCM.from_yaml(FOLDER / file).bind(schema))
    for it in worlds:
        assert type(it).__name__ == stored["kind"]
        action = s.raised(refused)
        for name, work in (
            ("consequences", lambda: it.consequences(refused, action)), ("descendants", lambda: np.asarray(it.descendants)),
            ("log_density", lambda: it.log_density(refused)), ("abduct", lambda: it.abduct(refused)), ("sample", lambda: it.sample(4, 3)),
            ("draws", lambda: it.draws(refused[:2], action[:2], 3, np.arange(2, dtype=np.uint64))),
        ):  # fmt: skip
            if name not in stored:
                continue
            if isinstance(stored[name], str):
                with pytest.raises(wf.WayforwardError) as raised:
                    work()
                assert raised.type.__name__ == stored[name]
            else:
                same(work(), stored[name], 1e-6, 1e-9, name)
        if "weights" in stored:
            same(it.weights, stored["weights"])
        if "counterfactual" in stored:
            same(np.stack(it.counterfactual(refused, action)), stored["counterfactual"], 1e-6, 1e-9)
        if "held_out" in stored.get("report", {}):
            assert it.report.held_out == stored["report"]["held_out"]


@check("checkpoint-flow.safetensors")
def test_of_flow_checkpoint(file, stored):
    given = stored["settings"]
    graph = wf.CausalGraph.read(s.CAUSES, nodes=schema.names)
    seen = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copy(FOLDER / file, folder))
        it = wf.CausalFlow.fit(
            graph, x, schema, checkpoint=copy, progress=lambda done, most: seen.append(done), **given
        )
        copy = Path(shutil.copy(FOLDER / file, folder))
        with pytest.raises(wf.WayforwardError):
            wf.CausalFlow.fit(graph, x, schema, checkpoint=copy, **{**given, "seed": 1})
    assert seen[0] == stored["first_epoch_told"]
    same(it.log_density(refused), stored["log_density"], 1e-4)
    # The first half was trained on another processor, which may round otherwise.
    same(it.log_density(refused), wf.CausalFlow.fit(graph, x, schema, **given).log_density(refused), 1e-5)


RECOURSES = [
    f"recourse{name}.{ending}"
    for name in ("", "-wishes", "-chance", "-path")
    for ending in ("json", "parquet")
]


@check(*RECOURSES)
def test_of_recourse(file, stored):
    got = wf.Recourse.load(FOLDER / file)
    for name in ("action", "after", "cost", "plain_cost", "chance", "score", "score_before", "path"):
        if name in stored:
            mine, wanted = getattr(got, name), stored[name]
            assert np.array_equal(mine, numbers(wanted).reshape(mine.shape), equal_nan=True), name
    assert [[o.name for o in row] for row in got.outcome] == stored["outcome"] and got.method == stored[
        "method"
    ]
    if "preferences" in stored:
        same(got.preferences.to_dict(), stored["preferences"])
        shares = re.sub(
            r"0\.(\d\d), without your own weights 0\.\1", "\\1\u202f%", stored["explain"]
        )  # told as such since
        assert got.weighted and got.explain(1) == f"{UNCHECKED} {shares}"
    elif "explain" in stored:
        price = " This asks for about 97\u202f% more than option 1."  # told since then
        assert got.explain(0) == f"{UNCHECKED} {stored['explain']}{price}" and repr(got) == stored["repr"]
        assert wf.evaluate(got, s.problem()).usable == stored["usable"]
    with tempfile.TemporaryDirectory() as folder:
        again = wf.Recourse.load(got.save(Path(folder) / file))
        assert np.array_equal(again.action, got.action, equal_nan=True) and again.meta == got.meta


@check("recourse-older.json")
def test_of_older(file, stored):
    same(wf.Recourse.load(FOLDER / file).plain_cost, stored["plain_cost"])


@check("preferences.json", "preferences-ranks.json", "preferences.csv")
def test_of_preferences(file, stored):
    got = (
        wf.Preferences.from_table(schema, FOLDER / file, n=6, x=refused)
        if file.endswith("csv")
        else wf.Preferences.load(FOLDER / file, schema)
    )
    same(got.to_dict(), stored["to_dict"])
    if file == "preferences.json":
        same(s.wishes().to_dict(), stored["to_dict"])
        assert got.describe() == stored["describe"]


@check("preference-plan.json")
def test_of_plan(file, stored):
    plan = PreferencePlan.load(FOLDER / file)
    assert plan.seed == stored["seed"]
    for split in ("train", "test"):
        same(plan.draw(schema, 4, split).weight, stored[split])


@check(
    *[
        f"model-{name}"
        for name in (
            "lr.skops",
            "mlp.skops",
            "rf.skops",
            "gb.skops",
            "pipeline.skops",
            "torch.safetensors",
            "xgboost.ubj",
            "xgboost.json",
            "lightgbm.txt",
            "catboost.cbm",
        )
    ],
    "model.onnx",
)
def test_of_model(file, stored):
    it = wf.model.load(FOLDER / file, schema)
    same(it.outputs(x[:40]), stored["outputs"], 1e-6, 1e-9)
    assert (
        np.asarray(it.native(x[:40])[1]).astype(int).tolist() == stored["labels"]
        and str(it.access) == stored["access"]
    )
    if "torch" in file:
        assert np.array_equal(it.outputs(x), wf.wrap(s.network(), schema).outputs(x))


@check("method-carma.safetensors", "method-icarma.safetensors", "method-icarma-ranks.safetensors")
def test_of_method(file, stored):
    kind = type(wf.method(file.split("-")[1].split(".")[0]))
    asked = s.problem(line())
    it = kind.load(FOLDER / file, asked)
    said, got = it.propose(refused, s.wishes()), it.recommend(refused, 2, seed=0, minimal=False)
    same(said.chance, stored["chance"], 1e-5, 1e-6)
    assert np.array_equal(np.isnan(said.action), np.isnan(numbers(stored["action"])))
    same(said.action, stored["action"], 0, 32.0)
    assert [[o.name for o in row] for row in got.outcome] == stored["recommend.outcome"]
    same(got.cost, stored["recommend.cost"], 1e-2)
    same({k: v for k, v in it.report_.to_dict().items() if k != "seconds"}, stored["report"])
    same(it.parameters(), stored["parameters"] | {"device": None})  # a later setting
    with pytest.raises(wf.WayforwardError):
        kind.load(FOLDER / file, s.problem())


@check("checkpoint-carma.safetensors", "checkpoint-icarma.safetensors")
def test_of_training(file, stored):
    name, asked, seen = file.split("-")[1].split(".")[0], s.problem(line()), []
    given = {**stored["settings"], "seeds": tuple(stored["settings"]["seeds"])}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copy(FOLDER / file, folder))
        it = wf.method(name, **given, checkpoint=copy, progress=lambda done, most: seen.append(done)).fit(
            asked
        )
        copy = Path(shutil.copy(FOLDER / file, folder))
        with pytest.raises(wf.WayforwardError):
            wf.method(name, **{**given, "margin": 0.2}, checkpoint=copy).fit(asked)
    assert seen[0] == stored["first_epoch_told"]
    same(it.propose(refused).chance, stored["chance"], 1e-3, 1e-4)
    # The first half was trained on another processor, which may round otherwise.
    same(it.propose(refused).chance, wf.method(name, **given).fit(asked).propose(refused).chance, 1e-4, 1e-6)


@check(*[f"generator-{kind}.safetensors" for kind in ("vae", "cvae", "csvae", "ibr")])
def test_of_generator(file, stored):
    it = load_generator(FOLDER / file, schema)
    assert (
        it.kind == stored["kind"]
        and it.n_z == stored["n_z"]
        and np.asarray(it.given).astype(int).tolist() == stored["given"]
    )
    z = it.encode(refused)
    same(z.numpy(), stored["encode"], 1e-5, 1e-5)
    same(np.asarray(it.rows(z, refused)), stored["rows"], 1e-4, 1e-3)
    same({k: v for k, v in it.report.to_dict().items() if "second" not in k}, stored["report"])
    got = wf.recommend(
        s.problem(),
        refused,
        method=stored["method"],
        generator=it,
        seed=0,
        minimal=False,
        **stored["settings"],
    )
    assert [[o.name for o in row] for row in got.outcome] == stored["recommend.outcome"]
    same(got.cost, stored["recommend.cost"], 1e-2)


@check("costs.json")
def test_of_costs(file, stored):
    read = cost_from_dict
    target = np.where(np.arange(8) % 2 == 1, x[10:16], np.nan)
    for name, entry in json.loads((FOLDER / file).read_text()).items():
        it = read(entry)
        same(it.total(refused, target), stored[name]["total"], 1e-12)
        assert (it.unit, it.describe()) == (stored[name]["unit"], stored[name]["describe"])
        assert json.loads(json.dumps(it.to_dict())) == entry


@check("plausibilities.json")
def test_of_plausibilities(file, stored):
    read = plausibility_from_dict
    for name, entry in json.loads((FOLDER / file).read_text()).items():
        it = read(entry)
        assert json.loads(json.dumps(it.to_dict())) == entry
        if name in stored:
            fitted = it.fit(schema, x, y.astype(bool))
            same(fitted.score(refused), stored[name]["score"])
            same(float(fitted.threshold), stored[name]["threshold"])


@check(
    *[
        f"dialogue-{name}.json"
        for name in ("multi-hare", "multi-hare-causal", "hare", "learned", "pear", "none")
    ]
)
def test_of_dialogue(file, stored):
    asked = s.problem(line() if "causal" in file else None)
    before = (FOLDER / file).read_bytes()
    it = Dialogue.load(FOLDER / file, asked, autosave=False)
    assert it.answered == stored["answered"]  # plans came out of a search that finds cheaper ones by now
    same(it.preferences.to_dict(), stored["preferences"])
    question = it.ask()
    assert question is None or question.id == stored["id"] or "was renewed" in question.notes[0]
    assert (FOLDER / file).read_bytes() == before
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copy(FOLDER / file, folder))
        on = Dialogue.load(copy, asked)
        if on.ask() is not None:
            on.answer("1")
            assert Dialogue.load(copy, asked).answered == stored["answered"] + 1
        copy.write_text(before.decode().replace('"answered"', '"replied"').replace('"seed": 0', '"seed": 1'))
        with pytest.raises(wf.WayforwardError):
            Dialogue.load(copy, asked)


def _society():
    crowd = x[:80]
    return society, society.Setting(
        problem=s.problem(),
        x=crowd,
        groups=Groups.of("sex", crowd, schema),
        world=None,
        outcome=lambda rows: s.probability(rows)[:, 1],
    )


@check("scenario.yaml")
def test_of_scenario(file, stored):
    home, _ = _society()
    it = home.Scenario.from_yaml(FOLDER / file)
    same(json.loads(json.dumps(it.to_dict())), stored["to_dict"])
    assert it.to_yaml() == (FOLDER / file).read_text()


@check("society-history.json")
def test_of_history(file, stored):
    home, own = _society()
    it = home.History.load(FOLDER / file)
    for name, value in stored.items():
        same(it.figure(name) if name != "acceptance_f" else it.figure("acceptance", group="f"), value)
    again = home.simulate(home.Scenario.from_yaml(FOLDER / "scenario.yaml"), own)
    # its plans came out of a search that finds cheaper ones by now
    assert again.to_dict().keys() - {"titles"} == it.to_dict().keys()  # which say what groups are called
    assert again.scenario == it.scenario
    mine, before = json.loads(json.dumps(it.to_dict())), json.loads((FOLDER / file).read_text())
    later = {name: mine["flows"].pop(name) for name in mine["flows"].keys() - before["flows"].keys()}
    assert mine == before and later.keys() <= {"earned", "arrived"}
    assert not any(np.any(flow) for flow in later.values())  # of what nobody counted then there is none


@check("society-checkpoint.npz")
def test_of_society(file, stored):
    home, own = _society()
    longer, seen = replace(home.Scenario.from_yaml(FOLDER / "scenario.yaml"), rounds=4), []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copy(FOLDER / file, folder))
        if (
            file == "society-checkpoint.npz"
        ):  # of a search that gave dearer advice: rounds of both do not go together
            with pytest.raises(wf.WayforwardError, match="is the state of another scenario, model or people"):
                home.simulate(longer, own, checkpoint=copy)
            return
        got = home.simulate(longer, own, checkpoint=copy, progress=lambda done, most: seen.append(done))
        copy = Path(shutil.copy(FOLDER / file, folder))
        with pytest.raises(wf.WayforwardError):
            home.simulate(replace(longer, seed=4), own, checkpoint=copy)
    assert seen[0] == stored["first_round_told"] and got.society.identity() == stored["identity"]
    same(got.society.x.sum(0), stored["x_sum"])
    for name in ("acceptance", "default", "holds", "cost"):
        same(got.figure(name), stored[name])
    assert got.same(home.simulate(longer, own))


def _timeless(thing):
    if isinstance(thing, dict):
        return {
            k: _timeless(v)
            for k, v in thing.items()
            if not any(
                w in k for w in ("seconds", "per_second", "versions", "copies_people")
            )  # counted since
        }
    return [_timeless(v) for v in thing] if isinstance(thing, list) else thing


def _like(got, wanted, where=""):
    if isinstance(wanted, dict):
        assert list(got) == list(wanted), (where, list(got), list(wanted))
        for key in wanted:
            _like(got[key], wanted[key], f"{where}.{key}")
    elif isinstance(wanted, list):
        assert len(got) == len(wanted), where
        for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
            _like(a, b, f"{where}[{i}]")
    elif isinstance(wanted, float):
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-9, err_msg=where)
    else:
        assert got == wanted, (where, got, wanted)


@check("evaluation.json")
def test_of_evaluation(file, stored):
    got = wf.evaluate(
        wf.Recourse.load(FOLDER / "recourse-wishes.json"),
        s.problem(line()),
        bootstrap=50,
        groups=np.array(["a", "b"] * 3),
    )
    _like(_timeless(json.loads(got.to_json())), _timeless(json.loads((FOLDER / file).read_text())))
