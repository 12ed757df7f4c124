"""One problem of a run as the page shows it: the answer, the tables, the figures, and why to believe them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sciml_bench.analysis import reliability as trials
from sciml_bench.analysis.analysis import ProblemAnalysis, RankedTable
from sciml_bench.analysis.fairness import Item
from sciml_bench.analysis.loaded_run import Reading, Trace
from sciml_bench.analysis.notes import best_choice, row_name
from sciml_bench.analysis.reliability import drift_lines
from sciml_bench.analysis.rows import Comparison, Row, Time
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import training as training_table
from sciml_bench.analysis.tables.layouts import Facts, Layout
from sciml_bench.analysis.tables.layouts import facts as row_facts
from sciml_bench.analysis.training import TrainingRow, goal, training_rows
from sciml_bench.render.html.explained import Explained, Limit, explained
from sciml_bench.render.html.figures import Figure, Looks, Picture, figures
from sciml_bench.render.html.problem_facts import ModelView, ProblemFacts, model_view, problem_facts
from sciml_bench.render.html.table import Entry, Heading, Places, Table
from sciml_bench.render.html.verdicts import Win, sentences, target_text, time_text, win
from sciml_bench.stats.centre import Spread

# The trainings of a problem as a table of the page.


def training_table_of(id_: str, cells: Sequence[CellSummary], places: Places) -> Table | None:
    """The table; ``None`` where nothing was trained."""
    rows = training_rows(cells)
    if not rows:
        return None
    layout = training_table.layout(rows)
    caption = training_table.caption(rows)
    return Table(
        id=id_,
        caption=f"{caption[0].upper()}{caption[1:]}",
        headings=(
            *(Heading(text, place >= layout.first_number) for place, text in enumerate(layout.headings)),
            Heading("records"),
        ),
        rows=tuple(
            (*_entries(row, texts), places.entry(row.cell.cell_id))
            for row, texts in zip(rows, layout.rows, strict=True)
        ),
        note=" ".join(f"{note.rstrip('.')}." for note in training_table.notes(rows)),
    )


def _entries(row: TrainingRow, texts: Sequence[str]) -> list[Entry]:
    """The texts of a row, each number with its value to sort by."""
    losses = row.trained.losses
    reached = (row.to_target, row.to_target_from_process) if goal(row.trained.settings) else ()
    values: list[float | None] = [
        float(len(losses)),
        losses[0] if losses else None,
        losses[-1] if losses else None,
        *(_median_or_dash(spread) for spread in (row.first_step, row.step, *reached)),
        row.distance,
    ]
    unsorted = len(texts) - len(values)
    return [
        *(Entry(text) for text in texts[:unsorted]),
        *(Entry(text, value=value) for text, value in zip(texts[unsorted:], values, strict=True)),
    ]


def _median_or_dash(spread: Spread | None) -> float | None:
    return None if spread is None else spread.median


@dataclass(frozen=True)
class Division:
    """One table of a problem with what follows from it."""

    id: str
    name: str
    meaning: str
    table: Table
    win: Win | None
    winner: str
    time: str
    answer: tuple[str, ...]
    choices: tuple[str, ...]
    comparisons: tuple[Explained, ...]
    shared: tuple[Item, ...]


@dataclass(frozen=True)
class ProblemView:
    """A section of the page. ``why`` are the reasons to believe its numbers, ``kept`` tells of invariants."""

    id: str
    name: str
    title: str
    facts: ProblemFacts
    divisions: tuple[Division, ...]
    targets: str
    why: tuple[str, ...]
    figures: tuple[Figure, ...]
    model: ModelView | None
    training: Table | None
    stability: Table | None
    kept: tuple[str, ...]
    untimed: str
    left_out: str
    failed: str


_MOST_FAILED = 6

HEADINGS = (
    Heading("adapter"), Heading("method"), Heading("sensitivity"), Heading("mode"),
    Heading("1st gradient", True, "from the start of the process"),
    Heading("from built", True, "first gradient, from the built program"),
    Heading("solve", True, "per call, at equal accuracy"),
    Heading("gradient", True, "per call, at equal accuracy"),
    Heading("scd", True, "correct digits at the end time, of the best point"),
    Heading("mescd", True, "digits of the mixed error over all saved times, of the best point"),
    Heading("gradient error", True, "of d loss / d log p, relative, of the best point; below it the worst component"),
    Heading("points", True, "tolerances × processes that are ok"),
    Heading("memory", True, "largest peak of a process"),
    Heading("records"),
)  # fmt: skip


def problem_view(
    reading: Reading,
    problem: ProblemAnalysis,
    places: Places,
    pictures: Sequence[Picture],
    looks: Looks,
    limited: Limit,
) -> ProblemView:
    """Everything that the page says of one problem."""
    name, cells, comparison = problem.name, problem.cells, problem.comparison
    entry = next((entry for entry in reading.plan["problems"] if entry["name"] == name), {"name": name, "title": ""})
    traces = [trace for cell in cells for trace in places.traces.get(cell.cell_id, ())]
    id_ = f"{places.prefix}p{reading.summary.problems.index(name) + 1}"
    found = trials.layout(cells)
    return ProblemView(
        id=id_,
        name=name,
        title=str(entry["title"]),
        facts=problem_facts(entry, traces, (cell.cell.adapter for cell in cells), reading.summary.declared),
        divisions=tuple(
            _division(f"{id_}t{number}", ranked, comparison, reading, places, limited)
            for number, ranked in enumerate(problem.tables, start=1)
        ),
        targets=(
            f"Solves are compared at {target_text(comparison.solve_target, 'solve')}, gradients at "
            f"{target_text(comparison.gradient_target, 'gradient')}."
        ),
        why=tuple(_why(reading, traces)),
        figures=tuple(figures(pictures, places, looks)),
        model=model_view(id_, entry, cells),
        training=training_table_of(f"{id_}training", cells, places),
        stability=None if found is None else _of_layout(f"{id_}stability", found),
        kept=tuple(drift_lines(cells))[1:],
        untimed="" if comparison.rows else _untimed(traces),
        failed=_failed(cells) if comparison.rows else "",
        left_out=limited.told(name, cells, reading.name),
    )


def _untimed(traces: Sequence[Trace]) -> str:
    if not traces:
        return "Nothing was measured of this problem."
    return "No cell of this problem has a time to show; see the failures below."


def _division(
    id_: str,
    ranked: RankedTable,
    comparison: Comparison,
    reading: Reading,
    places: Places,
    limited: Limit,
) -> Division:
    table = ranked.table
    won = win(table, ranked.standings, comparison, reading.comparable)
    comparisons = tuple(explained(won, ranked.standings, comparison, places, limited)) if won else ()
    return Division(
        id=id_,
        name=table.name,
        meaning=table.meaning,
        table=Table(
            id_,
            f"Times, errors and memory of {comparison.problem}, {table.name}",
            HEADINGS,
            tuple(_row(row, places.entry(row.summary.cell_id), won) for row in table.rows),
        ),
        win=won,
        winner=row_name(won.row) if won else "",
        time=time_text(won.time) if won else "",
        answer=tuple(sentences(won)) if won else (),
        choices=tuple(line.strip() for line in best_choice(table.rows)) if reading.comparable else (),
        comparisons=comparisons,
        shared=tuple(_shared(comparisons)),
    )


def _shared(comparisons: Sequence[Explained]) -> Iterator[Item]:
    """The fairness items that are the same in all comparisons of a table, where there are several."""
    if len(comparisons) > 1:
        first, *others = comparisons
        yield from (item for item in first.items if all(item in other.items for other in others))


def _row(row: Row, records: Entry, won: Win | None) -> tuple[Entry, ...]:
    told: Facts = row_facts(row)
    summary = row.summary
    ok = sum(point.outcome.value == "ok" for point in summary.points)
    best = won is not None and won.row is row and won.word in ("fastest", "shared")
    # Ranges belong below their numbers; the reason for a missing one does, too.
    return (
        *(Entry(name) for name in told.names),
        Entry(*told.first_gradient, value=_median(summary.first_gradient_process)),
        Entry(*told.from_built, value=_median(summary.first_gradient_built)),
        _timed(told.solve, row.solve, best and won is not None and won.quantity == "solve"),
        _timed(told.gradient, row.gradient, best and won is not None and won.quantity == "gradient"),
        Entry(told.scd, value=row.scd),
        Entry(told.mescd, value=row.mescd),
        Entry(told.gradient_error, told.worst_component, value=row.gradient_error),
        Entry(told.ok, told.failed, value=float(ok)),
        Entry(told.memory, value=summary.peak_rss_bytes),
        records,
    )


def _median(spread: Spread | None) -> float | None:
    return spread.median if spread else None


def _timed(texts: tuple[str, str], time: Time, best: bool) -> Entry:
    mark = "best" if best else "why" if time.seconds is None and time.reason else ""
    return Entry(*texts, value=_median(time.seconds), mark=mark)


def _failed(cells: Sequence[CellSummary]) -> str:
    """Which cells stand in no table because they failed from the first call on; the first few by name."""
    names = [
        f"{' '.join((cell.cell.adapter, cell.cell.method, cell.cell.sensitivity, cell.cell.mode))} ({cell.outcome})"
        for cell in cells
        if cell.outcome is not None and not cell.timed
    ]
    if not names:
        return ""
    more = f" and {len(names) - _MOST_FAILED} more" if len(names) > _MOST_FAILED else ""
    return f"Not in the tables, since nothing succeeded: {', '.join(names[:_MOST_FAILED])}{more}; see the failures."


def _why(reading: Reading, traces: Sequence[Trace]) -> Iterator[str]:
    """Why to believe the numbers of a problem, or why not."""
    kinds = sorted({str(trace.reference_kind or "none") for trace in traces})
    if traces:
        yield _REFERENCES.get(kinds[0] if len(kinds) == 1 else "", f"References: {', '.join(kinds)}.")
    blocks = len({trace.block for trace in traces})
    if blocks > 1:
        yield (
            f"Every cell ran in {blocks} blocks, each in a fresh process and in random order beside its rivals"
            f"{', in turns of milliseconds' if all(trace.waited_s > 0 for trace in traces) else ''}; the intervals are "
            "over processes, not over repeated calls."
        )
    elif traces:
        yield "One process for each cell: enough to see that it works, too little to compare times."
    noisy = sum(bool(trace.noisy) for trace in traces)
    if noisy:
        yield f"{noisy} of {len(traces)} processes were disturbed by other work; they are kept and marked."


_REFERENCES = {
    "certified": "Errors are measured against a certified high-precision solution and gradient.",
    "exact": "Errors are measured against the exact solution.",
    "published": "Errors are measured against published digits.",
    "extended": "Output, loss and gradient are held against the same model in extended precision, at every batch.",
    "double": "Errors are measured against a tight double-precision solve, which is no certificate.",
    "none": "There is no reference, so errors are not known and times are compared at equal tolerance only.",
}


def _of_layout(id_: str, layout: Layout) -> Table:
    return Table(
        id=id_,
        caption="Stability: solves with every parameter changed by up to a factor of two, at all tolerances",
        headings=tuple(Heading(text, index >= layout.first_number) for index, text in enumerate(layout.headings)),
        rows=tuple(tuple(Entry(text, value=_leading(text)) for text in row) for row in layout.rows),
        note="In brackets: the 95 % interval of the share.",
    )


def _leading(text: str) -> float | None:
    """The number that a text begins with, to sort by."""
    word = text.partition(" ")[0]
    return float(word) if word.replace(".", "", 1).isdigit() else None
