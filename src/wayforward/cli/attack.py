"""The `attack` command: what do answers give away about the model and its table, and what do defences cost?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.cli.console import room_for, say, table, write_json, write_text
from wayforward.cli.inputs import Inputs
from wayforward.data.user_tables import labels_of, read_table, without_label
from wayforward.errors import DataError
from wayforward.language import N_, use_language

if TYPE_CHECKING:
    from wayforward.cli.inputs import Prepared
    from wayforward.impact.disclosure import Attack, Shadows


def look(
    question: Inputs, *, method: str, k: int, most: int, queries: Sequence[int] | None, seeds: int,
    attributes: Sequence[str] | None, defences: bool, shadows: int,
    html: Path | None, json: Path | None, language: str | None,
) -> Attack:  # fmt: skip
    """Do everything that `wayforward attack` does; return what was measured."""
    import typer

    from wayforward.impact.disclosure import attack
    from wayforward.impact.disclosure.attack import QUERIES
    from wayforward.impact.disclosure.page import findings, render
    from wayforward.impact.disclosure.wording import defence_name, share, value

    room_for(html, (".html",))
    room_for(json)
    own = question.disclosure
    variants = None if own is None and defences else {} if own is None else {N_("this defence"): own}
    prepared = replace(question, n=None, crowd=None, grid=None, beyond=None, epsilon=None).prepare()
    labels = None
    if question.people is not None:
        table_of = read_table(question.people)
        unseen, labels = without_label(table_of, question.label), _labels(table_of, question)
    elif prepared.test is not None:
        unseen, labels = prepared.test, prepared.test_labels
    else:
        raise DataError(
            "An attack needs people whom the model was not trained on. Name a table of them with --people."
        )
    with use_language(language):
        got = attack(
            prepared.problem, method, unseen, k=k, queries=queries or QUERIES, seeds=seeds, most=most,
            attributes=attributes, defences=variants, shadows=_shadows(prepared, labels, shadows), seed=question.seed,
            say=lambda name: say(f"asking: {defence_name(name)} ..."),
        )  # fmt: skip
        if html is not None:
            write_text(html, render(got, language=language))
        write_json(got.to_dict(), json)
        if str(json) != "-":
            for text in findings(got):
                typer.echo(f"- {text}")
            rows = [
                (
                    defence_name(one.name),
                    share(one.usable),
                    value(one.cost, 3),
                    *(value(m.auc) for m in one.membership),
                )
                for one in got.exposures
            ]
            scores = [f"member by {m.score}" for m in got.exposures[0].membership]
            table("", ("answers", "with an option", "mean cost", *scores), rows)
            for name, why in got.meta["left_out"].items():
                say(f"left out: {defence_name(name)}: {why}")
            for file in (html, json):
                if file is not None:
                    say(f"written: {file}")
    return got


def _labels(people: Any, question: Inputs) -> np.ndarray | None:
    """(n,) bool: whose label in a table of people is a favourable one; None where they have none."""
    label = question.label
    if label is None or label not in people.columns:
        return None
    return np.isin(labels_of(people, label, question.favourable, "people").astype(str), question.favourable)


def _shadows(prepared: Prepared, labels: np.ndarray | None, models: int) -> Shadows | None:
    """Shadow models that learn the true labels of people who were held back, or of --people."""
    from wayforward.impact.disclosure import Shadows

    if not models:
        return None
    if labels is None:
        raise DataError(
            "Shadow models learn the labels of people whom the model has not seen. Name a table of --people that has "
            "the column of --label, or use --data, which holds people back."
        )
    learnt, yes = np.unique(prepared.labels), np.asarray(prepared.problem.target.favourable).ravel()
    good = np.isin(learnt.astype(str), yes.astype(str))
    return Shadows(np.where(labels, learnt[good][0], learnt[~good][0]), models)


__all__ = ["look"]
