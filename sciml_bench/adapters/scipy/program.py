"""Worker side of the SciPy adapter."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import scipy
from scipy.integrate import BDF, DOP853, LSODA, RK45, Radau

from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.program import FloatArray, Gradient, Program, Solution, Vector
from sciml_bench.adapters.scipy.coupling import cheaper
from sciml_bench.adapters.scipy.failures import raised, unfinished
from sciml_bench.adapters.scipy.fields import FieldSystems, has_fields
from sciml_bench.adapters.scipy.odeint import integrate
from sciml_bench.adapters.scipy.sensitivities import absolute_tolerance, initial
from sciml_bench.adapters.scipy.solve_ivp import Integrate, Result, by_solve_ivp
from sciml_bench.adapters.scipy.structure import Parameters
from sciml_bench.adapters.scipy.system import System, Systems
from sciml_bench.adapters.segments import Segment, split
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import LANDING, Numbers, Point, Task
from sciml_bench.record.trajectories import Trajectories

if TYPE_CHECKING:
    from sciml_bench.adapters.numba import CompileTimes


METHODS = {"rk45": RK45, "dop853": DOP853, "radau": Radau, "bdf": BDF, "lsoda": LSODA}


@dataclass
class Inputs:
    """The inputs of one trajectory: its data, if something is computed around the solve, and the problem.

    ``make`` makes the systems of a gradient, a hundred for as many parameters: the problem with its
    sensitivities, and these without their coupling if that may be cheaper.
    """

    p: Parameters
    given: tuple[Any, ...] | None
    state: System
    make: Callable[[], tuple[list[System], System | None]]

    @cached_property
    def systems(self) -> tuple[list[System], System | None]:
        """The systems of a gradient, made once."""
        return self.make()

    @property
    def augmented(self) -> list[System]:
        """The problem with its sensitivities: one system, or several that share them out."""
        return self.systems[0]

    @property
    def uncoupled(self) -> System | None:
        """One system without the coupling in its matrix, if that may be cheaper."""
        return self.systems[1]


class Counts(NamedTuple):
    """SciPy's own counts, over all segments, and the steps that it took."""

    n_accepted: int
    n_rhs_evaluations: int
    n_jacobian_evaluations: int
    n_lu: int


class Solved(NamedTuple):
    """Values at the saved times, (n_times, size of the system), and SciPy's counts."""

    values: Vector
    counts: Counts


class Differentiated(NamedTuple):
    """The loss, its gradient, and SciPy's counts."""

    loss: float
    gradient: Vector
    counts: Counts


One = TypeVar("One", Solved, Differentiated)


