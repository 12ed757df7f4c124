"""The neutral spec: problem files, checked and loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sciml_bench.spec import catalog as catalog

if TYPE_CHECKING:
    from sciml_bench.spec.load import load_problem as load_problem
    from sciml_bench.spec.model import Problem as Problem


def __getattr__(name: str) -> Any:
    """Import the loader, and with it SymPy, only when it is needed: listings must start fast."""
    if name == "load_problem":
        from sciml_bench.spec.load import load_problem

        return load_problem
    if name == "Problem":
        from sciml_bench.spec.model import Problem

        return Problem
    raise AttributeError(name)
