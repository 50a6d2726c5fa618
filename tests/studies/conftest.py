"""A small Loan study that is made in a second: few people, a quick classifier, the true equations as every world."""

from __future__ import annotations

import numpy as np
import pytest

from wayforward.data import load
from wayforward.data.loan import decision, sample
from wayforward_studies.checkpoints import Checkpoints
from wayforward_studies.icarma.setting import IcarmaSetting, train_classifier
from wayforward_studies.icarma.solvers import IcarmaStudy


@pytest.fixture(scope="session")
def small() -> IcarmaSetting:
    people = load("loan", variant="icarma")
    x = sample(1800, 7)[0]
    model = train_classifier(x[:1000], decision(x[:1000]), epochs=40)
    train, validation, test = np.split(x, [1000, 1400])
    return IcarmaSetting("loan", people.schema, model, train, validation, test, people.world)


@pytest.fixture
def study(small: IcarmaSetting) -> IcarmaStudy:
    return IcarmaStudy(small, Checkpoints(None), n=24, seeds=1, epochs=2)
