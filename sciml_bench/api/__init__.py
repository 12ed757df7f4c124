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
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sciml_bench.api.carrying_out import carried_out, words
from sciml_bench.api.host_checks import doctor, selftest
from sciml_bench.api.published_claims import claims, list_claims, run_claims
from sciml_bench.api.references import check_reference, compute_reference, reference
from sciml_bench.api.scaling import scale
from sciml_bench.api.stored_run import RESULTS, Run
from sciml_bench.errors import EngineError as EngineError
from sciml_bench.errors import ProblemError as ProblemError
from sciml_bench.errors import SciMLBenchError as SciMLBenchError
from sciml_bench.errors import StoreError as StoreError
from sciml_bench.errors import UsageError as UsageError

if TYPE_CHECKING:
    from sciml_bench.analysis.analysis import Analysis
    from sciml_bench.analysis.comparison.compare import Comparison
    from sciml_bench.execution.advising import Found, Listener
    from sciml_bench.execution.finished import Finished
    from sciml_bench.models.model import Model
    from sciml_bench.planning.plan import Plan
    from sciml_bench.spec.model import Problem
    from sciml_bench.verification.verify import Verification

__all__ = (
    "EngineError",
    "ProblemError",
    "Run",
    "SciMLBenchError",
    "StoreError",
    "UsageError",
    "advise",
    "analyse",
    "check_reference",
    "claims",
    "compare",
    "compute_reference",
    "doctor",
    "list",
    "load",
    "plan",
    "problem",
    "reference",
    "report",
    "run",
    "run_claims",
    "scale",
    "selftest",
    "verify",
    "write_problem",
)


def advise(
    problem: Path | str,
    *,
    within_s: float = 600.0,
    call: Literal["gradient", "solve", "training"] = "gradient",
    count: int | None = None,
    accuracy: float = 1e-6,
    adapters: Iterable[str] = (),
    out: Path | str = RESULTS,
    wait: bool = False,
    listener: Listener | None = None,
) -> Found:
    """Find the cheapest way to make ``count`` gradients, or solves, of a problem at a relative error of ``accuracy``.

    ``count`` is 1000 by default, and the number of steps for a training.

    ``problem`` is a name of the catalog or a problem file. All ways are tried, and the best compete, in about
    ``within_s`` seconds. ``found.recommendation.sentences`` is the answer in words, ``found.recommendation.ways`` are
    all ways with a time, the best one first, and ``found.script(way)`` returns a way as a self-contained script.
    ``listener`` follows the progress, see :class:`~sciml_bench.execution.advising.Listener`.

    >>> found = api.advise("lotka-volterra", within_s=300)  # doctest: +SKIP
    >>> print(*found.recommendation.sentences)  # doctest: +SKIP

    Raises:
        UsageError: there is no such problem or adapter, or nothing can run it here.
        ProblemError: the problem file is wrong.
        EngineError: another benchmark runs on this host; ``wait`` waits for it.
    """
    from sciml_bench.execution.advising import Asked
    from sciml_bench.execution.advising import advise as find
    from sciml_bench.host.lock import host_lock

    asked = Asked.about(
        str(problem),
        call,
        count=count,
        accuracy=accuracy,
        within_s=within_s,
        names=words(adapters),
        out=Path(out),
        command="sciml_bench.api.advise",
    )
    with host_lock(label=f"api.advise, {problem}", wait_s=None if wait else 0.0):
        return find(asked, listener)


