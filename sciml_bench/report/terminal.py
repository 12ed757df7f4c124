"""Prints a run: tables per problem and division, the failures, the sum of all cells, and where the data is.

On a terminal the widest layout that fits is taken; elsewhere one plain line per cell, without colour or boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from sciml_bench.report import layouts
from sciml_bench.report.account import account
from sciml_bench.report.failures import Failure, failures
from sciml_bench.report.rows import Comparison, Row, Target, compare
from sciml_bench.report.summary import CellSummary, RunSummary

_UNLIMITED = 10_000

# Titles of the tables of a problem. Divisions are never mixed in one table.
_DIVISIONS: tuple[tuple[str, str, Callable[[CellSummary], bool]], ...] = (
    ("idiomatic", "each library's recommended way", lambda cell: cell.division == "idiomatic"),
    ("matched", "same method family, order and sensitivity", lambda cell: bool(cell.group)),
    ("other", "further combinations", lambda cell: cell.division == "other" and not cell.group),
)

_READING_HELP = (
    "Times are compared at an achieved accuracy that most cells of a problem reach, not at equal tolerances;",
    "log time is interpolated, never extrapolated. ≤: the loosest tolerance is already more accurate.",
    "–: no tolerance reaches that accuracy. Shown: the median over processes of each process's median, and below",
    "it the smallest and largest process. scd: correct digits at the end time; mescd: digits of the mixed error over",
    "all saved times; both of the best point.",
)


def console_for(stream: TextIO) -> Console:
    """A console on this stream: plain and unwrapped where nobody looks, and without colour when NO_COLOR is set."""
    if stream.isatty():
        return Console(file=stream, highlight=False)
    return Console(file=stream, highlight=False, width=_UNLIMITED, color_system=None)


def print_run(summary: RunSummary, folder: Path, console: Console) -> None:
    """Print everything that is known of a run."""
    titles = {entry["name"]: entry["title"] for entry in summary.plan["problems"]}
    for name in summary.problems:
        print_problem(name, titles.get(name, ""), summary, console)
    if any(cell.timed for cell in summary.cells.values()):
        print_reading_help(summary, console)
    print_failures(failures(summary), console)
    print_account(summary, folder, console)


def print_problem(name: str, title: str, summary: RunSummary, console: Console) -> None:
    """Print the tables of one problem, and how to read them."""
    cells = summary.of_problem(name)
    if not any(cell.processes for cell in cells):
        return
    comparison = compare(name, cells)
    _say(console, "")
    _say(console, f"{name}: {title}" if title else name, "bold")
    if not comparison.rows:
        _say(console, "no cell has a time to show; see the failures below")
        return
    for heading, rows in _tables(comparison):
        _say(console, heading)
        _print_rows(rows, console)
    solve, gradient = comparison.solve_target, comparison.gradient_target
    targets = f"solve at {_target_text(solve, 'mescd')}; gradient at {_target_text(gradient, 'relative error')}"
    _say(console, targets, "dim")


def _tables(comparison: Comparison) -> Iterator[tuple[str, list[Row]]]:
    """Heading and rows of each table: one per division, and within the matched one, one per group."""
    for division, meaning, belongs in _DIVISIONS:
        rows = sorted((row for row in comparison.rows if belongs(row.summary)), key=_gradient_key)
        if division != "matched":
            if rows:
                yield f"{division} ({meaning})", rows
            continue
        for group in sorted({row.summary.group for row in rows}):
            yield f"{division}: {group} ({meaning})", [row for row in rows if row.summary.group == group]


def _gradient_key(row: Row) -> tuple[bool, float]:
    seconds = row.gradient.seconds
    return (True, 0.0) if seconds is None else (False, seconds.median)


def _print_rows(rows: Sequence[Row], console: Console) -> None:
    if not console.is_terminal:
        console.print(_table(layouts.plain(rows), None))
        return
    for layout in layouts.TABLES:
        table = _table(layout(rows), box.SIMPLE_HEAD)
        needed = Measurement.get(console, console.options.update(width=_UNLIMITED), table).maximum
        if needed <= console.width:
            console.print(table)
            return
    for line in layouts.stacked(rows):
        _say(console, line)


def _table(layout: layouts.Layout, frame: box.Box | None) -> Table:
    table = Table(box=frame, pad_edge=False)
    for index, heading in enumerate(layout.headings):
        table.add_column(heading, justify="right" if index >= layout.first_number else "left", no_wrap=True)
    for texts in layout.rows:
        table.add_row(*map(Text, texts))
    return table


def print_reading_help(summary: RunSummary, console: Console) -> None:
    """Say once how the tables are to be read."""
    profile = summary.plan["profile"]
    _say(console, "")
    for line in _READING_HELP:
        _say(console, line, "dim")
    if not profile["comparable"]:
        warning = f"NOT COMPARABLE: profile {profile['name']} runs one process per cell; use quick or more"
        _say(console, warning, "bold")


def _target_text(target: Target, what: str) -> str:
    if target.digits is not None:
        return (
            f"mescd {target.digits:g} over all saved times" if what == "mescd" else f"{what} {10.0**-target.digits:.1e}"
        )
    if target.rtol is None:
        return "no accuracy (nothing was timed)"
    return f"rtol {target.rtol:g} (no reference: equal tolerance, not equal accuracy)"


def print_failures(found: Sequence[Failure], console: Console) -> None:
    """Print every failure with its reason and its rerun command."""
    if not found:
        return
    _say(console, "")
    _say(console, "failures", "bold")
    for failure in found:
        share = "" if failure.whole_cell else f" at {failure.points} of {failure.of_points} points"
        phase = f" in {failure.phase}" if failure.phase else ""
        _say(console, f"  {failure.label}  {failure.outcome}{phase}{share}: {failure.reason}")
        _say(console, f"    rerun: {failure.rerun}", "dim")


def print_account(summary: RunSummary, folder: Path, console: Console) -> None:
    """Print the sum of all cells, why cells were skipped, and the run folder."""
    counts = account(summary)
    _say(console, "")
    _say(console, counts.sentence, "bold")
    for reason, count in counts.skipped.items():
        _say(console, f"  skipped {count}: {reason}")
    _say(console, f"run folder: {folder}")


def _say(console: Console, text: str, style: str = "") -> None:
    """One line, never wrapped by us: commands must stay copyable, and lines greppable."""
    console.print(Text(text, style=style), soft_wrap=True)
