"""Runs on disk as a page shows them: two problems of the catalog in four libraries, with the hashes that belong to
them, so that nothing on the page warns without reason."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

from stubs import compared
from stubs.points import changed
from stubs.records import sealed_line

from sciml_bench.adapters import registry
from sciml_bench.emit import source
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import PointResult
from sciml_bench.record.run_folder import Run
from sciml_bench.record.task import Cell
from sciml_bench.spec import catalog

PROBLEMS = ("robertson", "van-der-pol-stiff")
_WAYS = (
    ("diffrax", "kvaerno5", "checkpointed", "compiled", 1.0),
    ("scipy", "radau", "forward", "eager", 2.3),
    ("scipy", "bdf", "forward", "eager", 2.33),
    ("tensorflow", "bdf", "discrete", "graph", 6.0),
    ("torchdiffeq", "dopri5", "discrete", "eager", 1.0),
)
FACTORS = {Cell(problem, *way[:4]): way[4] for problem in PROBLEMS for way in _WAYS}
CELLS = tuple(FACTORS)
COUNTS = {
    "diffrax": {"n_steps": 40.0, "n_accepted": 36.0, "n_rejected": 4.0},
    "scipy": {"n_rhs_evaluations": 520.0, "n_jacobian_evaluations": 12.0, "n_lu": 44.0},
    "tensorflow": {"n_rhs_evaluations": 1400.0, "n_jacobian_evaluations": 40.0, "n_factorisations": 90.0},
}
MARKUP = "<script>document.title='run'</script><b onclick=\"x()\">&amp;'$x$"


def run(parent: Path, name: str = "page", *, blocks: int = 6, cells: tuple[Cell, ...] = CELLS, **options: Any) -> Run:
    """A run in which the explicit solver fails and all others work; the same every time."""
    generator = random.Random(5)

    def make(cell: Cell, block: int) -> list[PointResult]:
        if cell.adapter == "torchdiffeq":
            return compared.failed_points(Outcome.MAX_STEPS)
        found = compared.points(generator, FACTORS[cell])
        counts = COUNTS[cell.adapter]
        return [
            changed(point, solve=told, gradient=told)
            for index, point in enumerate(found)
            for told in [{"statistics": {key: value * 2**index for key, value in counts.items()}}]
        ]

    made = compared.run(parent, name, blocks=blocks, cells=cells, make=options.pop("make", make), **options)
    rewrite(made, _belonging)
    return made


def rewrite(run: Run, change: Any) -> None:
    """Change every record of a run; ``change`` gets and gives a dictionary."""
    if not run.records_path.exists():
        return
    lines = run.records_path.read_text(encoding="utf-8").splitlines()
    changed_lines = [sealed_line(change(json.loads(line))) for line in lines]
    run.records_path.write_text("".join(f"{line}\n" for line in changed_lines), encoding="utf-8")


def _belonging(record: dict[str, Any]) -> dict[str, Any]:
    """With the hashes of the problem and of the source that would be run, and what workers read back."""
    name, adapter = record["cell"]["problem"], record["cell"]["adapter"]
    problem = catalog.load(name)
    text = source(problem, registry.adapter(adapter).target)
    phases = {"spawn": 4e6, "interpreter": 3e7, "import": 9e8, "build": 1e7, "first_gradient": 2e9, "steady": 3e9}
    return record | {
        "spec_hash": problem.spec_hash,
        "source_hash": hashlib.sha256(text.encode()).hexdigest(),
        "threads": {"affinity": "0"},
        "phases_ns": {key: int(ns) for key, ns in phases.items()},
        "energy": {"not_measurable": "this machine shows no energy counter of its processor"},
        "noisy": ["other_load: other processes kept 0.4 processors busy (limit 0.25)"] if record["block"] == 1 else [],
    }
