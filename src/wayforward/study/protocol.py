"""A study as one file: who takes part, who sees what in which order, and what is asked. Strict, frozen by hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationError, model_validator

from wayforward.errors import FileFormatError
from wayforward.plain_files import as_path, parse_yaml, read_text
from wayforward.study.car_loan import ITEMS
from wayforward.study.items import ChoiceItem, Id, StrictModel, StudyItem, Words, nasa_tlx, sus

Order = Literal["fixed", "random", "latin"]
PROFILE = "car-loan-profile"


class StudyScreen(StrictModel):
    """One page. items: asked in this order; ready: a questionnaire after them. arms: shown in these only, [] for all.

    each: "plan" repeats the page for every plan that a participant is shown. task: what the web application runs; of a
    dialogue, `questions` at most.
    """

    id: Id
    title: Words
    text: Words = ""
    items: list[StudyItem] = []
    ready: Literal["sus", "nasa-tlx", "car-loan-profile"] | None = None
    arms: list[Id] = []
    each: Literal["plan"] | None = None
    task: Literal["dialogue", "sliders"] | None = None
    questions: int | None = Field(None, ge=1, le=60)

    @cached_property
    def all_items(self) -> list[Any]:
        """The items, those of the questionnaire included."""
        if self.ready is None:
            return self.items
        makers: dict[str, Callable[[], Sequence[Any]]] = {"sus": sus, "nasa-tlx": nasa_tlx, PROFILE: _profile}
        return [*self.items, *makers[self.ready]()]


class StudyBlock(StrictModel):
    """Screens that belong together. order: fixed, drawn for each participant, or by a balanced Latin square."""

    id: Id
    order: Order = "fixed"
    screens: list[StudyScreen] = Field(min_length=1)


class StudyPart(StrictModel):
    """A visit. wait_days: how long after the end of the visit before. order: of its blocks."""

    id: Id
    wait_days: float = Field(0, ge=0, le=366)
    order: Order = "fixed"
    blocks: list[StudyBlock] = Field(min_length=1)


class StudyArm(StrictModel):
    """A condition; weight: how many places of a block of the randomisation it has. Participants never read its name."""

    about: Words
    weight: int = Field(1, ge=1, le=20)


class StudyQuota(StrictModel):
    """most: participants in all. by: an item of the screening; each: so many at most with that code of it."""

    most: int = Field(ge=1, le=100_000)
    by: Id | None = None
    each: dict[int, int] = {}


class StudyChecks(StrictModel):
    """Attention checks are items with `expect`. allowed: who fails more is excluded; left out, it is only counted."""

    allowed: int | None = Field(None, ge=0)


class StudyPlans(StrictModel):
    """Five plans from a pool of real profiles. pool: a declared synthetic one, or a table that is given beside it."""

    pool: Literal["synthetic", "table"] = "synthetic"
    income: Id  # the item of the screening that holds the code of the income


class StudyProtocol(StrictModel):
    """A whole study. about, also of an arm: for whoever runs it. seed draws arms, orders and plans. strata: choices of
    the screening; who chose alike has blocks of arms of their own. back: participants may go back to the page before.
    keep_days: after the study is closed, until every participation is deleted. vignette: the made-up applicant of the
    tasks, by feature; model: the id or title of the published model that refuses them, left out: the newest one that
    does.

    Raises: FileFormatError from `read` and `parse`, naming the place in the file.
    """

    format: Literal["wayforward-study"]
    version: Literal[1]
    id: Id
    title: Words
    about: Words
    languages: list[Annotated[str, Field(pattern="^[a-z]{2}$")]] = Field(min_length=1)
    minutes: int = Field(ge=1, le=600)
    consent: Words
    debrief: Words
    back: bool = True
    keep_days: int = Field(365, ge=1, le=36_500)
    excluded: Words
    seed: int = Field(ge=0)
    arms: dict[Id, StudyArm] = Field(min_length=1)
    block_size: int = Field(0, ge=0, le=200)  # 0: one place for each weight of each arm
    strata: list[Id] = []
    quota: StudyQuota
    checks: StudyChecks = StudyChecks()
    hypotheses: list[str] = []
    stopping: str = ""
    plans: StudyPlans | None = None
    vignette: dict[str, float | int | str | bool | None] | None = None
    model: Annotated[str, Field(max_length=200)] = ""
    screening: list[StudyScreen] = []
    parts: list[StudyPart] = Field(min_length=1)

    @classmethod
    def read(cls, path: str | Path) -> StudyProtocol:
        """Read a YAML file."""
        path = as_path(path)
        return cls.parse(read_text(path, "protocol"), f"protocol '{path.name}'")

    @classmethod
    def parse(cls, text: str, name: str = "protocol") -> StudyProtocol:
        """YAML text -> protocol. `name` is what errors call it."""
        given = parse_yaml(text, name)
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise FileFormatError(
                f"The {name}, {place or 'as a whole'}: {first['msg'].removeprefix('Value error, ')}. Correct it."
            ) from None

    @property
    def hash(self) -> str:
        """SHA-256 of what the protocol says, whatever its layout: two files that say the same have one hash."""
        plain = self.model_dump(mode="json", exclude_defaults=True)
        return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    @property
    def screens(self) -> Iterator[tuple[StudyPart | None, StudyBlock | None, StudyScreen]]:
        """Every screen with its part and block; None and None for the screening."""
        for screen in self.screening:
            yield None, None, screen
        for part in self.parts:
            for block in part.blocks:
                for screen in block.screens:
                    yield part, block, screen

    # -- randomisation -------------------------------------------------------------------------------------

    def arm(self, number: int, stratum: tuple[int, ...] = ()) -> tuple[str, int]:
        """Return the arm of the n-th participant of a stratum who is admitted (0, 1, ...), and how many of that arm
        came before. stratum: what was chosen for each item of `strata`.
        """
        places = [name for name, arm in self.arms.items() for _ in range(arm.weight)]
        places *= max(1, self.block_size // len(places))
        drawn: list[str] = []
        for block in range(number // len(places) + 1):
            order = np.random.default_rng([self.seed, block, 1, *stratum]).permutation(len(places))
            drawn += [places[i] for i in order]
        return drawn[number], drawn[:number].count(drawn[number])

    def orders(
        self, number: int, place: int | None = None, stratum: tuple[int, ...] = ()
    ) -> dict[str, list[str]]:
        """Return the order of the blocks of each part and of the screens of each block for the n-th participant.

        place: which of their stratum they are, where there are strata.
        """
        _, before = self.arm(number if place is None else place, stratum)
        found = {}
        for place, part in enumerate(self.parts):
            found[part.id] = self._ordered(
                part.order, [block.id for block in part.blocks], before, number, place
            )
            for i, block in enumerate(part.blocks):
                names = [screen.id for screen in block.screens]
                found[f"{part.id}/{block.id}"] = self._ordered(
                    block.order, names, before, number, 1000 * (place + 1) + i
                )
        return found

    def _ordered(self, order: Order, names: list[str], before: int, number: int, place: int) -> list[str]:
        if order == "random":
            rng = np.random.default_rng([self.seed, number, place, 2])
            return [names[i] for i in rng.permutation(len(names))]
        return [names[i] for i in latin_row(len(names), before)] if order == "latin" else names

    # -- what must fit together ----------------------------------------------------------------------------

    @model_validator(mode="after")
    def _fits(self) -> StudyProtocol:
        _different([screen.id for _, _, screen in self.screens], "screen")
        _different([part.id for part in self.parts], "part")
        places = sum(arm.weight for arm in self.arms.values())
        if self.block_size % places:
            raise ValueError(
                f"block_size {self.block_size} is no multiple of {places}, the places of the arms"
            )
        for part in self.parts:
            _different([block.id for block in part.blocks], "block")
        for where, _, screen in self.screens:
            self._fits_screen(where, screen)
        asked_first = {item.id: item for screen in self.screening for item in screen.all_items}
        for what, id in (("quota.by", self.quota.by), ("plans.income", self.plans and self.plans.income)):
            if id is not None and not isinstance(asked_first.get(id), ChoiceItem):
                raise ValueError(f"{what}: '{id}' is no choice of the screening")
        _different(self.strata, "stratum")
        for id in self.strata:
            item = asked_first.get(id)
            if not isinstance(item, ChoiceItem) or item.several or not item.required:
                raise ValueError(f"strata: '{id}' is no choice of one answer that the screening requires")
        if any(screen.each for _, _, screen in self.screens) != (self.plans is not None):
            raise ValueError("plans: say where plans come from if a screen has each: plan, and only then")
        profiles = sum(screen.ready == PROFILE for _, _, screen in self.screens)
        if profiles != (self.plans is not None):
            raise ValueError(f"plans: exactly one screen has ready: {PROFILE} where plans are shown")
        if any(screen.task for _, _, screen in self.screens) != bool(self.vignette):
            raise ValueError("vignette: give one if a screen has a task, and only then")
        if self.model and not self.vignette:
            raise ValueError("model: it is for tasks, and no screen has one")
        for text in _texts(self):
            if missing := set(self.languages) - set(text):
                raise ValueError(f"a text has no '{min(missing)}': {str(next(iter(text.values())))[:40]!r}")
        return self

    def _fits_screen(self, part: StudyPart | None, screen: StudyScreen) -> None:
        ids = [item.id for item in screen.all_items]
        _different(ids, "item", f"screen '{screen.id}': ")
        if unknown := [arm for arm in screen.arms if arm not in self.arms]:
            raise ValueError(f"screen '{screen.id}': there is no arm '{unknown[0]}'")
        if part is None and (screen.arms or screen.each or screen.task or screen.ready == PROFILE):
            raise ValueError(
                f"screen '{screen.id}': the screening is the same for all, without plans and tasks"
            )
        if screen.questions and screen.task != "dialogue":
            raise ValueError(f"screen '{screen.id}': questions is for task: dialogue")
        if screen.task and screen.all_items:
            raise ValueError(f"screen '{screen.id}': a task stands alone; ask on the next screen")
        if screen.each and "impossible" in ids:
            raise ValueError(f"screen '{screen.id}': 'impossible' is asked of every plan; rename the item")
        for item in screen.all_items:
            if (expect := getattr(item, "expect", None)) is None:
                continue
            try:
                fits = item.read([str(expect)]) == expect
            except Exception:
                fits = False
            if not fits:
                raise ValueError(f"item '{item.id}': expect {expect} is none of its answers")


def latin_row(n: int, row: int) -> list[int]:
    """One order of n things; over n orders (2n for odd n) places and neighbours are equally frequent.

    Source: E. J. Williams (1949), Experimental designs balanced for the estimation of residual effects of treatments.

    >>> [latin_row(4, i) for i in range(4)]
    [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]]
    """
    first = [(i + 1) // 2 if i % 2 else (n - i // 2) % n for i in range(n)]
    turn = row % (n if n % 2 == 0 else 2 * n)
    found = [(one + turn) % n for one in first]
    return found[::-1] if turn >= n else found


def _profile() -> list[ChoiceItem]:
    return [
        ChoiceItem(
            kind="choice",
            id=f"item-{i}",
            text=item.title,
            options=list(item.options),
        )
        for i, item in enumerate(ITEMS, 1)
    ]


def _different(names: list[str], what: str, where: str = "") -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{where}two are called {what} '{name}'")


def _texts(model: Any) -> Iterator[dict[str, str]]:
    """Every text by language, in any depth; ready-made questionnaires included."""
    if isinstance(model, dict):
        if (
            model
            and all(isinstance(key, str) and len(key) == 2 for key in model)
            and all(isinstance(value, str) for value in model.values())
        ):
            yield model
        else:
            for value in model.values():
                yield from _texts(value)
    elif isinstance(model, list):
        for value in model:
            yield from _texts(value)
    elif isinstance(model, StrictModel):
        for name in type(model).model_fields:
            if name not in ("vignette", "model", "strata"):
                yield from _texts(getattr(model, name))
        if isinstance(model, StudyScreen) and model.ready:
            yield from _texts(model.all_items)
