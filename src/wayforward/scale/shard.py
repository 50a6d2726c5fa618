"""One shard: people from a Parquet file in, answers as Parquet and an entry for the manifest out."""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from wayforward.deadline import Deadline
from wayforward.errors import DataError, MethodError, is_one_of, require, require_number
from wayforward.methods import Budget, Method
from wayforward.methods.base import check_seed
from wayforward.methods.certificates import certified
from wayforward.plain_files import as_path, file_digest, make_folder, write_text, written
from wayforward.preferences import Preferences
from wayforward.problem import as_told
from wayforward.problem.room import MOST_ROOM
from wayforward.public import public
from wayforward.recourse import Recourse
from wayforward.scale.rows import encode_shard
from wayforward.schema import Feature, Schema
from wayforward.schema.carried import forgetting

Form = Literal["long", "compact"]
FORMAT = "wayforward.shards/1"
ANSWERS, PROBLEMS, ENTRIES, PEOPLE = "answers", "problems", "entries", "people"


@public
@dataclass(frozen=True)
class ShardSettings:
    """How every shard of a run is answered.

    k, seed, budget: as of `Method.recommend`. id: a column that names people, carried through. form: 'long' has one
    row for each person and option with the values before, set and after; 'compact' leaves out the values before and
    after, and what nobody can act on. question: the hash of what the run hangs on, written into every entry.
    room: options go farther where that makes them at most this share dearer, see `with_room`. deadline: seconds.
    certify: a column `bound` says what any option must cost at least (`certified`).
    """

    k: int = 1
    seed: int = 0
    budget: int | None = None
    id: str | None = None
    form: Form = "long"
    question: str = ""
    room: float = 0.0
    deadline: Deadline | None = None
    certify: bool = False

    def __post_init__(self) -> None:
        if not is_one_of(self.form, get_args(Form)):
            raise DataError(f"form={self.form!r} is not known. Choose one of {', '.join(get_args(Form))}.")
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise MethodError(f"k={self.k!r} options were asked for. Ask for k=1 or more.")
        check_seed(self.seed)
        require_number(self.room, "room", 0, MOST_ROOM)
        Budget(self.budget)

    def plain(self) -> dict[str, Any]:
        """The settings that answers hang on, as plain data."""
        out = {name: value for name, value in asdict(self).items() if name not in ("question", "deadline")}
        if self.deadline is not None:
            out["deadline"] = self.deadline.plain()
        return {name: value for name, value in out.items() if value or name not in ("room", "certify")}


@public
def answer_shard(
    method: Method,
    people: str | Path | Any,
    out: str | Path,
    settings: ShardSettings | None = None,
    *,
    shard: int = 0,
    first: int = 0,
    preferences: Preferences | None = None,
    text: bool = False,
) -> dict[str, Any]:
    """Answer the people of one shard, write the answers into the folder `out`, and return their manifest entry.

    method: fitted. people: a Parquet file, or an Arrow table. shard: its number, which names the files. first: the
    number of its first person in the whole. preferences: of these people. text: values are texts, as a CSV has them.
    `answers/` gets a file of options, with a row for everybody: whoever cannot be read is NOT_ASKED and stands in
    `problems/` once more (`person`, `reason`). `entries/` gets the entry, last: a shard with an entry is whole. The
    same call gives the same bits wherever it runs.
    Raises: what `Method.recommend` raises; FileFormatError where nothing can be written.
    """
    with forgetting():
        return _answered(method, people, out, settings or ShardSettings(), shard, first, preferences, text)


