"""The check of a record's training: planned, whole, and consistent at its end."""

from __future__ import annotations

from collections.abc import Iterator

from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record
from sciml_bench.record.training import FIRST, MAX_STORED_THETA, STEPS, Trained
from sciml_bench.verification.evidence import Intent

# These may be found out when every step was taken.
_AFTER_ALL = (
    Outcome.OK, Outcome.RECOMPILED, Outcome.INVALID, Outcome.BUILD_ERROR, Outcome.CRASH, Outcome.NONFINITE,
    Outcome.DIVERGED,
)  # fmt: skip


def training(record: Record, intent: Intent) -> Iterator[str]:
    """The training is the plan's, every step has a loss and a time, and its end agrees with its outcome."""
    entry = intent.cells.get(record.cell_id)
    planned = None if entry is None else entry.training
    found = record.training
    if found is None:
        if planned is not None:
            yield "it was to train, but it has no training"
        return
    if entry is not None and found.settings != planned:
        yield "its training is not the planned one" if planned else "it trained, which was not planned"
    yield from _steps(found)
    yield from _end(found)
    phases_ns = sum(record.phases_ns.get(name, 0) for name in (FIRST, STEPS))
    if found.outcome is Outcome.OK and sum(map(_whole, found.step_ns)) > phases_ns:
        yield f"its steps add up to {sum(found.step_ns) / 1e9:.3f} s, their phases took {phases_ns / 1e9:.3f} s"


def _steps(found: Trained) -> Iterator[str]:
    if len(found.losses) != len(found.step_ns):
        yield f"its training has {len(found.losses)} losses and {len(found.step_ns)} times"
    bad = [value for value in found.step_ns if _whole(value) <= 0]
    if bad:
        yield f"a step took {bad[0]!r} ns"
    if None in found.losses[:-1]:
        yield f"the loss of step {found.losses.index(None) + 1} is not finite, yet it continued"


def _end(found: Trained) -> Iterator[str]:
    done, wanted = len(found.losses), found.settings.steps
    if done > wanted:
        yield f"{done} steps of its training instead of {wanted}"
    if found.outcome is Outcome.OK and (done < wanted or None in found.losses):
        yield f"its training is ok with {done} of {wanted} steps"
    if found.outcome is Outcome.OK and not found.theta_size:
        yield "its training is ok, but its final state is missing"
    if found.outcome not in _AFTER_ALL and done == wanted:
        yield f"its training is {found.outcome}, but it has all of its {wanted} steps"
    if None in found.losses[-1:] and found.outcome is not Outcome.NONFINITE:
        yield f"its last loss is not finite, but its training is {found.outcome}"
    if len(found.theta) != min(found.theta_size, MAX_STORED_THETA):
        yield f"{len(found.theta)} components of its theta of {found.theta_size} are there"


def _whole(value: object) -> int:
    """A whole number of nanoseconds; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
