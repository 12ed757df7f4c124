"""Checks of a steady loop: an output from memory, and work done before a call, have no time.

One of the loop's outputs, drawn in secret, is computed again. Outputs of several inputs that are all the same are
compared with one of an input far away. Preparing inputs that takes as long as the calls is tried at a loose tolerance:
it must take as long there. Threads that leave the planned processors for others use more of their time than passes.
"""

from __future__ import annotations

import dataclasses
import os
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
#: Calls at such inputs, and how many times as long each takes if the timed ones did not compute.
_FRESH, _SLOWER = 3, 5.0
#: A repeated output may differ by this share of the change from input to input.
_SAME_SHARE = 0.01
#: All of these must be the same again.
_REPEATED = 5
#: A change of these roundings would have been seen.
_SEEN_ROUNDINGS = 100.0
#: Where the loss changes by this share, some state changes in its digits.
_LOSS_SHARE = 1e-6
_PREPARED_FLOOR_NS = 50_000
_PREPARED_PAIRS = 5
#: A loose tolerance, and the factor by which inputs are made faster there if the solver makes them.
_LOOSE, _FASTER = 0.1, 2.0

#: A kernel's count of processor time may be ahead of the clock by this share, and by this time.
_BUSY_SHARE, _BUSY_FLOOR_NS = 1.05, 20_000_000

Run = Callable[[Varied], tuple[FloatArray, int]]
"""Prepares an input, calls and reads: the numbers of its output, and the time of the call in ns."""


def check_loop(program: Program, task: Task, point: Point, call: Call, loop: Loop, clock: Clock) -> int | None:
    """Check a loop's preparations and outputs; return the memory of the call that is made again, if it is known.

    Raises:
        SolverFailure: a timed call returned an output that it did not compute.
    """
    # The outputs end here: they may be large, and a cell has many loops.
    kept, loop.answers = loop.answers.kept if loop.answers else [], None
    if not kept:
        # Processes that fill caches have no steady calls.
        return None
    _check_processors(task, call, loop)
    _check_preparation(call, point, loop, clock, lambda at: program.await_inputs(call.prepare_at(kept[0].varied, at)))
    outputs = list[Any]()
    if loop.truncated:
        return None
    inputs = call.prepare(kept[0].varied)

    def once() -> None:
        output = call.run(inputs)
        call.synchronise(output)
        outputs.append(output)

    measured = working_bytes if task.cell.device == "cpu" else program.working_device_bytes
    found = measured(once)
    if not outputs:
        once()

    def run(varied: Varied) -> tuple[FloatArray, int]:
        result, sample = timed(call, varied, clock)
        return _numbers(call, result), sample.ns

    again = _numbers(call, call.read(outputs[-1]))
    change = max((_apart(kept[0].output, other.output) for other in kept[1:]), default=0.0)
    if change > 0:
        _check_repeated(call, loop, kept, again, change, run)
    elif len(kept) > 1:
        _check_same(task, call, kept, run)
    return found


def _numbers(call: Call, result: Any) -> FloatArray:
    return np.ravel(np.asarray(call.numbers(result), dtype=np.float64))


def _check_repeated(call: Call, loop: Loop, kept: Sequence[Kept], again: FloatArray, change: float, run: Run) -> None:
    """An output is the same when it is computed again, or calls differ by that every time and take as long as any."""
    # Noise agrees by chance once in a hundred times, and never to the last digit.
    for first in kept:
        again = again if first is kept[0] else run(first.varied)[0]
        apart = _apart(first.output, again)
        if apart == 0.0:
            return
        if apart > _SAME_SHARE * change:
            break
    else:
        return
    fresh_ns = [ns for _, _, ns in _computed_far(first.varied, run)]
    median_ns = statistics.median(loop.ns)
    if fresh_ns and min(fresh_ns) > _SLOWER * median_ns:
        raise SolverFailure(
            Outcome.INVALID,
            f"a {call.kind} takes {min(fresh_ns) / median_ns:.3g} times as long for an input {_FAR:.0%} away as the "
            "timed ones took",
        )
    # Honest calls that differ every time agree so well by chance now and then.
    repeated = 0.0
    for _ in range(_REPEATED):
        repeated = max(repeated, _apart(again, run(first.varied)[0]))
        if repeated > _SAME_SHARE * apart:
            return
    raise SolverFailure(
        Outcome.INVALID,
        f"a timed {call.kind} returned another output than the same {call.kind} after the loop: they differ by "
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
    generator, found = np.random.default_rng(), list[tuple[Varied, FloatArray, int]]()
    for _ in range(_FRESH):
        moves = generator.choice([-1.0, 1.0], varied.shape) * generator.uniform(0.5, 1.0, varied.shape)
        # Samples are put in another order.
        is_number = np.issubdtype(varied.dtype, np.floating)
        far = varied * (1.0 + _FAR * moves) if is_number else generator.permutation(varied)
        with suppress(SolverFailure):
            found.append((far, *run(far)))
    return found


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


def _check_preparation(call: Call, point: Point, loop: Loop, clock: Clock, prepare: Callable[[Point], None]) -> None:
    """Preparing inputs is not where the solver works: it takes less time than the call, or as long at any tolerance."""
    call_ns, prepare_ns = statistics.median(loop.ns), statistics.median(loop.prepare_ns)
    if prepare_ns < _PREPARED_FLOOR_NS or prepare_ns < call_ns or point.batch is not None:
        return
    loose = dataclasses.replace(point, rtol=_LOOSE, atol=_LOOSE)

    def ns_at(point: Point) -> int:
        start_ns = clock.now_ns()
        prepare(point)
        return clock.now_ns() - start_ns

    pairs: list[tuple[int, int]] = []
    for _ in range(_PREPARED_PAIRS):
        pairs.append((ns_at(point), ns_at(loose)))
        if pairs[-1][0] < _FASTER * pairs[-1][1]:
            return
    tight_ns, loose_ns = (statistics.median(side) for side in zip(*pairs, strict=True))
    raise SolverFailure(
        Outcome.INVALID,
        f"prepare() takes {prepare_ns / 1e6:.3g} ms and the {call.kind} {call_ns / 1e6:.3g} ms, and it takes "
        f"{tight_ns / loose_ns:.2g} times as long at rtol {point.rtol:g} as at {_LOOSE:g}: it solves",
    )
