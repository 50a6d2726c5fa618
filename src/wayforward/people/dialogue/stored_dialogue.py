"""A dialogue as a state: written, taken up again, and carried over to another model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from wayforward.errors import DialogueError, FileFormatError, is_one_of
from wayforward.language import gettext, use_language
from wayforward.people.dialogue.another_model import CHANGED, RENEWED, carried, news
from wayforward.people.dialogue.conversation import Conversation
from wayforward.people.dialogue.fitting import elicitor_again, refitted
from wayforward.people.dialogue.reply_log import ReplyLog
from wayforward.people.dialogue.setup import PLANS, DialogueSetup
from wayforward.people.dialogue.state import (
    FORMAT,
    VERSION,
    answers_of,
    differences,
    features_of,
    fingerprints,
    numbers,
    opened,
    read,
    row_of,
    sealed,
    versions_apart,
    write,
)
from wayforward.plain_files import as_path, file_digest, name_of
from wayforward.schema.carried import keys_of, plain_values

if TYPE_CHECKING:
    from wayforward.people.dialogue.question import Question
    from wayforward.people.dialogue.wording import Ending
    from wayforward.people.elicitor import Elicitor
    from wayforward.problem import Problem

_GO_ON = "or go on from the plans that still hold, with changed='continue' (--go-on in a shell)."


class StoredDialogue:
    """What a dialogue hangs on and what was said in it; `Dialogue` asks and answers.

    file: where the state is kept up to date, or None.
    """

    file: Path | None
    _written: str | None = None  # the digest of the file as this object wrote it last
    _replies: ReplyLog
    _description: dict[str, Any]  # of the elicitor and its base, as plain data
    _prints: dict[str, Any]  # of the problem
    _past: list[dict[str, Any]]  # what was answered under earlier models
    _note: dict[str, Any] | None  # what to tell before the question at this place of the log
    _screen: tuple[str, Question, list[str]] | None  # with its language
    _ending: (
        tuple[tuple[Conversation, int, str], Ending] | None
    )  # worked out once: models may be trained for it

    @property
    def _setup(self) -> DialogueSetup:
        return self._replies.setup

    @property
    def _conversation(self) -> Conversation:
        return self._replies.conversation

    @property
    def _log(self) -> list[dict[str, Any]]:
        return self._replies.entries

    def to_dict(self) -> dict[str, Any]:
        """The state as plain data for JSON, with a checksum; it holds the person's row and what they said."""
        return sealed(self._plain())

    def _content(self) -> dict[str, Any]:
        s = self._setup
        return {
            "format": FORMAT,
            "version": VERSION,
            "setup": self._description,
            "x": numbers(s.x[0]),
            **({"carried": self._carried()} if s.problem.schema.carried.any() else {}),
            "fingerprints": self._prints,
            "begin": s.stored(),
            "note": self._note,
            "past": self._past,
            **self._replies.stored(),
            "now": self._now(),
        }

    def _carried(self) -> dict[str, Any]:
        """The person's own dates and texts, of which the row holds keys."""
        x, features = self._setup.x, self._setup.problem.schema.features
        return {f.name: plain_values(x[:, j], f)[0] for j, f in enumerate(features) if f.carried}

    def _now(self) -> dict[str, Any]:
        """Where it stands, for another model to go on from."""
        c = self._conversation
        return {
            "taken": self._replies.taken,
            "planning": c.pending is None or c.pending.what in (*PLANS, "reconsider"),
            "limits_asked": c.limits_requested,
            "wishes": list(c.wishes),
            "spent": c.spent,
            "declined": sorted(c.seen.declined),
            "edges": [list(edge) for edge in c.seen.edges],
            "best": None if c.best is None else numbers(c.best.action),
            "ended": c.ended,
        }

    def save(self, path: str | Path) -> Path:
        """Write the state: whole, or as it was before. Raises: FileFormatError if it cannot be written."""
        path = as_path(path)
        write(path, self._plain())
        return path

    def _plain(self) -> dict[str, Any]:
        return dict(json.loads(json.dumps(self._content(), allow_nan=False)))

    def _write(self) -> None:
        if self.file is not None:
            write(self.file, self._plain())
            self._written = file_digest(self.file) if self.file.is_file() else None

    def _require_own(self) -> None:
        """Raises: DialogueError where somebody else wrote the file since: what they were told would be lost."""
        if self.file is None or self._written is None or not self.file.is_file():
            return
        if file_digest(self.file) != self._written:
            raise DialogueError(
                gettext(
                    "'{name}' was written by another dialogue since, in another window or program. Open it again, and "
                    "go on from there.",
                    name=name_of(self.file),
                )
            )

    @classmethod
    def load(
        cls,
        path: str | Path,
        problem: Problem,
        *,
        changed: str = "refuse",
        elicitor: Elicitor | None = None,
        autosave: bool = True,
    ) -> Self:
        """Go on with what `save` (or `file=`) wrote; with `autosave` the same file is kept up to date.

        Raises: as `from_dict`; FileFormatError for a file that cannot be read.
        """
        out = cls.from_dict(problem, sealed(read(as_path(path))), changed=changed, elicitor=elicitor)
        if autosave:
            out.file = Path(path)
            out._write()
        return out

    @classmethod
    def from_dict(
        cls,
        problem: Problem,
        stored: Mapping[str, Any],
        *,
        changed: str = "refuse",
        elicitor: Elicitor | None = None,
    ) -> Self:
        """Go on with a stored state: the replies are given again, and the same question is on the table.

        changed: what to do if the model or the data are not those of the state: 'refuse' says what differs; 'continue'
        judges the plans that were shown again and goes on from the best that holds; the person is told. elicitor: the
        same object as then, where it was not one known by name.
        Raises: DialogueError for another schema, model or data, for a state that was changed after it was written, and
        for one that does not come out again; FileFormatError for what is no state.
        """
        if not is_one_of(changed, ("refuse", "continue")):
            raise DialogueError(f"changed={changed!r} is neither 'refuse' nor 'continue'.")
        content = opened(dict(stored) if isinstance(stored, Mapping) else stored)
        try:
            return cls._taken_up(problem, content, changed, elicitor)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise FileFormatError(
                f"The state holds no dialogue ({type(error).__name__}: {error}). Use the copy that was kept before."
            ) from error

    @classmethod
    def _taken_up(
        cls, problem: Problem, content: dict[str, Any], changed: str, elicitor: Elicitor | None
    ) -> Self:
        before, description, now = (content[key] for key in ("fingerprints", "setup", "now"))
        log, past, note = list(content["log"]), list(content["past"]), content["note"]
        row, begin = row_of(content["x"])[None], DialogueSetup.given(content["begin"])
        begin |= {"seed": int(description["seed"]), "until": str(description.get("until", ""))}
        same_schema(before, problem)
        for name, value in content.get("carried", {}).items():
            keys_of([value], problem.schema[name], "saved", again=True)
        snaps = list(content.get("snapshots", ()))
        pending = snaps[-1]["pending"] if snaps else None
        shown = [row_of(snaps[-1]["plans"][name]["after"]) for name in pending["plans"]] if pending else []
        answers, still = answers_of(problem, row, shown)
        prints = fingerprints(problem, row, answers)
        apart = differences(before, prints)
        if apart and changed == "refuse":
            raise DialogueError(_differs(apart, f"Open it with what it was made with; {_GO_ON}"))
        out = cls.__new__(cls)
        out.file, out._description, out._prints = None, description, prints
        out._past, out._note, out._screen, out._ending = past, note, None, None
        asker, method = elicitor_again(problem, description, elicitor)
        setup = DialogueSetup(problem, row, asker, method, **begin)
        if apart:
            out._carry(problem, now, setup=setup, log=log)
            return out
        if len(snaps) == len(log) + 1 and still:
            out._replies = ReplyLog.of(setup, log, content)
            return out
        out._replies = ReplyLog.again(setup, log)
        if (wrong := out._replies.taken) < len(log):
            if changed == "refuse" and content["version"] == VERSION:
                raise DialogueError(out._otherwise(wrong, before))
            what = RENEWED if content["version"] != VERSION else CHANGED
            out._carry(problem, now, what, setup=setup, log=log)
        return out

    def _carry(
        self,
        problem: Problem,
        now: Mapping[str, Any],
        what: str = CHANGED,
        *,
        setup: DialogueSetup | None = None,
        log: list[dict[str, Any]] | None = None,
    ) -> None:
        """Close what was asked of the old model, judge its plans by the new one, and go on from the best that holds.

        setup, log: of a state that is not taken up yet.
        """
        s, log = setup or self._setup, self._log if log is None else log
        if problem is not s.problem:
            asker, method = refitted(problem, self._description, s.elicitor)
            s = replace(s, problem=problem, elicitor=asker, first_plans=method)
        self._prints, seen = fingerprints(problem, s.x), {"seen": 0, "held": 0}
        if now["planning"]:
            self._past = [*self._past, *log]
            s, seen = carried(s, self._past, now, open_reply=int(now["taken"]) < len(log))
            self._replies = ReplyLog(s)
        else:  # limits hang on no model: the same questions, the same answers
            self._replies = ReplyLog.again(s, log)
            self._past += log[self._replies.taken :]
        note = {"what": what, **seen}
        with use_language("en"):
            self._note = {**note, "text": news(note), "at": len(self._log)}
        self._screen = None

    def _otherwise(self, place: int, before: dict[str, Any]) -> str:
        versions = versions_apart(before, fingerprints(self._setup.problem, self._setup.x))
        why = f" Versions differ: {'; '.join(versions)}." if versions else ""
        return (
            f"Question {place + 1} does not come out as it was shown.{why} Open the state with what it was made "
            f"with; {_GO_ON}"
        )


def same_schema(before: dict[str, Any], problem: Problem) -> None:
    """Raises: DialogueError where a state is of another schema, naming what differs."""
    now = {**before, "features": features_of(problem), "rules": list(problem.schema.rules)}
    apart = differences(before, now)
    if apart:
        raise DialogueError(_differs(apart, "A dialogue cannot go on under another schema; begin a new one."))


def _differs(apart: dict[str, str], then: str) -> str:
    return f"The state is of another problem. What differs: {'; '.join(apart.values())}. {then}"
