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


@pytest.mark.parametrize("how", ["cut", "flipped", "other"])
def test_a_damaged_stage_is_made_again(tmp_path: Path, how: str) -> None:
    """Cut anywhere, with any byte flipped, or written by somebody else: never an error, never other numbers."""
    kept, random = Checkpoints(tmp_path), np.random.default_rng(0)
    right = random.random(40)
    kept.arrays("draws", 1, lambda: {"x": right})
    (file,) = tmp_path.glob("draws-*.npz")
    whole = file.read_bytes()
    for place in random.choice(len(whole), 150, replace=False):
        if how == "other":
            np.savez_compressed(file, seconds=np.array(1.0), digest=np.array("0"), x=random.random(40))
        else:
            flipped = bytes([whole[place] ^ (1 << int(random.integers(8)))]) + whole[place + 1 :]
            file.write_bytes(whole[:place] + (flipped if how == "flipped" else b""))
        np.testing.assert_array_equal(kept.arrays("draws", 1, lambda: {"x": right})["x"], right)


def test_a_model_is_read_only_where_it_is_the_very_file_that_was_written(tmp_path: Path) -> None:
    """And is made again after a change of what decides, a flipped bit, a cut, and without its digest."""
    made = []

    def make(part: Path | None) -> str:
        made.append(part)
        return f"model {len(made)}"

    def model(decides: int = 1) -> str:
        return Checkpoints(tmp_path).model(
            "net", decides, read=Path.read_text, make=make, write=lambda it, file: file.write_text(it)
        )

    assert model() == model() == "model 1"
    assert model(2) == model(2) == "model 2" and model() == "model 1"
    for n, spoil in enumerate(
        (lambda f: f.write_text("model 9"), lambda f: f.write_text("mod"), Path.unlink)
    ):
        spoil(made[0].with_suffix(".safetensors" if n < 2 else ".sha256"))
        assert model() == model() == f"model {n + 3}"
    assert Checkpoints(None).model("net", 1, read=Path.read_text, make=str, write=lambda *_: None) == "None"


def test_a_classifier_of_other_people_is_another_one(tmp_path: Path) -> None:
    """What is stored is that of the same rows, labels, epochs and seed, bit by bit."""
    from wayforward_studies.icarma.setting import train_classifier

    x = np.random.default_rng(0).normal(size=(60, 3))
    y = (x[:, 0] > 0).astype(int)

    def weights(x: np.ndarray, y: np.ndarray, epochs: int = 2, seed: int = 0) -> list[float]:
        net = train_classifier(x, y, epochs=epochs, seed=seed, cache=tmp_path)
        return [float(value) for part in net.state_dict().values() for value in part.flatten()]

    first = weights(x, y)
    others = [weights(x + 1, y), weights(x, 1 - y), weights(x, y, 3), weights(x, y, seed=1)]
    assert len(list(tmp_path.iterdir())) == 5
    assert weights(x, y) == first and all(other != first for other in others)


def test_a_file_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    kept.arrays("draws", 1, lambda: {"x": np.arange(500.0)})
    (file,) = tmp_path.glob("draws-*.npz")
    file.write_bytes(file.read_bytes()[:-40])
    made = kept.arrays("draws", 1, lambda: {"x": np.arange(3.0)})
    assert made["x"].tolist() == [0.0, 1.0, 2.0]
