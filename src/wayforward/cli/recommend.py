"""The `recommend` command: answer everyone, part by part, judge the answers, write them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.cli.console import number, room_for, say, steps, table, write_json
from wayforward.cli.letters import LETTERS, kinds_for_people, letterhead, write_letters
from wayforward.cli.parts import Parts, fingerprint, forget, in_parts
from wayforward.cli.places import folder_beside, own_files, require_own_files
from wayforward.errors import MethodError
from wayforward.language import N_, gettext, marks, translated, use_language
from wayforward.plain_files import make_folder

if TYPE_CHECKING:
    from wayforward.answers import Letterhead
    from wayforward.cli.inputs import Inputs, Ready
    from wayforward.deadline import Deadline
    from wayforward.evaluate import Evaluation
    from wayforward.methods import Method
    from wayforward.recourse import Recourse
    from wayforward.schema import Schema


def choose(name: str, device: str | None) -> Method:
    """A method by name, on a device if it takes one. Raises: MethodError for a device it would not use."""
    from wayforward.methods import method

    if device is None:
        return method(name)
    chosen = method(name)
    if "device" not in getattr(type(chosen), "__dataclass_fields__", {}):
        raise MethodError(f"'{name}' takes no device: torch does not search for it. Leave --device out.")
    return method(name, device=device)


def with_acts(chosen: Method, file: Path | None, schema: Schema) -> Method:
    """The method with the acts of a file. Raises: MethodError for one that knows none; of `ActModel.from_yaml`."""
    from dataclasses import fields

    from wayforward.schema.acts import ActModel

    if file is None:
        return chosen
    if "acts" not in {f.name for f in fields(chosen)}:  # type: ignore[arg-type]
        raise MethodError(
            f"'{chosen.name}' knows no acts. Leave --acts out, or use --method action-sequences."
        )
    return replace(chosen, acts=ActModel.from_yaml(file, schema))  # type: ignore[type-var]


def run(
    ready: Ready, chosen: Method, *, k: int, seed: int, budget: int | None = None,
    deadline: Deadline | None = None, part: int = 2048, keep: Path | None = None,
    question: dict[str, Any] | None = None, workers: int = 1, on: Any = None,
    kinds: tuple[str, ...] = (), rounding: bool = True, room: float = 0.0, certify: bool = False,
) -> Recourse:  # fmt: skip
    """Answer all people of a ready problem; finished parts are stored in the folder `keep`. kinds: of options, in
    place of the k cheapest. rounding: give the numbers that people are told (`Recourse.rounded`). room: let options go
    farther than they must, where it makes them at most this share dearer (`with_room`). certify: prove how much
    cheaper an option can be (`certified`)."""
    from wayforward.methods import recommend as recommend_kinds
    from wayforward.methods.base import versions
    from wayforward.methods.certificates import certified
    from wayforward.problem import as_told
    from wayforward.schema.odd_rows import unread_note

    there = ready.read
    if ready.reasons:
        say(f"note: {unread_note(ready.reasons, len(ready.x))}")
    if ready.origin is not None and (many := ready.origin.shared):
        where = " and ".join(ready.origin.names)
        say(
            f"note: names in '{where}' that stand for more than one person: {many:,}; `explain` asks by --person."
        )
    key = fingerprint(
        "recommend", versions(), question or {}, ready.files, chosen.name, chosen.parameters(), k, seed,
        budget, *([] if deadline is None else [deadline.plain()]), kinds, rounding, room, certify,
        ready.schema.to_dict(), ready.x,
        ready.problem.reference if ready.problem.reference is not None else "",
    )  # fmt: skip
    size = part if workers == 1 else max(part, 16 * 2048)  # workers start once a part
    chosen.fit(ready.problem)
    whole = None if deadline is None else deadline.begun(len(there))

    def answer(rows: np.ndarray, who: np.ndarray) -> Recourse:
        wishes = ready.wishes_of(there[who])
        with warnings.catch_warnings():  # one part may be all accepted; the whole is looked at below
            warnings.filterwarnings("ignore", message="The model accepts every one")
            own = None if whole is None else whole.part((who[-1] + 1) / len(there))
            how = {
                "preferences": wishes, "seed": seed, "budget": budget, "deadline": own, "workers": workers, "on": on,
            }  # fmt: skip
            if kinds:
                found = recommend_kinds(ready.problem, rows, chosen, kinds=kinds, **how)
            else:
                found = chosen.recommend(rows, k, **how)
        if certify:
            found = certified(found, end=np.inf if whole is None else whole.end(len(there)))
        return as_told(found, room, rounding=rounding)

    with (
        Parts(keep, key, size) as parts,
        steps(_what(chosen.name, whole, len(there)), len(there)) as progress,
    ):
        got, n_loaded = in_parts(ready.x[there], answer, parts, progress)
    if n_loaded:
        say(f"{n_loaded:,} of {len(ready.x):,} people were answered before and are kept.")
    if ready.reasons:
        got = got.among(ready.x, ready.reasons, ready.preferences)
    # the key of the parts names the same question
    got = replace(got, origin=ready.origin, problem=ready.problem)
    if got.accepted.all():
        say(
            "The model accepts every one of these people already. Check --favourable and the table of people."
        )
    got.meta["question"] = question or {}
    return got


def _what(method: str, deadline: Deadline | None, n: int) -> str:
    """What the progress is about, and how long it takes at most."""
    if deadline is None:
        return gettext("{method}: people", method=method)
    seconds = marks(f"{deadline.seconds(n):,.3g}")
    return gettext("{method}: people, {seconds} s at most", method=method, seconds=seconds)


def answer(
    question: Inputs, *, method: str, k: int, budget: int | None, deadline: Deadline | None, device: str | None,
    part: int, workers: int, on: Any, out: Path | None, csv: Path | None, report: Path | None, json: Path | None,
    metrics: Any = "standard",
    kinds: tuple[str, ...] = (), id: str | None = None, room: float = 0.0, letters: Path | None = None,
    language: str | None = None, certify: bool = False, acts: Path | None = None, contact: str | None = None,
    until: str | None = None,
) -> Recourse:  # fmt: skip
    """Do everything that `wayforward recommend` does; return the answers."""
    from wayforward.cli.inputs import density_of
    from wayforward.evaluate import evaluate

    room_for(out, (".parquet", ".json"))
    room_for(csv, (".csv",))
    room_for(report, (".html",))
    room_for(json)
    head = letterhead(contact, until, letters)
    with use_language(language):
        pass  # an unknown one is refused before the work begins
    if kinds and k != 1:
        raise MethodError(
            f"--k {k} and --kind are both given. Kinds say how many options there are: leave --k out."
        )
    chosen = choose(method, device)
    ready = question.ready(id)
    if letters is not None:  # before the work begins, and not for people who could not be read
        make_folder(letters)
        require_own_files(letters, LETTERS)
    chosen = with_acts(chosen, acts, ready.schema)
    beside = next((p for p in (out, csv, report, json, letters) if p is not None and str(p) != "-"), None)
    keep = None if beside is None else folder_beside(beside)
    got = run(
        ready,
        chosen,
        k=k,
        seed=question.seed,
        budget=budget,
        deadline=deadline,
        part=part,
        keep=keep,
        question=question.plain(),
        workers=workers,
        on=on,
        kinds=kinds,
        room=room,
        certify=certify,
    )
    judged = evaluate(
        got, ready.problem, metrics=metrics, density=density_of(ready.problem, got.x[got.readable])
    )
    if not judged.refused.any() and judged.unread.all():
        say(gettext("note: {text}.", text=translated(judged.notes[0])))
    summary = summarise(got, ready, judged)
    if out is not None:
        got.save(out)
    if csv is not None:
        write_csv(got, csv)
    with use_language(language):
        _for_people(ready, got, judged, report, letters, head, kinds)
    write_json(summary, json)
    forget(keep)
    if str(json) != "-":
        show(summary, [p for p in (out, csv, report, letters, json) if p is not None])
    return got


def _for_people(
    ready: Ready, got: Recourse, judged: Evaluation, report: Path | None, letters: Path | None,
    head: Letterhead, kinds: tuple[str, ...],
) -> None:  # fmt: skip
    """Write what people read, where it is wanted: the page about all answers, and the letters."""
    if report is not None:
        from wayforward.answers import report as write_report

        title = gettext("Ways forward: {what}", what=ready.title)
        shown = () if kinds else kinds_for_people(ready.problem)
        write_report(ready.problem, got, report, judged, title=title, kinds=shown)
    if letters is not None:
        with own_files(letters, LETTERS):
            write_letters(ready.problem, got, letters, np.flatnonzero(~got.accepted), head=head)


def summarise(got: Recourse, ready: Ready, judged: Evaluation) -> dict[str, Any]:
    """Return the numbers of a run: the request, how good the answers are, the seconds spent."""
    numbers = judged.to_dict()
    seconds = float(got.meta.get("seconds_recommend", 0.0))
    refused = int(got.refused.sum())
    head = {
        "n": got.n,
        "n_refused": refused,
        "n_from_training": ready.from_training,
        "k": got.k,
        "method": got.method,
        **({"n_cut_short": int(got.cut_short.sum())} if "deadline" in got.meta else {}),
        "weighted": got.weighted,
        "question": got.meta.get("question", {}),
    }
    tail = {
        "cost_unit": ready.problem.cost.unit,
        "seconds_train": ready.seconds_train,
        "people_per_second": refused / seconds if seconds > 0 else None,
        "parameters": got.meta.get("parameters", {}),
        "versions": got.meta.get("versions", {}),
    }
    if (got.kind != "").any():
        head["kinds"] = of_kinds(got)
    must = dict.fromkeys(
        ("usable", "usable_plausible", "validity", "legal", "rules_kept", "cost_l1_range", "cost_l0")
    )
    return {**head, **must, **{name: value for name, value in numbers.items() if name not in head}, **tail}


def of_kinds(got: Recourse) -> dict[str, dict[str, float | int | None]]:
    """Return for each kind that was asked for: who has one, its price beside the person's cheapest (the median: one odd
    row in a sum would decide it), how often it holds."""
    out: dict[str, dict[str, float | int | None]] = {}
    for kind in got.meta["kinds"]:
        who, slot = np.nonzero(got.is_kind(kind))
        lasts = got.lasts[who, slot]
        out[kind] = {
            "people": len(who),
            "times_the_cheapest": _finite(np.median(got.cost[who, slot] / got.cost[who, 0]))
            if len(who)
            else None,
            "holds_in_retrained": _finite(lasts.mean()) if len(who) else None,
        }
    return out


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def write_csv(got: Recourse, path: Path) -> None:
    """One row for each person and option: outcome, cost, score, values before, set and after."""
    from wayforward.answers import write_csv as write

    columns = {name: values.tolist() for name, values in got.to_frame("dict").items()}
    for name in ("cost", "plain_cost", "score"):  # six digits, as everything else that people read
        if name in columns:
            columns[name] = [float(f"{v:.6g}") for v in columns[name]]
    if "months" in columns:  # as letters tell them, not as floats add up
        columns["months"] = [round(v, 2) for v in columns["months"]]
    if "same_as" in columns:
        columns["same_as"] = [int(v) if np.isfinite(v) else v for v in columns["same_as"]]
    for name in (feature.name for feature in got.schema.features if feature.kind == "integer"):
        for part in ("before", "action", "after"):  # empty slots make fractions of a column: 51.0 beside 51
            values = columns[f"{part}.{name}"]
            columns[f"{part}.{name}"] = [
                int(v) if isinstance(v, float) and v.is_integer() else v for v in values
            ]
    write([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)], path)


def show(summary: dict[str, Any], files: list[Path]) -> None:
    """Print the headline numbers."""
    ends = ", ".join(
        f"{_count(count)} {gettext(_ENDS[name])}" for name, count in summary["outcomes"].items() if count
    )
    wanted = summary["question"].get("n")
    if wanted is not None and summary["n"] < wanted:
        n = summary["n"]
        say(
            gettext(
                "note: {wanted} people were asked for and {n} are there.", wanted=_count(wanted), n=_count(n)
            )
        )
    usable = gettext(
        "{share} of those refused (checked, legal, within rules and wishes)", share=_share(summary["usable"])
    )
    cost = gettext(
        "{share} (sum of changes as shares of their ranges)", share=_share(summary["cost_l1_range"])
    )
    rows = [
        (gettext("people"), f"{_count(summary['n'])}: {ends}"),
        (gettext("usable"), usable),
        *_unread(summary),
        *_late(summary),
        (gettext("usable and plausible"), _share(summary["usable_plausible"])),
        *_likely(summary),
        (gettext("mean cost"), cost),
        *_own_costs(summary),
        *_proofs(summary),
        (gettext("mean features changed"), _number(summary["cost_l0"])),
        (gettext("people a second"), _number(summary["people_per_second"])),
        *_kind_rows(summary),
    ]
    table(f"{summary['method']}", ("", ""), rows)
    for file in files:
        if str(file) != "-":
            say(gettext("written: {file}", file=file))


_ENDS = {
    "FOUND": N_("found"), "NONE_EXISTS": N_("none exists"), "NOT_FOUND": N_("not found"), "ACCEPTED": N_("accepted"),
    "NOT_ASKED": N_("not asked"),
}  # fmt: skip


def _unread(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """The other side of the share served, where somebody was not asked about."""
    without = summary["metrics"].get("usable_read", {}).get("value")
    if without is None:
        return []
    text = gettext(
        "who was not asked about counts as not served; without them {share}", share=_share(without)
    )
    return [("", text)]


def _late(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Whose searches were ended by the time that was given."""
    late = summary.get("n_cut_short")
    if not late:
        return []
    text = gettext("{n} people; more time may find more, or easier plans", n=_count(late))
    return [(gettext("ended by the deadline"), text)]


