"""Checks of single records against what the plan and the environment promise.

Each check yields its findings; without findings nothing is violated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from packaging.utils import canonicalize_name

from sciml_bench.planning.blocks import input_seed
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record
from sciml_bench.verification.evidence import Intent
from sciml_bench.verification.training import training

# Rounding of nanoseconds to the seconds of wall_s.
_ROUNDING_NS = 1_000_000

_WARM_UP, _STEADY = "warm_up_ns", "ns"


def outcome(record: Record, intent: Intent) -> Iterator[str]:
    """Outcomes agree: a cell is ok if a point is, a point if both its requested halves are."""
    ok = [point for point in record.points if point.outcome is Outcome.OK]
    if record.points and (record.outcome is Outcome.OK) != bool(ok):
        yield f"the record is {record.outcome}, but {len(ok)} of its {len(record.points)} points are ok"
    if not record.points and record.outcome is Outcome.OK:
        yield "the record is ok, but it has no points"
    calls = intent.calls(record)
    for point in record.points:
        found = {kind: half.outcome for kind, half in point.halves.items()}
        halves = [half for kind, half in found.items() if kind in calls]
        if None in halves:
            yield f"at rtol {point.rtol:g} a half has no outcome"
        elif point.outcome is not next((half for half in halves if half is not Outcome.OK), Outcome.OK):
            told = " and ".join(str(half) for half in halves)
            yield f"at rtol {point.rtol:g} the point is {point.outcome}, its halves are {told}"


def cell(record: Record, intent: Intent) -> Iterator[str]:
    """The cell is one of the plan."""
    entry = intent.cells.get(record.cell_id)
    if entry is None:
        yield f"cell {record.cell_id} is not in the plan"
        return
    profile = intent.plan.profile
    for name, mine, theirs in (
        ("label", record.cell.label, entry.label),
        ("division", record.division, entry.division),
        ("profile", record.profile, profile.name),
        ("smoke_only", record.smoke_only, not profile.comparable),
    ):
        if mine != theirs:
            yield f"{name} {mine!r}, planned {theirs!r}"


def place(record: Record, intent: Intent) -> Iterator[str]:
    """Block and position are the seed's."""
    if record.cell_id not in intent.cells:
        return
    found = intent.places.get((record.cell_id, record.block))
    if found is None:
        yield f"block {record.block} is not planned; there are {intent.plan.profile.processes}"
    elif found[1].order != record.order:
        yield f"position {record.order} of block {record.block}, drawn was {found[1].order}"


def ladder(record: Record, intent: Intent) -> Iterator[str]:
    """The tolerances are the plan's; of a model, the batches.

    Screening leaves out the tolerances after one that is accurate enough.
    """
    problem = intent.plan.problem(record.cell.problem)
    if problem is not None and problem.batches is not None:
        measured = tuple(point.batch for point in record.points)
        if measured != problem.batches:
            yield f"batches {list(measured)}, planned {list(problem.batches)}"
        return
    planned = intent.tolerances(record.cell.label)
    if intent.plan.is_screening:
        planned = planned[: max(1, len(record.points))]
    rtols = tuple(rtol for rtol, _ in planned)
    found = tuple(point.rtol for point in record.points)
    if found != rtols:
        yield f"tolerances {_listed(found)}, planned {_listed(rtols)}"
    elif any(point.atol != atol for point, (_, atol) in zip(record.points, planned, strict=True)):
        yield "an absolute tolerance differs from the planned one"


def inputs(record: Record, intent: Intent) -> Iterator[str]:
    """The seed of the inputs is the plan's."""
    drawn = input_seed(intent.plan.settings.seed, record.cell.problem, record.block)
    if record.seed != drawn:
        yield f"seed {record.seed}, drawn was {drawn}"


def spec(record: Record, intent: Intent) -> Iterator[str]:
    """The problem is the plan's."""
    planned = intent.spec_hashes.get(record.cell.problem)
    if planned is not None and record.spec_hash != planned:
        yield f"specification {record.spec_hash[:12]}…, planned {planned[:12]}…"


