"""The worker on our side: one cell's problem in memory, commanded over pipes (one JSON object a line).

`python -m benchmarks.ours` reads commands from standard input and answers on standard output; whatever
libraries print goes to standard error. It prepares exchange folders, runs our methods, and scores
everybody's rows.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cells import CHECK, DATA, SEED, WARM, N

VARIANTS = ("usable", "usable_plausible", "success", "validity")


def peak_megabytes(reset: bool = False) -> float:
    """Peak resident memory in MB since the last reset (Linux; NaN where the kernel does not say)."""
    if reset:
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            return float("nan")
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return float(line.split()[1]) / 1024
    return float("nan")


class Cell:
    """One data set and one classifier."""

    def __init__(self, data: str, model: str) -> None:
        import wayforward as wf
        from wayforward.model import train

        self.data, self.model = data, model
        name, acts = DATA[data]
        table = wf.datasets.load(name, variant=acts)
        past, held = table.split(test=0.3, seed=SEED)
        self.schema = table.schema
        started = time.perf_counter()
        self.pipeline = train(model, self.schema, past.x, past.y, seed=SEED)
        self.train_seconds = time.perf_counter() - started
        self.train_x, self.train_y = past.x, past.is_favourable.astype(int)
        self.problem = wf.Problem(
            self.schema, self.pipeline, wf.Target(favourable=1), data=past.x, least_change=None
        )
        # Refused people: those held back first, then the training people, each in a shuffled order.
        rng = np.random.default_rng(SEED)
        pools = [rng.permutation(part.x[~self.problem.reached(part.x)[0]]) for part in (held, past)]
        self.refused = np.concatenate(pools)
        self.refused_held = len(pools[0])
        self.check = rng.permutation(held.x if len(held.x) >= CHECK else table.x)[:CHECK]
        self.accuracy = float((self.problem.reached(held.x)[0] == held.is_favourable).mean())
        self.fitted: dict[str, Any] = {}

    @property
    def warm(self) -> np.ndarray:
        """People of the warm-up: the last of the pool, so that they are not among those measured."""
        return self.refused[-WARM:]

    def people(self, n: int) -> np.ndarray:
        """The first n refused people; drawn again with replacement where there are fewer."""
        pool = self.refused[:-WARM]
        if n <= len(pool):
            return pool[:n]
        more = np.random.default_rng(SEED + 1).integers(len(pool), size=n - len(pool))
        return np.concatenate([pool, pool[more]])

    @property
    def n(self) -> int:
        """People of the comparison: N, or all that there are."""
        return min(N, len(self.refused) - WARM)

    def exchange(self, folder: Path) -> str:
        """Write what a peer needs as plain data (see `benchmarks/peers/common.py`); a digest of the question."""
        from skops import io as skops_io

        folder.mkdir(parents=True, exist_ok=True)
        schema = self.schema
        rows: dict[str, np.ndarray] = {
            "train": self.train_x,
            "label": self.train_y,
            "check": self.check,
            "check_score": self.problem.reached(self.check)[1],
            "free": schema.actionable,
        }
        people = self.people(self.n)
        for tag, x in (("", people), ("warm_", self.warm)):
            population = self.problem.population(x)
            rows[tag.rstrip("_") or "people"] = x
            rows[f"{tag}low"], rows[f"{tag}high"] = population.low, population.high
            for j in np.flatnonzero(schema.has_levels):
                rows[f"{tag}levels_{j}"] = self._levels(x, int(j), population.level_ok[int(j)])
        np.savez_compressed(folder / "rows.npz", **rows)
        seen_low, seen_high = self.problem.observed_range
        features = [
            {
                "name": f.name,
                "kind": f.kind,
                "levels": list(f.levels),
                "low": None if f.has_levels else float(f.low if f.low is not None else seen_low[j]),
                "high": None if f.has_levels else float(f.high if f.high is not None else seen_high[j]),
                "step": f.step,
                "actionability": f.actionability,
                "direction": f.direction,
            }
            for j, f in enumerate(schema.features)
        ]
        favourable = list(self.pipeline.classes_).index(1)
        meta = {"features": features, "favourable_index": favourable, "seed": SEED}
        (folder / "task.json").write_text(json.dumps(meta, indent=1))
        skops_io.dump(self.pipeline, folder / "model.skops")
        question = hashlib.sha256((folder / "task.json").read_bytes())
        for key in sorted(rows):
            question.update(np.ascontiguousarray(rows[key]).tobytes())
        return question.hexdigest()[:16]

    def _levels(self, x: np.ndarray, j: int, ok: np.ndarray) -> np.ndarray:
        """Levels each person may take: those in reach whose change alone breaks no rule."""
        ok = ok.copy()
        if self.schema.rules:
            for level in range(ok.shape[1]):
                changed = x.copy()
                changed[:, j] = level
                ok[:, level] &= self.schema.compiled_rules.satisfied(x, changed) | (x[:, j] == level)
        return ok

    def describe(self) -> dict[str, Any]:
        """Numbers about the cell for the documentation."""
        return {
            "data": self.data,
            "model": self.model,
            "actionability": DATA[self.data][1],
            "train_rows": len(self.train_x),
            "features": self.schema.d,
            "actionable": int(self.schema.actionable.sum()),
            "rules": len(self.schema.rules),
            "n": self.n,
            "refused": len(self.refused),
            "refused_held_out": self.refused_held,
            "accuracy_held_out": self.accuracy,
            "train_seconds": self.train_seconds,
        }

    def method(self, name: str) -> tuple[Any, float]:
        """A fitted and warmed method, and its fit seconds. Raises: UnsupportedModel."""
        import wayforward as wf

        if name not in self.fitted:
            method = wf.method(name)
            started = time.process_time()
            method.fit(self.problem)
            seconds = time.process_time() - started
            method.recommend(self.warm, 1, seed=SEED)
            self.fitted[name] = (method, seconds)
        got: tuple[Any, float] = self.fitted[name]
        return got

    def run(self, name: str, n: int, repeat: int, out: str | None) -> dict[str, Any]:
        """Run one of our methods `repeat` times over n people; the rows go to `out`.

        Seconds are processor seconds, as for the peers.
        """
        from wayforward.errors import MissingExtra, UnsupportedModel

        x = self.people(n)
        try:
            method, fit_seconds = self.method(name)
        except (UnsupportedModel, MissingExtra) as why:
            return {"unsupported": type(why).__name__, "why": str(why)}
        peak_megabytes(reset=True)
        seconds, wall = [], []
        for _ in range(repeat):
            started, spent = time.perf_counter(), time.process_time()
            got = method.recommend(x, 1, seed=SEED)
            seconds.append(time.process_time() - spent)
            wall.append(time.perf_counter() - started)
        if out is not None:
            Path(out).parent.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(out, after=got.after[:, 0])
        return {
            "n": n,
            "distinct_people": len(np.unique(x, axis=0)),
            "seconds": seconds,
            "wall_seconds": wall,
            "fit_seconds": fit_seconds,
            "model_rows": int(got.meta["model_rows"]),
            "model_calls": int(got.meta["model_calls"]),
            "native_rows": int(got.meta["native_rows"]),
            "outcomes": {kind.name: n for kind, n in Counter(got.outcome[:, 0]).items()},
            "peak_mb": peak_megabytes(),
            "versions": got.meta["versions"],
        }

    def score(self, path: str, n: int | None, save: str) -> dict[str, Any]:
        """Score rows of anybody with `evaluate_rows`; per-person results go to `save`."""
        from wayforward.evaluate import evaluate_rows

        with np.load(path, allow_pickle=False) as stored:
            after = stored["after"][:n]
        x = self.people(len(after))
        got = evaluate_rows(x, after, self.problem, metrics="headline", bootstrap=1)
        usable = got.options["usable"][:, 0]
        l1, l0 = got.options["l1"][:, 0], got.options["l0"][:, 0]
        found = got.options["returned"][:, 0]
        np.savez_compressed(save, usable=usable, found=found, l1=l1, l0=l0, valid=got.options["valid"][:, 0])
        return {
            "n": len(after),
            **{name: float(getattr(got, name)) for name in VARIANTS},
            "l1_found": _mean(l1[found]),
            "l1_usable": _mean(l1[usable]),
            "l0_usable": _mean(l0[usable]),
            "legal": float(got.legal),
            "rules_kept": float(got.rules_kept),
        }


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def main() -> int:
    """Answer commands until the input ends."""
    from wayforward.errors import WayforwardError

    reply = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # prints of libraries must not enter the conversation
    sys.stdout = sys.stderr
    warnings.filterwarnings("ignore")
    cell: Cell | None = None
    for line in sys.stdin:
        command = json.loads(line)
        try:
            what = command.pop("do")
            if what == "open":
                cell = Cell(command["data"], command["model"])
                answer: dict[str, Any] = cell.describe()
            elif cell is None:
                raise RuntimeError("open a cell first")
            elif what == "exchange":
                answer = {"digest": cell.exchange(Path(command["folder"]))}
            elif what == "run":
                answer = cell.run(command["method"], command["n"], command["repeat"], command.get("out"))
            else:
                answer = cell.score(command["path"], command.get("n"), command["save"])
        except Exception as error:
            if not isinstance(error, WayforwardError):  # those explain themselves
                traceback.print_exc(file=sys.stderr)
            answer = {"error": f"{type(error).__name__}: {error}"}
        reply.write(json.dumps(answer) + "\n")
        reply.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
