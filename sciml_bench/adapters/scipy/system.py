"""The initial value problems that SciPy solves for a cell: the equations, and the equations with sensitivities.

What a solver calls hundreds of times is made here once for each point, see :mod:`.callbacks`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sciml_bench.adapters.scipy import layout, newton
from sciml_bench.adapters.scipy.callbacks import Vector, matrix, writing
from sciml_bench.adapters.scipy.layout import Layout
from sciml_bench.adapters.scipy.sensitivities import right_hand_side
from sciml_bench.adapters.scipy.structure import (
    Band,
    Parameters,
    Structure,
    entries_of_factors,
    narrowest,
    own_band,
    structure,
)
from sciml_bench.record.task import Numbers

Function = Callable[..., Any]

EXPLICIT = ("rk45", "dop853")
LSODA = ("lsoda", "odeint")
"""Both ways to ODEPACK's LSODA: by ``solve_ivp``, and by ``odeint``."""

# From this many equations on, a sparse factorisation of the system with sensitivities beats a dense one.
SPARSE_FROM = 200
# With many states (discretised fields) BDF does as well without the coupling, and its factors are half as large; so
# does Radau if they are large anyway. Measured on the catalog's pde suite; kinetics have fewer states.
MANY_STATES = 64
LARGE_FACTORS = 20_000
# With this many of them LSODA gets the largest systems as a band, too: a larger full matrix takes minutes.
DENSE_UP_TO = 600


# A full matrix of fewer states is factorised in the time that it takes to put the values into another order.
BAND_FROM = 20
# LSODA factorises a full matrix, whose cost grows with the cube of the equations: of more than these, sensitivities are
# solved for a share at a time, with the state each time. Measured on hires (88 in one, 1.2 to 3 times as fast as in
# shares) and pollution (520 in shares of 100, 3 to 5 times as fast as in one). Equations of
# vectors cost more themselves.
TOGETHER = 100


class System(NamedTuple):
    """One initial value problem, with the options of its method as ``solve_ivp`` takes them.

    ``rhs`` and the option ``jac`` take t, the values and ``args``. Value k is at ``place[k]`` in the solver's order,
    if it differs from ours. With sensitivities, these are to the ``columns`` of theta. ``p`` are the parameters, for
    problems with events.
    """

    rhs: Function
    start: Vector
    rtol: float
    atol: Vector
    options: dict[str, Any]
    args: tuple[Any, ...] = ()
    columns: slice = slice(0, 0)
    place: NDArray[np.intp] | None = None
    p: Parameters | None = None

    def ordered(self, order: NDArray[np.int64] | None) -> System:
        """Return the system with values in this order, if one is given; ``rhs`` and ``jac`` take no arguments more."""
        if order is None or np.array_equal(order, np.arange(len(order))):
            return self
        place, rhs, options = np.argsort(order), self.rhs, dict(self.options)
        before = slice(None) if self.place is None else self.place
        if (jac := options.get("jac")) is not None:
            options["jac"] = lambda t, x: jac(t, x[place])
        return self._replace(
            rhs=lambda t, x: np.asarray(rhs(t, x[place]))[order],
            start=self.start[order],
            atol=self.atol[order],
            options=options,
            place=place[before],
        )


class Storage(NamedTuple):
    """Storage of a Newton matrix: a function of :mod:`.newton`, and its band."""

    make: Callable[..., Layout]
    band: Band | None = None

    def layout(self, shape: Structure, n_columns: int) -> Layout:
        """The places of the entries, with ``n_columns`` sensitivities."""
        return self.make(shape, n_columns) if self.band is None else self.make(shape, n_columns, self.band)


