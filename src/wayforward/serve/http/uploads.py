"""Files that come in: written under names of ours, bounded, parsed as data only."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.datastructures import UploadFile

from wayforward.errors import DataError
from wayforward.language import gettext
from wayforward.serve.projects import Given

_LONGEST_ENDING = 12


def stored(upload: Any, place: Path) -> Path | None:
    """Write an uploaded file under a name of ours; only the ending is taken from it. None where none was chosen."""
    if not isinstance(upload, UploadFile) or not upload.filename:
        return None
    ending = Path(upload.filename).suffix.lower()
    if not (ending[1:].isascii() and ending[1:].isalnum()) or len(ending) > _LONGEST_ENDING:
        raise DataError(gettext("A file has an ending that is not known."))
    path = place.with_suffix(ending)
    with path.open("wb") as file:
        while part := upload.file.read(1 << 20):
            file.write(part)
    return path


@contextmanager
def people_file(upload: Any) -> Iterator[Path]:
    """The table of people that somebody sent, as a file. Raises: DataError where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        file = stored(upload, Path(folder) / "people")
        if file is None:
            raise DataError(gettext("The table of people is missing. Choose a file."))
        yield file


@contextmanager
def model_files(
    files: dict[str, Any],
    *,
    title: str,
    label: str,
    favourable: str,
    threshold: float | None,
    open_to_all: bool,
) -> Iterator[Given]:
    """A version of a model as somebody sent it. files: model, schema, train and world. Raises: DataError."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {
            name: stored(files.get(name), Path(folder) / name)
            for name in ("model", "schema", "train", "world")
        }
        for name in ("model", "schema", "train"):
            if paths[name] is None:
                raise DataError(gettext("The file of the {name} is missing. Choose one.", name=name))
        model, schema, train = paths["model"], paths["schema"], paths["train"]
        assert model is not None and schema is not None and train is not None
        yield Given(
            title=title.strip() or gettext("A model"), model=model, schema=schema, train=train, world=paths["world"],
            label=label.strip(), favourable=names_in(favourable), threshold=threshold, open_to_all=open_to_all,
        )  # fmt: skip


def names_in(text: str) -> tuple[str, ...]:
    """Names with commas between."""
    return tuple(one.strip() for one in text.split(",") if one.strip())
