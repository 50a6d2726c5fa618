"""Models trained for recourse beside plain ones: `python docs/make_training.py` writes numbers, figure and tables.

Adult and COMPAS by sex, and societies. Which model is audited is chosen on training people: the smallest gap that costs
at most two points of accuracy there. `--render` draws the figure and the tables of the page from guide/training.json.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

import wayforward as wf
from wayforward.answers.figure_style import LINES, figure_style, new_figure, percent_ticks, plain_axes
from wayforward.evaluate import stats
from wayforward.groups import Groups
from wayforward.impact.audit import audit
from wayforward.impact.society import Scenario, setting_of, simulate
from wayforward.palette import GREY, LIGHT
from wayforward.training import PARE, EqualizingRecourse, signed_distance, train

DOCS = Path(__file__).parent
PAGE, NUMBERS, FIGURE = (
    DOCS / "guide/training.md",
    DOCS / "guide/training.json",
    DOCS / "_static/training.png",
)
TABLES = {"Adult": ("adult", None), "COMPAS": ("compas", "benchmark")}
SHARES, PRICES, ALLOWED, C = (1.0, 0.75, 0.5, 0.25, 0.1, 0.0), (0.0, 0.1, 0.3, 1.0), 0.02, 0.01
SEXES, ANSWERED, MOST, SEEDS = ("Female", "Male"), 300, 6000, (0, 1, 2)


def people(name: str, acts: str | None) -> tuple[Any, Any]:
    """Training and test people of a data set."""
    found = wf.datasets.load(name)
    return (found if acts is None else found.with_actionability(acts)).split(test=0.3, seed=0)


def figures_of(model: Any, new: Any) -> dict[str, Any]:
    """Accuracy, who is accepted, and the burden of the refused, on test people by sex."""
    sex = Groups.of("sex", new.x, new.schema)
    distance = signed_distance(model[-1], model[0].transform(new.frame))
    far = [-distance[(distance <= 0) & sex.mask(g)] for g in range(2)]
    gap = stats.mean_difference(far[0], far[1])
    return {
        "accuracy": round(float(((distance > 0) == new.is_favourable).mean()), 4),
        "accepted": {sex.names[g]: round(float((distance[sex.mask(g)] > 0).mean()), 4) for g in range(2)},
        "burden": {sex.names[g]: round(float(far[g].mean()), 4) for g in range(2)},
        "gap": [round(v, 4) for v in (gap.value, gap.low, gap.high)],
    }  # fmt: skip


def audited(model: Any, past: Any, new: Any) -> dict[str, Any]:
    """What an audit says of plans under a model, by sex."""
    problem = wf.Problem(past.schema, model, wf.Target(favourable=1), data=past.frame)
    got = audit(
        problem, new.x, Groups.of("sex", new.x, new.schema), most=ANSWERED, beside=None, society=False, lasting_of=0,
        proved_of=0, summaries=(),
    )  # fmt: skip
    (by_sex,) = got.attributes
    out: dict[str, Any] = {
        name: {
            "answered": one.answered,
            "usable": one.figures["usable"].value,
            "cost": one.figures["cost"].value,
        }
        for name, one in zip(SEXES, by_sex.groups, strict=True)
    }
    (cost,) = [gap for gap in by_sex.gaps if gap.metric == "cost"]
    out["difference in cost"] = [cost.estimate.value, cost.estimate.low, cost.estimate.high]
    return {
        name: {k: round(v, 4) for k, v in one.items()}
        if isinstance(one, dict)
        else [round(v, 4) for v in one]
        for name, one in out.items()
    }


def evened(past: Any, new: Any, without: tuple[str, ...]) -> dict[str, Any]:
    """The curve of `EqualizingRecourse` from the plain machine to no gap, and audits of both ends that are chosen."""

    def fit(**given: Any) -> Any:
        y = past.is_favourable.astype(int)
        head = EqualizingRecourse(C=C, **given)
        return train(head, past.schema, past.frame, y, group="sex", without=without)

    plain = fit(lam=0)
    models = [plain, *(fit(tau=share * plain[-1].gap_) for share in SHARES[1:])]
    own = [float((model.predict(past.frame) == past.is_favourable).mean()) for model in models]
    allowed = [i for i in range(len(models)) if own[i] >= own[0] - ALLOWED]
    chosen = min(allowed, key=lambda i: models[i][-1].gap_)
    curve = [
        {
            "share": share,
            "training": {"accuracy": round(a, 4), "gap": round(m[-1].gap_, 4)},
            **figures_of(m, new),
        }
        for share, a, m in zip(SHARES, own, models, strict=True)
    ]
    return {
        "curve": curve, "chosen": chosen,
        "audit": {"plain": audited(plain, past, new), "chosen": audited(models[chosen], past, new)},
    }  # fmt: skip


def led(past: Any, new: Any) -> list[dict[str, Any]]:
    """`PARE` at growing weights of recourse: accuracy, whom allowed changes reach, and who gets a plan."""
    some = past.take(np.random.default_rng(0).permutation(past.n)[:MOST])
    out = []
    for lam in PRICES:
        model = train(PARE(lam=lam), some.schema, some.frame, some.is_favourable.astype(int))
        rows = model[0].transform(new.frame)
        no = model.predict(new.frame) == 0
        problem = wf.Problem(past.schema, model, wf.Target(favourable=1), data=past.frame)
        got = wf.recommend(problem, new.x[no][:ANSWERED])
        out.append({
            "lam": lam, "accuracy": round(float((~no == new.is_favourable).mean()), 4),
            "accepted": round(float((~no).mean()), 4),
            "within reach": round(float((model[-1].reachable_score(rows[no]) > 0).mean()), 4),
            "usable": round(float(got.found[:, 0].mean()), 4),
            "cost": round(float(got.plain_cost[got.found[:, 0], 0].mean()), 4),
        })  # fmt: skip
    return out


def societies() -> dict[str, Any]:
    """The loan world under lenders who train a plain, an evened and a led model, anew every second round; means."""
    scenario = Scenario(
        rounds=4, people=800, seed=0, data="loan", model="lr", group="gender", world="known", outcome="known",
        compliance={"delay": [1, 2]}, lender={"retrain": 2, "learns_from": "accepted"}, measure=0,
    )  # fmt: skip
    first = setting_of(scenario)
    heads = {
        "plain": EqualizingRecourse(lam=0, C=C), "evened": EqualizingRecourse(C=C), "led": PARE(lam=0.3)
    }  # fmt: skip
    out: dict[str, Any] = {}
    for name, head in heads.items():

        def fit(x: Any, y: Any, seed: int, head: Any = head) -> Any:
            group = "gender" if isinstance(head, EqualizingRecourse) else None
            return train(clone(head), first.problem.schema, x, y, group=group)

        seen = [
            simulate(one, setting_of(one).trained_by(fit, seed))
            for seed in SEEDS
            for one in (replace(scenario, seed=seed),)
        ]
        out[name] = {
            figure: {
                key: round(float(np.mean([one.figure(figure, group=group, over=True)[0] for one in seen])), 4)
                for key, group in (("everybody", None), *((g, g) for g in seen[0].names))
            }
            for figure in ("acceptance", "cost", "holds", "improvement", "gaming", "default")
        }
    return out


def measured() -> dict[str, Any]:
    """Everything, as plain data."""
    out: dict[str, Any] = {}
    for title, (name, acts) in TABLES.items():
        past, new = people(name, acts)
        out[title] = {
            "training": past.n, "test": new.n, "sex seen": evened(past, new, ()),
            "sex left out": evened(past, new, ("sex",)), "PARE": led(past, new),
        }  # fmt: skip
        print(title, "done", flush=True)
    return out | {"society": societies()}


def figure(found: dict[str, Any]) -> Any:
    """Accuracy on test people against the gap that is left."""
    with figure_style():
        sheet = new_figure(9.5, 4.0)
        for ax, title in zip(sheet.subplots(1, 2), TABLES, strict=True):
            for (line, marker, colour), (way, label) in zip(
                LINES, (("sex seen", "model sees sex"), ("sex left out", "sex left out")), strict=False
            ):
                one = found[title][way]
                x = [abs(point["gap"][0]) for point in one["curve"]]
                y = [point["accuracy"] for point in one["curve"]]
                ax.plot(x, y, ls=line, marker=marker, color=colour, label=label, lw=1.8, ms=5)
                at = one["chosen"]
                ax.plot(x[at], y[at], "o", ms=13, mfc="none", mec=colour, mew=1.4)
                ax.annotate("plain", (x[0], y[0]), (4, 5), textcoords="offset points", color=colour)
            ax.set_title(title, loc="left", weight="bold")
            ax.set_xlabel("difference in mean distance to a yes between women and men")
            ax.set_ylabel("accuracy on test people")
            ax.set_xlim(left=0)
            ax.locator_params(axis="x", nbins=5)
            low, high = ax.get_ylim()
            ax.set_ylim(min(low, high - 0.05), high + 0.003)
            percent_ticks(ax.yaxis)
            plain_axes(ax)
            ax.grid(color=LIGHT, lw=0.6)
            ax.legend(frameon=False, loc="lower right", labelcolor=GREY)
    return sheet


def tables(found: dict[str, Any]) -> dict[str, str]:
    """The page's tables by name, in Markdown."""

    def grid(*rows: tuple[Any, ...]) -> str:
        lines = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
        return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])

    even: list[tuple[Any, ...]] = [(
        "people", "model", "accuracy", "gap in distance [95 %]", "accepted", "with a plan", "cost of plans",
    )]  # fmt: skip
    for title in TABLES:
        for way in ("sex seen", "sex left out"):
            one = found[title][way]
            for name, at in (("plain", 0), ("chosen", one["chosen"])):
                point, costs = one["curve"][at], one["audit"][name]
                gap, low, high = point["gap"]
                even.append((
                    f"{title}, {way}", "plain" if name == "plain" else "trained", f"{point['accuracy']:.1%}",
                    f"{gap:.3f} [{low:.3f}, {high:.3f}]",
                    ", ".join(f"{point['accepted'][sex]:.0%}" for sex in SEXES),
                    ", ".join(f"{costs[sex]['usable']:.0%}" for sex in SEXES),
                    ", ".join(f"{costs[sex]['cost']:.3f}" for sex in SEXES),
                ))  # fmt: skip
    lead: list[tuple[Any, ...]] = [
        ("people", "`lam`", "accuracy", "accepted", "of the refused within reach", "with a plan", "its cost")
    ]
    for title in TABLES:
        for one in found[title]["PARE"]:
            shares = (one[key] for key in ("accepted", "within reach", "usable"))
            parts = (f"{one['lam']:g}", f"{one['accuracy']:.1%}", *(f"{share:.0%}" for share in shares))
            lead.append((title, *parts, f"{one['cost']:.3f}"))
    names = list(found["society"]["plain"])
    social: list[tuple[Any, ...]] = [("lender's model", *names, "cost by gender")]
    for name, one in found["society"].items():
        costs = " and ".join(f"{v:.3f}" for key, v in one["cost"].items() if key != "everybody")
        social.append((name, *(f"{one[figure]['everybody']:.3f}" for figure in names), costs))
    return {"even": grid(*even), "lead": grid(*lead), "society": grid(*social)}


def render(found: dict[str, Any], text: str) -> str:
    """The page with its tables written anew."""
    for name, table in tables(found).items():
        text = re.sub(rf"(<!-- {name} -->\n).*?(?=\n\n)", lambda m, t=table: m[1] + t, text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    if "--render" not in sys.argv:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            NUMBERS.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
    numbers = json.loads(NUMBERS.read_text(encoding="utf-8"))
    figure(numbers).savefig(FIGURE, dpi=110)
    PAGE.write_text(render(numbers, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