def _likely(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Plausibility in the causal world, where it says how likely people are."""
    if "density_at_least" not in summary:
        return []
    share = _share(summary["density_at_least"])
    text = gettext("{share} of the usable plans, in the causal world", share=share)
    return [(gettext("as likely as before"), text)]


def _proofs(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """How many first options are the cheapest possible, and how far from it they can be, where somebody asked."""
    if summary.get("proved_cheapest") is None:
        return []
    share, gap = _share(summary["proved_cheapest"]), _share(summary["gap_at_most"])
    text = gettext("{share} of the usable plans; at most {gap} above it on average", share=share, gap=gap)
    return [(gettext("cheapest possible (proved)"), text)]


def _kind_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """A line for each kind of options: how many people have one, its price, how often it holds."""
    rows = []
    for kind, got in summary.get("kinds", {}).items():
        parts = [gettext("{n} people", n=_count(got["people"]))]
        if got["times_the_cheapest"] is not None and kind != "cheapest":
            times = marks(f"{got['times_the_cheapest']:.2f}")
            parts.append(gettext("at the median {times} times the effort of the cheapest", times=times))
        if got["holds_in_retrained"] is not None:
            share = _share(got["holds_in_retrained"])
            parts.append(gettext("hold in {share} of retrained models", share=share))
        rows.append((gettext("{kind} options", kind=kind), ", ".join(parts)))
    return rows


def _own_costs(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """The mean cost with people's own weights beside the one without, where somebody gave weights."""
    if not summary.get("weighted"):
        return []
    from wayforward.answers.words import RANGES

    unit = summary["cost_unit"]
    show = _share if unit == RANGES else _number
    own, plain = show(summary["cost_weighted"]), show(summary["cost_plain"])
    text = gettext("{own} with their own weights, {plain} without ({unit})", own=own, plain=plain, unit=unit)
    return [(gettext("mean cost for them"), text)]


def _share(cell: float | None) -> str:
    return "–" if cell is None else marks(f"{cell:.1%}")


def _number(cell: float | None) -> str:
    return "–" if cell is None else marks(number(float(cell)))


def _count(n: int) -> str:
    return marks(f"{n:,}")
