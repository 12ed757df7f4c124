"""How long TensorFlow took to trace its functions. What XLA then takes to compile them it does not tell."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from sciml_bench.adapters.tensorflow import solvers
from sciml_bench.record.outcome import Outcome, SolverFailure


class TraceTimes:
    """Adds up how long the bodies of ``tf.function``s run in Python, which they do only when they are traced."""

    def __init__(self) -> None:
        self.ns: dict[str, int] = {}

    def timed(self, name: str, body: Callable[..., Any]) -> Callable[..., Any]:
        """The same body, its time told as the tracing of the call ``name``."""

        @functools.wraps(body)
        def trace(*inputs: Any) -> Any:
            start_ns = time.perf_counter_ns()
            try:
                return body(*inputs)
            finally:
                phase = f"{name}_trace"
                self.ns[phase] = self.ns.get(phase, 0) + time.perf_counter_ns() - start_ns

        return trace


# What TensorFlow says when a solve fails, as typed outcomes.

_ASSERTION = "max_num_steps exceeded"
_MAX_STEPS = "TensorFlow Probability stopped: the maximum number of steps was reached"
# XLA's words for an operation that it has no kernel for or whose shape it cannot tell.
_UNCOMPILABLE = (
    "Detected unsupported operations",
    "not compilable",
    "XLA compilation",
    "uncompilable",
    "must be a compile-time constant",
)


@contextmanager
def typed(xla: bool) -> Iterator[None]:
    """Turn an assertion of the solver, or XLA's refusal to compile a program, into a typed failure."""
    try:
        yield
    except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError) as error:
        text = error.message
        if _ASSERTION in text:
            raise SolverFailure(Outcome.MAX_STEPS, _MAX_STEPS) from error
        if xla and any(words in text for words in _UNCOMPILABLE):
            raise SolverFailure(Outcome.UNSUPPORTED, f"XLA cannot compile the program: {_short(text)}") from error
        raise


def check(status: int) -> None:
    """Raise when a solver's status is not success."""
    if status == solvers.NOT_A_NUMBER:
        raise SolverFailure(Outcome.NONFINITE, "TensorFlow Probability stopped: the step size became not-a-number")
    if status != 0:
        raise SolverFailure(Outcome.MAX_STEPS, _MAX_STEPS)


def _short(text: str) -> str:
    """Without the lines that only say where in the graph it happened."""
    return " ".join(text.split())[:500]
