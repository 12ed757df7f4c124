"""The literature of a problem: its source, and published digits of its solution and gradients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sciml_bench.spec.language.operators import Node


@dataclass(frozen=True)
class Source:
    """The source of a problem."""

    citation: str
    url: str = ""
    note: str = ""


@dataclass(frozen=True)
class Published:
    """Digits from the literature at one time: component label → (value, significant digits it is good for)."""

    t: Node
    values: Mapping[str, tuple[Node, float]]
    source: str


@dataclass(frozen=True)
class PublishedGradient:
    """Published d ``of``(t) / d theta: theta label → (value, digits)."""

    t: Node
    of: str
    values: Mapping[str, tuple[Node, float]]
    source: str
