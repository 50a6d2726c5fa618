"""The site: pages in Markdown, reference from the docstrings, no request to anybody else's server."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as installed

sys.path.insert(0, os.path.abspath("."))
os.environ.setdefault("OMP_NUM_THREADS", "1")

project = "wayforward"
author = "the wayforward maintainers"
copyright = "the wayforward maintainers, Apache-2.0"
release = version = installed("wayforward")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "_accessible_tables",
    "_plain_docstrings",
]
exclude_patterns = ["_build"]
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_theme = "pydata_sphinx_theme"
html_title = "wayforward"
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "use_edit_page_button": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 7,
}

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