def sample_values(record: Record, _intent: Intent) -> Iterator[str]:
    """Samples are positive whole numbers."""
    for point in record.points:
        for kind, half in point.halves.items():
            for name, values in ((f"{kind}.{_WARM_UP}", half.warm_up_ns), (f"{kind}.{_STEADY}", half.ns)):
                bad = [value for value in values if not _is_duration(value)]
                if bad:
                    yield f"at rtol {point.rtol:g} {name} holds {bad[0]!r}"
            if half.first_ns is not None and not _is_duration(half.first_ns):
                yield f"at rtol {point.rtol:g} {kind}.first_ns is {half.first_ns!r}"


def sample_counts(record: Record, intent: Intent) -> Iterator[str]:
    """Halves that are ok have as many samples as the profile asks for, or were truncated."""
    sampling = intent.plan.profile.sampling
    least, most = sampling.steady_calls, sampling.max_steady_calls
    for point in record.points:
        for half in point.halves.values():
            if half.outcome is not Outcome.OK:
                continue
            if half.first_ns is None or not half.ns:
                yield f"at rtol {point.rtol:g} a half is ok without samples"
            elif len(half.ns) < least and not point.truncated:
                yield f"at rtol {point.rtol:g} {len(half.ns)} samples, at least {least} are required"
            elif len(half.ns) > most:
                yield f"at rtol {point.rtol:g} {len(half.ns)} samples, at most {most} are taken"


def wall(record: Record, _intent: Intent) -> Iterator[str]:
    """Samples fit into phases, phases into the wall time without the turns of others."""
    wall_ns = record.own_s * 1e9 + _ROUNDING_NS
    phases_ns = sum(record.phases_ns.values())
    if phases_ns > wall_ns:
        yield f"phases add up to {phases_ns / 1e9:.3f} s, the process took {record.own_s:.3f} s"
    halves = [half for point in record.points for half in point.halves.values()]
    warm_up_ns, steady_ns = sum(_taken(half.warm_up_ns for half in halves)), sum(_taken(half.ns for half in halves))
    # A call that fails ends its loop, and the phase does not complete: the samples before it belong to no phase.
    whole = [half for half in halves if half.outcome is Outcome.OK]
    of_phases = sum(_taken(half.warm_up_ns for half in whole)), sum(_taken(half.ns for half in whole))
    for phase, taken in zip(("warm_up", "steady"), of_phases, strict=True):
        if taken > record.phases_ns.get(phase, wall_ns):
            yield f"samples of {phase} add up to {taken / 1e9:.3f} s, the phase took {_phase_s(record, phase):.3f} s"
    samples = warm_up_ns + steady_ns + sum(half.first_ns or 0 for half in halves)
    if samples > wall_ns:
        yield f"samples add up to {samples / 1e9:.3f} s, the process took {record.own_s:.3f} s"


def first_gradient(record: Record, _intent: Intent) -> Iterator[str]:
    """The time to first gradient holds what comes before it, and lies inside the process."""
    told = record.time_to_first_gradient_ns
    call_ns = record.points[0].gradient.first_ns if record.points else None
    if not told:
        if call_ns is not None:
            yield "there was a first gradient, but no time to it"
        return
    before = sum(record.phases_ns.get(name, 0) for name in ("spawn", "interpreter", "import", "build"))
    process, built = told.get("process", 0), told.get("built", 0)
    if built < (call_ns or 0):
        yield f"from built {built / 1e9:.3f} s, the call alone took {(call_ns or 0) / 1e9:.3f} s"
    if process < before + built:
        yield f"from process start {process / 1e9:.3f} s, the phases before it took {(before + built) / 1e9:.3f} s"
    if process > record.wall_s * 1e9 + _ROUNDING_NS:
        yield f"from process start {process / 1e9:.3f} s, the whole process took {record.wall_s:.3f} s"


def cold(record: Record, _intent: Intent) -> Iterator[str]:
    """Cold caches were empty and were not hit, except for what the process itself had put there.

    PyTorch finds a graph again that the same process has compiled for another use.
    """
    if record.cell.caches != "cold":
        return
    before, after = (record.compile_cache_files.get(when, 0) for when in ("before", "after"))
    if before:
        yield f"{before} files in the compile caches before the process started"
    if record.compile_cache_hits and not after:
        yield f"{record.compile_cache_hits} hits in compile caches that should be cold"


