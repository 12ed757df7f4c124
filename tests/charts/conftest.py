"""Charts of one made-up run, drawn once for all tests."""

from __future__ import annotations

import pytest
from stubs import drawn

from sciml_bench.analysis.summary import RunSummary
from sciml_bench.charts.catalog import across, of_problem
from sciml_bench.charts.chart import Chart


@pytest.fixture(scope="session")
def summary() -> RunSummary:
    """Four problems, six solvers, three blocks."""
    return drawn.summary()


@pytest.fixture(scope="session")
def charts(summary: RunSummary) -> list[Chart]:
    """All charts of the first problem, and all across problems."""
    return [*of_problem(summary, "robertson"), *across(summary)]
