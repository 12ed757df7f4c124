"""PyTorch's compiler: compilation here, and its reports.

The compiler takes seconds to import, which eager programs do not spend: every import of it stands inside a function
that compiled programs alone call.
"""

from __future__ import annotations

from typing import Any

import torch

from sciml_bench.adapters.program import Program


def compiled_model(model: torch.nn.Module) -> Any:
    """The model compiled at its first call with each size of batch, with and without gradients."""
    import torch._dynamo.config

    # Two graphs for every size of batch, including the evaluation's.
    torch._dynamo.config.recompile_limit = 64
    return torch.compile(model, fullgraph=True, dynamic=False)


def compiled_right_hand_side(rhs: Any) -> Any:
    """A right-hand side compiled at its first calls, once for each use: with and without gradients.

    The loop of a solver cannot be compiled.
    """
    import torch._functorch.config

    # The adjoint keeps the graph of each evaluation, which a compiled function that reuses buffers forbids.
    torch._functorch.config.donated_buffer = False
    return torch.compile(rhs, fullgraph=True, dynamic=False)


def graph_count() -> int:
    """Graphs that TorchDynamo has compiled in this process."""
    import torch._dynamo.utils

    return int(torch._dynamo.utils.counters["stats"]["unique_graphs"])


def phases_ns() -> dict[str, int]:
    """Times of PyTorch's compiler so far: TorchDynamo traces, AOTAutograd lowers, and Inductor compiles.

    PyTorch times its layers each with those below it. The backward pass is lowered and compiled when it is first run.
    """
    import torch._dynamo.utils

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
    import torch._dynamo.utils

    counters = torch._dynamo.utils.counters
    return int(counters["inductor"]["fxgraph_cache_hit"] + counters["aot_autograd"]["autograd_cache_hit"])


class CompiledProgram(Program):
    """A program that PyTorch's compiler may have compiled, with its reports.

    ``_compiled`` says whether the compiler is in use; an eager program does not import it to be asked.
    """

    _compiled: bool

    def trace_count(self) -> int:
        return graph_count() if self._compiled else 0

    def phases_ns(self) -> dict[str, int]:
        return phases_ns() if self._compiled else {}

    def cache_hits(self) -> int | None:
        return cache_hits() if self._compiled else None
