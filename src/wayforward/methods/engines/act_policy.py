"""A policy over acts, learnt from searches of its own: a small network, and Monte Carlo tree search that it guides.

Source: G. De Toni, B. Lepri, A. Passerini (2023), Synthesizing explainable counterfactual policies for algorithmic
recourse with program synthesis, Machine Learning; arXiv:2201.07135. Acts are done once, so that state and acts done are
all that the published recurrent network would remember.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from wayforward.methods.engines.act_search import States
from wayforward.shapes import Floats, Ints

if TYPE_CHECKING:
    from wayforward.methods.engines.act_search import ActSearch
    from wayforward.schema import Schema

_HIDDEN, _EPOCHS, _BATCH, _RATE = 48, 12, 64, 3e-3


class Policy(Protocol):
    """What says how good each choice is: states (m, s) -> logarithms of chances (m, c), and what is expected (m,)."""

    def __call__(self, states: Floats) -> tuple[Floats, Floats]:
        """Return both."""
        ...


class Traces(NamedTuple):
    """What searches did: states (m, s), share of visits of each choice (m, c), what came of it in the end (m,)."""

    state: Floats
    visits: Floats
    reward: Floats


class StateCode:
    """States as rows of numbers: each feature in ranges, levels one by one, which acts are done."""

    def __init__(self, schema: Schema, acts: int) -> None:
        self.schema, self.acts = schema, acts

    def __call__(self, states: States) -> Floats:
        """(m, s) of m states."""
        x, schema = states.after, self.schema
        low = np.where(np.isfinite(schema.low), schema.low, 0.0)
        columns = [np.nan_to_num((x - low) / schema.span)]
        for j, at in schema.level_columns.items():
            columns.append((x[:, [j]] == np.arange(at.stop - at.start)).astype(float))
        done = (states.acts[:, :, None] == np.arange(self.acts)).any(1)
        return np.concatenate([*columns, done], axis=1)

    @property
    def names(self) -> list[str]:
        """What each number is."""
        out = list(self.schema.names)
        for j in self.schema.level_columns:
            out += [f"{self.schema.names[j]} = {level}" for level in self.schema.features[j].levels]
        return [*out, *(f"act {a + 1} done" for a in range(self.acts))]


class PolicyNet:
    """One hidden layer: chances of each choice, and what is expected. Trained by Adam on cross-entropy and squares."""

    def __init__(self, inputs: int, choices: int, rng: np.random.Generator) -> None:
        self.w1 = rng.normal(0, np.sqrt(2 / inputs), (inputs, _HIDDEN))
        self.b1, self.b2 = np.zeros(_HIDDEN), np.zeros(choices + 1)
        self.w2 = rng.normal(0, 0.1 / np.sqrt(_HIDDEN), (_HIDDEN, choices + 1))

    def __call__(self, states: Floats) -> tuple[Floats, Floats]:
        """See `Policy`."""
        out = np.maximum(states @ self.w1 + self.b1, 0) @ self.w2 + self.b2
        return _log_softmax(out[:, :-1]), np.asarray(1 / (1 + np.exp(-np.clip(out[:, -1], -30, 30))))

    def learn(self, traces: Traces, rng: np.random.Generator) -> None:
        """Fit the chances to the visits and the expectation to what came of it."""
        parts = (self.w1, self.b1, self.w2, self.b2)
        first, second = [np.zeros_like(p) for p in parts], [np.zeros_like(p) for p in parts]
        step = 0
        for _ in range(_EPOCHS):
            for rows in np.array_split(rng.permutation(len(traces.state)), -(-len(traces.state) // _BATCH)):
                x, step = traces.state[rows], step + 1
                hidden = np.maximum(x @ self.w1 + self.b1, 0)
                out = hidden @ self.w2 + self.b2
                error = np.exp(_log_softmax(out[:, :-1])) - traces.visits[rows]
                value = 1 / (1 + np.exp(-np.clip(out[:, -1], -30, 30)))
                slope = (value - traces.reward[rows]) * value * (1 - value)
                back = np.column_stack([error, slope]) / len(rows)
                under = (back @ self.w2.T) * (hidden > 0)
                moves = (x.T @ under, under.sum(0), hidden.T @ back, back.sum(0))
                for part, move, m, v in zip(parts, moves, first, second, strict=True):
                    m += 0.1 * (move - m)
                    v += 0.001 * (move**2 - v)
                    part -= _RATE * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)


def _log_softmax(x: Floats) -> Floats:
    x = x - x.max(axis=1, keepdims=True)
    return np.asarray(x - np.log(np.exp(x).sum(axis=1, keepdims=True)))


@dataclass
class _Node:
    """A state in a search: its place in `_Tree.states`, how many acts led here, and, once it is opened, its ways on."""

    at: int
    depth: int
    reward: float | None = None  # where it ends
    ways: Ints = field(default_factory=lambda: np.empty(0, np.int64))  # places of the states
    choice: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    prior: Floats = field(default_factory=lambda: np.empty(0))
    count: Floats = field(default_factory=lambda: np.empty(0))
    total: Floats = field(default_factory=lambda: np.empty(0))
    below: dict[int, _Node] = field(default_factory=dict)


class TreeSearch:
    """Monte Carlo tree search of sequences of acts, for all people of an `ActSearch` side by side.

    simulations: before each act. unit: a cost that halves a reward; each act takes `fade` of it.
    """

    def __init__(
        self, search: ActSearch, code: StateCode, policy: Policy, unit: float, simulations: int,
        explore: float = 0.5, fade: float = 0.97, noise: float = 0.03,
    ) -> None:  # fmt: skip
        self.search, self.code, self.policy, self.unit = search, code, policy, unit
        self.simulations, self.explore, self.fade, self.noise = simulations, explore, fade, noise
        self.states = search.start()
        self.choices = int(search.first_choice[-1])
        self.ends: list[int] = []  # states that turned the decision

    def run(self, rng: np.random.Generator, sharpen: float = 1.3) -> tuple[States, Traces]:
        """Play an episode for everybody; return all states found that turn the decision, and traces."""
        n, most = self.search.people.n, self.search.most
        node = {i: _Node(i, 0) for i in range(n)}
        self._open(list(node.values()))
        steps: list[tuple[int, int, Floats]] = []  # person, state, visits
        reward = np.zeros(n)
        while node:
            for _ in range(self.simulations):
                self._simulate(node)
            for i in list(node):
                here = node[i]
                if not len(here.ways) or not here.count.sum():
                    del node[i]
                    continue
                share = here.count**sharpen / (here.count**sharpen).sum()
                visits = np.zeros(self.choices)
                np.add.at(visits, here.choice, share)
                steps.append((i, here.at, visits))
                on = here.below.get(int(rng.choice(len(share), p=share)))
                assert on is not None  # what was visited was made
                if on.reward is not None or on.depth == most:
                    reward[i] = on.reward or 0.0
                    del node[i]
                else:
                    self._shake(on, rng)
                    node[i] = on
        who = np.array([i for i, _, _ in steps], np.int64)
        rows = self.code(self.states.take(np.array([at for _, at, _ in steps], np.int64)))
        shares = np.array([v for _, _, v in steps]).reshape(len(steps), self.choices)
        return self.states.take(np.array(self.ends, np.int64)), Traces(rows, shares, reward[who])

    def _shake(self, node: _Node, rng: np.random.Generator) -> None:
        if len(node.prior):
            some = rng.dirichlet(np.full(len(node.prior), 0.3))
            node.prior = (1 - self.noise) * node.prior + self.noise * some

    def _simulate(self, roots: dict[int, _Node]) -> None:
        """Go down from each root to a state that was not yet seen; judge and open them all; tell what they came to."""
        ways, fresh = [], []
        for root in roots.values():
            here, path = root, []
            while here.reward is None and len(here.ways):
                mean = here.total / np.maximum(here.count, 1)
                urge = mean + self.explore * here.prior * np.sqrt(here.count.sum() + 1) / (1 + here.count)
                way = int(np.argmax(urge))
                path.append((here, way))
                if way not in here.below:
                    here.below[way] = _Node(int(here.ways[way]), here.depth + 1)
                    fresh.append(here.below[way])
                    break
                here = here.below[way]
            ways.append((path, path[-1][0].below[path[-1][1]] if path else root))
        value = self._judge(fresh)
        for path, leaf in ways:
            gain = leaf.reward if leaf.reward is not None else value.get(id(leaf), 0.0)
            for node, way in path:
                node.count[way] += 1
                node.total[way] += gain

    def _judge(self, nodes: list[_Node]) -> dict[int, float]:
        """Ask the model about fresh states; open those that are no end; return what the policy expects of them."""
        if not nodes:
            return {}
        some = self.states.take(np.array([node.at for node in nodes]))
        reached = self.search.people.evaluate(some.who, some.action).reached
        expected = self.policy(self.code(some))[1]
        out, on = {}, []
        for node, yes, spent, value in zip(nodes, reached, some.spent, expected, strict=True):
            if yes:
                node.reward = float(self.fade**node.depth / (1 + spent / self.unit))
                self.ends.append(node.at)
            elif node.depth == self.search.most:
                node.reward = 0.0
            else:
                out[id(node)] = float(value)
                on.append(node)
        self._open(on)
        return out

    def _open(self, nodes: list[_Node]) -> None:
        """Find the ways on from states, and how good the policy takes them for."""
        for depth in sorted({node.depth for node in nodes}):
            mine = [node for node in nodes if node.depth == depth]
            front = self.states.take(np.array([node.at for node in mine]))
            more, parent, choice = self.search.ways_on(front, depth)
            chance = self.policy(self.code(front))[0]
            first = len(self.states.who)
            self.states = States.joined([self.states, more])
            for i, node in enumerate(mine):
                rows = np.flatnonzero(parent == i)
                node.ways, node.choice = first + rows, choice[rows]
                prior = np.exp(chance[i, choice[rows]])
                node.prior = prior / max(prior.sum(), 1e-300)
                node.count, node.total = np.zeros(len(rows)), np.zeros(len(rows))
                if not len(rows):
                    node.reward = 0.0
