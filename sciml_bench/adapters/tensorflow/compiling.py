"""Times that TensorFlow took to trace its functions. It does not report the time that XLA takes to compile them."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any


class TraceTimes:
    """Adds up how long the bodies of ``tf.function``s run in Python, which they do only when they are traced."""

    def __init__(self) -> None:
        self.ns: dict[str, int] = {}

    def timed(self, name: str, body: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a body so that its time counts as the tracing of the call ``name``."""

        @functools.wraps(body)
        def trace(*inputs: Any) -> Any:
            start_ns = time.perf_counter_ns()
            try:
                return body(*inputs)
            finally:
                phase = f"{name}_trace"
                self.ns[phase] = self.ns.get(phase, 0) + time.perf_counter_ns() - start_ns

        return trace
