"""Fuzz every reader and every public function: nothing but the library's own errors, and nothing hangs.

``python -m benchmarks.fuzz --seconds 600`` (`make fuzz`); seconds are the processor's. Hypothesis draws the junk and
shrinks what fails. Files are honest ones with parts that were replaced, cut off or flipped; calls are honest ones of
which one argument is junk. Files of models are read and asked in processes of their own, since native code may end
them. Exit code 1: a failure.
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException
from typer.testing import CliRunner

import wayforward as wf
from wayforward.answers import explain, letter, report
from wayforward.cli.app import app as cli_app
from wayforward.density.private import private_people
from wayforward.errors import WayforwardError
from wayforward.evaluate import evaluate
from wayforward.evaluate.rechecked import recheck
from wayforward.groups import Groups
from wayforward.impact.audit import audit
from wayforward.impact.audit import report as audit_page
from wayforward.impact.disclosure import Ledger
from wayforward.impact.segregation import segregation, segregation_index
from wayforward.impact.society import Advice, Scenario
from wayforward.impact.summaries import summariser, summarize
from wayforward.methods import names
from wayforward.methods.certificates import certified
from wayforward.model.files import load as load_model
from wayforward.model.zoo import train
from wayforward.people.dialogue.questionnaire import parts_of
from wayforward.people.elicitors import elicitor
from wayforward.plain_files import parse_yaml, read_json
from wayforward.preferences import Preferences
from wayforward.problem.cost.registry import cost_named
from wayforward.problem.plausibility.registry import plausibility_named
from wayforward.recourse import Recourse
from wayforward.schema import Schema
from wayforward.schema.acts import ActModel
from wayforward.study.ready_made import ready_made
from wayforward.testing.problems import case
from wayforward.tracks.tasks import TASKS, task
from wayforward.world import CausalGraph, LinearWorld, load_world
from wayforward.world.registry import world_class

SLOW = (
    "face",
    "carma",
    "icarma",
    "ebr",
    "ibr",
    "frace",
    "fare",  # and its tree: as many simulations as are asked for
    "efare",
)  # to fit: for what is taken of their settings tests are there
MUCH = 1000  # epochs, simulations, trees: a method that is told to do more may train for hours, as asked
HANGS = 20  # processor seconds that one try may take; ten times as many by the clock, if it waits for nothing
JUNK = (
    None, True, False, 0, 1, -1, 3, 10**30, -(10**30), 0.5, -0.5, 1e300, float("nan"), float("inf"), "", "x", "\x85",
    "[/red]", "age", b"x", [], [1], ["age"], (), (1, 2), {}, {"age": 1}, {1: 2}, set(), object(), len, int, np.nan,
    np.array([]), np.array([1.0, 2.0]), np.zeros((2, 2)), np.array(["a"]), np.array([1j]), np.datetime64("2020-01-01"),
    range(3), Ellipsis, Path("no/where"), "/dev/null", 2**63, -(2**63), "1e400", "nan", 1 + 2j, slice(0, 2),
)  # fmt: skip
TEXT = st.one_of(
    st.sampled_from(
        ["", "nan", "inf", "-1", "1e400", "null", "[]", "age", "after.age", "\x85", "\u202e", "9" * 40]
    ),
    st.text(max_size=12),
)
LEAF = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False), TEXT,
    st.just([]), st.just({}), st.lists(st.integers(-3, 3), max_size=3),
)  # fmt: skip
CELL = st.one_of(st.sampled_from(JUNK), LEAF)


class Hang(BaseException):
    """A try took too long."""


def patience(pid: int | str = "self") -> float:
    """Return seconds of the clock, less those in which a process would have gone on and had no processor."""
    try:
        without = int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        without = 0.0
    return time.monotonic() - without


@dataclass
class Target:
    """One thing to try: `call` gets what hypothesis draws; a child process tries it where `apart`."""

    name: str
    draw: st.SearchStrategy[Any]
    call: Callable[[Any], Any]
    apart: bool = False
    most: int = 60  # draws a turn
    places: tuple[Any, ...] = ()  # where one thing is put that is junk: arguments, columns, settings
    seen: Counter[str] = field(default_factory=Counter)
    last: Any = None

    def __call__(self, drawn: Any) -> None:
        self.last = drawn
        if self.apart:
            self._in_a_child(drawn)
            return
        begun = patience()

        def late(which: int, _: Any) -> None:
            if which == signal.SIGALRM and patience() - begun < 10 * HANGS:
                signal.alarm(10 * HANGS)
            else:
                raise Hang

        before = [(which, signal.signal(which, late)) for which in (signal.SIGALRM, signal.SIGPROF)]
        signal.alarm(10 * HANGS)
        signal.setitimer(signal.ITIMER_PROF, HANGS)
        try:
            with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                warnings.simplefilter("ignore")
                self.call(drawn)
            self.seen["taken"] += 1
        except WayforwardError:
            self.seen["refused"] += 1
        finally:
            signal.alarm(0)
            signal.setitimer(signal.ITIMER_PROF, 0)
            for which, handler in before:
                signal.signal(which, handler)

    def _in_a_child(self, drawn: Any) -> None:
        child = os.fork()
        if not child:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            try:
                self.call(drawn)
                os._exit(0)
            except WayforwardError:
                os._exit(1)
            except BaseException:
                os._exit(2)
        begun = patience(child)
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            if patience(child) - begun > 10 * HANGS:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise Hang
            time.sleep(0.002)
        code = os.waitstatus_to_exitcode(status)
        self.seen["taken" if code == 0 else "refused"] += 1
        assert code in (0, 1), f"the process ended with {code} (2: another error, below 0: a signal)"


# -- files -----------------------------------------------------------------------------------------------------------


@st.composite
def bytes_of(draw: st.DrawFn, content: bytes) -> bytes:
    """A file with a few bytes flipped, cut off, doubled or put in."""
    made = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(made) - 1, 0)))
        kind = draw(st.sampled_from(["flip", "cut", "double", "put", "zero", "ones"]))
        if kind == "flip" and made:
            made[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            del made[at : at + draw(st.integers(1, 64))]
        elif kind == "double":
            made[at:at] = made[at : at + draw(st.integers(1, 64))]
        elif kind == "put":
            made[at:at] = draw(st.binary(max_size=8))
        else:
            made[at : at + 4] = (b"\x00" if kind == "zero" else b"\xff") * len(made[at : at + 4])
    return bytes(made)


@st.composite
def tree_of(draw: st.DrawFn, data: Any) -> Any:
    """Plain data of which a few nodes are replaced or taken out."""
    made = copy.deepcopy(data)
    for _ in range(draw(st.integers(1, 2))):
        node, path = made, []
        while isinstance(node, (dict, list)) and node and (not path or draw(st.integers(0, 4))):
            key = draw(st.sampled_from(sorted(node, key=str))) if isinstance(node, dict) else None
            key = draw(st.integers(0, len(node) - 1)) if key is None else key
            path.append((node, key))
            node = node[key]
        if not path:
            return draw(LEAF)
        parent, key = path[-1]
        if draw(st.integers(0, 3)):
            parent[key] = draw(LEAF)
        else:
            del parent[key]
    return made


def text_of(data: Any) -> str:
    """JSON, which is YAML as well."""
    return json.dumps(data, default=str)


def files(folder: Path) -> list[Target]:
    """Readers of schemas, preferences, acts, scenarios and answers."""
    it = case("forest", "independent", 0, 8)
    schema, got = it.problem.schema, wf.recommend(it.problem, it.x, k=2)
    wishes = Preferences.none(schema, 2).freeze("savings").limit("income", high=6000.0)
    acts = {"acts": [{"name": "save", "moves": {"savings": [0, 5000]}, "cost": 1, "months": 3}]}
    scenario = {"rounds": 2, "people": 50, "lender": {"capacity": 0.5}, "compliance": {"kind": "willing"}}
    got.save(folder / "a.json")
    got.save(folder / "a.parquet")

    def through(name: str, read: Callable[[Path], Any]) -> Callable[[Any], Any]:
        def call(content: Any) -> Any:
            file = folder / name
            file.write_bytes(
                content if isinstance(content, bytes) else text_of(content).encode("utf-8", "replace")
            )
            return read(file)

        return call

    def answers(file: Path) -> None:
        back = Recourse.load(file)
        back.explain(0)
        back.to_frame("dict")
        recheck(back, it.problem)

    plain, stored = schema.to_dict(), read_json(folder / "a.json")
    unsigned = {key: value for key, value in stored.items() if key != "sha256"}
    made = [
        ("schema.yaml", plain, lambda f: Schema.from_yaml(f)),
        ("acts.yaml", acts, lambda f: ActModel.from_yaml(f, schema)),
        ("scenario.yaml", scenario, lambda f: Scenario.from_yaml(f)),
        ("wishes.json", wishes.to_dict(), lambda f: Preferences.load(f, schema)),
        ("answers.json", unsigned, answers),
    ]
    out = []
    for name, data, read in made:
        out.append(Target(f"tree {name}", tree_of(data), through(name, read)))
        out.append(Target(f"bytes {name}", bytes_of(text_of(data).encode()), through(f"b{name}", read)))
    content = (folder / "a.parquet").read_bytes()
    out.append(Target("bytes answers.parquet", bytes_of(content), through("p.parquet", answers)))
    out.append(Target("yaml", st.text(max_size=60), lambda text: parse_yaml(text, "text")))
    out.append(Target("rules", st.text(max_size=40), lambda text: Schema(schema.features, (text,))))
    return out


def make_models(folder: str) -> None:
    """Train small models and save them; in a process of its own, whose threads nobody inherits."""
    from sklearn.ensemble import RandomForestClassifier

    from wayforward.model.files import save

    it = case("linear", "independent", 0, 60)
    x, y = it.x, it.problem.reached(it.x)[0].astype(int)
    made: list[Any] = [RandomForestClassifier(3, max_depth=3, random_state=0)]
    for module, name, more in (
        ("xgboost", "XGBClassifier", {}), ("lightgbm", "LGBMClassifier", {"verbose": -1, "min_child_samples": 2}),
        ("catboost", "CatBoostClassifier", {"verbose": False, "allow_writing_files": False}),
    ):  # fmt: skip
        try:
            kind = getattr(__import__(module), name)
        except ImportError:
            continue
        made.append(kind(n_estimators=3, max_depth=2, **more))
    for one, ending in zip(made, (".skops", ".json", ".txt", ".cbm"), strict=False):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            save(one.fit(x, y), Path(folder) / f"model{ending}")


def models(folder: Path) -> list[Target]:
    """Files of models: read, and asked about a few rows."""
    process = multiprocessing.get_context("spawn").Process(target=make_models, args=(str(folder),))
    process.start()
    process.join()
    for library in (
        "skops.io",
        "sklearn.ensemble",
        "xgboost",
        "lightgbm",
        "catboost",
    ):  # once, and not in each child
        with suppress(ImportError):
            import_module(library)
    it = case("linear", "independent", 0, 8)
    out = []
    for file in sorted(folder.glob("model.*")):

        def call(content: bytes, ending: str = file.suffix) -> None:
            place = folder / f"f{os.getpid()}{ending}"
            try:
                place.write_bytes(content)
                load_model(place, it.problem.schema).native(it.x)
            finally:
                place.unlink(missing_ok=True)

        out.append(Target(f"model {file.suffix}", bytes_of(file.read_bytes()), call, apart=True, most=15))
    return out


# -- calls -----------------------------------------------------------------------------------------------------------


def with_junk(name: str, function: Callable[..., Any], honest: dict[str, Any], most: int = 60) -> Target:
    """A call of which one argument is junk."""

    def call(drawn: tuple[str, Any]) -> Any:
        if drawn[0] in ("progress", "say", "see", "units", "density", "worth") and callable(drawn[1]):
            return None  # what the caller's own function raises is the caller's
        return function(**honest | {drawn[0]: drawn[1]})

    places = tuple(sorted(honest))
    return Target(f"call {name}", st.tuples(st.sampled_from(places), CELL), call, most=most, places=places)


def calls(folder: Path) -> list[Target]:
    """Honest calls of which one argument is junk."""
    it = case("linear", "independent", 0, 8)
    problem, x, schema = it.problem, it.x, it.problem.schema
    got = wf.recommend(problem, x, k=2)
    method = wf.method("local-search").fit(problem)
    table = schema.decode(x[:2], "dict")
    feature = {"name": "age", "kind": "integer", "low": 18, "high": 80, "unit": "years"}
    made: list[tuple[str, Callable[..., Any], dict[str, Any]]] = [
        (
            "recommend",
            wf.recommend,
            {
                "problem": problem,
                "people": x[:2],
                "method": "local-search",
                "k": 1,
                "kinds": None,
                "pareto": None,
                "preferences": None,
                "seed": 0,
                "budget": 50,
                "deadline": None,
                "workers": 1,
                "on": None,
                "id": None,
                "strict": False,
                "minimal": None,
                "certify": False,
                "progress": None,
            },
        ),
        (
            "method.recommend",
            method.recommend,
            {"x": x[:2], "k": 1, "seed": 0, "budget": 50, "deadline": 5.0},
        ),
        ("method", wf.method, {"name": "local-search", "grid": 8, "starts": 8, "beam": 3, "fill": False}),
        (
            "Problem",
            wf.Problem,
            {
                "schema": schema,
                "model": problem.model,
                "target": problem.target,
                "data": x,
                "world": None,
                "cost": "l1",
                "plausibility": None,
                "confidence": None,
                "robust": None,
            },
        ),
        ("Target", wf.Target, {"favourable": 1, "threshold": 0.5, "interval": None}),
        ("Deadline", wf.Deadline, {"person": 1.0, "total": 5.0}),
        ("Feature", wf.Feature, {**feature, "actionability": "actionable", "direction": "any", "step": None}),
        (
            "wrap",
            wf.wrap,
            {"model": problem.model.wrapped, "schema": schema, "classes": (0, 1), "output": "auto"},
        ),
        ("evaluate", evaluate, {"recourse": got, "problem": problem, "groups": None, "metrics": "headline"}),
        ("recheck", recheck, {"answers": got, "problem": problem}),
        ("certified", certified, {"recourse": got, "boxes": 10}),
        ("explain", explain, {"recourse": got, "i": 0, "option": None, "problem": problem, "language": None}),
        ("letter", letter, {"problem": problem, "recourse": got, "i": 0, "language": None}),
        ("report", report, {"problem": problem, "recourse": got, "path": folder / "page.html"}),
        ("Recourse.explain", got.explain, {"i": 0, "option": None, "language": None}),
        ("Recourse.find", got.find, {"id": "a"}),
        ("Recourse.people_after", got.people_after, {"option": 0}),
        ("Recourse.to_frame", got.to_frame, {"like": "dict"}),
        ("Recourse.load", Recourse.load, {"path": folder / "a.json", "problem": None}),
        ("Schema", Schema, {"features": schema.features, "rules": ()}),
        ("Schema.from_dict", Schema.from_dict, {"data": schema.to_dict()}),
        ("Schema.from_yaml", Schema.from_yaml, {"source": folder / "schema.yaml"}),
        ("encode", schema.encode, {"table": table}),
        ("decode", schema.decode, {"x": x[:2], "like": "dict"}),
        (
            "limit",
            lambda **given: Preferences.none(schema, 2).limit("income", **given),
            {"low": 1.0, "high": 9.0},
        ),
        (
            "weigh",
            lambda **given: Preferences.none(schema, 2).weigh(**given),
            {"income": 2.0, "savings": 1.0},
        ),
        ("allow", lambda levels: Preferences.none(schema, 2).allow("housing", levels), {"levels": ["own"]}),
        ("at_most", lambda most: Preferences.none(schema, 2).at_most(most), {"most": 2}),
    ]
    made += [  # parts by their names
        ("cost_named", cost_named, {"name": "l1"}),
        ("plausibility_named", plausibility_named, {"name": "lof"}),
        ("world_class", world_class, {"kind": "linear"}),
        ("elicitor", elicitor, {"name": "hare"}),
        ("summariser", summariser, {"name": "tree"}),
        ("task", task, {"name": next(iter(TASKS))}),
        ("ready_made", ready_made, {"name": "car-loan"}),
        ("parts_of", parts_of, {"questionnaire": "limits"}),
        ("train", train, {"name": "lr", "schema": schema, "table": x, "y": np.arange(len(x)) % 2}),
    ]
    out = [with_junk(name, function, honest) for name, function, honest in made]

    def with_cell(drawn: tuple[str, Any]) -> None:
        column, value = drawn
        cells = [value, table[column][1]]
        people = {**table, column: cells}
        wf.recommend(problem, people, budget=50).explain(0)

    out.append(
        Target(
            "cell", st.tuples(st.sampled_from(sorted(table)), CELL), with_cell, places=tuple(sorted(table))
        )
    )
    return out


def texts() -> list[Target]:
    """Problems of texts, and what is asked of them."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    told = ["good kind work", "bad work", "good day", "bad late day", "kind", "late bad bad"]
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(told, ["y", "n", "y", "n", "y", "n"])
    problem = wf.TextProblem(model, told, favourable="y")
    words = [
        "[/red]",
        "\u202ebad",
        "bad\x00late",
        "a\u0301",
        "\ud800",
        "bad " * 99,
        "",
        "\n\n",
        "<del>bad</del>",
        *told,
    ]

    def ask(drawn: list[str]) -> None:
        got = problem.recommend(drawn, k=2, budget=200)
        for i in range(len(drawn)):
            for option in got.options(i):
                got.sentence(i, option), got.struck(i, option, "html"), got.after(i, option)
            got.letter(i)
        got.page("texts.html")

    made = [
        with_junk(
            "TextProblem",
            wf.TextProblem,
            {
                "pipeline": model,
                "texts": told,
                "favourable": "y",
                "target": None,
                "classes": None,
                "keep": (),
            },
        ),
        with_junk(
            "TextProblem.recommend",
            lambda things, **how: problem.recommend(things, **how),  # the things come by their place
            {
                "things": told[:2],
                "method": "sedc",
                "k": 1,
                "keep": (),
                "most": None,
                "seed": 0,
                "budget": 99,
                "deadline": None,
            },
        ),
    ]
    odd = st.lists(st.one_of(st.sampled_from(words), st.text(max_size=30)), max_size=4)
    return [*made, Target("text", odd, ask)]


