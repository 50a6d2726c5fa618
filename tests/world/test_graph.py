"""Causal graphs: every way in gives the same graph, and what is no graph is told by name."""

from __future__ import annotations

import hypothesis.strategies as st
import networkx
import numpy as np
import pytest
from hypothesis import given

from wayforward.errors import FileFormatError, WorldError
from wayforward.world import SCM
from wayforward.world.graph import CausalGraph
from wayforward.world.loan import loan

EDGES = [("age", "income"), ("income", "savings"), ("age", "savings")]
GML = """graph [
  directed 1
  node [ id 0 label "age" ]
  node [ id 1 label "income" ]
  node [ id 2 label "savings" ]
  edge [ source 0 target 1 ]
  edge [ source 1 target 2 ]
  edge [ source 0 target 2 ]
]
"""


class Nested:
    """What DoWhy's CausalModel looks like: a model holds a graph that holds a networkx graph."""

    def __init__(self, held, name="_graph"):
        setattr(self, name, held)


class Getter:
    def __init__(self, held):
        self.held = held

    def get_graph(self):
        return self.held


SOURCES = {
    "pairs": EDGES,
    "lists": [list(edge) for edge in EDGES],
    "mapping": {"age": [], "income": ["age"], "savings": ("income", "age")},
    "gml": GML,
    "gml in one line": " ".join(GML.split()),
    "gml of dowhy": GML.replace("id 0", 'id "age"')
    .replace("id 1", 'id "income"')
    .replace("id 2", 'id "savings"')
    .replace("source 0", 'source "age"')
    .replace("source 1", 'source "income"')
    .replace("target 1", 'target "income"')
    .replace("target 2", 'target "savings"'),
    "dot": "digraph { age -> income; income -> savings; age -> savings }",
    "dot chain": 'strict digraph G {\n rankdir=LR; node [shape=box]\n "age" -> {income savings} [w=2]\n'
    " income [label=x]; income -> savings // said\n}",
    "lines": "age -> income\nincome -> savings\nage -> savings\n",
    "commas": "cause,effect\nage,income\nincome,savings\nage,savings\n",
    "networkx": networkx.DiGraph(EDGES),
    "model": Nested(Nested(networkx.DiGraph(EDGES))),
    "gcm": Nested(networkx.DiGraph(EDGES), "graph"),
    "getter": Getter(networkx.DiGraph(EDGES)),
    "scm": SCM({"age": "u", "income": "age + u", "savings": "income + age + u"}),
    "graph": CausalGraph(("age", "income", "savings"), {"income": ("age",), "savings": ("income", "age")}),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_every_source_gives_the_same_graph(source):
    graph = CausalGraph.read(source)
    assert set(graph.edges) == set(EDGES) and graph.order == ("age", "income", "savings")
    np.testing.assert_array_equal(
        graph.adjacency(["savings", "age", "income"]),
        [[False, True, True], [False] * 3, [False, True, False]],
    )
    np.testing.assert_array_equal(
        graph.descendants(["savings", "age", "income"]),
        [[False] * 3, [True, False, True], [True, False, False]],
    )
    assert set(graph.to_networkx().edges) == set(EDGES)
    assert CausalGraph.read(str(graph)).edges == graph.edges


@pytest.mark.parametrize(
    "name, text",
    [
        ("g.gml", GML),
        ("g.dot", SOURCES["dot"]),
        ("g.csv", SOURCES["commas"]),
        ("g.yaml", "income: [age]\nsavings: [income, age]\n"),
        ("g.json", '[["age", "income"], ["income", "savings"], ["age", "savings"]]'),
    ],
)
def test_files(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    for source in (path, str(path)):
        assert set(CausalGraph.read(source).edges) == set(EDGES)


def test_nodes_without_edges_are_said():
    graph = CausalGraph.read(EDGES, nodes=["gender", "savings", "income", "age"])
    assert graph.names == ("gender", "savings", "income", "age") and graph.parents["gender"] == ()
    assert graph.over(["age", "income", "savings", "gender"]).names[0] == "age"
    assert CausalGraph.read("digraph {a -> b; c}").names == ("a", "b", "c")


def test_the_loan_world_read_back():
    graph = CausalGraph.read(loan())
    assert len(graph.edges) == 11 and graph.parents["savings"] == ("income",)
    np.testing.assert_array_equal(graph.descendants(), loan().descendants)


@pytest.mark.parametrize(
    "source, nodes, said",
    [
        ([("a", "b"), ("b", "c"), ("c", "a"), ("z", "a")], None, "cycle: a -> b -> c -> a"),
        ([("a", "a")], None, "'a' causes itself"),
        ([("a", "b"), ("a", "b")], None, "edge 'a' -> 'b' 2 times"),
        (EDGES, ["age", "income", "saving"], r"node 'savings'.*Did you mean 'saving'"),
        (EDGES, ["age", "income", "savings", "age"], "'age' 2 times"),
        ([("age",)], None, "no edge"),
        (["ab"], None, "no edge"),
        ([], None, "no nodes"),
        ([(1, 2)], None, "1 is no name"),
        ({"income": "age"}, None, "Give a list"),
        (networkx.Graph(EDGES), None, "not directed"),
        ("graph { a -- b }", None, "undirected"),
        (5, None, "int is no causal graph"),
        ("nowhere", None, "no causal graph"),
    ],
)
def test_what_is_no_graph(source, nodes, said):
    with pytest.raises(WorldError, match=said):
        CausalGraph.read(source, nodes)


@pytest.mark.parametrize(
    "text",
    ["digraph { a -> ", "digraph { a -> }", "digraph { a -> b [x=1 }", "a -> b-c", "digraph {a -> {b -> c}}",
     "graph [ directed 1 node [ id 0", "a,b,c\nd\n", "digraph { subgraph x {a} }", "graph [" * 3000,
     "x" * 1_100_000 + "->"],
)  # fmt: skip
def test_broken_text(text):
    with pytest.raises(FileFormatError):
        CausalGraph.read(text)


def test_files_that_are_not_there_or_not_text(tmp_path):
    with pytest.raises(FileFormatError, match="cannot be read"):
        CausalGraph.read(tmp_path / "no.gml")
    (tmp_path / "b.gml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileFormatError, match="cannot be read"):
        CausalGraph.read(tmp_path / "b.gml")
    (tmp_path / "b.yaml").write_text("a: [b")
    with pytest.raises(FileFormatError, match="no valid YAML"):
        CausalGraph.read(tmp_path / "b.yaml")


def test_columns_and_nodes_must_agree():
    graph = CausalGraph.read(EDGES)
    with pytest.raises(WorldError, match=r"node 'age' \(a cause of 'income'\) that the table does not have"):
        graph.over(["income", "savings"], "table")
    with pytest.raises(WorldError, match="column 'gender' that is no node"):
        graph.over(["age", "income", "savings", "gender"])
    with pytest.raises(WorldError, match="Did you mean 'incom'"):
        graph.adjacency(["age", "incom", "savings"])


def test_unobserved_nodes_of_dowhy():
    graph = networkx.DiGraph([*EDGES, ("U", "income"), ("income", "granted"), ("U", "granted")])
    graph.nodes["U"]["observed"] = "no"
    with pytest.raises(WorldError, match="'U' is unobserved and causes both"):
        CausalGraph.read(Nested(graph))
    assert set(CausalGraph.read(Nested(graph), drop="granted").edges) == set(
        EDGES
    )  # one effect left: its noise
    assert set(CausalGraph.read(graph, drop=["U", "granted"]).edges) == set(EDGES)
    with pytest.raises(WorldError, match="Did you mean 'granted'"):
        CausalGraph.read(graph, drop=["U", "grantd"])


@st.composite
def dags(draw):
    d = draw(st.integers(1, 8))
    names = draw(st.permutations([f"x{i}" for i in range(d)]))
    pairs = [(names[i], names[j]) for j in range(d) for i in range(j)]
    return sorted(names), draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []


@given(dags())
def test_order_and_descendants_agree_with_networkx(dag):
    names, edges = dag
    graph, peer = CausalGraph.read(edges, names), networkx.DiGraph(edges)
    peer.add_nodes_from(names)
    below = graph.descendants()
    for i, name in enumerate(names):
        assert {names[j] for j in np.flatnonzero(below[i])} == networkx.descendants(peer, name)
    place = {name: i for i, name in enumerate(graph.order)}
    assert sorted(place) == names and all(place[a] < place[b] for a, b in edges)
    assert CausalGraph.read(str(graph), names) == CausalGraph.read(graph.edges, names)
    with_cycle = [*edges, (edges[-1][1], edges[-1][0])] if edges else None
    if with_cycle:
        with pytest.raises(WorldError, match=r"cycle: (.+) -> .*\1"):
            CausalGraph.read(with_cycle)
