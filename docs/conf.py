"""How Sphinx builds the documentation: ``make docs``."""

from sciml_bench import __version__

project = "sciml-bench"
author = "the authors of sciml-bench"
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxcontrib.mermaid"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"sciml-bench {__version__}"

myst_heading_anchors = 3
myst_fence_as_directive = ["mermaid"]
# Links to folders and files outside of the documentation; tests/test_docs.py checks that they exist.
suppress_warnings = ["myst.xref_missing"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
