"""efare: the policy of `fare` as a tree that can be read: what a person is like, and which act comes next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from wayforward.methods.engines.act_policy import Policy
from wayforward.methods.fare import Fare
from wayforward.methods.settings import check_whole
from wayforward.public import public
from wayforward.shapes import Floats

if TYPE_CHECKING:
    from wayforward.methods.engines.act_search import ActSearch

_NEVER = 1e-6  # the chance of what no leaf holds: a way to go on where nothing else can be done


class TreePolicy:
    """A regression tree from states (m, s) to chances (m, c) of choices."""

    def __init__(self, states: Floats, chance: Floats, depth: int) -> None:
        from sklearn.tree import DecisionTreeRegressor

        self.tree = DecisionTreeRegressor(max_depth=depth, random_state=0).fit(states, chance)

    def __call__(self, states: Floats) -> tuple[Floats, Floats]:
        """See `Policy`."""
        chance = self.tree.predict(states).reshape(len(states), -1) if len(states) else np.empty((0, 1))
        return np.log(np.maximum(chance, _NEVER)), np.zeros(len(states))


@public
@dataclass
class Efare(Fare):
    """Fit a tree to the policy of `fare`, from the state that a person is in to the next act and how far it goes.

    It learns from the states that the searches came to and those that the policy leads to. The tree answers in the
    policy's place; `rules()` prints it, `fidelity` is the share of the policy's own decisions that it makes, too.
    Settings and answers are as in `fare`; depth: of the tree, at most.
    Shapes: people (n, d) -> actions (n, k, d), feature units.
    Example: ``print(wf.method("efare").fit(problem).rules())``.
    Source: G. De Toni, B. Lepri, A. Passerini (2023), Synthesizing explainable counterfactual policies for algorithmic
    recourse with program synthesis, Machine Learning; arXiv:2201.07135.
    """

    name: ClassVar[str] = "efare"
    summary: ClassVar[str] = (
        "the policy of fare as a tree that can be read: a person's state, and the next act"
    )

    depth: int = 12

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, depth=1)

    def _trained(self, search: ActSearch) -> Policy:
        net = super()._trained(search)
        self.policy_ = self.net_ = net
        self.first_ = search.first_choice
        search.people.rows[:] = 0
        _, states, choice = self.rolled_out(search, 1, 20_000)
        if not len(choice):
            return net
        self.replayed_ = states, choice
        shown = np.concatenate([states, self.traces_.state])
        return TreePolicy(shown, np.exp(net(shown)[0]), self.depth)

    @property
    def fidelity(self) -> float:
        """The share of the policy's own decisions that the tree makes, too."""
        states, _ = self.replayed_
        return float((self.policy_(states)[0].argmax(1) == self.net_(states)[0].argmax(1)).mean())

    def rules(self) -> str:
        """The tree in lines of text; features in shares of their ranges, above where the schema has them begin."""
        assert isinstance(self.policy_, TreePolicy)
        tree, names, lines = self.policy_.tree.tree_, self.code_.names, []
        acts = [act.name for act in self.acts_]
        todo = [(0, 0, "")]
        while todo:
            node, depth, when = todo.pop()
            if tree.children_left[node] < 0:
                choice = int(tree.value[node].ravel().argmax())
                act = int(np.searchsorted(self.first_, choice, side="right")) - 1
                more = (
                    f", choice {choice - self.first_[act] + 1} of {self.first_[act + 1] - self.first_[act]}"
                )
                way = more if self.first_[act + 1] - self.first_[act] > 1 else ""
                lines.append(f"{'  ' * depth}{when}{acts[act]}{way}")
                continue
            if when:
                lines.append(f"{'  ' * depth}{when.removesuffix(': ')}:")
                depth += 1
            name, cut = names[tree.feature[node]], tree.threshold[node]
            todo.append((int(tree.children_right[node]), depth, f"{name} > {cut:.3g}: "))
            todo.append((int(tree.children_left[node]), depth, f"{name} <= {cut:.3g}: "))
        return "\n".join(lines)
