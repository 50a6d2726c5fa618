"""Audits of nearly the same people, or at other thresholds: what one tells less what another tells is not of few.

The difference of two sums over people who are the same but for a few tells how these fared. So two audits of a model
may not differ by fewer than `FEWEST` people, in all, in some group or where two meet: of the people told of, of those
answered, or of those with a plan. Somebody whose row moved a little is the same person. Who is refused at a threshold
is refused at every higher one, so that of the same people the difference of two counts of refused is guarded, too, and
audits of the same people along other attributes are guarded together as one audit of all of these is, which are
`MOST_FEATURES` at most. What three or more audits of people who overlap tell of few, added and subtracted, is looked
for among equal rows. A model is its file and its schema, whatever title a version has, and any that decides the same.

None of this withstands whoever makes up tables: who may have a table audited is decided by `Jobs.start`.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wayforward.errors import WayforwardError
from wayforward.impact.audit.nearly_alike import few_between, parts_of_few
from wayforward.impact.audit.suppression import to_withhold
from wayforward.language import gettext
from wayforward.plain_files import written
from wayforward.scaling import ranges
from wayforward.serve.audits import EVERYBODY, FEWEST, MOST_FEATURES, turn_of
from wayforward.serve.keys import Keys, seal, unseal
from wayforward.shapes import Floats, Ints, Mask

if TYPE_CHECKING:
    from wayforward.impact.audit.figures import Measured

_MARK = "asked-about.sealed"  # beside the numbers of an audit: of which model and people they are
# A row that moved is near its old place where both lie in one cell of one of so many grids, laid at random. Of ten
# numbers that all move by half a hundredth of their range, a cell of a twentieth holds both in a third of the grids.
_GRIDS, _CELLS_A_RANGE = 16, 20
_TOLD = (EVERYBODY, "refused", "answered", "with a plan")


@dataclass(frozen=True, eq=False)
class _Mark:
    """Of whom an audit tells.

    rows: (n,) keyed hashes. grids: (n, g) cells that they lie in, as keyed hashes. counted: (n, 4) bool, of which of
    `_TOLD` each is. names: attribute -> its groups. label: attribute -> (n,) group, -1 for none.
    """

    rows: Ints
    grids: Ints
    counted: Mask
    names: dict[str, list[str]]
    label: dict[str, Ints]

    @classmethod
    def of(cls, measured: Measured, key: bytes) -> _Mark:
        """key: of the hashes; who has them and not the key learns nothing of a row."""
        x, who = measured.x, measured.who
        counted = np.zeros((len(x), len(_TOLD)), dtype=bool)
        counted[:, 0], counted[:, 1] = True, measured.refused
        counted[who, 2] = True
        counted[who[measured.has_cost], 3] = True
        names = {one.name: [str(name) for name in one.names] for one in measured.attributes}
        label = {one.name: one.member for one in measured.attributes}
        return cls(_hashes(x, key), _cells_of(measured, key), counted, names, label)

    def write(self, path: Path, model_id: str, key: bytes) -> None:
        """Write it, sealed."""
        out = io.BytesIO()
        head = np.array(json.dumps({"model": model_id, "names": self.names}))
        label = np.array([self.label[name] for name in self.names], dtype=np.int32)  # (attributes, n)
        np.savez_compressed(
            out, head=head, rows=self.rows, grids=self.grids, counted=self.counted, label=label
        )
        with written(path, private=True) as half:
            half.write_bytes(seal(key, out.getvalue(), f"{_MARK} {path.parent.name}"))

    @classmethod
    def read(cls, path: Path, key: bytes) -> tuple[_Mark, str] | None:
        """Return the mark of an audit, and of which model. Raises: SealError."""
        try:
            sealed = path.read_bytes()
        except FileNotFoundError:  # that audit has just been refused, or deleted
            return None
        content = unseal(key, sealed, f"{_MARK} {path.parent.name}")
        with np.load(io.BytesIO(content), allow_pickle=False) as held:
            head = json.loads(str(held["head"]))
            names = head["names"]
            label = dict(zip(names, held["label"].astype(np.int64), strict=True))
            return cls(held["rows"], held["grids"], held["counted"], names, label), head["model"]

    def groups(self) -> Iterator[tuple[str, Mask]]:
        """Name and members (n,) bool of everybody, of each group and of where two groups meet."""
        yield EVERYBODY, np.ones(len(self.rows), dtype=bool)
        every = [
            [(f"{one}={name}", self.label[one] == g) for g, name in enumerate(self.names[one])]
            for one in sorted(self.names)
        ]
        yield from itertools.chain.from_iterable(every)
        for some, others in itertools.combinations(every, 2):
            for (a, mine), (b, theirs) in itertools.product(some, others):
                yield f"{a}, {b}", mine & theirs


def refuse_few_between(
    folder: Path, model: str, measured: Measured, keys: Keys, version: str = ""
) -> list[Ints]:
    """Leave a mark of an audit in its folder and compare it with those of the same model in the folders beside it: also
    with those that are not done yet, so that none of two that are made at once is told unseen. Return of which groups
    (n,) each person is in those that are along other features, -1 for who is not in them. model: what decides; version:
    by which audits of earlier releases name it.

    Raises: WayforwardError where one of them differs by a few people; then the mark is gone again.
    """
    key = hashlib.blake2b(b"asked about", key=keys.master, digest_size=32).digest()
    mine, own = _Mark.of(measured, key), folder / _MARK
    mine.write(own, model, key)
    labels, elsewhere, others = [mine.label], list[Ints](), list[_Mark]()
    try:
        for other in sorted(folder.parent.glob(f"*/{_MARK}")):
            found = None if other == own or _came_to_nothing(other.parent) else _Mark.read(other, key)
            if found is None:
                continue
            theirs, of = found
            here, there = _refuse_few_apart(mine, theirs, of in (model, version))
            known = mine.rows[here] == theirs.rows[there]
            others.append(theirs)
            if len(here) == len(mine.rows) == len(theirs.rows):
                at, known = there[np.argsort(here)], np.ones(len(here), dtype=bool)
                labels.append({name: member[at] for name, member in theirs.label.items()})
            if known.any() and theirs.label.keys() != mine.label.keys():
                for member in theirs.label.values():
                    elsewhere.append(np.full(len(mine.rows), -1))
                    elsewhere[-1][here[known]] = member[there[known]]
        _refuse_few_together(mine.counted, labels)
        _refuse_few_among(mine, others)
    except WayforwardError:
        own.unlink(missing_ok=True)
        raise
    return elsewhere


def _came_to_nothing(folder: Path) -> bool:
    """Is an audit over and left no numbers? While it runs its table of people is there."""
    return not (folder / "audit.json").is_file() and not any(folder.glob("people.*"))


def _refuse_few_apart(mine: _Mark, theirs: _Mark, same: bool) -> tuple[Ints, Ints]:
    """Return the positions (m,), (m,) of the people of both; of nobody where another model, and not the same one,
    refuses others of them than this. Raises: WayforwardError where few are in one of the two only, or fare otherwise
    there, in all or in a group."""
    ours, yours = dict(mine.groups()), dict(theirs.groups())
    shared = [name for name in ours if name in yours]
    here = np.stack([ours[name] for name in shared], axis=1)  # (n, c)
    there = np.stack([yours[name] for name in shared], axis=1)
    a, b = _partners(mine, theirs, here, there)
    if not same and np.count_nonzero(mine.counted[a, 1] != theirs.counted[b, 1]) >= FEWEST:
        return a[:0], b[:0]
    apart = {}
    for place, what in enumerate(_TOLD):
        left, right = here & mine.counted[:, [place]], there & theirs.counted[:, [place]]
        some = left.sum(0), right.sum(0)
        both = (left[a] & right[b]).sum(0)
        enough = (
            np.minimum(here.sum(0) if place < 2 else some[0], there.sum(0) if place < 2 else some[1])
            >= FEWEST
        )
        apart[what] = np.where(enough, some[0] + some[1] - 2 * both, 0)
    everybody = apart.pop(EVERYBODY)
    refused = np.where(everybody == 0, apart.pop("refused"), 0)  # else it is a count of as many as differ
    if _few(everybody) or (everybody[0] and any(map(_few, apart.values()))):
        raise WayforwardError(
            gettext(
                "These people are those of an audit that is there already but for fewer than {n}, in all or in some "
                "group, or fewer of those who differ are refused or have a plan: the two together would tell of each. "
                "Read that one, or wait until more have changed.",
                n=FEWEST,
            )
        )
    if _few(refused) or any(map(_few, apart.values())):
        raise WayforwardError(
            gettext(
                "By this model, at this threshold, fewer than {n} people fare otherwise than in an audit of the same "
                "people that is there already, in all or in some group: the two together would tell of each. Choose a "
                "threshold farther away, or audit other people.",
                n=FEWEST,
            )
        )
    return a, b


def _few(counts: Ints) -> bool:
    return bool(((counts > 0) & (counts < FEWEST)).any())


def _refuse_few_together(counted: Mask, labels: Sequence[dict[str, Ints]]) -> None:
    """Raises: WayforwardError where groups of attributes of several audits of the same people (n, 4) differ by few."""
    every = dict(itertools.chain.from_iterable(one.items() for one in labels))
    if len(every) > MOST_FEATURES:
        raise WayforwardError(
            gettext(
                "Audits of these people are there already along other features. All of them together may be along "
                "{most}: more counts would tell how each person fares. Compare along features of those audits.",
                most=MOST_FEATURES,
            )
        )
    if len(every) == max(map(len, labels)):  # one audit is along all of them, and guards them
        return
    for some in (counted[:, 0], counted[:, 2], counted[:, 3]):
        if few_between([member[some] for member in every.values()], FEWEST)[1]:
            raise WayforwardError(
                gettext(
                    "Groups of these features are those of another audit of the same people, along other features, but "
                    "for fewer than {n}: the two together would tell of each. Compare other people along all of these "
                    "features in one audit.",
                    n=FEWEST,
                )
            )


def _refuse_few_among(mine: _Mark, others: Sequence[_Mark]) -> None:
    """Raises: WayforwardError where sums of three audits or more, added and subtracted, tell of few; of two it was
    looked for."""
    every = [mine, *others]
    ends = np.cumsum([len(one.rows) for one in every])[:-1]
    rows = [one.rows.view(np.int64) for one in every]
    keys = np.concatenate([np.c_[row, turn_of(row)] for row in rows])
    places = np.split(_numbered(keys, keys[:0])[0], ends)  # whoever has an equal row is the same person
    refused = np.full(len(keys), -1)  # of those in audits that overlap and agree, 0 or 1
    several = list[int]()
    best: int | None = 0
    while best is not None:
        several.append(best)
        refused[places[best]] = every[best].counted[:, 1]
        best, most = None, 0
        # whichever shares most comes first: one at another threshold may agree about few
        for i in (i for i in range(len(every)) if i not in several):
            known = refused[places[i]]
            shared = known >= 0
            if shared.sum() > most and (known[shared] == every[i].counted[shared, 1]).all():
                best, most = i, int(shared.sum())
    if len(several) < 3:
        return
    names = sorted({name for i in several for name in every[i].label})
    places_along = [(), *itertools.combinations(names, 1), *itertools.combinations(names, 2)]
    for what, along in itertools.product((0, 2, 3), places_along):
        columns, of = list[Ints](), list[int]()
        for i in several:
            one, at, some = every[i], places[i], every[i].counted[:, what]
            for label in _labels_along(one, along):
                counts = np.bincount(label[some & (label >= 0)])
                few = to_withhold(counts.tolist(), int((some & (label < 0)).sum()), FEWEST)
                column = np.full(len(keys), -1)
                column[at[some]] = np.where(np.isin(label[some], list(few)), -1, label[some])
                columns.append(column)
                of.append(i)
        member = np.stack(columns, 1)
        if _tells_of_few(member) and not any(_tells_of_few(member[:, np.equal(of, i)]) for i in several):
            raise WayforwardError(
                gettext(
                    "Several audits of some of these people are there already. Added and subtracted, they and this one "
                    "would tell of fewer than {n} people. Read those, or wait until more have changed.",
                    n=FEWEST,
                )
            )


def _labels_along(one: _Mark, along: Sequence[str]) -> list[Ints]:
    """Return that all are in an audit (n,), and of which part where some attributes meet each is, -1 for none; that is
    left out where it is not along all of them."""
    all_ = [np.zeros(len(one.rows), dtype=np.int64)]
    if not along or not one.label.keys() >= set(along):
        return all_
    label = np.stack([one.label[name] for name in along], 1)
    part = _numbered(label, label[:0])[0]
    return [*all_, np.where((label < 0).any(1), -1, part)]


def _tells_of_few(member: Ints) -> bool:
    """Do sums over groups (n, k), of whom -1 is in none, tell of few of those who are in some?"""
    return bool(parts_of_few(member[(member >= 0).any(1)], FEWEST, of_all=False).any())


def _partners(mine: _Mark, theirs: _Mark, here: Mask, there: Mask) -> tuple[Ints, Ints]:
    """Return the positions (m,), (m,) of people of the one and of the other who may be the same: each at most once.

    Equal rows come first, then rows that are near each other and fare alike in the same groups (n, c), then near ones.
    """
    left, right = np.arange(len(mine.rows)), np.arange(len(theirs.rows))
    kind = _numbered(np.hstack([here, mine.counted]), np.hstack([there, theirs.counted]))
    found: list[tuple[Ints, Ints]] = []
    keys = [(mine.rows, theirs.rows, False)]
    for alike in (True, False):
        keys += [(mine.grids[:, g], theirs.grids[:, g], alike) for g in range(mine.grids.shape[1])]
    for one, other, alike in keys:
        if not len(left) or not len(right):
            break
        cell = one[left], other[right]
        if alike:
            cell = _numbered(np.c_[cell[0], kind[0][left]], np.c_[cell[1], kind[1][right]])
        i, j = _matched(*cell)
        found.append((left[i], right[j]))
        left, right = np.delete(left, i), np.delete(right, j)
    return np.concatenate([i for i, _ in found] or [left[:0]]), np.concatenate(
        [j for _, j in found] or [right[:0]]
    )


def _matched(one: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Return positions of equal values of (n,) and (m,), each used once."""
    both = _numbered(one[:, None], other[:, None])
    turn = tuple(turn_of(values) for values in both)
    most = 1 + max((int(t.max(initial=0)) for t in turn), default=0)
    _, i, j = np.intersect1d(
        both[0] * most + turn[0], both[1] * most + turn[1], assume_unique=True, return_indices=True
    )
    return i, j


