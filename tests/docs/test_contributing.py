"""What a newcomer copies is right: the code of CONTRIBUTING.md is a test file, and its tests pass."""

from __future__ import annotations

import importlib
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import wayforward.testing

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Enough of every contract to see that the page is right, in seconds: models that are read fastest, and of the dialogue
# what every other promise rests on. The parts of the package keep the whole of it in their own tests.
QUICK = "not (network or forest or label) and not (TestKnockout and not (limits_given or alone or no_option or says))"


def test_the_parts_of_the_contributing_page_keep_their_contracts(tmp_path: Path) -> None:
    """Every example of the page in one test file of another package, run as its reader would."""
    file = tmp_path / "my_package" / "test_parts.py"
    file.parent.mkdir()
    file.write_text("\n\n".join(CODE.findall(PAGE)), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-k", QUICK]
    config = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), str(file)]
    got = subprocess.run(
        command + config,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert got.returncode == 0, got.stdout[-4000:] + got.stderr
    contracts = re.findall(r"^class (Test\w+)\((\w+Contract)\):", PAGE, re.MULTILINE)
    assert {contract for _, contract in contracts} == {
        name for name in wayforward.testing.__all__ if name.endswith("Contract")
    }
    for test, contract in contracts:
        assert re.search(rf"::{test}::\w+(\[.*\])? PASSED", got.stdout), f"{test}({contract}) was not run"


def test_the_table_of_parts_names_places_that_exist() -> None:
    """Folder, contract, file of the one line, and the function for other packages, for every kind of part."""
    rows = re.findall(r"^\| \[[^|]+\| `(\S+)` \| `(\w+)` \| `(\S+)` \| `(\S+)` \|$", PAGE, re.MULTILINE)
    assert len(rows) == PAGE.count("](#add-a")
    for folder, contract, file, function in rows:
        assert (ROOT / "src/wayforward" / folder).is_dir() and (ROOT / "src/wayforward" / file).is_file()
        assert contract in wayforward.testing.__all__
        module, _, name = function.rpartition(".")
        assert callable(getattr(importlib.import_module(f"wayforward.{module}"), name)), function


def test_the_floors_of_the_page_are_those_that_hold() -> None:
    """Every folder and file of the package, in the order in which they may import each other."""
    floors_that_hold = runpy.run_path(str(ROOT / "tests" / "test_floors.py"))["FLOORS"]
    table = PAGE[PAGE.index("| floor |") : PAGE.index("Beside it")]
    floors = [re.findall(r"`(\w+)/?`", line.split("|")[1]) for line in table.splitlines() if "`" in line]
    assert [sorted(floor) for floor in floors] == [
        sorted(set(floor) - {"__main__"}) for floor in floors_that_hold
    ][:-1]
