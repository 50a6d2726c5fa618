"""Causal graphs: which features are direct causes of which, read from whatever the user has.

    CausalGraph.read([("age", "income"), ("income", "savings")])
    CausalGraph.read({"income": ["age"], "savings": ["income"]})       # effect -> its causes
    CausalGraph.read("digraph { age -> income -> savings }")
    CausalGraph.read("loan.gml")
    CausalGraph.read(networkx_graph), CausalGraph.read(dowhy_model), CausalGraph.read(scm)

Worlds that are fitted from data need one. A graph that cannot be one (a cycle, a self-loop, an edge given
twice, an unknown node, an undirected or hidden part) is a WorldError that names the nodes at fault.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import FileFormatError, WorldError, did_you_mean, is_list, names_in
from wayforward.lazy import cached_property
from wayforward.plain_files import as_path, check_size, parse_yaml, read_text
from wayforward.public import public
from wayforward.shapes import Mask

if TYPE_CHECKING:
    import networkx

Edge = tuple[str, str]

_SUFFIXES = (".gml", ".dot", ".gv", ".csv", ".txt", ".json", ".yaml", ".yml")
_DOT_TOKEN = re.compile(
    r'\s+|//[^\n]*|#[^\n]*|/\*.*?\*/|("(?:[^"\\]|\\.)*"|->|--|[{}\[\];,=:]|[^\s{}\[\];,=:"<>-]+)', re.S
)


@public
@dataclass(frozen=True)
class CausalGraph:
    """Which features cause which: a directed graph without cycles.

    names: the nodes, in the order given. parents: node -> its direct causes; a node without an entry has
    none. Make one with `CausalGraph.read`.

    Example:
        >>> graph = CausalGraph.read([("age", "income"), ("income", "savings")])
        >>> graph.order
        ('age', 'income', 'savings')
        >>> graph.parents["savings"]
        ('income',)

    Raises: WorldError for a cycle, a self-loop, an edge given twice or a cause that is no node.
    """

    names: tuple[str, ...]
    parents: dict[str, tuple[str, ...]] = field(hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        if not self.names:
            raise WorldError("The causal graph has no nodes. Give its edges, such as [('age', 'income')].")
        for name in self.names:
            if not isinstance(name, str) or not name.strip():
                raise WorldError(
                    f"{name!r:.60} is no name for a node of a causal graph. Use the column's name, as text."
                )
        for name, count in Counter(self.names).items():
            if count > 1:
                raise WorldError(f"The causal graph lists the node '{name}' {count} times. Remove one.")
        if unknown := [node for node in self.parents if node not in self.names]:
            raise self._unknown(unknown[0], "has causes in the graph")
        full: dict[str, tuple[str, ...]] = {}
        for name in self.names:
            causes = tuple(self.parents.get(name, ()))
            for cause, count in Counter(causes).items():
                if cause not in self.names:
                    raise self._unknown(cause, f"is a cause of '{name}'")
                if cause == name:
                    raise WorldError(f"The causal graph says that '{name}' causes itself. Remove that edge.")
                if count > 1:
                    raise WorldError(
                        f"The causal graph has the edge '{cause}' -> '{name}' {count} times. Keep one."
                    )
            full[name] = causes
        object.__setattr__(self, "parents", full)
        self.order  # noqa: B018 - a cycle is an error at once

    def _unknown(self, node: Any, what: str) -> WorldError:
        hint = did_you_mean(str(node), self.names) or f" The nodes are: {', '.join(self.names[:8])}."
        return WorldError(f"'{node}' {what}, but it is none of the nodes.{hint}")

    # -- reading -------------------------------------------------------------------------------------------
    @classmethod
    def read(
        cls, source: Any, nodes: Sequence[str] | None = None, *, drop: Iterable[str] = ()
    ) -> CausalGraph:
        """A causal graph from what the user has.

        source: (cause, effect) pairs; a mapping effect -> causes; a networkx.DiGraph; a DoWhy model or
        anything else that carries a graph as `graph`, `_graph` or `get_graph()`, worlds included; text or
        a file with GML, DOT, or lines ``a -> b`` or ``a,b``; a JSON or YAML file with pairs or a mapping.
        nodes: all the nodes there are, in order; those without an edge have no causes. An edge to any
        other node is an error. Without it the nodes are those that the source names.
        drop: nodes to leave out with their edges, such as the label or an unobserved node of DoWhy.
            Leaving out a common cause of two features claims that it does not matter.
        Raises: WorldError for what the graph says, FileFormatError for a file that cannot be read.
        """
        dropped = frozenset(names_in(drop, "drop", WorldError))
        found, edges = _contents(source, dropped)
        if missing := sorted(dropped - set(found)):
            hint = did_you_mean(missing[0], found)
            raise WorldError(
                f"The node '{missing[0]}' is to be left out, but the graph has no such node.{hint}"
            )
        found = [name for name in found if name not in dropped]
        edges = [(cause, effect) for cause, effect in edges if not {cause, effect} & dropped]
        if nodes is not None:
            for name in found:
                if name not in nodes:
                    hint = did_you_mean(str(name), nodes) or f" They are: {', '.join(list(nodes)[:8])}."
                    raise WorldError(
                        f"The causal graph has a node '{name}', which is none of the {len(nodes)} features.{hint}"
                        " A node that is no feature, such as the label, is left out with drop=[...]."
                    )
            found = list(nodes)
        parents: dict[str, tuple[str, ...]] = {}
        for cause, effect in edges:
            parents[effect] = (*parents.get(effect, ()), cause)
        return cls(tuple(found), parents)

    def over(self, columns: Sequence[str], what: str = "schema") -> CausalGraph:
        """The same graph with its nodes in the order of these columns.

        Raises: WorldError if a column is no node of the graph, or a node no column.
        """
        columns = names_in(columns, "columns", WorldError)
        for name in self.names:
            if name not in columns:
                effects = [effect for effect in self.names if name in self.parents[effect]]
                role = f" (a cause of '{effects[0]}')" if effects else ""
                hint = did_you_mean(name, columns) or f" Its columns are: {', '.join(columns[:8])}."
                raise WorldError(
                    f"The causal graph has a node '{name}'{role} that the {what} does not have.{hint}"
                )
        for name in columns:
            if name not in self.names:
                hint = did_you_mean(name, self.names)
                raise WorldError(
                    f"The {what} has a column '{name}' that is no node of the causal graph.{hint} If nothing "
                    "causes it and it causes nothing, say so: CausalGraph.read(graph, nodes=[all columns])."
                )
        return self if columns == self.names else CausalGraph(columns, self.parents)

    # -- asking --------------------------------------------------------------------------------------------
    @property
    def d(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """(cause, effect) pairs, effect by effect."""
        return tuple((cause, effect) for effect in self.names for cause in self.parents[effect])

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Causes before effects, otherwise as in `names`. Raises: WorldError that spells a cycle."""
        place = {name: i for i, name in enumerate(self.names)}
        order, cycle = causal_order([[place[cause] for cause in self.parents[name]] for name in self.names])
        if cycle:
            raise WorldError(
                f"The causal graph has a cycle: {' -> '.join(self.names[i] for i in cycle)}. Nothing can be its own "
                "cause: take out one of these edges."
            )
        return tuple(self.names[i] for i in order)

    def adjacency(self, names: Sequence[str] | None = None) -> Mask:
        """(d, d) bool: the column's node is a direct cause of the row's node, in the order of `names`."""
        graph = self if names is None else self.over(names, "list of names")
        out = np.zeros((graph.d, graph.d), dtype=bool)
        place = {name: i for i, name in enumerate(graph.names)}
        for cause, effect in graph.edges:
            out[place[effect], place[cause]] = True
        return out

    def descendants(self, names: Sequence[str] | None = None) -> Mask:
        """(d, d) bool: the row's node is a cause, direct or not, of the column's node."""
        graph = self if names is None else self.over(names, "list of names")
        place = {name: i for i, name in enumerate(graph.names)}
        parents = [[place[cause] for cause in graph.parents[name]] for name in graph.names]
        return descendants_of(parents, [place[name] for name in graph.order])

    def to_networkx(self) -> networkx.DiGraph:
        """A networkx.DiGraph, from causes to effects."""
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from(self.edges)
        return graph

    def __str__(self) -> str:
        """The graph in DOT, which `read` reads."""
        parts = [*map(_quoted, self.names), *(f"{_quoted(a)} -> {_quoted(b)}" for a, b in self.edges)]
        return f"digraph {{ {'; '.join(parts)} }}"


