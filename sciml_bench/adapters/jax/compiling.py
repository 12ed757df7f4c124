"""Times that JAX took to trace, to lower and to compile, and cache hits, from its own monitoring events."""

from __future__ import annotations

from collections.abc import Collection

import jax.monitoring

_PHASES = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}


_CACHE_HIT = "/jax/compilation_cache/cache_hits"


class CompileTimes:
    """Collects the durations of the named outermost functions. Compilation within a trace counts as tracing."""

    def __init__(self, functions: Collection[str]):
        self.ns: dict[str, int] = {}
        # The tracer reports a function's own name, the compiler the name of the module made of it.
        self._functions = {*functions, *(f"jit({name})" for name in functions)}
        jax.monitoring.register_event_duration_secs_listener(self._listen)

    def _listen(self, event: str, duration_secs: float, **kwargs: str | int) -> None:
        phase = _PHASES.get(event)
        function = kwargs.get("fun_name")
        if phase and function in self._functions:
            name = f"{str(function).removeprefix('jit(').removesuffix(')')}_{phase}"
            self.ns[name] = self.ns.get(name, 0) + round(duration_secs * 1e9)


class CacheHits:
    """Counts programs that were found in the persistent compilation cache.

    The duration of a compilation is also reported for cache hits: it is then the time of reading them.
    """

    def __init__(self) -> None:
        self.count = 0
        jax.monitoring.register_event_listener(self._listen)

    def _listen(self, event: str, **_kwargs: str | int) -> None:
        self.count += event == _CACHE_HIT
