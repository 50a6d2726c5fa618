"""From what was measured to benchmarks/results/*.json, docs/benchmarks.md and its figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cells import (
    CACHE,
    DATA,
    EXTRA,
    HERE,
    LEAD,
    MODELS,
    ORACLE,
    OURS,
    PEERS,
    RESULTS,
    ROOT,
    WARM,
    Peer,
    digest,
    source_digest,
)
from benchmarks.markdown import table
from benchmarks.sections import sections

PAGE = ROOT / "docs" / "benchmarks.md"
FIGURE = ROOT / "docs" / "_static" / "bench_growth.svg"
SPEED = {"lr": 100.0, "mlp": 100.0, "rf": 30.0}  # times dice-ml random
SPEED_NICE = 5.0
TITLE = {p.name: p.title for p in PEERS}


Cell = dict[str, Any]


def _scores(home: Path, name: str) -> dict[str, np.ndarray]:
    with np.load(home / f"{name}-score.npz", allow_pickle=False) as stored:
        return {key: stored[key] for key in stored.files}


def _against(ours: dict[str, np.ndarray], peer: dict[str, np.ndarray]) -> dict[str, Any]:
    """local-search and a peer on the peer's people: shares usable, and costs where both are usable."""
    n = len(peer["usable"])
    mine = ours["usable"][:n]
    both = mine & peer["usable"]
    out: dict[str, Any] = {
        "n": n,
        "ours_usable": float(mine.mean()),
        "peer_usable": float(peer["usable"].mean()),
        "both": int(both.sum()),
        "only_peer": int((peer["usable"] & ~mine).sum()),
        "only_ours": int((mine & ~peer["usable"]).sum()),
    }
    if both.any():
        for measure in ("l1", "l0"):
            out[f"ours_{measure}"] = float(ours[measure][:n][both].mean())
            out[f"peer_{measure}"] = float(peer[measure][both].mean())
        out["ours_cheaper"] = float((ours["l1"][:n][both] < peer["l1"][both] - 1e-9).mean())
        out["peer_cheaper"] = float((ours["l1"][:n][both] > peer["l1"][both] + 1e-9).mean())
    return out


def _optimum(home: Path, ours: dict[str, np.ndarray], measured: dict[str, Any]) -> dict[str, Any]:
    """local-search beside answers known to be optimal: oceanpy's where proved, our exact method's on lr."""
    out: dict[str, Any] = {}
    if "score" in measured["peers"].get("oceanpy", {}):
        peer = _scores(home, "oceanpy")
        with np.load(home / "oceanpy.npz", allow_pickle=False) as stored:
            words = stored["words"]
        if len(words) == len(peer["usable"]):
            out["oceanpy"] = _gap(ours, peer, words == "OPTIMAL") | {
                "none_exists": int((words == "INFEASIBLE").sum()),
                "ours_usable_there": int((ours["usable"][: len(words)] & (words == "INFEASIBLE")).sum()),
                "open": int(((words != "OPTIMAL") & (words != "INFEASIBLE")).sum()),
            }
    if "score" in measured["ours"].get(ORACLE, {}):
        exact = _scores(home, ORACLE)
        out[ORACLE] = _gap(ours, exact, exact["usable"]) | {
            "none_exists": int(measured["ours"][ORACLE]["outcomes"].get("NONE_EXISTS", 0)),
            "open": int(measured["ours"][ORACLE]["outcomes"].get("NOT_FOUND", 0)),
        }
    return out


def _gap(ours: dict[str, np.ndarray], exact: dict[str, np.ndarray], proved: np.ndarray) -> dict[str, Any]:
    n = len(proved)
    both = proved & exact["usable"] & ours["usable"][:n]
    out: dict[str, Any] = {"n": n, "both": int(both.sum())}
    if both.any():
        mine, best = ours["l1"][:n][both], exact["l1"][both]
        out |= {
            "ours_l1": float(mine.mean()),
            "best_l1": float(best.mean()),
            "ours_at_best": float((mine <= best + 1e-3).mean()),
        }
    return out


