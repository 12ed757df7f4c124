"""Time grids of fixed-step methods, as torchdiffeq's options."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sciml_bench.adapters.base import Method
from sciml_bench.outcome import Outcome, SolverFailure

MAX_STEPS = 1_000_000


def options(method: Method, n_steps: int, span: float) -> dict[str, Any]:
    """The options of ``odeint`` for ``n_steps`` over the whole span; none for an adaptive method."""
    if method.adaptive:
        return {}
    if method.family == "multistep":
        # Its formulas are those of equal steps, so saved times between grid points are interpolated.
        return {"step_size": span / n_steps, "interp": "cubic"}
    return {"grid_constructor": _grid_constructor(n_steps, span)}


def refuse_too_many(n_steps: int) -> None:
    """Raise the failure of a solve that would take more steps than anybody waits for."""
    if n_steps > MAX_STEPS:
        message = f"the tolerance asks for {n_steps} fixed steps; more than {MAX_STEPS} are not tried"
        raise SolverFailure(Outcome.MAX_STEPS, message)


def _grid_constructor(n_steps: int, span: float) -> Callable[[Any, Tensor, Tensor], Tensor]:
    """torchdiffeq's ``grid_constructor``: equal steps between the times asked for, ``n_steps`` over the whole span.

    Every time asked for is a grid point, so no value is interpolated. The times may decrease, as they do in the
    adjoint equation.
    """
    grids: dict[tuple[float, ...], Tensor] = {}

    def construct(_func: Any, _y0: Tensor, t: Tensor) -> Tensor:
        times = tuple(t.tolist())
        if times not in grids:
            grids[times] = torch.tensor(_grid(times, n_steps / span), dtype=t.dtype)
        return grids[times]

    return construct


def _grid(times: tuple[float, ...], steps_per_unit: float) -> list[float]:
    grid = [times[0]]
    for start, end in itertools.pairwise(times):
        # Less one part in 1e9, so that rounding of the time difference adds no step.
        steps = max(1, math.ceil(abs(end - start) * steps_per_unit * (1 - 1e-9)))
        grid += np.linspace(start, end, steps + 1)[1:].tolist()
    return grid
