"""Worker side: a function of PyTorch in the place of the emitted right-hand side of a torchdiffeq cell."""

from __future__ import annotations

from typing import Any

import torch

from sciml_bench.adapters.as_given.function import GivenFunction
from sciml_bench.adapters.torchdiffeq.program import TorchdiffeqProgram
from sciml_bench.record.task import Task


class GivenProgram(TorchdiffeqProgram):
    """A cell whose right-hand side is the function."""

    def __init__(self, task: Task):
        super().__init__(task)
        given = GivenFunction(task)

        def rhs(t: Any, y: Any, p: Any) -> Any:
            # Not once a solve: an adjoint differentiates each evaluation, with a graph for each.
            return given.closed(p, _Arrays)(t, y)

        self.solve_for(rhs)


class _Arrays:
    """Makes tensors, of sequences of numbers and tensors of one number too."""

    @staticmethod
    def asarray(values: Any) -> Any:
        """A tensor."""
        if isinstance(values, torch.Tensor):
            return values
        zero = torch.zeros((), dtype=torch.float64)
        if isinstance(values, (int, float)):
            return zero + values
        like = next((value for value in values if isinstance(value, torch.Tensor)), zero)
        return torch.stack([torch.as_tensor(value, dtype=like.dtype, device=like.device) for value in values])

    @staticmethod
    def concatenate(parts: Any) -> Any:
        """Vectors, one after the other."""
        return torch.cat(parts)
