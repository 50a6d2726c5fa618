"""ibr: what a fresh probe reads off the latent space, and what every method must keep."""

from __future__ import annotations

from wayforward.testing import MethodContract


class TestContract(MethodContract):
    method = "ibr"
    parameters = {"groups": "region", "epochs": 8}
    finds = 0.5
