"""Whatever a file declares: an equation or a model, each by its own loader."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sciml_bench.problem.architecture.model import Architecture
    from sciml_bench.problem.model import Problem


def load_declared(path: Path) -> Problem | Architecture:
    """Load and check a file.

    Raises:
        ProblemError: anything about the file is wrong; the message says what, in which line, and how to cure it.
    """
    from sciml_bench.problem.architecture.load import is_architecture, load_architecture
    from sciml_bench.problem.load import load_problem

    return load_architecture(path) if is_architecture(path) else load_problem(path)
