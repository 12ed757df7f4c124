"""Charts as plain JSON values: their words and their data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from sciml_bench.report.charts.chart import Chart


def charts_document(charts: Iterable[Chart]) -> dict[str, Any]:
    """Everything but the drawing. Rows are objects; a number that JSON has no word for is ``None``."""
    return {
        "charts": [
            {
                "kind": chart.kind,
                "name": chart.name,
                "title": chart.title,
                "alt": chart.alt,
                "method": chart.method,
                "columns": list(chart.columns),
                "rows": [
                    {name: _plain(value) for name, value in zip(chart.columns, row, strict=True)} for row in chart.rows
                ],
            }
            for chart in charts
        ]
    }


def _plain(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value
