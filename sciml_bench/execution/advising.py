"""From one problem to what to take for it: all ways are looked at, and the best of them compete."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sciml_bench.adapters.as_given import NAME as AS_GIVEN
from sciml_bench.adapters.as_given import adapter_of
from sciml_bench.adapters.base import Adapter
from sciml_bench.adapters.registry import adapters
from sciml_bench.adapters.script import script_of
from sciml_bench.analysis.advice import experience, experience_file
from sciml_bench.analysis.advice.call_cost import CallCost, ladder, tolerances
from sciml_bench.analysis.advice.competitors import COUNT, nearest, within_reach
from sciml_bench.analysis.advice.recommendation import Recommendation, recommendation
from sciml_bench.analysis.advice.way import Way
from sciml_bench.analysis.summary import CellSummary, summarise
from sciml_bench.engine.local import LocalEngine
from sciml_bench.errors import ProblemError, UsageError
from sciml_bench.execution.racing import RacingEngine
from sciml_bench.execution.screening import ScreeningEngine
from sciml_bench.execution.session import Session, open_session
from sciml_bench.execution.within import WithinEngine
from sciml_bench.importing.importer import library_of
from sciml_bench.planning.candidates import Candidates, candidates, ranked
from sciml_bench.planning.plan import Plan, make_plan
from sciml_bench.planning.problems import PlannedProblem, entry_named
from sciml_bench.planning.profiles import RACING, SCREENING
from sciml_bench.planning.purpose import RACE, SCREEN, Advised
from sciml_bench.planning.selection import FRAMEWORKS, Selection, check_names
from sciml_bench.planning.settings import Settings
from sciml_bench.planning.written_plan import written_plan
from sciml_bench.record.run_folder import Run
from sciml_bench.record.task import GRADIENT, SOLVERS, Cell, Point
from sciml_bench.stats.race import Race

if TYPE_CHECKING:
    from sciml_bench.references.diagnostics import Character

LOOKING_SHARE = 0.5
"""The part of the time in which all ways are looked at."""

_LADDER = (30.0, 1.0, 1 / 30, 1e-3, 1e-3 / 30, 1e-6)
"""Tolerances at which a way is looked at, in units of the asked accuracy, until one of them is enough."""

TRAINING = "training"
"""The requests other than gradients and solves."""


class Listener:
    """Follows advice while it is found; every method may do nothing."""

    def began(self, stage: str, ways: int, folder: Path) -> None:
        """A stage begins, with this many ways, in a run's folder."""

    def looked(self, cell: Cell, found: CallCost, place: int, total: int) -> None:
        """A way was looked at."""

    def provisional(self, first: Recommendation) -> None:
        """All ways that there was time for were looked at; the first answer is provisional."""

    def raced(self, block: int, left: tuple[Cell, ...]) -> None:
        """A block was run; who left in it."""


@dataclass(frozen=True)
class Found:
    """The answer, and the folders of its runs: the race's last, if there was one."""

    recommendation: Recommendation
    runs: tuple[Run, ...]
    plan: Plan
    interrupted: bool = False

    def script(self, way: Way) -> str:
        """The script of a way, at the tolerance that reached the accuracy.

        Raises:
            UsageError: there is none for its adapter, or for this kind of problem.
        """
        rtol = way.rtol or self.recommendation.advised.accuracy
        task = self.plan.task_factory.task(way.cell, block=0)
        return script_of(self.plan.adapters[way.cell.adapter], task, Point(rtol=rtol, atol=rtol))

    def first_script(self) -> tuple[Way | None, str, str]:
        """The cheapest way that has a script, its script, and why the cheapest way has none; ``None`` if no way has.

        The reason is empty if the cheapest way has one.
        """
        why = ""
        for way in self.recommendation.ways:
            try:
                return way, self.script(way), why
            except UsageError as error:
                why = why or str(error)
        return None, "", why


@dataclass(frozen=True)
class Asked:
    """A question: a problem, and the advice that is wanted within ``within_s``.

    ``names`` are the adapters to choose from, all if there are none. ``given`` is the function that the problem was
    written from, ``FILE.py:NAME``: it competes as it is.
    """

    entry: PlannedProblem
    advised: Advised
    within_s: float
    names: tuple[str, ...] = ()
    out: Path = Path("results")
    command: str = ""
    given: str = ""

    @classmethod
    def about(
        cls,
        problem: str,
        call: str = GRADIENT,
        *,
        count: int | None = None,
        accuracy: float = 1e-6,
        within_s: float = 600.0,
        names: Iterable[str] = (),
        out: Path = Path("results"),
        command: str = "",
        given: str = "",
    ) -> Asked:
        """A question about a problem of the catalog, or a problem file; names may be names of frameworks.

        A ``call`` of :data:`TRAINING` asks for as many gradients as a training of the problem has steps.

        Raises:
            UsageError: the catalog has no such problem, it is a model of the conventional track, a name is unknown, or
                nothing says how long a training is.
            ProblemError: the file is wrong.
        """
        entry = entry_named(problem)
        if entry.track != SOLVERS:
            raise UsageError(f"{entry.name} is a model; advice is on equations. `sciml-bench run` measures models")
        if call == TRAINING:
            steps = count or (entry.training and entry.training.steps)
            if steps is None:
                raise UsageError(f"{entry.name} has no [training] that says how many steps: add it, or give --count")
            call, count = GRADIENT, steps
        chosen = tuple(name for word in names for name in FRAMEWORKS.get(word, (word,)))
        check_names("adapter", chosen, adapters(chosen), "sciml-bench list adapters")
        chosen = (*chosen, AS_GIVEN) if chosen and given else chosen
        return cls(entry, Advised(SCREEN, call, count or COUNT, accuracy), within_s, chosen, out, command, given)

    @property
    def adapters(self) -> dict[str, Adapter]:
        """The adapters that are installed, and the function as it was given."""
        if not self.given:
            return adapters(self.names)
        path, _, name = self.given.rpartition(":")
        return {**adapters(self.names), AS_GIVEN: adapter_of(path, name, library_of(self.given))}

    @cached_property
    def character(self) -> Character:
        """The observations about the problem."""
        from sciml_bench.references.diagnostics import character

        return character(self.entry.problem)

    @property
    def doubts(self) -> Iterator[str]:
        """Observations about the problem, and whether double precision can have the requested accuracy."""
        found = self.character
        yield from found.lines
        if found.digits is not None and found.growth is not None and found.digits < self.advised.digits:
            yield (
                f"A relative error of {self.advised.accuracy:.1g} is more than double precision has of it: "
                f"perturbations grow {found.growth:.2g}-fold. Ask for {10.0 ** (1 - found.digits):.0e} at most."
            )