def _answered(
    method: Method, people: str | Path | Any, out: str | Path, settings: ShardSettings, shard: int, first: int,
    preferences: Preferences | None, text: bool,
) -> dict[str, Any]:  # fmt: skip
    started = time.perf_counter()
    pq = require("pyarrow.parquet", extra="frames")
    table = pq.read_table(people) if isinstance(people, (str, Path)) else people
    schema = method.problem_.schema
    x, reasons = method.problem_.set_aside(*encode_shard(schema, table, text=text))
    there = np.array([i for i in range(len(x)) if i not in reasons], dtype=np.int64)
    ids = None if settings.id is None else table.column(settings.id)
    columns = answer_columns(schema, settings, None if ids is None else ids.type)
    counts = {"model_rows": 0, "native_rows": 0}
    got = Recourse.of_nobody(schema, settings.k, method.name)
    if len(there):
        with warnings.catch_warnings():  # said about the whole, not about each shard
            warnings.simplefilter("ignore")
            got = method.recommend(
                x[there], settings.k, seed=settings.seed, budget=settings.budget, workers=1,
                deadline=settings.deadline,
                preferences=None if preferences is None else preferences.take(there),
            )  # fmt: skip
            if settings.certify:
                got = certified(got)
            got = as_told(got, settings.room, rounding=False)
        counts = {name: int(got.meta[name]) for name in counts}
    late = {i: why for i, why in enumerate(got.reasons.tolist()) if why}  # not asked in time
    if reasons:
        got = got.among(x, reasons, preferences)
        late = {int(there[i]): why for i, why in late.items()}
        got.reasons[list(late)] = list(late.values())
    own = {} if ids is None else {str(settings.id): ids}
    made = _table(got, first + np.arange(len(x)), own, columns)
    folder = as_path(out)
    file = folder / ANSWERS / f"part-{shard:06d}.parquet"
    _write(made, file)
    if reasons:
        _write(_problems(reasons, first, ids), folder / PROBLEMS / f"part-{shard:06d}.parquet")
    entry = {
        "sha256": file_digest(file),
        "shard": shard,
        "question": settings.question,
        "first": first,
        "people": len(x),
        "problems": len(reasons),
        "outcomes": got.outcomes(),
        **counts,
        **({} if settings.deadline is None else {"cut_short": int(got.cut_short.sum())}),
        **({"proved_cheapest": int(got.rounded.proved_cheapest.sum())} if settings.certify else {}),
        "seconds": time.perf_counter() - started,
    }
    make_folder(folder / ENTRIES)
    write_text(folder / ENTRIES / f"part-{shard:06d}.json", json.dumps(entry))
    return entry


def answer_columns(schema: Schema, settings: ShardSettings, id_type: Any = None) -> Any:
    """Return the Arrow schema of the answers: the same for every shard, whatever it holds."""
    pa = require("pyarrow", extra="frames")
    fields: list[tuple[str, Any]] = [("person", pa.int64())]
    fields += [] if id_type is None else [(str(settings.id), id_type)]
    fields += [("option", pa.int32()), ("outcome", pa.string()), ("reason", pa.string())]
    fields += [] if settings.deadline is None else [("ended_by", pa.string())]
    fields += [(name, pa.float64()) for name in ("cost", "plain_cost", "score", "score_before", "chance")]
    fields += [("bound", pa.float64())] if settings.certify else []
    for feature in schema.features:
        kind = _arrow_type(feature)
        if settings.form == "long":
            fields += [(f"{part}.{feature.name}", kind) for part in ("before", "action", "after")]
        elif feature.actionability == "actionable":
            fields.append((f"action.{feature.name}", kind))
    about = {"format": FORMAT, "k": settings.k, "form": settings.form}
    return pa.schema(fields, metadata={"wayforward": json.dumps(about)})


def _arrow_type(feature: Feature) -> Any:
    pa = require("pyarrow", extra="frames")
    if feature.carried:
        return pa.string()
    if not feature.has_levels:
        return pa.float64()
    kinds = {type(level) for level in feature.levels}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if kinds <= {int, float} else pa.string()


def _table(got: Recourse, person: np.ndarray, own: dict[str, Any], columns: Any) -> Any:
    """Answers as an Arrow table of these columns; own: columns of the people themselves. NaN becomes null."""
    pa = require("pyarrow", extra="frames")
    frame = got.to_frame("dict")
    repeated = np.repeat(np.arange(got.n), got.k)
    frame |= {
        "reason": np.array([why or None for why in got.reasons.tolist()], dtype=object)[repeated],
        "ended_by": got.ended_by[repeated],
        "person": person[repeated],
        "score_before": got.score_before[repeated],
        "chance": got.chance.ravel(),
        "bound": got.bound.ravel(),
    }
    arrays = []
    for field in columns:
        if field.name in own:
            arrays.append(_flat(own[field.name].take(repeated)))
            continue
        values = frame[field.name]
        if values.dtype == object and field.type == pa.string():
            values = [None if value is None else str(value) for value in values.tolist()]
        arrays.append(_flat(pa.array(values, from_pandas=True)).cast(field.type))
    return pa.Table.from_arrays(arrays, schema=columns)


def _flat(array: Any) -> Any:
    pa = require("pyarrow", extra="frames")
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array


def _problems(reasons: dict[int, str], first: int, ids: Any) -> Any:
    pa = require("pyarrow", extra="frames")
    at = sorted(reasons)
    made = {"person": pa.array([first + i for i in at], pa.int64())}
    if ids is not None:
        made["id"] = _flat(ids.take(at))
    return pa.table(made | {"reason": pa.array([reasons[i] for i in at], pa.string())})


def _write(table: Any, path: Path) -> None:
    """Write beside the place, then move into it, so that a reader never sees half a file."""
    pq = require("pyarrow.parquet", extra="frames")
    make_folder(path.parent)
    with written(path) as half:
        pq.write_table(table, half)