def causal_order(parents: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], list[int]]:
    """Causes (positions) of each node -> nodes with causes before effects, else as they stand, and a cycle if any."""
    order: list[int] = []
    done: set[int] = set()
    for start in range(len(parents)):
        path = [(start, 0)]  # (node, next cause to visit): no recursion
        on_path = {start}
        while path:
            node, at = path.pop()
            if node in done or at == len(parents[node]):
                if node not in done:
                    done.add(node)
                    order.append(node)
                on_path.discard(node)
                continue
            path.append((node, at + 1))
            cause = parents[node][at]
            if cause in on_path:
                walked = [place for place, _ in path]
                return (), [cause, *reversed(walked[walked.index(cause) :])]
            if cause not in done:
                path.append((cause, 0))
                on_path.add(cause)
    return tuple(order), []


def descendants_of(parents: Sequence[Sequence[int]], order: Sequence[int]) -> Mask:
    """(d, d) bool: the row's node is a cause, direct or not, of the column's; `order` has causes first."""
    below = np.zeros((len(parents), len(parents)), dtype=bool)
    for node in order:  # causes first, so what stands above a cause is complete
        for cause in parents[node]:
            below[:, node] |= below[:, cause]
            below[cause, node] = True
    return below


def _quoted(name: str) -> str:
    if re.fullmatch(r"\w+", name) and name.lower() not in (
        "node",
        "edge",
        "graph",
        "digraph",
        "subgraph",
        "strict",
    ):
        return name
    return '"' + name.replace('"', '\\"') + '"'


