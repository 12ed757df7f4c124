"""The display of a run in progress: one line for each measured process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sciml_bench.analysis.failures import one_line
from sciml_bench.analysis.process_summary import reduce_record
from sciml_bench.analysis.tables import formatting
from sciml_bench.execution.executor import Step, Watcher
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record


@dataclass(frozen=True)
class Finished:
    """A process was measured: number ``place`` of ``total``. ``str`` gives the line that the command line prints."""

    place: int
    total: int
    record: Record

    def __str__(self) -> str:
        """Place, outcome, label, duration, and its best gradient or its failure.

        It also says whether the process was disturbed, and whether it is the repetition of one that was.
        """
        record = self.record
        head = f"[{self.place:>{len(str(self.total))}}/{self.total}] {record.outcome:<14} {record.cell.label}"
        head += f"  {record.own_s:.1f} s" + (", again" if record.attempt else "") + (", noisy" if record.noisy else "")
        if record.outcome is not Outcome.OK:
            return f"{head}  {one_line(record.message) or record.outcome.sentence}"
        return f"{head}  {', '.join(_facts(record))}"


def _facts(record: Record) -> list[str]:
    process = reduce_record(record)
    ok = sum(point.outcome is Outcome.OK for point in process.points)
    facts = [f"1st gradient {formatting.duration(process.first_gradient_process_s)}"]
    timed = [point for point in process.points if point.gradient.seconds is not None]
    if timed:
        where = f"rtol {timed[-1].rtol:g}" if timed[-1].batch is None else f"batch {timed[-1].batch}"
        facts.append(f"gradient {formatting.duration(timed[-1].gradient.seconds)} at {where}")
    facts.append(f"points {ok}/{len(process.points)}")
    trained = record.training
    if trained is not None:
        ended = "" if trained.outcome is Outcome.OK else f" {trained.outcome}"
        facts.append(f"training{ended} {len(trained.losses)}/{trained.settings.steps}")
    return facts


class Following(Watcher):
    """A watcher that calls a function with each process that was measured."""

    def __init__(self, call: Callable[[Finished], object]):
        self._call = call

    def finished(self, step: Step, record: Record) -> None:
        """A process was measured."""
        self._call(Finished(step.place, step.total, record))
