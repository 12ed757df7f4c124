"""Timed calls: one, or a loop of them, on inputs that vary a little, in the same way for every adapter.

Nothing is cached or folded when theta changes with every call; the sequence of changes depends on the seed, the
point and the kind of call alone, so that all adapters of a block see the same inputs however many calls they make.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sciml_bench.adapters.program import FloatArray, Gradient, Inside, Program, Solution, Varied
from sciml_bench.host.processes.process import Clock
from sciml_bench.measure.answers import Answers
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Point, Sampling, Task

# Reading that takes a millisecond and a twentieth of the call is looked into, and so is shorter reading that takes
# longer than the call itself: a call of microseconds that only dispatches.
_UNBLOCKED_SHARE = 0.05
_UNBLOCKED_FLOOR_NS = 1_000_000
_DISPATCHED_FLOOR_NS = 50_000
_READ_PAIRS = 5

# Calls shorter than this run in batches, their inputs prepared before and their results read after all of them. Work
# between two calls cools the caches for the second: preparing and reading make one of 0.15 ms a tenth longer.
_BATCH_S = 5e-3
_LARGEST_BATCH = 64
_LOOKED_AT = 3


@dataclass(frozen=True)
class Sample:
    """One call: when it started, how long it ran until its output was computed, how long reading that took.

    ``inside`` is the framework's own time of the same call, behind a bridge; ``None`` without a bridge.
    """

    start_ns: int
    ns: int
    read_ns: int
    inside: Inside | None = None


@dataclass(frozen=True)
class Call:
    """A kind of call at one point: ``run`` is timed together with ``synchronise``; ``prepare`` and ``read`` are not.

    ``read`` checks the result and raises :class:`SolverFailure` when there is none; ``inside`` see :class:`Sample`.
    """

    kind: str
    prepare: Callable[[Varied], Any]
    run: Callable[[Any], Any]
    synchronise: Callable[[Any], None]
    read: Callable[[Any], Any]
    inside: Callable[[Any], Inside | None] = lambda _output: None
    #: The numbers of a result.
    numbers: Callable[[Any], FloatArray] = np.asarray


def solve_call(program: Program, task: Task, point: Point) -> Call:
    """The solves of a task at a point."""
    shape = task.output_shape(point)

    def read(output: Any) -> Solution:
        solution = program.read_solution(output)
        _check("solution", np.asarray(solution.ys), shape)
        return solution

    return _call("solve", program.prepare, program, task, point, program.solve, read, lambda solution: solution.ys)


def gradient_call(program: Program, task: Task, point: Point) -> Call:
    """The gradients of a task at a point."""
    size = len(task.numbers.theta)

    def read(output: Any) -> Gradient:
        gradient = program.read_gradient(output)
        _check("gradient", np.asarray(gradient.gradient), (size,))
        _check("loss", np.asarray(gradient.loss), ())
        return gradient

    def numbers(gradient: Gradient) -> FloatArray:
        return np.concatenate([[gradient.loss], np.ravel(gradient.gradient)])

    return _call("gradient", program.prepare_gradient, program, task, point, program.gradient, read, numbers)


def _call(
    kind: str, prepare: Callable[[Any, Point], Any], program: Program, task: Task, point: Point,
    run: Callable[[Any], Any], read: Callable[[Any], Any], numbers: Callable[[Any], FloatArray],
) -> Call:  # fmt: skip
    """A kind of call; its inputs are made of theta, or for a model of the places of its samples."""
    prepare = prepare if task.learning is None else program.prepare_samples

    def prepared(varied: Any) -> Any:
        return prepare(varied, point)

    return Call(kind, prepared, run, program.synchronise, read, program.inside, numbers)


def _check(name: str, values: np.ndarray, shape: tuple[int, ...]) -> None:
    if values.shape != shape:
        raise SolverFailure(Outcome.BUILD_ERROR, f"the {name} has shape {values.shape}, expected {shape}")
    if np.iscomplexobj(values):
        raise SolverFailure(Outcome.BUILD_ERROR, f"the {name} is complex")
    bad = int(values.size - np.count_nonzero(np.isfinite(values)))
    if bad:
        raise SolverFailure(Outcome.NONFINITE, f"the {name} has {bad} of {values.size} values that are not finite")


def timed(call: Call, varied: Varied, clock: Clock) -> tuple[Any, Sample]:
    """Run one call and read its result. Raises what the program raises, and when the clock goes backwards."""
    return _read(call, _run(call, call.prepare(varied), clock), clock)


def timed_alone(call: Call, inputs: Any, clock: Clock) -> Sample:
    """Run one call on prepared inputs, and read its result. Raises what the program raises."""
    return _read(call, _run(call, inputs, clock), clock)[1]


class _Done(NamedTuple):
    """A call that has ended: when it started and ended, and its output, which is to be read."""

    start_ns: int
    end_ns: int
    output: Any


def _run(call: Call, inputs: Any, clock: Clock) -> _Done:
    start_ns = clock.now_ns()
    output = call.run(inputs)
    call.synchronise(output)
    return _Done(start_ns, clock.now_ns(), output)


def _read(call: Call, done: _Done, clock: Clock) -> tuple[Any, Sample]:
    start_ns = clock.now_ns()
    result = call.read(done.output)
    read_ns = clock.now_ns() - start_ns
    ns = done.end_ns - done.start_ns
    if ns < 0 or read_ns < 0:
        raise SolverFailure(
            Outcome.CRASH, f"the clock went back by {-min(ns, read_ns)} ns during a {call.kind}: no time is known"
        )
    return result, Sample(done.start_ns, ns, read_ns, call.inside(done.output))


def varied(theta: FloatArray, perturbation: float, *entropy: int) -> Iterator[FloatArray]:
    """Endless inputs ``theta * (1 + perturbation * u_k)`` with u_k uniform on [-1, 1) per component."""
    generator = np.random.Generator(np.random.PCG64(entropy))
    while True:
        yield theta * (1.0 + perturbation * generator.uniform(-1.0, 1.0, theta.shape))


@dataclass
class Loop:
    """Samples of a loop of calls; ``truncated`` when the time limit cut it before its minimum count.

    ``prepare_ns`` are the times in which its inputs were prepared; ``answers`` are outputs to be checked. Its batches
    took ``wall_ns``, and ``busy_ns`` of processor time. In ``beside_ns`` neither a call ran nor an output was read.
    """

    samples: list[Sample] = field(default_factory=list)
    truncated: bool = False
    prepare_ns: list[int] = field(default_factory=list)
    answers: Answers | None = None
    wall_ns: int = 0
    busy_ns: int = 0
    beside_ns: int = 0

    @classmethod
    def checked(cls) -> Loop:
        """A loop whose outputs are checked after it."""
        return cls(answers=Answers())

    @property
    def answer_bytes(self) -> int:
        """The memory of the outputs to be checked."""
        return sum(each.output.nbytes for each in self.answers.kept) if self.answers else 0

    @property
    def ns(self) -> tuple[int, ...]:
        """The timed part of each call."""
        return tuple(sample.ns for sample in self.samples)

    @property
    def median_prepare_ns(self) -> int | None:
        """The median time in which inputs were prepared; ``None`` before there are any."""
        return round(statistics.median(self.prepare_ns)) if self.prepare_ns else None

    @property
    def inside(self) -> dict[str, tuple[int, ...]] | None:
        """The framework's own times of each call, by name; ``None`` without a bridge."""
        told = [dataclasses.asdict(sample.inside) for sample in self.samples if sample.inside is not None]
        return {name: tuple(one[name] for one in told) for name in told[0]} if told else None

    def fill(
        self,
        call: Call,
        thetas: Iterator[Varied],
        clock: Clock,
        limit_s: float,
        finished: Callable[[int, float], bool],
        between: Callable[[], None] = lambda: None,
        batched: Sampling | None = None,
    ) -> None:
        """Call until ``finished(number of calls, seconds)`` is true, with ``between`` between two calls.

        With the numbers of calls of ``batched``, short ones run in batches and ``between`` is between these. The loop
        stops if one more call as long as the longest would pass the limit. Samples taken before a call raises are
        kept.
        """
        start = clock.now_ns()
        longest_s = 0.0
        elapsed_s = 0.0
        while True:
            count = len(self.samples)
            if finished(count, elapsed_s):
                return
            if count and elapsed_s + longest_s > limit_s:
                self.truncated = True
                return
            if count:
                between()
            self._batch(call, [self._prepared(call, next(thetas), clock) for _ in range(self._size(batched))], clock)
            now_s = (clock.now_ns() - start) / 1e9
            longest_s = max(longest_s, now_s - elapsed_s)
            elapsed_s = now_s

    def _size(self, sampling: Sampling | None) -> int:
        """Return how many calls run in the next batch: one until it is known that they are short, none too many."""
        if sampling is None or not self.samples:
            return 1
        count = len(self.samples)
        wanted = sampling.steady_calls if count < sampling.steady_calls else sampling.max_steady_calls
        longest_ns = max(sample.ns + sample.read_ns for sample in self.samples[-_LOOKED_AT:])
        return max(1, min(int(_BATCH_S * 1e9 / max(1, longest_ns)), _LARGEST_BATCH, wanted - count))

    def _prepared(self, call: Call, varied: Varied, clock: Clock) -> tuple[Varied, Any]:
        start_ns = clock.now_ns()
        inputs = call.prepare(varied)
        self.prepare_ns.append(clock.now_ns() - start_ns)
        return varied, inputs

    def _batch(self, call: Call, inputs: list[tuple[Varied, Any]], clock: Clock) -> None:
        """Run all, then read all; if one raises, the samples before it are kept."""
        done: list[_Done] = []
        first = len(self.samples)
        start_ns, start_busy_ns = clock.now_ns(), clock.busy_ns()
        try:
            for _, item in inputs:
                # A comprehension would lose what ran before an error.
                done.append(_run(call, item, clock))
        finally:
            self.busy_ns += clock.busy_ns() - start_busy_ns
            self.wall_ns += clock.now_ns() - start_ns
            for (varied, _), item in zip(inputs, done, strict=False):
                result, sample = _read(call, item, clock)
                self.samples.append(sample)
                if self.answers is not None:
                    self.answers.offer(varied, result, call.numbers)
            counted_ns = sum(sample.ns + sample.read_ns for sample in self.samples[first:])
            self.beside_ns += clock.now_ns() - start_ns - counted_ns