def _verdicts(model: str, peers: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The targets of one cell: what was asked, what was reached, met or not."""
    out: dict[str, dict[str, Any]] = {}
    known = {name: got for name, got in peers.items() if "against" in got}
    if known:
        worst = min(known.values(), key=lambda g: g["against"]["ours_usable"] - g["against"]["peer_usable"])
        gap = worst["against"]["ours_usable"] - worst["against"]["peer_usable"]
        out["usable"] = {"value": gap, "met": bool(gap >= 0)}
    for name, tool, least_speed, most_cost in (
        ("dice", "dice-random", SPEED[model], 0.5), ("nice", "nicex", SPEED_NICE, 1.0 + 1e-9)
    ):  # fmt: skip
        if (peer := known.get(tool)) is None:
            continue
        pair = peer["against"]
        if "ours_l1" in pair:
            ratio = pair["ours_l1"] / pair["peer_l1"]
            out[f"cost_{name}"] = {"value": ratio, "met": bool(ratio <= most_cost)}
        ratio = peer["ours_people_per_second"] / peer["people_per_second"]
        out[f"speed_{name}"] = {"value": ratio, "met": bool(ratio >= least_speed)}
    return out


def gather() -> list[Cell]:
    """Everything measured, cell by cell, with comparisons and verdicts."""
    homes = [(data, model, CACHE / f"{data}-{model}") for data in DATA for model in MODELS]
    found = [_gather(data, model, home) for data, model, home in homes if (home / "cell.json").exists()]
    return [cell for cell in found if cell is not None]


def _gather(data: str, model: str, home: Path) -> Cell | None:
    """One cell; None where local-search was not measured."""
    measured = json.loads((home / "cell.json").read_text())
    if "score" not in measured.get("ours", {}).get(LEAD, {}):
        return None
    ours, many = _scores(home, LEAD), home / "big.json"
    for name, got in (json.loads(many.read_text()) if many.exists() else {}).items():
        measured["ours"].get(name, {})["big"] = got
    peers = {}
    for name, got in measured["peers"].items():
        peers[name] = got
        if not got.get("failed"):
            script = HERE / "peers" / next(p.script for p in PEERS if p.name == name)
            stale = got["ours_source"] != measured.get("source", got["ours_source"])
            against = _against(ours, _scores(home, name))
            peers[name] = got | {"against": against, "script": digest(script), "older_ratio": stale}
    for name in OURS:
        got = measured["ours"].get(name, {})
        if name != LEAD and "score" in got:
            got["against"] = _against(ours, _scores(home, name))
    return {
        "about": measured["about"],
        "ours": measured["ours"],
        "peers": peers,
        "targets": _verdicts(model, peers),
        "optimum": _optimum(home, ours, measured),
        "extra": data in EXTRA,
        "source": measured.get("source"),
    }


# -- words -------------------------------------------------------------------------------------------------


def _number(value: Any, digits: int = 3) -> str:
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return "–"
    return f"{value:,.{digits}f}"


def _speed(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}" if value >= 1 else f"{value:.2f}"


def _name(cell: Cell) -> str:
    return f"{cell['about']['data']} {cell['about']['model']}"


def _of_peers(cells: list[Cell]) -> list[tuple[Cell, Peer, dict[str, Any]]]:
    """Cell, peer and what was measured of it, wherever it was run."""
    return [(c, p, c["peers"][p.name]) for c in cells for p in PEERS if p.name in c["peers"]]


def _mark(verdict: dict[str, Any] | None, text: str) -> str:
    if verdict is None:
        return "–"
    return f"{text.format(verdict['value'])} {'met' if verdict['met'] else '**not met**'}"


def _targets(cells: list[Cell]) -> str:
    shown = {
        "usable": ("usable: least lead over a peer (target 0 or more)", "{:+.3f}"),
        "cost_dice": ("L1 / dice-ml random (0.50 or less)", "{:.2f}"),
        "cost_nice": ("L1 / NICEx (1.00 or less)", "{:.2f}"),
        "speed_dice": ("people/s over dice-ml random (100 x; rf 30 x)", "{:,.0f} x"),
        "speed_nice": ("people/s over NICEx (5 x)", "{:,.0f} x"),
    }
    rows = [
        [_name(cell), *(_mark(cell["targets"].get(key), text) for key, (_, text) in shown.items())]
        for cell in cells
    ]
    return table(["cell", *(head for head, _ in shown.values())], rows)


def _tally(cells: list[Cell]) -> str:
    names = {
        "usable": "`usable` at least every peer's",
        "cost_dice": "L1 at most half of dice-ml random's",
        "cost_nice": "L1 at most NICEx's",
        "speed_dice": "people a second, over dice-ml random",
        "speed_nice": "people a second, over NICEx",
    }
    lines = []
    for key, words in names.items():
        got = [c for c in cells if key in c["targets"] and not c["extra"]]
        missed = [_name(c) for c in got if not c["targets"][key]["met"]]
        text = f"- {words}: met in {len(got) - len(missed)} of {len(got)} cells"
        lines.append(text + (f"; not in {', '.join(missed)}." if missed else "."))
    return "\n".join(lines)


def _usable(cells: list[Cell]) -> str:
    rows = []
    for cell in cells:
        about, ours = cell["about"], cell["ours"]
        row = [_name(cell), str(about["n"])]
        for name in OURS:
            score = ours.get(name, {}).get("score")
            row.append(f"{score['usable']:.3f} / {_number(score['usable_plausible'])}" if score else "–")
        for peer in PEERS:
            got = cell["peers"].get(peer.name)
            if not got or "score" not in got:
                row.append("failed" if got else "–")
                continue
            score = got["score"]
            people = "" if got["n"] == about["n"] else f" (n {got['n']})"
            row.append(f"{score['usable']:.3f} / {_number(score['usable_plausible'])}{people}")
        rows.append(row)
    return table(["cell", "n", *OURS, *(p.title for p in PEERS)], rows)


def _costs(cells: list[Cell]) -> str:
    rows = [
        [
            _name(cell),
            peer.title,
            str(a["both"]),
            f"{a['ours_l1']:.3f}",
            f"{a['peer_l1']:.3f}",
            f"{a['ours_l1'] / a['peer_l1']:.2f}" if a["peer_l1"] > 0 else "–",
            f"{a['ours_l0']:.2f}",
            f"{a['peer_l0']:.2f}",
            f"{a['ours_cheaper']:.0%}",
            f"{a['peer_cheaper']:.0%}",
            str(a["only_ours"]),
            str(a["only_peer"]),
        ]
        for cell, peer, got in _of_peers(cells)
        if "ours_l1" in (a := got.get("against", {}))
    ]
    head = ["cell", "peer", "both usable", "L1 ours", "L1 peer", "ratio", "L0 ours", "L0 peer"]
    return table(head + ["ours cheaper", "peer cheaper", "only ours usable", "only peer usable"], rows)


def _optima(cells: list[Cell]) -> str:
    rows = [
        [
            _name(cell),
            TITLE.get(name, name),
            str(got["both"]),
            _number(got.get("ours_l1")),
            _number(got.get("best_l1")),
            _number(got["ours_l1"] / got["best_l1"], 2) if got.get("best_l1") else "–",
            f"{got['ours_at_best']:.0%}" if "ours_at_best" in got else "–",
            str(got["none_exists"]),
            str(got["open"]),
        ]
        for cell in cells
        for name, got in cell["optimum"].items()
    ]
    head = ["cell", "exact method", "people", "L1 ours", "L1 optimum", "ratio", "within 0.001 of it"]
    return table(head + ["proved that none exists", "neither found nor proved"], rows)


def _speeds(cells: list[Cell]) -> str:
    rows = [
        [
            _name(cell),
            peer.title,
            str(got["n"]),
            _speed(got["people_per_second"]),
            _speed(got["ours_people_per_second"]),
            f"{_speed(got['ours_people_per_second'] / got['people_per_second'])} x"
            + (" (older)" if got["older_ratio"] else ""),
            f"{got['model_seconds'] / got['generate_seconds']:.0%}",
            f"{got['fit_seconds']:.2f}",
            f"{got['model_rows'] / got['n']:,.0f}" if got["model_rows"] else "–",
            f"{got['peak_mb']:,.0f}",
            ", ".join(f"{v} {k}" for k, v in got["failures"].items()) or "none",
        ]
        for cell, peer, got in _of_peers(cells)
        if not got.get("failed")
    ]
    head = ["cell", "peer", "people", "peer people/s", "local-search people/s beside it", "ratio"]
    head += ["peer's time in the classifier", "fit s", "model rows a person", "peak MB", "failures"]
    return table(head, rows)


def _own(cells: list[Cell]) -> str:
    rows = []
    for cell, name in ((c, name) for c in cells for name in OURS if c["ours"].get(name)):
        got = cell["ours"][name]
        if "unsupported" in got:
            word = "failed" if got["unsupported"] == "failed" else "needs gradients or an extra"
            rows.append([_name(cell), name, word, *[""] * 8])
            continue
        use = got["big"] if "score" in got.get("big", {}) else got
        score = use["score"]
        rows.append(
            [
                _name(cell),
                name,
                f"{use['n']:,}" + ("" if use["distinct_people"] == use["n"] else "*"),
                f"{score['usable']:.3f}",
                _number(score["usable_plausible"]),
                _number(score["l1_usable"]),
                _number(score["l0_usable"], 2),
                _speed(use["people_per_second"]),
                f"{got['fit_seconds']:.2f}",
                f"{use['model_rows'] / use['n']:,.0f}",
                f"{use['peak_mb']:,.0f}",
            ]
        )
    head = ["cell", "method", "people", "usable", "usable plausible", "L1", "L0", "people/s", "fit s"]
    return table(head + ["model rows a person", "peak MB"], rows)


def _cells(cells: list[Cell]) -> str:
    rows = [
        [
            _name(cell),
            a["actionability"],
            f"{a['train_rows']:,}",
            f"{a['actionable']} of {a['features']}",
            str(a["rules"]),
            f"{a['accuracy_held_out']:.3f}",
            f"{a['refused']:,}",
            f"{min(a['n'], a['refused_held_out'])} of {a['n']}",
        ]
        for cell in cells
        for a in (cell["about"],)
    ]
    head = ["cell", "actionability set", "training rows", "actionable", "rules", "accuracy, held out"]
    return table(head + ["refused in all", "held out among those compared"], rows)


def _agreement(cells: list[Cell]) -> str:
    checks = [g["agreement"] for c in cells for g in c["peers"].values() if "agreement" in g]
    if not checks:
        return "No peer was run."
    largest = max(max(a["largest_difference"], a["largest_difference_text_frames"]) for a in checks)
    differ = sum(a["decisions_differ"] for a in checks)
    rows = max(a["rows"] for a in checks)
    return (
        f"Before each run, the peer's process predicts up to {rows:,} rows and compares with ours: over "
        f"{len(checks)} runs the largest difference of a probability was {largest:.1e}, and {differ} "
        "decisions differed."
    )


def _versions(cells: list[Cell]) -> str:
    ours = next((c["ours"][LEAD]["versions"] for c in cells), {})
    seen = {peer.name: got["versions"] for _, peer, got in _of_peers(cells) if "versions" in got}
    named = {"wayforward": ours} | {p.title: seen[p.name] for p in PEERS if p.name in seen}
    return "\n".join(
        f"- {title}: " + ", ".join(f"{name} {versions[name]}" for name in sorted(versions, key=_place))
        for title, versions in named.items()
    )


def _place(name: str) -> tuple[int, str]:
    """Python first, then the tool itself, then what it stands on."""
    below = ("ortools", "numpy", "scipy", "scikit-learn", "numba", "torch", "lightgbm", "pandas")
    return (0, "") if name == "python" else (2 + below.index(name), "") if name in below else (1, name)


def _growth(points: list[Cell]) -> str:
    rows = [
        [
            f"{p['n']:,}" + ("" if p["distinct_people"] == p["n"] else "*"),
            f"{p['seconds']:,.1f}",
            f"{1000 * p['seconds'] / p['n']:.2f}",
            f"{p['n'] / p['seconds']:,.0f}",
            f"{p['peak_mb']:,.0f}",
        ]
        for p in points
    ]
    return table(["people", "processor seconds", "ms a person", "people/s", "peak MB of the process"], rows)


def _slope(points: list[Cell]) -> float:
    """Exponent of time in the number of people, from 1,000 people on (fixed costs rule below)."""
    used = [p for p in points if p["n"] >= 1000] or points
    people, seconds = np.log([p["n"] for p in used]), np.log([p["seconds"] for p in used])
    return float(np.polyfit(people, seconds, 1)[0]) if len(used) > 1 else float("nan")


def figure(points: list[Cell]) -> None:
    """Seconds and memory against people, as an SVG that says the same in the same bytes."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    ink, line = "#3b3f46", "#1f6feb"
    settings = {"svg.hashsalt": "wayforward", "font.size": 10, "font.family": "sans-serif"}
    with plt.rc_context(settings | {"svg.fonttype": "none", "axes.edgecolor": ink, "text.color": ink}):
        sketch, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.2), layout="constrained")
        people = [p["n"] for p in points]
        seconds = [p["seconds"] for p in points]
        left.plot(people, seconds, "o-", color=line, label="measured")
        last = seconds[-1]
        ideal = [last * n / people[-1] for n in people]
        left.plot(people, ideal, "--", color="#8b949e", label="proportional to people")
        left.set(xscale="log", yscale="log", xlabel="people", ylabel="processor seconds", title="Time")
        left.legend(frameon=False)
        right.plot(people, [p["peak_mb"] / 1024 for p in points], "o-", color=line)
        right.axhline(2.0, linestyle="--", color="#8b949e")
        right.annotate("limit: 2 GiB", (people[0], 2.0), xytext=(0, -12), textcoords="offset points")
        right.set(xscale="log", ylim=(0, 2.3), xlabel="people", ylabel="peak memory, GiB", title="Memory")
        for axis in (left, right):
            axis.spines[["top", "right"]].set_visible(False)
            axis.grid(alpha=0.25)
        FIGURE.parent.mkdir(parents=True, exist_ok=True)
        sketch.savefig(FIGURE, metadata={"Date": None, "Creator": None})
        plt.close(sketch)


