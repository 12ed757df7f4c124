"""How long a report of a large run takes, how large it is, and how soon a browser shows it.

    python benchmarks/report_page.py                    10 200 records: 17 problems, 20 cells each, 30 processes each
    python benchmarks/report_page.py --cells 40 --processes 10        25 problems, with as many cells as there are
    python benchmarks/report_page.py --records 1000     a smaller run
    python benchmarks/report_page.py --keep report.html leaves the page there

The run is made up: times around a mean that differs from cell to cell, errors that follow the tolerance, counts of
steps, some failures, some disturbed processes; 30 calls in each loop, as profile standard asks for at least. The
report is made as the command makes it, once. When Chromium is there and Playwright is installed, the
page is opened from its file, and the time of its first contentful paint is read from the browser, of a fresh browser
each time, three times. Exit code 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sciml_bench.analysis import process_pool
from sciml_bench.planning.profiles import profile_named
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import GradientResult, PointResult, SolveResult
from sciml_bench.record.record import Record
from sciml_bench.record.run_folder import Run
from sciml_bench.record.task import Cell, Point
from sciml_bench.render.html.page import report
from sciml_bench.spec import catalog

BOUND_S, BOUND_BYTES, BOUND_PAINT_S = 20.0, 8 * 2**20, 1.0
CALLS = 30

CHROMIUM = Path("/usr/bin/chromium")
# Chromium may tell of the paint after the page has loaded, so that the entry is waited for.
FIRST_PAINT_MS = """() => new Promise((told) => new PerformanceObserver((list) => {
    const paint = list.getEntriesByName("first-contentful-paint")[0];
    if (paint) told(paint.startTime);
}).observe({type: "paint", buffered: true}))"""
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip

# Methods, sensitivities and modes of each library; their products make the cells.
LIBRARIES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "diffrax": (
        ("kvaerno5", "kvaerno4", "kvaerno3", "kvaerno5-chord"),
        ("checkpointed", "discrete", "backsolve", "forward"),
        ("compiled",),
    ),
    "scipy": (("radau", "bdf", "lsoda"), ("forward",), ("eager",)),
    "torchdiffeq": (("dopri5", "implicit_adams", "rk4"), ("discrete", "backsolve"), ("eager", "compiled")),
    "tensorflow": (("bdf", "dormand_prince"), ("discrete", "backsolve"), ("eager", "graph", "xla")),
}
SPEED = {"diffrax": 1.0, "scipy": 3.0, "torchdiffeq": 12.0, "tensorflow": 8.0}
PHASES = ("spawn", "import", "build", "compile", "first_gradient", "steady")
NOISE = ("other_load: other processes kept 0.4 processors busy (limit 0.25)",)


def main() -> int:
    """Print the figures; the exit code says whether they are within the bounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10_000, help="how many (default 10000)")
    parser.add_argument("--cells", type=int, default=20, help="cells of each problem, at most 60 (default 20)")
    parser.add_argument("--processes", type=int, default=30, help="processes of each cell (default 30)")
    parser.add_argument("--keep", type=Path, help="where to leave the page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run, records = made_run(Path(folder), options.records, options.cells, options.processes)
        size = run.records_path.stat().st_size
        print(f"{records} records, {size / 2**20:.0f} MiB of records.jsonl")
        before_s, started_s = time.process_time(), time.perf_counter()
        text = report([run], datetime.datetime.now(datetime.UTC), processes=process_pool.available())
        wall_s, cpu_s = time.perf_counter() - started_s, time.process_time() - before_s
        page = options.keep or Path(folder) / "report.html"
        page.write_text(text, encoding="utf-8")
        n_bytes = len(text.encode())
        print(f"made in {wall_s:.1f} s, of processor {cpu_s:.1f} s (bound {BOUND_S:g} s)")
        print(f"{n_bytes / 2**20:.2f} MiB, {text.count('<svg')} figures (bound {BOUND_BYTES / 2**20:g} MiB)")
        print(f"memory of this process at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MiB")
        paint_s = first_paint_s(page)
    if paint_s is not None:
        print(f"first contentful paint after {paint_s:.2f} s (bound {BOUND_PAINT_S:g} s)")
    within = wall_s < BOUND_S and n_bytes < BOUND_BYTES and (paint_s is None or paint_s < BOUND_PAINT_S)
    return 0 if within else 1


def made_run(parent: Path, records: int, n_cells: int = 20, blocks: int = 30) -> tuple[Run, int]:
    """A run of about so many records, and how many they are."""
    names = sorted(catalog.names(), key=lambda name: not name.startswith("robertson"))
    problems = names[: max(1, round(records / (n_cells * blocks)))]
    cells = [cell for problem in problems for cell in some_cells(problem, n_cells)]
    run = Run.create(
        parent, "synthetic_standard", plan=made_plan(problems, cells), environment=ENVIRONMENT,
        now=datetime.datetime(2026, 1, 1),
    )  # fmt: skip
    generator = random.Random(1)
    count = 0
    with run.records_path.open("w", encoding="utf-8") as file:
        for block in range(blocks):
            for order, cell in enumerate(cells):
                # Written at once: one synchronised line after the other would take longer than the report.
                file.write(made_record(cell, block, order, generator).to_json() + "\n")
                count += 1
    return run, count


def some_cells(problem: str, count: int) -> Iterator[Cell]:
    """So many cells of a problem, spread over the libraries."""
    products = [
        Cell(problem, adapter, method, sensitivity, mode, precision)
        for precision in ("float64", "float32")
        for adapter, (methods, sensitivities, modes) in LIBRARIES.items()
        for method in methods
        for sensitivity in sensitivities
        for mode in modes
    ]
    yield from products[:count]


ENVIRONMENT: dict[str, Any] = {
    "sciml_bench": "synthetic",
    "python": {"version": "3.11.7"},
    "cpu": {"model": "A processor", "usable_cores": 8, "governor": "performance"},
    "memory_gib": 32,
    "gpus": [],
    "system": {"name": "Linux", "kernel": "6.1", "machine": "x86_64"},
    "packages": {"diffrax": "0.7.2", "jax": "0.10.2", "scipy": "1.17.1", "torch": "2.13.0", "torchdiffeq": "0.2.5"},
}


def made_plan(problems: list[str], cells: list[Cell]) -> dict[str, Any]:
    """The plan of these cells: the first of each library is idiomatic, implicit ones are matched, the rest is other."""
    profile = profile_named("standard")
    seen: set[tuple[str, str]] = set()
    entries: list[dict[str, Any]] = []
    for cell in cells:
        first = (cell.problem, cell.adapter) not in seen
        seen.add((cell.problem, cell.adapter))
        group = "esdirk 5, discrete" if cell.method.startswith("kvaerno5") else ""
        entries.append(
            {"label": cell.label, "cell": dataclasses.asdict(cell), "cell_id": cell_id(cell),
             "division": "idiomatic" if first else "other", "group": group, "estimated_s": 1.0}
        )  # fmt: skip
    headers = [catalog.header(name) for name in problems]
    return {
        "schema": 1,
        "version": "synthetic",
        "profile": dataclasses.asdict(profile),
        "settings": {"seed": 0, "threads": 1, "timeout_s": profile.timeout_s, "memory_limit_bytes": None},
        "problems": [
            {"name": header.name, "title": header.title, "suite": header.suite, "tier": header.tier,
             "spec_hash": spec_hash(header.name), "file": None}
            for header in headers
        ],
        "cells": entries,
        "skipped": [{"reason": "not in profile standard (tier rigorous)", "outcome": None, "cells": ["a/b"] * 12}],
    }  # fmt: skip


@cache
def spec_hash(problem: str) -> str:
    """That of the catalog."""
    return catalog.load(problem).spec_hash


def cell_id(cell: Cell) -> str:
    """Twelve hexadecimal digits, as a plan gives them."""
    return f"{random.Random(cell.label).getrandbits(48):012x}"


def made_record(cell: Cell, block: int, order: int, generator: random.Random) -> Record:
    """One record: its times around those of its cell, or a failure."""
    own = random.Random(cell.label)
    factor = SPEED[cell.adapter] * own.lognormvariate(0.0, 0.5)
    fails = own.random() < 0.05
    process = factor * generator.lognormvariate(0.0, 0.02)
    points = tuple(
        failed_point(rtol)
        if fails or (cell.method == "rk4" and rtol < 1e-8)
        else made_point(rtol, cell, process, generator)
        for rtol in profile_named("standard").rtols
    )
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(minutes=block, milliseconds=order)
    ok = not fails
    return Record(
        record_id=f"{generator.getrandbits(64):016x}", cell=cell, cell_id=cell_id(cell), block=block, order=order,
        seed=block, started_at=start.isoformat(timespec="milliseconds"), division="other",
        outcome=Outcome.OK if ok else Outcome.MAX_STEPS, phase=None if ok else "solve",
        message="" if ok else "the solver reached 4096 steps at t = 0.3", stderr_tail="", wall_s=20 * process,
        phases_ns={name: int(1e8 * process) for name in PHASES},
        time_to_first_gradient_ns={"process": int(4e9 * process), "built": int(2e9 * process)} if ok else {},
        points=points, peak_rss_bytes=int(3e8 * factor), threads={"affinity": str(block % 8)},
        versions={"python": "3.11.7"}, environment_hash="e" * 64, spec_hash=spec_hash(cell.problem),
        source_hash="c" * 64,
        reference_kind="certified", profile="standard", smoke_only=False,
        noisy=NOISE if generator.random() < 0.02 else (),
        energy={"not_measurable": "this machine shows no energy counter of its processor"},
    )  # fmt: skip


def made_point(rtol: float, cell: Cell, process: float, generator: random.Random) -> PointResult:
    """A point whose time grows with its accuracy, as that of a method of order 4."""
    steps = 40.0 * rtol**-0.2
    ns = 2e5 * process * steps
    error = 10 * rtol * random.Random(cell.label).uniform(0.3, 3.0)

    def calls(each_ns: float) -> tuple[int, ...]:
        return tuple(int(each_ns * generator.lognormvariate(0.0, 0.01)) for _ in range(CALLS))

    return PointResult(
        rtol=rtol, atol=rtol, outcome=Outcome.OK, memory_growth_bytes=0,
        solve=SolveResult(
            Outcome.OK, first_ns=int(9 * ns), warm_up_ns=(int(2 * ns),) * 3, ns=calls(ns),
            steady={"class": "flat", "start": 0, "changepoints": []}, statistics={"n_steps": steps},
            scores={"scd": 3.0, "trajectory_error": error, "below_reference": False},
        ),
        gradient=GradientResult(
            Outcome.OK, first_ns=int(20 * ns), warm_up_ns=(int(6 * ns),) * 3, ns=calls(3 * ns),
            steady={"class": "warm_up", "start": 2, "changepoints": [2]},
            statistics={"n_steps": steps, "n_rhs_evaluations": 8 * steps},
            scores={"error": 10 * error, "below_reference": False},
        ),
    )  # fmt: skip


def failed_point(rtol: float) -> PointResult:
    """A point that reached the limit of steps."""
    message = "the solver reached 4096 steps at t = 0.3"
    return PointResult.failed(Point(rtol, rtol), Outcome.MAX_STEPS, "solve", message)


def first_paint_s(page: Path) -> float | None:
    """The median of three first contentful paints of the page in fresh browsers; ``None`` without a browser."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if not CHROMIUM.is_file():
        return None
    paints: list[float] = []
    with sync_playwright() as playwright:
        for _ in range(3):
            browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
            tab = browser.new_page()
            tab.goto(page.resolve().as_uri())
            paints.append(tab.evaluate(FIRST_PAINT_MS) / 1000)
            browser.close()
    return statistics.median(paints)


if __name__ == "__main__":
    sys.exit(main())
