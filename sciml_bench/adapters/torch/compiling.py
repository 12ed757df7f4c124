"""``torch.compile`` of a model, and what its compiler tells of itself.

Imported by compiled programs only: PyTorch's compiler takes seconds to import, which eager programs do not spend.
"""

from __future__ import annotations

from typing import Any

import torch
import torch._dynamo.config
import torch._dynamo.utils


def compiled(model: torch.nn.Module) -> Any:
    """The model compiled at its first call with each size of batch, with and without gradients."""
    # Two graphs for every size of batch, that of the evaluation among them.
    torch._dynamo.config.recompile_limit = 64
    return torch.compile(model, fullgraph=True, dynamic=False)


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