# -- sources -----------------------------------------------------------------------------------------------
def _contents(source: Any, drop: frozenset[str], depth: int = 0) -> tuple[list[str], list[Edge]]:
    """The nodes in order and the (cause, effect) edges of any source."""
    if isinstance(source, CausalGraph):
        return list(source.names), list(source.edges)
    if isinstance(source, Path):
        return _of_file(source, drop)
    if isinstance(source, str):
        if "\n" not in source and "{" not in source and "[" not in source and "->" not in source:
            if Path(source).suffix.lower() in _SUFFIXES:
                return _of_file(as_path(source), drop)
            raise WorldError(
                f"{source!r:.80} is no causal graph. Give pairs (cause, effect), a mapping effect -> causes, "
                f"text in GML or DOT, or a file that ends in {', '.join(_SUFFIXES)}."
            )
        return _of_text(source, drop)
    if _is_networkx(source):
        return _of_networkx(source, drop)
    if isinstance(source, Mapping):
        return _of_mapping(source)
    for name in ("_graph", "graph", "get_graph"):  # DoWhy's models nest one in another
        held = getattr(source, name, None) if depth < 4 else None
        if callable(held) and not _is_networkx(held):
            held = held()
        if held is not None and held is not source:
            return _contents(held, drop, depth + 1)
    if is_list(source, texts=True):
        return _of_pairs(source)
    raise WorldError(
        f"A {type(source).__name__} is no causal graph. Give pairs (cause, effect), a mapping effect -> "
        "causes, a networkx.DiGraph, or text in GML or DOT."
    )


