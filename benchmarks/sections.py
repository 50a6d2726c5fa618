"""Sections of docs/benchmarks.md about random lattices, people left over, one person, and both ways of asking.

Each is made of one file of benchmarks/results, and says so where that was measured on an older state of the source.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.cells import RESULTS, source_digest
from benchmarks.markdown import table


def sections(folder: Path = RESULTS) -> str:
    """Everything that was measured, as Markdown; empty where nothing was."""
    parts = []
    for name, write in (
        ("lattices", lattices), ("nobody_left", nobody_left), ("million", million), ("speed", one_person),
        ("speed", both_ways), ("dialogues", dialogues), ("web", web),
    ):  # fmt: skip
        file = folder / f"{name}.json"
        if file.exists():
            parts.append(write(json.loads(file.read_text())))
    return "\n".join(parts)


def _age(sources: set[str | None], dates: set[str]) -> str:
    """When it was measured, and whether the source has changed since."""
    when = " to ".join(sorted({min(dates), max(dates)})) if dates else "–"
    old = "" if sources == {source_digest()} else " **The library's source has changed since.**"
    return f"Measured {when}.{old}"


def _states(sources: set[str]) -> str:
    """What the column of states says."""
    if len(sources) == 1:
        return ""
    return f" *State*: of the library's source, as the line was measured; now it is {source_digest()[:6]}."


def _state(cell: dict[str, Any], part: str = "") -> tuple[str, str]:
    """The state of the source and the day on which a cell, or a part of it that was kept longer, was measured."""
    source, when = cell.get("kept", {}).get(part, (cell["source"], cell["when"]))
    return source, when


def _share(pair: list[int] | None) -> str:
    if not pair or not pair[1]:
        return "–"
    return f"{pair[0] / pair[1]:.1%} ({pair[0]:,} of {pair[1]:,})"


def lattices(got: dict[str, Any]) -> str:
    """Random lattices, brute force beside."""
    defects, slots = got["defects"], got["slots"]
    rows = []
    worlds = ("all", "independent", "causal", "linked", "causal and linked", "causal or linked", "rules")
    for name in worlds:
        cost = got["cost"].get(name)
        rows.append(
            [
                {"rules": "with rules, any world"}.get(name, name),
                _share(got["not found"].get(name)),
                _share(got["proved"].get(name)),
                "–" if cost is None else f"{cost['mean ratio']:.4f}",
                "–" if cost is None else f"{cost['dearer']:.1%}",
            ]
        )
    fill = [
        [
            f"k = {k}",
            f"{share['share of undominated slots that hold an undominated one']:.1%}",
            f"{share['share of undominated slots that hold an option']:.1%}",
            f"{share['share of distinct slots that hold an option']:.1%}",
            f"{share['not_least']:,}",
        ]
        for k, share in slots.items()
        if share
    ]
    broken = ", ".join(f"{what}: {n:,}" for what, n in sorted(defects.items())) or "none"
    apart = got.get("slots of", got)  # options beside the first take long: they may be of fewer lattices
    return f"""## Random lattices, brute force beside

{got["lattices"]:,} small problems drawn at random ({got["people"]:,} people; {
        got["with a way"]:,} have a way,
{got["impossible"]:,} have none): {
        len([k for k in got["not found"] if k.startswith("family")])
    } families of models,
thresholds at scores that some row attains exactly, rules of all kinds, limits, frozen features and weights, structural
equations and linked rules, eight costs. Everything that a person may do is listed beside, by plain arrays that share no
judging with the library. {_age({got["source"]}, {got["when"]})}

FOUND that was none: **{defects.get("false FOUND", 0):,}**. NONE_EXISTS where a way exists: **{
        defects.get("false NONE_EXISTS", 0):,}**. All promises that broke, by kind: {broken}.

{
        table(
            [
                "world",
                "NOT_FOUND where a way exists",
                "proved, of those who have none",
                "mean cost over the optimum",
                "dearer by more than .2 %",
            ],
            rows,
        )
    }

{_again(got)}Slots of several options, on {
        apart["lattices"]:,} of them: *least* is an option from which nothing can be taken away or back. {
        _age({apart["source"]}, {apart["when"]})
    }

