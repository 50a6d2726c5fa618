"""What must hold for every data set, whatever its table: a test class to inherit.

Example: ``class TestMine(DatasetContract): dataset, forms = "mine", ("", "missing")``.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest

from wayforward.data import Dataset, Entry, Files, available, catalogue, load

_load = cache(load)


class DatasetContract:
    """Inherit, name a data set that is registered, and these tests run on every form of its table.

    dataset: its name. forms: words of variants joined by '+', '' for the default form; every variant occurs in one.
    frozen: nobody can act on anything as recommended, and that is meant.
    A form whose raw files are not on this machine is skipped.
    """

    dataset: ClassVar[str]
    forms: ClassVar[tuple[str, ...]] = ("",)
    frozen: ClassVar[bool] = False

    @classmethod
    def pytest_generate_tests(cls, metafunc: Any) -> None:
        """Run each test that takes a `form` once for each."""
        if "form" in metafunc.fixturenames:
            metafunc.parametrize("form", cls.forms, ids=[form or "default" for form in cls.forms])

    def entry(self) -> Entry:
        """What the catalogue says of the data set."""
        return next(entry for entry in catalogue() if entry.name == self.dataset)

    def table(self, form: str = "") -> Dataset:
        """One form of the table, read once a run."""
        if not available(self.dataset) or (form and not self._has_files()):
            pytest.skip(f"the raw files of {self.dataset} are not here; set WAYFORWARD_DATA to their folder")
        return _load(self.dataset, variant=form or None)

    def _has_files(self) -> bool:
        files = Files(self.dataset, known=self.entry().files)
        return all(files.find(key) is not None for key in self.entry().files)

    # -- the table -----------------------------------------------------------------------------------------

    def test_every_value_is_one_that_the_schema_allows(self, form: str) -> None:
        """On the lattice and in bounds; missing is declared exactly where values are missing."""
        data = self.table(form)
        assert data.x.shape == (data.n, data.d) and data.y.shape == (data.n,)
        legal = data.schema.legal(data.x) | np.isnan(data.x)
        worst = data.schema.names[int(np.argmin(legal.mean(axis=0)))]
        assert legal.all(), f"{worst}: {(~legal).sum()} values off the domain or the lattice"
        assert (np.isnan(data.x).any(axis=0) == data.schema.missing).all()

    def test_every_level_that_is_declared_occurs(self, form: str) -> None:
        """Of categories; ordinal scales may hold a rung that nobody stands on."""
        data = self.table(form)
        for j, feature in enumerate(data.schema.features):
            if feature.kind == "categorical":
                seen = np.unique(data.x[~np.isnan(data.x[:, j]), j])
                assert seen.size == feature.n_levels, feature.name

    def test_the_table_gives_the_array_back(self, form: str) -> None:
        """Decoded to a table and encoded again, every value is the same."""
        data = self.table(form)
        data = data.take(np.arange(0, data.n, 37))
        assert list(data.frame.columns) == list(data.schema.names)
        np.testing.assert_array_equal(data.schema.encode(data.frame), data.x)

    def test_the_same_call_gives_the_same_table(self) -> None:
        """Nothing is drawn without a seed."""
        first = self.table()
        again = load(self.dataset)
        np.testing.assert_array_equal(first.x, again.x)
        np.testing.assert_array_equal(first.y, again.y)

    def test_both_labels_occur_and_the_favourable_one_is_known(self, form: str) -> None:
        """1 is what a person wants; a regression names the range."""
        data = self.table(form)
        assert 0 < data.is_favourable.mean() < 1
        assert data.task == "regression" or set(np.unique(data.y)) == {0, 1} == set(data.label_text)

    # -- who may change what -------------------------------------------------------------------------------

    def test_the_rules_hold_for_everybody_as_they_stand(self, form: str) -> None:
        """Staying where one is breaks no rule."""
        data = self.table(form)
        if data.schema.rules:
            assert data.schema.compiled_rules.satisfied(data.x, data.x).all()

    def test_every_actionability_set_applies_and_keeps_the_person_fixed(self, form: str) -> None:
        """Papers that let people change who they are, are quoted as they are; the library's own two sets never do."""
        data = self.table(form)
        assert {"recommended", "benchmark"} <= set(data.acts)
        for chosen in data.acts:
            other = data.with_actionability(chosen)
            assert other.actionability == chosen and other.schema.names == data.schema.names
            free = [name for name in other.sensitive if other.schema[name].actionability != "immutable"]
            assert not free or chosen not in ("recommended", "benchmark"), free
        assert self.frozen or data.schema.actionable.any()

    # -- what is said of it --------------------------------------------------------------------------------

    def test_the_card_tells_every_choice(self, form: str) -> None:
        """Source, terms, steps, notes, rules, features and actionability sets."""
        data = self.table(form)
        card = data.card()
        assert data.source.terms in card and data.source.citation in card
        assert f"{data.n:,} people" in card and data.steps[-1].rows == data.n
        for text in (*data.notes, *(step.what for step in data.steps), *data.schema.rules):
            assert text in card
        for feature in data.schema.features:
            assert f"| `{feature.name}` |" in card
        for chosen in data.acts:
            assert f"- `{chosen}`:" in card

    def test_the_catalogue_is_true(self) -> None:
        """Rows, sets and sensitive features; every variant is the word of a form."""
        entry, data = self.entry(), self.table()
        assert data.n == entry.rows
        assert set(data.acts) == set(entry.acts)
        assert set(data.sensitive) == set(entry.sensitive)
        assert set(entry.variants).isdisjoint(entry.acts)
        assert set(entry.variants) == {word for form in self.forms for word in form.split("+") if word}

    def test_the_split_is_stratified_and_complete(self) -> None:
        """Everybody is in one of the two parts, and the labels are shared out alike."""
        data = self.table()
        train, test = data.split(test=0.25, seed=3)
        again = data.split(test=0.25, seed=3)[1]
        np.testing.assert_array_equal(test.x, again.x)
        assert train.n + test.n == data.n and test.n == pytest.approx(0.25 * data.n, abs=1)
        assert test.is_favourable.mean() == pytest.approx(data.is_favourable.mean(), abs=2 / test.n)
