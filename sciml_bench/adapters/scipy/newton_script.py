"""The Newton matrix of a SciPy cell in its script: the adapter's own functions, quoted, and the lines that use them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.scipy import layout, newton, point_order, structure
from sciml_bench.adapters.scipy.callbacks import matrix
from sciml_bench.adapters.scipy.fields import FieldSystems, has_fields
from sciml_bench.adapters.scipy.system import EXPLICIT, Storage, Systems
from sciml_bench.record.task import Task

_ARRANGED = (
    structure.Structure, structure.Band, point_order.Arrangement, structure.own_band, structure._width,
    point_order.in_order, point_order.arrangement,
)  # fmt: skip
_STORED = {
    layout.dense: (layout.dense, layout._rows_and_columns),
    layout.sparse: (layout.sparse, layout._rows_and_columns),
    layout.banded: (layout.banded, layout._stored),
    layout.banded_blocks: (layout.banded_blocks, layout._stored),
}
_NJIT = "from numba import njit\n"
_NOT_COMPILED = "def njit(**_options):\n    return lambda function: function\n"


@dataclass(frozen=True)
class NewtonScript:
    """Parts of a script: functions to quote, lines of the module, and lines of its function ``sensitivities``.

    ``jacobian`` is the name of the function that returns the matrix, empty if the solver is given none; ``is_band`` if
    it returns a band. ``has_order`` if the solver has the equations in another order. ``is_choice`` if there are two
    matrices, with and without the coupling of sensitivities to the state: the script tries both.
    """

    quoted: tuple[Callable[..., Any] | type, ...] = ()
    module: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    jacobian: str = ""
    is_band: bool = False
    has_order: bool = False
    is_choice: bool = False


def systems_of(task: Task) -> Systems:
    """The systems of the task's cell, made of its emitted source without compiling it."""
    compiled = task.cell.framework_mode == "compiled"
    source = load_source(replace(task, source=task.source.replace(_NJIT, _NOT_COMPILED)))
    shutil.rmtree(Path(str(source.__file__)).parent, ignore_errors=True)
    if compiled and has_fields(source):
        return FieldSystems(source, task.numbers, task.cell.method)
    return Systems(source, task.numbers, task.cell.method, compiled)


def newton_script(task: Task, systems: Systems) -> NewtonScript:
    """The parts for a task."""
    source, fields = systems.source, isinstance(systems, FieldSystems)
    if task.cell.framework_mode != "compiled" and hasattr(source, "augmented"):
        if task.cell.method in EXPLICIT or not hasattr(source, "augmented_jacobian"):
            return NewtonScript()
        return NewtonScript(inside=("    def jac(t, z):", "        return augmented_jacobian(t, z, p)"), jacobian="jac")
    quoted, module = (_ARRANGED, ("ARRANGED = arrangement(AT, COUPLED, SPECIES)",)) if fields else ((), ())
    if task.cell.method in EXPLICIT:
        return NewtonScript(quoted, module)
    n_columns = systems.shares[0].stop
    storages = [storage for storage in (systems.storage(n_columns), systems.uncoupled_storage) if storage is not None]
    layouts = [storage.layout(systems.shape, n_columns) for storage in storages]
    band = next((storage.band for storage in storages if storage.band is not None), None)
    places, place_lines = _structure(task, systems)
    band_quoted, band_lines = _band(band)
    filled, fill, fill_lines = _fill(systems, task, layouts[0], n_columns)
    has_order = any(layout.order is not None and np.any(np.diff(layout.order) != 1) for layout in layouts)
    is_choice = len(storages) > 1
    inside = [f"    layout = layout_of(m{', coupled' if is_choice else ''})"]
    if fill:
        inside += [f"    fill = {fill}", f"    jac = matrix(layout, fill, {task.cell.method == 'odeint'})"]
    if has_order:
        inside += _IN_ORDER if fill else _IN_ORDER[:6]
    stored = [function for storage in storages for function in _STORED[storage.make]]
    return NewtonScript(
        (*quoted, *places, *band_quoted, layout.Layout, *stored, *filled, *((matrix,) if fill else ())),
        (*module, *place_lines, *band_lines, *_layout_of(storages, fields), *fill_lines),
        tuple(inside),
        ("jac_in_order" if has_order else "jac") if fill else "",
        is_band=band is not None,
        has_order=has_order,
        is_choice=is_choice,
    )