{
        table(
            [
                "",
                "slots with a least option, where one exists",
                "slots with any option, the same",
                "slots with any option, of all distinct ones",
                "returned although they ask for more than they need",
            ],
            fill,
        )
    }
"""


def _again(got: dict[str, Any]) -> str:
    """Some families were measured again, on a newer state."""
    if not (again := got.get("again")):
        return ""
    broken = ", ".join(f"{what}: {n:,}" for what, n in sorted(again["defects"].items())) or "none"
    cost = again["cost"].get("all", {})
    return f"""Again, {again["lattices"]:,} lattices ({again["people"]:,} people) of the families {
        ", ".join(again["families"])
    }: promises that broke {broken}; NOT_FOUND where a way exists {
        _share(again["not found"].get("all"))
    }; proved {_share(again["proved"].get("all"))}; mean cost over the optimum {
        cost.get("mean ratio", 1):.4f}, {cost.get("dearer", 0):.1%} dearer by more than .2 % (the worst {
        cost.get("worst", 1):.2f} times). {_age({again["source"]}, {again["when"]})}

"""


def nobody_left(cells: dict[str, Any]) -> str:
    """Is anybody left for whom a method has a way, and how far is the cost from the best known?"""
    rows = []
    for name, cell in cells.items():
        cost = cell.get("cost") or {}
        over = cost.get("over the best")
        rows.append(
            [
                name.replace("-", " "),
                f"{cell['people']:,}"
                + (f" of {cell['refused']:,}" if cell.get("refused", 0) > cell["people"] else ""),
                f"{cell['outcomes'].get('NONE_EXISTS', 0):,}",
                f"{cell['outcomes'].get('NOT_FOUND', 0):,}",
                f"{cell['missed']:,}",
                f"{cell['usable of those not proved']:.4f}",
                "–" if over is None else f"{over:+.2%}",
                "–" if over is None else f"{cost['dearer']:,} of {cost['compared']:,}",
                f"{1000 * cell['seconds'] / cell['people']:.2f}",
                cell["source"][:6],
            ]
        )
    missed = sum(cell["missed"] for cell in cells.values())
    people = sum(cell["people"] for cell in cells.values())
    wrong = sum(cell["false proofs"] for cell in cells.values())
    sources = {cell["source"] for cell in cells.values()}
    age = _age(sources, {cell["when"] for cell in cells.values()}) + _states(sources)
    return f"""## Nobody left

Whoever `local-search` tells NOT_FOUND is handed to the other methods of the library, the cheapest first, until one
finds something. Of {people:,} refused people, other methods found a way for **{
        missed:,}** whom local-search left; {
        wrong:,} of its proofs were contradicted. *Over the best*: mean cost against the best of
eight settings and five other methods, on a sample of people. {age}

{
        table(
            [
                "cell",
                "refused",
                "proved to have none",
                "NOT_FOUND",
                "found by another method",
                "usable of those not proved",
                "mean cost over the best known",
                "more than 1 % dearer",
                "ms a person",
                "state",
            ],
            rows,
        )
    }

`special-codes` is drawn like the table of a credit bureau: 23 features with codes such as -9 for "no record".
"""


def one_person(cells: dict[str, Any]) -> str:
    """What one answer takes."""
    rows = []
    for name, cell in cells.items():
        words = name.replace("-", " ")
        for title, got in ((words, cell["one person"]), (f"{words}, as a function", cell.get("opaque"))):
            if not got:
                continue
            one, three = got["k=1"], got["k=3"]
            first = cell.get("first answer") if got is cell["one person"] else None
            rows.append(
                [
                    title,
                    f"{one['ms']:.2f}",
                    f"{one['rest ms']:.2f}",
                    f"{three['ms']:.2f}",
                    f"{three['rest ms']:.2f}",
                    f"{max(one['native calls'], three['native calls'])}",
                    "–" if first is None else f"{median(first['seconds']):.2f}",
                    f"{got['bulk']['ms a person']:.3f}",
                    f"{got['bulk']['native share'] + got['bulk']['scores share']:.0%}",
                    _state(cell, "" if got is cell["one person"] else "opaque")[0][:6],
                ]
            )
    parts = [_state(cell, part) for cell in cells.values() for part in ("", "opaque", "first answer")]
    age = _age({source for source, _ in parts}, {when for _, when in parts}) + _states({s for s, _ in parts})
    return f"""## One person