def survival() -> list[Target]:
    """Survival times: problems, printed models, people."""
    from wayforward.modalities.survival import Cox
    from wayforward.modalities.survival.samples import (
        CENTRE,
        PLANTED,
        heart_baseline,
        heart_patients,
        heart_schema,
    )  # fmt: skip

    columns = {name: values.tolist() for name, values in heart_patients(40)[0].items()}
    times = np.arange(6.0, 121.0, 6.0)
    printed = {"weights": PLANTED, "times": times, "survival": heart_baseline(times), "centre": CENTRE}
    honest = {
        "schema": heart_schema(), "model": Cox(**printed), "table": columns, "longer": 6, "lifetime": None,
        "survives": None, "times": None, "horizon": None, "unit": "months", "frame": None, "plausibility": None,
    }  # fmt: skip
    asked = wf.SurvivalProblem(honest["schema"], honest["model"], columns, longer=6)
    some = {name: values[:2] for name, values in columns.items()}

    def with_cell(drawn: tuple[str, Any]) -> None:
        column, value = drawn
        got = asked.recommend({**some, column: [value, some[column][1]]}, budget=50)
        got.explain(0), got.explain(1)

    wanted = [
        with_junk(
            f"SurvivalProblem {kind}", wf.SurvivalProblem, {**honest, "longer": None, kind: value}, most=20
        )
        for kind, value in (("longer", 6), ("lifetime", 60), ("survives", (24, 0.8)))
    ]
    how = {
        "people": some,
        "method": "local-search",
        "k": 1,
        "budget": 50,
        "seed": 0,
        "deadline": None,
        "strict": False,
    }
    return [
        *wanted,
        with_junk("Cox", lambda **one: Cox(**one).form(honest["schema"]), printed, most=30),
        with_junk("SurvivalProblem.recommend", asked.recommend, how, most=30),
        Target(
            "survival cell",
            st.tuples(st.sampled_from(sorted(some)), CELL),
            with_cell,
            most=20,
            places=tuple(sorted(some)),
        ),
    ]


