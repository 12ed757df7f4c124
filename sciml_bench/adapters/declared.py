"""The declarations of adapters as a plan keeps them: a stored run is explained by its plan, not by the packages
installed today.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from sciml_bench.adapters.base import Adapter, Method, PlotStyle
from sciml_bench.record.codec import decode
from sciml_bench.record.task import Cell


@dataclass(frozen=True)
class Declared:
    """Of one adapter: its title, its look in figures, the emitter's targets, and the methods of the planned cells."""

    title: str
    target: str
    mode_targets: dict[str, str]
    methods: dict[str, Method]
    look: PlotStyle | None = None

    @classmethod
    def of(cls, adapter: Adapter, methods: Mapping[str, Method]) -> Declared:
        """The declaration of an adapter with these methods."""
        return cls(adapter.title, adapter.target, dict(adapter.mode_targets), dict(methods), adapter.look)

    def target_of(self, cell: Cell) -> str:
        """The emitter's target of a cell."""
        return self.mode_targets.get(cell.framework_mode, self.target)


def declarations(kept: object) -> Mapping[str, Declared]:
    """The declarations that a plan keeps, by the adapters' names, without unreadable ones."""
    found: dict[str, Declared] = {}
    for name, data in kept.items() if isinstance(kept, Mapping) else ():
        with suppress(ValueError):
            found[name] = decode(Declared, data)
    return found
