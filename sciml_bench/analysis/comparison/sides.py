"""One side of a comparison: a run, reduced, with the samples that the bootstrap draws from."""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sciml_bench.analysis.comparable import flat, is_machine
from sciml_bench.analysis.summary import CellSummary, RunSummary, summarise
from sciml_bench.errors import StoreError
from sciml_bench.record.jsonl import DamagedLine
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record, supersedes
from sciml_bench.record.run_folder import Run
from sciml_bench.record.scoring_rules import BY_COMPONENT

# Requirements for the comparison of two runs, and their differences.


@dataclass(frozen=True)
class Difference:
    """Something that is not the same in the two runs."""

    what: str
    base: str
    new: str

    def __str__(self) -> str:
        return f"{self.what}: {self.base} in BASE, {self.new} in NEW"


def refusals(base: Side, new: Side) -> list[Difference]:
    """Differences for which two runs cannot be compared at all; empty if they can."""
    found = [*_machine(base, new), *_scoring_rules(base, new), *_specs(base, new), *_profiles(base, new)]
    return list(dict.fromkeys(found))


def changes(base: Side, new: Side) -> list[Difference]:
    """Differences of software and settings that a comparison is about, or that its reader should know."""
    return [item for item in _differences(base.environment, new.environment) if not is_machine(item.what)]


def _machine(base: Side, new: Side) -> Iterator[Difference]:
    yield from (item for item in _differences(base.environment, new.environment) if is_machine(item.what))


def _scoring_rules(base: Side, new: Side) -> Iterator[Difference]:
    if base.scoring_rules and new.scoring_rules and base.scoring_rules != new.scoring_rules:
        yield Difference("scoring rules of the records", _listed(base.scoring_rules), _listed(new.scoring_rules))
    if base.plan["schema"] != new.plan["schema"]:
        yield Difference("schema of the plan", str(base.plan["schema"]), str(new.plan["schema"]))


def _specs(base: Side, new: Side) -> Iterator[Difference]:
    mine, theirs = base.spec_hashes, new.spec_hashes
    for name in mine.keys() & theirs.keys():
        if mine[name] != theirs[name]:
            yield Difference(f"specification of {name}", f"{mine[name][:12]}…", f"{theirs[name][:12]}…")


def _profiles(base: Side, new: Side) -> Iterator[Difference]:
    mine, theirs = (dict(side.plan["profile"]) for side in (base, new))
    # The number of processes decides what can be seen, not what a time means.
    for what in ("name", "sampling", "rtols", "warm_up"):
        if mine.get(what) != theirs.get(what):
            yield Difference(f"{what} of the profile", _text(mine.get(what)), _text(theirs.get(what)))
    for what in ("threads", "timeout_s"):
        a, b = (side.plan["settings"].get(what) for side in (base, new))
        if what == "threads" and a != b:
            yield Difference(what, _text(a), _text(b))


def _differences(base: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    mine, theirs = dict(flat(base)), dict(flat(new))
    for what in dict.fromkeys([*mine, *theirs]):
        if mine.get(what) != theirs.get(what):
            yield Difference(what, _text(mine.get(what)), _text(theirs.get(what)))


def _text(value: Any) -> str:
    return "nothing" if value is None else str(value)


def _listed(values: Iterable[int]) -> str:
    return ", ".join(str(value) for value in sorted(values))


@dataclass(frozen=True)
class Samples:
    """The calls of one point that count, in nanoseconds; empty if its half failed."""

    rtol: float
    solve_ns: array[int]
    gradient_ns: array[int]


@dataclass(frozen=True)
class Side:
    """A run to compare. ``samples`` are by cell label and block; ``scoring_rules`` are the rules of its records; rules
    that score gradients equally count as one.
    """

    name: str
    plan: Mapping[str, Any]
    environment: Mapping[str, Any]
    summary: RunSummary
    samples: Mapping[tuple[str, int], tuple[Samples, ...]] = field(
        default_factory=dict[tuple[str, int], tuple[Samples, ...]]
    )
    scoring_rules: frozenset[int] = frozenset()
    record_ids: frozenset[str] = frozenset()

    @property
    def cells(self) -> dict[str, CellSummary]:
        """The planned cells by label, in the plan's order."""
        return {cell.cell.label: cell for cell in self.summary.cells.values()}

    @property
    def spec_hashes(self) -> dict[str, str]:
        """The hash of each problem's specification."""
        return {entry["name"]: entry["spec_hash"] for entry in self.plan["problems"]}

    def chosen(self, matches: Callable[[str], bool]) -> Side:
        """Return a run reduced to the cells whose label matches."""
        kept = {key: cell for key, cell in self.summary.cells.items() if matches(cell.cell.label)}
        problems = {cell.cell.problem for cell in kept.values()}
        plan = {**self.plan, "problems": [entry for entry in self.plan["problems"] if entry["name"] in problems]}
        return dataclasses.replace(self, plan=plan, summary=RunSummary(plan, kept))


def read_side(run: Run, on_damage: Callable[[DamagedLine], None]) -> Side:
    """Read a run once, and keep of each record what a comparison needs.

    Raises:
        StoreError: its plan or its environment cannot be read, or the plan is incomplete.
    """
    _check(run)
    kept: dict[tuple[str, int], tuple[int, tuple[Samples, ...]]] = {}
    rules: set[int] = set()
    record_ids: set[str] = set()

    def passing() -> Iterator[Record]:
        for record in run.records(on_damage):
            rules.add(min(record.scoring_rules, BY_COMPONENT))
            record_ids.add(record.record_id)
            key = (record.cell.label, record.block)
            if key not in kept or supersedes(record.attempt, kept[key][0]):
                kept[key] = record.attempt, _samples(record)
            yield record

    summary = summarise(run.plan, passing())
    samples = {key: points for key, (_, points) in kept.items()}
    return Side(run.folder.name, run.plan, run.environment, summary, samples, frozenset(rules), frozenset(record_ids))


def _check(run: Run) -> None:
    """Touch the parts of a plan that a comparison needs, so that a damaged plan is reported before the records are
    read.
    """
    try:
        plan = run.plan
        _ = plan["schema"], plan["settings"]["seed"], plan["profile"]["comparable"], plan["profile"]["name"]
        _ = [entry["cell_id"] for entry in plan["cells"]]
        _ = [(entry["name"], entry["spec_hash"]) for entry in plan["problems"]]
    except (AttributeError, KeyError, TypeError) as error:
        raise StoreError(
            f"{run.folder / 'plan.json'} is not a plan: {type(error).__name__} {error}. Restore it from a copy."
        ) from error


def _samples(record: Record) -> tuple[Samples, ...]:
    return tuple(
        Samples(
            point.rtol,
            array("q", point.solve.counted_ns if point.solve.outcome is Outcome.OK else ()),
            array("q", point.gradient.counted_ns if point.gradient.outcome is Outcome.OK else ()),
        )
        for point in record.points
    )
