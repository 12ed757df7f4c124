"""Writes a model as a problem file, and checks that the file computes the same."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sciml_bench.errors import ProblemError, ProblemWarning
from sciml_bench.importing.problem_text import written
from sciml_bench.importing.python_function import Given, compared, from_file, traced
from sciml_bench.importing.refusals import Refusal
from sciml_bench.importing.standing_in import unwrapped
from sciml_bench.problem.load import load_problem


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
    try:
        made = written(formula)
    except Refusal as error:
        raise _refused(function, str(error)) from error
    compared(function, formula, made.value)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        # Said again when the file is used, with its own name.
        warnings.simplefilter("ignore", ProblemWarning)
        path = Path(folder) / "problem.toml"
        path.write_text(made.text, encoding="utf-8")
        try:
            load_problem(path)
        except ProblemError as error:
            raise _refused(function, f"its formula is refused: {error.message}", error.cure) from error
    return made.text


def _refused(function: Callable[..., Any], message: str, cure: str = "") -> ProblemError:
    """An error that names a function with its place."""
    code = getattr(unwrapped(function), "__code__", None)
    where, line = (None, None) if code is None else (Path(code.co_filename), code.co_firstlineno)
    return ProblemError(message, where=where, line=line, cure=cure)
