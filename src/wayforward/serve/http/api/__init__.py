"""The JSON interface under /api/v1: the same services as the pages. Cases by their code, staff by tokens.

Errors are RFC 9457 problems (application/problem+json), documented for every endpoint. Texts are in the language that
Accept-Language asks for.
"""

from __future__ import annotations

from fastapi import APIRouter


def routers() -> tuple[APIRouter, ...]:
    """Return the routers of the interface."""
    from wayforward.serve.http.api import audits, case, everybody, lender, oversight, studies

    return everybody.router, case.router, lender.router, audits.router, oversight.router, studies.router
