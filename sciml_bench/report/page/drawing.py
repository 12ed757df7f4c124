"""Makes drawings fit for a page: without ``style`` attributes, which the page's policy forbids, and small.

A page holds hundreds of drawings that look alike. Each look becomes a class of the page's one style sheet, ids become
short, and coordinates lose the digits that nobody sees.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_STYLE = re.compile(r' style="([^"]*)"')
# Only what our own drawings use: nothing else gets into the style sheet.
_LOOK = re.compile(r"[a-zA-Z0-9#.,;:%() '-]*")
_MARK = re.compile(r'(?:url\(#|href="#)([A-Za-z0-9_-]+)')
_PATH = re.compile(r'(?<= d=")[^"]*')
_PLACE = re.compile(r'(?<= [xy]=")-?\d+\.\d+')
_NUMBER = re.compile(r"-?\d+\.\d+")
# Matplotlib writes lines without a point as paths without data, which draw nothing.
_EMPTY = re.compile(r'<path(?![^>]* d="[^"])[^>]*/>')
_UNTURNED = re.compile(r' transform="rotate\(-?0(?: [\d. -]*)?\)"')


@dataclass
class Looks:
    """The looks of all drawings of a page, by their text; their names are those of classes."""

    names: dict[str, str] = field(default_factory=dict[str, str])
    ids: int = 0

    def class_of(self, look: str) -> str:
        """The class that stands for a look.

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
        """The same drawing with classes, short ids and few digits."""
        short: dict[str, str] = {}
        for mark in _MARK.findall(svg):
            if mark not in short:
                self.ids += 1
                short[mark] = f"i{self.ids}"
        svg = _UNTURNED.sub("", _EMPTY.sub("", svg))
        svg = _STYLE.sub(lambda style: f' class="{self.class_of(_packed(style[1]))}"' if style[1].strip() else "", svg)
        svg = _PATH.sub(lambda path: _short_path(path[0]), svg)
        svg = _PLACE.sub(lambda number: _rounded(number[0]), svg)
        # Whole names only: one may be the beginning of another.
        for mark, name in short.items():
            svg = re.sub(rf'(id="|url\(#|href="#){re.escape(mark)}(?=["\)])', rf"\g<1>{name}", svg)
        return svg


def _packed(look: str) -> str:
    return ";".join(re.sub(r"\s*:\s*", ":", part.strip()) for part in look.split(";") if part.strip())


def _rounded(number: str) -> str:
    return f"{float(number):.1f}".removesuffix(".0")


def _short_path(path: str) -> str:
    """A path with one decimal, and without blanks that no reader needs."""
    path = _NUMBER.sub(lambda number: _rounded(number[0]), path)
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", " ".join(path.split()))
