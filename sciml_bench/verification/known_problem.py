"""This version's facts about a problem: its numbers, its stored reference, and the emitted source."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sciml_bench.adapters.declared import Declared
from sciml_bench.errors import SciMLBenchError
from sciml_bench.planning.written_plan import WrittenPlan
from sciml_bench.record.model_task import ModelTruth
from sciml_bench.record.task import (
    Cell,
    Numbers,
    Reference,
)
from sciml_bench.record.theta import Theta


@dataclass(frozen=True)
class KnownProblem:
    """A problem in its present form. ``reference`` is the stored one, exact or published; none is computed here.

    ``theta`` names the components of gradients. A model has a ``model_truth`` instead. ``source_hash`` gives the hash
    of the source that is emitted for a cell, ``None`` if that is not known.
    """

    spec_hash: str
    numbers: Numbers
    reference: Reference | None
    model_truth: ModelTruth | None
    source_hash: Callable[[Cell], str | None]
    theta: Theta | None = None


Known = Callable[[str], KnownProblem | str]
"""The problem of a name, or the reason why it is not known here."""


def known_problems(plan: WrittenPlan) -> Known:
    """Looks problems up in the catalog, or in the file that the plan names; each once."""

    @cache
    def find(name: str) -> KnownProblem | str:
        problem = plan.problem(name)
        try:
            return _load(name, None if problem is None else problem.file, plan.declared)
        except SciMLBenchError as error:
            return str(error)

    return find


def _load(name: str, file: str | None, declared: Mapping[str, Declared]) -> KnownProblem | str:
    from sciml_bench.models.load_declared import load_declared
    from sciml_bench.models.model import Model
    from sciml_bench.models.truth import stored
    from sciml_bench.references.truth import truth
    from sciml_bench.spec import catalog

    if file is not None and not Path(file).is_file():
        return f"its file {file} is not here"
    problem = load_declared(Path(file) if file is not None else catalog.path(name))

    @cache
    def hash_for(target: str) -> str:
        from sciml_bench.models.emit import source_of

        return hashlib.sha256(source_of(problem, target).encode()).hexdigest()

    def source_hash(cell: Cell) -> str | None:
        adapter = declared.get(cell.adapter)
        return None if adapter is None else hash_for(adapter.target_of(cell))

    model_truth = stored(problem) if isinstance(problem, Model) else None
    reference = None if isinstance(problem, Model) else truth(problem, 0.0)
    theta = None if isinstance(problem, Model) else problem.theta
    return KnownProblem(problem.spec_hash, problem.numbers(), reference, model_truth, source_hash, theta)
