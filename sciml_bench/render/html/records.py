"""The records behind the numbers: for each cell its name on the page, and every record with its line in the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from sciml_bench.analysis.loaded_run import LoadedRun, RecordEntry
from sciml_bench.analysis.tables.table import Column
from sciml_bench.planning.labels import count, labels
from sciml_bench.record.outcome import Outcome
from sciml_bench.render.html.table import Entry, Places, Table


@dataclass(frozen=True)
class CellRecords:
    """A cell with all its records; ``rows`` are id, line, block, attempt, whether it counts, outcome, start, noise."""

    id: str
    name: str
    label: str
    cell_id: str
    rows: tuple[tuple[str, ...], ...]


def cell_records(loaded: LoadedRun, places: Places) -> Iterator[CellRecords]:
    """The records of every cell that has some, in the plan's order."""
    by_cell: dict[str, list[RecordEntry]] = {}
    for trace in loaded.traces:
        by_cell.setdefault(trace.cell_id, []).append(trace)
    for cell_id, cell in loaded.summary.cells.items():
        found = by_cell.get(cell_id)
        if found:
            counting = {trace.line for trace in places.traces.get(cell_id, ())}
            yield CellRecords(
                id=places.anchor(cell_id),
                name=f"c{places.numbers[cell_id]}",
                label=cell.cell.label,
                cell_id=cell_id,
                rows=tuple(_row(trace, trace.line in counting) for trace in found),
            )


def _row(trace: RecordEntry, counts: bool) -> tuple[str, ...]:
    noise = ", ".join(reason.partition(":")[0] for reason in trace.noisy)
    return (
        trace.record_id,
        str(trace.line),
        str(trace.block),
        str(trace.attempt),
        "yes" if counts else "no",
        trace.outcome.value,
        trace.started_at[:19].replace("T", " "),
        noise or "–",
    )


def failure_table(loaded: LoadedRun, places: Places) -> Table | None:
    """Every failure of the run with its reason; ``None`` when nothing failed."""
    cell_ids = {cell.cell.label: cell_id for cell_id, cell in loaded.summary.cells.items()}
    found = loaded.analysis.failures
    if not found:
        return None
    headings = (
        Column("cell"),
        Column("outcome", wide=True),
        Column("phase"),
        Column("points", number=True),
        Column("message", wide=True),
        Column("to run it again"),
        Column("to try next"),
        Column("records"),
    )
    rows = tuple(
        (
            Entry(item.label, mark="long"),
            Entry(item.outcome.value, _told(item.outcome), mark="whole" if item.whole_cell else ""),
            Entry(item.phase or "–"),
            Entry(f"{item.points} of {item.of_points}", "the whole cell" if item.whole_cell else "", item.points),
            Entry(item.reason),
            Entry(item.rerun, mark="code"),
            Entry(item.next_command, item.next_reason, mark="code"),
            places.entry(cell_ids[item.label]),
        )
        for item in found
    )
    caption = "Everything that failed, or that other work kept from its processors, with its message"
    return Table(f"{places.prefix}failures", caption, headings, rows)


def _told(outcome: Outcome) -> str:
    return outcome.sentence + (f"; {outcome.cure}" if outcome.cure else "")


def skipped_table(loaded: LoadedRun, prefix: str) -> Table | None:
    """Return why planned combinations were not run."""
    skipped = loaded.plan.skipped
    if not skipped:
        return None
    rows = tuple(
        (Entry(skip.reason), Entry(str(cells := count(skip.cells)), value=float(cells)),
         Entry(", ".join(islice(labels(skip.cells), 3)) + (" …" if cells > 3 else "")))
        for skip in sorted(skipped, key=lambda skip: -count(skip.cells))
    )  # fmt: skip
    headings = (Column("reason"), Column("cells", number=True), Column("for example"))
    return Table(f"{prefix}skipped", "Cells skipped before anything ran, with reasons", headings, rows)
