"""The user's selection: names along each axis of a cell, a keyword expression, exact cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from sciml_bench.adapters.base import Adapter
from sciml_bench.errors import UsageError
from sciml_bench.planning.keyword_expression import Predicate, compile_keyword
from sciml_bench.record.task import Cell
from sciml_bench.spec import catalog

FRAMEWORKS = {
    "jax": ("diffrax",),
    "torch": ("torchdiffeq", "torchode"),
    "pytorch": ("torchdiffeq", "torchode"),
    "keras": ("tensorflow",),
    "tf": ("tensorflow",),
}
"""Adapters of solvers by the common names of their frameworks."""


@dataclass(frozen=True)
class Selection:
    """Names on an axis select; an empty axis selects everything on it.

    A name on an axis also overrides what the profile would leave out on that axis. ``cells`` are exact labels and
    override the profile altogether; ``keyword`` only narrows. Without a name the precision is the problem's own, and
    the device the processor.
    """

    suites: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    adapters: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    sensitivities: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    savings: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    keyword: str = ""
    cells: tuple[str, ...] = ()

    def naming(self, words: Iterable[Path | str]) -> tuple[Selection, tuple[Path, ...]]:
        """Add the suites and the problems of the catalog among ``words``; the other words are problem files.

        Raises:
            UsageError: a word is neither the name of a problem or a suite nor a file.
        """
        suites, problems = catalog.suites(), catalog.names()
        given = tuple(words)
        files = [word for word in given if word not in suites and word not in problems]
        for word in files:
            if not (isinstance(word, Path) or word.endswith(".toml") or "/" in word or Path(word).exists()):
                check_names("problem or suite", (word,), (*problems, *suites), "sciml-bench list problems")
        selection = replace(
            self,
            suites=(*self.suites, *(str(word) for word in given if word in suites)),
            problems=(*self.problems, *(str(word) for word in given if word in problems)),
        )
        return selection, tuple(map(Path, files))

    def takes(self, cell: Cell, precisions: Sequence[str]) -> bool:
        """Return whether precision and device are named, or one of ``precisions`` on the processor."""
        return cell.precision in (self.precisions or precisions) and cell.device in (self.devices or ("cpu",))

    @cached_property
    def _matches_keyword(self) -> Predicate:
        return compile_keyword(self.keyword)

    def contains(self, cell: Cell) -> bool:
        """Return whether the cell was requested (the catalog has chosen suite and problem before)."""
        if self.cells and cell.label not in self.cells:
            return False
        axes = (
            (self.adapters, cell.adapter),
            (self.methods, cell.method),
            (self.sensitivities, cell.sensitivity),
            (self.modes, cell.mode),
            (self.savings, cell.saving),
            (self.precisions, cell.precision),
            (self.devices, cell.device),
        )
        return all(not names or value in names for names, value in axes) and self._matches_keyword(cell.label)

    def check(self, adapters: Mapping[str, Adapter]) -> None:
        """Check that every name exists, and that the keyword can be read.

        Raises:
            UsageError: a name is unknown; the message suggests the nearest ones.
        """
        check_names("adapter", self.adapters, adapters, "sciml-bench list adapters")
        chosen = [adapters[name] for name in self.adapters or adapters]
        see = "sciml-bench list adapters"
        check_names("method", self.methods, {m.name for a in chosen for m in a.methods}, see)
        check_names("sensitivity", self.sensitivities, {s for a in chosen for s in a.sensitivities}, see)
        check_names("mode", self.modes, {m for a in chosen for m in a.cell_modes}, see)
        check_names("precision", self.precisions, {p for a in chosen for p in a.precisions}, see)
        check_names("device", self.devices, {d for a in chosen for d in a.devices}, see)
        check_names("way of saving", self.savings, {s for a in chosen for m in a.methods for s in m.savings}, see)
        for label in self.cells:
            _check_label(label, adapters)
        _ = self._matches_keyword


def check_names(what: str, wanted: Iterable[str], known: Iterable[str], see: str) -> None:
    """Check that all wanted names are known.

    Raises:
        UsageError: one is not; ``see`` names the command that lists them.
    """
    names = sorted(known)
    for name in wanted:
        if name not in names:
            close = get_close_matches(name, names, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(close)}?" if close else f"see `{see}`"
            raise UsageError(f"unknown {what} '{name}'; {hint}")


def _check_label(label: str, adapters: Mapping[str, Adapter]) -> None:
    try:
        cell = Cell.from_label(label)
    except ValueError:
        raise UsageError(
            f"--cell '{label}' is not a cell; write problem/adapter/method/sensitivity/mode/precision/device, "
            "as the failures of a run and `sciml-bench plan` print it"
        ) from None
    see = "sciml-bench list adapters"
    check_names("adapter", [cell.adapter], adapters, see)
    adapter = adapters[cell.adapter]
    check_names(f"method of {adapter.name}", [cell.method], [m.name for m in adapter.methods], see)
    check_names(f"sensitivity of {adapter.name}", [cell.sensitivity], adapter.sensitivities, see)
    check_names(f"mode of {adapter.name}", [cell.mode], adapter.cell_modes, see)
    check_names(f"precision of {adapter.name}", [cell.precision], adapter.precisions, see)
    check_names(f"device of {adapter.name}", [cell.device], adapter.devices, see)
    check_names(f"way of saving of {cell.method}", [cell.saving], adapter.method(cell.method).savings, see)
