"""ebr: the product of two normals, what people may change, groups that have no density."""

from __future__ import annotations

from wayforward.testing import MethodContract


class TestContract(MethodContract):
    method = "ebr"
    parameters = {"groups": "region", "proposals": 128, "rounds": 10, "enough": 30}
    finds = 0.3
