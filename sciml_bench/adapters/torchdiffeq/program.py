"""Worker side of the torchdiffeq adapter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
import torchdiffeq
from torch import Tensor

from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.program import BACKWARD_EVALUATIONS, FloatArray, Gradient, Solution, Trainer
from sciml_bench.adapters.segments import split
from sciml_bench.adapters.time_grid import fixed_steps, refuse_too_many
from sciml_bench.adapters.torch.compiler import CompiledProgram, compiled_right_hand_side
from sciml_bench.adapters.torch.device import OnDevice, device_of, versions
from sciml_bench.adapters.torchdiffeq import ADAPTER, SEMINORM, fixed_grids, not_released, tableaus
from sciml_bench.adapters.torchdiffeq.equation import Arguments, Calls, Equation, depends_on_time, equation
from sciml_bench.adapters.torchdiffeq.failures import typed
from sciml_bench.adapters.torchdiffeq.networks import as_function
from sciml_bench.adapters.torchdiffeq.trainer import TorchdiffeqTrainer
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import LANDING, Point, Task, Training
from sciml_bench.record.trajectories import Trajectories


class Inputs(NamedTuple):
    """The inputs of one call. ``leaves`` are what gradients are taken of; an equation for each segment.

    ``arguments`` have all networks; ``equations`` only the networks that the right-hand side uses.
    """

    leaves: tuple[Tensor, ...]
    arguments: Arguments
    y0: Tensor
    equations: tuple[Equation, ...]
    tolerances: dict[str, Any]
    adjoint: dict[str, Any]
    calls: Calls
    n_steps: int


class Solved(NamedTuple):
    """Values at the saved times, and counts."""

    ys: Tensor
    counts: dict[str, float]


class Differentiated(NamedTuple):
    """The loss, its gradient, and counts: evaluations include the backward pass, steps only the forward one.

    With an adjoint equation, the evaluations of its solve are also reported separately.
    """

    loss: Tensor
    gradient: tuple[Tensor, ...]
    counts: dict[str, float]


class TorchdiffeqProgram(OnDevice, CompiledProgram):
    """``odeint`` for the solution; for the gradient ``odeint`` (discrete) or ``odeint_adjoint`` (backsolve)."""

    def __init__(self, task: Task):
        torch.set_num_threads(task.threads)
        cell, numbers = task.cell, task.numbers
        self._numbers, self._cell = numbers, cell
        self.device = device_of(cell)
        self._dtype = torch.float32 if cell.precision == "float32" else torch.float64
        self._source = load_source(task)
        self._cast_constants()
        self._method = ADAPTER.method(cell.method)
        self._compiled = cell.framework_mode == "compiled"
        self._segments = split(numbers, np.float32 if cell.precision == "float32" else np.float64)
        # Times stay in double precision, as torchdiffeq keeps its own.
        self._times = [
            torch.tensor([s.start, *s.times], dtype=torch.float64, device=self.device) for s in self._segments
        ]
        self._scale = self._by_trajectory(self._tensor(numbers.atol_scale))
        self._p_scale = self._tensor(numbers.p_scale)
        self._y0 = self._by_trajectory(self._tensor(numbers.y0))
        self._networks = getattr(self._source, "networks", tuple)
        # Values that depend on the parameters alone, if the right-hand side takes them: computed once a solve.
        self._prepared = getattr(self._source, "prepared", _as_it_is)
        # Data of the trajectories, where something is computed around the solve.
        given = getattr(self._source, "GIVEN", None)
        self._given = None if given is None else tuple(self._cast(values) for values in given)
        self._adjoint = cell.sensitivity != "discrete"
        self._refuse_inconsistent_method()
        self._counts_steps = tableaus.tells_of_steps(self._method.name)
        self._rhs = self._source.rhs
        if self._compiled:
            self._rhs = compiled_right_hand_side(self._source.rhs)

    def solve_for(self, rhs: Callable[..., Any]) -> None:
        """Take another right-hand side of time, state and parameters than the emitted one."""
        self._rhs = vars(self._source)["rhs"] = rhs
        self._prepared = _as_it_is

    def prepare(self, theta: FloatArray, point: Point) -> Inputs:
        numbers, calls = self._numbers, Calls()
        leaf = self._tensor(theta)
        if numbers.wrt == "parameters":
            arguments = self._arguments(leaf)
            leaves, y0 = arguments.leaves, self._y0
        else:
            arguments, y0 = Arguments(self._tensor(numbers.p)), leaf.requires_grad_()
            leaves = (y0,)
        atol = point.atol * self._scale
        n_steps = 0 if self._method.adaptive else fixed_steps(self._method.order, point.rtol)
        options = fixed_grids.options(self._method, n_steps, numbers.t1 - numbers.t0)
        return Inputs(
            leaves=leaves,
            arguments=arguments,
            y0=y0,
            equations=tuple(equation(self._rhs, calls, segment, self._counts_steps) for segment in self._segments),
            tolerances={"rtol": point.rtol, "atol": atol, "method": self._method.name, "options": options},
            adjoint=self._adjoint_options(arguments, point) if self._adjoint else {},
            calls=calls,
            n_steps=n_steps,
        )

    def solve(self, inputs: Inputs) -> Solved:
        inputs.calls.restart()
        with typed(self._method.implicit), torch.no_grad():
            ys = self._integrate(torchdiffeq.odeint, inputs, self._start(inputs)[0], {})
        return Solved(ys, self._counts(inputs.calls))

    def gradient(self, inputs: Inputs) -> Differentiated:
        inputs.calls.restart()
        with typed(self._method.implicit):
            loss = self._loss(inputs)
            forward = inputs.calls.evaluations
            # A network whose input is differentiated does not use its last bias, whose gradient is zero.
            gradient = torch.autograd.grad(loss, inputs.leaves, materialize_grads=True)
        counts = self._counts(inputs.calls)
        if self._adjoint:
            counts[BACKWARD_EVALUATIONS] = float(inputs.calls.evaluations - forward)
        return Differentiated(loss.detach(), gradient, counts)

    def read_solution(self, output: Solved) -> Solution:
        ys = output.ys.flatten(1).cpu().numpy()
        if not np.all(np.isfinite(ys)):
            raise SolverFailure(Outcome.NONFINITE, "torchdiffeq reports success, but the solution is not finite")
        return Solution(ys, output.counts, self._outcomes(output.counts.get("n_accepted")))

    def _outcomes(self, n_accepted: float | None) -> Trajectories | None:
        return Trajectories.as_one_system(self._numbers.batch, n_accepted)

    def read_gradient(self, output: Differentiated) -> Gradient:
        loss = float(output.loss)
        gradient = torch.cat([part.reshape(-1) for part in output.gradient]).cpu().numpy()
        if not (np.isfinite(loss) and np.all(np.isfinite(gradient))):
            raise SolverFailure(Outcome.NONFINITE, "torchdiffeq reports success, but the gradient is not finite")
        return Gradient(loss, gradient, output.counts)

    def trainer(self, training: Training) -> Trainer:
        inputs = self.prepare(np.asarray(self._numbers.theta), training.point)

        def backward() -> Differentiated:
            inputs.calls.restart()
            with typed(self._method.implicit):
                loss = self._loss(inputs)
                loss.backward()
            gradient = tuple(leaf.grad for leaf in inputs.leaves if leaf.grad is not None)
            return Differentiated(loss.detach(), gradient, self._counts(inputs.calls))

        return TorchdiffeqTrainer(training, inputs.leaves, backward, self)

    def versions(self) -> dict[str, str]:
        return {
            "torch": torch.__version__,
            "torchdiffeq": torchdiffeq.__version__,
            "torch_threads": str(torch.get_num_threads()),
            **versions(self.device),
        }

    def _by_trajectory(self, values: Tensor) -> Tensor:
        """Numbers of all trajectories of a batch, (batch, n_states); of a single one, (n_states,)."""
        return values if self._numbers.batch == 1 else values.reshape(self._numbers.batch, -1)

    def _loss(self, inputs: Inputs) -> Tensor:
        """The loss, to be differentiated."""
        y0, penalty = self._start(inputs)
        integrate = torchdiffeq.odeint_adjoint if self._adjoint else torchdiffeq.odeint
        ys = self._integrate(integrate, inputs, y0, inputs.adjoint)
        if self._given is None:
            return self._source.loss(ys)
        p, networks = inputs.arguments
        return self._source.loss(ys, *self._given, p, *networks) + penalty

    def _start(self, inputs: Inputs) -> tuple[Tensor, Tensor | float]:
        """The initial states, with states decided by theta and the data computed again, and the penalty of the loss."""
        if self._given is None:
            return inputs.y0, 0.0
        p, networks = inputs.arguments
        found = self._source.initial_state(*self._given, p, *networks)
        return found if isinstance(found, tuple) else (found, 0.0)

    def _of_rhs(self, arguments: Arguments) -> Arguments:
        """The arguments of the right-hand side: the named parameters, and the networks that it uses."""
        used = getattr(self._source, "RHS_NETWORKS", range(len(arguments.networks)))
        return Arguments(arguments.p, tuple(arguments.networks[i] for i in used))

    def _taken(self, arguments: Arguments) -> tuple[Any, ...]:
        """The right-hand side's arguments after t and y. A compiler sees through modules."""
        p, networks = self._of_rhs(arguments)
        return (self._prepared(p), *(networks if self._compiled else map(as_function, networks)))

    def _counts(self, calls: Calls) -> dict[str, float]:
        counts = {"n_rhs_evaluations": float(calls.evaluations)}
        return {"n_accepted": float(calls.accepted), **counts} if self._counts_steps else counts

    def _integrate(self, integrate: Callable[..., Any], inputs: Inputs, y0: Tensor, adjoint: dict[str, Any]) -> Tensor:
        refuse_too_many(inputs.n_steps)
        arguments = self._taken(inputs.arguments)
        y, saved = y0, []
        for segment, times, module in zip(self._segments, self._times, inputs.equations, strict=True):
            module.arguments = arguments
            ys = integrate(module, y, times, **self._landing(times, inputs.tolerances | adjoint))
            saved.append(ys[1 : 1 + segment.n_saved])
            y = ys[-1]
        return saved[0] if len(saved) == 1 else torch.cat(saved)

    def _landing(self, times: Tensor, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments of a solve whose steps, forward and backward in time, end at these times if the cell lands."""
        if self._cell.saving != LANDING:
            return arguments
        landing = {"step_t": times[1:]}
        own = {name: arguments[name] | landing for name in ("options", "adjoint_options") if name in arguments}
        return arguments | own

    def _arguments(self, p: Tensor) -> Arguments:
        """The parameters as leaves: the named ones in one tensor, the weights of networks in their modules."""
        start = len(p) - self._numbers.n_weights
        named = torch.nn.Parameter(p[:start].clone())
        networks = tuple(network.to(self.device, self._dtype) for network in self._networks())
        for network in networks:
            end = start + sum(weight.numel() for weight in network.parameters())
            torch.nn.utils.vector_to_parameters(p[start:end].clone(), network.parameters())
            start = end
        return Arguments(named, networks)

    def _adjoint_options(self, arguments: Arguments, point: Point) -> dict[str, Any]:
        """Further arguments of ``odeint_adjoint``: parameters, and the tolerance of each part of its state.

        The parts are the derivative with respect to time, y, the adjoint of y, and the gradient of each parameter
        tensor. Adjoints are losses over a state or a parameter, so their tolerance is the loss's over a typical size.
        """
        parameters = self._of_rhs(arguments).leaves if self._numbers.wrt == "parameters" else ()
        sizes = [leaf.numel() for leaf in arguments.leaves]
        scales = dict(zip(map(id, arguments.leaves), torch.split(self._p_scale, sizes), strict=False)) if sizes else {}
        of_parameters = [point.atol / scales[id(leaf)] for leaf in parameters]
        atol = (point.atol, point.atol * self._scale, point.atol / self._scale, *of_parameters)
        as_tensors = tuple(self._as_tensor(tolerance).reshape(-1) for tolerance in atol)
        options = {"adjoint_options": {"norm": "seminorm"}} if self._cell.sensitivity == SEMINORM else {}
        return {"adjoint_params": parameters, "adjoint_atol": as_tensors, **options}

    def _refuse_inconsistent_method(self) -> None:
        name = self._method.name
        if not tableaus.has_method(name):
            reason = not_released(name) or f"the installed torchdiffeq has no method '{name}'"
            raise SolverFailure(Outcome.UNSUPPORTED, reason)
        found = tableaus.inconsistency(name)
        arguments = self._taken(self._arguments(self._tensor(self._numbers.p)))
        t0, y0 = self._numbers.t0, self._y0
        if found and (self._numbers.breakpoints or depends_on_time(self._source.rhs, t0, y0, arguments)):
            raise SolverFailure(
                Outcome.UNSUPPORTED,
                f"the nodes of torchdiffeq's '{name}' miss the sums of its coefficients by {found:.3g}: it is wrong "
                "for right-hand sides that depend on time, as this one does",
            )

    def _cast_constants(self) -> None:
        """Arrays of the emitted module are double and on the CPU; the cell computes in its precision, on its device."""
        for name, value in list(vars(self._source).items()):
            if isinstance(value, Tensor):
                setattr(self._source, name, self._cast(value))

    def _cast(self, value: Tensor) -> Tensor:
        return value.to(self.device, self._dtype if value.is_floating_point() else value.dtype)

    def _tensor(self, values: Any) -> Tensor:
        return torch.tensor(np.asarray(values), dtype=self._dtype, device=self.device)

    def _as_tensor(self, value: Any) -> Tensor:
        return torch.as_tensor(value, dtype=self._dtype, device=self.device)


def _as_it_is(p: Tensor) -> Tensor:
    return p
