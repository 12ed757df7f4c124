"""The machines of a run: times of different ones are never in one table, and their ratios are held next to each other.

Machines of one kind are equal in all that a run knows of them: nodes of a cluster that were bought together. Compared
cells always ran on one of them.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sciml_bench.analysis.machine_hash import machine_hash
from sciml_bench.analysis.process_summary import ProcessSummary, reduce_record
from sciml_bench.analysis.summary import NO_SUMMARY
from sciml_bench.errors import StoreError, UsageError
from sciml_bench.record.jsonl import numbered_lines
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.run_folder import Run
from sciml_bench.record.text import printable

_ENVIRONMENT = re.compile(rb'"environment_hash": ?"([0-9a-f]{1,64})"')


@dataclass(frozen=True)
class Kind:
    """A kind of machine: its number from 1, its processor, the environments of its records, and their count."""

    number: int
    processor: str
    environments: frozenset[str]
    records: int

    def __str__(self) -> str:
        return f"{self.number}: {self.processor}, {self.records} records"


@dataclass(frozen=True)
class Agreement:
    """Ratios of the same two ways on two kinds: the median of their quotients, each above 1, and the largest one.

    ``ratios`` are the two of the largest quotient, of the way ``label`` to the way ``base``.
    """

    typical: float
    largest: float
    label: str
    base: str
    ratios: tuple[float, float]


def kinds_of(run: Run) -> tuple[Kind, ...]:
    """The kinds of machines that measured a run, the one with most records first; one if environments are damaged."""
    try:
        of_hash = {name: machine_hash(facts) for name, facts in run.environments.items()}
    except StoreError:
        return (Kind(1, _processor({}), frozenset(), 0),)
    if len(set(of_hash.values())) == 1:
        return (Kind(1, _processor(run.environment), frozenset(of_hash), 0),)
    counts = Counter(
        found[1].decode() for _, line in numbered_lines(run.records_path) if (found := _ENVIRONMENT.search(line))
    )
    records: Counter[str] = Counter()
    environments: dict[str, set[str]] = defaultdict(set)
    for name, count in counts.items():
        machine = of_hash.get(name, "")
        records[machine] += count
        environments[machine].add(name)
    ordered = sorted(records, key=lambda machine: (-records[machine], machine))
    return tuple(
        Kind(
            number,
            _processor(run.environments.get(min(environments[machine]), {})),
            frozenset(environments[machine]),
            records[machine],
        )
        for number, machine in enumerate(ordered, start=1)
    )


def of_one_kind(run: Run, number: int | None = None) -> Run:
    """A run with the records of one kind of machine alone: the one with this number, or with most records.

    Its environment is one of that kind's, also if the run was created on another machine.

    Raises:
        UsageError: it has no machine of this number.
    """
    kinds = kinds_of(run)
    if number is not None and not 1 <= number <= len(kinds):
        there = "; ".join(map(str, kinds)) if len(kinds) > 1 else "it was measured on one kind"
        raise UsageError(f"{run.folder} has no machine {number}: {there}")
    if not kinds:
        return run
    environments = kinds[(number or 1) - 1].environments
    is_whole = len(kinds) == 1 and (not environments or run.environment_hash in environments)
    return run if is_whole else run.measured_in(environments)


def note(run: Run) -> str:
    """A sentence on the other machines of a run of one kind, and how well their ratios agree; empty without others."""
    whole = Run(run.folder)
    kinds = kinds_of(whole)
    if len(kinds) < 2 or run.only is None:
        return ""
    # A run that is being measured may have got another environment since.
    shown = next((kind for kind in kinds if kind.environments & run.only), None)
    if shown is None:
        return ""
    others = [kind for kind in kinds if kind is not shown]
    text = f"{len(kinds)} kinds of machines measured this run; shown is {shown}. Others: {'; '.join(map(str, others))}"
    found = [agreement(run, whole.measured_in(kind.environments)) for kind in others]
    agreements = [each for each in found if each is not None]
    if not agreements:
        return f"{text}. They share no two ways of a problem, so their ratios cannot be compared."
    worst = max(agreements, key=lambda each: each.largest)
    return (
        f"{text}. Ratios between ways differ by a factor of {statistics.median(e.typical for e in agreements):.3g} in "
        f"the median, and at most of {worst.largest:.3g}: {worst.label} takes {worst.ratios[0]:.3g} times as long as "
        f"{worst.base} here, and {worst.ratios[1]:.3g} times there."
    )


def agreement(here: Run, there: Run) -> Agreement | None:
    """The agreement of two kinds of machines on ratios; ``None`` if they share no two ways of a problem."""
    found: list[Agreement] = []
    times = [_times(run) for run in (here, there)]
    for problem in times[0].keys() & times[1].keys():
        mine, theirs = times[0][problem], times[1][problem]
        shared = sorted(mine.keys() & theirs.keys(), key=lambda label: (mine[label], label))
        for label in shared[1:]:
            ratios = mine[label] / mine[shared[0]], theirs[label] / theirs[shared[0]]
            quotient = max(ratios) / min(ratios)
            found.append(Agreement(quotient, quotient, label, shared[0], ratios))
    if not found:
        return None
    worst = max(found, key=lambda each: (each.largest, each.label))
    typical = statistics.median(each.typical for each in found)
    return Agreement(typical, worst.largest, worst.label, worst.base, worst.ratios)


def _times(run: Run) -> Mapping[str, Mapping[str, float]]:
    """Of each problem the median time of each cell, at its tightest point that is right."""
    seconds: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in run.records(on_damage=lambda _: None):
        # A record whose values make no sense has no time.
        with suppress(*NO_SUMMARY):
            for time_s in _tightest(reduce_record(record)):
                seconds[record.cell.problem][record.cell.label].append(time_s)
    return {
        problem: {label: statistics.median(times) for label, times in of_label.items()}
        for problem, of_label in seconds.items()
    }


def _tightest(process: ProcessSummary) -> Iterator[float]:
    """The time of the gradient, or of the solve, at the last point that is right; nothing without one."""
    for point in reversed(process.points):
        time_s = point.gradient.seconds or point.solve.seconds
        if point.outcome is Outcome.OK and time_s:
            yield time_s
            return


def _processor(environment: Mapping[str, Any]) -> str:
    cpu = environment.get("cpu")
    model = cpu.get("model") if isinstance(cpu, Mapping) else None
    cores = cpu.get("usable_cores") or cpu.get("logical_cores") if isinstance(cpu, Mapping) else None
    return printable(str(model or "unknown processor")) + (f" with {cores} cores" if cores else "")