TRANSFERS = 5
"""As many transfers to and from a device are kept of each loop."""


def preparing_ns(
    call: Call, await_inputs: Callable[[Any], None], thetas: Iterator[Varied], clock: Clock
) -> tuple[int, ...]:
    """Return times in ns in which inputs are prepared on a device; nothing is computed of them."""
    found: list[int] = []
    for _ in range(TRANSFERS):
        start_ns = clock.now_ns()
        await_inputs(call.prepare(next(thetas)))
        found.append(clock.now_ns() - start_ns)
    return tuple(found)


def steady_rule(sampling: Sampling) -> Callable[[int, float], bool]:
    """Both the minimum count and the time are reached, or the maximum count is."""

    def finished(calls: int, seconds: float) -> bool:
        if calls >= sampling.max_steady_calls:
            return True
        return calls >= sampling.steady_calls and seconds >= sampling.steady_s

    return finished


def check_blocking(call: Call, thetas: Iterator[Varied], samples: list[Sample], clock: Clock) -> None:
    """Raise when ``synchronise`` returns before the computation has ended.

    The rest of an unfinished computation is then paid while the result is read. Reading that is long after a call
    but short when the computation had time to end proves it; reading that is always long is only slow reading. Both
    are measured in turn, and every pair must say so: on a busy machine a few readings are long by chance.
    """
    if not samples:
        return
    call_ns = statistics.median(sample.ns for sample in samples)
    read_ns = statistics.median(sample.read_ns for sample in samples)
    long = read_ns >= _UNBLOCKED_FLOOR_NS and read_ns >= _UNBLOCKED_SHARE * call_ns
    if not long and not (read_ns >= _DISPATCHED_FLOOR_NS and read_ns >= call_ns):
        return
    wait_s = 2.0 * (call_ns + read_ns) / 1e9
    pairs: list[tuple[int, int]] = []
    for _ in range(_READ_PAIRS):
        at_once_ns = _read_after_ns(call, next(thetas), 0.0, clock)
        late_ns = _read_after_ns(call, next(thetas), wait_s, clock)
        if late_ns >= 0.5 * at_once_ns:
            return
        pairs.append((at_once_ns, late_ns))
    at_once_ns, late_ns = (statistics.median(side) for side in zip(*pairs, strict=True))
    raise SolverFailure(
        Outcome.BUILD_ERROR,
        f"synchronise() returned before the {call.kind} had ended: reading the result took {at_once_ns / 1e6:.3g} ms "
        f"at once, {late_ns / 1e6:.3g} ms after a wait, in {_READ_PAIRS} pairs of {_READ_PAIRS}. The adapter must "
        "block until the output is computed.",
    )


def _read_after_ns(call: Call, varied: Varied, wait_s: float, clock: Clock) -> int:
    output = call.run(call.prepare(varied))
    call.synchronise(output)
    if wait_s:
        clock.sleep(wait_s)
    start_ns = clock.now_ns()
    call.read(output)
    return clock.now_ns() - start_ns
