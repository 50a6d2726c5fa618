"""AReS: few rules of two levels, for whom and what to change, chosen from all frequent ones.

A rule reads "if <subgroup> and <state>: <new state>". Subgroups and states are frequent sets of conditions. A new state
is carried out at the value in it that is nearest for the person, so "raise your savings to at least 2,000 EUR" asks
for 2,000 EUR of everybody below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from wayforward.answers import words
from wayforward.errors import DataError, did_you_mean, is_one_of
from wayforward.impact.conditions import Condition, condition_text
from wayforward.impact.summaries.base import Rules, Summariser
from wayforward.impact.summaries.ground_set import GroundSet, choose
from wayforward.impact.summaries.itemsets import frequent
from wayforward.language import N_, Translatable, gettext
from wayforward.lazy import renamed_names
from wayforward.public import public
from wayforward.streams import generator

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.schema import Feature, Schema

__getattr__ = renamed_names(__name__, Item="RuleCondition")

_LEVELS = 12  # of a feature with more levels, the most frequent are tried
_LISTED = 3  # levels that a phrase names one by one
_ROWS = 1 << 16  # candidate rows judged at once
_ENTRIES = 40_000_000  # of subgroups times people held at once
_SETS = 20_000  # frequent sets at most
_LEAST = 10  # people that a rule speaks to, among those it is learnt from
_EXTENDED = 400  # changes that are extended by one more feature


@public
@dataclass(frozen=True)
class RuleCondition:
    """A condition of one phrase about one feature: all `parts` hold. low, high: its values are in [low, high)."""

    feature: int
    parts: tuple[Condition, ...]
    text: str
    low: float = np.nan
    high: float = np.nan

    def holds(self, x: np.ndarray) -> np.ndarray:
        """Return who meets it, (n, d) -> (n,) bool."""
        return np.asarray(np.logical_and.reduce([one.holds(x) for one in self.parts]))


@public
@dataclass(frozen=True)
class Aim:
    """A new state of one feature: a level, or at least or at most a value. text: what to do, in words."""

    feature: int
    kind: Literal["is", "at least", "at most"]
    value: float
    text: str

    def holds(self, column: np.ndarray) -> np.ndarray:
        """Return who is already there, values (n,) -> (n,) bool; a missing value is not."""
        with np.errstate(invalid="ignore"):
            if self.kind == "is":
                return np.asarray(column == self.value)
            return np.asarray(column >= self.value if self.kind == "at least" else column <= self.value)

    def values(self, people: Population) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest value in it for each person (n,), NaN where they are there, and who may choose it.

        For whom none is, the value is that of the words, which the judge refuses.
        """
        there = self.holds(people.x[:, self.feature])
        target = np.full(people.x.shape, np.nan)
        target[:, self.feature] = self.value
        near = people.snap(np.arange(people.n), target)[:, self.feature]
        open_ = self.holds(near) & ~there
        return np.where(there, np.nan, np.where(open_, near, self.value)), open_

    def apart(self, item: RuleCondition) -> bool:
        """Nobody whom the item describes is there already."""
        if self.kind == "at least":
            return bool(item.high <= self.value)
        if self.kind == "at most":
            return bool(item.low > self.value)
        one = item.parts[0]
        return (one.kind == "is" and one.value != self.value) or (
            one.kind == "is not" and one.value == self.value
        )


@public
@dataclass(frozen=True)
class AresRules(Rules):
    """Rules as chosen. who, change: of each line. objective: of them all; rows: model rows that learning took."""

    who: tuple[tuple[RuleCondition, ...], ...]
    change: tuple[tuple[Aim, ...], ...]
    subgroup: tuple[int, ...]  # how many of the conditions of each line are its subgroup
    objective: float = 0.0
    rows: int = 0
    words: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = field(init=False)

    def __post_init__(self) -> None:
        words = tuple(
            (tuple(one.text for one in who), tuple(aim.text for aim in change))
            for who, change in zip(self.who, self.change, strict=True)
        )
        object.__setattr__(self, "words", words)

    def actions(self, people: Population) -> tuple[np.ndarray, np.ndarray]:
        """Return one slot a line: (n, L, d) and (n, L). Who is there already has nothing to do in that slot."""
        shape = (people.n, len(self.who))
        action, line = np.full((*shape, people.d), np.nan), np.full(shape, -1)
        for i, (who, change) in enumerate(zip(self.who, self.change, strict=True)):
            addressed = _holds(who, people.x)
            line[addressed, i] = i
            for aim in change:
                action[addressed, i, aim.feature] = aim.values(people)[0][addressed]
        return action, line


