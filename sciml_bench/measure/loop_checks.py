"""Checks of a steady loop: outputs are computed, as tightly as the scored one, and all work is in the timed calls.

Timed outputs are compared with the scored one, whose theta is nearly the same. Then calls are made
again, drawn in secret: at an input far away, which must not take longer; and at an input of the loop or of the scored
call, whose output must be the same again. Outputs of several inputs that are all the same are compared with the output
far away. Inputs are prepared and outputs read in less time than a call takes. Threads that leave the planned processors
for others use more of their time than passes.
"""

from __future__ import annotations

import os
import secrets
import statistics
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from sciml_bench.adapters.base import FloatArray, Program, Varied
from sciml_bench.host.process import Clock, working_bytes
from sciml_bench.measure.answers import Kept
from sciml_bench.measure.sampling import Call, Loop, timed
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import GRADIENT, Point, Task

#: An input far away, relative to theta.
_FAR = 0.03
#: Pairs of calls there and nearby, and how many times as long the first take if the timed ones did not compute.
_FRESH, _SLOWER = 3, 5.0
#: A call is made again in each way if it takes this share of the loop's time; a longer one in one way, drawn by lot.
_CHEAP_SHARE = 0.01
#: A repeated output may differ by this share of the change from input to input.
_SAME_SHARE = 0.01
#: All of these must be the same again.
_REPEATED = 5
#: Outputs nearby differ from the scored one by at most this multiple of changes from input to input, or of rtol.
_CHANGES, _TOLERANCES = 100.0, 10.0
#: A change of these roundings would have been seen.
_SEEN_ROUNDINGS = 100.0
#: Where the loss changes by this share, some state changes in its digits.
_LOSS_SHARE = 1e-6
#: Work around a call is checked from this time on, and takes at most this many times as long as the call.
BESIDE_FLOOR_NS, BESIDE_TIMES = 1_000_000, 2.0

#: A kernel's count of processor time may be ahead of the clock by this share, and by this time.
_BUSY_SHARE, _BUSY_FLOOR_NS = 1.05, 20_000_000

Run = Callable[[Varied], tuple[FloatArray, int]]
"""Prepares an input, calls and reads: the numbers of its output, and the time of the call in ns."""


def check_loop(
    program: Program, task: Task, point: Point, call: Call, loop: Loop, scored: Kept | None, clock: Clock
) -> int | None:
    """Check a loop's outputs and the work around its calls; return the memory of a call, if it is known.

    Raises:
        SolverFailure: a timed call returned an output that it did not compute, or did not compute as the scored call.
    """
    # The outputs end here: they may be large, and a cell has many loops.
    kept, loop.answers = loop.answers.kept if loop.answers else [], None
    if not kept:
        # Processes that fill caches have no steady calls.
        return None
    _check_processors(task, call, loop)
    change = max((_apart(kept[0].output, other.output) for other in kept[1:]), default=0.0)
    if task.learning is not None:
        # Samples of a model are read and put into arrays, and another batch has another output.
        scored = None
    else:
        _check_beside(call, loop, "preparing its inputs", loop.prepare_ns)
        _check_beside(call, loop, "reading its output", [sample.read_ns for sample in loop.samples])
    if scored is not None and len(kept) > 1:
        _check_scored(call, point, kept, scored, change)
    if loop.truncated:
        return None

    def run(varied: Varied) -> tuple[FloatArray, int]:
        result, sample = timed(call, varied, clock)
        return numbers_of(call, result), sample.ns

    same = [secrets.choice(kept), *([] if scored is None else [scored])]
    ways: list[Kept | None] = [None, *same]
    if statistics.median(loop.ns) > _CHEAP_SHARE * sum(loop.ns):
        ways = [secrets.choice(ways)]
    measured = working_bytes if task.cell.device == "cpu" else program.working_device_bytes
    if task.learning is None:
        _check_owed(call, loop, kept[0].varied, run, clock)
    again = _Again(call, clock, measured)
    for way in ways:
        if way is None:
            again.far(loop, kept[0], run)
        elif change > 0:
            allowed = _SAME_SHARE * change if way is not scored else _allowed(point, _SAME_SHARE * change)
            _check_repeated(call, way, again.numbers(way.varied), allowed, change, run)
    if not change > 0 and len(kept) > 1:
        _check_same(task, call, kept, run)
    return again.bytes(kept[0].varied)


