"""The best truth that there is for a problem, in double precision as workers need it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sciml_bench.record.task import Reference
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.references.progress import ONE_THREAD
from sciml_bench.references.store import StoredReference, cache_path, find
from sciml_bench.spec.model import Problem, to_double

#: A certified reference is computed on the way where its counted work is no more than what takes so long.
AFFORDABLE_S = 60.0
#: Processor time after which it is given up, as a multiple of that: counts are right to a factor of some three.
_GENEROUS = 10.0
#: Limit of the double-precision solution that stands in where it would, in processor time.
DOUBLE_S = 60.0
#: Of a larger batch only the first trajectories are solved and scored, which a smaller one has too.
LARGE_BATCH, SOLVED_OF_LARGE = 1000, 16
#: A computation is also given up at this multiple of what was announced, but not before what is affordable anyway.
_MOST_OVER = 30.0
#: A line of progress comes this often.
_EVERY_S = 10.0
_EXACT_DIGITS = 30.0
#: With fewer digits two solutions in double precision disagree: an error of 1e-2 is a solver's bound.
_LEAST_DIGITS = 3.0

Announce = Callable[[str], object]


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def truth(
    problem: Problem,
    affordable_s: float = AFFORDABLE_S,
    announce: Announce = _to_stderr,
    proof_s: float | None = None,
) -> Reference | None:
    """The truth of a problem: certified, exact, published or a tight double-precision solution, in this order.

    A certified reference is read from its file. A missing one is computed if its counted work takes at most
    ``affordable_s`` seconds (0: never), and kept; the count is announced before it starts. Neither the count nor the
    limits, which are of processor time, depend on other work on the machine. ``proof_s`` seconds, as counted, may go
    into the proof of an enclosure, unless given as many as :func:`sciml_bench.references.build.make` takes.

    Raises:
        StoreError: there is a reference file, but it is stale or was changed.
        Unresolved: double precision cannot evaluate the equations, and there is no better reference.
    """
    stored = find(problem)
    if stored is not None:
        return from_stored(stored)
    if affordable_s > 0:
        computed = _computed(problem, affordable_s, announce, proof_s)
        if computed is not None:
            return computed
    # Both are about the first trajectory of a batch.
    alone = problem.batch.size == 1
    if problem.exact and alone:
        return _exact(problem)
    published = _published(problem) if alone else None
    if published is not None or affordable_s <= 0:
        return published
    if problem.events:
        announce(
            f"reference of {problem.name}: without a certified one, errors of a problem with events are not scored"
        )
        return None
    return _double(problem, announce)


def from_stored(stored: StoredReference) -> Reference:
    """A stored reference in double precision."""
    return Reference(
        kind=stored.kind,
        rows=tuple(range(len(stored.solution))),
        solution=tuple(tuple(float(value) for value in row) for row in stored.solution),
        solution_digits=tuple(stored.solution_digits),
        gradient=tuple(float(value) for value in stored.gradient) if stored.gradient else None,
        gradient_digits=tuple(stored.gradient_digits),
        loss=float(stored.loss),
    )


def _computed(problem: Problem, affordable_s: float, announce: Announce, proof_s: float | None) -> Reference | None:
    """A certified reference computed now and kept in the cache, when it is affordable and can be certified."""
    # The engine is only loaded when something is computed.
    from sciml_bench.references.cost import describe_s, try_estimate_s
    from sciml_bench.references.engine.case import Case

    try:
        one_s = try_estimate_s(Case(next(problem.trajectories())))
    except ReferenceFailure as failure:
        announce(f"reference of {problem.name}: {failure}")
        return None
    cost_s = None if one_s is None else problem.batch.size * one_s
    command = f"`sciml-bench reference compute {problem.path}`"
    if cost_s is not None and not cost_s <= affordable_s:
        announce(
            f"reference of {problem.name}: a certified one is not computed here: {describe_s(cost_s)};"
            f" {command} makes one"
        )
        return None
    about = "its cost is not known" if cost_s is None else describe_s(cost_s)
    announce(f"reference of {problem.name}: computing a certified one, {about}")
    limit_s = affordable_s if cost_s is None else min(_GENEROUS * affordable_s, max(affordable_s, _MOST_OVER * cost_s))
    complaint = compute_apart(
        problem, cache_path(problem), limit_s, lambda line: announce(f"reference of {problem.name}: {line}"),
        proof_s=proof_s,
    )  # fmt: skip
    if complaint:
        announce(f"reference of {problem.name}: {complaint}")
    stored = find(problem)
    return None if stored is None else from_stored(stored)


def compute_apart(
    problem: Problem,
    path: Path,
    limit_s: float,
    announce: Announce = lambda _line: None,
    now_s: Callable[[], float] = time.monotonic,
    proof_s: float | None = None,
) -> str:
    """Compute a reference in its own process, which has one thread; return what went wrong, empty if nothing did.

    ``limit_s`` is processor time; ``announce`` gets how far the computation is, at most every ten seconds. A gradient
    that cannot be certified goes wrong, and the solution is written without.
    """
    environment = {**os.environ, **ONE_THREAD}
    command = [sys.executable, "-m", "sciml_bench.references", problem.path, str(path), str(limit_s)]
    command += [] if proof_s is None else [str(proof_s)]
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as complaints,
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=complaints, text=True) as process,
    ):
        last_s = now_s()
        for line in process.stdout or ():
            if now_s() - last_s >= _EVERY_S:
                last_s = now_s()
                announce(f"{line.strip()}, at most {limit_s:.0f} s of processor time")
        code = process.wait()
        complaints.seek(0)
        told = complaints.read().strip()
    if code == 0 and not told:
        return ""
    return (told.splitlines() or ["the engine exited without reporting a result"])[-1]


def _exact(problem: Problem) -> Reference | None:
    from sciml_bench.references.engine.case import Case
    from sciml_bench.references.engine.numbers import precision

    try:
        with precision(128):
            rows = Case(problem).exact_rows() or []
    except ReferenceFailure:
        return None
    return Reference(
        kind="exact",
        rows=tuple(range(len(rows))),
        solution=tuple(tuple(float(value) for value in row) for row in rows),
        solution_digits=(_EXACT_DIGITS,) * problem.n_states,
    )


def _published(problem: Problem) -> Reference | None:
    """Published digits at saved times; components that no source lists at a time are not known there."""
    saved = {to_double(time): k for k, time in enumerate(problem.save_times)}
    rows: dict[int, list[float | None]] = {}
    digits: dict[str, float] = {}
    for block in problem.published:
        k = saved.get(to_double(block.t))
        if k is None:
            continue
        row = rows.setdefault(k, [None] * problem.n_states)
        for i, label in enumerate(problem.state_labels):
            if label in block.values:
                value, good = block.values[label]
                row[i] = to_double(value)
                digits[label] = min(good, digits.get(label, good))
    if not rows:
        return None
    known = tuple(digits.get(label, 0.0) for label in problem.state_labels)
    return Reference("published", tuple(sorted(rows)), tuple(tuple(rows[k]) for k in sorted(rows)), known)


def _double(problem: Problem, announce: Announce) -> Reference | None:
    """Every trajectory twice in double precision, of a batch as many as the time allows, and what agrees."""
    from sciml_bench.references.confirmation.cancellation import Unresolved, cancellation
    from sciml_bench.references.double_precision import DoubleSolution, double_solution

    announce(
        f"reference of {problem.name}: solving twice in double precision, at most {DOUBLE_S:.0f} s of processor time"
    )
    until, found = time.process_time() + DOUBLE_S, list[DoubleSolution]()
    size = problem.batch.size
    try:
        for part in problem.trajectories(range(size if size <= LARGE_BATCH else SOLVED_OF_LARGE)):
            found.append(double_solution(part, until - time.process_time()))
    except ReferenceFailure as failure:
        # One that ends for another reason than the time is a trajectory that nobody knows.
        if not found or time.process_time() < until:
            announce(f"reference of {problem.name}: {failure}; its errors are not scored")
            return None
    if len(found) < problem.batch.size:
        announce(f"reference of {problem.name}: of {problem.batch.size} trajectories the first {len(found)} are scored")
    lost = cancellation(next(problem.trajectories()), found[0].rows)
    if lost is not None:
        announce(f"reference of {problem.name}: {lost}; solvers that agree on it prove nothing")
        raise Unresolved(str(lost))
    rows = np.concatenate([part.rows for part in found], axis=1)
    digits = np.concatenate([part.digits for part in found])
    agreed = f"{found[0].compared} agree to {digits.min():.1f} digits"
    if digits.min() < _LEAST_DIGITS:
        announce(f"reference of {problem.name}: {agreed}, too few to judge a solver by; its errors are not scored")
        return None
    announce(f"reference of {problem.name}: {agreed}; no gradient")
    return Reference(
        kind="double",
        rows=tuple(range(len(rows))),
        solution=tuple(tuple(float(value) for value in row) for row in rows),
        solution_digits=tuple(float(value) for value in digits),
    )