def recommenders(folder: Path) -> list[Target]:
    """Graphs of people and items, tables of edges, and what would be recommended without some actions."""
    from scipy.sparse import csr_array

    from wayforward.modalities.graph import ActionGraph
    from wayforward.modalities.graph.graph import shop

    graph, pair = shop(6, 12, 3), csr_array(np.array([[0, 1.0], [1, 0]]))
    asked = wf.RecommenderProblem(graph)
    edges = "source,target,stars\nann,a,5\nann,b,1\nbob,b,4\nbob,c,4\n"
    sides = {"people": ["ann", "bob"], "items": ["a", "b", "c"]}

    def read(content: bytes) -> None:
        (folder / "edges.csv").write_bytes(content)
        wf.RecommenderProblem(ActionGraph.from_edges(folder / "edges.csv", weight="stars", **sides))

    def table_of(**given: Any) -> Any:
        return ActionGraph.from_edges(**given)

    import pandas as pd

    frame = pd.read_csv(io.StringIO(edges))
    how = {"method": "prince", "k": 1, "keep": (), "most": None, "seed": 0, "budget": 99, "deadline": None}
    return [
        with_junk(
            "ActionGraph", ActionGraph,
            {"names": ["ann", "a"], "weights": pair, "people": ["ann"], "items": ["a"]},
        ),
        with_junk(
            "ActionGraph.from_edges", table_of,
            {"table": frame, "source": "source", "target": "target", "weight": "stars", "both_ways": True, **sides},
        ),
        with_junk("RecommenderProblem", wf.RecommenderProblem, {"graph": graph, "restart": 0.15, "keep": ()}, most=30),
        with_junk(
            "RecommenderProblem.recommend", lambda things, **one: asked.recommend(things, **one).sentence(0),
            {"things": ["person 0"], **how}, most=30,
        ),
        Target("bytes edges.csv", bytes_of(edges.encode()), read),
    ]  # fmt: skip


