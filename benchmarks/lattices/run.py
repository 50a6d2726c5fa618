"""`python -m benchmarks.lattices`: many lattices, resumable and in shards; then one summary.

Records are kept a line each under benchmarks/.cache, for one state of the library's source; a summary of all shards
goes to benchmarks/results/lattices.json. ``--only N`` measures one lattice and prints what broke.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cells import CACHE, RESULTS, source_digest
from benchmarks.lattices.cases import Lattice, make_lattice
from benchmarks.lattices.measure import SLOTS, Record, measure
from benchmarks.lattices.models import FAMILIES, Lot, make_lot

PER_LOT = 10  # lattices that share a fitted model
DEARER = 0.002  # share above the optimum from which an answer counts as dearer


@lru_cache(maxsize=4)
def _lot(number: int, seed: int) -> Lot:
    return make_lot(number, seed)


def lattice(number: int, seed: int = 0) -> Lattice | None:
    """One lattice by its number; None where its model refuses nobody."""
    return make_lattice(number, _lot(number // PER_LOT, seed), seed)


def records(numbers: Iterable[int], method: str, seed: int, *, full: bool) -> Iterator[Record]:
    """Measure lattices, one after another; those that the method does not fit are tagged so."""
    import wayforward as wf
    from wayforward.errors import MissingExtra, WayforwardError

    for number in numbers:
        case = lattice(number, seed)
        if case is None:
            yield Record(number, {"skipped": "refuses nobody"})
            continue
        try:
            yield measure(case, wf.method(method), full=full, seed=seed)
        except (WayforwardError, MissingExtra) as why:
            yield Record(number, {**case.tags, "skipped": type(why).__name__})
        except Exception as error:  # a crash is a defect of its own, and no reason to stop
            record = Record(number, {**case.tags, "skipped": "crashed"})
            record.broken("crashed", -1, error=f"{type(error).__name__}: {error}"[:300])
            yield record


# -- a summary ---------------------------------------------------------------------------------------------


def summarise(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts over records, as they are stored."""
    done = [r for r in found if "skipped" not in r["tags"]]
    people = [(r["tags"], p) for r in done for p in r["people"]]
    out: dict[str, Any] = {
        "lattices": len(done),
        "skipped": dict(Counter(r["tags"]["skipped"] for r in found if "skipped" in r["tags"])),
        "people": len(people),
        "with a way": sum(p["exists"] for _, p in people),
        "impossible": sum(p["impossible"] for _, p in people),
        "defects": dict(Counter(d["what"] for r in found for d in r["defects"])),
        "false FOUND": dict(
            Counter(d["why"] for r in found for d in r["defects"] if d["what"] == "false FOUND")
        ),
        "not found": _by(people, lambda p: p["exists"], lambda p: p["k1"] == "NOT_FOUND"),
        "proved": _by(people, lambda p: p["impossible"], lambda p: p["k1"] == "NONE_EXISTS"),
        "seconds": {
            key: sum(r["seconds"].get(key, 0.0) for r in done)
            for key in sorted({key for r in done for key in r["seconds"]})
        },
    }
    out["cost"] = _costs(people)
    out["slots"] = {str(k): _slots(people, k) for k in SLOTS[1:]}
    first = {d["what"]: d for r in reversed(found) for d in r["defects"]}
    out["examples"] = list(first.values())
    return out


def _by(people: list[tuple[Any, Any]], among: Any, what: Any) -> dict[str, list[int]]:
    """Counts [how many, of how many] in all, by world, with rules, and by family."""
    out: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for tags, p in people:
        if not among(p):
            continue
        keys = ["all", tags["world"], f"family {tags['family']}", f"target {tags['target']}"]
        keys += ["rules"] if tags["rules"] else []
        keys += ["causal or linked"] if tags["world"] != "independent" else []
        for key in keys:
            out[key][0] += bool(what(p))
            out[key][1] += 1
    return dict(sorted(out.items()))


def _costs(people: list[tuple[Any, Any]]) -> dict[str, Any]:
    groups: dict[str, list[float]] = defaultdict(list)
    for tags, p in people:
        if "cost1" in p and p.get("optimum", 0) > 1e-12:
            world = "independent" if tags["world"] == "independent" else "causal or linked"
            for name in ("all", world, *(("rules",) if tags["rules"] else ())):
                groups[name].append(p["cost1"] / p["optimum"])
    return {
        name: {
            "people": len(over),
            "mean ratio": float(np.mean(over)),
            "dearer": float((np.array(over) > 1 + DEARER).mean()),
            "worst": float(np.max(over)),
        }
        for name, over in sorted(groups.items())
    }


