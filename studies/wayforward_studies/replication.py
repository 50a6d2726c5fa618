"""What every study shares: what is asked for, and measuring, writing and re-writing its pages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from wayforward.errors import DataError
from wayforward_studies.checkpoints import Checkpoints, Show, quiet
from wayforward_studies.pages import Page, plain, read_from


def known(what: str, given: Iterable[Any], choices: Iterable[Any]) -> None:
    """Raises: DataError for something given that is not among the choices."""
    choices = list(choices)
    for one in given:
        if one not in choices:
            raise DataError(
                f"The study has no {what} {one!r}. Choose one of {', '.join(str(choice) for choice in choices)}."
            )


def at_least(least: int, **numbers: int | None) -> None:
    """Raises: DataError for a number that is less."""
    for name, number in numbers.items():
        if number is not None and number < least:
            raise DataError(f"{name}={number} leaves too little to measure. Use {least} or more.")


@dataclass(frozen=True)
class Request:
    """What to measure; a study adds what it can choose among. Nothing named: everything.

    n: people at most. seed: the first of the seeds. out: where pages go. cache: where finished stages are stored; None:
    nowhere.
    """

    datasets: tuple[str, ...] = ()
    n: int | None = None
    seeds: int = 1
    seed: int = 0
    out: Path = Path("docs/replication")
    cache: Path | None = None

    @property
    def quick(self) -> bool:
        """Is it a look at fewer people or seeds than the study has?"""
        return self.n is not None

    @property
    def pages(self) -> tuple[str, ...]:
        """Names of the pages that are asked for."""
        raise NotImplementedError

    def file(self, name: str) -> str:
        """The name of a page's files, without their ending; other seeds have files of their own."""
        return name + (f"-seed-{self.seed}" if self.seed else "") + ("-quick" if self.quick else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a page's provenance: without folders."""
        return {name: value for name, value in asdict(self).items() if name not in ("out", "cache")}


@dataclass
class Replication(ABC):
    """Measures the pages of a request one by one; finished stages are stored in its cache."""

    paper: ClassVar[str]
    decides: ClassVar[tuple[str, ...]]  # modules that decide a stored stage, beside the package's
    subfolder: ClassVar[str] = ""  # of the cache
    extra_pages: ClassVar[
        tuple[str, ...]
    ] = ()  # what `--extra` asks of it, where it is not the paper's own part

    request: Any
    show: Show = quiet
    checkpoints: Checkpoints = field(init=False)

    def __post_init__(self) -> None:
        cache = self.request.cache
        self.checkpoints = Checkpoints(None if cache is None else cache / self.subfolder, own=self.decides)

    @abstractmethod
    def measure(self, name: str) -> Page:
        """Measure one page, of `request.pages`, and draw its figures."""

    @classmethod
    @abstractmethod
    def laid_out(cls, page: Page) -> Page:
        """The page with tables, verdicts and text, all from its rows, findings and provenance."""

    @classmethod
    def repeated(cls, page: Page, folder: Path) -> Page:
        """The page with what it repeats of others in the folder as they are now."""
        return page

    @classmethod
    def console(cls, page: Page) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Heads and rows to show in a terminal; none where the page's tables are too wide for it."""
        return next(((table.columns, table.rows()) for table in page.tables), ((), ()))

    def page(self, name: str) -> Page:
        """Measure one page and write its files."""
        from wayforward.methods.base import versions

        self.checkpoints.seconds.clear()
        found = self.measure(name)
        rows = tuple(plain(row) for row in found.rows)  # laid out as the JSON will have them
        made = plain({**found.provenance, "versions": versions()})
        page = self.laid_out(replace(found, rows=rows, provenance=made))
        page.write(self.request.out)
        return page

    @classmethod
    def render(cls, file: Path) -> Page:
        """Write a page again from its JSON file, nothing measured. Raises: FileFormatError."""
        with read_from(file):
            page = Page.read(file)
            if page.name != file.stem:
                raise ValueError(f"it says that it is {page.name!r}")
            page = cls.laid_out(cls.repeated(page, file.parent))
            page.write(file.parent)
        return page


def made_with(provenance: Mapping[str, Any]) -> str:
    """The versions that a page was made with."""
    versions = provenance["versions"]
    names = ("wayforward", "Python", "numpy", "torch")
    return ", ".join(f"{name} {versions[name.lower()]}" for name in names if name.lower() in versions)


def made_in(provenance: Mapping[str, Any]) -> str:
    """The work behind a page in a sentence."""
    return f"Made in {provenance['seconds_of_stages']:,.0f} seconds of work; {made_with(provenance)}."


def checksums(data: Mapping[str, str]) -> str:
    """Names and checksums, for a page."""
    return ", ".join(f"{name} `{value}`" for name, value in data.items())
