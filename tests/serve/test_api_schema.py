"""Every endpoint against its own description: no fault, nothing that was not checked, no status that is not written."""

from __future__ import annotations

import json
import os
import warnings

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

schemathesis = pytest.importorskip("schemathesis", reason="the test extra brings it")
from hypothesis import HealthCheck, given, seed, settings, strategies  # noqa: E402
from schemathesis.specs.openapi.checks import ignored_auth  # noqa: E402

from wayforward.serve import accounts  # noqa: E402
from wayforward.serve.consent import CURRENT  # noqa: E402
from wayforward.serve.http import api, guard  # noqa: E402
from wayforward.serve.http.app import create_app  # noqa: E402
from wayforward.serve.limits import RateLimits  # noqa: E402
from wayforward.serve.permissions import ALLOWED, Act, Role  # noqa: E402
from wayforward.serve.storage.tables import User  # noqa: E402

from .test_guard import doors  # noqa: E402

ROUTES = [
    (method, route)
    for router in api.routers()
    for route in router.routes
    if isinstance(route, APIRoute)
    for method in sorted(route.methods)
]
FILLED_IN = [  # a body, or something in the address: else there is nothing to try but the code or the token
    (method, route)
    for method, route in ROUTES
    if route.body_field or route.dependant.path_params or route.dependant.query_params
]


@pytest.fixture
def database(tmp_path):
    """These tests need no second kind of database."""
    return f"sqlite:///{tmp_path / 'wayforward.db'}"


@pytest.fixture
def bearer(services, model, request):
    """What opens an endpoint: nothing, the code of a fresh case, or a token with that one act."""
    guards = {(route.path, *route.methods): found for route, found in doors()}

    def find(method, route):
        found = guards[route.path, method]
        if guard.by_code in found:
            person = {"age": 30, "income": 1700, "debt": 1500, "home": "rent"}
            id, code = services.cases.make(model, [person], by="operator")[0]
            services.cases.consent(id, CURRENT)
            return code
        acts = [one.act for one in found if hasattr(one, "act")]
        return token(services, acts[0]) if acts else ""

    return find


def token(services, *acts):
    """A token of an account that may do all of these."""
    role = next(role for role in Role if all(role in ALLOWED[act] for act in acts))
    with services.database.session() as session:
        user = session.query(User).filter_by(name=role).one()
        user.disabled = False
        return accounts.make_token(session, user, "test", list(acts))


@pytest.fixture(scope="module")
def description():
    """What an application says of itself, which hangs on no deployment: asked for once for all endpoints."""
    said = []

    def find(app):
        if not said:
            said.append(TestClient(app).get("/api/v1/openapi.json").text)
        return json.loads(said[0])

    return find


def judged(method, route, services, model, bearer, description, examples, *, start, left_out=()):
    """Send what the description allows and what it forbids, and let every check look at the answers."""
    app = create_app(services=services)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        described = schemathesis.openapi.from_dict(description(app))
        described.app, described.location = app, "/api/v1/openapi.json"
        described.config.request_timeout = 600  # ten seconds are few on a busy machine
        # A name that this model does not have fits the description, and is refused in words.
        described.config.checks.positive_data_acceptance.expected_statuses.append("422")
        # What is wrong and too large is refused before it is read.
        described.config.checks.negative_data_rejection.expected_statuses.append("413")
        operation = described[route.path][method]
        opens = bearer(method, route)
        good = operation.as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE)
        can_be_wrong = opens or route.body_field or route.dependant.path_params

        @seed(start)
        @settings(
            max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck)
        )
        @given(
            good=good,
            bad=operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)
            if can_be_wrong
            else good,
            known=strategies.booleans(),
        )
        def every(good, bad, known):
            if known and isinstance(good.body, dict) and "model" in good.body:  # one that is there
                good.body["model"] = model
            for case in (good, bad):
                send(case)

        def send(case):
            nonlocal opens
            if method == "DELETE" or route.path.endswith("/consent"):  # it is gone after the first time
                opens = bearer(method, route)
            case.call_and_validate(
                headers={"Authorization": f"Bearer {opens}"} if opens else {}, excluded_checks=list(left_out)
            )

        every()


@pytest.mark.parametrize("method, route", ROUTES, ids=lambda one: one if isinstance(one, str) else one.path)
def test_an_endpoint_does_what_it_says(method, route, services, model, bearer, description, monkeypatch):
    monkeypatch.setattr(RateLimits, "spend", lambda *_: None)
    judged(method, route, services, model, bearer, description, 8, start=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method, route", FILLED_IN, ids=lambda one: one if isinstance(one, str) else one.path
)
def test_an_endpoint_does_what_it_says_however_long_one_tries(
    method, route, services, model, bearer, description, monkeypatch
):
    """Other examples than above. Who may come in hangs on the address alone, and was asked there."""
    monkeypatch.setattr(RateLimits, "spend", lambda *_: None)
    many = 20 if route.body_field else 10  # an address holds a name or two
    if os.environ.get("HYPOTHESIS_PROFILE") == "explore":
        many *= 8
    judged(method, route, services, model, bearer, description, many, start=1, left_out=[ignored_auth])


def test_every_endpoint_says_what_can_go_wrong(services):
    described = create_app(services=services).openapi()["paths"]
    for path, methods in described.items():
        for method, one in methods.items():
            wrong = {status for status in one["responses"] if status[0] == "4"}
            assert {"400", "413", "422", "429"} <= wrong, (method, path)
            assert "security" not in one or {"401", "403"} <= wrong, (method, path)
            assert all(
                set(one["responses"][status]["content"]) == {"application/problem+json"} for status in wrong
            )


def test_a_token_makes_none_that_may_more(services, browser):
    """Else a token for one act would be worth the whole account."""
    one = browser()
    one.headers["Authorization"] = f"Bearer {token(services, Act.HAVE_TOKENS, Act.SEE_MODELS)}"
    wanted = {"name": "more", "acts": [Act.SEE_MODELS, Act.MAKE_CASES]}
    answer = one.post("/api/v1/tokens", json=wanted)
    assert answer.status_code == 422 and "make links" in answer.json()["detail"]
    made = one.post("/api/v1/tokens", json=wanted | {"acts": [Act.SEE_MODELS]})
    assert made.status_code == 201
    one.headers["Authorization"] = f"Bearer {made.json()['token']}"
    assert one.get("/api/v1/models").status_code == 200 and one.get("/api/v1/tokens").status_code == 403
