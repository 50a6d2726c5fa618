"""The folder that a run leaves: what was asked, what came out, and the answers of each shard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.errors import FileFormatError, require
from wayforward.lazy import cached_property
from wayforward.plain_files import as_path, file_digest, name_of, read_json
from wayforward.public import public
from wayforward.recourse import Outcome, Recourse
from wayforward.scale.rows import encode_column
from wayforward.scale.shard import ANSWERS, ENTRIES, FORMAT, PROBLEMS
from wayforward.schema import Origin, Schema, carried

MANIFEST = "manifest.json"


@public
@dataclass(frozen=True)
class Answers:
    """Answers in a folder, as `recommend_table` left them. They are Parquet: any tool reads `folder/answers` whole.

    Example: ``for part in Answers.open("out").parts(): ...`` gives a Recourse for each shard, in order.
    """

    folder: Path

    @classmethod
    def open(cls, folder: str | Path) -> Answers:
        """Open a folder. Raises: FileFormatError if it holds no manifest."""
        made = cls(as_path(folder))
        made.manifest  # noqa: B018  (reading it is the check)
        return made

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The question with the hashes of its parts, the schema, and the counts."""
        file = self.folder / MANIFEST
        try:
            found = read_json(file)
            if found["format"] != FORMAT or not isinstance(found["question"], dict):
                raise ValueError("format")
        except (OSError, ValueError, KeyError, TypeError):
            raise FileFormatError(
                f"'{name_of(self.folder)}' holds no manifest of answers. Name the folder that recommend_table wrote."
            ) from None
        return dict(found)

    @property
    def schema(self) -> Schema:
        """The schema of the people."""
        return Schema.from_dict(self.manifest["schema"])

    def entries(self) -> list[dict[str, Any]]:
        """The entry of every finished shard of this question, in order."""
        found = []
        for file in sorted((self.folder / ENTRIES).glob("part-*.json")):
            try:
                entry = read_json(file)
                whole = entry["question"] == self.manifest["hash"]
            except (OSError, ValueError, KeyError, TypeError):
                continue  # a broken entry: the shard is answered again
            if whole and self.file(entry["shard"]).is_file():
                found.append(entry)
        return found

    def counts(self) -> dict[str, Any]:
        """People, problems, outcomes, model rows and seconds of all finished shards together, and with a deadline whose
        searches it ended (`cut_short`), with proofs how many plans are proved the cheapest (`proved_cheapest`)."""
        entries = self.entries()
        total: dict[str, Any] = {
            name: sum(entry[name] for entry in entries)
            for name in ("people", "problems", "model_rows", "native_rows", "seconds")
        }
        if any("proved_cheapest" in entry for entry in entries):
            total["proved_cheapest"] = sum(entry.get("proved_cheapest", 0) for entry in entries)
        ends = {o.name: sum(entry["outcomes"].get(o.name, 0) for entry in entries) for o in Outcome}
        ends = {name: count for name, count in ends.items() if count or name != Outcome.NOT_ASKED.name}
        if any("cut_short" in entry for entry in entries):
            total["cut_short"] = sum(entry.get("cut_short", 0) for entry in entries)
        return {"shards": len(entries), **total, "outcomes": ends}

    def file(self, shard: int) -> Path:
        """The Parquet file of a shard's answers."""
        return self.folder / ANSWERS / f"part-{shard:06d}.parquet"

    def problems(self) -> list[dict[str, Any]]:
        """Who could not be read, and why: person, id where one was named, reason."""
        pq = require("pyarrow.parquet", extra="frames")
        done = {entry["shard"] for entry in self.entries() if entry["problems"]}
        files = [self.folder / PROBLEMS / f"part-{shard:06d}.parquet" for shard in sorted(done)]
        return [row for file in files for row in pq.read_table(file).to_pylist()]

    def parts(self) -> Iterator[Recourse]:
        """Yield the answers of each shard as a `Recourse`, one at a time. Raises: FileFormatError."""
        for entry in self.entries():
            part = self.recourse(entry["shard"])
            if part.n:
                yield part

    def as_written(self, shard: int) -> bool:
        """False where the answers of a shard are others than its entry says; entries of earlier versions do not say."""
        try:
            stored = read_json(self.folder / ENTRIES / f"part-{shard:06d}.json").get("sha256")
            return stored is None or file_digest(self.file(shard)) == stored
        except (OSError, ValueError, AttributeError):
            return True  # nothing to hold it against; whoever reads it says what is amiss

    def recourse(self, shard: int) -> Recourse:
        """Read a shard's answers back. Raises: FileFormatError for a compact table or a broken file."""
        pa, pq = require("pyarrow", extra="frames"), require("pyarrow.parquet", extra="frames")
        if not self.as_written(shard):
            raise FileFormatError(
                f"The answers of shard {shard} were changed after they were written. Delete the file and run again."
            )
        try:
            table = pq.read_table(self.file(shard))
            about = json.loads(table.schema.metadata[b"wayforward"])
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise FileFormatError(
                f"The answers of shard {shard} cannot be read ({type(error).__name__}). Delete the file and run again."
            ) from None
        if about["form"] != "long":
            raise FileFormatError(
                "These answers are compact: the values before and after are left out. Run again with form='long'."
            )
        schema, k = self.schema, int(about["k"])
        n = table.num_rows // k

        def column(name: str) -> np.ndarray:
            return np.asarray(table.column(name).to_numpy(zero_copy_only=False), dtype=np.float64)

        def features(part: str) -> np.ndarray:
            values = [
                encode_column(feature, table.column(f"{part}.{feature.name}")) for feature in schema.features
            ]
            return np.stack(values, axis=-1).reshape(n, k, schema.d)

        outcome = np.array([Outcome[name] for name in table.column("outcome").to_pylist()], dtype=object)
        score: dict[str, Any] = {
            name: column(name).reshape(n, k) for name in ("cost", "plain_cost", "score", "chance")
        }
        if "bound" in table.column_names:
            score["bound"] = column("bound").reshape(n, k)
        empty = outcome.reshape(n, k) != Outcome.FOUND
        empty[:, 0] &= outcome.reshape(n, k)[:, 0] != Outcome.ACCEPTED
        for name in ("cost", "plain_cost"):
            score[name] = np.where(empty, np.inf, score[name])
        question = self.manifest["question"]
        more: dict[str, Any] = {}
        if "reason" in table.column_names:
            more["reasons"] = np.array(
                [why or "" for why in table.column("reason").to_pylist()[::k]], dtype=object
            )
        if "ended_by" in table.column_names:
            ended = table.column("ended_by").to_pylist()[::k]
            more["ended_by"] = np.array([by or "" for by in ended], dtype=object)
        if question.get("id"):
            name = str(question["id"])
            own = np.empty(n, dtype=object)
            own[:] = table.column(name).to_pylist()[::k]
            more["origin"] = Origin((name,), (own,))
        x, action, after = features("before")[:, 0], features("action"), features("after")
        carried.settled(x, action, after, schema.carried)
        return Recourse(
            schema=schema, x=x, action=action, after=after,
            outcome=outcome.reshape(n, k), seconds=np.zeros(n), score_before=column("score_before")[::k],
            method=question["method"],
            meta={"seed": question["seed"], "rounded": True}, **score, **more,
        )  # fmt: skip
