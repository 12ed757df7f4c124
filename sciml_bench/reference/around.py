"""Computations around the solve of one trajectory, on balls: its initial state, and its observed values."""

from __future__ import annotations

from collections.abc import Sequence

import flint
from flint import arb

from sciml_bench.emit.scalar import scalarise_observed, scalarise_start
from sciml_bench.problem.model import Problem
from sciml_bench.reference.dynamics import Dynamics, Segment


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
        self._data = _data(problem)

    def of(self, problem: Problem) -> Around:
        """Return the functions with the data of another trajectory."""
        other = object.__new__(Around)
        other.__dict__.update(self.__dict__, _data=_data(problem))
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

    def observed(self, y: Sequence[arb], p: Sequence[arb]) -> list[arb]:
        """The observed values in a state."""
        return list(y) if self._observed is None else self._observed.value(y, p)

    def pull_observed(self, y: Sequence[arb], p: Sequence[arb], v: Sequence[arb]) -> tuple[list[arb], list[arb] | None]:
        """v·(d observed / dy), and v·(d observed / dp), ``None`` where the loss looks at the state itself."""
        return (list(v), None) if self._observed is None else self._observed.pull(y, p, v)

    def _with_data(self, p: Sequence[arb]) -> list[arb]:
        return [*p, *self._data]


def _data(problem: Problem) -> list[arb]:
    (row,) = zip(*(given.rows for given in problem.given), strict=True) if problem.given else ((),)
    return [arb(value) for values in row for value in values]


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