def write(machine: dict[str, Any]) -> None:
    """Write results, figure and page from what the cache holds."""
    cells = gather()
    for cell in cells:
        name = f"{cell['about']['data']}-{cell['about']['model']}.json"
        (RESULTS / name).write_text(json.dumps(cell, indent=1, sort_keys=True) + "\n")
    file = CACHE / "growth.json"
    points = json.loads(file.read_text())["points"] if file.exists() else []
    (RESULTS / "growth.json").write_text(json.dumps(points, indent=1) + "\n")
    (RESULTS / "machine.json").write_text(json.dumps(machine, indent=1) + "\n")
    if points:
        figure(points)
    PAGE.write_text(text(cells, points, machine))
    print(f"written: {PAGE.relative_to(ROOT)}, {RESULTS.relative_to(ROOT)}", flush=True)


def render() -> None:
    """Write the page again from the results that are stored."""
    names = [f"{data}-{model}.json" for data in DATA for model in MODELS]
    cells = [json.loads((RESULTS / name).read_text()) for name in names if (RESULTS / name).exists()]
    points, machine = (json.loads((RESULTS / f"{name}.json").read_text()) for name in ("growth", "machine"))
    PAGE.write_text(text(cells, points, machine))
    print(f"written: {PAGE.relative_to(ROOT)}", flush=True)