_IN_ORDER = (
    "    order = layout.order if layout.order is not None else np.arange(size)",
    "    place = np.argsort(order)",
    "    z, atols = z[order], atols[order]",
    "",
    "    def rhs_in_order(t, x):",
    "        return rhs_of_all(t, x[place])[order]",
    "",
    "    def jac_in_order(t, x):",
    "        return jac(t, x[place])",
)


def _layout_of(storages: Sequence[Storage], fields: bool) -> tuple[str, ...]:
    """The function that places the entries, for one storage, or for two with and without the coupling."""
    taking = ".taking(ARRANGED.entry)" if fields else ""
    made = [
        f"{item.make.__name__}(STRUCTURE, m{', BAND' if item.band is not None else ''}){taking}" for item in storages
    ]
    chosen = made[0] if len(made) == 1 else f"{made[0]} if coupled else {made[1]}"
    return (
        "", "", "@cache", f"def layout_of(m{', coupled' if len(made) > 1 else ''}):",
        '    """Places of the entries in the Newton matrix with m sensitivities."""', f"    return {chosen}",
    )  # fmt: skip


def _band(band: structure.Band | None) -> tuple[tuple[Callable[..., Any], ...], tuple[str, ...]]:
    """The functions and lines that find a band."""
    if band is None:
        return (), ()
    search = structure.narrowest if np.any(np.diff(band.order) != 1) else structure.own_band
    return (search, structure._width), (f"BAND = {search.__name__}(STRUCTURE)",)


def _structure(task: Task, systems: Systems) -> tuple[tuple[Callable[..., Any] | type, ...], tuple[str, ...]]:
    """The functions and lines that give the places of the Jacobian's entries."""
    types = structure.Structure, structure.Band
    if isinstance(systems, FieldSystems):
        return types, ("STRUCTURE = ARRANGED.shape",)
    if hasattr(systems.source, "ENTRIES"):
        return types, ("STRUCTURE = Structure(N, *np.array(ENTRIES).reshape(-1, 2).T)",)
    times = ", ".join(["T0", *map(repr, task.numbers.breakpoints), "T1"])
    return (*types, structure.places_of_entries), (
        "# The entries of the Jacobian that are not always zero.",
        f"FOUND = places_of_entries(jacobian, ({times}), Y0[:N], P, np.ndarray.tolist)",
        "PLACES = np.unique(np.concatenate(list(FOUND)))",
        "STRUCTURE = Structure(N, PLACES % N, PLACES//N)",
    )


def _fill(
    systems: Systems, task: Task, layout: layout.Layout, n_columns: int
) -> tuple[tuple[Callable[..., Any] | type, ...], str, tuple[str, ...]]:
    """Functions to quote, the call that makes the function which writes the matrix, and lines of the module."""
    source, columns = systems.source, slice(0, n_columns)
    if isinstance(systems, FieldSystems):
        coupled = systems.is_coupled(layout, columns)
        coupling = "coupling if len(layout.below) else None" if coupled else "None"
        call = f"point_by_point(jacobian, {coupling}, layout, p, first, ARRANGED.points)"
        return (newton.point_by_point,), call, ()
    if task.cell.framework_mode == "compiled":
        if not hasattr(source, "augmented_jacobian"):
            return (), "", ()
        return (newton.compiled,), "compiled(augmented_jacobian, layout, p, first)", ()
    blocks = (newton.uncoupled, newton._entries), "uncoupled(jacobian, layout, p, STRUCTURE)"
    if hasattr(source, "second_derivatives") and len(layout.below) == n_columns:
        written = "written_out(second_derivatives, layout, p, N, slice(first, first + m))"
        quoted, call, module = (newton.written_out,), written, ()
    elif not systems.is_coupled(layout, columns):
        return *blocks, ()
    else:
        quoted, call, module = _differences(task, systems)
    if systems.uncoupled_storage is None:
        return quoted, call, module
    return (*quoted, *blocks[0]), f"{call} if coupled else {blocks[1]}", module


def _differences(task: Task, systems: Systems) -> tuple[tuple[Callable[..., Any] | type, ...], str, tuple[str, ...]]:
    forcing = "parameter_jacobian" if task.numbers.wrt == "parameters" else "None"
    of = "m" if systems.uncoupled_storage is None else "m, True"
    module = (
        "", "", "@cache", "def differences(first, m):",
        '    """The coupling of sensitivities to the state, by differences."""',
        f"    return Differences(jacobian, {forcing}, layout_of({of}), STRUCTURE, slice(first, first + m))",
    )  # fmt: skip
    quoted = (structure.groups, newton.Differences, newton._entries)
    return quoted, "differences(first, m).fill(p, atols[:N])", module
