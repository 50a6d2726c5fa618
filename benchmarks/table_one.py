"""`python -m benchmarks.table_one`: methods of the survey's Table 1 beside public implementations, on adult.

Ours answer 1,000 refused people in one call, with the classifier as the pipeline that it is; a peer answers the first
of the same people one by one, with the classifier as an array function, the fastest that it can be given. Everybody's
rows are judged by the same scorer. Processor seconds, one thread. Results go to benchmarks/results/table_one.json.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import environments
from benchmarks.cells import CACHE, RESULTS, Peer
from benchmarks.ours import Cell
from benchmarks.run import run_peer

PEOPLE = 1_000
MODELS = ("lr", "rf")
ARRAY = {"model": "array"}
# our method -> the public implementation of it, or of what is nearest to it
PAIRS = {
    "geco": Peer("dice-genetic", "dice-ml genetic", "dice_peer.py", "dice", options={"method": "genetic"}),
    "moc": Peer("decode-mcd", "decode-mcd (NSGA-II)", "mcd_peer.py", "mcd"),
    "vice": (cfnow := Peer("cfnow", "cfnow", "cfnow_peer.py", "cfnow")),
    "sedc": cfnow,
    "lore": Peer("lore-sa", "lore-sa", "lore_peer.py", "lore"),
}
PERSON = 60.0  # processor seconds after which a peer has not found one for a person


class Large(Cell):
    """adult with 1,000 people, of whom peers answer the first."""

    n = PEOPLE

    @property
    def warm(self) -> np.ndarray:
        """One person: some peers take many seconds for each."""
        return self.refused[-1:]


def judged(cell: Cell, file: Any, n: int | None = None) -> dict[str, float]:
    """Shares of the first n people for whom rows are a yes, and a usable one; and what these ask, in L1."""
    got = cell.score(str(file), n, str(CACHE / "table_one-score.npz"))
    return {key: got[key] for key in ("n", "validity", "usable", "l1_usable", "l0_usable")}


def beside(cell: Cell, name: str, peer: Peer, people: int, seconds: float) -> dict[str, Any]:
    """One of our methods in one call, and its peer for so many people within so many seconds."""
    home = CACHE / f"table_one-{cell.model}"
    rows = home / f"{name}.npz"
    mine = cell.run(name, PEOPLE, 1, str(rows))
    out: dict[str, Any] = {
        "peer": peer.title,
        "seconds": mine["seconds"][0],
        "rows": mine["model_rows"] / PEOPLE,
    }
    out["people_a_second"] = PEOPLE / mine["seconds"][0]
    out["ours"] = judged(cell, rows)
    python = environments.ensure(peer)
    if python is None:
        return out
    limited = replace(
        peer, n=people, person_seconds=PERSON, cell_seconds=seconds, options=peer.options | ARRAY
    )
    kept = home / f"{peer.name}.json"  # of the same people, for another method of ours
    ran = (
        json.loads(kept.read_text())
        if kept.exists()
        else run_peer(python, limited, home / "exchange", home / peer.name)
    )
    if ran is None:
        return out
    out |= {
        "peer_people": ran["n"], "peer_seconds": ran["generate_seconds"], "versions": ran["versions"],
        "failures": ran["failures"], "peer_rows": ran["model_rows"] / max(ran["n"], 1),
        "peer_people_a_second": ran["n"] / ran["generate_seconds"],
    }  # fmt: skip
    out["times"] = out["people_a_second"] / out["peer_people_a_second"]
    out["theirs"] = judged(cell, home / f"{peer.name}.npz")
    out["ours_on_theirs"] = judged(cell, rows, ran["n"])
    return out


def table(results: dict[str, dict[str, Any]]) -> str:
    """The table of the documentation."""
    lines = [
        "| ours | beside | model | people/s | theirs | times | usable, 1,000 people | theirs (a yes), of n "
        "| L1: ours, theirs |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for key, got in results.items():
        name, model = key.split("/")
        if "theirs" not in got:
            continue
        theirs, same = got["theirs"], got["ours_on_theirs"]
        l1 = [f"{part['l1_usable']:.2f}" if part["l1_usable"] is not None else "–" for part in (same, theirs)]
        lines.append(
            f"| `{name}` | {got['peer']} | {model} | {got['people_a_second']:,.0f} | "
            f"{got['peer_people_a_second']:.2g} | {got['times']:,.0f} | {got['ours']['usable']:.3f} | "
            f"{theirs['usable']:.2f} ({theirs['validity']:.2f}), {theirs['n']} | {', '.join(l1)} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Measure what was asked for, keep it, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table_one", description=__doc__)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--methods", nargs="*", default=list(PAIRS))
    parser.add_argument("--people", type=int, default=20, help="whom a peer is asked about")
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="after which it is asked about nobody more"
    )
    parser.add_argument("--fresh", action="store_true", help="ask peers again")
    parser.add_argument("--render", action="store_true", help="print the table of what is kept")
    arguments = parser.parse_args()
    file = RESULTS / "table_one.json"
    kept: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    for model in () if arguments.render else arguments.models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cell = Large("adult", model)
            home = CACHE / f"table_one-{model}"
            asked, mark = cell.exchange(home / "exchange"), home / "question.txt"
            if arguments.fresh or not mark.exists() or mark.read_text() != asked:
                for old in home.glob("*.json"):
                    old.unlink()
                mark.write_text(asked)
            for name in arguments.methods:
                kept[f"{name}/{model}"] = got = beside(
                    cell, name, PAIRS[name], arguments.people, arguments.seconds
                )
                got["measured"] = time.strftime("%Y-%m-%d")
                file.write_text(json.dumps(kept, indent=1) + "\n")
                print(name, model, json.dumps(got), flush=True)
    print(table(kept))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
