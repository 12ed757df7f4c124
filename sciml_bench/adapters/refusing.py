"""What no adapter of models can run, as a reason for the plan."""

from __future__ import annotations

from sciml_bench.adapters.base import Facts
from sciml_bench.adapters.hardware import lacks_bfloat16
from sciml_bench.task import Cell


def model_refusal(cell: Cell, facts: Facts) -> str | None:
    """Why a cell of a model cannot run here; ``None`` when it can. GPUs are looked for in the worker."""
    if cell.precision == "bfloat16" and cell.device == "cpu":
        return lacks_bfloat16()
    return None
