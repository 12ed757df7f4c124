"""Whatever a file declares: an equation or a model, each by its own loader."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sciml_bench.models.model import Model

if TYPE_CHECKING:
    from sciml_bench.spec.model import Problem
from sciml_bench.models.load import is_model_file, load_model


def load_declared(path: Path) -> Problem | Model:
    """Load and check a file.

    Raises:
        ProblemError: anything about the file is wrong; the message says what, in which line, and how to fix it.
    """
    from sciml_bench.spec.load import load_problem

    return load_model(path) if is_model_file(path) else load_problem(path)
