"""All ways of a problem, looked at in one process for each framework, the most promising first, until time is up."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace

from sciml_bench.analysis.advice.call_cost import CallCost, call_cost
from sciml_bench.analysis.advice.competitors import NEAR
from sciml_bench.analysis.process_summary import reduce_record
from sciml_bench.engine.interface import EventCallback, JobMeasured, OneByOne, UnitEnded
from sciml_bench.engine.limits import Limits
from sciml_bench.engine.shared_worker import SharedWorker
from sciml_bench.engine.unit import Unit
from sciml_bench.planning.purpose import Advised
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record
from sciml_bench.record.task import GRADIENT, Cell

OUT_OF_TIME = "time was up before all ways were tried"
SETTLED = "the last ways that were looked at all cost far more than the best one"

_IN_A_ROW = 12
"""Screening ends after this many ways in a row that cost more than :data:`NEAR` times the best."""

_UNSEEN = 0.5
"""The turn at which the first way of a library that was not tried yet comes at the latest."""

_OF_METHOD = (Outcome.MAX_STEPS.value, Outcome.STEP_UNDERFLOW.value)
_OF_MODE = (Outcome.TIMEOUT.value, Outcome.BUILD_ERROR.value)
"""Failures that other kinds of gradient share: for all modes of the method, or for one mode."""

_FAILED = 2.0
"""The decades by which the other kinds of gradient of a method that failed fall back."""

_WRONG = (Outcome.INACCURATE.value, Outcome.NONFINITE.value)
_OF_GRADIENT = ("the gradient", "d loss / d log")
"""Outcomes and words of a wrong gradient: another kind of the same method may well work."""

_FIX = 1.0
"""The decades by which the other kinds come forward; the same kind in other modes falls back by :data:`_FAILED`."""

_LEAST_LIMIT_S = 4.0
"""A phase may always take this long, whatever the best way takes: the machine may have been busy."""

Workers = Callable[[Limits], SharedWorker]


class Order:
    """The next way to screen, by the results so far.

    ``turns`` says how early each way is to be tried, lower ones first, in decades of its expected cost. A library
    falls back by a decade for every factor of ten that its best way so far costs over the best of all, and a method
    that got nowhere by two, since all kinds of gradient share the integrator, one that took too long by two in that
    mode. If a gradient is wrong, the other kinds of that method come forward by a decade, unless all kinds of a method
    of that library were wrong. Every library has an early turn once. In ``named`` libraries screening continues until
    something works.
    """

    def __init__(self, advised: Advised, turns: Mapping[Cell, float], named: Collection[str] = ()):
        self._advised, self._turns = advised, turns
        self._place = {cell: place for place, cell in enumerate(turns)}
        self._unseen = {cell.adapter for cell in turns}
        self._named = [name for name in named if name in self._unseen]
        self._left = Counter(cell.adapter for cell in turns)
        self._totals: dict[str, float] = {}
        self._failed: set[tuple[str, ...]] = set()
        self._kinds: dict[tuple[str, str], set[str]] = {}
        for cell in turns:
            self._kinds.setdefault((cell.adapter, cell.method), set()).add(cell.sensitivity)
        self._wrong: dict[tuple[str, str], set[str]] = {}
        self._beyond_fix: set[str] = set()
        self._far = 0

    @property
    def settled(self) -> bool:
        """Return whether every library was tried, and the last ways were all far from the best."""
        broken = any(self._left[name] and name not in self._totals for name in self._named)
        return not self._unseen and not broken and bool(self._totals) and self._far >= _IN_A_ROW

    def next(self, left: Iterable[Cell]) -> Cell:
        """Of the ways that are left the one to try now."""

        def turn(cell: Cell) -> tuple[float, int]:
            if cell.adapter in self._unseen:
                return min(self._turns[cell], _UNSEEN), self._place[cell]
            return self._turns[cell] + self._behind(cell), self._place[cell]

        return min(left, key=turn)

    def _behind(self, cell: Cell) -> float:
        """The decades by which a way falls back because of results for its library and its method."""
        keys = {(cell.adapter, cell.method), (cell.adapter, cell.method, cell.mode)}
        failed = _FAILED if keys & self._failed else 0.0
        if wrong := self._wrong.get((cell.adapter, cell.method)):
            failed += _FAILED if cell.sensitivity in wrong else -_FIX if cell.adapter not in self._beyond_fix else 0.0
        if cell.adapter not in self._totals:
            return failed
        return failed + math.log10(self._totals[cell.adapter] / min(self._totals.values()))

    def _is_wrong(self, reason: str) -> bool:
        of_gradient = any(words in reason for words in _OF_GRADIENT)
        return self._advised.call == GRADIENT and reason.startswith(_WRONG) and of_gradient

    def limit_s(self, most_s: float) -> float:
        """The time limit of a phase: far more than the best way takes for all calls is too long."""
        best_s = min(self._totals.values(), default=math.inf)
        return round(min(most_s, max(_LEAST_LIMIT_S, NEAR * best_s)), 1)

    def most_call_s(self) -> float | None:
        """The time that a call may take: if all together take far more than the best way, that is enough to know."""
        best_s = min(self._totals.values(), default=None)
        return None if best_s is None else NEAR * best_s / self._advised.count

    def keep(self, cell: Cell, found: CallCost) -> None:
        """Learn what a way costs."""
        self._unseen.discard(cell.adapter)
        self._left[cell.adapter] -= 1
        best_s = min(self._totals.values(), default=math.inf)
        total_s = math.inf if found.cost is None else found.cost.total_s(self._advised.count)
        wrong = found.cost is None and self._is_wrong(found.reason)
        if total_s <= NEAR * best_s and total_s < math.inf:
            self._far = 0
        elif not wrong or cell.adapter in self._beyond_fix:
            self._far += 1
        if found.cost is None and found.reason.startswith(_OF_METHOD):
            self._failed.add((cell.adapter, cell.method))
        if found.cost is None and found.reason.startswith(_OF_MODE):
            self._failed.add((cell.adapter, cell.method, cell.mode))
        if wrong:
            tried = self._wrong.setdefault((cell.adapter, cell.method), set())
            tried.add(cell.sensitivity)
            if tried == self._kinds[cell.adapter, cell.method] and len(tried) > 1:
                self._beyond_fix.add(cell.adapter)
        if found.cost is not None:
            self._wrong.pop((cell.adapter, cell.method), None)
            self._totals[cell.adapter] = min(total_s, self._totals.get(cell.adapter, total_s))


class ScreeningEngine(OneByOne):
    """Carries out a unit in shared processes, in the order of ``turns``, until that is settled or ``until_s`` is up.

    A way that takes longer to its first call than the best one for all calls, with a margin, is ended. ``told`` is
    called with each way and its cost. A way that must be ``alone`` has a separate process. Ways in ``unhurried``
    libraries are measured in full, however slow they are.
    """

    name = "screen"

    def __init__(
        self,
        advised: Advised,
        turns: Mapping[Cell, float],
        until_s: float,
        environment_hash: str,
        *,
        told: Callable[[Cell, CallCost, int, int], None] = lambda *_: None,
        alone: Callable[[Cell], bool] = lambda _: False,
        named: Collection[str] = (),
        unhurried: Collection[str] = (),
        workers: Workers = SharedWorker,
        now: Callable[[], float] = time.monotonic,
    ):
        super().__init__()
        self._advised, self._order, self._until_s = advised, Order(advised, turns, named), until_s
        self._environment_hash, self._told, self._start, self._now = environment_hash, told, workers, now
        self._alone, self._unhurried = alone, unhurried

    def carry_out(self, unit: Unit, on: EventCallback) -> None:
        left = {job.task.cell: job for job in unit.jobs}
        with ExitStack() as stack:
            workers: dict[str, SharedWorker] = {}
            while left and not self._order.settled and self._now() < self._until_s:
                cell = self._order.next(left)
                job = left.pop(cell)
                if cell.adapter not in workers:
                    workers[cell.adapter] = stack.enter_context(self._start(unit.limits))
                hurry = cell.adapter not in self._unhurried
                task = replace(job.task, most_call_s=self._order.most_call_s()) if hurry else job.task
                limit_s = self._order.limit_s(unit.timeout_s) if hurry else unit.timeout_s
                measured = workers[cell.adapter].measure(task, limit_s, alone=self._alone(cell))
                record = Record.of(measured, task, job.placement, self._environment_hash)
                on(JobMeasured(unit, record))
                found = call_cost(reduce_record(record), self._advised.call, self._advised.digits)
                self._order.keep(cell, found)
                self._told(cell, found, len(unit.jobs) - len(left), len(unit.jobs))
        on(UnitEnded(unit, "" if not left else SETTLED if self._order.settled else OUT_OF_TIME))