def _growth_section(points: list[Cell]) -> str:
    if not points:
        return ""
    top = points[-1]
    under = "under" if top["peak_mb"] < 2048 else "**over**"
    repeated = any(p["distinct_people"] < p["n"] for p in points)
    star = "\n\\* Not all differ: tables repeat rows, and people are drawn again where there are too few."
    return f"""## Growth with people

`local-search` on gmsc with the mlp, one option each, a new process for each size.
From 1,000 people on, time grows as people to the power {_slope(points):.2f} (1 is linear).
At {top["n"]:,} people the process peaks at {top["peak_mb"]:,.0f} MB, {under} 2 GiB (2,048 MB); this counts
the interpreter, libraries, training table and classifier too.

![Seconds and peak memory of local-search against the number of people](_static/bench_growth.svg)

{_growth(points)}
{star if repeated else ""}
"""


def _how(cells: list[Cell]) -> str:
    states = len({c["source"] for c in cells if c["source"]})
    whole = [g for c in cells for g in c["peers"].values() if "score" in g]
    fewer = sum(g["n"] < g["n_asked"] for g in whole)
    few = sum(g["n"] < 30 for g in whole)
    honest = (
        f"In {fewer} of {len(whole)} runs of a peer the limit of the cell ended the run before the last person "
        f"(the tables show how many were done); {few} runs have fewer than 30 people and say little about rates."
    )
    if states > 1:
        honest += (
            f" The cells were measured on {states} states of the library's source, while it was being finished; "
            "a ratio of speeds is always of one state."
        )
    limits = "; ".join(
        f"{p.title}: {p.n} people, {p.person_seconds:.0f} s a person, {p.cell_seconds:.0f} s of wall time a cell"
        for p in PEERS
    )
    return f"""## How it was done

- One option for each person (k = 1), everywhere. dice-ml is built for several diverse options; this
  comparison is about cost and speed of one.
- The classifiers are scikit-learn pipelines on raw tables (`wayforward.model.train`, seed 0), trained on 70
  % of the rows and handed to the peers as skops files with the same version of scikit-learn. Peers do not
  import our library; they get plain arrays and JSON. {_agreement(cells)}
- The people are refused by the classifier: those held out first, then training people, shuffled.
- dice-ml is given `features_to_vary` and `permitted_range` for each person, from actionability, direction and
  rules on single features; ordered levels are given as categories; the rest is its default. NICEx
  has no setting for immutable features or directions; it runs with its defaults (sparsity, justified
  neighbours). oceanpy gets the forest itself, thresholds rewritten to shares of ranges so that its L1 is
  ours, each person's reach as constraints on its own variables, 10 s a person, one worker.
- Limits: {limits}. Past a person's limit they count as not found; past a cell's limit no further person
  is started and the comparison is over those done. Errors of a peer count as not found. {honest}
- Each peer's own virtual environment is built from `benchmarks/peers/*.txt`. Results in full:
  `benchmarks/results/*.json`. Finished cells are kept in `benchmarks/.cache`; `python -m benchmarks
  --fresh` forgets them.

{_cells(cells)}
"""


