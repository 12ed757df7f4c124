"""One problem of a run as the page shows it: the answer, the tables, the figures, and why to believe them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sciml_bench.analysis.advice.answer import fastest_sentence
from sciml_bench.analysis.analysis import ProblemAnalysis, RankedTable
from sciml_bench.analysis.drifts import drift_lines
from sciml_bench.analysis.explanation.fairness import Item
from sciml_bench.analysis.loaded_run import LoadedRun, RecordEntry
from sciml_bench.analysis.ranking import time_of
from sciml_bench.analysis.reliability import stability_table
from sciml_bench.analysis.rows import Comparison
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables.cells import cell_table
from sciml_bench.analysis.tables.footnotes import best_choice
from sciml_bench.analysis.tables.recommendation import library_table
from sciml_bench.analysis.tables.training import training_table
from sciml_bench.analysis.training import training_rows
from sciml_bench.planning.written_plan import WrittenProblem
from sciml_bench.render.html.drawings import Picture
from sciml_bench.render.html.explained import Explained, explained
from sciml_bench.render.html.figures import Figure, figures
from sciml_bench.render.html.looks import Looks
from sciml_bench.render.html.model_facts import ModelView, model_view
from sciml_bench.render.html.page_budget import PageBudget
from sciml_bench.render.html.problem_facts import problem_facts
from sciml_bench.render.html.problem_view import ProblemFacts
from sciml_bench.render.html.table import Places, Table


@dataclass(frozen=True)
class Division:
    """One table of a problem with what explains its gaps. ``within`` says who is fastest in a group of matched rows."""

    id: str
    name: str
    meaning: str
    table: Table
    within: str
    quantity: str
    fastest: str
    comparisons: tuple[Explained, ...]
    shared: tuple[Item, ...]


@dataclass(frozen=True)
class ProblemView:
    """A section of the page.

    ``answer`` says what to take and which way is fastest, ``ranked`` are the libraries by cost; ``why`` are the reasons
    to believe the numbers, ``kept`` is about invariants. ``lead`` and ``second`` are the figures that are seen first.
    """

    id: str
    name: str
    title: str
    facts: ProblemFacts
    answer: tuple[str, ...]
    ranked: Table | None
    choices: tuple[str, ...]
    divisions: tuple[Division, ...]
    targets: str
    why: tuple[str, ...]
    lead: Figure | None
    second: Figure | None
    figures: tuple[Figure, ...]
    model: ModelView | None
    training: Table | None
    stability: Table | None
    kept: tuple[str, ...]
    untimed: str
    left_out: str
    failed: str


_MOST_FAILED = 6


def problem_view(
    loaded: LoadedRun,
    problem: ProblemAnalysis,
    places: Places,
    pictures: Sequence[Picture],
    looks: Looks,
    budget: PageBudget,
) -> ProblemView:
    """Everything that the page says of one problem."""
    name, cells, comparison = problem.name, problem.cells, problem.comparison
    entry = loaded.plan.problem(name) or WrittenProblem(name, "", "", None)
    traces = [trace for cell in cells for trace in places.traces.get(cell.cell_id, ())]
    id_ = f"{places.prefix}p{loaded.summary.problems.index(name) + 1}"
    chosen = problem.answer.choice
    trained, stability = training_rows(cells), stability_table(cells)
    lead, second, *others = _by_interest(figures(pictures, places, looks))
    return ProblemView(
        id=id_,
        name=name,
        title=entry.title,
        facts=problem_facts(entry, traces, (cell.cell.adapter for cell in cells), loaded.summary.declared),
        answer=tuple(problem.sentences),
        ranked=_ranked(problem, places, f"{id_}ways"),
        choices=() if chosen is None else tuple(line.strip() for line in best_choice(chosen, comparison.rows)),
        divisions=tuple(
            _division(f"{id_}t{number}", ranked, comparison, loaded, places, budget)
            for number, ranked in enumerate(problem.tables, start=1)
        ),
        targets=(f"Solves are compared at {problem.answer.at('solve')}, gradients at {problem.answer.at('gradient')}."),
        why=tuple(_why(traces)),
        lead=lead,
        second=second,
        figures=tuple(figure for figure in others if figure is not None),
        model=model_view(id_, entry, cells, places),
        training=places.table(f"{id_}training", training_table(trained)) if trained else None,
        stability=None if stability is None else places.table(f"{id_}stability", stability),
        kept=tuple(drift_lines(cells))[1:],
        untimed="" if comparison.rows else _untimed(traces),
        failed=_failed(cells) if comparison.rows else "",
        left_out=budget.told(name, cells, loaded.name),
    )


_FIRST = ("gradient-precision", "work-precision", "training", "latency")
"""Kinds of figures by their interest; others follow as they come."""


def _by_interest(drawn: Iterable[Figure]) -> list[Figure | None]:
    """The figures with one of the first kind that there is, and one of the next, in front; at least two entries."""
    left = list(drawn)
    front: list[Figure | None] = []
    for kind in _FIRST:
        found = next((figure for figure in left if figure.kind == kind), None)
        if found is not None and len(front) < 2 and not (kind == "work-precision" and front):
            front.append(found)
            left.remove(found)
    front += [left.pop(0) if left else None for _ in range(2 - len(front))]
    return [*front, *left]


def _ranked(problem: ProblemAnalysis, places: Places, id_: str) -> Table | None:
    """The best way of each library by cost, ``None`` if none has a cost."""
    found = problem.recommendation
    return None if found is None or not found.ways else places.table(id_, library_table(found))


def _untimed(traces: Sequence[RecordEntry]) -> str:
    if not traces:
        return "Nothing was measured of this problem."
    return "No cell of this problem has a time to show; see the failures below."


def _division(
    id_: str,
    ranked: RankedTable,
    comparison: Comparison,
    loaded: LoadedRun,
    places: Places,
    budget: PageBudget,
) -> Division:
    table = ranked.table
    found = ranked.rankings.get("gradient") or ranked.rankings.get("solve")
    timed = found is not None and any(time_of(row, found.quantity).seconds is not None for row in table.rows)
    comparisons = tuple(explained(found, table.rows, comparison, places, budget)) if found and timed else ()
    return Division(
        id=id_,
        name=table.name,
        meaning=table.meaning,
        table=places.table(id_, cell_table(ranked), f"Times, errors and memory of {comparison.problem}, {table.name}"),
        within=fastest_sentence(found, comparison, loaded.analysis.why_not_comparable)
        if found and ranked.within_group
        else "",
        quantity=found.quantity if found else "",
        fastest=found.fastest.name if found else "",
        comparisons=comparisons,
        shared=tuple(_shared(comparisons)),
    )


def _shared(comparisons: Sequence[Explained]) -> Iterator[Item]:
    """The fairness items that are the same in all comparisons of a table, if there are several."""
    if len(comparisons) > 1:
        first, *others = comparisons
        yield from (item for item in first.items if all(item in other.items for other in others))


def _failed(cells: Sequence[CellSummary]) -> str:
    """The cells that are in no table because they failed from the first call on; the first few by name."""
    names = [f"{cell.cell.solver} ({cell.outcome})" for cell in cells if cell.outcome is not None and not cell.timed]
    if not names:
        return ""
    more = f" and {len(names) - _MOST_FAILED} more" if len(names) > _MOST_FAILED else ""
    return f"Not in the tables, since nothing succeeded: {', '.join(names[:_MOST_FAILED])}{more}; see the failures."


def _why(traces: Sequence[RecordEntry]) -> Iterator[str]:
    """Return why to believe the numbers of a problem, or why not."""
    kinds = sorted({str(trace.reference_kind or "none") for trace in traces})
    if traces:
        yield _REFERENCES.get(kinds[0] if len(kinds) == 1 else "", f"References: {', '.join(kinds)}.")
    blocks = len({trace.block for trace in traces})
    if blocks > 1:
        yield (
            f"Every cell ran in {blocks} blocks, each in a fresh process and in random order next to its rivals"
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
    "extended": "Output, loss and gradient are compared with the same model in extended precision, at every batch.",
    "double": "Errors are measured against a tight double-precision solve, which certifies nothing.",
    "none": "Without a reference, errors are unknown and times are compared at equal tolerances.",
}
