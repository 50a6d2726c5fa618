"""The rules of a problem, read once and applied to whole arrays of people and options."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from wayforward.errors import RuleError
from wayforward.lazy import cached_property
from wayforward.public import public
from wayforward.rules.arrays import Array, align, broadcast_shape, operations
from wayforward.rules.boxes import interval
from wayforward.rules.contradiction import contradiction
from wayforward.rules.evaluate import PointAtoms, truth_of
from wayforward.rules.expression import Changes, Condition, Drag, feature_names, text, walk
from wayforward.rules.grammar import FeatureInfo, index_of, parse_rule
from wayforward.rules.normal_form import NormalForm, normal_form


@public
@dataclass(frozen=True)
class Rule:
    """One rule: its text as written, and the tree it was read into.

    ``str(rule)`` writes the tree back in the grammar, in one canonical spelling.
    """

    text: str
    body: Condition | Drag

    def __str__(self) -> str:
        return text(self.body)

    @property
    def is_link(self) -> bool:
        """Whether the rule moves values (``x drags y by 2``) instead of judging them."""
        return isinstance(self.body, Drag)

    @property
    def features(self) -> tuple[str, ...]:
        """The features that the rule names, in order of appearance.

        ``at most 3 changes`` names none although it depends on all; see `counts_all`.
        """
        return feature_names(self.body)

    @property
    def counts_all(self) -> bool:
        """Whether the rule counts the changes of every feature."""
        return any(isinstance(node, Changes) and not node.names for node in walk(self.body))


@public
@dataclass(frozen=True)
class RuleSet:
    """All the rules over one schema's features.

    The conditions judge a pair (before, after); the links say what else moves. Arrays are in feature
    units with level indices, shape (..., d) in schema order; people lead, so (n, d) goes with
    (n, k, d). NumPy arrays and torch tensors both work.

    Example:
        >>> from types import SimpleNamespace as Plain
        >>> age = Plain(name="age", kind="integer", has_levels=False, levels=(), low=18, high=90)
        >>> rules = RuleSet.parse(["after.age >= before.age"], [age])
        >>> rules.satisfied([[30.0]], [[[31.0], [29.0]]]).tolist()
        [[True, False]]
    """

    rules: tuple[Rule, ...]
    features: tuple[FeatureInfo, ...] = field(repr=False, compare=False)

    @classmethod
    def parse(cls, texts: Sequence[str], features: Sequence[FeatureInfo]) -> RuleSet:
        """Read the rules.

        Raises: RuleError that points into the text at fault; also if links form a cycle.
        """
        if isinstance(texts, str):
            texts = (texts,)
        by_name = index_of(features)
        made = cls(tuple(Rule(t, parse_rule(t, by_name)) for t in texts), tuple(features))
        _ = made._drag_order  # a cycle of links is an error of the text, so it is found now
        return made

    def __len__(self) -> int:
        return len(self.rules)

    @cached_property
    def conditions(self) -> tuple[Rule, ...]:
        """The r rules that judge; the last axis of `holds` follows this order."""
        return tuple(rule for rule in self.rules if not rule.is_link)

    @cached_property
    def links(self) -> tuple[Drag, ...]:
        """The rules ``x drags y by ...``: source, target and rate of each."""
        return tuple(rule.body for rule in self.rules if isinstance(rule.body, Drag))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features that any rule names."""
        return tuple(dict.fromkeys(name for rule in self.rules for name in rule.features))

    @cached_property
    def bodies(self) -> tuple[Condition, ...]:
        """(r,) the trees of the conditions."""
        return tuple(rule.body for rule in self.rules if not isinstance(rule.body, Drag))

    @cached_property
    def involved(self) -> np.ndarray:
        """(r, d) bool: which features the truth of each condition depends on."""
        index = {feature.name: i for i, feature in enumerate(self.features)}
        out = np.zeros((len(self.conditions), len(self.features)), dtype=bool)
        for row, rule in enumerate(self.conditions):
            out[row, [index[name] for name in rule.features]] = True
            out[row] |= rule.counts_all
        return out

    @cached_property
    def spans(self) -> np.ndarray:
        """(d,) the width of each feature, NaN where unbounded: a change is more than 1e-9 of it."""
        return np.array([_span(feature) for feature in self.features], dtype=np.float64)

    # -- judging --------------------------------------------------------------------------------
    def _pairs(self, before: Array, after: Array) -> tuple[list[tuple[Array, Array]], tuple[int, ...], Array]:
        ops = operations(before, after)
        before, after = align(before, after)
        d = len(self.features)
        for what, array in (("before", before), ("after", after)):
            if array.ndim < 1 or array.shape[-1] != d:
                raise RuleError(
                    f"{what} has shape {tuple(array.shape)}, but its last axis must hold the {d} features."
                )
        atoms = PointAtoms(before, after, self.spans, ops)
        with np.errstate(all="ignore"):
            pairs = [truth_of(body, atoms) for body in self.bodies]
        return pairs, broadcast_shape(before, after), ops

    def holds(self, before: Array, after: Array) -> Array:
        """(..., d), (..., d) -> (..., r) bool: False only where a rule is surely broken.

        A rule that hangs on a missing value is not broken.
        """
        pairs, shape, ops = self._pairs(before, after)
        if not pairs:
            return ops.falses((*shape, 0), after)
        return ops.stack([ops.broadcast(possibly, shape) for _, possibly in pairs])

    def truth(self, before: Array, after: Array) -> Array:
        """(..., d), (..., d) -> (..., r) float: 1 true, 0.5 unknown (a value is missing), 0 false."""
        pairs, shape, ops = self._pairs(before, after)
        if not pairs:
            return ops.number(ops.falses((*shape, 0), after))
        return ops.stack([ops.broadcast((ops.number(s) + ops.number(p)) / 2, shape) for s, p in pairs])

    def satisfied(self, before: Array, after: Array) -> Array:
        """(..., d), (..., d) -> (...) bool: no rule is surely broken."""
        pairs, shape, ops = self._pairs(before, after)
        out = ~ops.falses(shape, after)
        for _, possibly in pairs:
            out = out & possibly
        return out

    def kept(self, before: Array, after: Array) -> Array:
        """`satisfied`, under its old name."""
        warnings.warn(
            "RuleSet.kept is now RuleSet.satisfied. The old name goes with the next release.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.satisfied(before, after)

    # -- linkage --------------------------------------------------------------------------------
    @cached_property
    def _drag_order(self) -> tuple[tuple[int, tuple[Drag, ...]], ...]:
        """(feature, the links into it), causes before effects."""
        into: dict[int, list[Drag]] = {}
        for link in self.links:
            if any(link.source_index == other.source_index for other in into.get(link.target_index, [])):
                raise RuleError(f"Two rules say how '{link.source}' drags '{link.target}'. Keep one.")
            into.setdefault(link.target_index, []).append(link)
        order: list[tuple[int, tuple[Drag, ...]]] = []
        done: set[int] = set()

        def visit(index: int, path: tuple[int, ...]) -> None:
            if index in path:
                loop = [self.features[i].name for i in (*path[path.index(index) :], index)]
                raise RuleError(f"The links form a cycle: {' drags '.join(loop)}. Remove one of them.")
            if index in done:
                return
            for link in into.get(index, ()):
                visit(link.source_index, (*path, index))
            done.add(index)
            if index in into:
                order.append((index, tuple(into[index])))

        for index in into:
            visit(index, ())
        return tuple(order)

    def drag(self, before: Array, after: Array, acted: Array) -> Array:
        """Move what the links drag: (..., d), (..., d), (..., d) bool -> after (..., d).

        A feature moves by the sum of rate x change over its links, on top of where it already is,
        unless it is acted on, and passes its move on. Integers and positions of levels are rounded
        to the nearest whole number (levels also kept in range); a missing value drags nothing.
        Torch tensors keep the gradient through the rounding (straight through).
        """
        if not self._drag_order:
            return after
        ops = operations(before, after)
        before, after = align(before, after)
        columns: dict[int, Array] = {}
        for index, links in self._drag_order:
            move: Array = 0.0
            for link in links:
                j = link.source_index
                change = columns.get(j, after[..., j]) - before[..., j]
                move = move + link.rate * ops.where(ops.isnan(change), 0.0, change)
            old = after[..., index]
            new = old + move
            feature = self.features[index]
            if feature.has_levels or feature.kind == "integer":
                whole = ops.rint(new)
                if feature.has_levels:
                    whole = ops.minimum(ops.maximum(whole, 0.0), float(len(feature.levels) - 1))
                new = ops.straight_through(new, whole)
            stays = acted[..., index] | (move == 0.0)
            columns[index] = ops.where(stays, old, new)
        shape = (*broadcast_shape(before, after), after.shape[-1])
        return ops.replaced(after, columns, shape)

    def drag_bounds(
        self, before: np.ndarray, low: np.ndarray, high: np.ndarray, acts: np.ndarray, rests: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sound bounds on `drag`: before (..., d), bounds on after (..., d) twice -> bounds (..., d) twice.

        acts, rests (..., d) bool: the feature may be acted on, may be left alone. NaN: nothing is known.
        """
        low, high = np.array(low), np.array(high)
        for index, links in self._drag_order:
            move = [np.zeros(low.shape[:-1]), np.zeros(low.shape[:-1])]
            for link in links:
                j = link.source_index
                change = [end[..., j] - before[..., j] for end in (low, high)]
                gone = np.isnan(before[..., j]) & ~acts[..., j]  # stays missing, and drags nothing
                ends = [np.where(gone, 0.0, link.rate * part) for part in change]
                move = [a + b for a, b in zip(move, ends[:: 1 if link.rate >= 0 else -1], strict=True)]
            feature = self.features[index]
            old = low[..., index], high[..., index]
            new = [a + b for a, b in zip(old, move, strict=True)]
            if feature.has_levels or feature.kind == "integer":
                new = [np.rint(end) for end in new]
                if feature.has_levels:
                    new = [np.clip(end, 0.0, len(feature.levels) - 1.0) for end in new]
            may_stay = acts[..., index] | ((move[0] <= 0) & (move[1] >= 0))
            least, most = np.minimum(new[0], old[0]), np.maximum(new[1], old[1])
            drags = rests[..., index]
            low[..., index] = np.where(drags, np.where(may_stay, least, new[0]), old[0])
            high[..., index] = np.where(drags, np.where(may_stay, most, new[1]), old[1])
        return low, high

    # -- proofs ---------------------------------------------------------------------------------
    def interval(
        self,
        before_low: Array,
        before_high: Array,
        after_low: Array,
        after_high: Array,
        *,
        before_levels: Mapping[int, np.ndarray] | None = None,
        after_levels: Mapping[int, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Judge whole boxes: (..., d) each -> (..., r) int, 1 surely holds, -1 surely broken, 0 unknown.

        Every before in its box and every after in its box is covered, so 1 and -1 are proofs. NaN
        bounds mean "any value, or none". `before_levels` and `after_levels` narrow features with
        levels further: feature index -> (..., L) bool of levels that are possible.
        """
        boxes = before_low, before_high, after_low, after_high, before_levels, after_levels
        return interval(self.bodies, self.features, self.spans, *boxes)

    def normal_form(self) -> tuple[NormalForm | None, ...]:
        """(r,) each condition as clauses of linear and level-set atoms; None where it is not linear."""
        return tuple(normal_form(body, self.features) for body in self.bodies)

    def contradiction(self) -> str | None:
        """A sentence that names rules which no person and no option can keep at once, or None.

        A sentence is a proof over the declared domains (up to the rules' tolerance); None is not a
        proof that the rules agree.
        """
        texts = [(rule.text, body) for rule, body in zip(self.conditions, self.bodies, strict=True)]
        return contradiction(texts, self.features, self.spans, self.satisfied)


def _span(feature: FeatureInfo) -> float:
    span = getattr(feature, "span", None)
    if span is not None:
        return float(span)
    if feature.has_levels:
        return max(1.0, len(feature.levels) - 1.0)
    if feature.low is None or feature.high is None or not feature.high > feature.low:
        return float("nan")
    return float(feature.high) - float(feature.low)
