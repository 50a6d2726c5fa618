"""`pip install 'wayforward[web]'` brings what the web application needs."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import wayforward

ROOT = Path(wayforward.__file__).parents[2]
CALLED = {"argon2": "argon2-cffi", "yaml": "pyyaml", "multipart": "python-multipart"}  # module: distribution
BROUGHT = {"starlette", "markupsafe"}  # by fastapi and jinja2


def test_the_extra_web_names_all_that_is_imported():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    given = [*declared["dependencies"], *declared["optional-dependencies"]["web"]]
    names = {re.split(r"[\[<>=~ ;]", one)[0].lower() for one in given}
    imported = set()
    for path in (ROOT / "src" / "wayforward" / "serve").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            imported |= {module.partition(".")[0] for module in modules}
    ours = imported - set(sys.stdlib_module_names) - {"wayforward", ""} - BROUGHT
    assert {CALLED.get(name, name) for name in ours} <= names
    # Tables come in as CSV and Parquet, and applicants wait for searches.
    assert {"pandas", "pyarrow", "numba"} <= names
