"""Stages that are stored in a folder, and which changes of the code make them anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wayforward_studies import checkpoints
from wayforward_studies.checkpoints import Checkpoints, code_version
from wayforward_studies.commands import STUDIES, parts

OWN = ("one/run.py",)


def place(package: Path, name: str) -> Path:
    """Where a file of the package or of the studies beside it lies."""
    return (package.parent if name.startswith("studies/") else package) / name


def version(package: Path) -> str:
    """The version of the code that decides for study 'one'."""
    return code_version(OWN, package, package.parent / "studies")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of a method and a door, and two studies beside it."""
    root = tmp_path / "package"
    for name in (
        "methods/a.py",
        "cli/door.py",
        "studies/one/run.py",
        "studies/one/tables.py",
        "studies/two/run.py",
    ):
        place(root, name).parent.mkdir(parents=True, exist_ok=True)
        place(root, name).write_text(f"{name!r}\n")
    return root


def changed(package: Path, name: str) -> bool:
    """Is the code of replication 'one' another one after `name` was edited?"""
    code_version.cache_clear()
    before = version(package)
    place(package, name).write_text("edited\n")
    assert version(package) == before  # read once a process
    code_version.cache_clear()
    return version(package) != before


@pytest.mark.parametrize(
    ("name", "decides"),
    [
        ("methods/a.py", True),
        ("methods/new.py", True),
        ("studies/one/run.py", True),
        ("studies/one/tables.py", False),
        ("studies/two/run.py", False),
        ("cli/door.py", False),
    ],
)
def test_which_files_decide(package: Path, name: str, decides: bool) -> None:
    assert changed(package, name) is decides


def test_a_renamed_file_is_other_code(package: Path) -> None:
    before = version(package)
    (package / "methods" / "a.py").rename(package / "methods" / "b.py")
    code_version.cache_clear()
    assert version(package) != before


def test_results_of_other_code_do_not_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a version a stage is asked once, by whichever process; after a change it is asked again."""
    made = []

    def make() -> dict[str, np.ndarray]:
        made.append(1)
        return {"a": np.array(len(made))}

    for code, calls in (("old", 1), ("old", 1), ("new", 2), ("new", 2), ("old", 1)):
        monkeypatch.setattr(checkpoints, "code_version", lambda own, code=code: code + str(own))
        stages = Checkpoints(tmp_path, own=OWN)
        assert stages.arrays("stage", [1], make)["a"] == calls
    other = Checkpoints(tmp_path, own=("two/run.py",))
    assert other.arrays("stage", [1], make)["a"] == 3
    assert other.file("net", [1], ".pt") != Checkpoints(tmp_path, own=OWN).file("net", [1], ".pt")


@pytest.mark.parametrize("name", STUDIES)
def test_every_replication_names_its_own_modules(name: str) -> None:
    """Modules that are there, in its own folder."""
    for (module, _), (_, replication) in zip(STUDIES[name], parts(name), strict=True):
        own, folder = replication.decides, module.split(".")[0]
        assert own and all(file.startswith(f"{folder}/") for file in own)
        assert code_version(own) != code_version()


def test_a_file_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    kept.arrays("draws", 1, lambda: {"x": np.arange(500.0)})
    (file,) = tmp_path.glob("draws-*.npz")
    file.write_bytes(file.read_bytes()[:-40])
    made = kept.arrays("draws", 1, lambda: {"x": np.arange(3.0)})
    assert made["x"].tolist() == [0.0, 1.0, 2.0]
