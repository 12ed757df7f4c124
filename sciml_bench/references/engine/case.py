"""A problem made ready for the engine."""

from __future__ import annotations

import bisect
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from flint import arb, fmpq
from sympy import Expr, Symbol

from sciml_bench.emit.symbolic.graph import UnsupportedExpression
from sciml_bench.emit.symbolic.scalar import ScalarSystem, scalarise
from sciml_bench.references.confirmation.differences import Direction
from sciml_bench.references.engine.around import Around
from sciml_bench.references.engine.dynamics import Dynamics, FloatArray
from sciml_bench.references.engine.event_functions import Events
from sciml_bench.references.engine.moving import jump_movers
from sciml_bench.references.engine.numbers import exact, matching_digits, precision
from sciml_bench.references.engine.objective import DeclaredLoss, Objective
from sciml_bench.references.engine.observed_loss import ObservedLoss
from sciml_bench.references.engine.trajectory import Start
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.spec.discontinuities.decision import Decider
from sciml_bench.spec.discontinuities.roots import Span
from sciml_bench.spec.discontinuities.switch import shown
from sciml_bench.spec.model import Problem, to_double

#: More unknowns than this are not attempted.
MAX_STATES = 3000
#: Systems with more unknowns than this are discretised fields, or alike.
LARGE = 40
_MANY_TIMES = 100.0
_START_BITS = 512