def text(cells: list[Cell], points: list[Cell], machine: dict[str, Any]) -> str:
    """The page."""
    dates = sorted({g["date"] for c in cells for g in c["peers"].values() if "date" in g})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}" if dates else "–"
    host = (
        f"a shared machine with {machine['cores']} cores and {machine['memory_gib']} GiB of memory "
        f"({machine['system']}, {machine['architecture']}), one thread for every tool"
    )
    old = {c["source"] for c in cells} != {source_digest()}
    since = " **The library's source has changed since.**" if old else ""
    file = HERE / "notes.md"  # what a person has to say about the numbers as they stand
    notes = file.read_text() if file.exists() else ""
    return f"""# Benchmarks

`make bench` measures this page: our methods beside dice-ml (random, genetic), NICEx and, on forests, oceanpy.
Every tool answers for the same refused people and the same fitted classifiers, and one scorer
(`wayforward.evaluate_rows`) judges all rows. Measured {when} on
{host}.{since} This holds for
every section up to *Growth with people*; each section after it says when it was measured, and on which state.

## The targets

{_tally(cells)}

{_targets(cells)}

The first column is the smallest difference between `usable` of local-search and of any peer, each time on
that peer's people. Cost ratios are over the people for whom both are usable (against NICEx: all whom NICEx
solves usably and local-search too). Speed ratios come from runs of local-search just before and just after
the peer.

{notes}
## Usable, and usable and plausible

`usable`: found, accepted by the classifier itself, legal (values that exist, nothing immutable moved,
directions kept) and within the rules. After the slash: plausible as well, like the people whom the
classifier accepts. A person for whom a tool fails counts as not usable. Some people have no
option at all, so 1.000 need not be possible.

{_usable(cells)}

## Cost where both are usable

L1 is the sum of changes, each as a share of its feature's range; a changed category counts 1. L0 is the
number of features changed.

{_costs(cells)}

## How far from the optimum

On forests, people for whom oceanpy proved its answer optimal. On lr, our own exact method
`actionable-recourse`, optimal on its grid of actions (so local-search, which may use values between grid
points, can be below it).

{_optima(cells)}

## Speed, work and memory of the peers

People a second of processor time while generating: the machine is shared, and with one thread processor time is
what an idle machine would take. Fitting and {WARM} warm-up people are not counted. The classifier's share of the
time is the part that no change of the peer could save. Rows are those that the classifier was shown.

{_speeds(cells)}

## Our methods on more people

{_own(cells)}

\\* Not all differ: tables repeat rows, and people are drawn again where there are too few.

{_growth_section(points)}
{sections()}
{_how(cells)}
### Versions

{_versions(cells)}
"""