def plan(
    *what: str | Path,
    profile: str = "quick",
    adapters: Iterable[str] = (),
    methods: Iterable[str] = (),
    sensitivities: Iterable[str] = (),
    modes: Iterable[str] = (),
    savings: Iterable[str] = (),
    precisions: Iterable[str] = (),
    devices: Iterable[str] = (),
    keyword: str = "",
    rtols: Sequence[float] = (),
    threads: int = 1,
    seed: int = 0,
    timeout_s: float | None = None,
    memory_limit_bytes: int | None = None,
    out: Path | str = RESULTS,
) -> Plan:
    """Plan a run: its cells, their order and cost, and the reason for each skipped cell. Starts nothing.

    ``what`` are names of suites, names of problems of the catalog, and paths of problem files (``.toml``), by default
    the whole catalog. The other arguments select like the options of ``sciml-bench run``. ``plan.cost_s()`` is taken
    from the newest run below ``out`` with the same profile, or estimated.

    >>> made = api.plan("stiff", adapters=["scipy"], profile="smoke")
    >>> made.profile.name, made.cost_s() > 0, sorted({item.cell.adapter for item in made.planned})
    ('smoke', True, ['scipy'])

    Raises:
        UsageError: a name is unknown, or no selected framework is installed.
        ProblemError: a problem file is wrong.
    """
    from sciml_bench.execution.planning import planned
    from sciml_bench.planning.selection import Selection

    selection, files = Selection(
        adapters=words(adapters),
        methods=words(methods),
        sensitivities=words(sensitivities),
        modes=words(modes),
        savings=words(savings),
        precisions=words(precisions),
        devices=words(devices),
        keyword=keyword,
    ).naming(what)
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

    An unfinished run of the same plan below ``out`` is resumed, unless ``resume`` is ``False``; with ``True`` there
    must be one. ``progress`` is called after each process, for example ``progress=print``; without it nothing is
    printed. An interruption (``KeyboardInterrupt``) keeps all measurements, and the same call resumes the run.

    Raises:
        UsageError: the plan is empty, or there is nothing to resume.
        EngineError: another benchmark runs on this host; ``wait`` waits for it.
        StoreError: the folder cannot be written.
    """
    name = name or f"api_{plan.profile.name}"
    return carried_out(plan, Path(out), name, "api.run", resume=resume, wait=wait, progress=progress)


def load(name: Path | str | None = None, out: Path | str = RESULTS) -> Run:
    """Load a run from its folder, by its name below ``out``, or the newest one there.

    >>> api.load(run.folder).folder == run.folder
    True

    Raises:
        UsageError: there is no run yet.
        StoreError: the folder does not hold a run, or its plan cannot be read.
    """
    from sciml_bench.planning.written_plan import written_plan
    from sciml_bench.record.run_folder import find_run

    found = find_run(name, Path(out))
    written_plan(found)
    return Run(found)


def verify(run: Run | Path | str) -> Verification:
    """Check a run against the rules of measurement: ``found.valid``, and each violation with its rule.

    >>> api.verify(run).valid
    True

    Raises:
        StoreError: the folder does not hold a run.
    """
    return _run(run).verify()


def analyse(run: Run | Path | str) -> Analysis:
    """Analyse a run: see :class:`~sciml_bench.analysis.analysis.Analysis`.

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
    """Compare two runs, or two selections of cells of one run (``of`` and ``others``), at equal accuracy.

    ``of``, ``others`` and ``keyword`` are expressions as in ``pytest -k``. Ratios within ``band`` (5 %) of 1 count as
    the same. ``repeated`` are runs that repeat one of two with the same software. ``comparison.lines`` are its lines.

    Raises:
        UsageError: not exactly one of the two forms is used, or the sides cannot be compared, with the reason.
    """
    from sciml_bench.analysis.comparison.checked import BAND, between_runs, within_run

    width = BAND if band is None else band
    if (new is None) != (of is not None and others is not None) or (of is None) != (others is None):
        raise UsageError("give two runs, or one run with both of= and others=")
    if new is None:
        found = within_run(_run(base).stored, str(of), str(others), keyword=keyword, band=width)
    else:
        found = between_runs(
            _run(base).stored,
            _run(new).stored,
            repeated=[_run(each).stored for each in repeated],
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
    """Write the page of runs, one HTML file that needs no network. Further runs are compared with the first.

    ``processes`` is the number of processes that read and draw a large run.

    >>> api.report(run, folder / "report.html").name
    'report.html'

    Raises:
        StoreError: a run cannot be read, or the file cannot be written.
    """
    from sciml_bench.render.html.page import write_report

    chosen = [runs] if isinstance(runs, Run | Path | str) else runs
    folders = [_run(each).stored for each in chosen]
    write_report(folders, datetime.datetime.now(datetime.UTC), Path(path), progress or (lambda _: None), processes)
    return Path(path)


def problem(
    name: Path | str | Callable[..., Any],
    y0: Any = None,
    p: Any = (),
    t_span: tuple[float, float] | None = None,
    t_eval: Sequence[float] = (),
) -> Problem | Model:
    """Load and check a problem of the catalog, a problem file or a function, with its equations as SymPy expressions.

    >>> robertson = api.problem("robertson")
    >>> robertson.title, [state.name for state in robertson.states]
    ('Robertson: autocatalytic reaction of three species', ['y1', 'y2', 'y3'])
    >>> api.problem(lambda t, y, k: -k * y, [1.0], [0.3], (0, 5)).parameter_labels
    ('k',)

    The other arguments belong to a function: see :func:`write_problem`.

    Raises:
        UsageError: the catalog has no such problem; or a function has no initial state or time span.
        ProblemError: the file or the function is wrong; the message names the line.
    """
    from sciml_bench.models.load_declared import load_declared
    from sciml_bench.spec import catalog

    if callable(name):
        if y0 is None or t_span is None:
            raise UsageError("a function needs its initial state and time span: problem(f, y0, p, t_span)")
        from sciml_bench.importing.importer import loaded, of_function
        from sciml_bench.importing.python.function import Given

        return loaded(of_function(name, Given(y0, t_span, p, t_eval)))
    is_file = isinstance(name, Path) or str(name).endswith(".toml")
    return load_declared(Path(name) if is_file else catalog.path(str(name)))


def list(
    what: Literal["problems", "suites", "adapters", "runs", "claims"],
    *,
    suites: Iterable[str] = (),
    out: Path | str = RESULTS,
) -> Sequence[Mapping[str, Any]]:
    """List problems of the catalog (of some ``suites`` or all), suites, adapters and their methods, runs, or claims.

    >>> [row["suite"] for row in api.list("suites")]
    ['conventional', 'dae', 'events', 'neural', 'nonstiff', 'pde', 'stiff']

    Raises:
        UsageError: there is no such list, or no such suite.
    """
    from sciml_bench.planning import listing

    makers: Mapping[str, Callable[[], Sequence[Mapping[str, Any]]]] = {
        "problems": lambda: listing.list_problems(words(suites)),
        "suites": listing.list_suites,
        "adapters": listing.list_adapters,
        "runs": lambda: listing.list_runs(Path(out)),
        "claims": list_claims,
    }
    if what not in makers:
        raise UsageError(f"unknown list '{what}'; there are {', '.join(makers)}")
    return makers[what]()


def _run(of: Run | Path | str) -> Run:
    return of if isinstance(of, Run) else load(of)


def write_problem(
    function: Callable[..., Any],
    file: Path | str,
    *,
    y0: Any,
    t_span: tuple[float, float],
    p: Any = (),
    t_eval: Sequence[float] = (),
) -> Path:
    """Write a right-hand side ``f(t, y, p)`` as a problem file, which every other function takes, and return its path.

    The function may also be ``f(t, y)``, ``f(t, y, a, b)`` or ``f(y, t, ...)``, written with NumPy, ``math``,
    ``jax.numpy`` or PyTorch. ``y0`` is its initial state and ``p`` its parameters: numbers, arrays, dicts, dataclasses,
    named tuples, or these inside one another. The problem file is checked against the function at random points.

    >>> def decay(t, y, k):
    ...     return -k * y
    >>> path = api.write_problem(decay, folder / "decay.toml", y0=[1.0], t_span=(0, 5), p=(0.3,))
    >>> api.problem(path).parameter_labels
    ('k',)

    Raises:
        ProblemError: the function decides by values, or does something that problem files have no word for.
    """
    from sciml_bench.importing.importer import of_function
    from sciml_bench.importing.python.function import Given

    path = Path(file)
    path.write_text(of_function(function, Given(y0, t_span, p, t_eval)), encoding="utf-8")
    return path