def arrays(folder: Path) -> list[Target]:
    """Images and time series, and files of series."""
    from wayforward.modalities.image.sets import shapes
    from wayforward.modalities.series.sets import machines, read_series

    made, drawn = machines(24, 3, 12), shapes(16, 16)

    def rising(series: np.ndarray) -> np.ndarray:
        p = 1 / (1 + np.exp(series[:, 0].mean(1) - 30))
        return np.stack([1 - p, p], axis=1)

    def bright(images: np.ndarray) -> np.ndarray:
        p = 1 / (1 + np.exp(10 * (images.mean((1, 2)) - drawn.images.mean())))
        return np.stack([1 - p, p], axis=1)

    series = {
        "model": rising, "series": made.series, "favourable": "fine", "target": None, "labels": None,
        "classes": ("worn", "fine"), "channels": made.channels, "units": "channels", "replace": "distractor",
        "distractors": 2, "keep": None,
    }  # fmt: skip
    images = {
        "model": bright, "images": drawn.images, "favourable": "dark", "target": None, "labels": None,
        "classes": ("light", "dark"), "units": "grid", "replace": "mean", "span": None, "keep": None,
    }  # fmt: skip
    how = {"method": "sedc", "k": 1, "keep": None, "most": None, "seed": 0, "budget": 99, "deadline": None}
    asked = {"series": wf.SeriesProblem(**series), "images": wf.ImageProblem(**images)}
    given = {"series": made.series[:2], "images": drawn.images[:2]}

    def ask(kind: str) -> Callable[..., None]:
        def call(things: Any, **one: Any) -> None:
            got = asked[kind].recommend(things, **one)
            for i in range(got.recourse.n):
                got.sentence(i), got.letter(i)

        return call

    tsv = b"1\t0.5\t0.25\t1\n2\t0.1\t0.2\t0.3\n"
    ts = b"@problemName x\n@univariate false\n@classLabel true a b\n@data\n1,2,3:4,5,6:a\n1,2,3:4,5,7:b\n"
    arff = b"@relation x\n@attribute a numeric\n@data\n1,2,3,a\n'1,2\\n3,4',b\n"

    def reader(ending: str) -> Callable[[bytes], None]:
        def read(content: bytes) -> None:
            (folder / f"s{ending}").write_bytes(content)
            read_series(folder / f"s{ending}")

        return read

    return [
        with_junk("SeriesProblem", wf.SeriesProblem, series, most=40),
        with_junk("ImageProblem", wf.ImageProblem, images, most=40),
        *(
            with_junk(f"{name}.recommend", ask(kind), {"things": given[kind], **how}, most=25)
            for kind, name in (("series", "SeriesProblem"), ("images", "ImageProblem"))
        ),
        *(
            Target(f"bytes series{ending}", bytes_of(content), reader(ending))
            for ending, content in ((".tsv", tsv), (".ts", ts), (".arff", arff))
        ),
    ]


