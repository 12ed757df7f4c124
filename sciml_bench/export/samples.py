"""Long format: a row for each raw sample, in the order of the file, as a stream.

A point, or a process, without any sample has one row that says how it ended, so that nothing vanishes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sciml_bench.export.column import Column, Kind, Row, Value
from sciml_bench.record.jsonl import DamagedLine
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import PointResult, Scores
from sciml_bench.record.record import Record
from sciml_bench.record.run_folder import Run
from sciml_bench.record.supersession import supersedes
from sciml_bench.record.training import Trained

_TEXT, _INTEGER, _NUMBER, _TRUTH = Kind.TEXT, Kind.INTEGER, Kind.NUMBER, Kind.TRUTH

COLUMNS = (
    Column("run", _TEXT, "the run's folder"),
    Column("record_id", _TEXT, "which record"),
    Column("cell_id", _TEXT, "which cell, by its content"),
    Column("block", _INTEGER, "the block, by which cells are paired"),
    Column("attempt", _INTEGER, "1 for the one repetition of a disturbed group"),
    Column("record_counts", _TRUTH, "false where a later record of the same cell and block took its place"),
    Column("problem", _TEXT, "the problem"),
    Column("adapter", _TEXT, "the adapter (framework)"),
    Column("method", _TEXT, "the integrator"),
    Column("sensitivity", _TEXT, "how the gradient is taken"),
    Column("mode", _TEXT, "how the framework is run"),
    Column("precision", _TEXT, "the precision"),
    Column("device", _TEXT, "the device"),
    Column("saving", _TEXT, "default, or landing if steps end at the saved times"),
    Column("division", _TEXT, "idiomatic, matched or other"),
    Column("profile", _TEXT, "how much was measured"),
    Column("outcome", _TEXT, "how the process ended"),
    Column("disturbed", _TEXT, "what disturbed the process, if anything"),
    Column("first_gradient_s", _NUMBER, "seconds from process start to the first gradient"),
    Column("peak_rss_bytes", _INTEGER, "largest resident memory of the process"),
    Column("point", _INTEGER, "the tolerance point, from 0"),
    Column("rtol", _NUMBER, "relative tolerance"),
    Column("atol", _NUMBER, "absolute tolerance, before scaling"),
    Column("point_outcome", _TEXT, "how the point, or the training, ended"),
    Column("message", _TEXT, "the message of a failure"),
    Column("solution_error", _NUMBER, "largest mixed error over the saved times"),
    Column("gradient_error", _NUMBER, "relative error of d loss / d log p"),
    Column("call", _TEXT, "solve, gradient or training"),
    Column("loop", _TEXT, "first, warm_up or steady; steps of a training"),
    Column("number", _INTEGER, "the place of the call in its loop, from 1"),
    Column("seconds", _NUMBER, "how long the call took"),
    Column("inside_s", _NUMBER, "of it, as the framework itself timed a steady call behind a bridge"),
    Column("inside_gc_s", _NUMBER, "of that, collecting garbage"),
    Column("inside_compile_s", _NUMBER, "of that, compiling"),
    Column("inside_allocated_bytes", _INTEGER, "what the framework allocated in that call"),
    Column("counted", _TRUTH, "whether the call enters the median: right, and after its loop had settled"),
    Column("loss", _NUMBER, "of a step of a training, the loss that it started from"),
)  # fmt: skip


Inside = Mapping[str, Sequence[int]]
"""The framework's own timings of the calls of a loop, by name."""

_INSIDE_TIMES = ("ns", "gc_ns", "compile_ns")


