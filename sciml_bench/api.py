"""The suite for programs and notebooks: plan, run, load, analyse, compare, report.

>>> from sciml_bench import api
>>> plan = api.plan("lotka-volterra", adapters=["scipy"], profile="smoke")
>>> run = api.run(plan, out=folder)
>>> fast = run.cells["gradient_s"] < 1.0
>>> set(run.cells["adapter"][fast])
{'scipy'}
>>> chart, *_ = run.charts("work-precision")
>>> chart.save(folder / "work-precision.png")
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sciml_bench.errors import EngineError as EngineError
from sciml_bench.errors import ProblemError as ProblemError
from sciml_bench.errors import SciMLBenchError as SciMLBenchError
from sciml_bench.errors import StoreError as StoreError
from sciml_bench.errors import UsageError as UsageError

if TYPE_CHECKING:
    from sciml_bench.analysis.analysis import Analysis
    from sciml_bench.analysis.comparison.compare import Comparison
    from sciml_bench.charts.chart import Chart
    from sciml_bench.export.frame import Frame
    from sciml_bench.models.model import Model
    from sciml_bench.plan.plan import Plan
    from sciml_bench.problem.model import Problem
    from sciml_bench.record.record import Record
    from sciml_bench.record.run_folder import Run as Folder
    from sciml_bench.run.finished import Finished
    from sciml_bench.verify.verify import Verification

__all__ = (
    "EngineError",
    "ProblemError",
    "Run",
    "SciMLBenchError",
    "StoreError",
    "UsageError",
    "analyse",
    "compare",
    "list",
    "load",
    "plan",
    "problem",
    "report",
    "run",
)

RESULTS = Path("results")
"""The folder of runs, unless another one is named."""

Words = Iterable[str]


class Run:
    """A run in its folder: what was planned, what was measured, and what that says.

    Everything is read when it is first asked for, and kept; :func:`load` the folder again to see later records.
    """

    def __init__(self, folder: Folder):
        self._run = folder

    @property
    def folder(self) -> Path:
        """Where it is."""
        return self._run.folder

    @property
    def plan(self) -> Mapping[str, Any]:
        """The plan as it was written: profile, settings, problems, cells, and what was skipped with the reasons."""
        return self._run.plan

    @property
    def environment(self) -> Mapping[str, Any]:
        """Machine and software."""
        return self._run.environment

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """What every process left, in the order of the file; lines that hold no record are logged and left out."""
        return tuple(self._run.records())

    @cached_property
    def analysis(self) -> Analysis:
        """What the records say: rows, rankings with intervals, advice, failures."""
        from sciml_bench.analysis.analysis import Analysis
        from sciml_bench.analysis.summary import summarise

        return Analysis(summarise(self.plan, self.records), self.folder)

    @cached_property
    def cells(self) -> Frame:
        """A row for each cell of each table: times in seconds, errors, memory in bytes, verdicts."""
        from sciml_bench.export.cells import COLUMNS, cell_rows
        from sciml_bench.export.frame import Frame

        return Frame(COLUMNS, cell_rows(self.analysis))

    @cached_property
    def samples(self) -> Frame:
        """A row for each call that was timed, in seconds."""
        from sciml_bench.export.frame import Frame
        from sciml_bench.export.samples import COLUMNS, sample_rows

        return Frame(COLUMNS, sample_rows(self._run, lambda _: None))

    def charts(self, kind: str = "work-precision", problem: str | None = None) -> Sequence[Chart]:
        """The charts of a kind, of one problem or of all; none where there is nothing to draw.

        A chart shows itself in a notebook; ``chart.save(path)`` writes PNG, SVG or PDF, ``chart.rows`` are its data.

        Raises:
            UsageError: there is no such kind, or no such problem in the run.
        """
        from sciml_bench.charts.kinds import charts

        return charts(self.analysis.summary, kind, problem)

    def verify(self) -> Verification:
        """Whether it was measured by the rules: ``verify().valid``, and each breach with its rule."""
        from sciml_bench.verify.verify import verify_run

        return verify_run(self._run)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def _repr_html_(self) -> str:
        """Its tables, for notebooks."""
        from sciml_bench.render.html.notebook import run_html

        return run_html(self.analysis)


def plan(
    *what: str | Path,
    profile: str = "quick",
    adapters: Words = (),
    methods: Words = (),
    sensitivities: Words = (),
    modes: Words = (),
    savings: Words = (),
    keyword: str = "",
    rtols: Sequence[float] = (),
    threads: int = 1,
    seed: int = 0,
    timeout_s: float | None = None,
    memory_limit_bytes: int | None = None,
    out: Path | str = RESULTS,
) -> Plan:
    """What would be measured, in which order, at what cost, and what is skipped and why. Starts nothing.

    ``what`` are names of suites, names of problems of the catalog, and paths of problem files (``.toml``); nothing
    stands for the whole catalog. The other words select as the options of ``sciml-bench run`` do. Costs are those of
    the newest run below ``out`` with the same profile, else estimates: ``plan.cost_s()``.

    >>> made = api.plan("stiff", adapters=["scipy"], profile="smoke")
    >>> made.profile.name, made.cost_s() > 0, sorted({item.cell.adapter for item in made.planned})
    ('smoke', True, ['scipy'])

    Raises:
        UsageError: a name is unknown, or nothing that is asked for is installed.
        ProblemError: a problem file is wrong.
    """
    from sciml_bench.plan.selection import Selection
    from sciml_bench.problem import catalog
    from sciml_bench.run.planning import planned

    files = tuple(Path(word) for word in what if isinstance(word, Path) or str(word).endswith(".toml"))
    names = tuple(str(word) for word in what if not (isinstance(word, Path) or str(word).endswith(".toml")))
    suites = tuple(name for name in names if name in catalog.suites())
    selection = Selection(
        suites=suites,
        problems=tuple(name for name in names if name not in suites),
        adapters=_words(adapters),
        methods=_words(methods),
        sensitivities=_words(sensitivities),
        modes=_words(modes),
        savings=_words(savings),
        keyword=keyword,
    )
    return planned(
        selection,
        files,
        profile=profile,
        out=Path(out),
        timeout_s=timeout_s,
        memory_limit=memory_limit_bytes,
        threads=threads,
        seed=seed,
        rtols=tuple(rtols),
    )


def run(
    plan: Plan,
    out: Path | str = RESULTS,
    *,
    name: str = "",
    resume: bool | None = None,
    wait: bool = False,
    progress: Callable[[Finished], object] | None = None,
) -> Run:
    """Carry out a plan here, each cell in fresh processes, and return the run.

    An unfinished run of the same plan below ``out`` is continued, unless ``resume`` says ``False``; with ``True``
    there must be one. ``progress`` is called after each process, for example ``progress=print``; without it nothing is
    printed. An interruption (``KeyboardInterrupt``) keeps what was measured, and the same call continues it.

    Raises:
        UsageError: the plan is empty, or there is nothing to resume.
        EngineError: another benchmark runs on this host; ``wait`` waits for it.
        StoreError: the folder cannot be written.
    """
    from sciml_bench.host.lock import host_lock
    from sciml_bench.run.finished import Following
    from sciml_bench.run.session import open_session

    if not plan.planned:
        reasons = dict.fromkeys(item.reason for item in plan.skipped)
        raise UsageError(f"nothing is selected. {'; '.join(reasons) or 'No cell matches.'}")
    name = name or f"api_{plan.profile.name}"
    with host_lock(label=f"api.run, {name}", wait_s=None if wait else 0.0):
        session = open_session(plan, Path(out), name, resume=resume, command="sciml_bench.api.run")
        session.carry_out(None if progress is None else Following(progress))
    if session.interrupted:
        raise KeyboardInterrupt(f"what was measured is in {session.run.folder}; the same call continues it")
    return Run(session.run)


def load(name: Path | str | None = None, out: Path | str = RESULTS) -> Run:
    """A run from its folder, by its name below ``out``, or the newest one there.

    >>> api.load(run.folder).folder == run.folder
    True

    Raises:
        UsageError: there is no run yet.
        StoreError: the folder is not a run, or its plan cannot be read.
    """
    from sciml_bench.record.run_folder import find_run

    found = find_run(name, Path(out))
    _ = found.plan
    return Run(found)


def analyse(run: Run | Path | str) -> Analysis:
    """What a run says: see :class:`~sciml_bench.analysis.analysis.Analysis`.

    >>> api.analyse(run).why_not_comparable
    'profile smoke runs one process per cell; use quick or more'
    """
    return _run(run).analysis


def compare(
    base: Run | Path | str,
    new: Run | Path | str | None = None,
    *,
    of: str | None = None,
    others: str | None = None,
    repeated: Iterable[Run | Path | str] = (),
    keyword: str = "",
    band: float | None = None,
    each_tolerance: bool = False,
) -> Comparison:
    """Two runs, or with ``of`` and ``others`` two selections of cells of one run, in four verdicts at equal accuracy.

    ``of``, ``others`` and ``keyword`` are expressions as in ``pytest -k``. Ratios within ``band`` (5 %) of 1 count as
    the same. ``repeated`` are runs that repeat one of two with the same software. ``comparison.lines`` are its lines.

    Raises:
        UsageError: both or none of the two forms are asked for, or what is given cannot be compared, with the reason.
    """
    from sciml_bench.analysis.comparison.checked import BAND, between_runs, within_run

    width = BAND if band is None else band
    if (new is None) != (of is not None and others is not None) or (of is None) != (others is None):
        raise UsageError("give two runs, or one run with both of= and others=")
    if new is None:
        found = within_run(_run(base)._run, str(of), str(others), keyword=keyword, band=width)
    else:
        found = between_runs(
            _run(base)._run,
            _run(new)._run,
            repeated=[_run(each)._run for each in repeated],
            keyword=keyword,
            band=width,
            each_tolerance=each_tolerance,
        )
    if found is None:
        raise UsageError("nothing to compare: no cell matches on both sides")
    return found


def report(
    runs: Run | Path | str | Sequence[Run | Path | str],
    path: Path | str = "report.html",
    *,
    progress: Callable[[str], None] | None = None,
    processes: int = 1,
) -> Path:
    """Write the page of runs, one HTML file that needs no network; of several the others are compared with the first.

    Large runs are read and drawn by so many ``processes``.

    >>> api.report(run, folder / "report.html").name
    'report.html'

    Raises:
        StoreError: a run cannot be read, or the file cannot be written.
    """
    from sciml_bench.record.lines import store_error, write_whole
    from sciml_bench.render.html.page import report as page

    chosen = [runs] if isinstance(runs, Run | Path | str) else runs
    folders = [_run(each)._run for each in chosen]
    text = page(folders, datetime.datetime.now(datetime.UTC), progress or (lambda _: None), processes)
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise store_error("create", target.parent, error) from error
    write_whole(target, text)
    return target


def problem(name: Path | str) -> Problem | Model:
    """A problem of the catalog by its name, or that of a file: checked, with its equations as SymPy expressions.

    >>> robertson = api.problem("robertson")
    >>> robertson.title, [state.name for state in robertson.states]
    ('Robertson: autocatalytic reaction of three species', ['y1', 'y2', 'y3'])

    Raises:
        UsageError: the catalog has no such problem.
        ProblemError: the file is wrong; the message names the line.
    """
    from sciml_bench.models.load import load_declared
    from sciml_bench.problem import catalog

    is_file = isinstance(name, Path) or str(name).endswith(".toml")
    return load_declared(Path(name) if is_file else catalog.path(str(name)))


def list(
    what: Literal["problems", "suites", "adapters", "runs"],
    *,
    suites: Words = (),
    out: Path | str = RESULTS,
) -> Sequence[Mapping[str, Any]]:
    """Problems of the catalog, of some ``suites`` or of all; suites; adapters and what they can do; runs below ``out``.

    >>> [row["suite"] for row in api.list("suites")]
    ['conventional', 'neural', 'nonstiff', 'pde', 'stiff']

    Raises:
        UsageError: there is no such list, or no such suite.
    """
    from sciml_bench.plan import listing

    makers: Mapping[str, Callable[[], Sequence[Mapping[str, Any]]]] = {
        "problems": lambda: listing.problems(_words(suites)),
        "suites": listing.suites,
        "adapters": listing.adapters,
        "runs": lambda: listing.runs(Path(out)),
    }
    if what not in makers:
        raise UsageError(f"unknown list '{what}'; there are {', '.join(makers)}")
    return makers[what]()


def _run(of: Run | Path | str) -> Run:
    return of if isinstance(of, Run) else load(of)


def _words(names: Words) -> tuple[str, ...]:
    """Names; one alone may stand for itself."""
    return (names,) if isinstance(names, str) else tuple(names)
