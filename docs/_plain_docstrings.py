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
    """Bold heads, lists of arguments, escaped prose; examples and other indented blocks as they are."""
    out: list[str] = []
    state = "text"  # text, list (after a head that stands alone), code (indented), example (after >>>)
    for line in lines:
        words, deep = line.strip(), len(line) - len(line.lstrip())
        if not words:
            state = "text" if state == "example" else state
            out.append("")
            continue
        if words.startswith(">>>"):
            _room(out, state == "example")
            state = "example"
        elif state == "example":
            pass
        elif deep == 0:
            state = "text"
        elif state == "text":
            state = "code" if out and not out[-1] else "text"
            if state == "code":
                out += ["::", ""]
        if state in ("example", "code"):
            out.append(line)
        elif state == "list":
            name = re.match(r"(\*?\w+)( \([^)]*\))?: ", words) if deep == 4 else None
            if name:
                _room(out, bool(out) and out[-1].startswith(("* ", "  ")))
                out.append(f"* ``{name[1]}``{name[2] or ''}: {_escape(words[name.end() :])}")
            else:
                out.append(f"  {_escape(words)}")
        else:
            head = _HEADS.match(line)
            if head:
                _room(out, False)
                rest = line[head.end(1) + 1 :].strip()
                out.append(f"**{head[1]}:** {_escape(rest)}".rstrip())
                if not rest:
                    state = "list"
                    out.append("")
            else:
                out.append(_escape(words))
    return out


def _room(out: list[str], together: bool) -> None:
    """An empty line before what comes, unless it goes with what stands there."""
    if out and out[-1].strip() and not together:
        out.append("")


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = [*tidy(lines), ""]


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "version": "1"}
