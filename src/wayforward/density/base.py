"""How likely what people can change is, given what they cannot, within each group of the accepted.

P(x_f | x'_I, group, accepted): x_f are the features that an act can move, x'_I those that never move, the group's own
attribute aside. Kinds: 'mixture', small mixture density networks; 'kernel', a conditional product kernel; 'flow',
the networks of the mixture with a conditional normalising flow for the numbers. Their product over the groups is high
where all groups have accepted people, which is what balanced recourse asks of a profile.

Numbers count as shares of their ranges, so that log-densities say nats for each such share; levels have probabilities.
A row's numbers never depend on the rows beside it.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from wayforward.density.generative.coding import Coding
from wayforward.errors import DataError, MethodError, ProblemError
from wayforward.model.kernels import jit
from wayforward.scaling import checked_rows, ranges, thinned
from wayforward.schema import SchemaWarning
from wayforward.streams import Streams, keys_of

if TYPE_CHECKING:
    from wayforward.groups import Groups
    from wayforward.schema import Schema

Kind = Literal["mixture", "kernel", "flow"]
Scale = Literal["mass", "relative", "absolute"]

_FEW = 10  # accepted people that a learned density of a group needs
_DRAWS = 512  # proposals that say how large the product gets, for each x'_I
_GRID = np.linspace(0.0, 1.0, 101)
_ROWS = 1 << 16  # proposals held at once where thresholds are made
_PAIRS = 1 << 21  # proposals times people that the NumPy twin of the kernels holds at once


class Densities(ABC):
    """One conditional density a group, fitted and frozen.

    names (g,) of the groups. given (d,) bool: x'_I. hidden (d,) bool: the group's own attribute, neither modelled nor
    shown. made (d,) bool: x_f. accepted (g,): people it was learnt from. seconds: what fitting took.
    """

    kind: ClassVar[str]

    def __init__(
        self, coding: Coding, names: tuple[str, ...], accepted: np.ndarray, span: np.ndarray
    ) -> None:
        self.coding, self.schema, self.names, self.accepted = coding, coding.schema, names, accepted
        self.given, self.hidden, self.made = coding.given, coding.hidden, coding.made
        self.span = span
        self.seconds = 0.0
        self._known: dict[
            int, np.ndarray
        ] = {}  # key of x'_I -> greatest log product, then quantiles under it

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.names)

    @abstractmethod
    def log_density(self, rows: np.ndarray) -> np.ndarray:
        """(m, d) -> (m, g) log P(x_f | x'_I, group, accepted), x'_I as in the rows."""

    @abstractmethod
    def sample(self, x: np.ndarray, s: int, streams: Streams, *, tag: int = 0) -> np.ndarray:
        """(n, s, d): draws of x_f for each person's x'_I, an equal share from every group; the rest as in x.

        Draw i is of group i mod g. Numbers are neither rounded nor cut off at their bounds.
        """

    def log_product(self, rows: np.ndarray) -> np.ndarray:
        """(m, d) -> (m,) log of the product of all groups' densities."""
        return np.asarray(self.log_density(rows).sum(1))

    def threshold(self, rows: np.ndarray, beta: float, scale: Scale = "mass") -> np.ndarray:
        """(m, d) -> (m,) what the log product must exceed, for each row's x'_I.

        scale: 'absolute', log beta; 'relative', beta of the greatest product among proposals; 'mass', what a share
        1 - beta of the product's own mass exceeds.
        """
        if scale == "absolute":
            return np.full(len(rows), math.log(beta) if beta > 0 else -math.inf)
        if beta <= 0 and scale == "relative":
            return np.full(len(rows), -math.inf)
        table = self._tables(rows)
        if scale == "relative":
            return np.asarray(table[:, 0] + math.log(beta))
        place = min(max(beta, 0.0), 1.0) * (len(_GRID) - 1)
        low = min(int(place), len(_GRID) - 2)
        part = place - low
        return np.asarray(table[:, 1 + low] * (1 - part) + table[:, 2 + low] * part)

    def above(self, rows: np.ndarray, beta: float, scale: Scale = "mass") -> np.ndarray:
        """(m, d) -> (m,) bool: the product exceeds the threshold."""
        if not len(rows):
            return np.zeros(0, dtype=bool)
        return np.asarray(self.log_product(rows) > self.threshold(rows, beta, scale))

    def _tables(self, rows: np.ndarray) -> np.ndarray:
        """(m, 102): greatest log product and its quantiles for each row's x'_I, from proposals that x'_I keys."""
        plain = np.where(self.given, rows, 0.0)
        keys = keys_of(plain, 0)
        new, first = np.unique(keys, return_index=True)
        ask = first[[int(key) not in self._known for key in new.tolist()]]
        size = max(1, _ROWS // _DRAWS)
        for begin in range(0, len(ask), size):
            some = ask[begin : begin + size]
            drawn = self.sample(rows[some], _DRAWS, Streams(keys[some], 0), tag=0xBE7A)
            log = self.log_density(drawn.reshape(-1, rows.shape[1])).reshape(len(some), _DRAWS, -1)
            product = log.sum(2)
            weight = np.exp(product - mixed(log) - (product - mixed(log)).max(1, keepdims=True))
            for key, value, heavy in zip(keys[some].tolist(), product, weight, strict=True):
                order = value.argsort(kind="stable")
                share = (heavy[order].cumsum() - 0.5 * heavy[order]) / heavy.sum()
                self._known[key] = np.r_[value.max(), np.interp(_GRID, share, value[order])]
        return np.stack([self._known[key] for key in keys.tolist()]) if len(rows) else np.zeros((0, 102))

    def _others(self, x: np.ndarray, s: int) -> np.ndarray:
        return np.repeat(x[:, None, :], s, axis=1)


def mixed(log: np.ndarray) -> np.ndarray:
    """(..., g) log-densities -> (...,) log of their mean, the density that proposals are drawn from."""
    top = log.max(-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(log - top).mean(-1)) + top[..., 0])


# -- which groups, which features ------------------------------------------------------------------------------


def resolve_groups(groups: Groups | str | None, schema: Schema, rows: np.ndarray) -> Groups:
    """The groups of rows (N, d): given as such, by the name of a feature, or the one sensitive feature.

    Raises: DataError where labels and rows do not go together or a quantity is no group; ProblemError where there is
    not exactly one sensitive feature to fall back on.
    """
    from wayforward.groups import Groups

    if isinstance(groups, Groups):
        if len(groups) != len(rows):
            raise DataError(
                f"'{groups.name}' groups {len(groups)} people, and the problem's table has {len(rows)}. "
                "Give one label for each person of Problem(..., data=train)."
            )
        return groups
    if groups is None:
        sensitive = [f.name for f in schema.features if f.sensitive]
        if len(sensitive) != 1:
            told = (
                f"the sensitive features are {', '.join(sensitive)}"
                if sensitive
                else "no feature is sensitive"
            )
            raise ProblemError(
                f"Balance between which groups? Here {told}. Give groups='name of a feature', or Groups of the "
                "people in Problem(..., data=train)."
            )
        groups = sensitive[0]
    if not isinstance(groups, str):
        raise DataError(
            f"groups={groups!r:.60} is neither the name of a feature nor Groups. Use Groups.of(name, labels)."
        )
    return Groups.of(groups, rows, schema)


def telling(groups: Groups, schema: Schema, rows: np.ndarray, given: np.ndarray) -> np.ndarray:
    """(d,) bool: the groups' attribute, and what never moves and is tied to it: sex told by a title, or sex where the
    groups are sex and race crossed.

    Given in another coding, a group would be asked about people whom it does not have.
    """
    out = np.zeros(schema.d, dtype=bool)
    if groups.feature is not None:
        out[groups.feature] = True
    known = groups.member >= 0
    for j in np.flatnonzero(given & schema.has_levels & ~out):
        seen = known & ~np.isnan(rows[:, j])
        table = np.zeros((int(schema.n_levels[j]), groups.n_groups), dtype=np.int64)
        np.add.at(table, (rows[seen, j].astype(np.int64), groups.member[seen]), 1)
        lived = table[table.sum(1) > 0] > 0
        if len(lived) > 1 and lived.any(0).sum() > 1:
            told = bool((lived.sum(1) == 1).all())  # each level has people of one group
            out[j] = told or bool((lived.sum(0) <= 1).all())  # or each group people of one level
    return out


def fit_density(
    kind: Kind,
    schema: Schema,
    rows: np.ndarray,
    groups: Groups,
    *,
    given: np.ndarray | None = None,
    components: int = 5,
    hidden: int = 32,
    bandwidth: float = 1.0,
    most: int = 1000,
    seed: int = 0,
) -> Densities:
    """Conditional densities of accepted people, one a group.

    rows (N, d): accepted people, `groups` theirs. given (d,) bool: x'_I; left out, what the schema calls immutable.
    components, hidden: of the mixture. bandwidth, most: of the kernel, and how many people of a group it keeps.
    Example: ``fit_density("kernel", schema, accepted, groups).log_product(accepted)``.
    Raises: MethodError for an unknown kind; ProblemError for a group without accepted people, or too few for networks,
    and for infinite values; DataError for a missing value that the schema rules out.
    """
    if kind not in get_args(Kind):
        raise MethodError(f"There is no density of kind {kind!r}. Choose one of {', '.join(get_args(Kind))}.")
    import time

    started = time.perf_counter()
    rows = checked_rows(schema, rows, "accepted people")
    lost = np.isnan(rows).any(0) & ~np.asarray(schema.missing)
    if lost.any():
        name = schema.names[int(np.flatnonzero(lost)[0])]
        raise DataError(
            f"'{name}' is missing for some accepted people, and the schema says that it never is. "
            f"Give Feature(name='{name}', missing=True), fill the values in, or leave these people out."
        )
    known = np.asarray(schema.immutable) if given is None else np.asarray(given, dtype=bool)
    hide = telling(groups, schema, rows, known)
    known = known & ~hide
    if not (~known & ~hide).any():
        raise ProblemError(
            f"No feature but '{groups.name}' may change, so no profile is more balanced than another. "
            "Make a feature actionable."
        )
    count = groups.sizes
    least = 1 if kind == "kernel" else _FEW
    for name, size in zip(groups.names, count.tolist(), strict=True):
        if size < least:
            has = "nobody whom the model accepts" if size == 0 else f"{size} accepted people"
            raise ProblemError(
                f"Group '{name}' of '{groups.name}' has {has} in the problem's table, "
                + ("so it has no density. " if size == 0 else f"too few for density='{kind}'. ")
                + "Merge it with another group, leave its labels out (None), "
                + ("or give a larger table." if size == 0 else "or use density='kernel'.")
            )
    coding = Coding(schema, known, hide, Coding.scales_of(schema, rows))
    span, _ = ranges(schema, rows)
    options: dict[str, Any] = {"seed": seed}
    made: Densities
    if kind == "kernel":
        made = Kernel(coding, rows, groups, span, bandwidth=bandwidth, most=most, **options)
    else:
        from wayforward.density import mixture as density_nets

        make = density_nets.Mixture if kind == "mixture" else density_nets.Flow
        made = make(coding, rows, groups, span, components=components, hidden=hidden, **options)
    made.seconds = time.perf_counter() - started
    return made


def present_groups(groups: Groups) -> Groups:
    """Without the groups that have nobody; a warning names them. Raises: DataError where fewer than two remain."""
    empty = groups.sizes == 0
    if not empty.any():
        return groups
    gone = ", ".join(f"'{name}'" for name, none in zip(groups.names, empty, strict=True) if none)
    warnings.warn(
        f"Nobody in the problem's table belongs to {gone} of '{groups.name}': balance is between the others.",
        SchemaWarning,
        stacklevel=3,
    )
    place = np.where(empty, -1, np.cumsum(~empty) - 1)
    member = np.where(groups.member >= 0, place[groups.member], -1)
    names = tuple(name for name, none in zip(groups.names, empty, strict=True) if not none)
    return type(groups)(groups.name, names, member.astype(np.int64), groups.feature)


# -- kernels ---------------------------------------------------------------------------------------------------


class Kernel(Densities):
    """A conditional product kernel estimate: people of the group, weighted by how like x'_I they are.

    Gaussian kernels on numbers, in their scaled space, with Scott's bandwidth; Aitchison and Aitken's on levels (their
    share of other levels falls with the number of people). Source: P. Hall, J. Racine, Q. Li (2004), Cross-Validation
    and the Estimation of Conditional Probability Densities, JASA 99, for the form; bandwidths are by rule here.
    """

    kind = "kernel"
    block = 1024

    def __init__(
        self,
        coding: Coding,
        rows: np.ndarray,
        groups: Groups,
        span: np.ndarray,
        *,
        bandwidth: float,
        most: int,
        seed: int,
    ) -> None:
        super().__init__(coding, groups.names, groups.sizes, span)
        self.bandwidth = bandwidth
        self._made_number = coding.mean_of
        self._given_number = np.flatnonzero(coding.given[coding.numeric])
        self._made_level = np.flatnonzero(coding.made[coding.level])
        self._given_level = np.flatnonzero(coding.given[coding.level])
        self.kept = []
        for g in range(self.n_groups):
            own = rows[groups.member == g]
            self.kept.append(self._group(own[thinned(len(own), most, seed)], rows))

    def _group(self, own: np.ndarray, everyone: np.ndarray) -> dict[str, Any]:
        """What log kernels of a group are worked out from: products of codes and tables, for x_f and for x'_I."""
        coding, n = self.coding, len(own)
        out: dict[str, Any] = {"n": n, "rows": own}
        number, wide = coding.scaled(own), coding.scaled(everyone)
        for name, numbers, levels in (
            ("made", self._made_number, self._made_level),
            ("given", self._given_number, self._given_level),
        ):
            shrink = self.bandwidth * n ** (-1 / (max(len(numbers), 1) + 4))
            width = np.maximum(_spread(number[:, numbers]), 0.1) if n > 1 else np.ones(len(numbers))
            if n > 1 and name == "given":  # how alike people must be is a question about all of them
                width = np.maximum(_spread(wide[:, numbers]), 0.1)
            width = np.nan_to_num(width, nan=1.0) * shrink
            miss = [
                min(0.5 * self.bandwidth * n ** (-1 / 5), (c - 1) / c) if c > 1 else 0.0
                for c in coding.size[levels].tolist()
            ]
            value = number[:, numbers]
            out[name] = {
                "width": width,
                "value": np.nan_to_num(value) / width,
                "gone": np.isnan(value),
                "miss": np.array(miss),
                "level": coding.own(own)[:, levels],
            }
        # People alike in x'_I are alike to whoever asks.
        same = out["given"]
        first, out["kin"] = _alike([*same["value"].T, *same["gone"].T, *same["level"].T], n)
        for part in ("value", "gone", "level"):
            same[part] = same[part][first]
        out["tree"] = self._tree(out["made"], n)
        return out

    def _tree(self, made: dict[str, Any], n: int) -> dict[str, Any]:
        """The different x_f of a group as `_density_jit.sums` reads them: features of few values first."""
        coding, schema = self.coding, self.coding.schema
        columns: list[tuple[int, np.ndarray, np.ndarray, bool, tuple[float, float, float]]] = []
        for j, f in enumerate(self._made_number):
            peak = -math.log(made["width"][j] * math.sqrt(2 * math.pi))
            lost, log = made["gone"][:, j], (peak, peak, peak)
            if schema.missing[coding.numeric[f]]:
                log = (peak + math.log(0.95), math.log(0.95), math.log(0.05))
            else:
                lost = np.zeros(n, dtype=bool)
            columns.append((j, made["value"][:, j], lost, False, log))
        for j, f in enumerate(self._made_level):
            h, c = made["miss"][j], int(coding.size[f])
            if c > 1:
                same, other = math.log(1 - h), math.log(max(h, 1e-12) / (c - 1))
                columns.append(
                    (j, made["level"][:, j].astype(float), np.zeros(n, bool), True, (same, same, other))
                )
        if not columns:  # only features of one level: there is one profile, of probability 1
            return {"of": []}
        codes = [_alike([value, lost], n) for _, value, lost, *_ in columns]
        # Few values first: rows that begin alike share the product so far. Numbers that hardly anybody shares go last.
        one, _ = _alike([code for _, code in codes], n)
        few = [
            level or len(some) <= len(one) // 2
            for (*_, level, _), (some, _) in zip(columns, codes, strict=True)
        ]
        order = sorted(range(len(columns)), key=lambda i: (not few[i], len(codes[i][0])))
        columns, codes = [columns[i] for i in order], [codes[i] for i in order]
        q, h = len(columns), sum(few)
        one, leaf = _alike([code for _, code in codes], n)
        start = np.r_[0, np.cumsum([len(some) for some, _ in codes[:h]])].astype(np.int64)
        index = np.stack([code[one] for _, code in codes], axis=1)[:, :h] + start[:-1]
        last = index[:, -1] if h == q else np.zeros(0, dtype=np.int64)
        index = index[:, : min(h, q - 1)]
        unlike = np.zeros(index.shape, dtype=bool)
        unlike[1:] = np.logical_or.accumulate(index[1:] != index[:-1], axis=1)
        branch = np.r_[True, unlike[1:].any(1)]
        unlike, index = unlike[branch], index[branch]
        unlike[0] = True
        skip = np.empty(index.shape, dtype=np.int64)
        for j in range(index.shape[1]):  # the next branch, if any, where this column or one before differs
            place = np.r_[np.flatnonzero(unlike[:, j]), len(index)]
            skip[:, j] = place[np.searchsorted(place, np.arange(len(index)), side="right")]
        costs = np.array([log for *_, log in columns])
        some = [(c[1], c[2], code[0]) for c, code in zip(columns[:h], codes[:h], strict=True)]
        parts = {
            "leaf": leaf.astype(np.uint32),
            "level": np.array([level for *_, level, _ in columns]),
            "cost": costs.max(1, keepdims=True) - costs,
            "table": np.concatenate([np.zeros(0), *[value[of] for value, _, of in some]]),
            "lost": np.concatenate([np.zeros(0, dtype=bool), *[lost[of] for _, lost, of in some]]),
            "start": start,
            "index": index.astype(np.uint32),
            "first": unlike.argmax(1) if index.shape[1] else np.zeros(len(index), dtype=np.int64),
            "skip": skip,
            "begin": np.r_[np.flatnonzero(branch), len(one)].astype(np.int64),
            "last": last.astype(np.uint32),
            "own": np.array([c[1][one] for c in columns[h:]]).reshape(q - h, len(one)),
            "absent": np.array([c[2][one] for c in columns[h:]], dtype=bool).reshape(q - h, len(one)),
        }
        return {
            "of": [(j, level) for j, _, _, level, _ in columns],
            "top": float(costs.max(1).sum()),
            "parts": parts,
        }

    def _log_kernels(self, g: int, part: str, rows: np.ndarray) -> np.ndarray:
        """(m, R) log kernels between rows and the people of a group over x_f ('made'), or over x'_I ('given') its
        R different x'_I."""
        coding, own = self.coding, self.kept[g][part]
        numbers, levels = (
            (self._made_number, self._made_level)
            if part == "made"
            else (self._given_number, self._given_level)
        )
        scaled = coding.scaled(rows)[:, numbers]
        gone = np.isnan(scaled)
        here = np.nan_to_num(scaled) / own["width"]
        out = np.zeros((len(rows), len(own["value"])))
        for j in range(len(numbers)):  # feature by feature: the same rounding whatever else is asked
            far = here[:, j, None] - own["value"][None, :, j]
            term = -0.5 * far * far - math.log(own["width"][j] * math.sqrt(2 * math.pi))
            if coding.schema.missing[coding.numeric[numbers[j]]]:
                lost = gone[:, j, None] != own["gone"][None, :, j]
                none = gone[:, j, None] | own["gone"][None, :, j]
                term = np.where(none, 0.0, term) + np.where(lost, math.log(0.05), math.log(0.95))
            out += term
        level = coding.own(rows)[:, levels]
        for j in range(len(levels)):
            h, c = own["miss"][j], int(coding.size[levels[j]])
            if c < 2:
                continue
            same = level[:, j, None] == own["level"][None, :, j]
            out += np.where(same, math.log(1 - h), math.log(max(h, 1e-12) / (c - 1)))
        return out

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        """(m, d) -> (m, g), see the class."""
        out = np.empty((len(rows), self.n_groups))
        shift = jacobian(self.coding, rows, self.span)
        # Proposals share their x'_I with many others: how like it people are is worked out once.
        _, first, same = np.unique(
            keys_of(np.where(self.given, rows, 0.0), 0), return_index=True, return_inverse=True
        )
        order = np.argsort(same, kind="stable")
        fast = jit()
        step = _PAIRS // max(kept["n"] for kept in self.kept)
        for begin in range(0, len(rows), max(1, step)):
            at = order[begin : begin + max(1, step)]
            lowest = same[at[0]]
            askers, key = rows[first[lowest : same[at[-1]] + 1]], same[at] - lowest
            some = rows[at]
            scaled, level = (
                self.coding.scaled(some)[:, self._made_number],
                self.coding.own(some)[:, self._made_level],
            )
            for g in range(self.n_groups):
                like = self._log_kernels(g, "given", askers)
                if fast is not None:
                    out[at, g] = self._sums(g, scaled, level, key, like)
                    continue
                like = like[:, self.kept[g]["kin"]]
                like = like - like.max(1, keepdims=True)  # else a far x'_I would round what is of x_f away
                total = _log_sum(like)
                out[at, g] = _log_sum(like[key] + self._log_kernels(g, "made", some)) - total[key]
        return np.asarray(out + shift[:, None])

    def _sums(
        self, g: int, scaled: np.ndarray, level: np.ndarray, key: np.ndarray, like: np.ndarray
    ) -> np.ndarray:
        """Scaled numbers (m, p) and levels (m, k) of rows, which x'_I (m,) of like (K, G) is theirs -> (m,)."""
        from wayforward.density import _kernel_jit as fast

        kept, out = self.kept[g], np.empty(len(key))
        tree, width = kept["tree"], kept["made"]["width"]
        if not tree["of"]:
            return np.zeros(len(key))
        value = np.empty((len(key), len(tree["of"])))
        gone = np.zeros(value.shape, dtype=bool)
        for c, (j, is_level) in enumerate(tree["of"]):
            if is_level:
                value[:, c] = level[:, j]
            else:
                value[:, c] = np.nan_to_num(scaled[:, j]) / width[j]
                if self.schema.missing[self.coding.numeric[self._made_number[j]]]:
                    gone[:, c] = np.isnan(scaled[:, j])
        parts = (value, gone, key, like, kept["kin"].astype(np.uint32), *tree["parts"].values(), out)
        fast.sums(*parts)
        if np.isnan(out).any():
            fast.far_sums(*parts)
        return np.asarray(out + tree["top"])

    def sample(self, x: np.ndarray, s: int, streams: Streams, *, tag: int = 0) -> np.ndarray:
        """(n, s, d): a person of the group by their likeness in x'_I, then the kernel's noise."""
        coding, n = self.coding, len(x)
        out, who = self._others(x, s), np.arange(n)
        if not n:
            return out
        numbers, levels = coding.numeric[self._made_number], coding.level[self._made_level]
        pick = streams.uniform(who, s, tag=tag * 4 + 1)
        noise = streams.normal(who, s, max(len(numbers), 1), tag=tag * 4 + 2)
        swap = streams.uniform(who, s, max(len(levels), 1), 2, tag=tag * 4 + 3)
        for g in range(self.n_groups):
            slot = np.arange(g, s, self.n_groups)
            own = self.kept[g]
            like = self._log_kernels(g, "given", x)[:, own["kin"]]
            total = np.exp(like - like.max(1, keepdims=True)).cumsum(1)
            total /= total[:, -1:]
            chosen = _below(total, pick[:, slot]).clip(max=own["n"] - 1)  # (n, slots)
            base = own["made"]["value"][chosen] * own["made"]["width"]
            value = base + noise[:, slot, : len(numbers)] * own["made"]["width"]
            value = np.where(own["made"]["gone"][chosen], np.nan, unscale(coding, self._made_number, value))
            out[:, slot[:, None], numbers[None, :]] = value
            level = own["made"]["level"][chosen]
            for j in range(len(levels)):
                c, h = int(coding.size[self._made_level[j]]), own["made"]["miss"][j]
                if c > 1:
                    other = (level[..., j] + 1 + (swap[:, slot, j, 1] * (c - 1)).astype(np.int64)) % c
                    level[..., j] = np.where(swap[:, slot, j, 0] < h, other, level[..., j])
            known = self.schema.n_levels[levels]
            out[:, slot[:, None], levels[None, :]] = np.where(level < known, level, np.nan)
        return out


def _alike(columns: list[np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that agree in all columns (n,): one row of each kind, in the order of the values, and each row's kind."""
    kind = np.zeros(n, dtype=np.int64)
    for column in columns:
        _, code = np.unique(column, return_inverse=True)
        _, kind = np.unique(kind * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    return np.unique(kind, return_index=True)[1], kind.astype(np.int64)


def _below(total: np.ndarray, luck: np.ndarray) -> np.ndarray:
    """How many of each row's ascending numbers (n, R) are below luck (n, s) -> (n, s)."""
    if jit() is None:
        return np.asarray((total[:, None, :] < luck[:, :, None]).sum(2))
    from wayforward.density import _kernel_jit as fast

    out = np.empty(luck.shape, dtype=np.int64)
    fast.below(total, np.ascontiguousarray(luck), out)
    return out


def _spread(number: np.ndarray) -> np.ndarray:
    """(n, p) -> (p,) standard deviations of what is there; 0 where nothing is."""
    there = ~np.isnan(number)
    count = np.maximum(there.sum(0), 1)
    mean = np.where(there, number, 0.0).sum(0) / count
    return np.asarray(np.sqrt(np.where(there, (number - mean) ** 2, 0.0).sum(0) / count))


def _log_sum(log: np.ndarray) -> np.ndarray:
    top = log.max(1, keepdims=True)
    return np.asarray(np.log(np.exp(log - top).sum(1)) + top[:, 0])


# -- scales of numbers -----------------------------------------------------------------------------------------


def jacobian(coding: Coding, rows: np.ndarray, span: np.ndarray) -> np.ndarray:
    """(m,) log-density of x_f in shares of the ranges, less its log-density in the scaled space."""
    s, of = coding.scales, coding.mean_of
    if not len(of):
        return np.zeros(len(rows))
    numbers = coding.numeric[of]
    value = rows[:, numbers]
    away = np.abs(value - s["origin"][of])
    unit = s["unit"][of]
    slope = np.log(span[numbers]) - np.log(s["spread"][of]) - np.log(np.where(unit > 0, unit + away, 1.0))
    return np.asarray(np.where(np.isnan(value), 0.0, slope).sum(1))


def unscale(coding: Coding, of: np.ndarray, scaled: np.ndarray) -> np.ndarray:
    """(..., p') scaled numbers of the ranks `of` -> feature units, beyond what was observed where they are."""
    s = {key: a[of] for key, a in coding.scales.items()}
    t = scaled * s["spread"] + s["centre"]
    bent = s["unit"] > 0
    away = np.sign(t) * np.expm1(np.minimum(np.abs(np.where(bent, t, 0.0)), 50.0)) * s["unit"] + s["origin"]
    return np.asarray(np.where(bent, away, t))
