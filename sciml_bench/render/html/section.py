"""One run as a section of the page."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.loaded_run import Reading
from sciml_bench.analysis.notes import cheapest, family
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.analysis.sweep import SweepRow, SweepTable, sweep_tables
from sciml_bench.analysis.tables import advice as advice_table
from sciml_bench.analysis.tables import sweep as sweep_text
from sciml_bench.render.html import facts
from sciml_bench.render.html.claim import Tested, under_test
from sciml_bench.render.html.explained import Limit, limit
from sciml_bench.render.html.figures import Figure, Looks, Picture, drawing, figures
from sciml_bench.render.html.problem import Division, ProblemView, problem_view
from sciml_bench.render.html.records import CellRecords, cell_records, failure_table, skipped_table
from sciml_bench.render.html.table import Entry, Heading, Places, Table
from sciml_bench.render.html.verdicts import standing_text

# What to take for the problems of each kind, as a table of the page.

_NUMBERS = ("gradients", "factor")


def advice_table_of(analysis: Analysis, id_: str) -> Table | None:
    """The table, where the run has several problems and compares; else ``None``."""
    advised = analysis.advice if len(analysis.problems) > 1 else ()
    if not advised:
        return None
    layout = advice_table.layout(advised)
    notes = " ".join(f"{line.strip()}." for line in advice_table.notes(advised))
    rows: list[tuple[Entry, ...]] = []
    for item, (problems, gradients, take, factor, even, following) in zip(advised, layout.rows, strict=True):
        numbers = Entry(gradients, value=float(item.gradients)), Entry(take), Entry(factor, value=item.factor)
        rows.append((Entry(problems), *numbers, Entry(even), Entry(following)))
    return Table(
        id=id_,
        caption=f"{advice_table.CAPTION[0].upper()}{advice_table.CAPTION[1:]}",
        headings=tuple(Heading(text, text in _NUMBERS) for text in layout.headings),
        rows=tuple(rows),
        note=f"{notes} {advice_table.HELP}",
    )


# How cost grows over a sweep, as tables of the page.


def sweep_tables_of(summary: RunSummary, prefix: str, places: Places) -> Iterator[Table]:
    """The tables of a sweep; none for any other run."""
    found = list(sweep_tables(summary))
    for number, table in enumerate(found):
        layout = sweep_text.layout(table)
        caption = sweep_text.caption(table)
        notes = [*sweep_text.notes(table), *([sweep_text.reading_help(found).rstrip(".")] if number == 0 else [])]
        yield Table(
            id=f"{prefix}-{number}",
            caption=f"{caption[0].upper()}{caption[1:]}",
            headings=tuple(Heading(text, at >= layout.first_number) for at, text in enumerate(layout.headings)),
            rows=tuple(
                tuple(_entries(table, row, texts, places)) for row, texts in zip(table.rows, layout.rows, strict=True)
            ),
            note=" ".join(f"{note[0].upper()}{note[1:]}." for note in notes),
        )


def _entries(table: SweepTable, row: SweepRow, texts: Sequence[str], places: Places) -> Iterator[Entry]:
    """The texts of a row, each number with its value to sort by and a link to its records."""
    yield from (Entry(text) for text in texts[:4])
    for size, text in zip(table.axis.sizes, texts[4:-1], strict=True):
        spread, cell = row.values[size].spread, row.solver.cells.get(table.axis.problems[size])
        link = "" if cell is None else places.entry(cell.cell_id).link
        yield Entry(text, value=None if spread is None else spread.median, link=link)
    exponent, _, bent = texts[-1].partition(", ")
    yield Entry(exponent, bent, value=None if row.power is None else row.power.exponent)


Say = Callable[[str], None]


@dataclass(frozen=True)
class Section:
    """Everything that the page says of one run."""

    id: str
    name: str
    facts: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    headline: tuple[str, ...]
    tested: tuple[Tested, ...]
    wins: Table | None
    more_wins: Table | None
    advice: Table | None
    unmeasured: tuple[str, ...]
    sweep: tuple[Table, ...]
    problems: tuple[ProblemView, ...]
    across: tuple[Figure, ...]
    failures: Table | None
    skipped: Table | None
    account: str
    rule: str
    environment: tuple[tuple[str, str], ...]
    records_file: str
    records: tuple[CellRecords, ...]


def section(
    reading: Reading, number: int, now: datetime.datetime, looks: Looks, say: Say, processes: int = 1
) -> Section:
    """The section of a run, the ``number``-th of the page from 1. ``say`` is told what is being drawn."""
    limited = limit(reading.summary)
    with drawing(reading.summary, f"r{number}-", limited, processes) as pictures:
        return _section(reading, number, now, looks, limited, pictures, say)


def _section(
    reading: Reading,
    number: int,
    now: datetime.datetime,
    looks: Looks,
    limited: Limit,
    pictures: Iterator[list[Picture]],
    say: Say,
) -> Section:
    summary = reading.summary
    places = Places(f"r{number}-", summary.cells, reading.counting())
    analysis = reading.analysis
    problems: list[ProblemView] = []
    for problem in analysis.problems:
        say(problem.name)
        problems.append(problem_view(reading, problem, places, next(pictures), looks, limited))
    say("across problems")
    return Section(
        id=f"r{number}",
        name=reading.name,
        facts=tuple(facts.facts(reading, now)),
        warnings=tuple(_warnings(reading)),
        headline=tuple(_headline(problems, reading)),
        tested=under_test(reading, f"r{number}", places),
        wins=_wins(problems, f"r{number}-wins", places, first=True),
        more_wins=_wins(problems, f"r{number}-more-wins", places, first=False),
        advice=advice_table_of(analysis, f"r{number}-advice"),
        unmeasured=tuple(facts.unmeasured(reading)),
        sweep=tuple(sweep_tables_of(summary, f"r{number}-sweep", places)),
        problems=tuple(problems),
        across=tuple(figures(next(pictures), places, looks)),
        failures=failure_table(reading, places),
        skipped=skipped_table(reading, places.prefix),
        account=analysis.account.sentence,
        rule=" ".join(filter(None, family(analysis.standings))) if analysis.standings.family else "",
        environment=tuple(facts.environment_rows(reading.environment)),
        records_file="records.jsonl",
        records=tuple(cell_records(reading, places)),
    )


def _warnings(reading: Reading) -> Iterator[str]:
    if not reading.traces and reading.damaged:
        yield (
            f"No record of this run can be read ({reading.damaged[0].reason}; {len(reading.damaged)} lines of "
            "records.jsonl): what is shown is its plan."
        )
    elif not reading.traces:
        yield "This run has no record yet: nothing was measured, so there is nothing to show but its plan."
    elif not any(cell.timed for cell in reading.summary.cells.values()):
        yield "No cell of this run has a time: everything that ran failed. What failed, and why, is told below."
    if why := reading.analysis.why_not_comparable:
        yield f"Not comparable: {why}."


def _divisions(problems: list[ProblemView]) -> Iterator[tuple[ProblemView, Division, bool]]:
    """The tables with a winner; the first of each problem, which is that of recommended ways, is told apart."""
    for problem in problems:
        for number, division in enumerate(item for item in problem.divisions if item.win is not None):
            yield problem, division, number == 0


def _headline(problems: list[ProblemView], reading: Reading) -> Iterator[str]:
    """The verdicts in numbers, and how often each cell wins."""
    words = [division.win.word for _, division, first in _divisions(problems) if first and division.win]
    if not words or not reading.comparable:
        return
    clear, shared, alone = (words.count(word) for word in ("fastest", "shared", "alone"))
    told = (
        (clear, "one cell is faster than all others"),
        (
            shared,
            "no cell is faster than all others: the table names the shortest time, and which others may be as fast",
        ),
        (alone, "only one reaches the accuracy"),
    )
    parts = [f"on {count} of {len(words)} problems {what}" for count, what in told if count]
    text = "; ".join(parts)
    yield f"{text[0].upper()}{text[1:]}." if text else ""
    wins: dict[str, int] = {}
    for _, division, first in _divisions(problems):
        if first and division.win and division.win.word == "fastest":
            wins[division.winner] = wins.get(division.winner, 0) + 1
    if len(words) > 1 and wins:
        listed = ", ".join(f"{name} on {count}" for name, count in sorted(wins.items(), key=lambda item: -item[1]))
        yield f"Clear wins: {listed}."


_CHEAPEST = "the cheapest for so many gradients, from the start of the process"
_HEADINGS = (
    Heading("problem"), Heading("fastest"), Heading("time", True), Heading("at"),
    Heading("how sure", wide=True), *(Heading(f"best for {n}", meaning=_CHEAPEST) for n in ("10", "1\u00a0000", "10⁵")),
    Heading("records"),
)  # fmt: skip


def _wins(problems: list[ProblemView], id_: str, places: Places, *, first: bool) -> Table | None:
    rows: list[tuple[Entry, ...]] = []
    for problem, division, leads in _divisions(problems):
        found = division.win
        if found is None or leads is not first:
            continue
        best = {item.gradients: cheapest(item) for item in found.choice.best} if found.choice else {}
        seconds = found.time.seconds
        rows.append(
            (
                Entry(problem.name, division.name, link=division.id if not first else problem.id),
                Entry(division.winner, mark=found.word),
                Entry(division.time, f"a {found.quantity}", value=seconds.median if seconds else None),
                # Between words a line may end, but not in the middle of 1e-7.
                Entry(found.at.replace("-", "-\u2060")),
                Entry(standing_text(found), mark=found.word),
                *(Entry(best.get(gradients, "–")) for gradients in (10, 1_000, 100_000)),
                places.entry(found.row.summary.cell_id),
            )
        )
    if not rows:
        return None
    caption = "Who wins where" if first else "Who wins in the other tables: matched groups, and further combinations"
    return Table(id_, caption, _HEADINGS, tuple(rows))
