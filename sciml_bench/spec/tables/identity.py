"""Loads the identity of a file, of an equation or a model: its name, title, tier, tags, description and source."""

from __future__ import annotations

from typing import Any

from sciml_bench.spec.document import Document
from sciml_bench.spec.keys import Choice, Key, Table, Text, Texts
from sciml_bench.spec.literature import Source

TIERS = ("smoke", "quick", "standard", "rigorous", "heavy")
SOURCE = Table(Text("citation", ""), Text("url", ""), Text("note", ""))
IDENTITY = Table(
    Text("name", None, "[a-z0-9][a-z0-9-]{0,60}", "a problem's name", "Use a-z, 0-9 and hyphens."), Text("title"),
    Texts("tags"), Choice("tier", TIERS, "tier", "standard"), Text("description", ""), Key("source", SOURCE.schema),
)  # fmt: skip


def load_identity(document: Document) -> dict[str, Any]:
    """The arguments of ``Problem`` and ``Model`` that say what a file is.

    Raises:
        ProblemError: the name or title is missing, or something is of another kind.
    """
    source = Source(**SOURCE.read(document, document.table("source"), "source"))
    return {**IDENTITY.values(document, document.data, ""), "source": source}