Medians of processor time over {
        max(cell["people"] for cell in cells.values())
    } warm people asked one by one, everything
included: encoding, search, judge, result. *Without the model*: less what the native model takes (and, where it can only
be asked, what asking it takes). *First answer*: a new process with kernels cached, everything included. The model's
share of one call counts what Python asks; what compiled searches do inside is not split. {age}{
        _firsts(cells)
    }

{
        table(
            [
                "cell",
                "k=1, ms",
                "without the model",
                "k=3, ms",
                "without the model",
                "native calls at most",
                "first answer, s",
                "one call of all, ms a person",
                "model's share of it",
                "state",
            ],
            rows,
        )
    }
"""


def _firsts(cells: dict[str, Any]) -> str:
    """Where first answers are of an older state than their line."""
    older = {_state(c, "first answer") for c in cells.values() if "first answer" in c.get("kept", {})}
    return "".join(f" First answers: of {when}, state {source[:6]}." for source, when in sorted(older))


def million(runs: list[dict[str, Any]]) -> str:
    """Many different people, one command."""
    rows = [
        [
            run["model"],
            f"{run['people']:,}",
            f"{run['workers']} {run['on']}" if run["workers"] > 1 else "1",
            f"{run['peak_gib']:.2f}",
            f"{run['minutes']:.1f}",
            f"{run['processor_seconds'] / 60:.1f}",
            f"{run['milliseconds_a_person']:.2f}",
            f"{run['load_before']:.1f}",
            ", ".join(f"{n:,} {end}" for end, n in sorted(run["outcomes"].items()) if n),
            f"{run['milliseconds_a_person'] * 1e6 / 60_000:.0f}",
        ]
        for run in runs
    ]
    age = _age({run["source"] for run in runs}, {run["when"] for run in runs})
    alone = {(run["model"], run["people"]): run for run in runs if run["workers"] == 1}
    beside = [
        f"{run['model']}, {run['people']:,} people, {run['workers']} {run['on']}: "
        f"{alone[key]['seconds'] / run['seconds']:.2f} times as fast as one, with "
        f"{run['processor_seconds'] / alone[key]['processor_seconds'] - 1:+.0%} of processor time"
        for run in runs
        if run["workers"] > 1 and (key := (run["model"], run["people"])) in alone
    ]
    words = " ".join(
        [f"Two beside one, everything included: {'; '.join(beside)}."] * bool(beside)
        + [run["since"] for run in runs if "since" in run]
    )
    return f"""## A million people, one command

`python -m benchmarks.million`: people of gmsc, drawn with noise so that no two are alike, through `wayforward recommend
--out`, k of 1. Memory: the largest sum over the command's processes. *A million*: processor minutes at the milliseconds
a person of the line, start-up included; an extrapolation wherever fewer people were asked. Minutes of the clock hang on
the load, which is that of one minute before (what else ran had the lowest priority). {age} {words}

{
        table(
            [
                "model",
                "people",
                "workers",
                "peak memory, GiB",
                "minutes",
                "processor minutes",
                "processor ms a person",
                "load before",
                "outcomes",
                "a million, processor minutes",
            ],
            rows,
        )
    }
"""


def both_ways(cells: dict[str, Any]) -> str:
    """Ours beside peers, in one call and one by one."""
    rows = []
    for name, cell in cells.items():
        for peer, got in cell.get("peers", {}).items():
            if got.get("failed"):
                rows.append([name.replace("-", " "), peer, "failed", *[""] * 5])
                continue
            share = median(repeat["classifier's share"] for repeat in got["repeats"])
            rows.append(
                [
                    name.replace("-", " "),
                    peer,
                    f"{min(repeat['people'] for repeat in got['repeats'])}",
                    f"{got['peer ms'][1]:.2f}",
                    f"{share:.0%}",
                    f"{got['ours ms, one call'][1]:.3f}",
                    _range(got["ratio, one call"]),
                    f"{got['ours ms, one by one'][1]:.2f}",
                    _range(got["ratio, one by one"]),
                ]
            )
    if not rows:
        return ""
    parts = [_state(cell, "peers") for cell in cells.values() if "peers" in cell]
    age = _age({source for source, _ in parts}, {when for _, when in parts})
    repeats = max(
        len(got.get("repeats", ())) for cell in cells.values() for got in cell.get("peers", {}).values()
    )
    return f"""## Both ways of asking, beside peers