def tracks(folder: Path) -> list[Target]:
    """Rows, entries and files that somebody submits to the leaderboard; code is not run here."""
    from wayforward.tracks import entries, rows, submission, tasks
    from wayforward.tracks.leaderboard import board
    from wayforward.tracks.running import submit

    ready = tasks.task("loan-lr").build()
    store = entries.Store(folder / "board")
    store.note(ready)
    action = np.full((len(ready.x), ready.task.k, ready.problem.schema.d), np.nan)
    action[:, 0, ready.problem.schema.index("income")] = ready.x[:, ready.problem.schema.index("income")] + 8
    place = folder / "submitted"
    rows.write_answers(ready, action, place / "loan-lr.parquet")
    honest = (place / "loan-lr.parquet").read_bytes()
    entry = submit(submission.Submission.of("submitted", "rows"), ready)
    assert entry is not None
    store.add(entry)
    about = read_json(folder / "board" / "tasks.json")

    def read(content: bytes) -> None:
        rows.read_rows(ready, content)

    def judged(content: bytes) -> None:
        (place / "loan-lr.parquet").write_bytes(content)
        got = submit(submission.Submission.of("submitted", "rows"), ready)
        assert got is not None and got.state in entries.STATES

    def entered(content: Any) -> None:
        store.place("rows", "loan-lr").write_text(text_of(content), encoding="utf-8", errors="replace")
        found = board(store)
        found.markdown(), found.html()

    def noted(content: Any) -> None:
        store.place("rows", "loan-lr").write_text(text_of(entry.to_dict()), encoding="utf-8")
        (folder / "board" / "tasks.json").write_text(text_of(content), encoding="utf-8", errors="replace")
        try:
            board(store).html()
        finally:
            (folder / "board" / "tasks.json").write_text(text_of(about), encoding="utf-8")

    return [
        Target("bytes submitted.parquet", bytes_of(honest), read, most=30),
        Target("bytes judged.parquet", bytes_of(honest), judged, most=4),
        Target("tree entry.json", tree_of(entry.to_dict()), entered, most=20),
        Target("tree tasks.json", tree_of(about), noted, most=20),
        Target("submission", st.tuples(TEXT, TEXT), lambda drawn: submission.Submission.of(*drawn)),
    ]


