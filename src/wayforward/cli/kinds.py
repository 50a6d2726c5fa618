"""The `texts` and `series` commands: recourse for what a model reads or measures, from files that hold it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from wayforward.cli.console import room_for, say, table, tell, write_json
from wayforward.errors import DataError, shown
from wayforward.language import gettext, marks, use_language
from wayforward.modalities.answers import UnitRecourse
from wayforward.model.adapted import first_line

_SHOWN = 5  # answers on the screen
_OF_TEXTS, _OF_SERIES = ("lr", "nb"), ("rf", "lr")  # models that are trained here, by name


def texts(
    train: Path, text: str, label: str, favourable: str, people: Path | None, model: str, how: dict[str, Any]
) -> dict[str, Any]:
    """Do everything that `wayforward texts` does; return the numbers. text: the column that holds texts."""
    from wayforward.data.user_tables import labels_of, read_table
    from wayforward.modalities.text import TextProblem

    if text == label:
        raise DataError(
            f"--text and --label both name the column '{text}'. Name the column of texts, and the one of the decisions."
        )
    past = read_table(train)
    known = _strings(past, text, train)
    labels = labels_of(_with_column(past, label, train), label, (favourable,), train.name).astype(str)
    whole = [(one, word) for one, word in zip(known, labels, strict=True) if isinstance(one, str)]
    read, wanted = [one for one, _ in whole], [word for _, word in whole]
    if not read:
        raise DataError(
            f"Column '{text}' of '{train.name}' holds no texts, but such as {shown(known[0])}. Name the column that "
            "holds them with --text."
        )
    pipeline = _text_model(model, read, wanted, f"column '{text}' of '{train.name}'")
    problem = TextProblem(pipeline, read, favourable=favourable)
    if people is None:
        now = _answers(pipeline, read, "texts")
        given = [one for one, label_now in zip(read, now, strict=True) if label_now != favourable]
    else:
        given = _strings(read_table(people), text, people)
    return _answer(
        problem, given, lambda got, i, o: {"removed": got.removed(i, o), "after": got.after(i, o)}, how
    )


def series(
    train: Path, favourable: str, people: Path | None, model: str, how: dict[str, Any]
) -> dict[str, Any]:
    """Do everything that `wayforward series` does; return the numbers. train: a file of the UCR or UEA archive."""
    from wayforward.modalities.series import SeriesProblem
    from wayforward.modalities.series.sets import read_series, read_series_alone

    past = read_series(train)
    if favourable not in past.labels:
        raise DataError(
            f"No series of '{train.name}' is labelled {favourable!r}; labels are "
            f"{', '.join(map(repr, np.unique(past.labels)[:8].tolist()))}. Change --favourable."
        )
    flat = past.series.reshape(len(past.series), -1)
    classifier = _series_model(model, flat, past.labels, f"'{train.name}'")
    problem = SeriesProblem(
        classifier, past.series, favourable=favourable, labels=past.labels, channels=past.channels or None
    )
    if people is None:
        given = list(past.series[_answers(classifier, flat, "series") != favourable])
    else:
        given = read_series_alone(people)
    return _answer(
        problem,
        given,
        lambda got, i, o: {"channels": got.channels(i, o), "says": got.describe(i, o)},
        how,
    )


def _answer(
    problem: Any, given: list[Any], option_of: Callable[[Any, int, int], dict[str, Any]], how: dict[str, Any]
) -> dict[str, Any]:
    """Answer things and write what is wanted: numbers, a page, letters, sentences on the screen."""
    room_for(how["json"])
    room_for(how["report"], (".html",))
    with use_language(how["language"]):
        given = given[: how["n"]]
        if not given:
            raise DataError("The model says yes to all of them already, so there is nothing to answer.")
        got: UnitRecourse = problem.recommend(
            given, how["method"], how["k"], keep=how["keep"], most=how["most"], seed=how["seed"]
        )
        whole = got.recourse
        ends = Counter(outcome.name for outcome in whole.outcome[:, 0])
        numbers = {
            "n": whole.n,
            "outcomes": dict(ends),
            "method": whole.method,
            "answers": [
                {
                    "number": i,
                    "outcome": whole.outcome[i, 0].name,
                    "reason": str(whole.reasons[i]) if whole.reasons.size else "",
                    "options": [option_of(got, i, option) for option in got.options(i)],
                }
                for i in range(whole.n)
            ],
        }
        write_json(numbers, how["json"])
        if how["report"] is not None:
            got.page(how["report"])
        if str(how["json"]) != "-":
            table(
                problem.things,
                ("outcome", problem.things),
                [(name, marks(f"{n:,}")) for name, n in sorted(ends.items())],
            )
            for i in [i for i in range(whole.n) if got.options(i)][:_SHOWN]:
                tell(f"{i}: {got.sentence(i)}")
            if how["report"] is not None:
                say(gettext("written: {file}", file=how["report"]))
    return numbers


def _with_column(frame: Any, name: str, file: Path) -> Any:
    names = list(getattr(frame, "columns", getattr(frame, "column_names", [])))
    if name not in names:
        raise DataError(f"'{file.name}' has no column '{name}'. It has {', '.join(map(str, names[:12]))}.")
    return frame


def _strings(frame: Any, name: str, file: Path) -> list[Any]:
    """The cells of a column; what is missing is None, and not asked about."""
    import narwhals as nw

    return list(nw.from_native(_with_column(frame, name, file), eager_only=True)[name].to_list())


def _text_model(name: str, known: list[str], labels: list[str], where: str) -> Any:
    if name in _OF_TEXTS:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.naive_bayes import MultinomialNB
        from sklearn.pipeline import make_pipeline

        head = LogisticRegression(max_iter=1000) if name == "lr" else MultinomialNB()
        pipeline = make_pipeline(TfidfVectorizer(), head)
        return _fitted(
            pipeline,
            known,
            labels,
            where,
            "Texts need words of two letters or more: name their column with --text.",
        )
    return _from_file(name, _OF_TEXTS)


def _series_model(name: str, flat: np.ndarray, labels: np.ndarray, where: str) -> Any:
    if name in _OF_SERIES:
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        line = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        made = line if name == "lr" else RandomForestClassifier(100, random_state=0)
        return _fitted(made, flat, labels, where, "Look for numbers that are far from all others.")
    return _from_file(name, _OF_SERIES)


def _fitted(made: Any, known: Any, labels: Any, where: str, advice: str) -> Any:
    """Fit a classifier. where: in errors, what it learns from. Raises: DataError."""
    kinds = np.unique(labels)
    if len(kinds) < 2:
        raise DataError(
            f"Every label beside {where} is {str(kinds[0])!r}. A model learns from two kinds of labels or more."
        )
    try:
        return made.fit(known, labels)
    except ValueError as error:
        raise DataError(f"No model can be trained on {where} ({first_line(error)}). {advice}") from error


def _answers(model: Any, given: Any, what: str) -> np.ndarray:
    """Return what a model says of things, as texts. Raises: ModelError where it does not take them."""
    from wayforward.modalities.model import safely

    advice = f"Give --model a classifier that was fitted on such {what}."
    answers = safely(lambda: model.predict(given), f"The model {type(model).__name__}", f"the {what}", advice)
    return np.asarray(answers).astype(str)


def _from_file(name: str, known: tuple[str, ...]) -> Any:
    from wayforward.model.files import read_estimator

    if not name.endswith(".skops"):
        raise DataError(
            f"--model {name} is not known. Use one of {', '.join(known)}, or a .skops file of a fitted classifier."
        )
    return read_estimator(Path(name))