The same people and the same classifier, {
        repeats
    } repeats of ours, peer, ours; medians of milliseconds of processor time a
person, and the ratio of the peer's to ours with its range. Peers ask the classifier as the pipeline that it is, and as
a function of arrays written for the purpose; ours has the pipeline both times. {age}

{
        table(
            [
                "cell",
                "peer",
                "people",
                "peer, ms",
                "of it the classifier",
                "ours in one call, ms",
                "ratio",
                "ours one by one, ms",
                "ratio",
            ],
            rows,
        )
    }
"""


def dialogues(got: dict[str, Any]) -> str:
    """Dialogues with simulated people: the default before and now, and other ways of asking."""
    rows = []
    for heading, ways in got.items():
        for name, cells in ways.items():
            for cell, one in cells.items():
                regret = [f"{one['regret'][q]:.3f}" for q in ("0", "1", "2", "4", "8")]
                told, when = f"{one['told']:.3f}" if "told" in one else "–", one["when"]
                held = one.get("dialogues", one["people"])
                rows.append(
                    [
                        f"{cell}: {name if name != 'default' else 'the default'}, {heading} ({held} dialogues)",
                        f"{one['padded']:.0%}", f"{one['dominated']:.0%}", f"{one['dearer']} of {one['of']}",
                        f"{one['dearer_noisy']} of {held - one['of']}", str(one["without_a_plan"]),
                        f"{one['screens_median']:g} ({one['screens_most']})", *regret, told,
                        f"{one['seconds']:.2f}", when,
                    ]
                )  # fmt: skip
    head = [
        "",
        "padded",
        "dominated",
        "last plan dearer than one seen",
        "the same, people who err",
        "no plan",
    ]
    head += [
        "screens: median (most)",
        *(f"regret after {q}" for q in (0, 1, 2, 4, 8)),
        "of it room and rounding",
        "processor s a dialogue",
        "measured",
    ]
    newest = max(one["when"] for ways in got.values() for cells in ways.values() for one in cells.values())
    sources = {
        one.get("source")
        for ways in got.values()
        for cells in ways.values()
        for one in cells.values()
        if one["when"] == newest
    }
    return f"""
## Dialogues

`python -m benchmarks.dialogues`: people with secret costs hold a dialogue with each of three kinds of them: linear,
with thresholds, and linear with one choice in ten wrong (before: one kind a person). *padded*: plans on a screen with
an act that can be left out; *dominated*: plans that ask for more than one shown before; both of all plans shown. *Last
plan dearer than one seen*: people are content with a plan that costs them a tenth more than the best that is known,
so that one who has erred may take it. *Regret*: how much dearer the best plan so far is to the person than the best
that is known for them (found by searches under their own and 24 other weights), after so many questions about plans,
mean, at most 2. Plans on a screen have room and round numbers, as in letters, and the best that is known has neither:
*of it room and rounding* is what these add to that best. Every way of asking meets the same people in the same order,
in rows of more dialogues more of them; *before* is the default of an earlier release, with other people; *earlier* rows
had no room, and other round numbers. Seconds are of processor time, on a machine that did other work as well.

*Twelve people, later* (German credit, Give Me Some Credit): regret after 8 questions, `favourite` beside another way
with the same people, mean difference and 95 % interval over people: `multi-hare` on german .204 more (-.018 to .583),
on gmsc .153 (-.040 to .446), `learned` on german .046 (-.010 to .133): undecided, each. After 4, `multi-hare` on
german .421 more (.027 to .877), the others undecided. `learned` on gmsc was stopped after 22 dialogues of 8 people:
.052 more after 8 (.006 to .118). The default has the lowest mean in each; with these few people most of that is
undecided. `multi-hare` showed a dominated plan in 9 of 107 on gmsc; since then no plan is shown alone that
asks for more than one seen: of the same twelve people, later that day, 0 of 98, with regret .208 after 8 as before.

