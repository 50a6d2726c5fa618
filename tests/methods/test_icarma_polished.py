"""icarma-polished: cheaper than grids, never implausible where that is asked for, and the whole price of plausibility."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.testing import MethodContract


class TestContract(MethodContract):
    method = "icarma-polished"
    finds = 0.6