def conditions() -> list[Target]:
    """Conditions and questions beyond one person's plan: hidden causes, drift, acting together and for somebody."""
    from wayforward.impact.collective import act_together
    from wayforward.preferences.acting import on_behalf
    from wayforward.problem.robust.drift import Drift
    from wayforward.problem.robust.hidden import HiddenCauses

    it = case("linear", "independent", 0, 60)
    x, schema, context = it.x, it.problem.schema, "rating"
    world = LinearWorld.fit(
        CausalGraph.read([("income", "savings"), ("income", context)], nodes=schema.names), x, schema
    )

    def made(robust: Any = None) -> wf.Problem:
        return wf.Problem(schema, it.problem.model, it.problem.target, data=x, world=world, robust=robust)

    problem = made()
    middle = float(np.nanmedian(x[:, schema.index(context)]))
    wish = Preferences.none(schema, 2)

    def under(condition: Any) -> None:
        wf.recommend(made(condition), x[:2], budget=30)

    return [
        with_junk("HiddenCauses", lambda **one: under(HiddenCauses(**one)), {"strength": 0.1, "pairs": None}, most=20),
        with_junk("Drift", lambda **one: under(Drift(**one)), {"rates": {context: 0.0}, "wait": 1.0}, most=20),
        Target("call Drift rates", st.dictionaries(st.sampled_from([context, *schema.names[:2], "no", ""]), CELL),
               lambda rates: under(Drift(rates)), most=20),
        with_junk(
            "act_together", act_together,
            {
                "problem": problem, "x": x[:3], "change": {context: middle}, "price": 1.0, "method": "local-search",
                "preferences": None, "seed": 0,
            },
            most=20,
        ),
        with_junk(
            "on_behalf", lambda **one: on_behalf(one.pop("subject"), one.pop("actor"), **one),
            {"subject": wish, "actor": wish, "share": 0.5, "refusals": True}, most=20,
        ),
    ]  # fmt: skip


def methods() -> list[Target]:
    """Every method with one setting that is junk; where it is taken, one person is asked about."""
    it = case("linear", "independent", 0, 8)
    settings_of = {name: [f.name for f in fields(type(wf.method(name))) if f.init] for name in names()}
    pairs = tuple((name, one) for name, all_ in settings_of.items() for one in all_)

    def call(drawn: tuple[tuple[str, str], Any]) -> None:
        (name, setting), value = drawn
        method = wf.method(name, **{setting: value})
        much = isinstance(value, (int, float)) and abs(value) > MUCH
        if name not in SLOW and not much:
            method.fit(it.problem).recommend(it.x[:1], budget=20, deadline=5.0)

    return [Target("setting", st.tuples(st.sampled_from(pairs), CELL), call, places=pairs)]


def audits(folder: Path) -> list[Target]:
    """Audits, attacks, ledgers, made-up people, regions and commands."""
    it = case("linear", "independent", 0, 60)
    problem, x, schema = it.problem, it.x, it.problem.schema
    table = schema.decode(x, "dict")
    groups = Groups.of("region", table, schema)
    small = {
        "twins_of": 0,
        "society": False,
        "beside": None,
        "summaries": (),
        "lasting_of": 5,
        "proved_of": 5,
    }
    plain = audit(problem, x, [groups], most=12, **small)
    got = wf.recommend(problem, x[:4], k=2)
    ledger = Ledger(folder / "ledger.db", per_client=10**6)
    made = [
        with_junk(
            "audit",
            audit,
            {
                "problem": problem, "x": x, "groups": [groups], "method": "local-search", "preferences": None,
                "most": 12, "smallest": 10, "fewest": 3, "intersections": True, "twins_of": 0, "others": (),
                "correction": "holm", "seed": 0, "budget": 50, "say": None, "see": None, **small,
            },
            most=12,
        ),
        with_junk("audit page", audit_page, {"audit": plain, "path": folder / "a.html", "language": "de"}, most=6),
        with_junk("Groups.of", Groups.of, {"name": "region", "labels": table, "schema": schema, "cut": None}),
        with_junk("regions", got.regions, {"sample": True, "leeway": 0.0}),
        with_junk(
            "Disclosure",
            lambda **given: problem.with_(disclosure=wf.problem.Disclosure(**given)),
            {
                "crowd": 2, "together": False, "grid": None, "beyond": 0.0, "epsilon": 0.0, "delta": 1e-6,
                "bounds": None, "noise_seed": 1,
            },
        ),
        with_junk(
            "private_people",
            private_people,
            {
                "schema": schema, "rows": x, "epsilon": 1.0, "delta": 1e-6, "n": 20, "clusters": 4, "rounds": 2,
                "width": 0.1, "bounds": None, "seed": 0,
            },
            most=20,
        ),
        with_junk("Ledger", Ledger, {"path": folder / "l.db", "per_client": 5, "per_day": None}, most=20),
        with_junk("Ledger.spend", ledger.spend, {"client": "a", "answers": 1, "day": None}, most=20),
        with_junk(
            "attack",
            wf.attack,
            {
                "problem": problem, "method": "local-search", "people": x, "members": None, "k": 1, "queries": (5,),
                "seeds": 1, "most": 20, "attributes": [], "defences": {}, "shadows": None, "seed": 0,
            },
            most=5,
        ),
        with_junk(
            "TABLE",
            wf.recommend_table,
            {"problem": problem, "people": x[:2], "out": folder / "answers", "k": 1, "fresh": True, "form": "long"},
            most=10,
        ),
    ]  # fmt: skip
    return [*made, *commands(folder, table, problem.reached(x)[0], schema)]