@dataclass(frozen=True)
class Calls:
    """One loop of one half of a point: the samples from ``counted_from`` on count. ``inside`` are the framework's own
    timings behind a bridge; ``None`` without a bridge.
    """

    call: str
    loop: str
    samples_ns: Sequence[int]
    counted_from: int | None
    inside: Inside | None = None

    def inside_of(self, place: int) -> Row:
        """The framework's timings of a call, in the order of the columns; ``None`` if missing."""
        told = {name: values[place] for name, values in (self.inside or {}).items() if place < len(values)}
        seconds = (told[name] / 1e9 if name in told else None for name in _INSIDE_TIMES)
        return (*seconds, told.get("allocated_bytes"))


def sample_rows(run: Run, on_damage: Callable[[DamagedLine], None]) -> Iterator[Row]:
    """All rows of a run. The file is read twice, so that memory only grows with cells × blocks; ``on_damage`` gets the
    lines that do not hold a record.
    """
    counting = _counting(run)
    for place, record in enumerate(run.records(on_damage)):
        counts = counting[record.cell_id, record.block][1] == place
        yield from _of_record(run.folder.name, record, counts)


def _counting(run: Run) -> dict[tuple[str, int], tuple[int, int]]:
    """The attempt and the place of the record that counts for each cell and block."""
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for place, record in enumerate(run.records(lambda _: None)):
        key = (record.cell_id, record.block)
        if key not in found or supersedes(record.attempt, found[key][0]):
            found[key] = (record.attempt, place)
    return found


def _of_record(run: str, record: Record, counts: bool) -> Iterator[Row]:
    cell = record.cell
    first_ns = record.time_to_first_gradient_ns.get("process")
    head: Row = (
        run, record.record_id, record.cell_id, record.block, record.attempt, counts, cell.problem, cell.adapter,
        cell.method, cell.sensitivity, cell.mode, cell.precision, cell.device, cell.saving, record.division,
        record.profile, record.outcome.value, "; ".join(record.noisy) or None,
        None if first_ns is None else first_ns / 1e9, record.peak_rss_bytes,
    )  # fmt: skip
    if not record.points:
        yield (*head, *(None,) * 4, record.message or None, *(None,) * 12)
    for place, point in enumerate(record.points):
        yield from _of_point(head, place, point)
    if record.training is not None:
        yield from _of_training(head, record.training)


def _of_point(head: Row, place: int, point: PointResult) -> Iterator[Row]:
    described: Row = (
        place, point.rtol, point.atol, point.outcome.value, point.message or None,
        _score(point.solve.scores, "trajectory_error"), _score(point.gradient.scores, "error"),
    )  # fmt: skip
    empty = True
    for calls in _loops(point):
        for number, ns in enumerate(calls.samples_ns, start=1):
            counted = calls.counted_from is not None and number > calls.counted_from
            yield (
                *head,
                *described,
                calls.call,
                calls.loop,
                number,
                ns / 1e9,
                *calls.inside_of(number - 1),
                counted,
                None,
            )
            empty = False
    if empty:
        yield (*head, *described, *(None,) * 10)


def _of_training(head: Row, trained: Trained) -> Iterator[Row]:
    """A row for each step, the first marked, as it compiles; one row for a training without steps."""
    settings = trained.settings
    described: Row = (None, settings.rtol, settings.atol, trained.outcome.value, trained.message or None, None, None)
    for number, (ns, loss) in enumerate(zip(trained.step_ns, trained.losses, strict=False), start=1):
        loop = "first" if number == 1 else "steps"
        yield (*head, *described, "training", loop, number, ns / 1e9, *(None,) * 4, False, loss)
    if not trained.step_ns:
        yield (*head, *described, "training", *(None,) * 9)


def _loops(point: PointResult) -> Iterator[Calls]:
    for call, half in point.halves.items():
        yield Calls(call, "first", () if half.first_ns is None else (half.first_ns,), None)
        yield Calls(call, "warm_up", half.warm_up_ns, None)
        yield Calls(call, "steady", half.ns, half.counted_from if half.outcome is Outcome.OK else None, half.inside)


def _score(scores: Scores | None, name: str) -> Value:
    value = (scores or {}).get(name)
    return None if value is None else float(value)
