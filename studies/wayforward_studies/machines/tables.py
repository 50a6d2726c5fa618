"""A small table of each paper, measured in a process of its own: `python -m wayforward_studies.machines.tables`.

Numbers keep all their bits here, of which a page shows six digits.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from wayforward.plain_files import write_text
from wayforward_studies.checkpoints import fingerprint
from wayforward_studies.machines.profiles import kernels
from wayforward_studies.pages import Page
from wayforward_studies.replication import Replication

#: n, the first seed, where the classifier of the first profile lies (None: train), where figures go -> replication.
Make = Callable[[int, int, Path | None, Path], Replication]


@dataclass(frozen=True)
class Small:
    """A table of few people. page: of its replication. fixed: does it ask with the classifier of the first profile?"""

    title: str
    page: str
    n: int
    make: Make
    fixed: bool = False


def _icarma(released: bool = False) -> Make:
    def make(n: int, seed: int, weights: Path | None, out: Path) -> Replication:
        from wayforward_studies.icarma.run import IcarmaReplication, IcarmaRequest
        from wayforward_studies.icarma.setting import loan_setting, released_loan_setting

        setting = released_loan_setting if released else loan_setting
        request = IcarmaRequest(tables=(6,), datasets=("loan",), n=n, seed=seed, out=out)
        return IcarmaReplication(request, make=lambda *_: setting(seed=seed, cache=weights))

    return make


def _balanced(n: int, seed: int, weights: Path | None, out: Path) -> Replication:
    from wayforward_studies.balanced.measures import METHODS
    from wayforward_studies.balanced.run import BalancedReplication, BalancedRequest
    from wayforward_studies.balanced.tables import MethodResult

    class Published(BalancedReplication):
        """Without the lines of ours, whose search for balanced places takes longer than all the others together."""

        def _table(self, number: int) -> list[MethodResult]:
            return self.lines("synthetic", METHODS)

    return Published(BalancedRequest(tables=(1,), n=n, seeds=2, seed=seed, out=out))


def _hare(n: int, seed: int, weights: Path | None, out: Path) -> Replication:
    from wayforward_studies.hare.run import HareReplication, HareRequest

    chosen: dict[str, Any] = {"datasets": ("compas",), "bases": ("growing-spheres",), "classifiers": ("ann",)}
    return HareReplication(HareRequest(tables=(4,), n=n, seeds=1, seed=seed, out=out, **chosen))


def _study(n: int, seed: int, weights: Path | None, out: Path) -> Replication:
    from wayforward_studies.study.run import StudyReplication, StudyRequest

    return StudyReplication(StudyRequest(n=n, seeds=2, seed=seed, out=out))


def _pear(n: int, seed: int, weights: Path | None, out: Path) -> Replication:
    from wayforward_studies.pear.run import PearReplication, PearRequest

    return PearReplication(PearRequest(datasets=("gmsc",), n=n, seeds=1, seed=seed, out=out))


_ORACLE = "iCARMA, Table 6 (oracle): classifier "
SMALL: dict[str, Small] = {
    "icarma-trained": Small(_ORACLE + "trained under each", "table-6-loan", 100, _icarma()),
    "icarma-fixed": Small(_ORACLE + "trained once", "table-6-loan", 100, _icarma(), fixed=True),
    "icarma-released": Small(_ORACLE + "as released", "table-6-loan", 100, _icarma(released=True)),
    "balanced": Small("Balanced recourse, Table 1: synthetic set", "table-1", 160, _balanced),
    "hare": Small("HARE, Table 4: COMPAS, network, growing spheres", "table-4", 20, _hare),
    "study": Small("The study, Table S2", "table-s2", 60, _study),
    "pear": Small("PEAR, regret: GMSC", "regret", 4, _pear),
}  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """What one process found. page: not laid out. kernels: those in force. refused, weights: of iCARMA's classifier."""

    page: Page
    kernels: Mapping[str, str]
    seconds: float
    refused: int | None = None
    weights: str | None = None

    def write(self, file: Path) -> None:
        """Write JSON with every bit."""
        page = self.page
        write_text(
            file,
            json.dumps(
                {
                    "paper": page.paper,
                    "name": page.name,
                    "title": page.title,
                    "lines": [exact(row) for row in page.rows],
                    "findings": [check.to_dict() for check in page.checks],
                    "files": [],
                    "provenance": exact({**page.provenance, "versions": {}}),
                    "machine": exact(
                        {
                            "kernels": dict(self.kernels),
                            "seconds": self.seconds,
                            "refused": self.refused,
                            "weights": self.weights,
                        }
                    ),
                }
            ),
        )

    @classmethod
    def read(cls, file: Path) -> Measured:
        """What `write` wrote. Raises: FileFormatError."""
        return cls(Page.read(file), **json.loads(file.read_text(encoding="utf-8"))["machine"])


def exact(value: Any) -> Any:
    """What JSON can hold, with all bits: unlike `pages.plain`, which is for readers."""
    if isinstance(value, Mapping):
        return {str(k): exact(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [exact(v) for v in value]
    if hasattr(value, "tolist"):
        return exact(value.tolist())
    return value if isinstance(value, (bool, str, int, float)) or value is None else str(value)


def measured(name: str, n: int, seed: int, weights: Path | None) -> Measured:
    """Measure a small table in this process, nothing stored but a classifier; weights: its folder, read or written."""
    started, small = time.process_time(), SMALL[name]
    with TemporaryDirectory() as drawn:
        work = small.make(n, seed, weights, Path(drawn))
        page = replace(work.measure(small.page), figures=())
    found = Measured(page, kernels(), time.process_time() - started)
    studies = getattr(work, "studies", None)  # iCARMA's; a method elsewhere
    if not isinstance(studies, dict):
        return found
    study = studies["loan"]
    state = [value.numpy() for value in study.setting.model.state_dict().values()]
    return replace(found, refused=len(study.everybody), weights=fingerprint(*state))


def main(tasks: str) -> None:
    """Measure one after another. tasks: JSON, a list of name, n, seed, folder of weights or null, file to write."""
    for name, n, seed, weights, file in json.loads(tasks):
        measured(name, n, seed, weights and Path(weights)).write(Path(file))


if __name__ == "__main__":
    main(sys.argv[1])
