"""Time grids of fixed-step methods, as torchdiffeq's options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sciml_bench.adapters.base import Method
from sciml_bench.adapters.time_grid import grid, steps_between


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
