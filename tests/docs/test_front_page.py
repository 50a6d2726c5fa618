"""The front page says of other tools what the page of benchmarks says, and shows pictures that are there."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
FRONT = (DOCS / "index.md").read_text(encoding="utf-8")
MEASURED = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
PEERS = ("dice-ml random", "NICEx", "oceanpy (CP)")


def rows(heading: str) -> list[dict[str, str]]:
    """Return the rows of the first table under a heading of the page of benchmarks, by its column heads."""
    part = MEASURED[MEASURED.index(f"## {heading}") :]
    table = re.search(r"(?:^\|.*\|\n)+", part, re.MULTILINE)
    assert table is not None
    head, _, *body = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[0].splitlines()]
    return [dict(zip(head, line, strict=True)) for line in body if not line[0].startswith("compas-strict")]


def numbers(cells: list[str]) -> tuple[float, float]:
    """Return the least and the greatest of the first number in each cell."""
    found = [float(re.match(r"[\d,.]+", cell)[0].replace(",", "")) for cell in cells]
    return min(found), max(found)


def test_the_line_against_the_peers_is_what_was_measured() -> None:
    usable, cost, speed = (
        rows(heading)
        for heading in (
            "Usable, and usable and plausible",
            "Cost where both are usable",
            "Speed, work and memory of the peers",
        )
    )
    line = next(line for line in FRONT.splitlines() if line.startswith("| usable ·"))
    for peer, cell in zip(PEERS, line.strip("|").split("|")[1:], strict=True):
        share, ratio, times = (part.strip(" ×") for part in cell.split("·"))
        expected = numbers([row[peer] for row in usable if row[peer] != "–"])
        assert share == f"{expected[0]:.3f}–{expected[1]:.3f}", peer
        expected = numbers([row["ratio"] for row in cost if row["peer"] == peer])
        assert ratio == "–".join(sorted({f"{value:.2f}" for value in expected})), peer
        expected = numbers([row["ratio"] for row in speed if row["peer"] == peer])
        assert times == f"{expected[0]:,.0f}–{expected[1]:,.0f}", peer
    assert {row["local-search"].split(" /")[0] for row in usable} == {"1.000"}


def test_versions_date_and_pictures_of_the_front_page() -> None:
    for version in re.findall(r"(?:dice-ml|NICEx|oceanpy) [\d.]+\d", FRONT):
        assert f", {version}," in MEASURED, version
    assert re.search(r"Measured ([\d-]+)", FRONT)[1] == re.search(r"Measured ([\d-]+)", MEASURED)[1]
    pictures = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", FRONT)
    assert len(pictures) == 4 and all(len(alt) > 40 and (DOCS / path).is_file() for alt, path in pictures)
