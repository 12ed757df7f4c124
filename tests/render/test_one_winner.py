"""No rendering of a stored run names two winners of one question."""

from __future__ import annotations

import datetime
import html
import io
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from sciml_bench import api
from sciml_bench.analysis.ranking import QUANTITIES, Lead
from sciml_bench.export.answers import COLUMNS, answer_rows
from sciml_bench.export.cells import lines
from sciml_bench.record.run_folder import find_run
from sciml_bench.render.document import run_document
from sciml_bench.render.html.page import report
from sciml_bench.render.terminal import console_for, print_run

RESULTS = Path(__file__).parents[2] / "results"
STORED = sorted(path.parent for path in RESULTS.rglob("plan.json"))

_SENTENCE = re.compile(r"(?:Fastest|fastest) (gradient|solve) at .+?(?:: | is )(?P<way>[\w. -]+?), (?:≤ )?\d")
_LINE = re.compile(r"^(gradient|solve): fastest(?:, and the same as others,)? is (?P<way>[^;]+);", re.MULTILINE)


def named(text: str) -> Iterator[tuple[str, str]]:
    """Every quantity and the way that a text calls the fastest, outside groups of matched ways."""
    text = "\n".join(line for line in text.splitlines() if "Within this group" not in line)
    for pattern in (_SENTENCE, _LINE):
        for found in pattern.finditer(text):
            yield found[1], found["way"].strip()


def by_problem(text: str, problems: list[str]) -> dict[str, str]:
    """The parts of a text that begin with the name of a problem alone, or with a colon after it, joined."""
    parts: dict[str, str] = defaultdict(str)
    now = ""
    for line in text.splitlines():
        head = line.partition(":")[0].strip()
        now = head if head in problems else now
        parts[now] += line + "\n"
    return parts


@pytest.mark.parametrize("folder", STORED, ids=lambda path: path.name)
def test_terminal_document_and_exports_name_the_winner_of_the_answer(folder):
    run = api.load(folder)
    analysis = run.analysis
    stream = io.StringIO()
    print_run(analysis, console_for(stream))
    parts = by_problem(stream.getvalue(), [problem.name for problem in analysis.problems])
    document = {entry["problem"]: entry["answer"] for entry in run_document(analysis)["problems"]}
    rows = {row[1]: dict(zip([c.name for c in COLUMNS], row, strict=True)) for row in answer_rows(analysis)}
    for problem in analysis.problems:
        answer = problem.answer
        fastest = {quantity: found.fastest for quantity, found in answer.rankings.items()}
        for quantity, way in named(parts[problem.name]):
            assert fastest[quantity].name == way
        for quantity in QUANTITIES:
            told = document[problem.name][quantity]
            assert (told is None) == (quantity not in fastest)
            assert told is None or told["cell"] == fastest[quantity].summary.cell.label
        # Of the tables that are not about a group.
        of_problem = [line for line in lines(analysis) if line.problem == problem.name]
        shown = [line for line in of_problem if line.row is not None and not line.table.startswith("matched")]
        for quantity in QUANTITIES:
            ids = {line.cell.cell_id for line in shown if line.verdict(quantity) == "fastest"}
            clear = quantity in fastest and answer.rankings[quantity].lead is Lead.CLEAR
            winner = {fastest[quantity].summary.cell_id} if clear else set()
            assert ids == winner & {line.cell.cell_id for line in shown}
        if answer.ranking is not None:
            cell = answer.ranking.fastest.summary.cell
            assert (rows[problem.name]["adapter"], rows[problem.name]["method"]) == (cell.adapter, cell.method)


@pytest.mark.parametrize("folder", STORED, ids=lambda path: path.name)
def test_break_even_names_the_cheapest_of_the_answer(folder):
    run = api.load(folder)
    chosen = {problem.name: problem.answer.choice for problem in run.analysis.problems}
    for problem, choice in chosen.items():
        for chart in run.charts("break-even", problem):
            cheapest = [row[chart.columns.index("cheapest_from")] for row in chart.rows]
            told = sorted(number for number in cheapest if isinstance(number, int))
            assert choice is None or told == [1, *(item.gradients for item in choice.overtakings)]


def test_the_page_names_the_winner_of_the_answer():
    folder = RESULTS / "stiff-quick"
    text = html.unescape(
        re.sub(r"<[^>]+>", " ", report([find_run(folder, RESULTS)], datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)))
    )
    winners = {
        (quantity, found.fastest.name)
        for problem in api.load(folder).analysis.problems
        for quantity, found in problem.answer.rankings.items()
    }
    said = set(named(" ".join(text.split()).replace("Within this group:", "\nWithin this group:")))
    assert said
    assert said <= winners
