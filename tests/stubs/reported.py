"""Plans and records as a report reads them, made by hand: times and errors chosen, nothing measured."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stubs.points import changed

from sciml_bench.adapters import registry
from sciml_bench.adapters.base import Method
from sciml_bench.adapters.declared import Declared
from sciml_bench.analysis import summary
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.planning.profiles import profile_named
from sciml_bench.planning.written_plan import WrittenPlan, as_plan
from sciml_bench.record.codec import encode
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import GradientResult, PointResult, SolveResult
from sciml_bench.record.record import Record
from sciml_bench.record.task import Cell, Point


def cell(method: str = "kvaerno5", adapter: str = "diffrax", problem: str = "robertson") -> Cell:
    return Cell(problem, adapter, method, "discrete", "jit")


def cell_id(which: Cell) -> str:
    return which.label.replace("/", "-")


def point(
    rtol: float,
    *,
    solve_ms: float = 1.0,
    gradient_ms: float = 2.0,
    mescd: float | None = 5.0,
    gradient_error: float | None = 1e-4,
    below_reference: bool = False,
    outcome: Outcome = Outcome.OK,
    **changes: Any,
) -> PointResult:
    """A point with three equal samples per loop; ``solve`` and ``gradient`` change fields of the halves."""
    if outcome is not Outcome.OK:
        failed = PointResult.failed(Point(rtol, rtol), outcome, "gradient", f"{outcome} at {rtol:g}")
        return changed(failed, **changes)
    solve = SolveResult(
        outcome=Outcome.OK,
        ns=(int(solve_ms * 1e6),) * 3,
        scores=None
        if mescd is None
        else {"scd": mescd - 1, "trajectory_error": 10.0**-mescd, "below_reference": below_reference},
    )
    gradient = GradientResult(
        outcome=Outcome.OK,
        ns=(int(gradient_ms * 1e6),) * 3,
        scores={"difference_error": 1e-5, "differences": 3, "tightest_error": 1e-6}
        if gradient_error is None
        else {"error": gradient_error, "below_reference": below_reference},
    )
    return changed(PointResult(rtol, rtol, outcome, solve=solve, gradient=gradient), **changes)


def record(which: Cell, points: list[PointResult], *, block: int = 0, **changes: Any) -> Record:
    """A record of these points; the cell is ok when one of them is."""
    ok = any(item.outcome is Outcome.OK for item in points)
    failed = next((item for item in points if item.outcome is not Outcome.OK), None)
    made = Record(
        record_id=f"{which.label}-{block}",
        cell=which,
        cell_id=cell_id(which),
        block=block,
        order=0,
        seed=1,
        started_at="2026-01-01T00:00:00.000+00:00",
        division="idiomatic",
        outcome=Outcome.OK if ok or failed is None else failed.outcome,
        phase=None if ok or failed is None else failed.phase,
        message="" if ok or failed is None else failed.message,
        stderr_tail="",
        wall_s=12.5,
        phases_ns={},
        time_to_first_gradient_ns={"process": 8_000_000_000, "built": 5_000_000_000} if ok else {},
        points=tuple(points),
        peak_rss_bytes=300 * 2**20,
        threads={},
        versions={},
        environment_hash="e",
        spec_hash="s",
        source_hash="c",
        reference_kind="certified",
        profile="quick",
        smoke_only=False,
    )
    return dataclasses.replace(made, **changes)


def _declarations(cells: list[Cell]) -> dict[str, Any]:
    """The declarations of the cells' adapters, without methods and adapters that nobody declares."""
    used: dict[str, dict[str, Method]] = {}
    for which in cells:
        if which.adapter in registry.BUILT_IN:
            known = {method.name: method for method in registry.adapter(which.adapter).methods}
            methods = used.setdefault(which.adapter, {})
            methods |= {which.method: known[which.method]} if which.method in known else {}
    return {name: encode(Declared.of(registry.adapter(name), methods)) for name, methods in used.items()}


def plan(
    cells: list[Cell],
    *,
    skipped: list[str] | None = None,
    profile: str = "quick",
    file: str | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """A plan of idiomatic cells; ``skipped`` are reasons, one per cell that is left out."""
    chosen = profile_named(profile)
    problems = dict.fromkeys(which.problem for which in cells)
    return {
        "schema": 1,
        "version": "0",
        "profile": dataclasses.asdict(chosen),
        "settings": {"seed": 0, "threads": 1, "timeout_s": chosen.timeout_s, "memory_limit_bytes": None} | settings,
        "problems": [{"name": name, "title": f"Title of {name}", "spec_hash": "s", "file": file} for name in problems],
        "cells": [
            {"label": which.label, "cell": dataclasses.asdict(which), "cell_id": cell_id(which),
             "division": "idiomatic", "group": "", "estimated_s": 1.0}
            for which in cells
        ],
        "adapters": _declarations(cells),
        "skipped": [
            {"reason": reason, "outcome": None, "cells": ["x"] * count} for reason, count in Counter(skipped).items()
        ],
    }  # fmt: skip


def written(made: Mapping[str, Any]) -> WrittenPlan:
    """A plan as it comes back from its file."""
    return as_plan(json.loads(json.dumps(made)))


def summarise(
    made: Mapping[str, Any], records: Iterable[Record], on_damage: Callable[[str], object] = lambda _reason: None
) -> RunSummary:
    """The summary of a run with a plan made by hand."""
    return summary.summarise(written(made), records, on_damage)
