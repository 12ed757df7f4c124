"""Runs as experience, and the file that keeps it: a problem a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from sciml_bench.analysis.advice.experience import Features, Known, Measured, way_of
from sciml_bench.analysis.process_summary import ProcessSummary
from sciml_bench.analysis.rows import work_points
from sciml_bench.analysis.summary import CellSummary, summarise
from sciml_bench.errors import StoreError
from sciml_bench.planning.written_plan import written_plan
from sciml_bench.record.codec import decode_json, encode_json
from sciml_bench.record.jsonl import numbered_lines, write_whole
from sciml_bench.record.run_folder import Run
from sciml_bench.stats.front import pareto_front


def of_run(run: Run) -> Iterator[Known]:
    """The results of a run on each of its problems; empty for models, and for plans without features."""
    plan = written_plan(run)
    summary = summarise(plan, run.records(on_damage=lambda _: None))
    for problem in plan.problems:
        features = Features.of_written(problem)
        if features is None:
            continue
        ways = tuple(found for cell in summary.of_problem(problem.name) if (found := _measured(cell)) is not None)
        if ways:
            yield Known(problem.name, problem.spec_hash, features, ways)


def merged(runs: Iterable[Run]) -> list[Known]:
    """The results of several runs, each problem once: the last run of each way counts."""
    found: dict[str, Known] = {}
    for run in runs:
        for item in of_run(run):
            before = found.get(item.spec_hash)
            ways = {} if before is None else {way.way: way for way in before.ways}
            ways |= {way.way: way for way in item.ways}
            found[item.spec_hash] = replace(item, ways=tuple(ways.values()))
    return list(found.values())


def _measured(cell: CellSummary) -> Measured | None:
    """The process of the lowest block; ``None`` if there is none."""
    if not cell.processes or cell.cell.caches == "warm":
        return None
    process: ProcessSummary = min(cell.processes, key=lambda item: item.block)
    front = pareto_front(work_points([process], lambda point: point.gradient.work))
    points = tuple((round(point.digits, 2), float(f"{point.time:.4g}")) for point in front)
    first_s = process.first_call_s
    return Measured(way_of(cell.cell), process.outcome, None if first_s is None else float(f"{first_s:.4g}"), points)


_SHIPPED = Path(__file__).with_name("experience.jsonl")


def shipped() -> list[Known]:
    """The package's results on the problems whose ways were all measured. :class:`StoreError` if they are damaged."""
    return read(_SHIPPED)


def read(path: Path) -> list[Known]:
    """The problems of a file.

    Raises:
        StoreError: it cannot be read, or a line of it is damaged.
    """
    found: list[Known] = []
    for number, line in numbered_lines(path):
        try:
            found.append(decode_json(Known, line))
        except ValueError as error:
            raise StoreError(f"{path}:{number}: {error}. Rewrite the file from its runs.") from error
    return found


def write(path: Path, known: Iterable[Known]) -> None:
    """Write a file again; of problems with the same mathematics the last one counts. :class:`StoreError` on failure."""
    newest = {item.spec_hash: item for item in known}
    lines = (encode_json(item) for item in sorted(newest.values(), key=lambda item: item.problem))
    write_whole(path, "".join(f"{line}\n" for line in lines))
