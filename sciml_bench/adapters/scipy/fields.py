"""The systems of vectors and fields that Numba compiled, whose points are stored in an order of their own.

Solvers have the state in that order, in which the Jacobian is a narrow band where it can be one; so no value is moved
in any of their calls.
"""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciml_bench.adapters.scipy import layout
from sciml_bench.adapters.scipy.arrangement import Arrangement, arrangement
from sciml_bench.adapters.scipy.calls import writing
from sciml_bench.adapters.scipy.layout import Layout
from sciml_bench.adapters.scipy.newton import Fill
from sciml_bench.adapters.scipy.structure import Band, Parameters, Structure, own_band
from sciml_bench.adapters.scipy.system import EXPLICIT, LSODA, MANY_STATES, SPARSE_FROM, System, Systems, is_narrow
from sciml_bench.task import Numbers

Vector = NDArray[np.float64]


def has_fields(source: ModuleType) -> bool:
    """Whether an emitted module has loops over points."""
    return hasattr(source, "COUPLED")


class FieldSystems(Systems):
    """The systems of one cell of such a module."""

    def __init__(self, source: ModuleType, numbers: Numbers, method: str):
        super().__init__(source, numbers, method, is_compiled=True)
        self._arranged: Arrangement = arrangement(source)

    def state(self, p: Parameters, start: Vector, rtol: float, atol: Vector) -> System:
        rhs = writing(self._source.derivative, self._n, self._reuses, p, self._arranged.points)
        return self._system(rhs, start, rtol, atol, self._state_layout, p, slice(0, 0))

    def _with(
        self, columns: slice, p: Parameters, start: Vector, rtol: float, atol: Vector, chosen: Layout | None = None
    ) -> System:
        start, atol = (self._part(values, columns) for values in (start, atol))
        n_columns = columns.stop - columns.start
        rhs = writing(
            self._source.augmented, len(start), self._reuses, p, columns.start, self._arranged.points
        )  # fmt: skip
        if chosen is None and self._method not in EXPLICIT:
            chosen = self._layout_with(n_columns)
        return self._system(rhs, start, rtol, atol, chosen, p, columns)

    def _system(
        self, rhs: Any, start: Vector, rtol: float, atol: Vector, chosen: Layout | None, p: Parameters, columns: slice
    ) -> System:
        order = self._arranged.order_of(len(start) // self._n)
        options = {} if chosen is None else self._options(chosen, self._fill(chosen, columns, p, atol))
        system = System(rhs, start[order], rtol, atol[order], options, (), columns, np.argsort(order))
        return system.ordered(None if chosen is None else chosen.order)

    @cached_property
    def _shape(self) -> Structure:
        return self._arranged.shape

    @cached_property
    def _band(self) -> Band:
        return own_band(self._shape)

    @cached_property
    def _state_layout(self) -> Layout | None:
        if self._method in EXPLICIT:
            return None
        if self._method in LSODA:
            narrow = is_narrow(self._band.width, self._n)
            return layout.banded_blocks(self._shape, 0, self._band) if narrow else layout.dense(self._shape, 0)
        return (layout.sparse if self._n >= SPARSE_FROM else layout.dense)(self._shape, 0)

    @property
    def _can_uncouple(self) -> bool:
        return True

    @property
    def _in_shares(self) -> bool:
        return self._method in LSODA and self._n < MANY_STATES and not self._is_interleaved

    def _fill(self, chosen: Layout, columns: slice, p: Parameters, atol: Vector) -> Fill:
        entry, points = self._arranged.entry, self._arranged.points
        jacobian, coupling = self._source.jacobian, self._source.coupling
        diagonal, below = (np.ascontiguousarray(places[:, entry]) for places in (chosen.diagonal, chosen.below))
        first = columns.start
        if columns.stop == first or not self._is_coupled(chosen, columns):
            return lambda t, z, numbers: jacobian(t, z, numbers, p, points, diagonal)

        def fill(t: float, z: Vector, numbers: Vector) -> None:
            jacobian(t, z, numbers, p, points, diagonal)
            coupling(t, z, numbers, p, first, points, below)

        return fill
