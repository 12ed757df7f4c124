"""What PyTorch's compiler tells of itself.

Imported by compiled programs only: the compiler takes seconds to import, which eager programs do not spend.
"""

from __future__ import annotations

import torch._dynamo.utils

from sciml_bench.adapters.base import Program


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


# A program that PyTorch's compiler may have compiled, and what is known of that.


class CompiledProgram(Program):
    """``_compiled`` says whether the compiler is in use; an eager program does not import it to be asked."""

    _compiled: bool

    def trace_count(self) -> int:
        if not self._compiled:
            return 0

        return graph_count()

    def phases_ns(self) -> dict[str, int]:
        if not self._compiled:
            return {}

        return phases_ns()

    def cache_hits(self) -> int | None:
        if not self._compiled:
            return None

        return cache_hits()
