"""The `audit` command: who has recourse, at what cost, group by group; one page and the numbers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.cli.console import Steps, room_for, say, steps, table, write_json, write_text
from wayforward.cli.inputs import (
    Inputs,
    Prepared,
    lets_people_act,
    read_wishes,
    trained_again,
)
from wayforward.data.user_tables import read_table, without_label
from wayforward.errors import DataError, did_you_mean, is_number
from wayforward.language import N_, Translatable, gettext, marks, use_language

if TYPE_CHECKING:
    from wayforward.groups import Groups
    from wayforward.impact.audit import Audit
    from wayforward.problem import Problem

_MODELS = {
    "lr": N_("logistic regression (lr)"),
    "mlp": N_("a neural network (mlp)"),
    "rf": N_("a random forest (rf)"),
    "gb": N_("gradient-boosted trees (gb)"),
    "xgb": N_("gradient-boosted trees (xgb)"),
    "lgbm": N_("gradient-boosted trees (lgbm)"),
}


def look(
    question: Inputs, *, method: str, device: str | None, groups: Sequence[str], cuts: Sequence[str],
    most: int, smallest: int, second: str | None, twins: int, again: int, summaries: Sequence[str], correction: Any,
    budget: int | None, html: Path | None, json: Path | None, workers: int = 1, on: Any = None, honest: int = 0,
    language: str | None = None, csv: Path | None = None,
) -> Audit:  # fmt: skip
    """Do everything that `wayforward audit` does; return the audit."""
    from wayforward.answers import write_csv
    from wayforward.cli.recommend import choose
    from wayforward.impact.audit import audit
    from wayforward.impact.audit.findings import findings
    from wayforward.impact.audit.page import render
    from wayforward.impact.audit.suppression import left_alone
    from wayforward.impact.audit.wording import with_titles
    from wayforward.impact.summaries import summariser

    started = time.perf_counter()
    with use_language(language):  # complains of an unknown one before any work
        pass
    room_for(html, (".html",))
    room_for(csv, (".csv",))
    room_for(json)
    makers = [summariser(name) for name in summaries if name != "none"]
    if "none" in summaries and makers:
        raise DataError(
            f"--summary none leaves rules out, and {makers[0].name} asks for some. Give one or the other."
        )
    chosen = choose(method, device)
    prepared = replace(question, n=None).prepare()
    problem = prepared.problem
    frame, whose = _people(question, prepared)
    x, odd = problem.read(frame)
    named = list(groups) or list(_sensitive(question, problem))
    attributes = _groups(named, cuts, frame, x, problem)
    wishes = None
    if question.preferences is not None:
        wishes = read_wishes(question.preferences, problem.schema, x, replace(question, n=None))
    others = _trained_again(question, prepared, again)
    read = np.setdiff1d(np.arange(len(x)), list(odd))
    # Whom the audit leaves out is in no other number either.
    read = read[~left_alone([one.take(read) for one in attributes], smallest)[0]]
    with _stages() as progress:
        got = audit(
            problem, frame if odd else x, attributes, chosen, preferences=wishes, most=most, smallest=smallest,
            beside=second, twins_of=twins, others=others, summaries=makers, correction=correction, seed=question.seed,
            budget=budget, say=progress, workers=workers, on=on,
        )  # fmt: skip
    source = {N_("people"): whose, N_("table"): prepared.title, N_("model named"): Path(question.model).name}
    got = replace(got, meta={**got.meta, "source": source, "question": question.plain()})
    if question.data is not None and not problem.schema.actionable.any():
        from wayforward.data import load

        got.meta["lets_people_act"] = lets_people_act(load(question.data))
    if honest:
        say("holding the offers against what else exists ...")
        got.meta["honesty"] = _honesty(
            question, prepared, chosen, x, read, attributes, others, wishes, honest
        )
    got.meta["seconds"] = round(time.perf_counter() - started, 1)
    got.meta["yes_means"] = prepared.yes_means
    got.meta["method_in_words"] = chosen.summary
    truth = _truth(question, prepared)
    if truth is not None:
        got.meta["quality"] = _quality(problem.reached(x[read])[0], truth[read])
        got.meta["quality"]["weighted"] = question.model in _MODELS and _is_rare(prepared.labels)
    named_model = _MODELS.get(question.model, Path(question.model).name)  # a file without its folder
    with use_language(language):
        title = gettext(
            "Audit of recourse: {title}, model: {model}, plans by the method {method}",
            title=prepared.title, model=gettext(named_model), method=chosen.name,
        )  # fmt: skip
        if html is not None:
            write_text(html, render(got, title))
        if csv is not None:
            write_csv(list(got.proved.get("groups", ())), csv)
        write_json(got.to_dict(), json)
        if str(json) != "-":
            _show(with_titles(got), findings(got))
            for file in (html, csv, json):
                if file is not None:
                    say(f"written: {file}")
    return got


def _honesty(
    question: Inputs, prepared: Prepared, chosen: Any, x: np.ndarray, read: np.ndarray, attributes: list[Groups],
    others: list[Any], wishes: Any, most: int,
) -> dict[str, Any]:  # fmt: skip
    """Examine offers to at most so many refused people of those at positions read (m,), beside models trained again
    that are as good within 1 %."""
    from wayforward.evaluate.robustness import near_best
    from wayforward.groups import Groups
    from wayforward.impact.honesty import honesty
    from wayforward.impact.privacy import FEWEST

    problem = prepared.problem
    rows, labels = prepared.train, prepared.labels
    if prepared.test is not None and prepared.test_labels is not None:
        rows, labels = prepared.test, prepared.test_labels.astype(np.int64)
    as_good = near_best([problem.model, *others], problem.schema, problem.schema.encode(rows), labels)
    good = [model for model in as_good if model is not problem.model]
    refused = read[~problem.reached(x[read])[0]]
    if 0 < len(refused) - most < FEWEST:
        most = len(refused)  # or what the audit says of all, less this, would tell of those who are left
    some = np.sort(np.random.default_rng(question.seed).permutation(refused)[:most])
    offered = chosen.fit(problem).recommend(
        x[some], preferences=None if wishes is None else wishes.take(some), seed=question.seed
    )
    of_some = [Groups(one.name, one.names, one.member[some], one.feature) for one in attributes]
    return honesty(problem, offered, groups=of_some, models=good, seed=question.seed).to_dict()


def _truth(question: Inputs, prepared: Prepared) -> np.ndarray | None:
    """Return (n,) whether the label of each person is the favourable one; None for a table without labels."""
    if question.people is not None:
        return None
    if prepared.test is not None:
        return prepared.test_labels
    return np.isin(prepared.labels.astype(str), question.favourable)


def _quality(yes: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Measure how often decisions (n,) agree with labels (n,): over everybody, and over each label."""
    from wayforward.impact.privacy import FEWEST

    few = 0 < min(truth.sum(), (~truth).sum()) < FEWEST  # how one or two fared: not even over everybody
    sides = [
        None if few or not side.any() else float((yes[side] == truth[side]).mean())
        for side in (truth, ~truth)
    ]
    accuracy = float((yes == truth).mean())
    known = [v for v in sides if v is not None] or [accuracy]
    return {
        "n": len(truth), "accuracy": accuracy, "accepts_of_favourable": sides[0],
        "refuses_of_others": sides[1], "balanced_accuracy": sum(known) / len(known),
    }  # fmt: skip


