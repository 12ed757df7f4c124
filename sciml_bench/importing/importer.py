"""Writes a model as a problem file, and checks that the file computes the same."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sciml_bench.errors import ProblemError, ProblemWarning
from sciml_bench.importing.problem_text import problem_text
from sciml_bench.importing.python_function import Given, compared, from_file, refused, traced
from sciml_bench.problem.load import load_problem
from sciml_bench.reference.double import emitted_numpy


def is_python(source: str) -> bool:
    """Return whether a model is named as a function of a Python file, ``FILE.py:NAME``."""
    path, colon, name = source.rpartition(":")
    return bool(colon) and path.endswith(".py") and name.isidentifier()


def of_source(source: str, **changes: Any) -> str:
    """The problem file of ``FILE.py:NAME``, which is run; ``changes`` replace its y0, p and t_span.

    Raises:
        ProblemError: it cannot be written as a problem file.
    """
    path, _, name = source.rpartition(":")
    return of_function(*from_file(Path(path), name, **changes))


def of_function(function: Callable[..., Any], given: Given) -> str:
    """The problem file of a right-hand side, checked against the function.

    Raises:
        ProblemError: it cannot be written as a problem file, or computes other values.
    """
    formula = traced(function, given)
    text = problem_text(formula)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.toml"
        path.write_text(text, encoding="utf-8")
        with warnings.catch_warnings():
            # Said again when the file is used, with its own name.
            warnings.simplefilter("ignore", ProblemWarning)
            try:
                problem = load_problem(path)
            except ProblemError as error:
                raise refused(function, f"its formula is refused: {error.message}", error.cure) from error
        compared(function, formula, emitted_numpy(problem, as_written=True)["rhs"])
    return text
