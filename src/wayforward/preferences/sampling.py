"""Draw preferences for experiments: scores, rankings, thresholds, and groups that favour some features.

The functions take a `numpy.random.Generator` and return plain numbers for `Preferences.from_scores` and
`Preferences.from_rankings`. `PreferenceLaw` names one distribution and draws `Preferences` from it;
`PreferencePlan` holds one law for each group of people and each part of the data. Both are plain data that can
be saved, and what they drew is saved with `Preferences.save` and replayed with `Preferences.load`.

Source: Budde, Majumdar, Uth, Langer & Valera (2026), iCARMA, appendices B.2 and C.1.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from wayforward.errors import FileFormatError, PreferencesError, is_one_of, names_in, numbers_in
from wayforward.plain_files import read_json, write_text
from wayforward.preferences.preferences import Preferences
from wayforward.preferences.scores import GAMMAS, Profile
from wayforward.public import public
from wayforward.shapes import Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.schema import Schema

#: Features that people of each group of the Loan study rank first, by the names of the Loan data.
LOAN_LAWS: dict[str, tuple[str, str]] = {
    "causal": ("income", "loan_amount"),
    "reverse": ("loan_duration", "savings"),
    "privileged": ("income", "savings"),
    "non-privileged": ("loan_amount", "loan_duration"),
}

_MOST_PERMUTED = 8  # 8! = 40,320 orders are listed where their probabilities differ


@public
def draw_scores(
    n: int,
    features: int,
    levels: int,
    rng: np.random.Generator,
    *,
    cannot: bool = False,
    law: npt.ArrayLike | None = None,
) -> Floats:
    """(n, features) independent scores 1..levels; with `cannot` also levels + 1, "I cannot".

    `law` holds the probability of each score; None: all the same. Nobody is left without any feature that
    they can change: such a person is drawn again.
    """
    values = levels + int(cannot)
    p = np.full(values, 1 / values) if law is None else np.asarray(law, dtype=np.float64)
    if features < 1 or levels < 1:
        raise PreferencesError(
            f"{features} features and {levels} levels leave nothing to draw. Give at least 1."
        )
    if p.shape != (values,) or (p < 0).any() or not math.isclose(float(p.sum()), 1.0, abs_tol=1e-9):
        raise PreferencesError(
            f"The law of {values} scores is {p.tolist()}. Give {values} probabilities that sum to 1."
        )
    if cannot and p[-1] > 1 - 1e-9:
        raise PreferencesError(
            "The law lets nobody change anything. Give some score up to `levels` a chance."
        )
    scores = np.asarray(rng.choice(values, size=(n, features), p=p), dtype=np.float64) + 1.0
    while cannot:
        stuck = np.flatnonzero((scores > levels).all(axis=1))
        if not stuck.size:
            break
        scores[stuck] = rng.choice(values, size=(stuck.size, features), p=p) + 1.0
    return scores


@public
def draw_rankings(
    n: int,
    features: int,
    rng: np.random.Generator,
    *,
    law: npt.ArrayLike | None = None,
    threshold: npt.ArrayLike | None = None,
) -> Floats:
    """(n, features) ranks, 1 for the easiest.

    `law` holds the probability of each order in ``itertools.permutations(range(1, features + 1))`` (see
    `ranking_law`); None: all the same. `threshold` is a number or one a person (see `draw_thresholds`):
    ranks from it on become features + 1, "I cannot", so that threshold - 1 features remain.
    """
    if features < 1:
        raise PreferencesError(f"There is nothing to rank among {features} features. Give at least 1.")
    if law is None:
        ranks = rng.permuted(np.tile(np.arange(1.0, features + 1), (n, 1)), axis=1)
    else:
        orders = _orders(features)
        p = np.asarray(law, dtype=np.float64)
        if p.shape != (len(orders),) or (p < 0).any() or not math.isclose(float(p.sum()), 1.0, abs_tol=1e-9):
            raise PreferencesError(
                f"The law has shape {p.shape} and sum {p.sum():g}. Give {len(orders)} probabilities that "
                "sum to 1, one an order; ranking_law makes them."
            )
        ranks = orders[rng.choice(len(orders), size=n, p=p)]
    if threshold is None:
        return ranks
    cut = np.broadcast_to(np.asarray(threshold, dtype=np.float64), (n,))
    odd = np.flatnonzero(~((cut >= 2) & (cut <= features + 1) & (cut == np.floor(cut))))
    if odd.size:
        raise PreferencesError(
            f"The threshold of person {odd[0]} is {cut[odd[0]]:g}. Give a whole number from 2 (one "
            f"feature) to {features + 1} (all)."
        )
    return np.where(ranks >= cut[:, None], features + 1.0, ranks)


@public
def draw_thresholds(n: int, features: int, rng: np.random.Generator) -> Ints:
    """(n,) uniform thresholds from 2 (one feature left) to features + 1 (all left)."""
    return rng.integers(2, features + 2, size=n)


@public
def ranking_law(
    names: Sequence[str], favoured: Sequence[str], *, both: float = 4.0, first: float = 1.0
) -> Floats:
    """Probability of each order of `names` for a group that puts a favoured feature first.

    Orders whose top ranks are exactly the favoured features weigh `both`, the other orders that begin with
    one of them weigh `first`, all others 0. With four features and a pair this gives 1/6 and 1/24. The
    supports follow the iCARMA study; the ratio of the two weights is our reading of it, so it is a
    parameter.

    Example: ``ranking_law(names, LOAN_LAWS["privileged"])``.
    """
    favoured = names_in(favoured, "favoured", PreferencesError)
    for name in favoured:
        if name not in names:
            raise PreferencesError(
                f"The favoured feature '{name}' is not among {', '.join(names)}. Correct the name."
            )
    if not favoured or min(both, first) < 0 or (both == 0 and first == 0):
        raise PreferencesError(
            f"A law with favoured={list(favoured)}, both={both}, first={first} has no order left."
        )
    orders = _orders(len(names))
    ranks = orders[:, [list(names).index(name) for name in favoured]]
    top, leads = (ranks <= len(favoured)).all(axis=1), (ranks == 1).any(axis=1)
    weight = np.where(top, both, np.where(leads, first, 0.0))
    return np.asarray(weight / weight.sum())


def _orders(features: int) -> Floats:
    if features > _MOST_PERMUTED:
        raise PreferencesError(
            f"{features} features have too many orders to list. Use at most {_MOST_PERMUTED}, or law=None "
            "for uniform."
        )
    return np.array(list(itertools.permutations(range(1, features + 1))), dtype=np.float64)


@public
@dataclass(frozen=True)
class PreferenceLaw:
    """One distribution of preferences over the actionable features of a schema.

    answers: "ranks" (an order of the features) or "scores" (1 to `levels` for each by itself). favoured: names
    of the features that this group ranks first (see `ranking_law`); empty: every order is as likely. threshold:
    ranks from it on are "I cannot", so that threshold - 1 features remain; "random" draws one a person from 2 to
    the number of features + 1; None: everybody can change everything. cannot: scores may also say "I cannot".
    profile, w_min, w_max: how answers become weights (`score_weights`).

    Example: ``PreferenceLaw(favoured=("income", "savings"), threshold=3).draw(schema, 100, rng)``.
    Raises: PreferencesError for words and numbers that mean nothing.
    """

    answers: Literal["ranks", "scores"] = "ranks"
    favoured: tuple[str, ...] = ()
    threshold: int | Literal["random"] | None = None
    levels: int = 4
    cannot: bool = False
    profile: Profile = "constant"
    w_min: float = 1.0
    w_max: float = 10.0
    both: float = 4.0
    first: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "favoured", tuple(self.favoured))
        if not is_one_of(self.answers, ("ranks", "scores")):
            raise PreferencesError(f"answers is {self.answers!r}. Give 'ranks' or 'scores'.")
        if not is_one_of(self.profile, GAMMAS):
            raise PreferencesError(
                f"There is no cost profile {self.profile!r}. Choose one of {', '.join(GAMMAS)}."
            )
        whole = isinstance(self.threshold, int) and not isinstance(self.threshold, bool)
        if not (self.threshold is None or self.threshold == "random" or (whole and self.threshold >= 2)):
            raise PreferencesError(
                f"The threshold is {self.threshold!r}. Give a whole number from 2 (one feature), 'random' or None."
            )
        if self.answers == "scores" and (self.favoured or self.threshold is not None):
            raise PreferencesError(
                "Scores are drawn for each feature by itself: leave favoured and threshold out, and give "
                "cannot=True for people who cannot change everything."
            )

    def draw(self, schema: Schema, n: int, rng: np.random.Generator) -> Preferences:
        """Preferences of n people, drawn."""
        names = [schema.names[j] for j in np.flatnonzero(schema.actionable)]
        if self.answers == "scores":
            scores = draw_scores(n, len(names), self.levels, rng, cannot=self.cannot)
            return Preferences.from_scores(
                schema, scores, self.levels, profile=self.profile, w_min=self.w_min, w_max=self.w_max
            )
        law = ranking_law(names, self.favoured, both=self.both, first=self.first) if self.favoured else None
        cut: Any = draw_thresholds(n, len(names), rng) if self.threshold == "random" else self.threshold
        ranks = draw_rankings(n, len(names), rng, law=law, threshold=cut)
        return Preferences.from_rankings(
            schema, ranks, profile=self.profile, w_min=self.w_min, w_max=self.w_max
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self) | {"favoured": list(self.favoured)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> PreferenceLaw:
        """The reverse of `to_dict`. Raises: FileFormatError, PreferencesError."""
        odd = sorted(set(stored) - set(cls.__dataclass_fields__))
        if odd:
            raise FileFormatError(f"A law of preferences has no entry '{odd[0]}'. Save it with to_dict().")
        return cls(**{**stored, "favoured": tuple(stored.get("favoured", ()))})


@public
@dataclass(frozen=True)
class PreferencePlan:
    """Who draws from which law: up to two groups, in training and in testing.

    train, test: one law for each group, by its name; a group without a law draws from the law "" (everybody).
    seed: with the same seed, groups and schema the same preferences are drawn.

    Example: ``PreferencePlan({"": PreferenceLaw()}, {"privileged": one, "non-privileged": other})``.
    """

    train: Mapping[str, PreferenceLaw] = field(default_factory=lambda: {"": PreferenceLaw()})
    test: Mapping[str, PreferenceLaw] = field(default_factory=lambda: {"": PreferenceLaw()})
    seed: int = 0

    def draw(
        self,
        schema: Schema,
        groups: Sequence[str] | npt.NDArray[Any] | int,
        split: Literal["train", "test"] = "test",
    ) -> Preferences:
        """Preferences of everybody: `groups` names each person's group, or is a number of people in no group.

        Raises: PreferencesError for a group that no law covers.
        """
        labels = [""] * groups if isinstance(groups, (int, np.integer)) else [str(group) for group in groups]
        laws = {"train": self.train, "test": self.test}.get(split)
        if laws is None:
            raise PreferencesError(f"There is no part {split!r} of a plan. Use 'train' or 'test'.")
        parts, rows = [], []
        for place, name in enumerate(sorted(set(labels))):
            law = laws.get(name, laws.get(""))
            if law is None:
                raise PreferencesError(
                    f"No law covers the group '{name}' in {split}; there are {', '.join(sorted(laws))}. Give it "
                    "one, or a law for everybody under the name ''."
                )
            mine = np.flatnonzero([label == name for label in labels])
            rng = np.random.default_rng([self.seed, int(split == "test"), place])
            parts.append(law.draw(schema, len(mine), rng))
            rows.append(mine)
        if not parts:
            return Preferences.none(schema, 0)
        return Preferences.concat(parts).take(np.argsort(np.concatenate(rows), kind="stable"))

    def save(self, path: str | Path) -> None:
        """Write the plan as JSON; `load` reads it back."""
        stored = {
            "format": _FORMAT,
            "seed": self.seed,
            **{part: {name: law.to_dict() for name, law in laws.items()} for part, laws in self._parts()},
        }
        write_text(path, json.dumps(stored, indent=2, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> PreferencePlan:
        """Read what `save` wrote. Raises: FileFormatError."""
        try:
            stored = read_json(path)
            if stored["format"] != _FORMAT:
                raise ValueError("format")
            parts = {
                part: {name: PreferenceLaw.from_dict(law) for name, law in stored[part].items()}
                for part in ("train", "test")
            }
            return cls(**parts, seed=int(stored["seed"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise FileFormatError(
                f"'{Path(path).name}' does not hold a plan of preferences ({type(error).__name__}). Save it again "
                "with save()."
            ) from error

    def _parts(self) -> tuple[tuple[str, Mapping[str, PreferenceLaw]], ...]:
        return (("train", self.train), ("test", self.test))


_FORMAT = "wayforward.preference-plan/1"


@public
def privileged_at_random(n: int, rng: np.random.Generator, *, share: float = 0.5) -> Mask:
    """(n,) bool: everybody is privileged with the same probability."""
    _check_share(share, "share")
    return np.asarray(rng.random(n) < share)


@public
def privileged_by_income(income: npt.ArrayLike, *, top: float = 0.25) -> Mask:
    """(n,) bool: the `top` share of earners is privileged (a quarter in the study); ties fall to the later row."""
    _check_share(top, "top")
    values = numbers_in(income, "income", PreferencesError)
    if values.ndim != 1 or np.isnan(values).any():
        raise PreferencesError(
            f"income has shape {values.shape} and {int(np.isnan(values).sum())} missing values. Give one number "
            "a person."
        )
    rank = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return np.asarray(rank >= len(values) - round(top * len(values)))


@public
def privileged_by_race(
    white: npt.ArrayLike, rng: np.random.Generator, *, if_white: float = 0.9, if_not: float = 0.05
) -> Mask:
    """(n,) bool: privilege goes with a race-like attribute; `white` (n,) bool.

    In the study the attribute is a fair coin, 90 % of white people are privileged, and 5 % of the others.
    """
    _check_share(if_white, "if_white")
    _check_share(if_not, "if_not")
    is_white = np.asarray(white)
    if is_white.ndim != 1 or not np.isin(is_white, (0, 1)).all():
        raise PreferencesError(f"white has shape {is_white.shape}. Give True or False for each person.")
    return np.asarray(rng.random(len(is_white)) < np.where(is_white.astype(bool), if_white, if_not))


def _check_share(share: float, name: str) -> None:
    if not 0 <= share <= 1:
        raise PreferencesError(f"{name} is {share}. Give a share from 0 to 1.")


@public
def loan_plan(
    *, threshold: int | Literal["random"] | None = 3, profile: Profile = "constant", seed: int = 0
) -> PreferencePlan:
    """The plan of the fairness study on Loan: uniform in training, "privileged" and "non-privileged" in testing."""
    everybody = PreferenceLaw(threshold="random", profile=profile)
    return PreferencePlan(
        {"": everybody},
        {
            group: PreferenceLaw(favoured=LOAN_LAWS[group], threshold=threshold, profile=profile)
            for group in ("privileged", "non-privileged")
        },
        seed,
    )
