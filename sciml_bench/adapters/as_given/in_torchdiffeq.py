"""Worker side: a function of PyTorch in the place of the emitted right-hand side of a torchdiffeq cell."""

from __future__ import annotations

from typing import Any

import torch

from sciml_bench.adapters.as_given.function import GivenFunction
from sciml_bench.adapters.base import Program
from sciml_bench.adapters.torchdiffeq.program import TorchdiffeqProgram
from sciml_bench.record.task import Task


def build(task: Task) -> Program:
    """The program of a cell."""
    program, given = TorchdiffeqProgram(task), GivenFunction(task)

    def rhs(t: Any, y: Any, p: Any) -> Any:
        # Not once a solve: an adjoint differentiates each evaluation, with a graph for each.
        return given.closed(p, _stacked)(t, y)

    program.solve_for(rhs)
    return program


def _stacked(values: Any) -> Any:
    """A tensor, of a sequence of numbers and tensors of one number."""
    if isinstance(values, torch.Tensor):
        return values
    like = next((value for value in values if isinstance(value, torch.Tensor)), torch.zeros((), dtype=torch.float64))
    return torch.stack([torch.as_tensor(value, dtype=like.dtype, device=like.device) for value in values])
