"""Tables that a screen reader can follow: a caption on each, and header cells that say what they head.

A paragraph that starts with "Table: " just before a table becomes its caption. A table without one is captioned for
screen readers by the heading it stands under, with a number where several stand there.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from docutils import nodes
from sphinx.transforms import SphinxTransform

MARK = "Table: "


class Captions(SphinxTransform):
    """Give every table a title, which HTML shows as its caption."""

    default_priority = 200

    def apply(self, **kwargs: Any) -> None:
        """Take captions from the paragraphs before, or from headings."""
        under: Counter[str] = Counter()
        for table in list(self.document.findall(nodes.table)):
            if any(isinstance(child, nodes.title) for child in table.children):
                continue
            before = table.previous_sibling()
            if isinstance(before, nodes.paragraph) and before.astext().startswith(MARK):
                before.parent.remove(before)
                first = before.children[0]
                words = [nodes.Text(first.astext().removeprefix(MARK)), *before.children[1:]]
                table.insert(0, nodes.title("", "", *words))
                continue
            heading = self._heading(table)
            under[heading] += 1
            number = f" ({under[heading]})" if under[heading] > 1 else ""
            table.insert(0, nodes.title("", heading + number))
            table["classes"].append("caption-for-readers")

    def _heading(self, node: nodes.Node) -> str:
        """Return the text of the nearest heading above a node."""
        while node.parent is not None:
            node = node.parent
            if isinstance(node, nodes.section):
                return next(child for child in node.children if isinstance(child, nodes.title)).astext()
        return "Table"


def _scopes(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Every cell of a table's head heads its column."""
    if context.get("body"):
        context["body"] = context["body"].replace('<th class="head', '<th scope="col" class="head')


def setup(app: Any) -> dict[str, Any]:
    app.add_transform(Captions)
    app.connect("html-page-context", _scopes)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
