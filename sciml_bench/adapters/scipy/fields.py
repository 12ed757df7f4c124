"""The systems of vectors and fields that Numba compiled, whose points have a separate storage order.

Solvers have the state in that order, in which the Jacobian is a narrow band if possible; so calls move no value.
"""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from sciml_bench.adapters.program import Vector
from sciml_bench.adapters.scipy.callbacks import writing
from sciml_bench.adapters.scipy.layout import Layout, banded_blocks, dense, sparse
from sciml_bench.adapters.scipy.newton import Fill, point_by_point
from sciml_bench.adapters.scipy.point_order import Arrangement, arrangement
from sciml_bench.adapters.scipy.structure import Band, Parameters, Structure, own_band
from sciml_bench.adapters.scipy.system import EXPLICIT, LSODA, MANY_STATES, SPARSE_FROM, System, Systems, is_narrow
from sciml_bench.record.task import Numbers


def has_fields(source: ModuleType) -> bool:
    """Return whether an emitted module has loops over points."""
    return hasattr(source, "COUPLED")


class FieldSystems(Systems):
    """The systems of one cell of such a module."""

    def __init__(self, source: ModuleType, numbers: Numbers, method: str):
        super().__init__(source, numbers, method, is_compiled=True)
        self.arranged: Arrangement = arrangement(source.AT, source.COUPLED, source.SPECIES)

    def state(self, p: Parameters, start: Vector, rtol: float, atol: Vector) -> System:
        rhs = writing(self.source.derivative, self._n, self._reuses, p, self.arranged.points)
        return self._system(rhs, start, rtol, atol, self._state_layout, p, slice(0, 0))

    def _with(
        self, columns: slice, p: Parameters, start: Vector, rtol: float, atol: Vector, chosen: Layout | None = None
    ) -> System:
        start, atol = (self._part(values, columns) for values in (start, atol))
        n_columns = columns.stop - columns.start
        rhs = writing(
            self.source.augmented, len(start), self._reuses, p, columns.start, self.arranged.points
        )  # fmt: skip
        if chosen is None and self._method not in EXPLICIT:
            chosen = self._layout(n_columns)
        return self._system(rhs, start, rtol, atol, chosen, p, columns)

    def _system(
        self, rhs: Any, start: Vector, rtol: float, atol: Vector, chosen: Layout | None, p: Parameters, columns: slice
    ) -> System:
        order = self.arranged.order_of(len(start) // self._n)
        options = {} if chosen is None else self._options(chosen, self._fill(chosen, columns, p, atol))
        system = System(rhs, start[order], rtol, atol[order], options, (), columns, np.argsort(order))
        return system.ordered(None if chosen is None else chosen.order)

    @cached_property
    def shape(self) -> Structure:
        return self.arranged.shape

    @cached_property
    def band(self) -> Band:
        return own_band(self.shape)

    @cached_property
    def _state_layout(self) -> Layout | None:
        if self._method in EXPLICIT:
            return None
        if self._method in LSODA:
            narrow = is_narrow(self.band.width, self._n)
            return banded_blocks(self.shape, 0, self.band) if narrow else dense(self.shape, 0)
        return (sparse if self._n >= SPARSE_FROM else dense)(self.shape, 0)

    @property
    def _can_uncouple(self) -> bool:
        return True

    @property
    def _in_shares(self) -> bool:
        return self._method in LSODA and self._n < MANY_STATES and not self._is_interleaved

    def _fill(self, chosen: Layout, columns: slice, p: Parameters, atol: Vector) -> Fill:
        source, arranged = self.source, self.arranged
        is_coupled = columns.stop > columns.start and self.is_coupled(chosen, columns)
        coupling = source.coupling if is_coupled else None
        layout = chosen.taking(arranged.entry)
        return point_by_point(source.jacobian, coupling, layout, p, columns.start, arranged.points)