def worlds(folder: Path) -> list[Target]:
    """Worlds, graphs, rows of other tools, honesty, segregation, summaries, societies: one argument is junk."""
    it = case("linear", "independent", 0, 60)
    problem, x, schema = it.problem, it.x, it.problem.schema
    table = schema.decode(x, "dict")
    groups = Groups.of("region", table, schema)
    graph = CausalGraph.read({"savings": ["income"]}, nodes=schema.names)
    equations = {"income": "u", "savings": "0.3 * income + u"}
    fitted = LinearWorld.fit(graph, table, schema)
    fitted.save(folder / "world.json")
    made: list[tuple[str, Callable[..., Any], dict[str, Any], int]] = [
        ("CausalGraph.read", CausalGraph.read, {"source": {"savings": ["income"]}}, 40),
        ("CausalGraph.over", graph.over, {"columns": schema.names}, 40),
        ("SCM", wf.SCM, {"equations": equations, "noise": {"income": "normal(0, 1)"}, "soft": False}, 40),
        ("SCM.linear", wf.SCM.linear, {"weights": {"savings": {"income": 0.3}}, "noise": None}, 40),
        ("LinearWorld.fit", LinearWorld.fit, {"graph": graph, "table": table, "schema": schema, "soft": False}, 20),
        ("GP.fit", wf.GaussianProcessWorld.fit, {"graph": graph, "table": table, "schema": schema, "seed": 0}, 4),
        ("sub-population", wf.SubPopulation, {"world": fitted, "data": x, "seed": 0}, 10),
        ("load_world", load_world, {"path": folder / "world.json"}, 20),
        ("Schema.infer", Schema.infer, {"table": table, "rules": (), "label": None, "propose": True}, 30),
        ("Schema.revise", schema.revise, {"changes": {"age": {"step": 1}}}, 40),
        ("revise a field", lambda **one: schema.revise(age=one), {"low": 18, "high": 80, "step": 1, "unit": "a"}, 40),
        (
            "evaluate_rows", wf.evaluate_rows,
            {
                "x": x[:4], "after": x[:4], "problem": problem, "groups": None, "reference": None, "seed": 0,
                "action": None, "replay": False, "snap": False, "method": "rows", "metrics": "headline",
                "bootstrap": 20,
            },
            20,
        ),
        (
            "honesty", wf.honesty,
            {
                "problem": problem, "offered": wf.recommend(problem, x[:10]), "groups": (), "methods": ("nice",),
                "costs": ("l1",), "models": (), "boxes": 20, "correction": "holm", "seed": 0,
            },
            8,
        ),
        (
            "segregation", segregation,
            {"points": x[:, :2], "groups": groups, "group": None, "k": 5, "radius": None, "beta": 0.5, "sample": None},
            20,
        ),
        ("index", segregation_index, {"x1": x[:9], "x2": x[9:18], "x3": x[:4], "x4": x[4:8], "form": "expected"}, 20),
        (
            "summarize", summarize,
            {
                "problem": problem, "x": x, "how": "tree", "groups": (), "most": 20, "beside": None, "grid": None,
                "seed": 0,
            },
            6,
        ),
        ("Advice", Advice, {"method": "local-search", "robust": None}, 30),
        (
            "Scenario", Scenario,
            {"name": "a", "rounds": 2, "people": 50, "seed": 0, "advice": Advice()},
            30,
        ),
    ]  # fmt: skip
    return [with_junk(name, function, honest, most=most) for name, function, honest, most in made]


