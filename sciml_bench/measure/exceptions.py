"""From an exception in a worker to a typed outcome with a message."""

from __future__ import annotations

from sciml_bench.record.outcome import Outcome, SolverFailure

_MAX_MESSAGE = 2000

# Frameworks raise their own types for exhausted memory, which cannot be imported here: XlaRuntimeError and
# TensorFlow's ResourceExhaustedError carry the status name, PyTorch and Julia name it in the type.
_OUT_OF_MEMORY_TYPES = ("OutOfMemoryError", "ResourceExhaustedError")

_OUT_OF_MEMORY_TEXTS = ("RESOURCE_EXHAUSTED", "CUDA out of memory", "OutOfMemoryError")


def explain(error: BaseException, otherwise: Outcome) -> tuple[Outcome, str]:
    """The outcome of an exception, and a message; ``otherwise`` for unknown kinds."""
    if isinstance(error, SolverFailure):
        # A failure that calls itself ok is none the less one.
        return otherwise if error.outcome is Outcome.OK else error.outcome, str(error)[:_MAX_MESSAGE]
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, MemoryError) or type(error).__name__ in _OUT_OF_MEMORY_TYPES:
        return Outcome.OUT_OF_MEMORY, message[:_MAX_MESSAGE]
    if any(text in message for text in _OUT_OF_MEMORY_TEXTS):
        return Outcome.OUT_OF_MEMORY, message[:_MAX_MESSAGE]
    if isinstance(error, ImportError):
        return Outcome.IMPORT_ERROR, message[:_MAX_MESSAGE]
    return otherwise, message[:_MAX_MESSAGE]
