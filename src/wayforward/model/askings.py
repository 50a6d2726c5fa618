"""Is a model asked once or often: it answers alike each time and in any batch, or it is random and says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wayforward.deadline import Pace, now
from wayforward.errors import ModelError
from wayforward.model.adapted import Adapted, one_hot
from wayforward.model.base import LARGEST, Access, Checked
from wayforward.model.verify import sample_rows
from wayforward.schema import Schema
from wayforward.shapes import Floats, Ints, Outputs

ASKINGS = 25  # of a random model, about each row
_ROWS = 12  # that a model is asked about twice; the first of them also alone
_APART = 1e-4  # outputs that differ by more are not the same; below it is what arithmetic leaves


def check_steady(native: Adapted, schema: Schema, pace: Pace) -> None:
    """Ask about a few rows, again in the reverse order, and about one alone.

    pace learns how long that takes, which no later call tells of so few. Raises: ModelError where the answers are not
    the same.
    """
    rows = sample_rows(schema, _ROWS, missing=False)
    checked = Checked(native.task, native.classes, native.name)

    def ask(part: Floats) -> tuple[Floats, Ints]:
        started = now()
        out, label = native.predict(part)
        pace.learn(len(part), now() - started)
        return checked.outputs(out, len(part)), label

    try:
        first = ask(rows)
    except ModelError:
        if schema.carried.any():  # it may know those of its training table alone, and not an example
            return
        raise
    (out, label), alone = ask(rows[::-1]), ask(rows[:1])
    turned = (out[::-1], label[::-1])
    if _differs(first, turned):
        if _differs(first, ask(rows)):
            raise ModelError(
                f"{native.name} answers differently when it is asked again about the same rows. Make it answer alike "
                "(a fixed seed, model.eval()), or, if it is meant to be random, give wrap(..., random=True): it is "
                f"then asked {ASKINGS} times."
            )
        raise ModelError(
            f"{native.name} answers by the place of a row in its batch: {_ROWS} rows in the reverse order got other "
            "answers. A decision about one person may not hang on others: answer each row by itself."
        )
    if _differs((first[0][:1], first[1][:1]), alone):
        raise ModelError(
            f"{native.name} answers differently about a row alone and in a batch of {_ROWS}. A decision about one "
            "person may not hang on others: take statistics of the batch out of it, or fix them in training."
        )


def _differs(one: tuple[Floats, Ints], other: tuple[Floats, Ints]) -> bool:
    gap = np.abs(one[0] - other[0]) / np.maximum(1.0, np.abs(one[0]))
    return bool((gap > _APART).any() or ((gap.max(axis=1) == 0) & (one[1] != other[1])).any())


def often(native: Adapted) -> Adapted:
    """A random model, asked several times: its outputs are the shares of the askings that gave each label.

    A regression gives the mean of its predictions.
    """

    def predict(x: Floats) -> tuple[Outputs, Ints]:
        answers = [native.predict(x) for _ in range(ASKINGS)]
        if native.task == "regression":
            return np.mean([out for out, _ in answers], axis=0), answers[0][1]
        share = np.mean([one_hot(label, len(native.classes)) for _, label in answers], axis=0)
        return share, share.argmax(axis=1)

    what = (
        "the mean of its predictions counts"
        if native.task == "regression"
        else ("a probability is the share of the askings that gave the label, and most of them decide")
    )
    return replace(
        native, predict=predict, read=None, encoded=None, decision=LARGEST, access=Access.PROBABILITY, askings=ASKINGS,
        notes=[*native.notes, f"random=True: asked {ASKINGS} times about each row; {what}"],
    )  # fmt: skip