*People who err*: of 30 on german and on gmsc 3 each took a plan dearer than one seen. The three of german were
followed screen by screen: each erred once more on the last screen, where all plans seen stand side by side, the
better one among them, and their last word was taken (one choice in ten is wrong). With replies that are exact on the
last screen alone (`--kinds noisy-until-last`) none of the 30 of german closes with a plan dearer than one seen
(2026-11-28: 3 as before, and of the same three 0). On gmsc, the same day: 3 of 30 as before, and 2 of them with exact
replies on the last screen, too: they had erred against a cheaper plan earlier, were offered one 6 and 9 % dearer than
their best, and were content with it, as people here are within a tenth. In the 72 dialogues of `favourite`
above nobody closed with a plan to which, by their own last word, they had preferred another that they did not decline
afterwards (of the 108 of the other two ways 3 are not looked into). On compas regret after 8 questions is .004 of 90
dialogues, before .005 of 15 with other people: not half, because people are content with a plan within a tenth of the
best and stop there. Looked at one by one (2026-11-28, the same .0039): nine tenths of it come from six dialogues of
three people, who took a plan 3 to 6 % dearer than their best, five of them the first that they saw. The same people,
content with nothing but their best, end at .0007, .0004 of which is room and rounding, which no plan is without.

*Resuming and undoing* (2026-11-28; 3 people each, states before and in the choices of plans; processor ms, median
and, in brackets, the most): resuming german rf 14.6 (126),
gmsc gb 6.1 (52), adult gb 7.0 (30), compas lr 5.1 (12), loan gb 6.2 (18);
undoing 10.5 (14), 3.3 (8), 4.0 (8), 2.7 (7), 3.4 (7). The most is the first call of a process, which fitted the base
method to the problem. The same day, later, the first one of a new process, before and since the method is fitted only
when a plan is searched for and fingerprints and versions are read faster: german rf 96, now 20, then 13; gmsc gb 192,
now 32, then 7 (15 of the 32 are the fingerprint of its table of 105,000 people, 5 their ranges). The model is asked
once, about 48 observed people, the person and the plans shown; on german that alone takes 8 ms. adult gb now 19, then
6; compas lr 9, then 3; loan gb 14, then 5. So under 30 ms for the first one is reached but with gmsc, missed by 2;
from the second on it holds everywhere.

The newest rows: {_age(sources, {newest})}

{table(head, rows)}
"""


def _range(three: list[float]) -> str:
    least, middle, most = (f"{x:,.0f}" if x >= 10 else f"{x:.1f}" for x in three)
    return f"{middle} ({least} to {most})"


def web(found: dict[str, Any]) -> str:
    """The web application under kills and under load, and what a request takes of a processor."""
    kills = found["kills"]
    load = found["load"]
    parts = [
        "## The web application\n",
        f"Measured {found['measured']} on two cores kept busy by other work (load {found['machine_load']}), so that "
        "processor time is what counts. Milliseconds of processor time of a request, boosted trees on gmsc, each "
        "person's first:\n",
        table(["request", "mean"], [[name, str(value)] for name, value in found["requests"].items()]) + "\n",
        f"**Kills** (`python -m benchmarks.kills`): server, job's process or both were killed at {kills['jobs']} "
        "drawn moments while three applicants answered without a pause and a job ran. Of "
        f"{kills['accepted']} accepted answers {kills['lost']} were lost, of {kills['jobs']} jobs "
        f"{kills['half_done']} left half done; log or database were unsound {kills['unsound']} times. "
        f"{kills['in_flight']} answers more were stored whose confirmation was cut off. {kills['note']}\n",
    ]
    if load:
        rows = [[str(one[name]) for name in load["rows"][0]] for one in load["rows"]]
        parts += [
            f"**Load** (`{load['command']}`), measured {load['measured']} {load['machine']}: 50 applicants on gmsc, "
            "10 s before each request, one process on two cores; they come over 40 s, or (`--turns 4`, without "
            "`--over`) all within 10 s, so that all send their limits in the same 10 s. Milliseconds as the "
            "applicant's side sees them; *limits* is sending them and the page of first plans, *step* a choice and "
            "the page after it. Lost answers and errors: 0 in all four.\n",
            table(list(load["rows"][0]), rows) + "\n",
            load["note"] + "\n",
        ]
    return "\n".join(parts)
