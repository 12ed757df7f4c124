"""Computations around the solve of one trajectory, on balls: its initial state, and its observed values."""

from __future__ import annotations

from collections.abc import Sequence

import flint
from flint import arb

from sciml_bench.emit.symbolic.scalar import scalarise_observed, scalarise_start
from sciml_bench.references.engine.dynamics import Dynamics, Segment
from sciml_bench.spec.model import Problem


class Around:
    """The functions of a problem's parameters, of the data of its one trajectory, and of its states.

    All take the parameters alone; derivatives are with respect to them. The emitted functions serve every trajectory,
    see :meth:`of`.
    """

    def __init__(self, problem: Problem):
        """Emit the problem.

        Raises:
            UnsupportedExpression: an expression has no high-precision counterpart.
        """
        self._start = _Function(Dynamics(scalarise_start(problem), problem.t0, problem.t1))
        observed = None if problem.loss.of is None else Dynamics(scalarise_observed(problem), problem.t0, problem.t1)
        self._observed = None if observed is None else _Function(observed)
        self._n_states = problem.n_states
        self._data, self._series = _data(problem), _series(problem)

    def of(self, problem: Problem) -> Around:
        """Return the functions with the data of another trajectory."""
        other = object.__new__(Around)
        other.__dict__.update(self.__dict__, _data=_data(problem), _series=_series(problem))
        return other

    def initial(self, p: Sequence[arb]) -> list[arb]:
        """The initial state (n_states,)."""
        return self._start.value((), self._with_data(p))[: self._n_states]

    def penalty(self, p: Sequence[arb]) -> arb:
        """The penalty in the loss; 0 if there is none."""
        found = self._start.value((), self._with_data(p))
        return found[self._n_states] if len(found) > self._n_states else arb(0)

    def pull_start(self, p: Sequence[arb], v: Sequence[arb], penalty: int = 0) -> list[arb]:
        """v·(d initial state / dp), and ``penalty`` times the derivative of the penalty."""
        n_seeds = self._start.n_outputs
        seeds = [*v, arb(penalty)][:n_seeds]
        return self._start.pull((), self._with_data(p), seeds)[1][: len(p)]

    def observed(self, y: Sequence[arb], p: Sequence[arb], k: int) -> list[arb]:
        """The observed values in a state at saved time k."""
        return list(y) if self._observed is None else self._observed.value(y, [*p, *self._row(k)])

    def pull_observed(
        self, y: Sequence[arb], p: Sequence[arb], v: Sequence[arb], k: int
    ) -> tuple[list[arb], list[arb] | None]:
        """v·(d observed / dy), and v·(d observed / dp), ``None`` where the loss looks at the state itself."""
        if self._observed is None:
            return list(v), None
        by_state, by_parameter = self._observed.pull(y, [*p, *self._row(k)], v)
        return by_state, by_parameter[: len(p)]

    def _row(self, k: int) -> Sequence[arb]:
        return self._series[k] if self._series else ()

    def _with_data(self, p: Sequence[arb]) -> list[arb]:
        return [*p, *self._data]


def _data(problem: Problem) -> list[arb]:
    return [arb(value) for given in problem.given_at_start for value in given.rows[0]]


def _series(problem: Problem) -> list[list[arb]]:
    """The rows of the series that the loss reads, one for each saved time."""
    series = next((given for given in problem.given if given.name == problem.loss.reads), None)
    if series is None:
        return []
    values, channels = series.rows[0], series.shape[1]
    return [[arb(value) for value in values[i : i + channels]] for i in range(0, len(values), channels)]


class _Function:
    """A vector of functions of states and parameters, compiled once for each precision."""

    def __init__(self, dynamics: Dynamics):
        self._dynamics, self.n_outputs = dynamics, dynamics.n_outputs
        self._compiled: dict[int, Segment] = {}

    def value(self, y: Sequence[arb], p: Sequence[arb]) -> list[arb]:
        return [value.mid() for value in self._segment().rhs(arb(0), y, p)]

    def pull(self, y: Sequence[arb], p: Sequence[arb], v: Sequence[arb]) -> tuple[list[arb], list[arb]]:
        by_state, by_parameter = self._segment().pullback(arb(0), y, p, v)
        return [value.mid() for value in by_state], [value.mid() for value in by_parameter]

    def _segment(self) -> Segment:
        bits = flint.ctx.prec
        if bits not in self._compiled:
            (self._compiled[bits],) = self._dynamics.segments()
        return self._compiled[bits]
