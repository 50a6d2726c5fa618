"""Table 1 of the survey beside what runs here: `python docs/make_table.py` asks all methods, writes guide/table-1.md.

Each method answers twelve refused people of small problems that hold every kind of feature, immutables, directions and
rules, in two worlds, with two options each; nothing is tuned. Names of methods ask those alone, `--render` none: the
page is written from guide/table-1.json again.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import WayforwardError
from wayforward.methods import method as make_method
from wayforward.methods import methods_table
from wayforward.methods.survey import SURVEYED, beyond
from wayforward.model import Access
from wayforward.testing.problems import KINDS, WORLDS, case

OUT = Path(__file__).parent / "guide" / "table-1"
PEOPLE, SEED = 12, 0
#: How methods that train or plan are asked here, where their defaults take minutes.
GIVEN: dict[str, dict[str, Any]] = {
    "mace": {"work": 100_000, "precision": 0.05},
    "mint": {"work": 100_000, "precision": 0.05},
    "dace": {"prototypes": 3, "values": 4, "solves": 3, "changes": 2},
    "carma": {"epochs": 30, "seeds": (1000,), "batch": 64, "rate": 0.02},
    "icarma": {"epochs": 30, "seeds": (1000,), "batch": 64, "rate": 0.02},
    "fare": {"learners": 8, "rounds": 1, "simulations": 8},
    "efare": {"learners": 8, "rounds": 1, "simulations": 8},
    "ebr": {"groups": "region"},
    "ibr": {"groups": "region", "epochs": 20},
    "c-chvae": {"epochs": 20},
    "emap": {"epochs": 20, "most": 500},
    "frace": {"epochs": 20, "most": 500},
    "revise": {"epochs": 20},
    "cruds": {"epochs": 20},
    "clue": {"epochs": 20},
    "prince": {"reference": "prototype"},
    "cfrl": {"epochs": 20, "steps": 100, "people": 512},
    "mahajan": {"epochs": 20, "people": 512},
    "plausible-counterfactuals": {"epochs": 20},
    "abele": {"epochs": 20},
}


INTRO = """\
# Table 1 of the survey, computed

The survey ([replications](../replication/overview.md)) lists {listed} systems. {here} of them run here, under the names
below; of the others the page says why not, or what is trained instead ([training](training.md)). Beyond the survey
there are {more} methods. What a method does was asked of it: each answers the same twelve refused people of small
problems with every kind of feature, immutables, directions and rules, with two options a person and nothing tuned.
Every option was judged as all options are.

- **linear, forest, network, labels**: how many of the twelve got an option from a model of that kind; *labels*: a model
  that tells no more than its answer. A dash: the method does not take that kind, and says so.
- **causal**: of the twelve of each kind, in a world where changes have consequences.
- **two**: of those served, how many got two different options. **changes**: features changed in the mean.
- **access here** may be less than in the paper: many methods that need gradients there ask about rows near by here.

`python docs/make_table.py` writes the page and its numbers (`guide/table-1.json` in the repository); in a terminal
there is `wayforward methods --table`.
"""


def asked(name: str, kind: str, world: str) -> dict[str, Any]:
    """What a method does for the refused of one problem; "refuses": why it does not take the question."""
    it = case(kind, world, SEED, 40)
    x = it.x[it.refused][:PEOPLE]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = make_method(name, **GIVEN.get(name, {})).fit(it.problem).recommend(x, 2, seed=SEED)
    except WayforwardError as error:
        return {"refuses": str(error)}
    except (TypeError, ValueError) as error:
        return {"refuses": f"{type(error).__name__}: {error}"}
    served = got.found.any(1)
    assert it.problem.reached(got.after[got.found])[0].all()
    changes = got.changed.sum(-1)[got.found]
    return {
        "people": len(x), "served": int(served.sum()), "two": int((got.found.sum(1) == 2).sum()),
        "changes": round(float(changes.mean()), 2) if changes.size else None,
        "cheapest": int(got.proved_cheapest.sum()),
    }  # fmt: skip


def measured(names: list[str], before: dict[str, Any]) -> dict[str, Any]:
    """Every method on every problem; with names those alone, the others as they were before."""
    out: dict[str, Any] = {}
    for name in (row["name"] for row in methods_table()):
        if names and name not in names and name in before:
            out[name] = before[name]
            continue
        out[name] = {f"{kind} {world}": asked(name, kind, world) for kind in KINDS for world in WORLDS}
        print(name, *(one.get("served", "-") for one in out[name].values()), flush=True)
    return out


def page(found: dict[str, Any]) -> str:
    """The page of what was measured."""
    facts = {row["name"]: row for row in methods_table()}
    intro = INTRO.format(
        listed=len(SURVEYED), here=sum(bool(row.ours) for row in SURVEYED), more=len(beyond())
    )
    out = [intro, "## The survey's systems", ""]
    heads = ("year", "system", "solution; access", "here", *_HEADS, "remark")
    lines = []
    for row in SURVEYED:
        for name in row.ours or ("",):
            cells = _cells(found[name], facts[name]) if name else [""] * len(_HEADS)
            called = f"[`{name}`](gallery.md)" if name else "none"
            lines.append(
                (row.when[:4], row.name, f"{row.solution}; {row.access}", called, *cells, row.remark)
            )
    out += [*_grid(heads, lines), "", "## Beyond the survey", ""]
    more = [
        (f"[`{name}`](gallery.md)", *_cells(found[name], facts[name]), facts[name]["citation"])
        for name in beyond()
    ]
    return "\n".join([*out, *_grid(("method", *_HEADS, "source"), more), ""])


_HEADS = (
    "access here",
    *(kind if kind != "label" else "labels" for kind in KINDS),
    "causal",
    "two",
    "changes",
    "proves",
)


def _cells(asked_: dict[str, Any], fact: dict[str, Any]) -> list[str]:
    access = Access(fact["needs"]).name.lower().replace("_", " ") + (", data" if fact["needs_data"] else "")
    alone = [str(asked_[f"{kind} independent"].get("served", "–")) for kind in KINDS]
    causal = ", ".join(str(asked_[f"{kind} causal"].get("served", "–")) for kind in KINDS)
    took = [one for one in asked_.values() if one.get("served")]
    served, two = sum(one["served"] for one in took), sum(one["two"] for one in took)
    changes = np.mean([one["changes"] for one in took]) if took else np.nan
    share, many = (f"{two / served:.0%}", f"{changes:.1f}") if served else ("–", "–")
    return [access, *alone, causal, share, many, "cheapest" if fact["exact"] else ""]


def _grid(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    heads = list(heads)
    out = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return out + ["| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in rows]


if __name__ == "__main__":
    if "--render" not in sys.argv:
        before = json.loads(OUT.with_suffix(".json").read_text(encoding="utf-8"))
        found = measured(sys.argv[1:], before)
        OUT.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    OUT.with_suffix(".md").write_text(
        page(json.loads(OUT.with_suffix(".json").read_text(encoding="utf-8"))), encoding="utf-8"
    )
