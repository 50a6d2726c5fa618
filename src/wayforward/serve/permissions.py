"""Who may do what: one table. What is not in it is forbidden."""

from __future__ import annotations

from enum import StrEnum

from wayforward.language import N_, gettext


class Role(StrEnum):
    """What an account is for. Applicants have no account: their link is their way in."""

    OPERATOR = N_("operator")
    APPROVER = N_("approver")
    AUDITOR = N_("auditor")
    RESEARCHER = N_("researcher")
    ADMIN = N_("admin")


class Act(StrEnum):
    """What a page or an endpoint does, as far as permission goes."""

    SEE_MODELS = N_("see models")
    ADD_MODEL = N_("add a model")
    PUBLISH_MODEL = N_("publish a model")
    MAKE_CASES = N_("make links for applicants")
    SEE_CASES = N_("see the list of cases")
    RUN_JOBS = N_("start and stop jobs")
    SEE_JOBS = N_("see jobs")
    FETCH_RESULTS = N_("fetch the results of a job")
    SEE_AUDITS = N_("see audits")
    SEE_EVENTS = N_("see the log")
    RUN_STUDIES = N_("run studies")
    MANAGE_USERS = N_("manage accounts")
    HAVE_TOKENS = N_("make tokens for programs")


ALLOWED: dict[Act, frozenset[Role]] = {
    Act.SEE_MODELS: frozenset({Role.OPERATOR, Role.APPROVER, Role.AUDITOR, Role.ADMIN}),
    Act.ADD_MODEL: frozenset({Role.OPERATOR, Role.ADMIN}),
    Act.PUBLISH_MODEL: frozenset({Role.APPROVER, Role.ADMIN}),
    Act.MAKE_CASES: frozenset({Role.OPERATOR}),
    Act.SEE_CASES: frozenset({Role.OPERATOR}),
    Act.RUN_JOBS: frozenset({Role.OPERATOR, Role.AUDITOR}),
    Act.SEE_JOBS: frozenset({Role.OPERATOR, Role.APPROVER, Role.AUDITOR}),
    Act.FETCH_RESULTS: frozenset({Role.OPERATOR}),
    Act.SEE_AUDITS: frozenset({Role.OPERATOR, Role.APPROVER, Role.AUDITOR}),
    Act.SEE_EVENTS: frozenset({Role.AUDITOR, Role.ADMIN}),
    Act.RUN_STUDIES: frozenset({Role.RESEARCHER}),
    Act.MANAGE_USERS: frozenset({Role.ADMIN}),
    # An approver is the second pair of eyes, which no program has.
    Act.HAVE_TOKENS: frozenset({Role.OPERATOR, Role.AUDITOR, Role.RESEARCHER, Role.ADMIN}),
}


def may(role: Role | None, act: Act) -> bool:
    """May somebody of this role (None: nobody known) do this?"""
    return role is not None and role in ALLOWED.get(act, frozenset())


# What a role is called in "Your account is that of ...".
_SOMEBODY = {
    Role.OPERATOR: N_("an operator"),
    Role.APPROVER: N_("an approver"),
    Role.AUDITOR: N_("an auditor"),
    Role.RESEARCHER: N_("a researcher"),
    Role.ADMIN: N_("an admin"),
}
# The places of the staff: address, name, and what can be done there; whoever may do the first of it sees the place.
_ROOMS: tuple[tuple[str, str, tuple[Act, ...]], ...] = (
    ("/staff/models", N_("Models"), (Act.SEE_MODELS, Act.ADD_MODEL, Act.PUBLISH_MODEL)),
    ("/staff/cases", N_("Cases"), (Act.SEE_CASES, Act.MAKE_CASES)),
    ("/staff/jobs", N_("Jobs and audits"), (Act.SEE_JOBS, Act.RUN_JOBS, Act.FETCH_RESULTS)),
    ("/staff/audits", N_("Compare audits"), (Act.SEE_AUDITS,)),
    ("/staff/studies", N_("Studies"), (Act.RUN_STUDIES,)),
    ("/staff/log", N_("Log"), (Act.SEE_EVENTS,)),
    ("/staff/users", N_("Accounts"), (Act.MANAGE_USERS,)),
    ("/staff/tokens", N_("Tokens"), (Act.HAVE_TOKENS,)),
)


def act_words(act: str) -> str:
    """An act, for people: "see models"."""
    return gettext(str(act))


def role_words(role: str) -> str:
    """A role, for people: "operator"."""
    return gettext(str(role))


def somebody_words(role: Role) -> str:
    """Somebody of a role: "an operator"."""
    return gettext(_SOMEBODY[role])


def rooms(role: Role) -> list[tuple[str, str, list[str]]]:
    """Return the places of a role: address, name, and what it may do there."""
    return [
        (place, gettext(name), [act_words(act) for act in acts if may(role, act)])
        for place, name, acts in _ROOMS
        if may(role, acts[0])
    ]