@public
@dataclass
class Ares(Summariser):
    """Few rules of two levels from all frequent subgroups, states and changes, by local search.

    form: 'open' (ours) counts people whom some rule serves, cheap rules more; conditions may be half-lines such as
    "below 500", and a change of several features needs no condition for each. 'published' counts people whom some
    rule speaks to, less the wrong ones, conditions are bins, and every changed feature has one.
    rules, width, subgroups: at most so many rules, conditions in one, and different subgroups (20, 7 and 10 in the
    paper). changes: features that a rule changes at most. bins: parts of a quantity. support: least share of the
    people a rule speaks to. about: features that describe subgroups; none: all that the schema does not mark as
    sensitive. Conditions name a sensitive feature only where it is asked for here.
    cover, incorrect, cost, change: weights of the objective. 'open', in people: cover for one who is served, less up
    to cost (a share) for dear plans; incorrect for one asked in vain; change for each condition and each change in a
    rule, in shares of all people. 'published': the four lambdas of the paper, which tunes them; features cost 1.
    rows: model rows at most, but for the single changes, each of which is judged for 200 people whatever it takes.
    Raises: DataError for settings that make no sense.
    """

    rules: int = 8
    width: int = 4
    subgroups: int = 6
    changes: int = 2
    bins: int = 5
    support: float = 0.05
    about: tuple[str, ...] = ()
    cover: float = 1.0
    incorrect: float = 0.05
    cost: float = 0.5
    change: float = 0.003
    rows: int = 1_000_000
    form: Literal["open", "published"] = "open"

    name: ClassVar[str] = "ares"
    summary: ClassVar[str] = "few rules of two levels: for whom, in which state, and what to change"
    citation: ClassVar[str] = (
        "K. Rawal and H. Lakkaraju (2020), Beyond Individualized Recourse: Interpretable and Interactive Summaries of "
        "Actionable Recourses, NeurIPS. arXiv:2009.07165."
    )

    def __post_init__(self) -> None:
        self.about = tuple(self.about)
        for name, least in (
            ("rules", 1),
            ("width", 1),
            ("subgroups", 1),
            ("changes", 1),
            ("bins", 2),
            ("rows", 1),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise DataError(f"{name}={value!r}; give a whole number of at least {least}.")
        for name in ("cover", "incorrect", "cost", "change"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise DataError(f"{name}={value!r} is a weight; give a number of at least 0.")
        if not 0 < self.support < 1:
            raise DataError(
                f"support={self.support!r} is a share of the people; give a number between 0 and 1."
            )
        if not is_one_of(self.form, ("open", "published")):
            raise DataError(f"form={self.form!r}; it must be 'open' or 'published'.")
        if self.form == "open" and self.cost >= 1:
            raise DataError(
                f"cost={self.cost!r} would make the dearest plan worth nothing. Give a number below 1, or "
                "form='published', where it is a weight."
            )

    @classmethod
    def published(cls) -> Ares:
        """Return the paper's limits (20 rules, width 7, 10 subgroups), bins and objective; weights and costs are 1."""
        return cls(
            rules=20, width=7, subgroups=10, changes=2, bins=10, support=0.05, incorrect=1.0, cost=1.0, change=1.0,
            form="published",
        )  # fmt: skip

    @property
    def most_lines(self) -> int:
        """Lines at most."""
        return self.rules

    def learn(self, people: Population, seed: int) -> AresRules:
        """Find rules for refused people. Draws people by chance where all of them would take more than `rows`."""
        schema = people.schema
        for name in self.about:
            if name not in schema.names:
                raise DataError(
                    f"There is no feature '{name}' to describe subgroups.{did_you_mean(name, schema.names)}"
                )
        rng = generator(seed, 23)
        aims = [aim for aim in self._aims(people) if aim.values(people)[1].any()]
        most = max(200, self.rows // max(3 * len(aims), 1))
        if people.n > most:
            people = people.take(np.sort(rng.choice(people.n, most, replace=False)))
        spent = int(people.rows.sum())
        combos, ok, cost = _judge(people, aims, self.changes, self.rows, self.cost, rng)
        helps = ok.any(1)
        if not helps.any():
            return AresRules((), (), (), 0.0, int(people.rows.sum()) - spent)
        combos, ok, cost = [combos[t] for t in np.flatnonzero(helps)], ok[helps], cost[helps]
        ground, sets, states, items = self._ground_set(people, aims, combos, ok, cost)
        chosen = choose(ground)
        who = tuple(
            tuple(items[c] for c in sets[g]) + tuple(items[c] for c in states[i]) for g, i, _ in chosen
        )
        return AresRules(
            who, tuple(tuple(aims[a] for a in combos[t]) for _, _, t in chosen),
            tuple(len(sets[g]) for g, _, _ in chosen), ground.objective(chosen), int(people.rows.sum()) - spent,
        )  # fmt: skip

    # -- conditions and new states -------------------------------------------------------------------------

    def _aims(self, people: Population) -> list[Aim]:
        """Return new states that the schema lets people act towards, cut where accepted people stand."""
        schema, out = people.schema, []
        pool = _reference_rows(people)
        for j in np.flatnonzero(schema.actionable & people.free.any(0)):
            feature, way = schema.features[j], schema.direction[j]
            column = pool[np.isfinite(pool[:, j]), j]
            if not column.size:
                continue
            if feature.has_levels and (feature.kind != "ordinal" or feature.n_levels == 2):
                out += [_aim(feature, int(j), "is", value) for value in _frequent_levels(column)]
                continue
            cuts = self._edges(schema, int(j), column, 2 * self.bins if self.form == "open" else self.bins)
            first = float(column.min())
            if way >= 0:
                out += [_aim(feature, int(j), "at least", cut) for cut in cuts if cut > first]
            if way <= 0:
                out += [_aim(feature, int(j), "at most", cut) for cut in cuts if cut < column.max()]
        return out

    def _edges(self, schema: Schema, j: int, column: np.ndarray, bins: int) -> np.ndarray:
        """Return legal round values that cut a column into about `bins` parts, the first part included in none."""
        seen = np.unique(column)
        if schema.features[j].has_levels or len(seen) <= bins:
            cuts = seen
        else:
            share = np.arange(1, bins) / bins
            quantiles = [np.quantile(column, share)]
            value, count = np.unique(column, return_counts=True)
            if count.max() > 0.3 * len(column):  # most people have no capital gains: cut those who have some
                rest = column[column != value[count.argmax()]]
                quantiles += [np.quantile(rest, share), value[count.argmax()][None]]
            cuts = _rounded(np.concatenate(quantiles), column, schema.features[j].kind == "integer")
        return np.unique(schema.snap(cuts, columns=j))

    def _items(self, people: Population, aims: list[Aim]) -> list[RuleCondition]:
        """Return conditions on the people: levels, bins, half-lines, not stated; and what is short of an aim."""
        schema, out = people.schema, []
        published = self.form == "published"
        pool = _reference_rows(people) if published else people.x
        for j, feature in enumerate(schema.features):
            if feature.carried:
                continue
            column = people.x[:, j]
            if np.isnan(column).any():
                out.append(
                    RuleCondition(
                        j,
                        (Condition(j, "missing", np.nan, ""),),
                        Translatable(partial(condition_text, feature, "missing", np.nan)),
                    )
                )
            seen = column[np.isfinite(column)]
            if not seen.size:
                continue
            if feature.has_levels:
                out += [_level_item(feature, j, value) for value in _frequent_levels(seen)]
                if feature.kind == "ordinal" and feature.n_levels > 2 and not published:
                    for value in np.unique(seen)[1:]:
                        out += [_below(feature, j, value), _from(feature, j, value)]
                continue
            edges = self._edges(schema, j, pool[np.isfinite(pool[:, j]), j], self.bins)
            edges = edges[(edges > seen.min()) & (edges <= seen.max())]
            if not published:
                for edge in edges:
                    out += [_below(feature, j, edge), _from(feature, j, edge)]
            elif edges.size:
                out += [_below(feature, j, edges[0]), _from(feature, j, edges[-1])]
            out += [_between(feature, j, a, b) for a, b in pairwise(edges)]
        if not published:
            out += [
                short for aim in aims if (short := _short_of(schema.features[aim.feature], aim)) is not None
            ]
        unique: dict[tuple[object, ...], RuleCondition] = {}
        for one in out:
            unique.setdefault((one.feature, *((p.kind, str(p.value)) for p in one.parts)), one)
        return list(unique.values())

    # -- the ground set ------------------------------------------------------------------------------------

    def _ground_set(
        self,
        people: Population,
        aims: list[Aim],
        combos: list[tuple[int, ...]],
        ok: np.ndarray,
        cost: np.ndarray,
    ) -> tuple[GroundSet, list[tuple[int, ...]], list[tuple[int, ...]], list[RuleCondition]]:
        """Return the ground set, with the conditions of its subgroups and of its states."""
        n, d, published = people.n, people.d, self.form == "published"
        items = self._items(people, aims)
        holds = np.stack([one.holds(people.x) for one in items], 1) if items else np.empty((n, 0), dtype=bool)
        least = max(_LEAST, int(np.ceil(self.support * n)))
        about = np.array([one.feature for one in items], dtype=np.int64)

        features = people.schema.features
        chosen = self.about or tuple(f.name for f in features if not f.sensitive)
        says = np.flatnonzero([features[j].name in chosen for j in about])
        most = min(_SETS, max(1, _ENTRIES // n))
        deep = max(1, self.width - 1) if published else min(2, self.width)
        sets, groups = frequent(holds[:, says], about[says], least=least, width=deep, most=most)
        sets = [tuple(int(says[c]) for c in one) for one in sets]

        acted = {aims[a].feature for one in combos for a in one}
        open_ = {j for j in acted if not features[j].sensitive or features[j].name in chosen}
        moves = np.flatnonzero(np.isin(about, list(open_)))
        states, met = frequent(
            holds[:, moves],
            about[moves],
            least=least,
            width=min(self.changes, self.width),
            most=most,
            twins=True,
        )
        states = [tuple(int(moves[c]) for c in one) for one in states]
        apart = np.array([[aim.feature == one.feature and aim.apart(one) for aim in aims] for one in items])
        pair = self._pairs(states, items, aims, combos, apart.reshape(len(items), len(aims)))

        asks, wide = (np.array([len(one) for one in some], dtype=np.int64) for some in (states, combos))
        if published:
            value = np.full(ok.shape, self.cover, dtype=np.float32)
            edges = {
                j: self._edges(people.schema, int(j), _seen(_reference_rows(people), j), self.bins)
                for j in acted
            }
            moved = [_bins_moved(states[i], combos[t], items, aims, edges) for i, t in pair]
            price = self.cost * wide[pair[:, 1]] + self.change * np.array(moved)
            group_price, top = np.zeros(len(sets)), float(self.rules * self.width)
            far = max((len(e) for e in edges.values()), default=1) + people.schema.n_levels.max(initial=1)
            constant = self.incorrect * n * self.rules + self.cost * top + self.change * far * top
        else:
            dear = np.where(ok, cost, 0) / (np.where(ok, cost, 0) + _usual_cost(cost, np.empty(0)))
            value = np.where(ok, self.cover * (1 - self.cost * dear), 0).astype(np.float32)
            word = self.change * n
            price = word * (asks[pair[:, 0]] + wide[pair[:, 1]])
            group_price = np.array([word * len(one) for one in sets])
            constant = self.rules * (self.incorrect * n + word * (self.width + self.changes))
        ground = GroundSet(
            groups=groups, states=met, pair=pair, value=value, wrong=(self.incorrect * ~ok).astype(np.float32),
            price=price, group_price=group_price,
            group_at=_features([[items[c].feature for c in one] for one in sets], d),
            change_at=_features([[aims[a].feature for a in one] for one in combos], d),
            group_width=np.array([len(one) for one in sets]), state_width=asks,
            rules=self.rules, width=self.width, subgroups=self.subgroups, least=least, constant=constant,
        )  # fmt: skip
        return ground, sets, states, items

    def _pairs(
        self, states: list[tuple[int, ...]], items: list[RuleCondition], aims: list[Aim], combos: list[tuple[int, ...]],
        apart: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Return (P, 2) states and changes that fit: a state is about what is changed, and is not there already."""
        by_features: dict[tuple[int, ...], list[int]] = {}
        for i, state in enumerate(states):
            by_features.setdefault(tuple(sorted(items[c].feature for c in state)), []).append(i)
        alike: dict[tuple[int, ...], list[int]] = {}
        for t, combo in enumerate(combos):
            alike.setdefault(tuple(sorted(aims[a].feature for a in combo)), []).append(t)
        out = [np.empty((0, 2), dtype=np.int64)]
        for at, some in alike.items():
            aimed = np.array([sorted(combos[t], key=lambda a: aims[a].feature) for t in some])  # (t, k)
            for size in (len(at),) if self.form == "published" else range(len(at) + 1):
                for places in combinations(range(len(at)), size):
                    near = by_features.get(tuple(at[p] for p in places), [])
                    if not near:
                        continue
                    item = np.array(
                        [sorted(states[i], key=lambda c: items[c].feature) for i in near], dtype=np.int64
                    )
                    good = np.ones((len(near), len(some)), dtype=bool)
                    for column, place in enumerate(places):
                        good &= apart[item[:, column]][:, aimed[:, place]]
                    fit = np.nonzero(good)
                    out.append(np.column_stack([np.array(near)[fit[0]], np.array(some)[fit[1]]]))
        return np.concatenate(out)


# -- judging changes ---------------------------------------------------------------------------------------


class _JudgedChanges:
    """Changes that were judged, as positions of aims, each person's nearest value in the aims given.

    change: the aims of each, and for each person whether it works, and what it costs (inf: does not work).
    """

    def __init__(self, people: Population, aims: list[Aim]) -> None:
        self.people = people
        got = [aim.values(people) for aim in aims]
        self.to = np.stack([one[0] for one in got])  # (A, n), NaN: there already
        self.acts, self.may = ~np.isnan(self.to), np.stack([one[1] for one in got])
        self.feature = np.array([aim.feature for aim in aims])
        self.change: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}

    def judge(self, combos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Judge changes (t, k) of aims: (t, n) scores, NaN where not looked at, -inf where illegal; (t, n) costs."""
        people, (t, k), n = self.people, combos.shape, self.people.n
        scores, costs = np.full((t, n), np.nan), np.zeros((t, n))
        step = max(1, _ROWS // n)
        for at in range(0, t, step):
            some = combos[at : at + step]
            ok, cost = np.zeros((len(some), n), dtype=bool), np.full((len(some), n), np.inf)
            score, price = scores[at : at + step], costs[at : at + step]
            act, may = self.acts[some], (self.may[some] | ~self.acts[some]).all(1)  # (t, k, n), (t, n)
            score[~may] = -np.inf
            fresh = may & act.any(1)
            for c, combo in enumerate(some.tolist()):
                for part, one in self._parts(combo):
                    # Who is there in the rest has the same row as in the part alone.
                    same = fresh[c] & act[c, part].all(0) & ~np.delete(act[c], part, axis=0).any(0)
                    ok[c, same], cost[c, same] = one[0][same], one[1][same]
                    fresh[c] &= ~same
            row, who = np.nonzero(fresh)
            action = np.full((len(who), people.d), np.nan)
            for place in range(k):
                action[np.arange(len(who)), self.feature[some[row, place]]] = self.to[some[row, place], who]
            judged = people.evaluate(who, action)
            good = judged.allowed & judged.reached
            ok[row, who], cost[row, who] = good, np.where(good, judged.cost, np.inf)
            score[row, who], price[row, who] = judged.score, judged.cost
            for c, combo in enumerate(some.tolist()):
                self.change[tuple(combo)] = (ok[c], cost[c].astype(np.float32))
        return scores, costs

    def _parts(self, combo: list[int]) -> Iterator[tuple[list[int], tuple[np.ndarray, np.ndarray]]]:
        for size in range(1, len(combo)):
            for part in combinations(range(len(combo)), size):
                one = self.change.get(tuple(combo[p] for p in part))
                if one is not None:
                    yield list(part), one


def _judge(
    people: Population, aims: list[Aim], changes: int, rows: int, dear: float, rng: np.random.Generator
) -> tuple[list[tuple[int, ...]], np.ndarray, np.ndarray]:
    """Return changes tried, as positions of aims, and (T, n) whether each works for a person and its cost (inf: not).

    Every single change is judged. Of those of several features, the ones that promise most by the scores of their
    parts are, while rows last.
    """
    n = people.n
    if not aims:
        return [], np.empty((0, n), dtype=bool), np.empty((0, n))
    start = people.score(np.arange(n), people.x)
    found = _JudgedChanges(people, aims)
    combos = np.arange(len(aims))[:, None]
    score, cost = found.judge(combos)
    gain = np.where(np.isnan(score), 0.0, score - start)  # (A, n)
    acts, spent = found.acts, int(np.isfinite(score).sum())
    usual = _usual_cost(np.stack([one[1] for one in found.change.values()]), cost)
    for size in range(2, changes + 1):
        left = (rows - spent) // (changes + 1 - size)
        tried = _extended(combos, found.feature, rng)
        if left <= 0 or not len(tried):
            break
        promise, taken = _promise(tried, gain, cost, acts, people.problem.slack - start, dear, usual)
        order = np.argsort(-promise, kind="stable")
        order = order[promise[order] > -np.inf]
        order = order[: int(np.searchsorted(np.cumsum(taken[order]), left, "right"))]
        if not len(order):
            break
        found.judge(tried[order])
        spent += int(taken[order].sum())
        combos = tried[order[:_EXTENDED]]
    ok, paid = (np.stack(some) for some in zip(*found.change.values(), strict=True))
    return list(found.change), ok, paid


def _extended(combos: np.ndarray, feature: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return changes (t, k), each with one aim more about another feature, (t', k + 1), in an order by chance."""
    a = np.arange(len(feature))
    wide = np.concatenate([np.repeat(combos, len(a), 0), np.tile(a, len(combos))[:, None]], axis=1)
    at = feature[wide]
    wide = np.sort(wide[(at[:, :-1] != at[:, -1:]).all(1)], axis=1)
    wide = np.unique(wide, axis=0)
    return np.asarray(wide[rng.permutation(len(wide))])


def _promise(
    combos: np.ndarray, gain: np.ndarray, cost: np.ndarray, acts: np.ndarray, need: np.ndarray, dear: float,
    usual: float,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return (t,) how many people changes would serve if scores added up, cheap ones more; (t,) rows to judge them.

    gain, cost (A, n): of each aim alone. acts (A, n): it asks something of them. need (n,): gain that turns a score.
    """
    gain, paid, need = gain.astype(np.float32), cost.astype(np.float32), need.astype(np.float32)
    out, size = np.empty(len(combos)), np.empty(len(combos), dtype=np.int64)
    step = max(1, 4 * _ROWS // len(need))
    for at in range(0, len(combos), step):
        some = combos[at : at + step]
        both = acts[some].all(1) & np.isfinite(gain[some]).all(1)
        total = np.where(both, gain[some].sum(1), -np.inf)  # (t, n)
        price = paid[some].sum(1)
        worth = 1 - dear * price / (price + usual)
        # Where no sum is enough, such as for a model that gives labels alone, the nearest go first.
        near = np.clip(total / np.maximum(need, 1e-6), 0, 1)
        out[at : at + step] = ((total > need) * worth).sum(1) + 1e-3 * near.sum(1)
        size[at : at + step] = both.sum(1)
    out[size == 0] = -np.inf
    return out, size


# -- words -------------------------------------------------------------------------------------------------


def _aim(feature: Feature, j: int, kind: Literal["is", "at least", "at most"], value: float) -> Aim:
    return Aim(j, kind, float(value), Translatable(lambda: _aim_text(feature, kind, value)))


def _aim_text(feature: Feature, kind: str, value: float) -> str:
    name = words.label(feature)
    if feature.has_levels:
        first, last = {"is": (value, value), "at least": (value, np.inf), "at most": (0.0, value)}[kind]
        levels = _level_list(feature, first, last)
        if levels:
            return gettext("set {name} to {levels}", name=name, levels=levels)
    last_one = value == (feature.high if kind == "at least" else feature.low)
    return gettext(_TO[kind == "at least", last_one], name=name, value=_shown(feature, value))


_TO = {  # (up, to the last there is)
    (True, True): N_("raise {name} to {value}"),
    (True, False): N_("raise {name} to at least {value}"),
    (False, True): N_("lower {name} to {value}"),
    (False, False): N_("lower {name} to at most {value}"),
}


def _level_list(feature: Feature, first: float, last: float) -> str:
    """List the levels from first to last, for "lower" and "below" say little of levels; '' for many of them."""
    some = range(int(max(first, 0)), int(min(last, feature.n_levels - 1)) + 1)
    return words.either([_shown(feature, float(i)) for i in some]) if len(some) <= _LISTED else ""


def _shown(feature: Feature, value: float) -> str:
    text = words.value_text(feature, float(value))
    return words.quoted(text) if feature.has_levels else text


def _level_item(feature: Feature, j: int, value: float) -> RuleCondition:
    text = Translatable(partial(condition_text, feature, "is", value))
    low, high = (value, value + 1) if feature.kind == "ordinal" else (np.nan, np.nan)
    return RuleCondition(j, (Condition(j, "is", float(value), text),), text, float(low), float(high))


def _below(feature: Feature, j: int, edge: float) -> RuleCondition:
    text = Translatable(lambda: _below_text(feature, edge))
    return RuleCondition(j, (Condition(j, "below", float(edge), text),), text, -np.inf, float(edge))


def _below_text(feature: Feature, edge: float) -> str:
    if feature.has_levels and (levels := _level_list(feature, 0, edge - 1)):
        return gettext("{name} is {value}", name=words.label(feature), value=levels)
    if feature.low is not None and feature.kind == "integer" and edge - feature.low == feature.step == 1:
        return condition_text(feature, "is", edge - 1)  # nobody says "late payments below 1"
    return condition_text(feature, "below", edge)


def _from(feature: Feature, j: int, edge: float) -> RuleCondition:
    text = Translatable(lambda: _from_text(feature, edge))
    return RuleCondition(j, (Condition(j, "at least", float(edge), text),), text, float(edge), np.inf)


def _from_text(feature: Feature, edge: float) -> str:
    if feature.has_levels and (levels := _level_list(feature, edge, np.inf)):
        return gettext("{name} is {value}", name=words.label(feature), value=levels)
    return condition_text(feature, "at least", edge)


def _between(feature: Feature, j: int, low: float, high: float) -> RuleCondition:
    text = Translatable(lambda: _between_text(feature, low, high))
    parts = (Condition(j, "at least", float(low), text), Condition(j, "below", float(high), text))
    return RuleCondition(j, parts, text, float(low), float(high))


def _between_text(feature: Feature, low: float, high: float) -> str:
    first = _shown(feature, low) if not feature.unit else words.number(float(low))
    return gettext(
        "{name} from {low} to below {high}", name=words.label(feature), low=first, high=_shown(feature, high)
    )


def _short_of(feature: Feature, aim: Aim) -> RuleCondition | None:
    """Return the condition of all who are not there; None where another item says it."""
    j = aim.feature
    if aim.kind == "is":
        if feature.n_levels == 2:
            return None
        text = Translatable(partial(condition_text, feature, "is not", aim.value))
        return RuleCondition(j, (Condition(j, "is not", aim.value, text),), text)
    if aim.kind == "at least":
        return _below(feature, j, aim.value)
    if feature.has_levels:
        return _from(feature, j, aim.value + 1)
    step = feature.step
    hair = aim.value + 1e-9 * max(abs(aim.value), 1e-9)  # more than a condition calls rounding
    edge = hair if step is None else aim.value + step
    text = Translatable(
        lambda: gettext("{name} above {value}", name=words.label(feature), value=_shown(feature, aim.value))
    )
    return RuleCondition(j, (Condition(j, "at least", edge, text),), text, edge, np.inf)


# -- helpers -----------------------------------------------------------------------------------------------


def _holds(items: Sequence[RuleCondition], x: np.ndarray) -> np.ndarray:
    """Return for whom all conditions hold, (n, d) -> (n,) bool; True for none."""
    out = np.ones(len(x), dtype=bool)
    for one in items:
        out &= one.holds(x)
    return out


def _usual_cost(cost: np.ndarray, otherwise: np.ndarray) -> float:
    """Return the cost of the cheapest change that works, for the person in the middle.

    cost (T, n): inf where none does. otherwise (T, n): costs whatever comes of them, for where none works.
    """
    least = cost.min(0)
    for some in (least[np.isfinite(least)], otherwise):
        if (some > 0).any():
            return float(np.median(some[some > 0]))
    return 1.0


def _features(of: list[list[int]], d: int) -> np.ndarray:
    """Return which features each of m things is about."""
    out = np.zeros((len(of), d), dtype=bool)
    for row, some in enumerate(of):
        out[row, some] = True
    return out


def _reference_rows(people: Population) -> np.ndarray:
    """Return people whose values say where to cut: those refused, and those accepted where the problem knows some."""
    if people.problem.reference is None:
        low, high = people.low.min(0), people.high.max(0)
        known = np.isfinite(low) & np.isfinite(high)
        grid = np.linspace(np.where(known, low, np.nan), np.where(known, high, np.nan), 21)
        return np.concatenate([people.x, people.schema.round(grid)])
    return np.concatenate([people.x, people.problem.reference_accepted])


def _seen(x: np.ndarray, j: int) -> np.ndarray:
    column = x[:, j]
    return np.asarray(column[np.isfinite(column)])


def _rounded(cuts: np.ndarray, column: np.ndarray, whole: bool) -> np.ndarray:
    """Round to two digits of the value, or of how far values spread, whichever are more."""
    low, high = np.quantile(column, [0.1, 0.9])
    sizes = np.stack([np.abs(cuts), np.full(len(cuts), max(high - low, 1e-12))])
    unit = 10.0 ** (np.floor(np.log10(np.maximum(sizes, 1e-12))) - 1).min(0)
    unit = np.maximum(unit, 1.0) if whole else unit
    return np.array([round(float(c), int(-np.log10(u) + 0.5) if u < 1 else 0) if u < 1 else np.round(c / u) * u
                     for c, u in zip(cuts, unit, strict=True)])  # fmt: skip


def _frequent_levels(column: np.ndarray) -> np.ndarray:
    level, count = np.unique(column, return_counts=True)
    return np.asarray(level[np.argsort(-count, kind="stable")][:_LEVELS])


def _bins_moved(
    state: tuple[int, ...],
    combo: tuple[int, ...],
    items: list[RuleCondition],
    aims: list[Aim],
    edges: dict[int, np.ndarray],
) -> float:
    """Count the bins between the state and the change, over all features; another level of a category counts one."""
    total = 0.0
    for a in combo:
        aim = aims[a]
        if aim.kind == "is":
            total += 1
            continue
        item = next(items[c] for c in state if items[c].feature == aim.feature)
        here = item.low if np.isfinite(item.low) else -np.inf
        at = np.searchsorted(edges[aim.feature], [here, aim.value], "right")
        total += max(1.0, abs(float(at[1] - at[0])))
    return total