def _numbered(one: np.ndarray, other: np.ndarray) -> tuple[Ints, Ints]:
    """Return a number for each row of (n, k) and (m, k): the same for equal ones."""
    rows = np.ascontiguousarray(np.concatenate([one, other]))
    plain = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).reshape(-1)
    number = np.unique(plain, return_inverse=True)[1].reshape(-1)
    return number[: len(one)], number[len(one) :]


def _hashes(x: Floats, key: bytes) -> Ints:
    """(n,) a keyed hash of each row."""
    rows = np.ascontiguousarray(x + 0.0)  # no negative zero
    return np.frombuffer(
        b"".join(hashlib.blake2b(row, key=key, digest_size=8).digest() for row in rows), dtype=np.uint64
    )


def _cells_of(measured: Measured, key: bytes) -> Ints:
    """(n, g) which cell of each grid a row lies in, as a keyed hash; other levels are other cells."""
    schema, x = measured.problem.schema, measured.x
    width = np.where(schema.has_levels, 1.0, ranges(schema, measured.problem.reference)[0] / _CELLS_A_RANGE)
    rng = np.random.default_rng(int.from_bytes(hashlib.blake2b(b"grids", key=key).digest(), "big"))
    shift = np.where(schema.has_levels, 0.5, rng.random((_GRIDS, schema.d)))
    factor = rng.integers(0, 2**64, (_GRIDS, schema.d), dtype=np.uint64)
    out = np.empty((len(x), _GRIDS), dtype=np.uint32)
    for g in range(_GRIDS):
        cell = (
            np.nan_to_num(np.floor(x / width + shift[g]), nan=-(2.0**40)).astype(np.int64).astype(np.uint64)
        )
        out[:, g] = (cell * factor[g]).sum(1, dtype=np.uint64) >> np.uint64(32)
    return out
