"""One virtual environment for each peer, made with `python3 -m venv` and pinned requirements."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.cells import VENVS, Peer, digest


def interpreter(least: tuple[int, int]) -> str | None:
    """A Python of at least this version: our own, or python3.12, python3.13, ... from the path; else None."""
    names = [sys.executable, *(f"python3.{minor}" for minor in range(least[1], least[1] + 4))]
    for name in names:
        found = shutil.which(name)
        candidates = [found] if found else []
        if name.startswith("python3.") and shutil.which(
            "pyenv"
        ):  # which hides the versions that are not chosen
            root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
            candidates += [str(p) for p in sorted(root.glob(f"{name.removeprefix('python')}.*/bin/python"))]
        for candidate in candidates:
            ask = [candidate, "-c", "import sys; print(sys.version_info[0], sys.version_info[1])"]
            got = subprocess.run(ask, capture_output=True, text=True, check=False)
            if got.returncode == 0 and tuple(map(int, got.stdout.split())) >= least:
                return candidate
    return None


def ensure(peer: Peer) -> Path | None:
    """The python of the peer's environment, built where it is not there or its requirements changed.

    Returns None, and says why, where no Python is new enough or a package cannot be installed.
    """
    folder = VENVS / peer.venv
    python, stamp = folder / "bin" / "python", folder / ".requirements"
    wanted = digest(peer.requirements)
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return python
    base = interpreter(peer.python)
    if base is None:
        print(
            f"{peer.title}: left out, it needs Python {peer.python[0]}.{peer.python[1]} or newer on the path."
        )
        return None
    print(f"{peer.title}: building its environment from {peer.requirements.name} ...", flush=True)
    if folder.exists():
        shutil.rmtree(folder)
    subprocess.run([base, "-m", "venv", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    got = subprocess.run([*pip, "-r", str(peer.requirements)], capture_output=True, text=True, check=False)
    if got.returncode:
        last = (got.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"{peer.title}: left out, its packages could not be installed: {last}")
        return None
    stamp.write_text(wanted)
    return python
