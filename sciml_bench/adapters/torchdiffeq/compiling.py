"""The compiled mode: ``torch.compile`` of the right-hand side, as the solver's own loop cannot be compiled.

Imported by compiled programs only, see ``adapters.torch.compiler``.
"""

from __future__ import annotations

import torch
import torch._functorch.config

from sciml_bench.adapters.torchdiffeq.equation import RightHandSide


def compiled(rhs: RightHandSide) -> RightHandSide:
    """The right-hand side compiled at its first calls, once for each use: with and without gradients."""
    # The adjoint keeps the graph of each evaluation, which a compiled function that reuses buffers forbids.
    torch._functorch.config.donated_buffer = False
    return torch.compile(rhs, fullgraph=True, dynamic=False)
