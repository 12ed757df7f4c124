"""The tables of a model as plain JSON values: unrounded, for ``show --json``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from sciml_bench.report.conventional.rows import ModelRow, ModelTable
from sciml_bench.report.conventional.text import checklist
from sciml_bench.stats.processes import Spread


def model_document(problem: Mapping[str, Any], table: ModelTable) -> dict[str, Any]:
    """Parity, times and checklist of one model. Times are seconds, sizes bytes, energy joules for each sample."""
    return {
        "batches": list(table.batches),
        "parity": [
            {
                "cell": item.cell.cell.label,
                "output_error": item.output,
                "loss_error": item.loss,
                "slope_error": item.slope,
                "gradient_norm": item.gradient_norm,
                "bound": item.bound,
                "kept": item.kept,
            }
            for item in table.parity
        ],
        "times": [_row(row) for row in table.rows],
        "checklist": [line.strip() for line in checklist(problem, table)][1:],
    }


def _row(row: ModelRow) -> dict[str, Any]:
    plain = {item.name: getattr(row, item.name) for item in dataclasses.fields(row) if item.name != "cell"}
    told = {name: dataclasses.asdict(value) if isinstance(value, Spread) else value for name, value in plain.items()}
    return {"cell": row.cell.cell.label, **told, "samples_per_s": row.samples_per_s}
