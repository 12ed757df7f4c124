"""Checks of a steady loop: outputs are computed, as tightly as the scored one, and all work is in the timed calls.

Timed outputs are compared with the scored one, whose theta is nearly the same. Then calls are made again, drawn in
secret: with an input of the loop or of the scored call, whose output must be the same again, and with one far away.
If that takes much longer, a program that is built again must be fast for an input that it has never seen. Outputs of
several inputs that are all the same are compared with the output far away. Inputs are prepared and outputs read in less
time than a call takes, and no more time passes between two calls. Threads that leave the planned processors for others
use more of their time than passes.
"""

from __future__ import annotations

import importlib
import itertools
import secrets
import statistics
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sciml_bench.adapters.program import FloatArray, Program, Varied
from sciml_bench.host.processes.memory import working_bytes
from sciml_bench.host.processes.process import Clock
from sciml_bench.measure.answers import Kept
from sciml_bench.measure.sampling import Call, Loop, gradient_call, solve_call, timed, timed_alone
from sciml_bench.measure.sampling import varied as nearby
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import GRADIENT, SOLVE, Point, Task

#: An input far away, relative to theta.
_FAR = 0.03
#: Inputs there, or programs that are built again, and how many times as long calls take if the timed ones did not
#: compute.
_FRESH, _SLOWER = 3, 5.0
#: A call is made again in each way if it takes this share of the loop's time; a longer one in one way, drawn by lot.
_CHEAP_SHARE = 0.01
#: A repeated output may differ by this share of the change from input to input.
_SAME_SHARE = 0.01
#: All of these must be the same again.
_REPEATED = 5
#: Outputs nearby differ from the scored one by at most this multiple of changes from input to input, of rtol, or of the
#: error of the scored one; this number of inputs more is drawn, and counts among them, before that counts. Where that
#: error is unknown, changes count more: exactly at theta an honest solver may take other steps than anywhere near it.
_CHANGES, _TOLERANCES, _ERRORS, _MORE = 3.0, 10.0, 3.0, 8
_CHANGES_UNSCORED = 100.0
#: A change of these roundings would have been seen.
_SEEN_ROUNDINGS = 100.0
#: Where the loss changes by this share, some state changes in its digits.
_LOSS_SHARE = 1e-6
#: Work around a call is checked from this time on, and takes at most this many times as long as the call.
_BESIDE_FLOOR_NS, _BESIDE_TIMES = 1_000_000, 1.0

#: A kernel's count of processor time may be ahead of the clock by this share, and by this time.
_BUSY_SHARE, _BUSY_FLOOR_NS = 1.05, 20_000_000

Run = Callable[[Varied], tuple[FloatArray, int]]
"""Prepares an input, calls and reads: the numbers of its output, and the time of the call in ns."""


def check_loop(
    program: Program,
    task: Task,
    point: Point,
    call: Call,
    loop: Loop,
    scored: Scored | None,
    clock: Clock,
    rebuilding: Callable[[], AbstractContextManager[None]],
) -> int | None:
    """Check a loop's outputs and the work around its calls; return the memory of a call, if it is known.

    A program that is built again is built, and called, in ``rebuilding``.

    Raises:
        SolverFailure: a timed call returned an output that it did not compute, or did not compute as the scored call.
    """
    # The outputs end here: they may be large, and a cell has many loops.
    kept, loop.answers = loop.answers.kept if loop.answers else [], None
    if not kept:
        # Processes that fill caches have no steady calls.
        return None
    _check_processors(task, call, loop, clock)

    def run(varied: Varied) -> tuple[FloatArray, int]:
        result, sample = timed(call, varied, clock)
        return numbers_of(call, result), sample.ns

    change = max((_apart(kept[0].output, other.output) for other in kept[1:]), default=0.0)
    if task.learning is not None:
        # Samples of a model are read and put into arrays, and another batch has another output.
        scored = None
    elif task.cell.device == "cpu":
        # Transfers to and from a device are measured on their own.
        near = _near(kept[0].varied)
        _check_beside(call, loop, "preparing its inputs", loop.prepare_ns, lambda: _preparing_ns(call, near(), clock))
        read_ns = [sample.read_ns for sample in loop.samples]
        _check_beside(call, loop, "reading its output", read_ns, lambda: timed(call, near(), clock)[1].read_ns)
    if scored is not None and len(kept) > 1:
        changes = _CHANGES_UNSCORED if scored.error is None else _CHANGES
        _check_scored(call, kept, scored, lambda moved: scored.allowed(task, point, changes * moved), run, task)
    if loop.truncated:
        return None
    if task.learning is None and task.cell.device == "cpu":
        _check_owed(call, loop, kept[0].varied, run, clock)
        _check_between(call, loop, kept[0].varied, clock)
    ways = [secrets.choice(kept), *([] if scored is None else [scored])]
    is_cheap = statistics.median(loop.ns) <= _CHEAP_SHARE * sum(loop.ns)
    again = _Again(call, working_bytes if task.cell.device == "cpu" else program.working_device_bytes)
    for way in ways if is_cheap else [secrets.choice(ways)]:
        output = again.numbers(way.varied)
        if change > 0:
            allowed = max(_SAME_SHARE * change, _SEEN_ROUNDINGS * _rounding(task))
            if isinstance(way, Scored):
                allowed = way.allowed(task, point, allowed)
            _check_repeated(call, way, output, allowed, change, run)
    if not change > 0 and len(kept) > 1:
        _check_same(task, call, kept, run)
    if is_cheap and task.learning is None:
        _check_far(task, point, call, loop, kept[0].varied, run, clock, rebuilding)
    return again.bytes


