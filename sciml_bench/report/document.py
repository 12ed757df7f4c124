"""A run's report as plain JSON values, for ``show --json``: the same numbers as the tables, unrounded."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from sciml_bench.report.account import account
from sciml_bench.report.failures import failures
from sciml_bench.report.rows import Row, Time, compare
from sciml_bench.report.summary import RunSummary
from sciml_bench.stats.processes import Spread


def run_document(summary: RunSummary, folder: Path) -> dict[str, Any]:
    """Everything that the tables show. Times are seconds, sizes bytes."""
    counts = account(summary)
    return {
        "folder": str(folder),
        "profile": summary.plan["profile"]["name"],
        "comparable": summary.plan["profile"]["comparable"],
        "problems": [_problem(name, summary) for name in summary.problems],
        "failures": [dataclasses.asdict(failure) for failure in failures(summary)],
        "account": {**dataclasses.asdict(counts), "sentence": counts.sentence},
    }


def _problem(name: str, summary: RunSummary) -> dict[str, Any]:
    comparison = compare(name, summary.of_problem(name))
    return {
        "problem": name,
        "solve_target": dataclasses.asdict(comparison.solve_target),
        "gradient_target": dataclasses.asdict(comparison.gradient_target),
        "cells": [_row(row) for row in comparison.rows],
    }


def _row(row: Row) -> dict[str, Any]:
    cell = row.summary
    return {
        "label": cell.cell.label,
        **dataclasses.asdict(cell.cell),
        "division": cell.division,
        "group": cell.group,
        "processes": len(cell.processes),
        "first_gradient_from_process_s": _spread(cell.first_gradient_process),
        "first_gradient_from_built_s": _spread(cell.first_gradient_built),
        "solve": _time(row.solve),
        "gradient": _time(row.gradient),
        "scd": row.scd,
        "mescd": row.mescd,
        "solve_error_capped_by_reference": row.solve_capped,
        "gradient_error": row.gradient_error,
        "gradient_error_capped_by_reference": row.gradient_capped,
        "point_outcomes": dict(cell.point_outcomes),
        "peak_rss_bytes": cell.peak_rss_bytes,
    }


def _time(time: Time) -> dict[str, Any]:
    return {"seconds": _spread(time.seconds), "at_most": time.at_most, "reason": time.reason}


def _spread(spread: Spread | None) -> dict[str, Any] | None:
    return None if spread is None else dataclasses.asdict(spread)
