"""Typed outcomes of failed solves in TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow as tf

from sciml_bench.adapters.tensorflow.solvers import NOT_A_NUMBER
from sciml_bench.record.outcome import Outcome, SolverFailure

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
    if status == NOT_A_NUMBER:
        raise SolverFailure(Outcome.NONFINITE, "TensorFlow Probability stopped: the step size became not-a-number")
    if status != 0:
        raise SolverFailure(Outcome.MAX_STEPS, _MAX_STEPS)


def _short(text: str) -> str:
    """Without the lines that only say where in the graph it happened."""
    return " ".join(text.split())[:500]
