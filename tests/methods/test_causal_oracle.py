"""causal-oracle: exact on its grid."""

from __future__ import annotations

from wayforward.testing import MethodContract


class TestContract(MethodContract):
    method = "causal-oracle"
    parameters = {"bins": 6}
    finds = 0.9
