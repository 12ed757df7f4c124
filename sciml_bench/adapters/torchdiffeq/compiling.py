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


def phases_ns() -> dict[str, int]:
    """What PyTorch's compiler took so far: TorchDynamo traces, AOTAutograd lowers, and Inductor compiles.

    PyTorch times its layers each with those below it. The backward pass is lowered and compiled when it is first run.
    """
    spent = torch._dynamo.utils.cumulative_time_spent_ns
    frame, backend, inductor = (spent[name] for name in ("entire_frame_compile", "backend_compile", "inductor_compile"))
    phases = {
        "trace": frame - backend,
        "lower": backend + spent["entire_backward_compile"] - inductor,
        "compile": inductor,
    }
    return {name: max(0, int(ns)) for name, ns in phases.items()}


def cache_hits() -> int:
    """Graphs that were found compiled on the disk, by Inductor and by AOTAutograd."""
    counters = torch._dynamo.utils.counters
    return int(counters["inductor"]["fxgraph_cache_hit"] + counters["aot_autograd"]["autograd_cache_hit"])
