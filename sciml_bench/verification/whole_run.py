"""Checks of a run as a whole: what no single record can show. Of each record only a few facts are kept."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sciml_bench.planning.labels import labels
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.process import STARTUP
from sciml_bench.record.record import Record
from sciml_bench.record.retry_policy import RESULTS, Nothing, settled
from sciml_bench.record.run_folder import LOCKS
from sciml_bench.verification.evidence import Intent

# Wall-clock seconds by which two processes may seem to overlap: clocks are adjusted a little all the time.
_CLOCK_TOLERANCE_S = 1.0

# Of runs of earlier versions.
_OF_CHECKOUTS = ("julia_env/Manifest.toml",)

# Shorter series of samples can be equal by chance where the clock is coarse.
_TELLING_SAMPLES = 3


@dataclass(frozen=True)
class Seen:
    """The kept facts of a record: its place in the file and in the plan, and marks that reveal copies."""

    line: int
    record_id: str
    label: str
    problem: str
    cell_id: str
    block: int
    attempt: int
    noisy: bool
    outcome: Outcome
    measured: bool
    started_at: str
    wall_s: float
    waited_s: float
    startup_s: float
    source_hash: str
    reference_kind: str | None
    host: str
    samples: str

    @classmethod
    def of(cls, line: int, record: Record) -> Seen:
        """The facts of a record."""
        halves = [half for point in record.points for half in (point.solve.outcome, point.gradient.outcome)]
        return cls(
            line=line,
            record_id=record.record_id,
            label=record.cell.label,
            problem=record.cell.problem,
            cell_id=record.cell_id,
            block=record.block,
            attempt=record.attempt,
            noisy=bool(record.noisy),
            outcome=record.outcome,
            measured=Outcome.OK in halves,
            started_at=record.started_at,
            wall_s=record.wall_s,
            waited_s=record.waited_s,
            startup_s=sum(record.phases_ns.get(phase, 0) for phase in STARTUP) / 1e9,
            source_hash=record.source_hash,
            reference_kind=record.reference_kind,
            host=record.host,
            samples=_digest(record),
        )

    @property
    def group(self) -> tuple[str, int, int]:
        """The common properties of cells that are compared, and may take turns: problem, block and attempt."""
        return self.problem, self.block, self.attempt

    @property
    def failed_throughout(self) -> bool:
        """Return whether the solver failed and nothing was measured: such a cell is not run again in later blocks."""
        return self.outcome is not Outcome.OK and self.outcome in RESULTS and not self.measured


Found = Iterator[tuple[int | None, str]]
"""Violations: the line of the faulty record, or ``None`` for the run as a whole, and the finding."""


def plan(_seen: Sequence[Seen], intent: Intent) -> Found:
    """The plan is the one that was written."""
    if intent.plan.hash != intent.hash:
        said = f"{intent.plan.hash[:12]}…" if intent.plan.hash else "nothing"
        yield None, f"plan.json says {said}, its content hashes to {intent.hash[:12]}…"


def sequence(seen: Sequence[Seen], intent: Intent) -> Found:
    """Records follow the seeded order; repetitions may come anywhere after the first time.

    Units that other machines carried out may follow each other in any order. Inside each the order is the plan's, and
    all of it was measured on one machine. Ways that are only looked at, and not compared, have no order: the promising
    ones come first.
    """
    last: dict[object, int] = {}
    first, hosts = set[tuple[str, int]](), dict[tuple[str, int], str]()
    for item in seen:
        place = intent.places.get((item.cell_id, item.block))
        if place is None:
            continue
        if hosts.setdefault((item.problem, item.block), item.host) != item.host:
            yield item.line, f"block {item.block} of {item.problem} was measured on more than one machine"
        again = (item.cell_id, item.block) in first
        first.add((item.cell_id, item.block))
        if again:
            continue
        stretch = (item.host, item.problem, item.block) if item.host else ""
        if place[0] < last.get(stretch, -1) and not intent.plan.is_screening:
            yield item.line, f"block {item.block} position {place[1].order} comes after a later place of the plan"
        last[stretch] = max(last.get(stretch, -1), place[0])


def complete(seen: Sequence[Seen], intent: Intent) -> Found:
    """Every place of the plan has a record, unless earlier blocks settled that the cell fails.

    Advice looks at ways as long as there is time. In its race a cell may leave, and come back after a block in which
    another one left.
    """
    there = {(item.cell_id, item.block) for item in seen}
    if intent.plan.advised is not None:
        latest: dict[str, int] = {}
        for cell_id, block in there:
            latest[cell_id] = max(block, latest.get(cell_id, block))
        for cell_id, block in intent.places:
            returned = min((later for of, later in there if of == cell_id and later > block), default=0)
            if (cell_id, block) not in there and returned and returned - 1 not in latest.values():
                yield (
                    None,
                    f"{intent.cells[cell_id].label} has no record in block {block}, but in block {returned}",
                )
        return
    nothing: dict[str, list[Nothing]] = defaultdict(list)
    for item in seen:
        if not item.measured and item.outcome is not Outcome.OK:
            # One timeout is enough, disturbed or not: earlier versions stopped measuring a cell after any.
            nothing[item.cell_id].append(Nothing(item.block, item.outcome, disturbed=False))
    hopeless = {cell_id: last for cell_id, ends in nothing.items() if (last := settled(ends)) is not None}
    missing: dict[str, list[int]] = defaultdict(list)
    for cell_id, block in intent.places:
        if (cell_id, block) not in there and block <= hopeless.get(cell_id, block):
            missing[cell_id].append(block)
    for cell_id, blocks in missing.items():
        listed = ", ".join(str(block) for block in blocks)
        yield None, f"{intent.cells[cell_id].label} has no record in block {listed}"


def account(_seen: Sequence[Seen], intent: Intent) -> Found:
    """Planned cells are distinct, skipped ones are distinct and have reasons, and the two do not overlap."""
    planned = [item.label for item in intent.plan.cells]
    skipped = [label for skip in intent.plan.skipped for label in labels(skip.cells)]
    for name, listed in (("planned", planned), ("skipped", skipped)):
        twice = len(listed) - len(set(listed))
        if twice:
            yield None, f"{twice} cells are {name} twice"
    both = sorted(set(planned) & set(skipped))
    if both:
        yield None, f"{both[0]} is both planned and skipped"
    if any(not skip.reason for skip in intent.plan.skipped):
        yield None, "cells are skipped without a reason"


def duplicates(seen: Sequence[Seen], _intent: Intent) -> Found:
    """No record, no series of samples, and no good measurement is there twice."""
    ids, samples = dict[str, int](), dict[str, int]()
    good: dict[tuple[str, int, int], int] = {}
    for item in seen:
        key = (item.cell_id, item.block, item.attempt)
        if item.record_id in ids:
            yield item.line, f"the record of line {ids[item.record_id]} once more"
        elif item.samples and item.samples in samples:
            yield item.line, f"its samples equal the samples of line {samples[item.samples]}"
        elif key in good:
            yield item.line, f"block {item.block} was measured already, in line {good[key]}, and was ok"
        ids.setdefault(item.record_id, item.line)
        samples.setdefault(item.samples, item.line)
        if item.outcome is Outcome.OK:
            good.setdefault(key, item.line)


def rerun(seen: Sequence[Seen], intent: Intent) -> Found:
    """Second attempts come after a noisy first one of their group, and are complete if the profile asks for them."""
    groups: dict[tuple[str, int], list[Seen]] = defaultdict(list)
    for item in seen:
        groups[item.problem, item.block].append(item)
    for (problem, block), items in groups.items():
        useful = [item for item in items if item.attempt == 0 and not item.failed_throughout]
        noisy = [item for item in useful if item.noisy]
        doubtful = [item for item in items if item.attempt == 0 and item.noisy and item.outcome is Outcome.TIMEOUT]
        again = [item for item in items if item.attempt > 0]
        for item in again:
            first = [other.line for other in items if other.cell_id == item.cell_id and other.attempt == 0]
            if not (noisy or doubtful) or not first or min(first) > item.line:
                yield item.line, f"attempt {item.attempt} without a noisy first attempt of {problem} in block {block}"
            elif item.attempt > 1:
                yield item.line, f"attempt {item.attempt}; a group is run again once"
        missing = {item.cell_id: item for item in useful if item.cell_id not in {other.cell_id for other in again}}
        if noisy and intent.plan.profile.rerun_noisy:
            for item in missing.values():
                yield item.line, f"{problem} was noisy in block {block}, and this cell was not run again"


def source(seen: Sequence[Seen], _intent: Intent) -> Found:
    """All processes of a cell ran one source."""
    first: dict[str, Seen] = {}
    for item in seen:
        other = first.setdefault(item.cell_id, item)
        if other.source_hash != item.source_hash:
            yield item.line, f"source {item.source_hash[:12]}…, in line {other.line} it was {other.source_hash[:12]}…"


def reference(seen: Sequence[Seen], _intent: Intent) -> Found:
    """All records of a problem were scored against one kind of reference."""
    kinds: dict[str, dict[str | None, list[Seen]]] = defaultdict(lambda: defaultdict(list))
    for item in seen:
        kinds[item.problem][item.reference_kind].append(item)
    for problem, by_kind in kinds.items():
        if len(by_kind) > 1:
            usual = max(by_kind, key=lambda kind: (kind is not None, len(by_kind[kind])))
            for kind, items in by_kind.items():
                for item in items if kind != usual else ():
                    yield item.line, f"scored against {kind or 'nothing'}, other records of {problem} against {usual}"


def clock(seen: Sequence[Seen], intent: Intent) -> Found:
    """Starts are in order, and no process starts before the ones above it have ended, except within its group.

    Each machine has its own clock.
    """
    shared = intent.plan.is_screening
    by_host: dict[str, list[Seen]] = defaultdict(list)
    for item in seen:
        by_host[item.host].append(item)
    for host, items in by_host.items():
        # Units of another machine are in the order of merging.
        yield from _clock(sorted(items, key=_unit_start(items)) if host else items, shared)


def _unit_start(items: Sequence[Seen]) -> Callable[[Seen], str]:
    """By which units of one machine are put into the order in which they were measured; records stay in theirs."""
    starts: dict[tuple[str, int], str] = {}
    for item in items:
        key = item.problem, item.block
        starts[key] = min(starts.get(key, item.started_at), item.started_at)
    return lambda item: starts[item.problem, item.block]


def _clock(seen: Sequence[Seen], shared: bool) -> Found:
    ended: datetime.datetime | None = None
    above: Seen | None = None
    in_turns = False
    for item in seen:
        try:
            started = datetime.datetime.fromisoformat(item.started_at)
        except ValueError:
            yield item.line, f"started at {item.started_at!r}, which is not a time"
            continue
        if started.tzinfo is None:
            yield item.line, f"started at {item.started_at!r}, which has no time zone"
            continue
        # A cell in a shared process is there from its task on, though its times hold the start of the process.
        own_s = item.wall_s - (item.startup_s if shared else 0.0)
        ends = started + datetime.timedelta(seconds=own_s)
        if above is not None and ended is not None:
            # Cells that take turns live at the same time; one that fails before its turn does not wait.
            in_turns = item.group == above.group and (in_turns or above.waited_s > 0)
            limit = datetime.datetime.fromisoformat(above.started_at) if in_turns else ended
            early_s = (limit - started).total_seconds()
            if early_s > _CLOCK_TOLERANCE_S:
                what = "started" if in_turns else "had ended"
                yield item.line, f"started {early_s:.1f} s before the process of the line above {what}"
            ends = max(ends, ended) if in_turns else ends
        ended, above = ends, item


def versions(_seen: Sequence[Seen], intent: Intent) -> Found:
    """Lock files are the ones that the environments name; runs of earlier versions keep no files of a project."""
    for facts in intent.environments.values():
        named = facts.get("lock_hashes", {})
        for name, stated in named.items() if isinstance(named, Mapping) else ():
            # A file of the checkout is hashed, and not kept.
            kept = intent.locks.get(name)
            same = kept is not None and hashlib.sha256(kept).hexdigest() == stated
            if "/" in name and name not in _OF_CHECKOUTS and not same:
                found = "is missing" if kept is None else "was changed"
                yield None, f"{LOCKS}/{name} {found}: the environment says {str(stated)[:12]}…"


CHECKS = {
    check.__name__: check
    for check in (plan, sequence, complete, account, duplicates, rerun, source, reference, versions, clock)
}  # fmt: skip


def _digest(record: Record) -> str:
    """A fingerprint that two records share only if one is a copy of the other; empty if there are too few samples."""
    loops = [(point.solve.ns, point.gradient.ns) for point in record.points]
    if sum(len(samples) for pair in loops for samples in pair) < _TELLING_SAMPLES:
        return ""
    return hashlib.sha256(json.dumps(loops).encode()).hexdigest()