def advise(asked: Asked, listener: Listener | None = None, now: Callable[[], float] = time.monotonic) -> Found:
    """Look at all ways of a problem, let the best compete, and say what to take.

    Raises:
        UsageError: nothing in the request can run here.
        ProblemError: the problem file is wrong.
        StoreError: the folder cannot be written.
    """
    start_s, listener = now(), listener or Listener()
    entry, known = asked.entry, asked.adapters
    if asked.character.undefined:
        raise ProblemError(next(asked.character.lines), where=entry.path)
    found = candidates(entry, known, asked.names)
    tiers = ranked(found, entry, known, asked.advised.call)
    if not tiers:
        raise UsageError(f"nothing can run {entry.name} here. {_why_nothing(found)}")
    order = _turns(asked, tiers)
    looking = _opened(asked, known, tuple(order), {}, SCREEN)
    listener.began(SCREEN, len(tiers), looking.run.folder)
    until_s = start_s + LOOKING_SHARE * asked.within_s
    looking.plan.task_factory.prepare([entry.name])
    engine = ScreeningEngine(
        asked.advised,
        order,
        until_s,
        looking.run.environment_hash,
        told=listener.looked,
        alone=lambda cell: cell.mode in known[cell.adapter].reusing_modes,
        named=asked.names,
        unhurried=(AS_GIVEN,),
        now=now,
    )
    looking.carry_out(engine=engine)
    screened = _cells(looking)
    if not looking.interrupted:
        asked = replace(asked, advised=within_reach(screened, asked.advised))
    first = recommendation(entry.name, asked.advised, screened, found=found)
    best = nearest(screened, asked.advised)
    if looking.interrupted or not best:
        return Found(first, (looking.run,), looking.plan, looking.interrupted)
    listener.provisional(first)
    racing = _opened(asked, known, tuple(item.cell for item in best), _points(best, asked.advised), RACE)
    racing.plan.task_factory.share(looking.plan.task_factory)
    listener.began(RACE, len(best), racing.run.folder)
    race = Race(tuple(item.cell for item in best))
    inner = WithinEngine(LocalEngine(racing.run.environment_hash), start_s + asked.within_s, now)
    racing.carry_out(engine=RacingEngine(inner, race, asked.advised, told=listener.raced))
    answer = recommendation(entry.name, asked.advised, screened, _cells(racing), found)
    return Found(answer, (looking.run, racing.run), looking.plan, racing.interrupted)


def _turns(asked: Asked, tiers: Mapping[Cell, int]) -> dict[Cell, float]:
    """Return the order in which ways are tried: by the rules, and by the cost of gradients on similar problems."""
    learnt = experience_file.shipped() if asked.advised.call == GRADIENT else []
    features = experience.Features.of(asked.entry.facts)
    return experience.turns(tiers, features, learnt, digits=asked.advised.digits, gradients=asked.advised.count)


def _opened(
    asked: Asked,
    known: Mapping[str, Adapter],
    cells: tuple[Cell, ...],
    points: Mapping[str, tuple[Point, ...]],
    stage: str,
) -> Session:
    advised = replace(asked.advised, stage=stage, points=points)
    plan = _plan(asked, known, cells, advised)
    name = f"advise-{stage}_{plan.entries[0].name}"
    return open_session(plan, asked.out, name, resume=False, command=asked.command)


def _plan(asked: Asked, known: Mapping[str, Adapter], cells: tuple[Cell, ...], advised: Advised) -> Plan:
    selection = Selection(cells=tuple(cell.label for cell in cells))
    rtols = tuple(point.rtol for point in ladder(*(factor * advised.accuracy for factor in _LADDER)))
    profile = replace(SCREENING if advised.stage == SCREEN else RACING, rtols=rtols)
    return make_plan(selection, known, profile, Settings(), chosen=(asked.entry,), advised=advised)


def _cells(session: Session) -> list[CellSummary]:
    summary = summarise(written_plan(session.run), session.run.records(on_damage=lambda _: None))
    return list(summary.cells.values())


def _points(best: list[CellSummary], advised: Advised) -> dict[str, tuple[Point, ...]]:
    return {item.cell.label: tolerances(item.processes[0], advised.call, advised.digits) for item in best}


def _why_nothing(found: Candidates) -> str:
    reasons = [*dict.fromkeys(found.absent.values()), *dict.fromkeys(found.refused.values())]
    return "; ".join(reasons[:4])