def warm(record: Record, _intent: Intent) -> Iterator[str]:
    """Warm caches had been filled and were hit."""
    if record.cell.caches != "warm" or record.outcome is not Outcome.OK:
        return
    before, after = record.compile_cache_files.get("before", 0), record.compile_cache_files.get("after", 0)
    if not before:
        yield "no file in the compile caches before the process started"
    if record.compile_cache_hits == 0:
        yield "no hit in compile caches that should be warm"
    if record.compile_cache_hits is None and after > before:
        yield f"{after - before} files added to compile caches that should be warm: something was recompiled"


def recompiled(record: Record, _intent: Intent) -> Iterator[str]:
    """No timed loop compiled."""
    for point in record.points:
        if Outcome.RECOMPILED in (half.outcome for half in point.halves.values()):
            yield f"at rtol {point.rtol:g}: {point.message or Outcome.RECOMPILED.sentence}"


def computed(record: Record, _intent: Intent) -> Iterator[str]:
    """Timed calls computed their outputs."""
    for point in record.points:
        if Outcome.INVALID in (half.outcome for half in point.halves.values()):
            yield f"at rtol {point.rtol:g}: {point.message or Outcome.INVALID.sentence}"
        for kind, half in point.halves.items():
            # Half of the calls prepared for at least the median.
            if (half.prepare_ns or 0) * len(half.ns) / 2 > record.wall_s * 1e9:
                took = f"{(half.prepare_ns or 0) / 1e6:.3g} ms each, which is more than the process had"
                yield f"at rtol {point.rtol:g} preparing the inputs of {len(half.ns)} {kind}s takes {took}"


def pinned(record: Record, intent: Intent) -> Iterator[str]:
    """Workers were pinned to as many processors as planned."""
    affinity = record.threads.get("affinity")
    threads = intent.plan.settings.threads
    if affinity is not None and len(affinity.split(",")) > threads:
        yield f"processors {affinity}, planned {threads}"


def steady(record: Record, _intent: Intent) -> Iterator[str]:
    """The first steady call has a sample."""
    for point in record.points:
        for kind, half in point.halves.items():
            start, calls = half.counted_from, len(half.ns)
            if half.steady is not None and not 0 <= start < max(calls, 1):
                yield f"at rtol {point.rtol:g} the steady part of {kind} starts at {start} of {calls} samples"


def environment(record: Record, intent: Intent) -> Iterator[str]:
    """The environment is the run's, or belongs to a machine that ran units for it."""
    if record.environment_hash not in intent.environments:
        known = ", ".join(f"{name[:12]}…" for name in intent.environments)
        kept = "environment.json is" if len(intent.environments) == 1 else "the run has"
        yield f"environment {record.environment_hash[:12]}…, {kept} {known}"


def versions(record: Record, intent: Intent) -> Iterator[str]:
    """Versions read back equal the environment's; not all packages report local labels such as ``+cpu``."""
    installed = intent.packages(record)
    for name, version in record.versions.items():
        planned = installed.get(canonicalize_name(name))
        if planned is not None and planned.partition("+")[0] != version.partition("+")[0]:
            yield f"{name} {version}, the environment says {planned}"


CHECKS = {
    check.__name__: check
    for check in (
        outcome, cell, place, ladder, inputs, spec, sample_values, sample_counts, wall, first_gradient, cold, warm,
        recompiled, computed, pinned, steady, training, environment, versions,
    )
}  # fmt: skip


def _is_duration(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _taken(loops: Iterable[tuple[int, ...]]) -> Iterator[int]:
    return filter(_is_duration, chain.from_iterable(loops))


def _phase_s(record: Record, phase: str) -> float:
    return record.phases_ns.get(phase, 0) / 1e9


def _listed(rtols: tuple[float, ...]) -> str:
    return ", ".join(f"{rtol:g}" for rtol in rtols)
