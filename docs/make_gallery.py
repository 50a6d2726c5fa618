"""Draw a picture for each method: `python docs/make_gallery.py [NAME ...]` writes docs/_static/gallery/NAME.svg.

One small problem for all: income goes to the right, savings go up, people lie along a bend, and a network says yes
above a curved boundary. Methods whose point lies elsewhere get what shows it: a linear model, trees, causes,
uncertainty, groups.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import wayforward as wf
from wayforward.groups import Groups
from wayforward.modalities.graph.graph import shop
from wayforward.modalities.image.sets import digits, shapes
from wayforward.modalities.series import SeriesRecourse
from wayforward.modalities.series.sets import machines
from wayforward.palette import BLUE, GREEN, GREY, INK, ORANGE, PURPLE
from wayforward.schema.acts import ActModel, PlannedAct
from wayforward.streams import keys_of

OUT = Path(__file__).parent / "_static" / "gallery"
NAMES = ["income", "savings"]
PERSON = np.array([[33.0, 20.0]])
YES, NO, LINE = "#e3f1ea", "#ffffff", "#595959"
COLOURS = (BLUE, ORANGE, PURPLE, GREEN)


def people(n: int = 150) -> np.ndarray:
    """Return people (n, 2) along a bend: savings rise first, then income."""
    rng = np.random.default_rng(4)
    along = rng.random(n)
    income = np.where(along < 0.5, 22.0, 22 + 124 * (along - 0.5)) + rng.normal(0, 4, n)
    savings = np.where(along < 0.5, 10 + 136 * along, 78.0) + rng.normal(0, 4, n)
    return np.clip(np.stack([income, savings], axis=1), 1, 99).round(1)


def anybody(n: int = 500, seed: int = 0) -> np.ndarray:
    """Return people (n, 2) from everywhere."""
    return np.random.default_rng(seed).uniform(1, 99, (n, 2)).round(1)


@dataclass
class Scene:
    """A problem and what is drawn of it. given: parameters of the method. also: a method to compare with, hollow.

    after: draws what only this scene shows, from the axes, the scene and the answer.
    """

    problem: wf.Problem
    x: np.ndarray
    given: dict[str, Any]
    k: int = 1
    also: str = ""
    preferences: Callable[[wf.Schema], wf.Preferences] | None = None
    after: Callable[[Any, Scene, wf.Recourse], None] | None = None
    member: np.ndarray | None = None


def model_of(kind: str, bar: float = 1700.0) -> Any:
    """Fit a network, a line or a forest to who pays back: whose income times savings is above a bar."""
    x = anybody()
    table, y = pd.DataFrame(x, columns=NAMES), (x[:, 0] * x[:, 1] > bar).astype(int)
    if kind == "linear":
        return make_pipeline(StandardScaler(), LogisticRegression()).fit(table, y)
    if kind == "forest":
        return RandomForestClassifier(40, max_depth=5, random_state=0).fit(table, y)
    units = "relu" if kind == "rectified" else "tanh"
    network = MLPClassifier((16,), activation=units, solver="lbfgs", alpha=0.1, max_iter=500, random_state=1)
    return make_pipeline(StandardScaler(), network).fit(table, y)


def problem_of(model: Any, x: np.ndarray, **parts: Any) -> wf.Problem:
    """Ask for a yes of a model, with the people as reference."""
    schema = wf.Schema(tuple(wf.Feature(name=name, kind="real", low=0, high=100) for name in NAMES))
    table = pd.DataFrame(x, columns=NAMES)
    return wf.Problem(schema, wf.wrap(model, schema), wf.Target(favourable=1), data=table, **parts)


def scene(
    kind: str = "network", world: str = "", k: int = 1, x: np.ndarray | None = None, **more: Any
) -> Scene:
    """Set up the problem with a kind of model, and a world in which savings grow with income if one is named."""
    x = people() if x is None else x
    parts: dict[str, Any] = {}
    if world:
        parts["world"] = wf.SCM(
            {"income": "u", "savings": "0.6 * income + u"},
            {"income": "Normal(45, 20)", "savings": "Normal(25, 15)"},
        )
    if world == "uncertain":
        parts["world"] = wf.SubPopulation(
            wf.SCM(
                {"income": "u", "savings": "0.6 * income + u"},
                {"income": "Normal(45, 20)", "savings": "Normal(0, 6)"},
            )
        )
        parts["confidence"] = 0.95
    problem = problem_of(model_of(kind), x, **parts)
    given = more.pop("given", {})
    return Scene(problem, x, given, k, **more)


# -- what only some scenes show ----------------------------------------------------------------------------


def path(ax: Any, s: Scene, got: wf.Recourse) -> None:
    """Draw the profiles that the method led the person through."""
    steps = np.concatenate([PERSON, got.path[0, 0]])
    steps = steps[~np.isnan(steps).any(1)]
    ax.plot(*steps.T, color=BLUE, lw=1.2, marker="o", ms=3.2, zorder=4)


def shifted(ax: Any, s: Scene, got: wf.Recourse) -> None:
    """Draw boundaries of models that ask for less or more."""
    for bar in (1400.0, 2000.0, 2300.0):
        boundary(ax, problem_of(model_of("network", bar), s.x), lw=0.8, ls=":")


def spread(ax: Any, s: Scene, got: wf.Recourse) -> None:
    """Draw where errors in carrying out the option may lead."""
    noise = np.random.default_rng(0).normal(0, 2.2, (60, 2))
    dots(ax, got.after[0, 0] + noise, BLUE, 1.6)


def draws(ax: Any, s: Scene, got: wf.Recourse) -> None:
    """Draw what may follow in an uncertain world."""
    may = s.problem.world.draws(PERSON, got.action[:, 0], 60, keys_of(PERSON, 0))
    dots(ax, may.reshape(-1, 2), BLUE, 1.6)


def bins(ax: Any, s: Scene, got: wf.Recourse) -> None:
    """Draw the edges of the bins that a person moves through."""
    low, high = s.problem.observed_range
    for j, line in enumerate((ax.axvline, ax.axhline)):
        for edge in np.linspace(low[j], high[j], s.given["bins"] + 1):
            line(edge, color=GREY, lw=0.5, ls=":", zorder=2)


def spheres(ax: Any, s: Scene, got: wf.Recourse) -> None:
    """Draw the spheres that grow around the person until one crosses the boundary."""
    far = float(np.linalg.norm(got.after[0, 0] - PERSON[0]))
    for share in (0.4, 0.7, 1.0):
        ax.add_patch(Circle(tuple(PERSON[0]), share * far, fill=False, ec=GREY, lw=0.6, ls=":"))


def grid(ax: Any, s: Scene, got: wf.Recourse) -> None:
    """Draw values on a grid of what may be set."""
    income, savings = np.meshgrid(np.linspace(2, 98, 13), np.linspace(2, 98, 13))
    dots(ax, np.stack([income.ravel(), savings.ravel()], axis=1), BLUE, 1.0)


def everybody(ax: Any, s: Scene, got: wf.Recourse) -> None:
    """Draw the plans of many at once."""
    refused = s.x[~s.problem.reached(s.x)[0]][:30]
    many = wf.recommend(s.problem, refused, method=s.given["trained"], seed=0)
    lines = np.full((many.n, 3, 2), np.nan)
    lines[:, 0], lines[:, 1] = many.x, many.after[:, 0]
    ax.plot(*lines[many.found[:, 0]].reshape(-1, 2).T, color=BLUE, lw=0.6, alpha=0.5, zorder=2)


# -- one picture -------------------------------------------------------------------------------------------


def boundary(ax: Any, problem: wf.Problem, *, filled: bool = False, lw: float = 1.0, ls: str = "-") -> None:
    """Draw where the model changes its decision, and shade where it says yes."""
    axis = np.linspace(0, 100, 61)
    rows = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    value = problem.bound_target.score(problem.model.outputs(rows)).reshape(61, 61)
    if filled:
        ax.contourf(axis, axis, value, levels=[-1e9, 0, 1e9], colors=[NO, YES])
    ax.contour(axis, axis, value, levels=[0], colors=LINE, linewidths=lw, linestyles=ls)


def draw(name: str, s: Scene) -> Figure:
    """Draw the people, the boundary, the person, and the options of a method."""
    wishes = s.preferences(s.problem.schema) if s.preferences else None
    got = wf.recommend(
        s.problem,
        PERSON,
        method=s.given.get("trained", name),
        k=s.k,
        preferences=wishes,
        seed=0,
        **({} if "trained" in s.given else s.given),
    )
    figure = Figure(figsize=(2.8, 2.8))
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    boundary(ax, s.problem, filled=True)
    member = np.zeros(len(s.x), dtype=int) if s.member is None else s.member
    dots(ax, s.x[member == 0], "#8c8c8c", 2.4)
    dots(ax, s.x[member == 1], ORANGE, 2.4, "projecting")
    if s.after:
        s.after(ax, s, got)
    if s.also:
        plain = wf.recommend(s.problem, PERSON, method=s.also, seed=0)
        ax.plot(*plain.after[0, 0], "D", mfc="white", mec=GREY, ms=6, zorder=5)
    for slot in np.flatnonzero(got.found[0]):
        option(ax, got, slot)
    ax.plot(*PERSON[0], "o", color=INK, ms=8, zorder=6)
    ax.spines[:].set_visible(False)
    ax.set(xlim=(0, 100), ylim=(0, 100), xticks=[], yticks=[])
    if not got.found.any():
        raise SystemExit(f"{name} found nothing to draw.")
    return figure


def dots(ax: Any, rows: np.ndarray, colour: str, size: float, cap: Any = "round") -> None:
    """Draw points as one line of segments without length, which makes a small file."""
    there = np.repeat(rows, 3, axis=0)
    there[1::3, 0] += 0.5
    there[2::3] = np.nan
    ax.plot(*there.T, color=colour, lw=size, solid_capstyle=cap, zorder=1)


def option(ax: Any, got: wf.Recourse, slot: int) -> None:
    """Draw what is set as an arrow, what follows as a dashed one, and where it leads as a diamond."""
    act, end = got.action[0, slot], got.after[0, slot]
    alone = np.where(np.isnan(act), PERSON[0], act)
    colour = COLOURS[slot % len(COLOURS)]
    arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
    if np.abs(alone - end).max() > 0.5:
        ax.plot(*np.stack([PERSON[0], alone]).T, color=colour, lw=1.4, zorder=4)
        ax.annotate("", end, alone, arrowprops=arrow | {"linestyle": "--"}, zorder=4)
    elif not got.path.shape[2]:
        ax.annotate("", end, PERSON[0], arrowprops=arrow, zorder=4)
    ax.plot(*end, "D", color=colour, ms=7, mec="white", mew=0.8, zorder=5)


def groups() -> dict[str, Any]:
    """Return two groups: those on the steep part of the bend and those on the flat part, with some of each mixed."""
    x = people()
    member = (x[:, 0] + np.random.default_rng(1).normal(0, 14, len(x)) > 35).astype(int)
    labels = np.array(["west", "east"])[member]
    return {"member": member, "given": {"groups": Groups.of("region", labels)}}


def freeze_savings(schema: wf.Schema) -> wf.Preferences:
    """Say that the person cannot act on savings."""
    return wf.Preferences.none(schema, 1).freeze("savings")


def trained(kind: str) -> Scene:
    """Train the networks of carma or icarma on the refused people of the causal scene."""
    from wayforward.methods.carma import Carma
    from wayforward.methods.icarma import ICarma

    made = scene(
        world="causal",
        x=anybody(260),
        after=everybody,
        preferences=freeze_savings if kind == "icarma" else None,
    )
    method = {"carma": Carma, "icarma": ICarma}[kind](seeds=(1000,), epochs=60)
    made.given = {"trained": method.fit(made.problem)}
    return made


def one_after_another() -> Scene:
    """An act that makes another one possible."""
    made = scene(after=path)
    first, then = (
        PlannedAct("earn", adds={"income": 20}, cost=0.1),
        PlannedAct("save", moves="savings", needs="before.income > 50"),
    )
    made.given = {"acts": ActModel([first, then], made.problem.schema)}
    return made


def by_policy() -> Scene:
    """The same act, by a policy that learns from those who are refused."""
    made = one_after_another()
    made.given |= {"rounds": 2, "learners": 60}
    return made


SWITCHED_OFF = {
    "shrink": False,
    "complete": False,
}  # of methods that go on and give back otherwise: what was added to the papers
SCENES: dict[str, Callable[[], Scene]] = {
    "local-search": lambda: scene(k=3),
    "nearest-observable": lambda: scene(k=2),
    "nice": lambda: scene(k=2),
    "growing-spheres": lambda: scene(after=spheres),
    "face": lambda: scene(after=path),
    "action-sequences": one_after_another,
    "fare": by_policy,
    "efare": by_policy,
    "wachter": scene,
    "dice": lambda: scene(k=4),
    "dece": lambda: scene(k=2, given={"features": 1}, also="local-search"),
    "lowprofool": scene,
    "actionable-recourse": lambda: scene("linear"),
    "carma": lambda: trained("carma"),
    "icarma": lambda: trained("icarma"),
    "causal-oracle": lambda: scene(world="causal", x=anybody(120), after=grid),
    "icarma-polished": lambda: scene(world="causal", x=anybody(120), also="causal-oracle"),
    "probabilistic": lambda: scene(world="uncertain", after=draws, preferences=freeze_savings),
    "revise": lambda: scene(also="local-search"),
    "cruds": lambda: scene(also="local-search"),
    "clue": lambda: scene(also="local-search"),
    "c-chvae": lambda: scene(also="local-search"),
    "plausible-counterfactuals": lambda: scene(k=4, also="local-search"),
    "mahajan": lambda: scene(given={"draws": 0, "adopt": "all"}, also="local-search"),
    "cfrl": lambda: scene(given={"tries": 0, "adopt": "all"}, also="local-search"),
    "cem": lambda: scene(k=2),
    "macem": lambda: scene("forest"),
    "frace": lambda: scene(also="local-search"),
    "emap": lambda: scene(x=anybody(150), also="local-search"),
    "ebr": lambda: scene(also="local-search", **groups()),
    "ibr": lambda: scene(also="local-search", **groups()),
    "guided-prototypes": lambda: scene(also="local-search"),
    "roar": lambda: scene(also="local-search", after=shifted),
    "rbr": lambda: scene(also="local-search", after=shifted),
    "probe": lambda: scene(also="local-search", after=spread),
    "trex": lambda: scene("forest", also="local-search"),
    "ocean": lambda: scene("forest", k=2),
    "relu-milp": lambda: scene("rectified"),
    "polaris": lambda: scene("rectified", given={"stable": 0.05}, also="relu-milp"),
    "feature-tweaking": lambda: scene("forest"),
    "focus": lambda: scene("forest", also="local-search"),
    "oae": lambda: scene("forest"),
    "ordce": lambda: scene(
        "linear", k=1, after=path, given={"effects": {"savings": {"income": 0.8}}, "base": "dice"}
    ),
    "asp": lambda: scene(also="local-search"),
    "efficient-search": lambda: scene("linear", k=2),
    "ceml": lambda: scene("linear", given={"plausible": True}, also="local-search"),
    "dace": lambda: scene("linear", given={"alpha": 0.5}, also="local-search"),
    "mace": lambda: scene("forest", also="nearest-observable"),
    "mint": lambda: scene("linear", world="causal"),
    "lire": lambda: scene("forest", also="nearest-observable"),
    "gradient-boosted-counterfactuals": lambda: scene("forest", k=2, given=SWITCHED_OFF),
    "geco": lambda: scene(given=SWITCHED_OFF),
    "moc": lambda: scene(k=5, given={"minimal": False}),
    "certifai": lambda: scene(k=3, given=SWITCHED_OFF),
    "permute-attack": scene,
    "sedc": lambda: scene(given={"reference": "prototype"}),
    "lime-c": lambda: scene(given={"reference": "prototype"}),
    "shap-c": lambda: scene("forest", given={"reference": "mean"}),
    "explanations-with-shap": lambda: scene(k=2),
    "vice": lambda: scene(given={"bins": 12}, after=bins),
    "shap-counterfactuals": lambda: scene(k=2, given={"reference": "mean"}, also="local-search"),
    "lore": lambda: scene(given=SWITCHED_OFF),
    "local-foil-trees": lambda: scene(given=SWITCHED_OFF),
    "clear": lambda: scene(k=2, given=SWITCHED_OFF),
    "mc-brp": lambda: scene(given=SWITCHED_OFF),
    "weighted-counterfactuals": lambda: scene(also="local-search"),
    "hcls": lambda: scene(given={"spend": 0.5}, also="local-search"),
    "survival-counterfactuals": lambda: scene("linear", k=2, given={"shrink": False}),
    "cbr": lambda: scene(given={"shrink": False, "differences": 1, "cases": 1}),
}


def digit(name: str, of: int, **how: Any) -> Figure:
    """Draw what a method changes in a handwritten digit, so that a small network reads an eight."""
    made = digits()
    images, labels = made.images[:1200], made.labels[:1200]
    network = MLPClassifier((32,), max_iter=300, random_state=0).fit(images.reshape(1200, -1), labels)
    asked = wf.ImageProblem(network, images, favourable=8, labels=labels, span=made.span, **how)
    return asked.recommend(made.images[1200:][made.labels[1200:] == of][:1], name).figure(0)


def mark() -> Figure:
    """Draw the segment that keeps a model from saying that a shape has no mark."""
    made = shapes(60, seed=1)

    def unmarked(images: np.ndarray) -> np.ndarray:
        return np.clip(1 - 5 * (images.max((1, 2)) - 0.85), 0.01, 0.99)

    asked = wf.ImageProblem(unmarked, made.images, favourable=1, units="quickshift", span=made.span)
    return asked.recommend(made.images[made.marks[:, 0] >= 0][:1], "sedc-t").figure(0)


def undone() -> Figure:
    """Draw a person, what they acted on (the edge that is undone dashed), and what is recommended before and after."""
    asked = wf.RecommenderProblem(shop())
    names = [name for name in asked.graph.people if len(asked.graph.actions(name)) == 8]
    got = asked.recommend(names)
    i = int(np.flatnonzero(got.recourse.cost[:, 0] == 1)[0])
    figure = Figure(figsize=(2.8, 2.8))
    ax = figure.add_axes((0, 0, 1, 1))
    items = asked.graph.actions(names[i])
    height = np.linspace(0.9, 0.1, len(items))
    known = asked.model.known([names[i]])[0]
    rival = int(np.flatnonzero(asked.graph.item_nodes == asked.graph.place[got.instead(i) or ""])[0])
    ends = {known.first: 0.65, rival: 0.35}
    thick = known.adds / known.adds[:, list(ends)].max()
    for place, node in enumerate(items):
        gone = asked.graph.names[node] in got.removed(i)
        look = {"color": ORANGE if gone else GREY, "ls": "--" if gone else "-"}
        ax.plot([0.1, 0.45], [0.5, height[place]], lw=1.2, zorder=1, **look)
        for item, y in ends.items():
            ax.plot([0.45, 0.88], [height[place], y], lw=3 * thick[place, item], alpha=0.7, zorder=1, **look)
    ax.scatter([0.1], [0.5], s=60, color=INK, zorder=3)
    ax.scatter(np.full(len(items), 0.45), height, s=22, color=GREY, zorder=3)
    ax.scatter([0.88], [0.65], s=70, facecolor="white", edgecolor=BLUE, lw=1.4, zorder=3)
    ax.scatter([0.88], [0.35], s=70, color=BLUE, zorder=3)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.axis("off")
    return figure


def both_sides() -> Figure:
    """Draw a three that a network does not call an eight, rows decoded on both sides of its tree, and what may move."""
    made = digits()
    images, labels = made.images[:1200], made.labels[:1200]
    network = MLPClassifier((32,), max_iter=300, random_state=0).fit(images.reshape(1200, -1), labels)
    asked = wf.ImageProblem(network, images, favourable=8, units="pixels", span=made.span)
    threes = made.images[1200:][made.labels[1200:] == 3][:14]
    shown = (
        wf.method("abele", latent=12, epochs=300)
        .fit(asked.problem(threes[0]))
        .exemplars(asked.rows(threes), 2)
    )
    both = ~np.isnan(shown.like).any((1, 2)) & ~np.isnan(shown.unlike).any((1, 2))
    i = int(np.flatnonzero(both)[0])  # of some the autoencoder draws their own digit as an eight
    panels = [threes[i], *shown.like[i], *shown.unlike[i], shown.saliency[i]]
    figure = Figure(figsize=(4.2, 2.8))
    for place, values in enumerate(panels):
        ax = figure.add_subplot(2, 3, place + 1)
        moves = place == len(panels) - 1
        look = {"cmap": "PuOr", "vmin": -8, "vmax": 8} if moves else {"cmap": "gray_r", "vmin": 0, "vmax": 16}
        ax.imshow(np.reshape(values, (8, 8)), interpolation="nearest", **look)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set(color=GREEN if place in (3, 4) else GREY, linewidth=2.0 if place in (3, 4) else 0.8)
    return figure


def sensors() -> SeriesRecourse:
    """Answer which sensors keep a forest from calling a machine fine."""
    made = machines(400, channels=4, times=30)
    series, labels = made.series[:300], made.labels[:300]
    forest = RandomForestClassifier(100, random_state=0).fit(series.reshape(300, -1), labels)
    asked = wf.SeriesProblem(forest, series, favourable="fine", labels=labels, channels=made.channels)
    worn = made.series[300:][made.labels[300:] == "worn"][:1]
    return asked.recommend(worn, "comte")


def wordless(figure: Figure) -> Figure:
    """Take the words out of a figure."""
    for ax in figure.axes:
        ax.set(title="", xlabel="", ylabel="")
        ax.set_title("", loc="left")
        ax.tick_params(labelleft=False, labelbottom=False)
    for legend in figure.legends:
        legend.remove()
    return figure


#: pictures of methods for images and series (as it is, with the change, where) and for recommenders
PICTURES: dict[str, Callable[[], Figure]] = {
    "prince": undone,
    "sedc-t": mark,
    "visual-counterfactuals": lambda: digit("visual-counterfactuals", 3, replace="cells"),
    "abele": both_sides,
    "scout": lambda: digit("scout", 3, replace="distractor"),
    "comte": lambda: sensors().figure(0),
    "gradual-construction": lambda: digit("gradual-construction", 1, units="pixels"),
}


def main(names: list[str]) -> None:
    """Write the pictures of some methods, or of all, without text, fonts and dates."""
    import matplotlib

    matplotlib.rcParams.update({"svg.hashsalt": "wayforward", "path.simplify": False})
    OUT.mkdir(parents=True, exist_ok=True)
    for name in names or [*SCENES, *PICTURES]:
        figure = wordless(PICTURES[name]()) if name in PICTURES else draw(name, SCENES[name]())
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
        text = re.sub(
            r"(\d+\.\d)\d+",
            r"\1",
            re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", drawn.getvalue(), flags=re.S),
        )
        (OUT / f"{name}.svg").write_text(re.sub(r"\s*\n\s*", "\n", text), encoding="utf-8")
        print(name, len(text))
        if name == "comte":  # with its words, for the page about series
            sensors().save(0, OUT.parent / "series.svg")
        if "--png" in sys.argv:
            figure.savefig(OUT / f"{name}.png", dpi=100)


if __name__ == "__main__":
    main([name for name in sys.argv[1:] if not name.startswith("-")])
