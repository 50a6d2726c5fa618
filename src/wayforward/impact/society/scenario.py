"""What happens in a society, as data: a file that a person can write, checked before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np

from wayforward.errors import DataError, FileFormatError, did_you_mean, is_integer, is_real, names_in
from wayforward.plain_files import as_path, dump_yaml, name_of, parse_yaml, read_text
from wayforward.public import public

_MOST = 100_000_000  # of anything that is counted: more is a slip of the finger
_HUGE = 1e300
_OUTCOMES = ("known", "drawn", "label", "fitted", "none")


@public
@dataclass(frozen=True)
class Advice:
    """The advice that refused people get. method and its parameters: see `wf.methods_table()`. Balanced methods (ebr,
    ibr) are given the scenario's group, unless parameters name another.

    every: False, once in a life; True, whenever somebody is refused. world: what the adviser believes to follow from an
    act, 'same' as what does follow, or 'independent'. balanced: options must be this balanced between the groups
    (`problem.Balanced`, its beta); None asks for nothing. robust: what options must withstand, one text or several, as
    `problem.robust.read` takes them: 'noise:0.02', 'models:5' (trained again on resamples of what the lender's model
    was trained on). budget: model rows a person.
    """

    method: str = "local-search"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    every: bool = False
    world: str = "same"
    balanced: float | None = None
    robust: str | tuple[str, ...] | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        _text(self, "method", "world")
        _flag(self, "every")
        if not isinstance(self.parameters, Mapping):
            raise DataError(f"parameters of the advice are names and values; got {self.parameters!r}.")
        for name in self.parameters:
            if not isinstance(name, str):
                raise DataError(f"parameters of the advice have names; got {name!r}.")
        _one_of(self, "world", ("same", "independent"))
        _number(self, "balanced", 0.0, 1.0, none=True)
        if self.balanced == 1.0:
            raise DataError("balanced is below 1: nothing is above all of the mass. Try 0.3.")
        if self.robust is not None:
            from wayforward.problem.robust import check

            if not isinstance(self.robust, (str, list, tuple)):
                raise DataError(
                    f"robust is a text such as 'noise:0.02', or a list of them; got {self.robust!r}."
                )
            check(self.robust)
            if not isinstance(self.robust, str):
                object.__setattr__(self, "robust", tuple(self.robust))
        _whole(self, "budget", 1, none=True)


@public
@dataclass(frozen=True)
class Compliance:
    """Who follows, and how well.

    kind: 'full', a share carries the advice out; 'partial', the share goes `part` of the way (numbers and ordered
    levels; another category is taken with that chance); 'willing', the share follows advice of one change, and fewer
    the more there is to do: share * (floor + (1 - floor) * exp(-(s - 1) / fall)), where s counts the changes, or is
    1 + cost / unit with by='cost'. The numbers of `fall` and `floor` are those of action against sparsity in a study
    with 362 people, read as the height above 'strongly no' (that reading is ours).
    error: standard deviation, in shares of a number's range, of what people reach around what they meant to.
    delay: least and most rounds until they return. round_months: months that a round lasts: a plan that takes longer
    (`wayforward.schema.acts`, or the schema's paces) brings its person back when it is done; None: not counted.
    reapply: share of the other refused people who apply again in a round. leave: share of people who go away for good
    when they are refused, and neither act nor come back.

    Source of the curve: T. Tominaga, N. Yamashita, T. Kurashima (2024), Reassessing Evaluation Functions in Algorithmic
    Recourse, CHI Extended Abstracts.
    """

    kind: Literal["full", "partial", "willing"] = "full"
    share: float = 1.0
    part: float = 0.5
    by: Literal["changes", "cost"] = "changes"
    unit: float = 0.1
    fall: float = 1.2
    floor: float = 0.52
    error: float = 0.0
    delay: tuple[int, int] = (1, 1)
    round_months: float | None = None
    reapply: float = 1.0
    leave: float = 0.0

    def __post_init__(self) -> None:
        _one_of(self, "kind", ("full", "partial", "willing"))
        _one_of(self, "by", ("changes", "cost"))
        for name in ("share", "part", "floor", "reapply", "leave"):
            _number(self, name, 0.0, 1.0)
        for name in ("unit", "fall"):
            _number(self, name, 0.0, np.inf)
            if getattr(self, name) <= 0:
                raise DataError(f"{name} must be above 0; got {getattr(self, name)!r}.")
        _number(self, "error", 0.0, 10.0)
        _number(self, "round_months", 0.0, np.inf, none=True)
        if self.round_months == 0:
            raise DataError("round_months must be above 0. Write round_months: 12 for a round of a year.")
        pair: Any = (self.delay, self.delay) if is_integer(self.delay) else self.delay
        if (
            not isinstance(pair, (list, tuple))
            or len(pair) != 2
            or not all(is_integer(v) for v in pair)
            or not 1 <= pair[0] <= pair[1] <= _MOST
        ):
            raise DataError(
                f"delay is the least and most rounds until people return, at least 1: [1, 3]; got {self.delay!r}."
            )
        object.__setattr__(self, "delay", (int(pair[0]), int(pair[1])))

    def willingness(self, size: np.ndarray) -> np.ndarray:
        """Chance to follow (m,), for advice with so many changes, or of that cost where by='cost'."""
        if self.kind != "willing":
            return np.full(len(size), self.share)
        s = np.maximum(size, 1.0) - 1.0 if self.by == "changes" else size / self.unit
        return np.asarray(self.share * (self.floor + (1 - self.floor) * np.exp(-s / self.fall)))


@public
@dataclass(frozen=True)
class Lender:
    """How the lender decides. capacity: people who can be granted in a round, best scores first: a whole number, a
    share of those who apply (below 1), or None for no limit. retrain: every so many rounds, 0 for never;
    learns_from: 'accepted', true outcomes of those who were granted, or 'everybody' who ever applied. keep: the first
    training people stay in. threshold: probability that is needed for a yes. interest, loss: what the lender earns and
    loses on somebody granted who does well or badly, as shares of the amount; amount: the feature that holds it, ''
    for 1 each.
    """

    capacity: float | None = None
    retrain: int = 0
    learns_from: Literal["accepted", "everybody"] = "accepted"
    keep: bool = True
    threshold: float | None = None
    interest: float = 0.1
    loss: float = 0.6
    amount: str = ""

    def __post_init__(self) -> None:
        for name in ("interest", "loss"):
            _number(self, name, 0.0, np.inf)
        if not isinstance(self.amount, str):
            raise DataError(f"amount is the name of a feature; got {self.amount!r}.")
        _number(self, "capacity", 0.0, np.inf, none=True)
        if self.capacity is not None and self.capacity >= 1 and self.capacity != int(self.capacity):
            raise DataError(
                f"capacity={self.capacity} is neither people (a whole number) nor a share below 1."
            )
        _whole(self, "retrain", 0)
        _one_of(self, "learns_from", ("accepted", "everybody"))
        _flag(self, "keep")
        _number(self, "threshold", 0.0, 1.0, none=True)


@public
@dataclass(frozen=True)
class Scenario:
    """A society and what happens in it, round by round; the same scenario gives the same run.

    rounds, people (None: all that the data holds back from training), arrivals: new people a round. data, model: as
    `wayforward recommend` takes them; both are ignored where `simulate` gets a setting. group: attribute along which
    the report is split, cut: edges that make groups of a quantity, group_names: what to call the groups,
    in their order. world: what truly follows from an act, 'independent'
    or 'known' (data with known equations). outcome, what truly becomes of somebody who is granted: 'known' (the rule of
    the data), 'drawn' (with the rule's probability and a luck that stays the person's own), 'label' (fixed, whatever
    they do), 'fitted' (a model of all labels stands for the truth), 'none'. sample: people in each of five samples of
    the segregation measures; measure: every so many rounds, 0 for never; places: features that make places, none: all
    but the group.

    Example: ``Scenario(rounds=5, people=1000, seed=1)``, ``Scenario.from_yaml("my.yaml")``.
    Raises: DataError that names the entry, the value and what is expected.
    """

    name: str = "society"
    rounds: int = 10
    people: int | None = None
    arrivals: int = 0
    seed: int = 0
    data: str = "loan"
    model: str = "lr"
    group: str = "gender"
    cut: tuple[float, ...] = ()
    group_names: tuple[str, ...] = ()
    world: str = "independent"
    outcome: str = "known"
    advice: Advice = field(default_factory=Advice)
    compliance: Compliance = field(default_factory=Compliance)
    lender: Lender = field(default_factory=Lender)
    measure: int = 1
    sample: int = 1000
    places: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _text(self, "name", "data", "model", "group")
        _whole(self, "rounds", 0)
        _whole(self, "people", 2, none=True)
        for name in ("arrivals", "measure", "seed"):
            _whole(self, name, 0)
        _whole(self, "sample", 100)
        _one_of(self, "world", ("independent", "known"))
        _one_of(self, "outcome", _OUTCOMES)
        for name, kind in (("advice", Advice), ("compliance", Compliance), ("lender", Lender)):
            value = getattr(self, name)
            if isinstance(value, Mapping):
                object.__setattr__(self, name, _made(kind, value, name))
            elif not isinstance(value, kind):
                raise DataError(f"{name} is {value!r}. Give its entries, such as those of {kind.__name__}().")
        lists = (("cut", "[30, 60]"), ("places", "[income, savings]"), ("group_names", "[women, men]"))
        for name, example in lists:
            if not isinstance(getattr(self, name), (list, tuple)):
                raise DataError(f"{name} is a list; got {getattr(self, name)!r}. Write {name}: {example}.")
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("places", "group_names"):
            object.__setattr__(self, name, names_in(getattr(self, name), name))
        twice = next((one for one in self.group_names if self.group_names.count(one) > 1), None)
        if twice is not None:
            raise DataError(f"group_names calls two groups '{twice}'. Name each group once.")
        for edge in self.cut:
            if not is_real(edge) or not -_HUGE < edge < _HUGE:
                raise DataError(f"cut is a list of numbers, such as [30, 60]; got {edge!r} in it.")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as a file holds them; what came later is left out where it is not used, as before it was."""
        out = asdict(self)
        out["compliance"]["delay"] = list(self.compliance.delay)
        if self.compliance.round_months is None:
            del out["compliance"]["round_months"]
        out["advice"]["parameters"] = dict(self.advice.parameters)
        if isinstance(self.advice.robust, tuple):
            out["advice"]["robust"] = list(self.advice.robust)
        for name in ("interest", "loss", "amount"):
            if out["lender"][name] == getattr(Lender(), name):
                del out["lender"][name]
        del out["group_names"]
        out |= {"cut": list(self.cut), "places": list(self.places)}
        return out | ({"group_names": list(self.group_names)} if self.group_names else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scenario:
        """Undo `to_dict`; what is left out has its default. Raises: DataError for an unknown entry."""
        made: Scenario = _made(cls, data, "the scenario")
        return made

    def to_yaml(self, path: str | Path | None = None) -> str:
        """Return the scenario as YAML; also written to `path` if given."""
        return dump_yaml(self.to_dict(), path)

    @classmethod
    def from_yaml(cls, source: str | Path) -> Scenario:
        """Read a file, one of `examples()` by its name, or YAML text (with a line break).

        Raises: FileFormatError for what is no such file, DataError for what it says.
        """
        text = str(source)
        if isinstance(source, Path) or "\n" not in text:
            path = as_path(source)
            if not path.is_file() and text in examples():
                path = examples()[text]
            if not path.is_file():
                raise FileFormatError(
                    f"There is no scenario '{name_of(path)}'. Give a YAML file, or one of {', '.join(examples())}."
                )
            text = read_text(path, "scenario")
        data = parse_yaml(text, "scenario")
        if not isinstance(data, Mapping):
            raise FileFormatError("The scenario holds no entries. Write 'rounds: 10' and so on.")
        return cls.from_dict(data)


def examples() -> dict[str, Path]:
    """Scenarios that come with the library: name -> file."""
    folder = Path(__file__).parent / "examples"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _made(kind: Any, data: Mapping[str, Any], where: str) -> Any:
    if not isinstance(data, Mapping):
        raise DataError(f"{where} holds names and values; got {data!r}.")
    known = [f.name for f in fields(kind)]
    for name in data:
        if name not in known:
            raise DataError(
                f"{where} has no entry '{name}'.{did_you_mean(str(name), known)} Known: {', '.join(known)}."
            )
    return kind(**data)


def _text(noun: Any, *names: str) -> None:
    for name in names:
        if not isinstance(getattr(noun, name), str) or not getattr(noun, name):
            raise DataError(f"{name} is a name; got {getattr(noun, name)!r}.")


def _flag(noun: Any, name: str) -> None:
    if not isinstance(getattr(noun, name), bool):
        raise DataError(f"{name} is true or false; got {getattr(noun, name)!r}.")


def _one_of(noun: Any, name: str, known: tuple[str, ...]) -> None:
    if getattr(noun, name) not in known:
        raise DataError(f"{name} is {getattr(noun, name)!r}. Choose one of {', '.join(known)}.")


def _number(noun: Any, name: str, low: float, high: float, *, none: bool = False) -> None:
    value = getattr(noun, name)
    if value is None and none:
        return
    if not is_real(value) or not low <= value <= min(high, _HUGE):
        ends = f"from {low:g} to {high:g}" if high < np.inf else f"of at least {low:g}"
        raise DataError(f"{name} is a number {ends}; got {value!r}.")


def _whole(noun: Any, name: str, low: int, *, none: bool = False) -> None:
    value = getattr(noun, name)
    if value is None and none:
        return
    if not is_integer(value) or value < low:
        raise DataError(f"{name} is a whole number, at least {low}; got {value!r}.")
    if value > _MOST:
        raise DataError(f"{name} is a whole number, at most {_MOST:,}; got {value!r}.")
