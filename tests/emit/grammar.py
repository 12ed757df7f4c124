"""The grammar of Julia, which reads emitted source where there is no Julia."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needs import skip_without

if TYPE_CHECKING:
    from tree_sitter import Node


def tree(text: str) -> Node:
    """The root of what the grammar read; skips the test where it is not installed."""
    skip_without("tree_sitter", "tree_sitter_julia")
    import tree_sitter_julia
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_julia.language())).parse(text.encode()).root_node
