"""What is compared: data sets, classifiers, peers and their limits, in one place."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CACHE = HERE / ".cache"
RESULTS = HERE / "results"
VENVS = HERE / ".venvs"

# Cell name -> (data set, actionability set): the recommended set, or the convention of the literature where
# that leaves next to nothing to act on (counts of the past cannot go down).
DATA = {
    "adult": ("adult", "recommended"),
    "german": ("german", "recommended"),
    "compas": ("compas", "hare"),
    "gmsc": ("gmsc", "benchmark"),
    "compas-strict": ("compas", "benchmark"),
}
EXTRA = ("compas-strict",)  # shown, but not among the cells for which the targets were set
MODELS = ("lr", "mlp", "rf")
LEAD = "local-search"  # the one that is compared
OURS = (LEAD, "nice", "growing-spheres", "wachter")
ORACLE = "actionable-recourse"  # ours, exact for linear models on its own grid of actions
SEED = 0
N = 200  # people for peers and ours
BIG = 10_000  # people for ours alone
BIG_SECONDS = 15.0  # our methods other than local-search do as many of them as fit into this
WARM = 3  # people of the warm-up, not measured
CHECK = 1_000  # rows on which a peer's classifier must agree with ours


@dataclass(frozen=True)
class Peer:
    """One competitor: script, environment, how many people and how long.

    person_seconds: one person's limit in processor seconds, after which they count as not found.
    cell_seconds: after it no further person is started, and the comparison is over the people done, the
    first of a shuffled order.
    """

    name: str
    title: str
    script: str
    venv: str
    python: tuple[int, int] = (3, 11)
    n: int = N
    person_seconds: float = 20.0
    cell_seconds: float = 40.0
    options: dict[str, str] = field(default_factory=dict)
    models: tuple[str, ...] = MODELS
    extra: bool = True  # run on the cells of EXTRA too

    @property
    def requirements(self) -> Path:
        """Its pinned requirements."""
        return HERE / "peers" / f"{self.venv}.txt"


PEERS = (
    Peer("nicex", "NICEx", "nice_peer.py", "nicex"),
    Peer("dice-random", "dice-ml random", "dice_peer.py", "dice", options={"method": "random"}),
    Peer(
        "dice-genetic",
        "dice-ml genetic",
        "dice_peer.py",
        "dice",
        n=50,
        person_seconds=10.0,
        cell_seconds=20.0,
        options={"method": "genetic"},
        extra=False,
    ),
    Peer(
        "oceanpy",
        "oceanpy (CP)",
        "ocean_peer.py",
        "oceanpy",
        python=(3, 12),
        n=50,
        person_seconds=120.0,
        cell_seconds=60.0,
        options={"seconds": "30"},
        models=("rf",),
    ),
)


def digest(*parts: Any) -> str:
    """A short name for settings and file contents: a changed part makes a new one."""
    h = hashlib.sha256()
    for part in parts:
        h.update(part.read_bytes() if isinstance(part, Path) else json.dumps(part, sort_keys=True).encode())
    return h.hexdigest()[:16]


def source_digest() -> str:
    """The library's source as it stands: our own measurements are kept for this state only."""
    home = ROOT / "src" / "wayforward"
    words = {home / part for part in ("answers", "cli", "testing", "serve")}  # these change no measurement
    return digest(*sorted(f for f in home.rglob("*.py") if not words & set(f.parents)))