def _is_rare(labels: np.ndarray) -> bool:
    """Return whether one label is so rare that `train` weighs it up."""
    from wayforward.model.zoo import has_rare_label

    return has_rare_label(np.unique(labels, return_counts=True)[1])


def _people(question: Inputs, prepared: Prepared) -> tuple[Any, str]:
    """Return the people that the model decides about: a table, and in words who they are."""
    if question.people is not None:
        name = question.people.name
        whose = Translatable(lambda: gettext("the table {name}", name=name))
        return without_label(read_table(question.people), question.label), whose
    if prepared.test is not None:
        return prepared.test, Translatable(
            lambda: gettext("the 30 % of the data set that the model was not trained on")
        )
    say("note: these people trained the model. Name others with --people.")
    return prepared.train, Translatable(lambda: gettext("the people who trained the model"))


def _trained_again(question: Inputs, prepared: Prepared, m: int) -> list[Any]:
    """Train m models of the same kind on resamples of the past people; return none for a model from a file."""
    from wayforward.model import ZOO

    if m < 1 or question.model not in ZOO:
        return []
    return trained_again(
        question, prepared.problem.schema, prepared.train, prepared.labels, m, seed=question.seed
    )


def _sensitive(question: Inputs, problem: Problem) -> Sequence[str]:
    found = list(problem.schema.sensitive)
    if found:
        return found
    where = (
        "This schema marks no feature as sensitive" if question.data is None else "The data set names none"
    )
    raise DataError(
        f"{where}, so say along what people are compared: --group COLUMN. Columns: "
        f"{', '.join(problem.schema.names[:12])}."
    )


def _groups(
    names: Sequence[str], cuts: Sequence[str], frame: Any, x: np.ndarray, problem: Problem
) -> list[Groups]:
    """Each attribute as groups: a feature, or another column of the table. Quantities are cut.

    Raises: DataError for a column that is not there, or cuts that belong to nothing.
    """
    from wayforward.groups import Groups

    schema = problem.schema
    edges = _edges(cuts, names, _quantities(names, frame, schema))
    out = []
    for name in names:
        if name in schema.names:
            feature = schema[name]
            cut = edges.get(name)
            if cut is not None and feature.has_levels:
                raise DataError(f"'{name}' has levels, which are its groups; leave --cut out.")
            if cut is None and not feature.has_levels:
                cut = _thirds(name, x[:, schema.index(name)])
            out.append(_several(Groups.of(name, x, schema, cut=cut), edges.get(name)))
            continue
        column = _column(frame, name, schema.names)
        cut = edges.get(name)
        if cut is None and _is_quantity(column):
            cut = _thirds(name, column.astype(np.float64))
        out.append(_several(Groups.of(name, column, cut=cut), edges.get(name)))
    return out


