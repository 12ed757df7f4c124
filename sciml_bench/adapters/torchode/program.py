"""Worker side of the torchode adapter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
import torchode
from torch import Tensor

from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.program import FloatArray, Gradient, Solution
from sciml_bench.adapters.segments import Segment, split
from sciml_bench.adapters.torch.device import OnDevice, device_of, versions
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Point, Task
from sciml_bench.record.trajectories import Trajectories

# Its annotations are shapes, which no tensor has for a type checker.
PROBLEM: Any = torchode.InitialValueProblem

METHODS = {"tsit5": torchode.Tsit5, "dopri5": torchode.Dopri5}
MAX_STEPS = 100_000
"""Of one trajectory in one segment: a solution that becomes infinite ends here."""

_OUTCOMES = {
    torchode.Status.GENERAL_ERROR.value: Outcome.STEP_UNDERFLOW,
    torchode.Status.REACHED_DT_MIN.value: Outcome.STEP_UNDERFLOW,
    torchode.Status.REACHED_MAX_STEPS.value: Outcome.MAX_STEPS,
    torchode.Status.INFINITE_NORM.value: Outcome.NONFINITE,
}


class Inputs(NamedTuple):
    """The inputs of one call. ``leaf`` is what gradients are taken of; a solver for each segment."""

    leaf: Tensor
    p: Tensor
    y0: Tensor
    solvers: tuple[torchode.AutoDiffAdjoint, ...]


class Solved(NamedTuple):
    """Values at the saved times, (n_times, batch, n_states), and by trajectory the status of the failed segment, tried
    steps, accepted steps, and evaluations.
    """

    ys: Tensor
    status: Tensor
    n_steps: Tensor
    n_accepted: Tensor
    n_evaluations: Tensor


class Differentiated(NamedTuple):
    """The loss, its gradient, and the solve that it was taken through."""

    loss: Tensor
    gradient: Tensor
    solved: Solved


class TorchodeProgram(OnDevice):
    """``AutoDiffAdjoint.solve``; the gradient is taken through its steps, their sizes included, as by default."""

    def __init__(self, task: Task):
        torch.set_num_threads(task.threads)
        self._numbers = numbers = task.numbers
        self.device = device_of(task.cell)
        self._source = load_source(task)
        for name, value in list(vars(self._source).items()):
            if isinstance(value, Tensor):
                setattr(self._source, name, value.to(self.device))
        # Values that depend on the parameters alone, if the right-hand side takes them: computed once a solve.
        self._prepared: Callable[[Tensor], Any] = getattr(self._source, "prepared", _as_it_is)
        self._method = METHODS[task.cell.method]
        self._segments = split(numbers)
        self._scale = self._by_trajectory(self._tensor(numbers.atol_scale))
        self._y0 = self._by_trajectory(self._tensor(numbers.y0))
        self._times = [self._tensor(segment.times).expand(numbers.batch, -1).contiguous() for segment in self._segments]
        if numbers.batch > 1:
            self._refuse_times_of_vectors()

    def prepare(self, theta: FloatArray, point: Point) -> Inputs:
        numbers, leaf = self._numbers, self._tensor(theta).requires_grad_()
        parameters = numbers.wrt == "parameters"
        return Inputs(
            leaf=leaf,
            p=leaf if parameters else self._tensor(numbers.p),
            y0=self._y0 if parameters else self._by_trajectory(leaf),
            solvers=tuple(self._solver(segment, point) for segment in self._segments),
        )

    def solve(self, inputs: Inputs) -> Solved:
        with torch.no_grad():
            return self._integrate(inputs)

    def gradient(self, inputs: Inputs) -> Differentiated:
        solved = self._integrate(inputs)
        if bool(torch.any(solved.status)):
            return Differentiated(torch.tensor(torch.nan), inputs.leaf.detach(), solved)
        loss = self._source.loss(solved.ys if self._numbers.batch > 1 else solved.ys[:, 0])
        (gradient,) = torch.autograd.grad(loss, [inputs.leaf], materialize_grads=True)
        return Differentiated(loss.detach(), gradient, solved)

    def read_solution(self, output: Solved) -> Solution:
        self._check(output)
        ys = output.ys.flatten(1).cpu().numpy()
        if not np.all(np.isfinite(ys)):
            raise SolverFailure(Outcome.NONFINITE, "torchode reports success, but the solution is not finite")
        return Solution(ys, _statistics(output), _trajectories(output))

    def read_gradient(self, output: Differentiated) -> Gradient:
        self._check(output.solved)
        loss, gradient = float(output.loss), output.gradient.cpu().numpy()
        if not (np.isfinite(loss) and np.all(np.isfinite(gradient))):
            raise SolverFailure(Outcome.NONFINITE, "torchode reports success, but the gradient is not finite")
        return Gradient(loss, gradient, _statistics(output.solved))

    def versions(self) -> dict[str, str]:
        return {
            "torch": torch.__version__,
            "torchode": torchode.__version__,
            "torch_threads": str(torch.get_num_threads()),
            **versions(self.device),
        }

    def _tensor(self, values: Any) -> Tensor:
        return torch.tensor(np.asarray(values), dtype=torch.float64, device=self.device)

    def _by_trajectory(self, values: Tensor) -> Tensor:
        return values.reshape(self._numbers.batch, -1)

    def _solver(self, segment: Segment, point: Point) -> torchode.AutoDiffAdjoint:
        term = torchode.ODETerm(self._right_hand_side(segment), with_args=True)
        controller: Any = torchode.IntegralController(atol=point.atol, rtol=point.rtol, term=term)
        # Its constructor takes one number for all components; its computation accepts a tensor.
        controller.atol = point.atol * self._scale
        return torchode.AutoDiffAdjoint(self._method(term=term), controller, max_steps=MAX_STEPS)

    def _right_hand_side(self, segment: Segment) -> Any:
        """``f(t, y, p)`` of t (batch,), y (batch, n_states), and the prepared values of p."""
        rhs, alone = self._source.rhs, self._numbers.batch == 1
        low, high = segment.low, segment.high

        def of_one(t: Tensor, y: Tensor, p: Any) -> Tensor:
            return rhs(t[0], y[0], p)[None]

        def clipped(t: Tensor, y: Tensor, p: Any) -> Tensor:
            return (of_one if alone else rhs)(t.clamp(low, high), y, p)

        return clipped if segment.clipped else of_one if alone else rhs

    def _integrate(self, inputs: Inputs) -> Solved:
        batch, y, saved = self._numbers.batch, inputs.y0, []
        arguments = self._prepared(inputs.p)
        status = torch.zeros(batch, dtype=torch.long, device=self.device)
        # The library keeps some counts on the processor, and a number adds to tensors anywhere.
        counts: list[Any] = [0, 0, 0]
        for segment, times, solver in zip(self._segments, self._times, inputs.solvers, strict=True):
            start, end = (y.new_full((batch,), t) for t in (segment.start, segment.end))
            found = solver.solve(PROBLEM(y, start, end, times), args=arguments)
            here = (found.stats[name] for name in ("n_steps", "n_accepted", "n_f_evals"))
            counts = [before + new for before, new in zip(counts, here, strict=True)]
            saved.append(found.ys[:, : segment.n_saved].transpose(0, 1))
            y, status = found.ys[:, -1], found.status
            if bool(torch.any(status)):
                break
        return Solved(saved[0] if len(saved) == 1 else torch.cat(saved), status, *counts)

    def _check(self, solved: Solved) -> None:
        failed = torch.nonzero(solved.status).flatten().tolist()
        if failed:
            outcome = _OUTCOMES[int(solved.status[failed[0]])]
            name = torchode.Status(int(solved.status[failed[0]])).name
            which = "" if self._numbers.batch == 1 else f" in trajectory {failed[0]}, with which the batch ends"
            raise SolverFailure(outcome, f"torchode stopped: {name}{which}", _trajectories(solved))

    def _refuse_times_of_vectors(self) -> None:
        """Each trajectory has its own time; emitted sources of vector states take one time for all."""
        t = torch.arange(1.0, 1.0 + self._numbers.batch, dtype=torch.float64, device=self.device)
        y0, p = self._y0, self._prepared(self._tensor(self._numbers.p))
        rhs, last = self._source.rhs, self._numbers.batch - 1
        try:
            found = rhs(t, y0, p)
            right = found.shape == y0.shape and all(torch.equal(found[i], rhs(t[i], y0, p)[i]) for i in (0, last))
        except RuntimeError:
            right = False
        if not right:
            message = "the emitted right-hand side takes one time for a whole batch, torchode one for each trajectory"
            raise SolverFailure(Outcome.UNSUPPORTED, message)


def _statistics(solved: Solved) -> dict[str, float]:
    """The counts of the trajectory with the most steps, and how many the others took."""
    most = int(torch.argmax(solved.n_steps))
    steps, accepted = int(solved.n_steps[most]), int(solved.n_accepted[most])
    counts: dict[str, float] = {
        "n_steps": steps,
        "n_accepted": accepted,
        "n_rejected": steps - accepted,
        "n_rhs_evaluations": int(solved.n_evaluations[most]),
    }
    if len(solved.n_steps) == 1:
        return counts
    return {**counts, "n_steps_least": int(solved.n_steps.min()), "n_steps_mean": float(solved.n_steps.double().mean())}


def _trajectories(solved: Solved) -> Trajectories | None:
    """The outcome of each trajectory of a batch."""
    if len(solved.n_steps) == 1:
        return None
    statuses = solved.status.tolist()
    failed = ((index, _OUTCOMES[status]) for index, status in enumerate(statuses) if status)
    return Trajectories.each(solved.n_steps.tolist(), failed)


def _as_it_is(p: Tensor) -> Tensor:
    return p
