"""Why cells differ from the paper's, in words: a paragraph or a list under each table."""

from __future__ import annotations

from collections.abc import Mapping

#: Page -> Markdown.
DEVIATIONS: Mapping[str, str] = {}
