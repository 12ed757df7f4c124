"""Prints a run: a table per problem, the failures, the sum of all cells, where the data is, and the answers last.

On a terminal the widest layout that fits is taken; elsewhere one plain line per cell, without colour or boxes. In full
there are also the matched tables, the verdicts between rows, the best choices, stability, and the phases of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TextIO

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from sciml_bench.adapters.registry import CURED_BY
from sciml_bench.analysis.advice.advice import unadvised
from sciml_bench.analysis.analysis import Analysis, ProblemAnalysis
from sciml_bench.analysis.batch_outcomes import batch_lines
from sciml_bench.analysis.drifts import drift_lines
from sciml_bench.analysis.explanation import phase_breakdown
from sciml_bench.analysis.failures import Failure
from sciml_bench.analysis.models import model_table
from sciml_bench.analysis.reliability import stability_table
from sciml_bench.analysis.rows import Target
from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.analysis.sweep import axis_of, sweep_tables
from sciml_bench.analysis.tables import advice, sweep
from sciml_bench.analysis.tables.cells import cell_table
from sciml_bench.analysis.tables.footnotes import best_choice, bridges, doubts, family, verdicts
from sciml_bench.analysis.tables.formatting import wrapped
from sciml_bench.analysis.tables.models import checklist, parity_table, times_table
from sciml_bench.analysis.tables.recommendation import FEW, recommendation_table
from sciml_bench.analysis.tables.table import Entry, Table, Unit
from sciml_bench.analysis.tables.training import training_table
from sciml_bench.analysis.training import training_rows
from sciml_bench.planning.written_plan import WrittenProblem
from sciml_bench.record.outcome import Outcome

_UNLIMITED = 10_000

# Prose is not read in longer lines.
_WIDEST_TEXT = 110

# Of a name that breaks between words.
_WIDEST_NAME = 24

_READING_HELP = (
    "Times are compared at an achieved accuracy that most cells of a problem reach, not at equal tolerances; "
    "log time is interpolated, never extrapolated. ≤: the loosest tolerance is already more accurate. "
    "–: no tolerance reaches that accuracy. Shown: the median over processes of each process's median, and beside or "
    "below it the smallest and largest process. scd: correct digits at the end time; mescd: digits of the mixed error "
    "over all saved times; both of the best point."
)


def console_for(stream: TextIO) -> Console:
    """A console on this stream: plain and unwrapped where nobody looks, and without colour when NO_COLOR is set."""
    if stream.isatty():
        return Console(file=stream, highlight=False)
    return Console(file=stream, highlight=False, width=_UNLIMITED, color_system=None)


def print_run(analysis: Analysis, console: Console, *, full: bool = True) -> None:
    """Print a run, in full or shortened to fit a screen. The sizes of a sweep are columns, not separate problems."""
    summary = analysis.summary
    _warn(analysis, console)
    if axis_of(summary.plan) is not None:
        _print_sweep(summary, console)
    else:
        _print_problems(analysis, console, full=full)
    print_failures(analysis.failures, console, full=full)
    if full:
        print_lines(bridges(summary), console)
    print_lines(doubts(summary), console)
    print_account(analysis, console, full=full)
    if axis_of(summary.plan) is None:
        print_answers(analysis, console)


def print_answers(analysis: Analysis, console: Console) -> None:
    """Print the answer of each problem, at the end, the most visible place."""
    for problem in analysis.problems:
        sentences = list(problem.sentences)
        if sentences:
            _say(console, "")
            _say(console, problem.name, "bold")
            print_lines(sentences, console)
        if problem.recommendation is not None and problem.recommendation.ways:
            print_table(recommendation_table(problem.recommendation, FEW), console, apart=False)


def _print_sweep(summary: RunSummary, console: Console) -> None:
    """Print how cost grows over a sweep: a table for each quantity and set of cells."""
    axis, found = axis_of(summary.plan), list(sweep_tables(summary))
    if axis is None:
        return
    _say(console, "")
    _say(console, sweep.title(axis), "bold")
    if not found:
        _say(console, "no cell has a number to show; see the failures below")
        return
    for table in found:
        print_table(sweep.sweep_table(table), console)
    _say(console, "")
    _print_reading(sweep.reading_help(found), console)
    _say(console, sweep.ELSEWHERE, "dim")


def _print_problems(analysis: Analysis, console: Console, *, full: bool) -> None:
    """Print the tables of every problem."""
    summary = analysis.summary
    models = {problem.name: problem for problem in summary.plan.problems if problem.is_model}
    for problem in analysis.problems:
        if problem.name in models:
            _print_model(models[problem.name], problem, console, full=full)
            continue
        print_problem(problem, console, full=full)
    _print_advice(analysis, console)
    if not full:
        return
    if analysis.judged is not None and analysis.judged.family:
        print_lines(family(analysis.judged), console)
    if any(cell.timed for cell in summary.cells.values()):
        print_reading_help(summary, console)


def print_problem(problem: ProblemAnalysis, console: Console, *, full: bool = True) -> None:
    """Print the tables of one problem, and their verdicts in full."""
    cells, comparison = problem.cells, problem.comparison
    if not any(cell.processes for cell in cells):
        return
    _say(console, "")
    _say(console, f"{problem.name}: {problem.title}" if problem.title else problem.name, "bold")
    if not comparison.rows:
        _say(console, "no cell has a time to show; see the failures below")
    shown = [ranked for ranked in problem.tables if full or not ranked.within_group]
    for number, ranked in enumerate(shown):
        print_table(cell_table(ranked), console, apart=number > 0, whole=full)
        if ranked.within_group:
            print_lines(verdicts(ranked.rankings.values(), ranked.table.name.partition(": ")[2]), console)
    if comparison.rows:
        solve, gradient = comparison.solve_target, comparison.gradient_target
        targets = f"solve at {_target_text(solve, 'mescd')}; gradient at {_target_text(gradient, 'relative error')}"
        _say(console, targets, "dim")
    if full:
        print_lines(verdicts(problem.answer.rankings.values()), console)
        if problem.answer.choice is not None:
            print_lines(best_choice(problem.answer.choice, comparison.rows), console)
        print_lines(batch_lines(cells), console)
        print_lines(drift_lines(cells), console)
    if trained := training_rows(cells):
        print_table(training_table(trained), console)
    if not full:
        return
    if (stability := stability_table(cells)) is not None:
        print_table(stability, console)
    _print_stacks(cells, console)


def _print_model(entry: WrittenProblem, problem: ProblemAnalysis, console: Console, *, full: bool) -> None:
    """Print the tables of a model: parity before times. ``entry`` is what the plan says of it."""
    table = model_table(problem.name, problem.cells)
    if not table.parity:
        return
    _say(console, "")
    _say(console, f"{problem.name}: {problem.title}", "bold")
    print_table(parity_table(table.parity), console, apart=False)
    if table.rows:
        print_table(times_table(table), console)
        if full:
            print_lines(verdicts(problem.answer.rankings.values()), console)
        print_lines(checklist(entry, table), console)
    if full:
        _print_stacks(problem.cells, console)


def _print_advice(analysis: Analysis, console: Console) -> None:
    """Print what to take for the problems of each kind, where the run has several and compares."""
    if not analysis.comparable:
        return
    advised = analysis.advice
    silent = unadvised(analysis.summary.plan, advised)
    if not advised and not silent:
        return
    if advised:
        print_table(advice.advice_table(advised), console, style="bold")
    else:
        _say(console, "")
        _say(console, advice.CAPTION, "bold")
    print_lines(advice.silence(silent), console)


def print_table(table: Table, console: Console, *, apart: bool = True, style: str = "", whole: bool = False) -> None:
    """Print a table with its caption and notes.

    On a terminal the widest layout that fits is taken: every column, then columns above each other, then fewer columns
    unless the ``whole`` table is wanted, then no columns at all. Elsewhere one plain line for each row. No layout ever
    cuts a number.
    """
    if apart:
        _say(console, "")
    _say(console, table.caption, style)
    if not console.is_terminal:
        console.print(_grid(table, lambda entry: entry.line, None))
    else:
        _print_fitting(table, console, whole)
    print_lines(table.notes, console)
    _print_reading(table.reading, console)


def _print_fitting(table: Table, console: Console, whole: bool) -> None:
    for drawn in _layouts(table, whole):
        if _width(drawn, console) <= console.width:
            console.print(drawn)
            return
    print_lines(_without_columns(table), console)


def _layouts(table: Table, whole: bool) -> Iterator[Grid]:
    """Yield the grids of a table, the widest one first."""
    yield _grid(table, _two_lines, box.SIMPLE_HEAD)
    for count in range(len(table.folds), len(table.folds) - 1 if whole else 1, -1):
        yield _folded(table, count, whole)
    if whole:
        return
    for rank in sorted({column.rank for column in table.columns} - {0}, reverse=True):
        kept = [place for place, column in enumerate(table.columns) if column.rank < rank]
        yield _narrow(table, kept, None)
        yield _narrow(table, kept, _WIDEST_NAME)


def _grid(table: Table, text: Callable[[Entry], str], frame: box.Box | None) -> Grid:
    drawn = Grid(box=frame, show_edge=False, pad_edge=False)
    for column in table.columns:
        drawn.add_column(column.text, justify="right" if column.number else "left", no_wrap=True)
    for row in table.rows:
        drawn.add_row(*(Text(text(entry)) for entry in row))
    return drawn


def _narrow(table: Table, places: Sequence[int], widest_name: int | None) -> Grid:
    """Draw the columns at these places without the ranges of times; names may break between words."""
    drawn = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place in places:
        column, breaks = table.columns[place], place == 0 and widest_name is not None
        justify = "right" if column.number else "left"
        drawn.add_column(column.text, justify=justify, no_wrap=not breaks, max_width=widest_name if breaks else None)
    for row in table.rows:
        plain = ((row[place], table.columns[place].unit is Unit.SECONDS) for place in places)
        drawn.add_row(*(Text(entry.text if timed else _two_lines(entry)) for entry, timed in plain))
    return drawn


def _two_lines(entry: Entry) -> str:
    """A text and the text below it; reasons are too long for a column."""
    return "\n".join([entry.text, *_below(entry)])


def _below(entry: Entry) -> list[str]:
    return entry.below.split(", ") if entry.below else []


def _folded(table: Table, count: int, whole: bool) -> Grid:
    """Draw the first ``count`` groups of columns, each in one column, without the ranges of times.

    Only a ``whole`` table names the worst components below errors.
    """
    drawn = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    folds, hidden = table.folds[:count], (Unit.SECONDS,) if whole else (Unit.SECONDS, Unit.ERROR)
    for fold in folds:
        columns = [[table.columns[place] for place in line] for line in fold]
        heading = "\n".join(" ".join(column.text for column in line) for line in columns)
        numbers = all(column.number for line in columns for column in line)
        drawn.add_column(heading, justify="right" if numbers else "left", no_wrap=True)
    for row in table.rows:
        texts: list[Text] = []
        for fold in folds:
            lines = [" ".join(row[place].text for place in line) for line in fold]
            shown = (place for line in fold for place in line if table.columns[place].unit not in hidden)
            texts.append(Text("\n".join([*lines, *(part for place in shown for part in _below(row[place]))])))
        drawn.add_row(*texts)
    return drawn


def _without_columns(table: Table) -> Iterator[str]:
    """A few short lines for each row."""
    for row in table.rows:
        yield table.name(row)
        for column, entry in zip(table.columns[table.names :], row[table.names :], strict=True):
            yield f"  {column.text} {entry.line}"


def _width(grid: Grid, console: Console) -> int:
    """Return how many columns of a terminal a grid needs."""
    return Measurement.get(console, console.options.update(width=_UNLIMITED), grid).maximum


def _print_reading(text: str, console: Console) -> None:
    for line in wrapped(text, min(console.width, _WIDEST_TEXT)):
        _say(console, line, "dim")


def _print_stacks(cells: Sequence[CellSummary], console: Console) -> None:
    """Print where the time of each cell went."""
    found = [item for item in map(phase_breakdown.stack, cells) if item is not None]
    if not found:
        return
    _say(console, "")
    _say(console, "where the time of a process went (median over the processes)")
    if not console.is_terminal:
        print_lines([phase_breakdown.plain(item) for item in found], console)
        return
    print_lines(phase_breakdown.lines(found, console.width), console)


def print_lines(lines: Iterable[str], console: Console) -> None:
    """Print lines of text; lines that a terminal cannot hold are wrapped at words, and their continuations indented."""
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())]
        for part in wrapped(line.strip(), console.width, indent) if console.is_terminal else [line]:
            _say(console, part)


def print_reading_help(summary: RunSummary, console: Console) -> None:
    """Say once how the tables are to be read."""
    _say(console, "")
    models = {problem.name for problem in summary.plan.problems if problem.is_model}
    of_equations = any(cell.timed and cell.cell.problem not in models for cell in summary.cells.values())
    for text in (*((_READING_HELP,) if of_equations else ()), phase_breakdown.legend()):
        for line in wrapped(text, min(console.width, _WIDEST_TEXT)):
            _say(console, line, "dim")


def _warn(analysis: Analysis, console: Console) -> None:
    """Say it on top, once, where times must not be compared."""
    why = analysis.why_not_comparable
    for line in wrapped(f"NOT COMPARABLE: {why}", min(console.width, _WIDEST_TEXT)) if why else ():
        _say(console, line, "bold")


def _target_text(target: Target, what: str) -> str:
    if target.digits is not None:
        return (
            f"mescd {target.digits:g} over all saved times" if what == "mescd" else f"{what} {10.0**-target.digits:.1e}"
        )
    if target.batch is not None:
        return f"batch {target.batch}"
    if target.rtol is None:
        return "no accuracy (nothing was timed)"
    return f"rtol {target.rtol:g} (no reference: equal tolerance, not equal accuracy)"


def print_failures(found: Sequence[Failure], console: Console, *, full: bool = True) -> None:
    """Print every failure with its reason and its rerun command, in full with a cell to try next.

    Failures of the machine have a separate list.
    """
    of_machine = [failure for failure in found if failure.outcome is Outcome.BUSY_TIMEOUT]
    _print_failures("failures", [failure for failure in found if failure not in of_machine], console, full=full)
    heading = "not measured, since other work kept the processors: no result of a solver"
    _print_failures(heading, of_machine, console, full=full)


def _print_failures(heading: str, found: Sequence[Failure], console: Console, *, full: bool) -> None:
    if not found:
        return
    _say(console, "")
    _say(console, heading, "bold")
    for failure in found:
        share = "" if failure.whole_cell else f" at {failure.points} of {failure.of_points} points"
        phase = f" in {failure.phase}" if failure.phase else ""
        print_lines([f"  {failure.label}  {failure.outcome}{phase}{share}: {failure.reason}"], console)
        _say(console, f"    rerun: {failure.rerun}", "dim")
        if failure.next_command and full:
            _say(console, f"    try next ({failure.next_reason}): {failure.next_command}")


def print_account(analysis: Analysis, console: Console, *, full: bool = True) -> None:
    """Print the sum of all cells and the run folder, and in full why each cell was skipped."""
    counts = analysis.cell_tally
    _say(console, "")
    if full:
        _say(console, counts.sentence, "bold")
        for reason, count in counts.skipped.items():
            _say(console, f"  skipped {count}: {reason}")
        _say(console, f"run folder: {analysis.folder}")
        return
    print_lines([counts.short_sentence], console)
    for reason in counts.skipped:
        if CURED_BY in reason:
            _say(console, reason)
    _say(console, f"all tables, verdicts and skipped cells: sciml-bench show {analysis.folder} --all")


def _say(console: Console, text: str, style: str = "") -> None:
    """One line, never wrapped by us: commands must stay copyable, and lines greppable."""
    console.print(Text(text, style=style), soft_wrap=True)
