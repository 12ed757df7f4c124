"""A program that PyTorch's compiler may have compiled, and what is known of that."""

from __future__ import annotations

from sciml_bench.adapters.base import Program


class CompiledProgram(Program):
    """``_compiled`` says whether the compiler is in use; an eager program does not import it to be asked."""

    _compiled: bool

    def trace_count(self) -> int:
        if not self._compiled:
            return 0
        from sciml_bench.adapters.torch.compiler import graph_count

        return graph_count()

    def phases_ns(self) -> dict[str, int]:
        if not self._compiled:
            return {}
        from sciml_bench.adapters.torch.compiler import phases_ns

        return phases_ns()

    def cache_hits(self) -> int | None:
        if not self._compiled:
            return None
        from sciml_bench.adapters.torch.compiler import cache_hits

        return cache_hits()
