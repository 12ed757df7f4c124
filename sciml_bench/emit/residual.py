"""Algebraic equations as source text, for solvers that take them as they are."""

from __future__ import annotations

from sciml_bench.emit.context import Context
from sciml_bench.emit.events import values_function


def residual_sources(context: Context) -> list[str]:
    """``residual(t, y, p)``, which the last states make zero: (n_algebraic,). Nothing without algebraic equations."""
    residuals = list(context.problem.algebraic.values())
    return [values_function(context, "residual", residuals)] if residuals else []
