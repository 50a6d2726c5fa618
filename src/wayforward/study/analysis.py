"""Ratings in a table, a model for each outcome and distance: the published summary, as numbers and as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import DataError
from wayforward.public import public
from wayforward.schema.tables import read_frame
from wayforward.study.gamm import Gamm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADS = ("model", "term", "coefficient", "error", "t or z", "EDF", "F or chi2", "p", "AIC")


@public
@dataclass(frozen=True)
class Analysis:
    """The fitted models of a table. left_out: rows without a number, or marked in the column of what is impossible."""

    models: dict[tuple[str, str], Gamm]  # by outcome and quantity
    left_out: int

    def rows(self) -> list[tuple[str, ...]]:
        """The lines of the published summary (its Table S2), under `HEADS`."""
        out = []
        for (outcome, x), model in self.models.items():
            value, error, ratio, p = model.intercept
            head = f"{outcome} ~ {x}"
            numbers = (f"{v:.2f}" for v in (value, error, ratio))
            out.append((head, "intercept", *numbers, "", "", p_text(p), f"{model.aic:.2f}"))
            for term in model.terms:
                name = term.name.replace("x", x)
                out.append(
                    ("", name, "", "", "", f"{term.edf:.2f}", f"{term.statistic:.2f}", p_text(term.p), "")
                )
        return out

    def to_dict(self) -> dict[str, Any]:
        """Plain data: each model's summary and its curve, without a row of any participant."""
        models = []
        for (outcome, x), model in self.models.items():
            curve = model.curve(points=50)
            line = {name: values.tolist() for name, values in vars(curve).items()}
            models.append({"outcome": outcome, "x": x} | model.to_dict() | {"curve": line})
        return {"left_out": self.left_out, "models": models}

    def figure(self) -> Figure:
        """A panel for each model: its curve with the 95 % band, on the scale of the predictor. Needs matplotlib."""
        from wayforward.answers.figure_style import figure_style, new_figure
        from wayforward.palette import BLUE

        wide = len({x for _, x in self.models})
        high = -(-len(self.models) // wide)
        with figure_style():
            figure = new_figure(3.6 * wide + 0.4, 2.8 * high + 0.2)
            panels = figure.subplots(high, wide, squeeze=False).ravel()
            for ax, ((outcome, x), model) in zip(panels, self.models.items(), strict=False):
                curve = model.curve()
                ax.fill_between(curve.x, curve.low, curve.high, color=BLUE, alpha=0.2, linewidth=0)
                ax.plot(curve.x, curve.value, color=BLUE)
                ax.set_xlabel(x)
                ax.set_ylabel(outcome if model.family == "gaussian" else f"{outcome} ({model.family})")
                ax.spines[["top", "right"]].set_visible(False)
        return figure


@public
def analyse(
    table: Any,
    outcomes: Sequence[str],
    quantities: Sequence[str],
    participant: str = "participant",
    *,
    impossible: str | None = None,
    family: str = "gaussian",
    basis: str = "thin-plate",
    k: int = 10,
) -> Analysis:
    """Fit y ~ s(x) + s(participant) + s(participant, x) for each outcome y and quantity x.

    table: a pandas, polars or pyarrow table with a row for each rating. impossible: a column; rows in which it is above
    zero are left out, as the published study does with plans that hold something a participant cannot change. A
    quantity with fewer distinct values than k gets as many as it has.

    Raises: DataError for a column that is not there or not of numbers, and as `Gamm.fit`.
    """
    frame = read_frame(table, "ratings")
    names = [*outcomes, *quantities, *([impossible] if impossible else [])]
    for name in (*names, participant):
        if name not in frame.columns:
            raise DataError(
                f"The table has no column '{name}'. It has {', '.join(frame.columns)}; name the one that is meant."
            )
    numbers = {name: _column(frame, name) for name in names}
    uid = np.array([str(one) for one in frame[participant].to_list()])
    keep = np.array([one not in ("None", "nan", "", "<NA>") for one in uid])
    for name, values in numbers.items():
        keep &= np.isfinite(values) | (name == impossible)
    if impossible:
        keep &= ~(numbers[impossible] > 0)
    if not keep.any():
        raise DataError(f"None of the {len(keep)} rows can be used. Look for missing numbers.")
    models = {}
    for outcome in outcomes:
        for x in quantities:
            size = min(k, len(np.unique(numbers[x][keep])))
            try:
                models[outcome, x] = Gamm.fit(
                    numbers[outcome][keep], numbers[x][keep], uid[keep], family=family, basis=basis, k=size
                )  # fmt: skip
            except DataError as error:
                raise DataError(f"{outcome} ~ {x}: {error}") from None
    return Analysis(models, int((~keep).sum()))


def _column(frame: Any, name: str) -> np.ndarray:
    values = frame[name].to_list()
    try:
        return np.array([np.nan if one is None or one == "" else float(one) for one in values])
    except (TypeError, ValueError):
        raise DataError(f"Column '{name}' holds texts; it must hold numbers. Recode it.") from None


def p_text(p: float) -> str:
    """A p-value as papers print it."""
    return "<.001" if p < 0.001 else f"{p:.3f}"
