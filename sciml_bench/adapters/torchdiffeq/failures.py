"""Typed outcomes of failed solves in torchdiffeq."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sciml_bench.record.outcome import Outcome, SolverFailure

# Beginnings of the messages of its assertions, torchdiffeq/_impl/rk_common.py.
_ASSERTIONS = {
    "underflow in dt": Outcome.STEP_UNDERFLOW,
    "non-finite values in state": Outcome.NONFINITE,
    "max_num_steps exceeded": Outcome.MAX_STEPS,
}

# The library only warns, and continues with a stage that does not solve its equation.
_NOT_CONVERGED = "Functional iteration did not converge"


@contextmanager
def typed(implicit: bool) -> Iterator[None]:
    """Turn torchdiffeq's assertions into typed failures, and the warning of its implicit methods as well."""
    try:
        if implicit:
            with warnings.catch_warnings():
                warnings.filterwarnings("error", message=_NOT_CONVERGED)
                yield
        else:
            yield
    except AssertionError as error:
        for beginning, outcome in _ASSERTIONS.items():
            if str(error).startswith(beginning):
                raise SolverFailure(outcome, f"torchdiffeq stopped: {_short(error)}") from error
        raise
    except UserWarning as warning:
        message = f"torchdiffeq's implicit stage was not solved: {_short(warning)}"
        raise SolverFailure(Outcome.STEP_UNDERFLOW, message) from warning


def _short(error: Exception) -> str:
    """The first line; a non-finite state is printed in full by the library."""
    return str(error).partition("\n")[0][:200]
