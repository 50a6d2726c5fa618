"""Answers by seed and what R's mgcv made of them: `python -m tests.study.reference` fits them again where R is."""

from __future__ import annotations

import csv
import shutil
import subprocess
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
TABLES = ("wavy", "steps")
FAMILIES = ("gaussian", "binomial", "ordered")
BASES = ("thin-plate", "cubic")
CASES = tuple((table, family, basis) for table in TABLES for family in FAMILIES for basis in BASES)


def answers(table: str) -> dict[str, np.ndarray]:
    """Participants, x, and an answer of each family. 'wavy': 60 x 12, x continuous; 'steps': 90 x 5, x of 1 to 12."""
    rng = np.random.default_rng(TABLES.index(table) + 1)
    m, each = (60, 12) if table == "wavy" else (90, 5)
    uid = np.repeat(np.arange(m), each)
    x = rng.uniform(0, 1, m * each) if table == "wavy" else rng.integers(1, 13, m * each).astype(float)
    curve = np.sin(2 * np.pi * x) if table == "wavy" else 2.5 * np.exp(-(x - 1) / 1.2)
    eta = curve + rng.normal(0, 0.6, m)[uid]
    eta += (rng.normal(0, 0.9, m)[uid] * x) if table == "wavy" else (rng.normal(0, 0.15, m)[uid] * x)
    return {
        "uid": uid,
        "x": x.round(6),
        "gaussian": (eta + rng.normal(0, 0.3 if table == "wavy" else 0.8, len(x))).round(6),
        "binomial": (rng.random(len(x)) < 1 / (1 + np.exp(-eta))).astype(int),
        "ordered": 1 + np.digitize(eta + rng.logistic(size=len(x)), [-1.5, -0.5, 0.5, 2.0]),
    }


def read(table: str) -> dict[str, np.ndarray]:
    """The answers as they are checked in."""
    with (HERE / f"{table}.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def mgcv(table: str, family: str, basis: str) -> str:
    """What R prints now."""
    command = [
        "Rscript",
        "--vanilla",
        str(HERE / "mgcv.R"),
        str(HERE / f"{table}.csv"),
        family,
        family,
        basis,
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def numbers(text: str) -> dict[str, float]:
    """Name and number of each line."""
    lines = (line.split(",") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in lines}


def without_mgcv() -> str:
    """Why mgcv cannot be asked here; empty where it can."""
    if shutil.which("Rscript") is None:
        return "R is not installed (Debian: r-base-core, r-cran-mgcv)"
    asked = subprocess.run(["Rscript", "--vanilla", "-e", "library(mgcv)"], capture_output=True)
    return "" if asked.returncode == 0 else "R has no mgcv (Debian: r-cran-mgcv)"
