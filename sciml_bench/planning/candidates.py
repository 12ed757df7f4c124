"""Every way in which a problem can be solved here: what a profile would leave out as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from sciml_bench.adapters.base import NO_GRADIENT, Adapter
from sciml_bench.adapters.recipes import takes_both, takes_explicit
from sciml_bench.adapters.registry import missing
from sciml_bench.planning.cells import recipes_of
from sciml_bench.planning.problems import PlannedProblem
from sciml_bench.record.task import DEFAULT_SAVING, GRADIENT, SOLVE, Cell


@dataclass(frozen=True)
class Candidates:
    """The ways that can be tried, and of the others why not: ``refused`` by an adapter, or ``absent`` since something
    of an adapter, or of one of its modes, is not installed, with what to do."""

    cells: tuple[Cell, ...]
    refused: Mapping[Cell, str]
    absent: Mapping[str, str]


def candidates(entry: PlannedProblem, adapters: Mapping[str, Adapter], names: Sequence[str] = ()) -> Candidates:
    """Return every cell of these adapters (without names, of all of its track) in the problem's main precision on the
    CPU, with empty compile caches.
    """
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


def ranked(found: Candidates, entry: PlannedProblem, adapters: Mapping[str, Adapter], call: str) -> dict[Cell, int]:
    """The candidates that can make a call, and how early each should be tried: 0 is each library's best recipe.

    Then come its other recipes (1), the recommended kind of method with the sensitivity and mode of a recipe (2) and
    with others (3), and the other kind of method (4). Libraries that start quickly come first. Steps land on the saved
    times where a recipe's do. Of a solve the sensitivity changes nothing: only the first one of each method and mode is
    tried.
    """
    tiers = {cell: tier for cell in found.cells if (tier := _tier(cell, entry, adapters[cell.adapter])) is not None}

    def place(cell: Cell) -> tuple[int, float]:
        return tiers[cell], adapters[cell.adapter].cost.startup_s

    able = sorted((cell for cell in tiers if _makes(cell, call)), key=place)
    if call == SOLVE:
        first = {(cell.adapter, cell.method, cell.mode, cell.saving): cell for cell in reversed(able)}
        able = [cell for cell in able if cell in first.values()]
    return {cell: tiers[cell] for cell in able}


_EITHER = ("multistep",)
"""Families of LSODA, which switches between explicit and implicit formulas."""


def _makes(cell: Cell, call: str) -> bool:
    return call != GRADIENT or cell.sensitivity != NO_GRADIENT


def _tier(cell: Cell, entry: PlannedProblem, adapter: Adapter) -> int | None:
    """Return how early a way is tried; ``None`` if it is not."""
    recipes = recipes_of(adapter, entry)
    method = adapter.method(cell.method)
    either = takes_both(entry.facts) or (method.adaptive and method.family in _EITHER)
    suits = either or method.implicit != takes_explicit(entry.facts)
    for place, recipe in enumerate(recipes):
        if (cell.method, cell.sensitivity, cell.mode, cell.saving) == (
            recipe.method, recipe.sensitivity, recipe.mode, recipe.saving,
        ):  # fmt: skip
            return min(place, 1) if suits else 4
    if cell.saving not in {recipe.saving for recipe in recipes if recipe.method == cell.method} | {DEFAULT_SAVING}:
        return None
    if not suits:
        return 4
    usual = any((cell.sensitivity, cell.mode) == (recipe.sensitivity, recipe.mode) for recipe in recipes)
    return 2 if usual else 3
