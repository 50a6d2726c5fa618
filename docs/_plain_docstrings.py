"""Docstrings are plain text with code in backquotes; this turns them into what Sphinx reads.

Our docstrings write shapes and formulas as people do: (n, k, d), |d|, x*, do(x_i = v). reStructuredText would
take the bars and stars for markup. Lines keep their indented blocks (examples) as they are.
"""

from __future__ import annotations

import re
from typing import Any

_CODE = re.compile(r"(``.+?``|`[^`]+`|:[a-z]+:`[^`]+`)")
_HEADS = re.compile(
    r"^(Shapes?|Raises|Returns|Source|Sources|Example|Examples|Unit|Units|Needs|Guarantee|Attributes|Arguments|Args|"
    r"Note|Notes|Parameters|Promises):(\s|$)"
)


def _escape(line: str) -> str:
    parts = _CODE.split(line)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([*|\\])", r"\\\1", parts[i])
        parts[i] = re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", parts[i])
    for i in range(1, len(parts), 2):
        if parts[i].startswith("`") and not parts[i].startswith("``"):
            parts[i] = f"`{parts[i]}`"
        # Markup needs room on both sides; an escaped space joins without showing.
        if parts[i - 1] and re.search(r"[\w)\]]$", parts[i - 1]):
            parts[i] = "\\ " + parts[i]
        if i + 1 < len(parts) and re.match(r"[\w(\[]", parts[i + 1]):
            parts[i] += "\\ "
    return "".join(parts)


def tidy(lines: list[str]) -> list[str]:
    """One paragraph a headed line, bold heads, escaped prose; examples and indented blocks as they are."""
    out: list[str] = []
    in_block = False
    for line in lines:
        stripped = line.strip()
        indented = line.startswith(("    ", "\t"))
        if stripped.startswith((">>>", "...")) or (
            out and out[-1].strip().startswith((">>>", "...")) and stripped
        ):
            if not in_block and out and out[-1].strip():
                out.append("")
            in_block = True
            out.append(line)
            continue
        if in_block and stripped and not indented and out[-1].strip():
            out.append(line)  # what an example prints
            continue
        if not stripped:
            in_block = False
            out.append("")
            continue
        if indented:
            opened = bool(out) and (not out[-1].strip() or out[-1].startswith("    "))
            if opened and not any(row.startswith("    ") or row == "::" for row in out[-2:]):
                out += ["::", ""]
            out.append(line if opened else line.strip() if not out else "    " * 0 + _escape(stripped))
            continue
        head = _HEADS.match(line)
        if head:
            if out and out[-1].strip():
                out.append("")
            word = head.group(1)
            out.append(f"**{word}:** {_escape(line[len(word) + 1 :].strip())}".rstrip())
        else:
            out.append(_escape(line))
    return out


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = [*tidy(lines), ""]


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "version": "1"}
