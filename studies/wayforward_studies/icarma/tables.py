"""The tables: what the paper states beside what was measured, with a verdict for every line and every finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wayforward.evaluate.stats import Estimate
from wayforward_studies.icarma import findings
from wayforward_studies.icarma.findings import METHODS, key_of
from wayforward_studies.icarma.measures import IcarmaMeasures, PerPerson
from wayforward_studies.icarma.published import TOLERANCE, IcarmaCase, IcarmaPublished
from wayforward_studies.pages import Line, Row, Table, number
from wayforward_studies.verdicts import RULE, SLACK, Cell, Check, listed, of_all, opened

SHARES = ("validity", "plausibility", "hap")
SIGN = {
    "validity": 1,
    "plausibility": 1,
    "hap": -1,
}  # is higher better? For oracles neither is: they are optimal


def sign(method: str, name: str) -> int:
    """Is more of a share better (1), worse (-1), or a deviation whichever way it goes (0)?"""
    return 0 if method.startswith("oracle") else SIGN[name]


def flat(
    case: IcarmaCase,
    method: str,
    measured: IcarmaMeasures,
    paper: IcarmaPublished | None = None,
    world: str = "true",
    other: IcarmaMeasures | None = None,
) -> Row:
    """One line as a flat row: a case, a method, what was measured, and, where the paper has this line, what it states.

    world: where it was measured ('true' equations or 'learned' flow). other: the same actions replayed in the true
    equations, for a method that learned in the flow.
    """
    out: Row = {
        "dataset": case.dataset,
        "elicited": case.elicited,
        "law": case.law,
        "features": case.features or "random",
        "profile": case.profile,
        "method": method,
        "world": world,
        "people": measured.n,
        "verdict": "",
    }
    for name in SHARES:
        value: Estimate = getattr(measured, name)
        stated = None if paper is None else paper.value(name)
        out[f"{name}_paper"] = stated
        out[f"{name}_tolerance"] = None if paper is None or stated is None else paper.tolerance(name)
        out |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high, f"{name}_n": value.n}
        out[f"{name}_verdict"] = ""
    cost = measured.cost
    out |= {"cost": cost.value, "cost_low": cost.low, "cost_high": cost.high, "cost_std": cost.std}
    out |= {"valid_and_plausible": measured.both.value, "reach": measured.reach.value}
    out["log_density_shift"] = measured.shift.value
    for name in ("validity", "plausibility", "both"):
        label = "valid_and_plausible" if name == "both" else name
        out[f"{label}_in_true_world"] = None if other is None else other.value(name)
    return judge(out)


def cells(row: Row) -> dict[str, Cell]:
    """The shares of a row that the paper states, to be judged."""
    return {
        name: Cell(
            number(row[name]),
            row[f"{name}_paper"],
            row[f"{name}_tolerance"],
            sign(row.get("method", "icarma"), name),
            (number(row[f"{name}_low"]), number(row[f"{name}_high"])),
        )
        for name in SHARES
        if row[f"{name}_paper"] is not None
    }


def judge(row: Row) -> Row:
    """The row with its verdicts: of each share, and of the line."""
    judged = cells(row)
    words = {f"{name}_verdict": judged[name].verdict if name in judged else "" for name in SHARES}
    return {**row, **words, "verdict": of_all(judged.values()) or "", "open": opened(judged)}


def aims(case: IcarmaCase, people: Mapping[str, PerPerson]) -> tuple[Check, ...]:
    """Does our hybrid dominate its parents? Replayed in the true equations; costs where both answer."""
    out = []
    for ours, parent, name in (("polished-hard", "oracle", "hard"), ("polished-price", "icarma", "price")):
        if ours not in people or parent not in people:
            continue
        one, other = people[ours], people[parent]
        valid = {"ours": float(one.valid.mean()), METHODS[parent]: float(other.valid.mean())}
        likely = {"ours": _plausible(one), METHODS[parent]: _plausible(other)}
        both = one.valid & other.valid
        ratio = float(one.cost[both].mean() / other.cost[both].mean()) if both.any() else float("nan")
        shown = f"validity {listed(valid)}; plausibility {listed(likely)}; cost, where both answer, {ratio:.2f} times"
        more = valid["ours"] >= valid[METHODS[parent]]
        if name == "hard":
            holds = more and likely["ours"] == 1.0 and ratio <= 1.1
            aim = "Our aim: plausibility 1, validity at least the oracle's, cost within 10 % of its."
        else:
            holds = more and likely["ours"] > likely[METHODS[parent]] and ratio <= 1.0
            aim = "Our aim: validity at least iCARMA's, more plausible, no higher cost."
        out.append(Check(f"hybrid, {name}: {case}", aim, bool(holds), shown, aim=True))
    return tuple(out)


def _plausible(people: PerPerson) -> float:
    return float(people.plausible[people.proposed].mean()) if people.proposed.any() else float("nan")


# -- layout ----------------------------------------------------------------------------------------------------

HEADS = ("people can act on", "method", *SHARES, "cost")
TABLE = (
    "Shares read *paper → measured [95 % interval] verdict*; the cost is the mean (and the spread over people) of "
    "valid proposals, without weights. A line is worse if one of its shares is; a lower hap is better. Plausibility is "
    "judged by the log-density of the world that a method works in: the true equations of Loan for the oracle and for "
    "ours, the learned flow for iCARMA (and for everybody on GMSC); the paper judges everybody by its flow."
)


def tolerance() -> str:
    """The tolerances and what they mean."""
    oracle, icarma = TOLERANCE["oracle"], TOLERANCE["icarma"]
    of = ", ".join(f"{name} {oracle[name]:g} (iCARMA: {icarma[name]:g})" for name in SHARES)
    return (
        f"Tolerance: {of}; plausibility that is not demanded has iCARMA's. An oracle is optimal, so what lies beyond "
        f"the tolerance is a deviation, above or below, and counts as worse. {RULE} {findings.RULE} {SLACK}"
    )


def tables(rows: Sequence[Row]) -> tuple[Table, ...]:
    """The table, and the proposals of iCARMA replayed in the true equations."""
    replayed = tuple(
        Line((*_names(row), *(f"{row[f'{name}_in_true_world']:.3f}" for name in _REPLAYED)))
        for row in rows
        if row["validity_in_true_world"] is not None
    )
    text = (
        "The same proposals of iCARMA, replayed in the true equations instead of the flow that it learned in:"
    )
    heads = (*HEADS[:2], "validity", "plausibility", "valid and plausible")
    whole = Table(HEADS, tuple(_line(row) for row in rows))
    return (whole, Table(heads, replayed, text=text)) if replayed else (whole,)


_REPLAYED = ("validity", "plausibility", "valid_and_plausible")


def _names(row: Row) -> tuple[str, str]:
    case, method = key_of(row)
    return str(case), METHODS[method]


def _line(row: Row) -> Line:
    judged = cells(row)
    spent = "-" if row["cost"] is None else f"{row['cost']:.4f} ({row['cost_std']:.4f})"
    return Line(
        (*_names(row), *(_share(row, judged, name) for name in SHARES), spent), tuple(judged.values())
    )


def _share(row: Row, judged: dict[str, Cell], name: str) -> str:
    if not row[f"{name}_n"]:
        return "-"
    text = f"{row[name]:.3f} [{row[f'{name}_low']:.3f}, {row[f'{name}_high']:.3f}]"
    return f"{row[f'{name}_paper']:.3f} → {text} {judged[name].verdict}" if name in judged else text
