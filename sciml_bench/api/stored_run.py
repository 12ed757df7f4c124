"""A run in its folder, for programs and notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sciml_bench.analysis.analysis import Analysis
    from sciml_bench.charts.chart import Chart
    from sciml_bench.export.frame import Frame
    from sciml_bench.record.record import Record
    from sciml_bench.record.run_folder import Run as Folder
    from sciml_bench.verification.verify import Verification


RESULTS = Path("results")
"""The folder of runs, unless another one is named."""


class Run:
    """A run in its folder: its plan, its records, and their analysis.

    Everything is read on first use and kept; load the folder again to see later records.
    """

    def __init__(self, folder: Folder):
        self.stored = folder

    @property
    def folder(self) -> Path:
        """The path of its folder."""
        return self.stored.folder

    @property
    def plan(self) -> Mapping[str, Any]:
        """The plan as written, with profile, settings, problems, cells, and skipped cells with the reasons."""
        return self.stored.plan

    @property
    def environment(self) -> Mapping[str, Any]:
        """Machine and software."""
        return self.stored.environment

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The record of each process, in the order of the file; damaged lines are logged and left out."""
        return tuple(self.stored.records())

    @cached_property
    def analysis(self) -> Analysis:
        """The analysis of the records, with rows, rankings and their intervals, advice, failures.

        Of a run on several kinds of machines it has the records of one, the kind with most of them.
        """
        from sciml_bench.analysis.analysis import Analysis
        from sciml_bench.analysis.machines import of_one_kind
        from sciml_bench.analysis.summary import summarise
        from sciml_bench.planning.written_plan import written_plan

        shown = of_one_kind(self.stored)
        records = self.records if shown is self.stored else shown.records()
        return Analysis(summarise(written_plan(self.stored), records), self.folder)

    @cached_property
    def cells(self) -> Frame:
        """A row for each cell of each table, with times in seconds, errors, memory in bytes, verdicts."""
        from sciml_bench.export.cells import COLUMNS, cell_rows
        from sciml_bench.export.frame import Frame

        return Frame(COLUMNS, cell_rows(self.analysis))

    @cached_property
    def samples(self) -> Frame:
        """A row for each call that was timed, in seconds."""
        from sciml_bench.export.frame import Frame
        from sciml_bench.export.samples import COLUMNS, sample_rows

        return Frame(COLUMNS, sample_rows(self.stored, lambda _: None))

    def charts(self, kind: str = "work-precision", problem: str | None = None) -> Sequence[Chart]:
        """The charts of a kind, of one problem or of all; an empty list if there is nothing to draw.

        A chart shows itself in a notebook; ``chart.save(path)`` writes PNG, SVG or PDF, ``chart.rows`` are its data.

        Raises:
            UsageError: there is no such kind, or no such problem in the run.
        """
        from sciml_bench.charts.catalog import charts

        return charts(self.analysis, kind, problem)

    def verify(self) -> Verification:
        """Check the run against all rules: ``verify().valid``, and each violation with its rule."""
        from sciml_bench.verification.verify import verify_run

        return verify_run(self.stored)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def _repr_html_(self) -> str:
        """Its tables, for notebooks."""
        from sciml_bench.render.html.notebook import run_html

        return run_html(self.analysis)
