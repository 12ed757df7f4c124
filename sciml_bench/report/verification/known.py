"""What this version knows of a problem: its numbers, its stored reference, and the source that is emitted for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sciml_bench.errors import SciMLBenchError
from sciml_bench.learning import ModelTruth
from sciml_bench.task import Cell, Numbers, Reference
from sciml_bench.theta import Theta


@dataclass(frozen=True)
class KnownProblem:
    """A problem as it is today. ``reference`` is the one that is stored, exact or published; none is computed here.

    ``theta`` names the components of gradients. A model has a ``model_truth`` instead. ``source_hash`` gives the hash
    of the source that is emitted for a cell, ``None`` where that is not known.
    """

    spec_hash: str
    numbers: Numbers
    reference: Reference | None
    model_truth: ModelTruth | None
    source_hash: Callable[[Cell], str | None]
    theta: Theta | None = None


Known = Callable[[str], KnownProblem | str]
"""The problem of a name, or the reason why it is not known here."""


def known_problems(plan: Mapping[str, Any]) -> Known:
    """Looks problems up in the catalog, or in the file that the plan names; each once."""

    @cache
    def find(name: str) -> KnownProblem | str:
        files = {entry["name"]: entry.get("file") for entry in plan["problems"]}
        try:
            return _load(name, files.get(name))
        except SciMLBenchError as error:
            return str(error)

    return find


def _load(name: str, file: str | None) -> KnownProblem | str:
    from sciml_bench.problem import catalog
    from sciml_bench.problem.architecture.model import Architecture
    from sciml_bench.problem.declared import load_declared
    from sciml_bench.reference.model.truth import stored
    from sciml_bench.reference.truth import truth

    if file is not None and not Path(file).is_file():
        return f"its file {file} is not here"
    problem = load_declared(Path(file) if file is not None else catalog.path(name))

    @cache
    def hash_for(target: str) -> str:
        from sciml_bench.emit import source

        return hashlib.sha256(source(problem, target).encode()).hexdigest()

    def source_hash(cell: Cell) -> str | None:
        from sciml_bench.adapters.registry import adapters

        declared = adapters().get(cell.adapter)
        return None if declared is None else hash_for(declared.target_of(cell))

    model_truth = stored(problem) if isinstance(problem, Architecture) else None
    reference = None if isinstance(problem, Architecture) else truth(problem, 0.0)
    theta = None if isinstance(problem, Architecture) else problem.theta
    return KnownProblem(problem.spec_hash, problem.numbers(), reference, model_truth, source_hash, theta)
