"""The compiled mode: ``torch.compile`` of the right-hand side, as the solver's own loop cannot be compiled.

Imported by compiled programs only: PyTorch's compiler takes seconds to import, which eager programs do not spend.
"""

from __future__ import annotations

import torch
import torch._dynamo.utils
import torch._functorch.config

from sciml_bench.adapters.torchdiffeq.equation import RightHandSide


def compiled(rhs: RightHandSide) -> RightHandSide:
    """The right-hand side compiled at its first calls, once for each use: with and without gradients."""
    # The adjoint keeps the graph of each evaluation, which a compiled function that reuses buffers forbids.
    torch._functorch.config.donated_buffer = False
    return torch.compile(rhs, fullgraph=True, dynamic=False)


def graph_count() -> int:
    """Graphs that TorchDynamo has compiled in this process."""
    return int(torch._dynamo.utils.counters["stats"]["unique_graphs"])