class _Again:
    """Calls that are made again after a loop. The first that succeeds also shows the memory of a call."""

    def __init__(self, call: Call, clock: Clock, measured: Callable[[Callable[[], object]], int | None]):
        self._call = call
        self._clock = clock
        self._measured = measured
        self._is_measured = False
        self._bytes: int | None = None

    def far(self, loop: Loop, near: Kept, run: Run) -> None:
        """Call at an input far away, which takes much longer than the timed calls if these did not compute."""
        median_ns = statistics.median(loop.ns)
        try:
            if self._run(_far(near.varied))[1] <= _SLOWER * median_ns:
                return
            # The first call nearby may have to remember again.
            pairs = [[run(at)[1] for at in (_far(near.varied), near.varied, near.varied)] for _ in range(_FRESH)]
        except Exception:
            # That is another problem, which a solver may refuse or fail at.
            return
        far_ns, near_ns = min(pair[0] for pair in pairs), max(pair[-1] for pair in pairs)
        if far_ns > _SLOWER * max(median_ns, near_ns):
            raise SolverFailure(
                Outcome.INVALID,
                f"a {self._call.kind} takes {far_ns / median_ns:.3g} times as long for an input {_FAR:.0%} away as "
                "the timed ones took",
            )

    def numbers(self, varied: Varied) -> FloatArray:
        """The output of a call."""
        return numbers_of(self._call, self._call.read(self._run(varied)[0]))

    def bytes(self, varied: Varied) -> int | None:
        """The memory of a call; one is made if none was."""
        if not self._is_measured:
            self._run(varied)
        return self._bytes

    def _run(self, varied: Varied) -> tuple[Any, int]:
        inputs, done = self._call.prepare(varied), list[tuple[Any, int]]()

        def once() -> None:
            start_ns = self._clock.now_ns()
            output = self._call.run(inputs)
            self._call.synchronise(output)
            done.append((output, self._clock.now_ns() - start_ns))

        if not self._is_measured:
            self._bytes = self._measured(once)
            self._is_measured = True
        if not done:
            once()
        return done[-1]


def numbers_of(call: Call, result: Any) -> FloatArray:
    """All numbers of a result, flat."""
    return np.ravel(np.asarray(call.numbers(result), dtype=np.float64))


def _allowed(point: Point, change: float) -> float:
    """The largest distance of honest outputs: a solver's tolerance is a scale that no change of theta has."""
    return max(change, _TOLERANCES * point.rtol, _SEEN_ROUNDINGS * float(np.finfo(np.float64).eps))


def _check_scored(call: Call, point: Point, kept: Sequence[Kept], scored: Kept, change: float) -> None:
    """Timed outputs are as near to the scored output as to each other: all their inputs are."""
    if any(each.output.shape != scored.output.shape for each in kept):
        return
    apart = min(_apart(scored.output, each.output) for each in kept)
    if apart > _allowed(point, _CHANGES * change):
        raise SolverFailure(
            Outcome.INVALID,
            f"timed {call.kind}s returned outputs that differ from the scored one by {apart:.2g}, and from each other "
            f"by {change:.2g}, at rtol {point.rtol:g}",
        )


def _check_repeated(call: Call, first: Kept, again: FloatArray, allowed: float, change: float, run: Run) -> None:
    """An output is the same when it is computed again, or calls differ by that every time."""
    apart = _apart(first.output, again)
    if apart <= allowed:
        return
    # Honest calls that differ every time agree so well by chance now and then.
    repeated = 0.0
    for _ in range(_REPEATED):
        repeated = max(repeated, _apart(again, run(first.varied)[0]))
        if repeated > _SAME_SHARE * apart:
            return
    raise SolverFailure(
        Outcome.INVALID,
        f"a {call.kind} that counts returned another output than the same {call.kind} after the loop: they differ by "
        f"{apart:.2g}, {_REPEATED + 1} of these by {repeated:.2g}, and outputs change by {change:.2g} from call to "
        "call",
    )