def _slots(people: list[tuple[Any, Any]], k: int) -> dict[str, Any]:
    some = [p for _, p in people if f"possible{k}" in p]
    if not some:
        return {}
    count = {key: sum(p[f"{key}{k}"] for p in some) for key in ("possible", "distinct", "not_least")}
    filled = sum(min(p[f"filled{k}"], p[f"possible{k}"]) for p in some)
    least = sum(min(p[f"filled{k}"] - p[f"not_least{k}"], p[f"possible{k}"]) for p in some)
    any_ = sum(min(p[f"filled{k}"], p[f"distinct{k}"]) for p in some)
    return {
        **count,
        "people": len(some),
        "share of undominated slots that hold an option": filled / max(count["possible"], 1),
        "share of undominated slots that hold an undominated one": least / max(count["possible"], 1),
        "share of distinct slots that hold an option": any_ / max(count["distinct"], 1),
    }


def _text(summary: dict[str, Any]) -> str:
    """JSON with a pair of counts on one line."""
    text = json.dumps(summary, indent=1, default=float) + "\n"
    return re.sub(r"\[\s+(-?\d+),\s+(-?\d+)\s+\]", r"[\1, \2]", text)


# -- the command -------------------------------------------------------------------------------------------


def _read(file: Path) -> list[dict[str, Any]]:
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]  # the last one may have been cut off


def main(argv: list[str] | None = None) -> int:
    """Measure what is missing, and summarise."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lattices", description=__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--shard", default="0/1", help="i/n: every n-th lot of lattices, from the i-th")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--method", default="local-search")
    parser.add_argument("--light", action="store_true", help="k of 1 only, all in one call")
    parser.add_argument(
        "--families",
        nargs="*",
        choices=FAMILIES,
        help="these alone; kept in the summary beside all, as 'again'",
    )
    parser.add_argument("--only", type=int, nargs="*", help="these lattices, printed and not stored")
    parser.add_argument("--keep", action="store_true", help="keep records of another state of the source")
    parser.add_argument("--out", type=Path, help="the summary; default benchmarks/results/lattices.json")
    parser.add_argument("--label", default="", help="a name for records that are kept apart")
    arguments = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    full = not arguments.light and arguments.method == "local-search"
    if arguments.only is not None:
        for record in records(arguments.only, arguments.method, arguments.seed, full=full):
            print(json.dumps(asdict(record), indent=1, default=float))
        return 0
    families = arguments.families or FAMILIES
    shard, shards = map(int, arguments.shard.split("/"))
    home = CACHE / f"lattices-{arguments.method}-{arguments.seed}{arguments.label and '-' + arguments.label}"
    home.mkdir(parents=True, exist_ok=True)
    state = home / "source"
    source = source_digest()
    if state.exists() and state.read_text() != source and not arguments.keep:
        for old in home.glob("*.jsonl"):
            old.unlink()
    state.write_text(source)
    done = {record["number"] for file in home.glob("*.jsonl") for record in _read(file)}
    numbers = [
        number
        for number in range(arguments.start, arguments.start + arguments.n)
        if number // PER_LOT % shards == shard
        and number not in done
        and FAMILIES[number // PER_LOT % len(FAMILIES)] in families
    ]
    began = time.perf_counter()
    with (home / f"{shard}-of-{shards}.jsonl").open("a") as file:
        for at, record in enumerate(records(numbers, arguments.method, arguments.seed, full=full), start=1):
            file.write(json.dumps(asdict(record), default=float) + "\n")
            file.flush()
            for defect in record.defects:
                print(json.dumps(defect, default=float), flush=True)
            if at % 50 == 0:
                print(f"{at} of {len(numbers)}, {time.perf_counter() - began:.0f} s", flush=True)
    every = [
        r
        for file in sorted(home.glob("*.jsonl"))
        for r in _read(file)
        if arguments.start <= r["number"] < arguments.start + arguments.n
    ]
    every.sort(key=lambda r: r["number"])
    summary = {
        "method": arguments.method, "seed": arguments.seed, "asked": arguments.n, "source": source,
        "when": time.strftime("%Y-%m-%d"), **summarise(every),
    }  # fmt: skip
    apart = "" if arguments.method == "local-search" else f"-{arguments.method}"
    out = arguments.out or RESULTS / f"lattices{apart}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    whole = summary
    if arguments.families:
        whole = (json.loads(out.read_text()) if out.exists() else {}) | {
            "again": summary | {"families": list(families)}
        }
    out.write_text(_text(whole))
    print(_text({k: v for k, v in summary.items() if k != "examples"}))
    return 0