@dataclass(frozen=True)
class Scored(Kept):
    """The scored call; ``error`` is its error against the reference, if there is one."""

    error: float | None = None

    def allowed(self, task: Task, point: Point, least: float) -> float:
        """The largest distance of honest outputs from this one: a solver's error is a scale that no change has."""
        errors = (self.error or 0.0) * _ERRORS, _TOLERANCES * point.rtol, _SEEN_ROUNDINGS * _rounding(task)
        return max(least, *errors)


class _Again:
    """Calls that are made again after a loop, the first one to measure the memory of a call."""

    def __init__(self, call: Call, measured: Callable[[Callable[[], object]], int | None]):
        self._call = call
        self._measured = measured
        self._is_measured = False
        self.bytes: int | None = None

    def numbers(self, varied: Varied) -> FloatArray:
        """The output of a call."""
        inputs, outputs = self._call.prepare(varied), list[Any]()

        def once() -> None:
            output = self._call.run(inputs)
            self._call.synchronise(output)
            outputs.append(output)

        if not self._is_measured:
            self._is_measured, self.bytes = True, self._measured(once)
        if not outputs:
            once()
        return numbers_of(self._call, self._call.read(outputs[-1]))


def numbers_of(call: Call, result: Any) -> FloatArray:
    """All numbers of a result, flat; copied, since an adapter may read the next result into the same memory."""
    return np.array(call.numbers(result), dtype=np.float64).ravel()


def _rounding(task: Task) -> float:
    return float(np.finfo(np.float64 if task.cell.precision == "float64" else np.float32).eps)


def _check_far(
    task: Task,
    point: Point,
    call: Call,
    loop: Loop,
    varied: Varied,
    run: Run,
    clock: Clock,
    rebuilding: Callable[[], AbstractContextManager[None]],
) -> None:
    """A call at an input far away takes as long as the timed calls, or a new program takes no longer for these.

    Only if no such call is fast is the program built again. Next to an equilibrium an honest solver is fast for
    an input that it has never seen; a program that remembers must compute it.
    """
    limit_ns = _SLOWER * statistics.median(loop.ns)
    fresh_ns: list[int] = []
    try:
        if any(run(_far(varied))[1] <= limit_ns for _ in range(_FRESH)):
            return
        for _ in range(_FRESH):
            with rebuilding():
                again = _rebuilt(task, point, call)
            with rebuilding():
                # The first call compiles, at another input.
                timed(again, _far(varied), clock)
            far_ns, near_ns = (timed(again, at, clock)[1].ns for at in (_far(varied), varied))
            if min(far_ns, near_ns) <= limit_ns:
                return
            fresh_ns.append(near_ns)
    except KeyboardInterrupt:
        raise
    except BaseException:
        # Far away is another problem: a solver may refuse it, and a framework raise there whatever it has.
        return
    raise SolverFailure(
        Outcome.INVALID,
        f"a {call.kind} takes {min(fresh_ns) / statistics.median(loop.ns):.3g} times as long for an input that the "
        "program has never seen as the timed ones took",
    )


def _rebuilt(task: Task, point: Point, call: Call) -> Call:
    """A call of the same kind, of another program of the task."""
    module, _, function = task.program.partition(":")
    program = getattr(importlib.import_module(module), function)(task)
    return (solve_call if call.kind == SOLVE else gradient_call)(program, task, point)