def _check_same(task: Task, call: Call, kept: Sequence[Kept], run: Run) -> None:
    """Outputs of different inputs are all the same to the last digit: they must be so little apart."""
    near = kept[0]
    if any(np.array_equal(near.varied, other.varied) for other in kept[1:]):
        return
    message = f"{len(kept)} timed {call.kind}s of different inputs returned the same output to the last digit"
    if task.learning is not None:
        # The outputs of a model may be equal by its weights; its gradients are not.
        if call.kind == GRADIENT or np.ptp(near.output) > 0:
            raise SolverFailure(Outcome.INVALID, message)
        return
    for far, output, _ in _computed_far(near.varied, run):
        share = float(np.max(np.abs(kept[1].varied - near.varied)) / np.max(np.abs(far - near.varied)))
        rounding = float(np.finfo(np.float64 if task.cell.precision == "float64" else np.float32).eps)
        sizes = np.maximum(np.abs(near.output), np.finfo(np.float64).tiny)
        if np.max(share * np.abs(output - near.output) / sizes) > _SEEN_ROUNDINGS * rounding:
            raise SolverFailure(Outcome.INVALID, f"{message}, and one {_FAR:.0%} away returns another")
        moved = 0.0 if np.any(output != near.output) else _loss_moves(task, far - near.varied)
        if moved > _LOSS_SHARE:
            raise SolverFailure(
                Outcome.INVALID, f"{message}, and so does one {_FAR:.0%} away, where the loss is another by {moved:.2g}"
            )


def _loss_moves(task: Task, by: Varied) -> float:
    """The relative change of the loss over a change of theta, by the reference; 0 without one."""
    truth = task.reference
    if truth is None or truth.gradient is None:
        return 0.0
    terms = np.array(truth.gradient) * np.array(task.numbers.theta)
    return abs(float(np.dot(truth.gradient, by)) / (truth.loss or float(np.sum(np.abs(terms))) or 1.0))


def _computed_far(varied: Varied, run: Run) -> list[tuple[Varied, FloatArray, int]]:
    """Inputs far from another with their outputs and times, where the solver does not fail."""
    found = list[tuple[Varied, FloatArray, int]]()
    for _ in range(_FRESH):
        far = _far(varied)
        with suppress(SolverFailure):
            found.append((far, *run(far)))
    return found


def _far(varied: Varied) -> Varied:
    """An input far from another; samples are put in another order."""
    generator = np.random.default_rng()
    if not np.issubdtype(varied.dtype, np.floating):
        return generator.permutation(varied)
    moves = generator.choice([-1.0, 1.0], varied.shape) * generator.uniform(0.5, 1.0, varied.shape)
    return varied * (1.0 + _FAR * moves)


def _apart(one: FloatArray, other: FloatArray) -> float:
    """The largest difference of two outputs, relative to the largest number of the first."""
    size = float(np.max(np.abs(one), initial=0.0)) or 1.0
    return float(np.max(np.abs(one - other), initial=0.0)) / size


def _check_processors(task: Task, call: Call, loop: Loop) -> None:
    """The calls used no more processor time than the planned processors have, to which the worker is pinned.

    A worker that is not pinned any more shows in its record.
    """
    if not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) > task.threads:
        return
    if loop.busy_ns > _BUSY_SHARE * task.threads * loop.wall_ns + _BUSY_FLOOR_NS:
        raise SolverFailure(
            Outcome.INVALID,
            f"{len(loop.samples)} timed {call.kind}s used {loop.busy_ns / loop.wall_ns:.2g} processors, and "
            f"{task.threads} {'is' if task.threads == 1 else 'are'} planned: threads left the planned ones",
        )


def _check_beside(call: Call, loop: Loop, work: str, times_ns: Sequence[int]) -> None:
    """The work around a timed call takes less time than the call."""
    if _is_longer(statistics.median(times_ns), loop):
        raise _beside(call, loop, work, statistics.median(times_ns))


def _check_owed(call: Call, loop: Loop, varied: Varied, run: Run, clock: Clock) -> None:
    """No call leaves work to the preparation of the next inputs; calls that run in batches leave it to one of many."""

    def preparing_ns() -> int:
        start_ns = clock.now_ns()
        call.prepare(varied)
        return clock.now_ns() - start_ns

    if not _is_longer(preparing_ns(), loop):
        return
    pairs = [(run(varied)[1], preparing_ns()) for _ in range(_FRESH)]
    if _is_longer(min(prepared for _, prepared in pairs), loop, max(called for called, _ in pairs)):
        raise _beside(call, loop, "preparing the next inputs", statistics.median(prepared for _, prepared in pairs))


def _is_longer(beside_ns: float, loop: Loop, call_ns: float = 0.0) -> bool:
    return beside_ns > max(BESIDE_FLOOR_NS, BESIDE_TIMES * max(call_ns, statistics.median(loop.ns)))


def _beside(call: Call, loop: Loop, work: str, beside_ns: float) -> SolverFailure:
    return SolverFailure(
        Outcome.INVALID,
        f"a {call.kind} takes {statistics.median(loop.ns) / 1e6:.3g} ms, and {work} {beside_ns / 1e6:.3g} ms, which is "
        "not timed: what belongs to the call is done in it",
    )