def _collect(edges: Iterable[Edge], first: Iterable[str] = ()) -> tuple[list[str], list[Edge]]:
    edges = list(edges)
    for edge in edges:
        if not all(isinstance(name, Hashable) for name in edge):
            raise WorldError(f"{edge!r:.80} is no edge. An edge is a pair (cause, effect), two names.")
    return list(dict.fromkeys([*first, *(name for edge in edges for name in edge)])), edges


def _of_pairs(source: Iterable[Any]) -> tuple[list[str], list[Edge]]:
    edges = []
    for pair in source:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise WorldError(f"{pair!r:.80} is no edge. An edge is a pair (cause, effect).")
        edges.append((pair[0], pair[1]))
    return _collect(edges)


def _of_mapping(source: Mapping[Any, Any]) -> tuple[list[str], list[Edge]]:
    edges: list[Edge] = []
    for effect, causes in source.items():
        if not is_list(causes):
            raise WorldError(
                f"The causes of '{effect}' are {causes!r:.60}. Give a list of names: {{'{effect}': ['cause']}}."
            )
        edges += [(cause, effect) for cause in causes]
    return _collect(edges, source)


def _is_networkx(source: Any) -> bool:
    return all(hasattr(source, name) for name in ("is_directed", "nodes", "edges", "adj"))


def _of_networkx(graph: Any, drop: frozenset[str]) -> tuple[list[str], list[Edge]]:
    edges = [(cause, effect) for cause, effect, *_ in graph.edges()]
    if not graph.is_directed():
        shown = f" between '{edges[0][0]}' and '{edges[0][1]}'" if edges else "s"
        raise WorldError(
            f"The causal graph is not directed: its edge{shown} does not say which is the cause. Use a "
            "directed graph (networkx.DiGraph, 'directed 1' in GML, 'digraph' in DOT)."
        )
    nodes = []
    for name, attributes in graph.nodes(data=True):
        if name in drop or str(attributes.get("observed", "yes")).lower() not in ("no", "false", "0"):
            nodes.append(name)
            continue
        effects = [effect for cause, effect in edges if cause == name and effect not in drop]
        if len(effects) > 1:  # a hidden cause of one feature is its noise; of two, no world here knows it
            raise WorldError(
                f"'{name}' is unobserved and causes both '{effects[0]}' and '{effects[1]}', but worlds know no "
                f"hidden common causes. To claim that it does not matter: drop=['{name}']."
            )
        edges = [edge for edge in edges if name not in edge]
    return nodes, edges


def _of_file(path: Path, drop: frozenset[str]) -> tuple[list[str], list[Edge]]:
    text = read_text(path, "graph file")
    if path.suffix.lower() in (".json", ".yaml", ".yml"):
        data = parse_yaml(text, f"graph file '{path.name}'")
        if not isinstance(data, (dict, list)):
            raise FileFormatError(
                f"The graph file '{path}' holds neither pairs [cause, effect] nor a mapping effect: [causes]."
            )
        return _of_mapping(data) if isinstance(data, dict) else _of_pairs(data)
    return _of_text(text, drop)


def _of_text(text: str, drop: frozenset[str]) -> tuple[list[str], list[Edge]]:
    check_size(text, "graph")
    if re.search(r"\bgraph\s*\[", text) and "{" not in text:
        return _of_gml(text, drop)
    if "{" in text or "->" in text or "--" in text:
        return _of_dot(text)
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    pairs = [tuple(part.strip().strip('"') for part in line.split(",")) for line in lines]
    if pairs and [part.lower() for part in pairs[0]] in (
        ["cause", "effect"],
        ["source", "target"],
        ["from", "to"],
    ):
        pairs = pairs[1:]
    for line, pair in zip(lines[-len(pairs) :], pairs, strict=False):
        if len(pair) != 2 or not all(pair):
            raise FileFormatError(f"The graph has a line {line!r:.80}. Write each edge as 'cause -> effect'.")
    return _of_pairs(pairs)


