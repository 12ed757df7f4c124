"""Every way in which a problem can be solved here: what a profile would leave out as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from sciml_bench.adapters.base import Adapter
from sciml_bench.adapters.registry import missing
from sciml_bench.plan.problems import PlannedProblem
from sciml_bench.record.task import Cell


@dataclass(frozen=True)
class Candidates:
    """The ways that can be tried, and of the others why not: ``refused`` by an adapter, or ``absent`` since something
    of an adapter, or of one of its modes, is not installed, with what to do."""

    cells: tuple[Cell, ...]
    refused: Mapping[Cell, str]
    absent: Mapping[str, str]


def candidates(entry: PlannedProblem, adapters: Mapping[str, Adapter], names: Sequence[str] = ()) -> Candidates:
    """Return every cell of these adapters (if none is named, of all of its track) in the problem's main precision on
    the CPU, with empty compile caches."""
    cells: list[Cell] = []
    refused: dict[Cell, str] = {}
    absent: dict[str, str] = {}
    for name, adapter in adapters.items():
        if adapter.track != entry.track or (names and name not in names):
            continue
        lacking = {mode: found for mode in adapter.modes if (found := missing(adapter, mode)) is not None}
        absent |= {f"{name} {mode}": found.reason for mode, found in lacking.items()}
        if len(lacking) == len(adapter.modes):
            absent = {key: reason for key, reason in absent.items() if not key.startswith(f"{name} ")}
            absent[name] = next(iter(lacking.values())).reason
        for cell in _cells(entry, adapter):
            if cell.mode in lacking:
                continue
            reason = adapter.why_not(cell, entry.facts)
            if reason is None:
                cells.append(cell)
            else:
                refused[cell] = reason
    return Candidates(tuple(cells), refused, absent)


def _cells(entry: PlannedProblem, adapter: Adapter) -> Iterator[Cell]:
    for method, sensitivity, mode in product(adapter.methods, adapter.sensitivities, adapter.modes):
        for saving in method.savings:
            yield Cell(entry.name, adapter.name, method.name, sensitivity, mode, entry.precisions[0], saving=saving)
