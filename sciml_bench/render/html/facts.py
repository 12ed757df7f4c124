"""The head of a run: machine, software, date, self-test, and missing measurements."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sciml_bench.analysis.cell_tally import cell_tally
from sciml_bench.analysis.loaded_run import LoadedRun
from sciml_bench.analysis.machine_hash import flat
from sciml_bench.analysis.tables import formatting
from sciml_bench.analysis.tables.footnotes import doubts
from sciml_bench.planning.written_plan import WrittenPlan

_SOFTWARE = (
    "diffrax", "jax", "torchdiffeq", "torch", "tensorflow-probability", "tensorflow", "scipy", "juliacall", "numpy",
)  # fmt: skip


def facts(loaded: LoadedRun, now: datetime.datetime) -> Iterator[tuple[str, str]]:
    """The head of a run as names and texts."""
    environment, plan = loaded.environment, loaded.plan
    profile = plan.profile
    counts = cell_tally(loaded.summary)
    yield "Machine", machines(environment, loaded.environments)
    if loaded.other_machines:
        yield "Other machines", loaded.other_machines
    yield "Measured", dates(loaded)
    processes = profile.processes
    each = "1 process for each cell: times are shown, not compared" if not profile.comparable else (
        f"{processes} processes for each cell, one in each of {processes} blocks in random order"
    )  # fmt: skip
    yield "Profile", f"{profile.name}: {each}; {_threads(plan)}"
    yield "Software", software(environment)
    yield "Self-test", selftest(loaded, now)
    failed = sum(counts.failed.values())
    points = sum(
        point.outcome.value != "ok" for cell in loaded.summary.cells.values() if cell.measured for point in cell.points
    )
    yield "Failures", f"{failed} cells failed altogether; in the others {points} single points failed"
    yield "Cells", counts.sentence


def _threads(plan: WrittenPlan) -> str:
    threads = plan.settings.threads
    return f"{threads} thread{'s' * (threads != 1)} each, limit of {plan.settings.timeout_s:g} s a phase"


def machines(own: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    """The machine of a run, or all machines that blocks of it were measured on, each block on one of them."""
    if not others:
        return machine(own)
    alike = Counter(map(machine, (own, *others)))
    listed = "; ".join(f"{text} ({count} environments)" if count > 1 else text for text, count in alike.items())
    return f"{1 + len(others)} environments, each block in one of them: {listed}"


def machine(environment: Mapping[str, Any]) -> str:
    """The machine in one line, if known."""
    values = dict(flat(environment))
    model = values.get("cpu.model")
    if not model:
        return "not known: this run has no environment file"
    parts = [str(model)]
    cores = values.get("cpu.usable_cores") or values.get("cpu.logical_cores")
    if cores:
        parts.append(f"{cores} cores usable")
    if values.get("memory_gib"):
        parts.append(f"{values['memory_gib']} GiB memory")
    gpus = values.get("gpus") or []
    names = [str(gpu.get("model") or "unnamed") for gpu in gpus if isinstance(gpu, Mapping)]
    parts.append(f"GPU {', '.join(names)}" if names else "no GPU")
    governor = values.get("cpu.governor")
    parts.append(f"governor {governor}" if governor else "governor not shown")
    for name, what in (("virtual_machine", "virtual machine"), ("container", "container")):
        if values.get(name):
            parts.append(f"{what} {values[name]}")
    system = " ".join(str(values[key]) for key in ("system.name", "system.kernel", "system.machine") if values.get(key))
    return ", ".join([*parts, system] if system else parts)


def dates(loaded: LoadedRun) -> str:
    """The start of the first and the last record."""
    starts = sorted(trace.started_at for trace in loaded.traces)
    if not starts:
        return "nothing yet: no records"
    first, last = (text[:16].replace("T", " ") for text in (starts[0], starts[-1]))
    zone = "UTC" if starts[0].endswith(("+00:00", "Z")) else "local time"
    records = f"{len(loaded.traces)} records"
    return f"{first} {zone}, {records}" if first == last else f"{first} to {last} {zone}, {records}"


def software(environment: Mapping[str, Any]) -> str:
    """The versions that decide the measurements."""
    packages = environment.get("packages")
    packages = packages if isinstance(packages, Mapping) else {}
    python = environment.get("python")
    parts = [f"sciml-bench {environment.get('sciml_bench', '?')}{_commit(environment)}"]
    if isinstance(python, Mapping) and python.get("version"):
        parts.append(f"Python {python['version']}")
    parts += [f"{name} {packages[name]}" for name in _SOFTWARE if packages.get(name)]
    return ", ".join(parts)


def _commit(environment: Mapping[str, Any]) -> str:
    git = environment.get("git")
    if not isinstance(git, Mapping) or not git.get("commit"):
        return ""
    return f" ({str(git['commit'])[:10]}{', changed since' if git.get('dirty') else ''})"


def selftest(loaded: LoadedRun, now: datetime.datetime) -> str:
    """The quality of the harness on this machine, or why it is not known."""
    from sciml_bench.analysis.machine_hash import machine_hash
    from sciml_bench.analysis.selftest.store import newest
    from sciml_bench.render.selftest import head

    processes = loaded.plan.profile.processes
    test = newest(Path(loaded.folder).parent, machine_hash(loaded.environment))
    line = head(test, loaded.environment, now, processes)
    return line.removeprefix("self-test: ")


def unmeasured(loaded: LoadedRun) -> Iterator[str]:
    """Missing measurements with their reasons, so that nothing is silently absent."""
    counts = cell_tally(loaded.summary)
    for reason, count in counts.skipped.items():
        yield f"{count} {'cell was' if count == 1 else 'cells were'} skipped: {reason}"
    if counts.not_run:
        yield f"{counts.not_run} planned cells have not run yet; the same command continues with them"
    energy = Counter(trace.energy for trace in loaded.traces if trace.energy)
    for reason, count in energy.most_common(3):
        yield f"energy of {count} of {len(loaded.traces)} processes: {reason}"
    kinds: dict[str, set[str | None]] = {}
    for trace in loaded.traces:
        kinds.setdefault(trace.problem, set()).add(trace.reference_kind)
    for problem, found in kinds.items():
        if None in found:
            yield f"{problem}: errors, since it has no reference; its times are compared at equal tolerance only"
        elif "double" in found:
            yield f"{problem}: errors below the error of a tight double-precision solve, its only reference"
    yield from (text for text in doubts(loaded.summary) if text)
    if loaded.damaged:
        lines = ", ".join(str(line.number) for line in loaded.damaged[:5])
        lines += " …" if len(loaded.damaged) > 5 else ""
        reason = loaded.damaged[0].reason
        yield f"{len(loaded.damaged)} damaged lines of records.jsonl are left out: line {lines} ({reason})"
    if loaded.unplanned:
        yield f"{len(loaded.unplanned)} records are of cells that the plan does not know, and are left out"


def environment_rows(environment: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Everything that is known of machine and software."""
    return [(name, formatting.NOTHING if value is None else str(value)) for name, value in flat(environment)]