def _of_gml(text: str, drop: frozenset[str]) -> tuple[list[str], list[Edge]]:
    import networkx

    try:
        graph = networkx.parse_gml(text)
    except Exception as error:  # networkx lets errors of many types through for broken text
        raise FileFormatError(f"The graph is no valid GML: {error!s:.200}") from error
    return _of_networkx(graph, drop)


def _of_dot(text: str) -> tuple[list[str], list[Edge]]:
    """DOT's core: edges, chains, groups in braces, quoted names; attributes are read over."""
    tokens = _dot_tokens(text)
    if "--" in tokens:
        raise WorldError("The causal graph has an undirected edge '--'. Write 'cause -> effect'.")
    if tokens and tokens[0].lower() == "strict":
        tokens = tokens[1:]
    if tokens and tokens[0].lower() == "graph":
        raise WorldError("The causal graph is an undirected 'graph'. Write 'digraph { cause -> effect }'.")
    if tokens and tokens[0].lower() == "digraph":
        start = tokens.index("{") if "{" in tokens else 0
        if start not in (1, 2) or tokens[-1] != "}":
            raise FileFormatError("The graph is no valid DOT: 'digraph {' is not closed by '}'.")
        tokens = tokens[start + 1 : -1]
    nodes: dict[str, None] = {}
    edges: list[Edge] = []
    at = 0

    def group() -> list[str]:
        """The nodes of one end of an edge: a name, or names in braces."""
        nonlocal at
        if at < len(tokens) and tokens[at] == "{":
            close = tokens.index("}", at) if "}" in tokens[at:] else -1
            inside = [t for t in tokens[at + 1 : close] if t not in ";,"]
            if close < 0 or any(t in ("->", "{", "[", "]", "=", ":") for t in inside):
                raise FileFormatError(
                    "The graph is no DOT that is read here: use plain groups such as {b c}."
                )
            at = close + 1
            return [_unquoted(t) for t in inside]
        if at >= len(tokens) or tokens[at] in ("->", "}", "[", "]", ";", ",", "=", ":"):
            raise FileFormatError("The graph is no valid DOT: an edge '->' misses one of its two ends.")
        at += 1
        return [_unquoted(tokens[at - 1])]

    while at < len(tokens):
        if tokens[at] in (";", ","):
            at += 1
            continue
        if tokens[at].lower() == "subgraph":
            raise FileFormatError("The graph has a 'subgraph', which is not read. Write its edges out.")
        word, ends = tokens[at].lower(), group()
        if at < len(tokens) and tokens[at] == "=":  # rankdir = LR
            at += 2
            continue
        while at < len(tokens) and tokens[at] == "->":
            at += 1
            effects = group()
            edges += [(cause, effect) for cause in ends for effect in effects]
            nodes |= dict.fromkeys([*ends, *effects])
            ends = effects
        if not (word in ("node", "edge", "graph") and at < len(tokens) and tokens[at] == "["):
            nodes |= dict.fromkeys(ends)
        if at < len(tokens) and tokens[at] == "[":
            if "]" not in tokens[at:]:
                raise FileFormatError("The graph is no valid DOT: '[' is not closed by ']'.")
            at = tokens.index("]", at) + 1
    return list(nodes), edges


def _dot_tokens(text: str) -> list[str]:
    tokens, at = [], 0
    while at < len(text):
        match = _DOT_TOKEN.match(text, at)
        if match is None:
            raise FileFormatError(
                f"The graph is no DOT that is read here, near {text[at : at + 30]!r}. Put names with signs in "
                'quotes, and write edges as "cause -> effect".'
            )
        if match.group(1):
            tokens.append(match.group(1))
        at = match.end()
    return tokens


def _unquoted(token: str) -> str:
    return token[1:-1].replace('\\"', '"') if token.startswith('"') else token
