"""How long the figures of a large run take to draw for a page, in processor time, and how large they are.

A report of 10⁴ records is promised in under 20 s and 8 MiB, figures included. Run it from a checkout:

    python benchmarks/figures.py [--records 10000]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from stubs import drawn

from sciml_bench.analysis.summary import RunSummary, summarise
from sciml_bench.charts.catalog import across, of_problem
from sciml_bench.charts.chart import Chart

_PROBLEMS = 16
_BLOCKS = 30


def made(records: int) -> tuple[RunSummary, float]:
    """A run of about so many records: 16 problems, 30 blocks, and as many cells as that takes; and seconds to reduce
    one record."""
    cells = drawn.cells([f"problem-{number}" for number in range(_PROBLEMS)])
    kinds = max(1, round(records / (_PROBLEMS * _BLOCKS * len(drawn.WAYS))))
    many = {
        type(cell)(cell.problem, cell.adapter, cell.method, cell.sensitivity, f"{cell.mode}{kind or ''}"): way
        for cell, way in cells.items()
        for kind in range(kinds)
    }
    found = list(drawn.records(many, blocks=_BLOCKS, calls=30))
    started_s = time.process_time()
    summary = summarise(drawn.plan_of(many, profile="rigorous"), found)
    return summary, (time.process_time() - started_s) / len(found)


def all_charts(summary: RunSummary) -> list[Chart]:
    """Every chart of a page."""
    return [chart for problem in summary.problems for chart in of_problem(summary, problem)] + list(across(summary))


def main() -> None:
    """Print seconds and sizes for each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    summary, per_record_s = made(parser.parse_args().records)
    records = sum(len(cell.processes) for cell in summary.cells.values())
    started_s = time.process_time()
    charts = all_charts(summary)
    print(f"{records} records, {len(summary.cells)} cells: {1e6 * per_record_s:.0f} µs to reduce each")
    print(f"data of {len(charts)} figures: {time.process_time() - started_s:.2f} s")
    took_s: dict[str, list[float]] = defaultdict(list)
    sizes: dict[str, list[int]] = defaultdict(list)
    for chart in charts:
        started_s = time.process_time()
        text = chart.svg()
        took_s[chart.kind].append(time.process_time() - started_s)
        sizes[chart.kind].append(len(text.encode()))
    for kind, seconds in took_s.items():
        each_ms, each_kib = 1e3 * sum(seconds) / len(seconds), sum(sizes[kind]) / len(seconds) / 1024
        print(f"  {kind:<20} {len(seconds):>4} figures  {each_ms:>6.0f} ms  {each_kib:>6.1f} KiB each")
    total_s, total_bytes = sum(map(sum, took_s.values())), sum(map(sum, sizes.values()))
    print(f"drawn: {total_s:.1f} s, {total_bytes / 2**20:.2f} MiB")


if __name__ == "__main__":
    main()