class SciPyProgram(Program):
    """A solve for the solution, and one of the forward sensitivity equations for the gradient.

    SciPy solves one trajectory at a time, and the trajectories of a batch in turn.
    """

    def __init__(self, task: Task):
        self._numbers = task.numbers
        self._trajectories = task.numbers.trajectories
        numbers = self._trajectories[0]
        compiled = task.cell.framework_mode == "compiled"
        self._source = load_source(task)
        self._method = task.cell.method
        solver = METHODS.get(self._method)
        lands = task.cell.saving == LANDING
        by_odeint = partial(integrate, lands=lands)
        self._integrate_segment: Integrate = by_odeint if solver is None else by_solve_ivp(solver, lands)
        self._segments = split(numbers)
        self._evaluate_at = [np.asarray(segment.times) for segment in self._segments]
        self._compiled = self._compile_times() if compiled else None
        self._given = self._data()
        self._n_states, self._n_theta = len(numbers.y0), len(numbers.theta)
        fields = compiled and has_fields(self._source)
        self._systems = (
            FieldSystems(self._source, numbers, self._method)
            if fields
            else Systems(self._source, numbers, self._method, compiled)
        )
        # Sizes of the systems whose Jacobian is compiled.
        self._called: set[tuple[int, ...]] = set()
        # For relative tolerances of each half of a decade, whether it is cheaper.
        self._is_uncoupled: dict[int, bool] = {}

    def _data(self) -> Sequence[tuple[Any, ...] | None]:
        """The data of each trajectory; ``None`` if nothing is computed around the solve."""
        given: tuple[Any, ...] | None = getattr(self._source, "GIVEN", None)
        if given is None or len(self._trajectories) == 1:
            return [given] * len(self._trajectories)
        return [tuple(rows[place] for rows in given) for place in range(len(self._trajectories))]

    def prepare(self, theta: FloatArray, point: Point) -> list[Inputs]:
        values = np.array(theta, dtype=np.float64)
        each = zip(self._trajectories, self._given, strict=True)
        return [self._prepared(numbers, values, given, point) for numbers, given in each]

    def prepare_gradient(self, theta: FloatArray, point: Point) -> list[Inputs]:
        inputs = self.prepare(theta, point)
        for one in inputs:
            # Made here, as the call would be timed with it.
            _ = one.systems
        return inputs

    def _prepared(self, numbers: Numbers, values: Vector, given: tuple[Any, ...] | None, point: Point) -> Inputs:
        parameters = numbers.wrt == "parameters"
        p = self._parameters(values if parameters else np.asarray(numbers.p))
        y0 = np.asarray(numbers.y0) if parameters else values
        start = initial(y0, self._n_theta, numbers.wrt)
        if given is not None:
            y0, start = self._start(p, given)
        atol = point.atol * np.asarray(numbers.atol_scale)

        def of_gradient() -> tuple[list[System], System | None]:
            given_to_both = (p, start, point.rtol, absolute_tolerance(atol, values, numbers))
            return self._systems.augmented(*given_to_both), self._systems.uncoupled(*given_to_both)

        return Inputs(p, given, self._systems.state(p, y0, point.rtol, atol), of_gradient)

    def solve(self, inputs: list[Inputs]) -> list[Solved]:
        return self._each(inputs, lambda one: self._integrate(one.state))

    def gradient(self, inputs: list[Inputs]) -> list[Differentiated]:
        return self._each(inputs, self._differentiated)

    def _each(self, inputs: list[Inputs], call: Callable[[Inputs], One]) -> list[One]:
        results: list[One] = []
        for place, one in enumerate(inputs):
            try:
                results.append(call(one))
            except SolverFailure as error:
                if len(inputs) == 1:
                    raise
                steps = [result.counts.n_accepted for result in results]
                failed = Trajectories(len(inputs), False, tuple(steps), ((place, error.outcome),))
                message = f"trajectory {place + 1} of {len(inputs)}: {error}"
                raise SolverFailure(error.outcome, message, failed) from error
        return results

    def _differentiated(self, inputs: Inputs) -> Differentiated:
        systems = self._cheaper(inputs)
        solved = [self._integrate(system) for system in systems]
        # The state is in each of them.
        ys = solved[0].values[:, : self._n_states]
        loss, by_state, directly = self._loss(ys, inputs.p, inputs.given)
        gradient = np.empty(self._n_theta)
        counts = Counts(0, 0, 0, 0)
        for system, (values, told) in zip(systems, solved, strict=True):
            rows = values.reshape(len(values), -1, self._n_states)[:, 1:]
            # One product of a (columns, n_states) matrix and a vector for each saved time, then their sum.
            gradient[system.columns] = np.matmul(rows, by_state[:, :, None]).sum(axis=0)[:, 0]
            counts = Counts(*map(operator.add, counts, told))
        return Differentiated(float(loss), gradient + directly, counts)

    def _cheaper(self, inputs: Inputs) -> Sequence[System]:
        """The systems that the gradient is taken of; found by solving both at the first call near their tolerance."""
        without = inputs.uncoupled
        if without is None:
            return inputs.augmented
        near = round(2 * math.log10(without.rtol))
        if near not in self._is_uncoupled:
            chosen = cheaper(inputs.augmented, without, lambda system: self._integrate(system).counts)
            self._is_uncoupled[near] = chosen[0] is without
        return [without] if self._is_uncoupled[near] else inputs.augmented

    def _parameters(self, p: Vector) -> Parameters:
        """The parameters as the emitted functions take them.

        What Python runs takes Python floats, not NumPy scalars: it computes with them one by one, three times as fast.
        What Numba compiled takes an array.
        """
        return p.tolist() if self._compiled is None else p

    def _compile_times(self) -> CompileTimes:
        from sciml_bench.adapters.numba import CompileTimes

        return CompileTimes(vars(self._source).values())

    def _start(self, p: Parameters, given: tuple[Any, ...]) -> tuple[Vector, Vector]:
        """The initial state as the parameters decide it, and the same followed by its sensitivities."""
        found = self._source.initial_state(*given, np.asarray(p))
        y0 = found[0] if isinstance(found, tuple) else found
        return y0, np.concatenate([y0, self._source.initial_jacobian(*given, p).T.ravel()])

    def _loss(self, ys: Vector, p: Parameters, given: tuple[Any, ...] | None) -> tuple[float, Vector, Vector | float]:
        """The loss, its derivatives by the states, and those by the parameters while the states stay."""
        source = self._source
        if given is None:
            return source.loss(ys), source.loss_gradient(ys), 0.0
        found = source.initial_state(*given, np.asarray(p))
        penalty = found[1] if isinstance(found, tuple) else 0.0
        by_state, by_parameter = source.loss_gradient(ys, *given, p)
        return source.loss(ys, *given, p) + penalty, by_state, by_parameter

    def synchronise(self, output: Any) -> None:
        """Nothing to wait for: NumPy computes before it returns."""

    def read_solution(self, output: list[Solved]) -> Solution:
        values = np.concatenate([one.values for one in output], axis=1) if len(output) > 1 else output[0].values
        if not np.all(np.isfinite(values)):
            raise SolverFailure(Outcome.NONFINITE, "SciPy reports success, but the solution is not finite")
        steps = [one.counts.n_accepted for one in output]
        return Solution(values, _statistics(output), Trajectories.each(steps, ()) if len(output) > 1 else None)

    def read_gradient(self, output: list[Differentiated]) -> Gradient:
        # A batch has gradients with respect to parameters alone, which its trajectories share.
        loss = math.fsum(one.loss for one in output)
        gradient = np.sum([one.gradient for one in output], axis=0)
        if not (np.isfinite(loss) and np.all(np.isfinite(gradient))):
            raise SolverFailure(Outcome.NONFINITE, "SciPy reports success, but the gradient is not finite")
        return Gradient(loss, gradient, _statistics(output))

    def versions(self) -> dict[str, str]:
        found = {"scipy": scipy.__version__, "numpy": np.__version__}
        if self._compiled is not None:
            from sciml_bench.adapters.numba import versions

            found |= versions()
        return found

    def trace_count(self) -> int:
        return 0 if self._compiled is None else self._compiled.count

    def phases_ns(self) -> dict[str, int]:
        return {} if self._compiled is None else {"compile": self._compiled.ns}

    def _integrate(self, system: System) -> Solved:
        if self._method == "lsoda":
            # LSODA says why it stopped only in a warning.
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                return self._segments_in_turn(system, said)
        return self._segments_in_turn(system, [])

    def _segments_in_turn(self, system: System, said: list[warnings.WarningMessage]) -> Solved:
        if self._compiled is not None:
            self._compile_jacobian(system)
        start, saved = system.start, []
        counts = Counts(0, 0, 0, 0)
        for segment, times in zip(self._segments, self._evaluate_at, strict=True):
            result = self._one_segment(system, segment, times, start)
            if result.status != 0:
                raise unfinished(result.message, [str(warning.message) for warning in said], segment.start)
            start = result.y[:, -1]
            ys = result.y.T[: segment.n_saved]
            saved.append(ys if system.place is None else ys[:, system.place])
            here = (result.n_steps, result.nfev, result.njev, result.nlu)
            counts = Counts(*map(operator.add, counts, here))
        return Solved(saved[0] if len(saved) == 1 else np.concatenate(saved), counts)

    def _compile_jacobian(self, system: System) -> None:
        """Compile it before the first solve, not in whichever one LSODA first takes implicit steps."""
        jacobian = system.options.get("jac")
        size = len(system.start), *(system.options.get(name) or 0 for name in ("lband", "uband"))
        if jacobian is not None and size not in self._called:
            self._called.add(size)
            jacobian(self._numbers.t0, system.start, *system.args)

    def _one_segment(self, system: System, segment: Segment, times: Vector, start: Vector) -> Result:
        rhs, options = system.rhs, system.options
        if segment.clipped:
            rhs = _clipped(rhs, segment)
            if "jac" in options:
                options = {**options, "jac": _clipped(options["jac"], segment)}
        try:
            return self._integrate_segment(rhs, segment, times, start, system.rtol, system.atol, options, system.args)
        except (ValueError, RuntimeError, np.linalg.LinAlgError) as error:
            known = raised(error)
            if known is None:
                raise
            raise known from error


def _clipped(function: Callable[..., Any], segment: Segment) -> Callable[..., Any]:
    low, high = segment.low, segment.high
    return lambda t, y, *args: function(min(max(t, low), high), y, *args)


def _statistics(output: Sequence[Solved | Differentiated]) -> dict[str, float]:
    """Counts of the trajectory, or of all of a batch together with the steps of each."""
    counts = [one.counts for one in output]
    totals = {name: float(sum(getattr(one, name) for one in counts)) for name in Counts._fields}
    if len(counts) == 1:
        return totals
    steps = [one.n_accepted for one in counts]
    return {
        **totals,
        "n_steps": float(max(steps)),
        "n_steps_least": float(min(steps)),
        "n_steps_mean": float(np.mean(steps)),
    }
