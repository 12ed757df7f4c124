"""The best truth that there is for a problem, in double precision as workers need it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from sciml_bench.problem.model import Problem, to_double
from sciml_bench.reference.failure import ReferenceFailure
from sciml_bench.reference.store import StoredReference, cache_path, find
from sciml_bench.reference.threads import ONE_THREAD
from sciml_bench.task import Reference

#: A certified reference is computed on the way where it is estimated to take no longer than this.
AFFORDABLE_S = 60.0
#: Limit of the double-precision solution that stands in where it would.
DOUBLE_S = 60.0
_EXACT_DIGITS = 30.0

Announce = Callable[[str], object]


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def truth(problem: Problem, affordable_s: float = AFFORDABLE_S, announce: Announce = _to_stderr) -> Reference | None:
    """The truth of a problem: certified, exact, published or a tight double-precision solution, in this order.

    A certified reference is read from its file. Where there is none, it is computed if that is estimated to take at
    most ``affordable_s`` seconds (0: never), and kept; the estimate is announced before it starts.

    Raises:
        StoreError: there is a reference file, but it is stale or was changed.
    """
    stored = find(problem)
    if stored is not None:
        return from_stored(stored)
    if affordable_s > 0:
        computed = _computed(problem, affordable_s, announce)
        if computed is not None:
            return computed
    if problem.batch.size > 1:
        announce(f"reference of {problem.name}: there is none of the whole batch, so its errors are not scored")
        return None
    if problem.exact:
        return _exact(problem)
    published = _published(problem)
    if published is not None or affordable_s <= 0:
        return published
    return _double(problem, announce)


def from_stored(stored: StoredReference) -> Reference:
    """A stored reference in double precision."""
    return Reference(
        kind=stored.kind,
        rows=tuple(range(len(stored.solution))),
        solution=tuple(tuple(float(value) for value in row) for row in stored.solution),
        solution_digits=tuple(stored.solution_digits),
        gradient=tuple(float(value) for value in stored.gradient) if stored.gradient else None,
        gradient_digits=min(stored.gradient_digits, default=0.0),
    )


def _computed(problem: Problem, affordable_s: float, announce: Announce) -> Reference | None:
    """A certified reference computed now and kept in the cache, when it is affordable and can be certified."""
    # The engine is only loaded when something is computed.
    from sciml_bench.reference.case import Case
    from sciml_bench.reference.cost import estimate_s

    try:
        cost_s = problem.batch.size * estimate_s(Case(next(problem.trajectories())))
    except ReferenceFailure as failure:
        announce(f"reference of {problem.name}: {failure}")
        return None
    if not cost_s <= affordable_s:
        about = f"about {cost_s:.0f} s" if cost_s < float("inf") else "too long to estimate"
        announce(f"reference of {problem.name}: a certified one would take {about}; it is not computed here")
        return None
    announce(f"reference of {problem.name}: computing a certified one, about {max(cost_s, 1):.0f} s")
    complaint = compute_apart(problem, cache_path(problem), 10 * affordable_s)
    if complaint:
        announce(f"reference of {problem.name}: {complaint}")
        return None
    stored = find(problem)
    return None if stored is None else from_stored(stored)


def compute_apart(problem: Problem, path: Path, limit_s: float) -> str:
    """Compute a reference in a process of its own, which has one thread; what went wrong, empty when it is written."""
    environment = {**os.environ, **ONE_THREAD}
    command = [sys.executable, "-m", "sciml_bench.reference", problem.path, str(path), str(limit_s)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or ["the engine ended without a word"])[-1]


def _exact(problem: Problem) -> Reference | None:
    from sciml_bench.reference.case import Case
    from sciml_bench.reference.numbers import precision

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
    from sciml_bench.reference.double import double_solution

    announce(f"reference of {problem.name}: solving twice in double precision, at most {DOUBLE_S:.0f} s")
    try:
        found = double_solution(problem, DOUBLE_S)
    except ReferenceFailure as failure:
        announce(f"reference of {problem.name}: {failure}; its errors are not scored")
        return None
    return Reference(
        kind="double",
        rows=tuple(range(len(found.rows))),
        solution=tuple(tuple(float(value) for value in row) for row in found.rows),
        solution_digits=tuple(float(value) for value in found.digits),
    )