def commands(folder: Path, table: dict[str, list[Any]], yes: np.ndarray, schema: Schema) -> list[Target]:
    """Commands of which one word is replaced, left out or doubled."""
    rows = [",".join([*table, "y"])]
    rows += [
        ",".join(map(str, (*row, int(y))))
        for row, y in zip(zip(*table.values(), strict=True), yes, strict=True)
    ]
    (folder / "p.csv").write_text("\n".join(rows) + "\n")
    schema.to_yaml(folder / "s.yaml")
    kept = {name: (folder / name).read_bytes() for name in ("p.csv", "s.yaml", "a.json")}
    base = ["--train", "p.csv", "--label", "y", "--favourable", "1", "--schema", "s.yaml", "--model", "lr"]
    lines = [
        ["methods", "--table", "--json", "m.json"], ["datasets"], ["schema", "check", "s.yaml"],
        ["schema", "infer", "p.csv", "--label", "y", "--out", "t.yaml"],
        ["recommend", *base, "--n", "2", "--k", "2", "--csv", "o.csv", "--language", "de", "--certify"],
        ["recommend", *base, "--people", "p.csv", "--n", "2", "--out", "o.json", "--crowd", "3", "--grid", "0.1"],
        ["explain", "a.json", "--person", "0"], ["recheck", "a.json", *base],
        ["audit", *base, "--group", "region", "--language", "de", "--n", "12", "--json", "au.json"],
        ["reach", *base, "--n", "2"], ["reasons", *base, "--n", "4"], ["bench", "tasks", "--json", "m.json"],
        ["bench", "submit", "submitted", "--name", "r", "--entries", "e", "--task", "loan-lr"],
        ["bench", "leaderboard", "--entries", "board", "--render", "--markdown", "b.md", "--html", "b.html"],
    ]  # fmt: skip
    junk = st.one_of(
        TEXT, st.sampled_from(["--nothing", "-1", "0", "nan", "p.csv", "a.json", ".", "/dev/null", "de"])
    )

    def call(drawn: tuple[list[str], int, str, str]) -> None:
        words, at, how, value = drawn
        made = list(words)
        place = 1 + at % (len(made) - 1) if len(made) > 1 else 0
        if how == "replace":
            made[place] = value
        elif how == "leave out":
            del made[place]
        else:
            made[place:place] = [value]
        # Named as a folder it renders nothing.
        short = made[1:2] in (["tasks"], ["submit"]) or (
            made[1:2] == ["leaderboard"] and "--render" in made[4:]
        )
        if made[:1] == ["bench"] and not short:
            return  # a benchmark of all methods, which takes minutes as it should
        for name, content in kept.items():  # a command may write where it is told to
            (folder / name).write_bytes(content)
        got = CliRunner().invoke(cli_app, made)
        error = got.exception
        if error is not None and not isinstance(error, SystemExit):
            raise error

    how = st.sampled_from(["replace", "replace", "leave out", "put in"])
    drawn = st.tuples(st.sampled_from(lines), st.integers(1, 40), how, junk)
    return [Target("command", drawn, call, most=25)]


def tries(target: Target, number: int) -> Callable[[], None]:
    """Return what tries a target with up to sixty draws, and shrinks the first that fails."""

    def one(drawn: Any) -> None:
        target(drawn)

    how = settings(
        max_examples=target.most, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink), print_blob=False, report_multiple_bugs=False,
    )  # fmt: skip
    found: Callable[[], None] = seeded(number)(how(given(target.draw)(one)))
    return found


def told(error: BaseException) -> str:
    """The last frames of an error and what was drawn, both cut to a length that can be read."""
    frames = "".join(traceback.format_tb(error.__traceback__)[-6:])
    return (
        f"{frames}{type(error).__name__}: {error!s:.400}\n{' '.join(getattr(error, '__notes__', ())):.1500}"
    )


def spent() -> float:
    """Seconds of the processor, those of child processes included."""
    return sum(os.times()[:4])


def kind_of(name: str) -> str:
    """What is tried: files of plain data, their bytes, models, texts, calls, cells."""
    return name.split()[0]


def targets(folder: Path) -> tuple[Target, ...]:
    """All that is tried."""
    kinds = (
        *survival(),
        *recommenders(folder),
        *arrays(folder),
        *tracks(folder),
        *conditions(),
        *worlds(folder),
    )
    return (*files(folder), *calls(folder), *texts(), *kinds, *methods(), *audits(folder), *models(folder))


def run(seconds: float, only: str, seed: int, keep: Path | None) -> int:
    """Try all targets in turn until the time is over; print what failed and what was tried."""
    if keep is not None:
        keep = keep.absolute()
        keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, chdir(place):  # junk is a name of a file, too
        folder = Path(place)
        everything = [t for t in targets(folder) if only in t.name]
        until, turn, failed = spent() + seconds, 0, {}
        while spent() < until and len(failed) < len(everything):
            turn += 1
            for target in everything:
                if spent() >= until or target.name in failed:
                    continue
                tried = tries(target, seed + turn)
                try:
                    tried()
                except HypothesisException:
                    continue
                except BaseException as error:
                    if isinstance(error, KeyboardInterrupt):
                        raise
                    failed[target.name] = told(error)
                    if keep is not None:
                        (keep / target.name.replace(" ", "-")).write_bytes(
                            target.last if isinstance(target.last, bytes) else repr(target.last).encode()
                        )
                    print(f"== {target.name}\n{failed[target.name]}", flush=True)
    for kind in dict.fromkeys(kind_of(t.name) for t in everything):
        some = [t for t in everything if kind_of(t.name) == kind]
        seen: Counter[str] = sum((t.seen for t in some), Counter())
        print(f"{kind}: {len(some)} targets, {sum(seen.values()):,} tries, {dict(seen)}")
    print(f"{len(everything)} targets, {sum(sum(t.seen.values()) for t in everything):,} tries, {turn} turns")
    print(f"failed: {', '.join(sorted(failed)) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=600.0)
    options.add_argument("--only", default="", help="targets whose name holds this")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--keep", type=Path, help="a folder for what was drawn where a target failed")
    given_options = options.parse_args()
    sys.exit(run(given_options.seconds, given_options.only, given_options.seed, given_options.keep))
