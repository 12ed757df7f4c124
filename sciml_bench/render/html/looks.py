"""Makes drawings fit for a page: without ``style`` attributes, which the page's policy forbids."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_STYLE = re.compile(r' style="([^"]*)"')

# Only what our own drawings use: nothing else gets into the style sheet.
_LOOK = re.compile(r"[a-zA-Z0-9#.,;:%() '-]*")


@dataclass
class Looks:
    """The looks of all drawings of a page, by their text; their names are class names."""

    names: dict[str, str] = field(default_factory=dict[str, str])

    def class_of(self, look: str) -> str:
        """The class of a look.

        Raises:
            ValueError: the look holds what none of our drawings does.
        """
        if not _LOOK.fullmatch(look):
            raise ValueError(f"not the look of a drawing: {look[:80]!r}")
        return self.names.setdefault(look, f"s{len(self.names)}")

    @property
    def sheet(self) -> str:
        """The rules of all classes, to be added to the page's style sheet."""
        return "\n".join(f".{name}{{{look}}}" for look, name in self.names.items())

    def slim(self, svg: str) -> str:
        """Return the drawing with classes."""
        return _STYLE.sub(lambda style: f' class="{self.class_of(style[1])}"', svg)