def _check_scored(
    call: Call, kept: Sequence[Kept], scored: Scored, allowed: Callable[[float], float], run: Run, task: Task
) -> None:
    """Timed outputs are as near to the scored output as to each other: all their inputs are."""

    def nearest(outputs: Sequence[FloatArray]) -> tuple[float, float]:
        """The least distance of outputs from the scored one, and the largest from each other, relative to all."""
        size = max(float(np.max(np.abs(output), initial=0.0)) for output in (scored.output, *outputs)) or 1.0

        def distance(one: FloatArray, other: FloatArray) -> float:
            return float(np.max(np.abs(one - other), initial=0.0)) / size

        changes = (distance(one, other) for one, other in combinations(outputs, 2))
        return min(distance(scored.output, output) for output in outputs), max(changes)

    outputs = [each.output for each in kept]
    apart, change = nearest(outputs)
    if apart <= allowed(change):
        return
    # A few may lie next to each other by chance, or all on the other side of a switch than the scored one.
    theta = np.asarray(scored.varied, dtype=np.float64)
    inputs = itertools.islice(nearby(theta, task.sampling.perturbation, secrets.randbits(64)), _MORE)
    apart, change = nearest([*outputs, *(run(varied)[0] for varied in inputs)])
    if apart > allowed(change):
        raise SolverFailure(
            Outcome.INVALID,
            f"timed {call.kind}s returned outputs that differ from the scored one by {apart:.2g}, and from each other "
            f"by {change:.2g}",
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
    orders = [np.sort(each.varied) for each in kept]
    if task.learning is not None and all(np.array_equal(orders[0], other) for other in orders[1:]):
        # The samples of a whole batch in another order.
        return
    message = f"{len(kept)} timed {call.kind}s of different inputs returned the same output to the last digit"
    if task.learning is not None:
        # The outputs of a model may be equal by its weights; its gradients are not.
        if call.kind == GRADIENT or np.ptp(near.output) > 0:
            raise SolverFailure(Outcome.INVALID, message)
        return
    for far, output in _computed_far(near.varied, run):
        share = float(np.max(np.abs(kept[1].varied - near.varied)) / np.max(np.abs(far - near.varied)))
        # A state that is zero here may become another one at once, as at a threshold.
        sizes = np.where(near.output == 0.0, np.inf, np.abs(near.output))
        if np.max(share * np.abs(output - near.output) / sizes, initial=0.0) > _SEEN_ROUNDINGS * _rounding(task):
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


def _computed_far(varied: Varied, run: Run) -> list[tuple[Varied, FloatArray]]:
    """Inputs far from another with their outputs, where the solver does not fail."""
    found = list[tuple[Varied, FloatArray]]()
    for _ in range(_FRESH):
        far = _far(varied)
        # Panics of Rust do not derive from Exception.
        with suppress(BaseException):
            found.append((far, run(far)[0]))
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


def _check_processors(task: Task, call: Call, loop: Loop, clock: Clock) -> None:
    """The calls used no more processor time than the planned processors have, to which the worker began pinned."""
    if clock.processors is None or clock.processors > task.threads:
        return
    if loop.busy_ns > _BUSY_SHARE * task.threads * loop.wall_ns + _BUSY_FLOOR_NS:
        raise SolverFailure(
            Outcome.INVALID,
            f"{len(loop.samples)} timed {call.kind}s used {loop.busy_ns / loop.wall_ns:.2g} processors, and "
            f"{task.threads} {'is' if task.threads == 1 else 'are'} planned: threads left the planned ones",
        )


def _check_beside(call: Call, loop: Loop, work: str, times_ns: Sequence[int], again_ns: Callable[[], int]) -> None:
    """The work around a timed call takes less time than the call, or does when it is done again.

    A loop may have one call only, during which the machine did something else.
    """
    if _is_longer(statistics.median(times_ns), loop) and _is_longer(min(again_ns() for _ in range(_FRESH)), loop):
        raise _beside(call, loop, work, statistics.median(times_ns))


def _near(varied: Varied) -> Callable[[], Varied]:
    """Inputs as near to another as roundings, so that work on it which is remembered is done for each."""
    generator = np.random.default_rng()
    return lambda: varied * (1.0 + 1e-12 * generator.uniform(-1.0, 1.0, varied.shape))


def _preparing_ns(call: Call, varied: Varied, clock: Clock) -> int:
    start_ns = clock.now_ns()
    call.prepare(varied)
    return clock.now_ns() - start_ns


def _check_owed(call: Call, loop: Loop, varied: Varied, run: Run, clock: Clock) -> None:
    """No call leaves work to the preparation of the next inputs; calls that run in batches leave it to one of many."""
    if not _is_longer(_preparing_ns(call, varied, clock), loop):
        return
    pairs = [(run(varied)[1], _preparing_ns(call, varied, clock)) for _ in range(_FRESH)]
    if _is_longer(min(prepared for _, prepared in pairs), loop, max(called for called, _ in pairs)):
        raise _beside(call, loop, "preparing the next inputs", statistics.median(prepared for _, prepared in pairs))


def _check_between(call: Call, loop: Loop, varied: Varied, clock: Clock) -> None:
    """No work is done between two calls, nor between a call and the reading of its output."""
    if not _is_longer(loop.beside_ns / len(loop.samples), loop):
        return
    beside_ns: list[int] = []
    for _ in range(_FRESH):
        inputs = call.prepare(varied)
        start_ns = clock.now_ns()
        sample = timed_alone(call, inputs, clock)
        beside_ns.append(clock.now_ns() - start_ns - sample.ns - sample.read_ns)
    if _is_longer(min(beside_ns), loop):
        raise _beside(call, loop, "work between two calls", statistics.median(beside_ns))


def _is_longer(beside_ns: float, loop: Loop, call_ns: float = 0.0) -> bool:
    return beside_ns > max(_BESIDE_FLOOR_NS, _BESIDE_TIMES * max(call_ns, statistics.median(loop.ns)))


def _beside(call: Call, loop: Loop, work: str, beside_ns: float) -> SolverFailure:
    return SolverFailure(
        Outcome.INVALID,
        f"a {call.kind} takes {statistics.median(loop.ns) / 1e6:.3g} ms, and {work} {beside_ns / 1e6:.3g} ms, which is "
        "not timed: what belongs to the call is done in it",
    )
