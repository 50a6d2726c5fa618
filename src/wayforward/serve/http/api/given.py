"""What programs send, as strict models: nothing unknown, nothing converted, no number that is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from itertools import chain
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

from wayforward.language import LANGUAGES
from wayforward.serve.permissions import Act, Role

_DEEPEST = 20


def _one_of(names: type[StrEnum]) -> Callable[[str], str]:
    """A check that a text is one of these, for models that convert nothing."""

    def check(text: str) -> str:
        if text not in set(names):
            raise ValueError(f"use one of {', '.join(names)}")
        return text

    return check


Value = float | int | str | bool | None
Action = Annotated[list[float | None], Field(max_length=10_000)]
ModelId = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Revision = Annotated[int | None, Field(ge=0, le=2**31 - 1)]
RoleName = Annotated[str, AfterValidator(_one_of(Role)), WithJsonSchema({"enum": [*Role]})]
ActName = Annotated[str, AfterValidator(_one_of(Act)), WithJsonSchema({"enum": [*Act]})]


def _sound(value: Any, depth: int = 0) -> None:
    """Raises: ValueError for what JSON allows and nobody means."""
    if depth > _DEEPEST:
        raise ValueError("this is nested too deeply")
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError("a text holds a character that nobody types")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("a text holds half a character") from None
    elif isinstance(value, int | float) and not -1e300 < value < 1e300:
        raise ValueError("a number is too large, or none")
    elif isinstance(value, Mapping | list):
        for part in chain(value, value.values()) if isinstance(value, Mapping) else value:
            _sound(part, depth + 1)


class ApiIn(BaseModel):
    """What a program sends: nothing unknown, nothing converted, nothing nested too deeply."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, given: Any) -> Any:
        _sound(given)
        return given


class ConsentIn(ApiIn):
    """version: of the text that the person has read."""

    version: int = Field(ge=1, le=10_000)


class LimitsIn(ApiIn):
    """limits: FEATURE: false, "up to 3,500", {"low": ..., "high": ...}, levels, how hard. changes: at most so many.
    within: months, or a deadline as people type it, where the schema says how long changes take."""

    limits: dict[str, Any] = Field(default_factory=dict, max_length=1000)
    changes: int | None = Field(None, ge=1, le=1000)
    within: Annotated[float, Field(gt=0, le=1200)] | Annotated[str, Field(max_length=100)] | None = None
    revision: Revision = None


class ReplyIn(ApiIn):
    """reply: as `Dialogue.answer` takes it. question: the id of the question."""

    question: str = Field(max_length=100)
    reply: Any
    revision: Revision = None


class ValuesIn(ApiIn):
    """values: FEATURE: another value."""

    values: dict[str, Value] = Field(max_length=1000)


class PlanIn(ApiIn):
    """action (d,): what a plan sets; null where it leaves a feature alone."""

    action: Action
    revision: Revision = None


class PersonIn(ApiIn):
    """person: a value for each feature."""

    person: dict[str, Value] = Field(min_length=1, max_length=1000)


class PeopleIn(ApiIn):
    """people: a row each, by feature. model: the id of a published version. language: that their pages begin in; left
    out, what their browsers ask for."""

    model: ModelId
    people: list[dict[str, Value]] = Field(min_length=1, max_length=10_000)
    language: str = Field("", pattern=f"^({'|'.join(LANGUAGES)})?$")


class ReceiptIn(ApiIn):
    """A receipt as it was handed out."""

    format: str = Field(max_length=100)
    version: int = Field(ge=0, le=10_000, strict=True)
    content: dict[str, Any] = Field(max_length=100)
    signature: str = Field(max_length=200)
    public_key: str = Field(max_length=200)


class UserIn(ApiIn):
    """An account to make. role: operator, approver, auditor, researcher or admin."""

    name: str = Field(min_length=2, max_length=80)
    role: RoleName
    password: str = Field(min_length=12, max_length=200)


class TokenIn(ApiIn):
    """A token to make. acts: what it may do, at most what the one who asks may do. days: how long it lasts."""

    name: str = Field(min_length=1, max_length=80)
    acts: list[ActName] = Field(min_length=1, max_length=50)
    days: int = Field(90, ge=1, le=366)
