"""Who may do what: one table. What is not in it is forbidden."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What an account is for. Applicants have no account: their link is their way in."""

    OPERATOR = "operator"
    APPROVER = "approver"
    AUDITOR = "auditor"
    RESEARCHER = "researcher"
    ADMIN = "admin"


class Act(StrEnum):
    """What a page or an endpoint does, as far as permission goes."""

    SEE_MODELS = "see models"
    ADD_MODEL = "add a model"
    PUBLISH_MODEL = "publish a model"
    MAKE_CASES = "make links for applicants"
    SEE_CASES = "see the list of cases"
    RUN_JOBS = "start and stop jobs"
    SEE_JOBS = "see jobs"
    FETCH_RESULTS = "fetch the results of a job"
    SEE_AUDITS = "see audits"
    SEE_EVENTS = "see the log"
    RUN_STUDIES = "run studies"
    MANAGE_USERS = "manage accounts"
    HAVE_TOKENS = "make tokens for programs"


ALLOWED: dict[Act, frozenset[Role]] = {
    Act.SEE_MODELS: frozenset({Role.OPERATOR, Role.APPROVER, Role.AUDITOR, Role.ADMIN}),
    Act.ADD_MODEL: frozenset({Role.OPERATOR, Role.ADMIN}),
    Act.PUBLISH_MODEL: frozenset({Role.APPROVER, Role.ADMIN}),
    Act.MAKE_CASES: frozenset({Role.OPERATOR}),
    Act.SEE_CASES: frozenset({Role.OPERATOR}),
    Act.RUN_JOBS: frozenset({Role.OPERATOR, Role.AUDITOR}),
    Act.SEE_JOBS: frozenset({Role.OPERATOR, Role.AUDITOR}),
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