class Systems:
    """The systems of one cell. A module that is compiled has functions that write into an array."""

    def __init__(self, source: ModuleType, numbers: Numbers, method: str, is_compiled: bool):
        self.source, self._numbers, self._method, self._is_compiled = source, numbers, method, is_compiled
        self._n, self._n_theta = len(numbers.y0), len(numbers.theta)
        self._reuses = method == "odeint"
        self._layouts: dict[int, Layout] = {}

    def state(self, p: Parameters, start: Vector, rtol: float, atol: Vector) -> System:
        """The problem itself."""
        source, n = self.source, self._n
        chosen = self._state_layout
        if not self._is_compiled and chosen is None:
            options = {} if self._method in EXPLICIT else {"jac": source.jacobian}
            if self._method in LSODA and self.shape.is_sparse:
                options = {"jac": lambda t, y, p: source.jacobian(t, y, p).toarray()}
            return System(source.rhs, start, rtol, atol, options, (p,))
        if self._is_compiled:
            rhs = writing(source.derivative, n, self._reuses, p)
            options = {} if self._method in EXPLICIT else {"jac": self._compiled_jacobian(p)}
        else:
            rhs, options = (lambda t, y: source.rhs(t, y, p)), {}
        if chosen is not None:
            options = self._options(chosen, self._fill_of_state(chosen, p))
        return System(rhs, start, rtol, atol, options).ordered(None if chosen is None else chosen.order)

    def augmented(self, p: Parameters, start: Vector, rtol: float, atol: Vector) -> list[System]:
        """The problem with its sensitivities, of that start and tolerance; one, or several that share them out."""
        return [self._with(columns, p, start, rtol, atol) for columns in self.shares]

    def uncoupled(self, p: Parameters, start: Vector, rtol: float, atol: Vector) -> System | None:
        """One system, with a Newton matrix of only the diagonal blocks as a band, if there is a storage for it."""
        if (chosen := self._uncoupled_layout) is None:
            return None
        return self._with(slice(0, self._n_theta), p, start, rtol, atol, chosen)

    @cached_property
    def _uncoupled_layout(self) -> Layout | None:
        storage = self.uncoupled_storage
        return None if storage is None else storage.layout(self.shape, self._n_theta)

    @cached_property
    def uncoupled_storage(self) -> Storage | None:
        """Storage of the matrix without coupling; ``None`` if that gains nothing, or it is such a band anyway."""
        blocks = 1 + self._n_theta
        if self._method != "odeint" or not self._can_uncouple or self._n >= MANY_STATES:
            return None
        narrow = self.band if self._n >= BAND_FROM else own_band(self.shape)
        if not is_narrow(narrow.width, self._n * blocks):
            return None
        return Storage(layout.banded_blocks, narrow)

    @property
    def _can_uncouple(self) -> bool:
        """Return whether the module has what both of the matrices are made of."""
        source = self.source
        matrices = hasattr(source, "augmented_jacobian") if self._is_compiled else not hasattr(source, "augmented")
        return matrices and hasattr(source, "ENTRIES")

    def _with(
        self, columns: slice, p: Parameters, start: Vector, rtol: float, atol: Vector, chosen: Layout | None = None
    ) -> System:
        source, size = self.source, self._n * (1 + columns.stop - columns.start)
        start, atol = (self._part(values, columns) for values in (start, atol))
        if not self._is_compiled and hasattr(source, "augmented"):
            options = {} if self._method in EXPLICIT else self._own_jacobian()
            return System(source.augmented, start, rtol, atol, options, (p,), columns)
        if self._is_compiled:
            rhs = writing(source.augmented, size, self._reuses, p, columns.start)
        else:
            rhs = right_hand_side(source, p, self._n, columns, self._numbers.wrt)
        if self._method in EXPLICIT:
            return System(rhs, start, rtol, atol, {}, (), columns)
        n_columns = columns.stop - columns.start
        chosen = chosen or self._layout(n_columns)
        fill = self._fill(chosen, columns, p, atol[: self._n])
        options = self._options(chosen, fill)
        return System(rhs, start, rtol, atol, options, (), columns).ordered(chosen.order)

    def _compiled_jacobian(self, p: Parameters) -> Function:
        n, kernel = self._n, self.source.jacobian
        nowhere = np.empty((0, 0), dtype=np.int64)
        whole = Layout(n * n, lambda numbers: numbers.reshape(n, n), nowhere, nowhere)
        return matrix(whole, lambda t, y, numbers: kernel(t, y, numbers, p), self._reuses)

    def _part(self, values: Vector, columns: slice) -> Vector:
        rows = values.reshape(1 + self._n_theta, self._n)
        return np.concatenate([rows[:1], rows[1:][columns]]).ravel()

    def _own_jacobian(self) -> dict[str, Any]:
        """The matrix that the module writes out, if it does; otherwise the solver takes differences."""
        return {"jac": self.source.augmented_jacobian} if hasattr(self.source, "augmented_jacobian") else {}

    @cached_property
    def shares(self) -> list[slice]:
        """The components of theta that each system has sensitivities to."""
        return parts_of(self._n, self._n_theta, TOGETHER if self._in_shares else None)

    @property
    def _in_shares(self) -> bool:
        """Return whether sensitivities are solved for a share at a time."""
        return self._method in LSODA and hasattr(self.source, "ENTRIES") and not self._is_interleaved

    @cached_property
    def shape(self) -> Structure:
        return structure(self.source, self._numbers, lambda p: p if self._is_compiled else p.tolist())

    @cached_property
    def band(self) -> Band:
        return narrowest(self.shape)

    @cached_property
    def _state_layout(self) -> Layout | None:
        """A narrow band, for LSODA; ``None`` if the emitted matrix will do."""
        if self._method not in LSODA or not is_narrow(self.band.width, self._n):
            return None
        if self._is_compiled and not hasattr(self.source, "augmented_jacobian"):
            return None
        return layout.banded_blocks(self.shape, 0, self.band)

    def storage(self, n_columns: int) -> Storage:
        """Storage of the matrix of a system with ``n_columns`` sensitivities."""
        size = self._n * (1 + n_columns)
        if self._method in LSODA:
            if self._n >= MANY_STATES and (size > DENSE_UP_TO or is_narrow(self.band.width, self._n)):
                return Storage(layout.banded_blocks, self.band)
            return Storage(layout.banded, self.band) if self._is_interleaved else Storage(layout.dense)
        return Storage(layout.sparse if size >= SPARSE_FROM else layout.dense)

    def _layout(self, n_columns: int) -> Layout:
        """The places of the entries of a system with ``n_columns`` sensitivities, worked out once."""
        if n_columns not in self._layouts:
            self._layouts[n_columns] = self.storage(n_columns).layout(self.shape, n_columns)
        return self._layouts[n_columns]

    @property
    def _is_interleaved(self) -> bool:
        """Return whether LSODA is given a band in which each state stands before its sensitivities."""
        return self._n < MANY_STATES and is_narrow(self.band.width, self._n)

    def _fill_of_state(self, chosen: Layout, p: Parameters) -> newton.Fill | None:
        if self._is_compiled:
            return newton.compiled(self.source.augmented_jacobian, chosen, p, 0)
        # Differences along a narrow band cost less than a sparse matrix.
        return None if self.shape.is_sparse else newton.uncoupled(self.source.jacobian, chosen, p, self.shape)

    def _fill(self, chosen: Layout, columns: slice, p: Parameters, atol: Vector) -> newton.Fill | None:
        source, shape = self.source, self.shape
        if self._is_compiled:
            has = hasattr(source, "augmented_jacobian")
            return newton.compiled(source.augmented_jacobian, chosen, p, columns.start) if has else None
        if hasattr(source, "second_derivatives") and len(chosen.below) == columns.stop - columns.start:
            return newton.written_out(source.second_derivatives, chosen, p, self._n, columns)
        if not self.is_coupled(chosen, columns):
            return newton.uncoupled(source.jacobian, chosen, p, shape)
        forcing = source.parameter_jacobian if self._numbers.wrt == "parameters" else None
        return newton.Differences(source.jacobian, forcing, chosen, shape, columns).fill(p, atol)

    def is_coupled(self, chosen: Layout, columns: slice) -> bool:
        """Return whether the matrix is to have the coupling."""
        n_columns = columns.stop - columns.start
        if len(chosen.below) < n_columns:
            return False
        if self._method in LSODA or self._n < MANY_STATES or self._n * (1 + n_columns) < SPARSE_FROM:
            return True
        return self._method != "bdf" and entries_of_factors(self.shape) * (1 + n_columns) <= LARGE_FACTORS

    def _options(self, chosen: Layout, fill: newton.Fill | None) -> dict[str, Any]:
        """The solver's options for its Newton iteration; without ``fill`` it takes differences."""
        options: dict[str, Any] = {} if chosen.lower is None else {"lband": chosen.lower, "uband": chosen.upper}
        return options if fill is None else {**options, "jac": matrix(chosen, fill, self._reuses)}


def parts_of(n_states: int, n_theta: int, together: int | None) -> list[slice]:
    """Split theta into parts of nearly equal length, so that each has at most ``together`` equations; no limit: one."""
    at_once = n_theta if together is None else min(n_theta, max(1, together // n_states - 1))
    parts = -(-n_theta // at_once)
    ends = [n_theta * part // parts for part in range(parts + 1)]
    return [slice(start, end) for start, end in itertools.pairwise(ends)]


def is_narrow(width: int, size: int) -> bool:
    """Return whether a band pays: its factors store the lower part twice, and are made in smaller pieces."""
    return size >= BAND_FROM and 3 * width + 1 < size / 2
