"""Checks that the Runge-Kutta coefficients of the installed torchdiffeq are consistent."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torchdiffeq._impl.odeint import SOLVERS

from sciml_bench.adapters.base import Method
from sciml_bench.adapters.time_grid import grid, steps_between
from sciml_bench.record.outcome import Outcome, SolverFailure

# Typed outcomes of failed solves in torchdiffeq.

# Beginnings of the messages of its assertions, torchdiffeq/_impl/rk_common.py.
_ASSERTIONS = {
    "underflow in dt": Outcome.STEP_UNDERFLOW,
    "non-finite values in state": Outcome.NONFINITE,
    "max_num_steps exceeded": Outcome.MAX_STEPS,
}
# The library only warns, and continues with a stage that does not solve its equation.
_NOT_CONVERGED = "Functional iteration did not converge"


@contextmanager
def typed(implicit: bool) -> Iterator[None]:
    """Turn torchdiffeq's assertions into typed failures, and the warning of its implicit methods as well."""
    try:
        if implicit:
            with warnings.catch_warnings():
                warnings.filterwarnings("error", message=_NOT_CONVERGED)
                yield
        else:
            yield
    except AssertionError as error:
        for beginning, outcome in _ASSERTIONS.items():
            if str(error).startswith(beginning):
                raise SolverFailure(outcome, f"torchdiffeq stopped: {_short(error)}") from error
        raise
    except UserWarning as warning:
        message = f"torchdiffeq's implicit stage was not solved: {_short(warning)}"
        raise SolverFailure(Outcome.STEP_UNDERFLOW, message) from warning


def _short(error: Exception) -> str:
    """The first line; a non-finite state is printed in full by the library."""
    return str(error).partition("\n")[0][:200]


# Time grids of fixed-step methods, as torchdiffeq's options.


def options(method: Method, n_steps: int, span: float) -> dict[str, Any]:
    """The options of ``odeint`` for ``n_steps`` over the whole span; none for an adaptive method."""
    if method.adaptive:
        return {}
    if method.family == "multistep":
        # Its formulas are for equal steps, so saved times between grid points are interpolated.
        return {"step_size": span / n_steps, "interp": "cubic"}
    return {"grid_constructor": _grid_constructor(n_steps, span)}


def _grid_constructor(n_steps: int, span: float) -> Callable[[Any, Tensor, Tensor], Tensor]:
    """torchdiffeq's ``grid_constructor``: equal steps between the requested times, ``n_steps`` over the whole span.

    Every requested time is a grid point, so no value is interpolated. The times may decrease, as in the adjoint
    equation.
    """
    grids: dict[tuple[float, ...], Tensor] = {}

    def construct(_func: Any, _y0: Tensor, t: Tensor) -> Tensor:
        times = tuple(t.tolist())
        if times not in grids:
            counts = steps_between(times, n_steps / span)
            grids[times] = torch.tensor(grid(times, counts), dtype=t.dtype, device=t.device)
        return grids[times]

    return construct


# Solver classes by method name. torchdiffeq exports only the functions that use them.

# Coefficients have 16 digits; wrong ones are off by far more.
TOLERANCE = 1e-10


def has_method(method: str) -> bool:
    """Return whether the installed torchdiffeq has this method."""
    return method in SOLVERS


def tells_of_steps(method: str) -> bool:
    """Return whether the solver has a callback for accepted steps: the adaptive Runge-Kutta methods do."""
    return "callback_accept_step" in SOLVERS[method].valid_callbacks()


def defect(tableau: Any) -> float:
    """The largest |c_i - sum_j a_ij| of a torchdiffeq tableau, explicit or implicit.

    Unless every node c_i is the sum of its row, stages are evaluated at times that do not belong to their states:
    the method keeps its order only on right-hand sides that do not depend on time (Hairer, Norsett and Wanner,
    Solving Ordinary Differential Equations I, section II.1).
    """
    nodes = tableau.alpha.tolist()
    rows = [row.sum().item() for row in tableau.beta]
    return max((abs(node - total) for node, total in zip(nodes, rows, strict=True)), default=0.0)


def inconsistency(method: str) -> float:
    """The defect of a method's tableau, or 0 when it is below rounding or the method has none."""
    tableau = getattr(SOLVERS[method], "tableau", None)
    found = 0.0 if tableau is None else defect(tableau)
    return found if found > TOLERANCE else 0.0