class Case:
    """A problem's dynamics, its numbers at any precision, and its closed forms."""

    def __init__(self, problem: Problem, like: Case | None = None):
        """Emit the problem for the engine; ``like`` is a case of another trajectory of the same problem.

        Raises:
            ReferenceFailure: the problem is too large, or holds what the engine cannot evaluate.
        """
        if problem.n_states > MAX_STATES:
            raise ReferenceFailure(
                f"'{problem.name}' has {problem.n_states} unknowns; the reference engine takes at most {MAX_STATES}."
                " Take a coarser grid, or compare against a tight double-precision solution."
            )
        self.problem = problem
        self.around: Around | None = None
        self.events: Events | None = None
        # A path through data is part of the equation itself, which then differs for each trajectory.
        if like is not None and not problem.controls:
            self.system, self.dynamics, self.events = like.system, like.dynamics, like.events
            self.around = None if like.around is None else like.around.of(problem)
            return
        try:
            self.system: ScalarSystem = scalarise(problem)
            unsettled = "; ".join(str(moving) for moving in problem.switching.unsettled if moving.of_states)
            self.dynamics = Dynamics(self.system, problem.t0, problem.t1, problem.breakpoints, problem.p, unsettled)
            if problem.latent:
                self.around = Around(problem)
            self.events = Events(problem) if problem.events else None
        except UnsupportedExpression as error:
            raise ReferenceFailure(f"no reference can be computed for '{problem.name}': {error}") from error

    @cached_property
    def scale(self) -> FloatArray:
        """Declared size of each component, shape (n_states,)."""
        return np.array([value for state in self.problem.states for value in state.scale])

    @cached_property
    def start(self) -> Start:
        """Initial state and parameters, at more precision than any computation uses."""
        with precision(_START_BITS):
            p = tuple(exact(value) for value in self.problem.p)
            if self.around is None:
                y0 = tuple(exact(value) for value in self.problem.y0)
            else:
                y0 = tuple(self.around.initial(p))
        return Start(y0, p, self.scale, self.around)

    @cached_property
    def objective(self) -> Objective:
        """The declared loss."""
        if self.around is None:
            return DeclaredLoss(self.problem.loss)
        return ObservedLoss.of(self.problem, self.around)

    @cached_property
    def jump_movers(self) -> tuple[str, ...]:
        """The labels of the parameters that move the time of a jump."""
        return jump_movers(self.problem, self.system)

    @cached_property
    def theta_sizes(self) -> tuple[arb, ...]:
        """Size of each component of theta, as the problem says, at more precision than any computation uses."""
        with precision(_START_BITS):
            return tuple(exact(size) for size in self.problem.theta_sizes)

    @property
    def smallest(self) -> float:
        """The fraction of its declared scale below which a component counts as zero.

        In large systems fronts run into regions where a field is zero except for rounding.
        """
        return 1e-32 if self.problem.n_states <= LARGE else 1e-20

    def unit_directions(self) -> list[Direction]:
        """One direction for each component of theta, as long as the component is large."""
        return [
            self._direction(label, [size if k == i else arb(0) for k in range(len(self.theta_sizes))])
            for i, (label, size) in enumerate(zip(self.problem.theta_labels, self.theta_sizes, strict=True))
        ]

    def random_directions(self, count: int, seed: int) -> list[Direction]:
        """Seeded directions with every component between −1 and 1 times its size, in steps of 1/1000."""
        generator = random.Random(seed)
        return [
            self._direction(
                f"random direction {k + 1} of seed {seed}",
                [size * arb(fmpq(generator.randint(-1000, 1000), 1000)) for size in self.theta_sizes],
            )
            for k in range(count)
        ]

    def _direction(self, label: str, theta: list[arb]) -> Direction:
        if self.problem.wrt == "parameters":
            return Direction(label, (arb(0),) * self.problem.n_states, tuple(theta))
        return Direction(label, tuple(theta), (arb(0),) * self.problem.n_parameters)

    def exact_rows(self) -> list[list[arb]] | None:
        """The exact solution at the saved times, where the problem declares one."""
        if not self.problem.exact:
            return None
        # Exact solutions are elementwise like equations, and are written out in the same way.
        system = scalarise(replace(self.problem, equations=self.problem.exact))
        values = dict(zip(system.p, self.problem.p, strict=True))
        outputs = [expr.xreplace(values) for expr in system.rhs]
        return [[self._at(expr, system.t, time) for expr in outputs] for time in self.problem.save_times]

    def _at(self, expr: Expr, t: Symbol, time: Expr) -> arb:
        """A function of the time at one time."""
        span = Span(self.problem.t0, self.problem.t1)
        try:
            return exact(Decider(t, {}).resolved(expr.xreplace({t: time}), span))
        except ValueError as error:
            raise ReferenceFailure(
                f"the exact solution of '{self.problem.name}' has no value at t = {shown(time)}: {error}"
            ) from error

    def invariant_digits(self, rows: Sequence[tuple[arb, ...]], negligible: FloatArray) -> dict[str, float]:
        """Return how many digits each invariant keeps over the saved times, relative to the magnitudes of its terms.

        Where no term is larger than negligible components, (n_states,), make it, there is nothing to keep.
        """
        digits: dict[str, float] = {}
        for name, expr in self.system.invariants.items():
            function = _Function(replace(self.system, outputs=(expr,)), self.problem)
            first, *_ = function(self.problem.t0, self.start.y0, self.start.p)
            matches = [math.inf]
            for time, row in zip(self.problem.save_times, rows, strict=True):
                value, magnitude, slopes = function(time, row, self.start.p)
                if name not in self.problem.residuals or magnitude > _MANY_TIMES * float(abs(slopes) @ negligible):
                    matches.append(matching_digits(value, first, float(magnitude)))
            digits[name] = min(matches)
        return digits

    def invariant_values(self, rows: Sequence[tuple[arb, ...]]) -> list[dict[str, float]]:
        """The invariants at the start and at the saved times."""
        at = [(self.problem.t0, tuple(self.start.y0)), *zip(self.problem.save_times, rows, strict=True)]
        found: list[dict[str, float]] = [{} for _ in at]
        for name, expr in self.system.invariants.items():
            function = _Function(replace(self.system, outputs=(expr,)), self.problem)
            for values, (time, row) in zip(found, at, strict=True):
                values[name] = float(function(time, row, self.start.p)[0])
        return found


class _Function:
    """A scalar function of t, y and p, the sum of the magnitudes of its first-order terms in y, and its slopes."""

    def __init__(self, system: ScalarSystem, problem: Problem):
        try:
            dynamics = Dynamics(system, problem.t0, problem.t1, problem.breakpoints, problem.p)
        except UnsupportedExpression as error:
            raise ReferenceFailure(f"an invariant of '{problem.name}' cannot be evaluated: {error}") from error
        self.segments = dynamics.segments()
        self.ends = [to_double(end) for end in dynamics.ends]

    def __call__(self, t: Expr, y: Sequence[arb], p: Sequence[arb]) -> tuple[arb, arb, FloatArray]:
        time = exact(t)
        segment = self.segments[min(bisect.bisect_left(self.ends, to_double(t)), len(self.ends) - 1)]
        value = segment.rhs(time, y, p)[0]
        slopes, _ = segment.pullback(time, y, p, [arb(1)])
        size = sum((abs(a * b) for a, b in zip(slopes, y, strict=True)), arb(0)).mid()
        return value, size, np.array([float(slope) for slope in slopes])