def _several(groups: Groups, edges: list[float] | None) -> Groups:
    """Return the groups as they are. Raises: DataError where a cut leaves everybody in one."""
    if edges and np.count_nonzero(groups.sizes) < 2:
        cuts = " ".join(f"--cut {groups.name}:{edge:g}" for edge in edges)
        raise DataError(
            f"{cuts} cuts nothing: everybody is on one side. Choose values that lie between those of people."
        )
    return groups


def _column(frame: Any, name: str, known: Sequence[str]) -> np.ndarray:
    import narwhals as nw

    table_ = nw.from_native(frame, eager_only=True)
    if name not in table_.columns:
        hint = did_you_mean(name, [*known, *table_.columns]) or f" It has {', '.join(table_.columns[:12])}."
        raise DataError(f"The table of people has no column '{name}' to make groups of.{hint}")
    return np.asarray(table_[name].to_numpy())


def _is_quantity(column: np.ndarray) -> bool:
    return bool(column.dtype.kind in "if" and len(np.unique(column[np.isfinite(column.astype(float))])) > 20)


def _quantities(names: Sequence[str], frame: Any, schema: Any) -> list[str]:
    out = []
    for name in names:
        if name in schema.names:
            if not schema[name].has_levels:
                out.append(name)
        elif _is_quantity(_column(frame, name, schema.names)):
            out.append(name)
    return out


def _edges(cuts: Sequence[str], names: Sequence[str], quantities: list[str]) -> dict[str, list[float]]:
    """--cut 30 --cut 60 for the only quantity, or --cut age:30 by name. Raises: DataError."""
    out: dict[str, list[float]] = {}
    for text in cuts:
        name, _, value = text.rpartition(":")
        if not name:
            if len(quantities) != 1:
                shown = ", ".join(quantities) or "none"
                raise DataError(
                    f"--cut {text} cuts a quantity, and these groups are of {shown}. Say which: --cut NAME:{text}."
                )
            name = quantities[0]
        if name not in names:
            raise DataError(f"--cut {text} cuts '{name}', which is not among the groups. Add --group {name}.")
        try:
            edge = float(value)
        except ValueError:
            raise DataError(f"--cut {text} is no number. Write --cut 30, or --cut {name}:30.") from None
        if not is_number(edge):
            raise DataError(
                f"--cut {text} is no finite number, or too large. Write --cut 30, or --cut {name}:30."
            )
        out.setdefault(name, []).append(edge)
    return {name: sorted(set(found)) for name, found in out.items()}


def _thirds(name: str, column: np.ndarray) -> list[float]:
    """Return two round cuts near the thirds of the people, and print them."""
    from wayforward.groups import cuts_near_thirds

    if not np.isfinite(column).any():
        raise DataError(f"'{name}' has no values, so it makes no groups. Choose another --group.")
    cut = cuts_near_thirds(column)
    shown = " and ".join(f"{c:g}" for c in cut)
    say(f"note: '{name}' is a quantity; cut at {shown}, near the thirds of the people. --cut says otherwise.")
    return cut


@contextmanager
def _stages() -> Iterator[Any]:
    """Show the progress of an audit: a bar while plans are looked for, a line for each later stage."""
    bar: Steps | None = None
    opened: list[Any] = []

    def close() -> None:
        while opened:
            opened.pop().__exit__(None, None, None)

    def progress(what: str, done: int, total: int) -> None:
        nonlocal bar
        if what != "looking for plans":
            close()
            say(f"{what} ...")
            return
        if bar is None:
            shown = steps("looking for plans: people", total)
            bar = shown.__enter__()
            opened.append(shown)
        bar(done)

    try:
        yield progress
    finally:
        close()


def _show(got: Audit, findings: list[str]) -> None:
    """Print the findings, and one table of the headline figures by group."""
    import typer

    from wayforward.impact.audit.wording import cost_telling, unit_of

    for text in findings:
        typer.echo(f"- {text}")
    rows, cost = [], cost_telling(unit_of(got))
    for one in [None, *(a for a in got.attributes if not a.crossed)]:
        for group in [got.overall] if one is None else one.groups:
            if not group.people:
                continue
            if group.hidden:
                rows.append(("" if one is None else one.name, group.name, *([gettext("withheld")] * 6)))
                continue
            f = group.figures
            rows.append(
                (
                    "" if one is None else one.name, gettext(group.name) if one is None else group.name,
                    marks(f"{group.people:,}"), _percent(f["refused"].value), marks(f"{group.answered:,}"),
                    _percent(f["usable"].value),
                    gettext("withheld") if group.counts_withheld else marks(f"{group.proved:,}"),
                    "–" if not f["cost"].n else cost.estimate(f["cost"]),
                )
            )  # fmt: skip
    heads = (
        gettext("by"), gettext("group"), gettext("people"), gettext("refused"), gettext("answered"), gettext("usable"),
        gettext("proved none"), gettext("mean cost"),
    )  # fmt: skip
    table("", heads, rows)
    for note in got.notes:
        say(gettext("note: {note}", note=note))


def _percent(value: float) -> str:
    from wayforward.answers import words

    return "–" if value != value else words.percent(value, 1)
