"""Best choice and break-even."""

from __future__ import annotations

from dataclasses import replace

import pytest
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.analysis.advice.break_even import find_break_even
from sciml_bench.analysis.ranking import Lead
from sciml_bench.analysis.rows import compare
from sciml_bench.analysis.tables import footnotes


def rows(costs, blocks=3):
    """Rows of cells with (seconds to the first gradient, milliseconds per gradient)."""
    cells = {cell(name): cost for name, cost in costs.items()}
    records = [
        record(
            which,
            [point(1e-4, gradient_ms=each_ms * (1 + 0.1 * block))],
            block=block,
            time_to_first_gradient_ns={"process": round(first_s * 1e9), "built": 1},
        )
        for which, (first_s, each_ms) in cells.items()
        for block in range(blocks)
    ]
    return compare("robertson", summarise(plan(list(cells)), records).of_problem("robertson")).rows


def method(row):
    return row.summary.cell.method


def test_a_fast_start_wins_for_few_and_fast_gradients_for_many():
    found = find_break_even(rows({"eager": (1.0, 100.0), "compiled": (11.0, 1.0)}))
    assert found is not None
    assert [(item.gradients, method(item.row)) for item in found.best] == [
        (10, "eager"),
        (1_000, "compiled"),
        (100_000, "compiled"),
    ]
    (overtaking,) = found.overtakings
    # 1 + (n - 1) 0.11 > 11 + (n - 1) 0.0011 at the medians of three blocks.
    assert overtaking.gradients == 93
    assert (method(overtaking.early), method(overtaking.late)) == ("eager", "compiled")
    assert overtaking.decided
    assert overtaking.low is not None
    assert overtaking.high is not None
    assert overtaking.low < 86 < 103 < overtaking.high
    assert overtaking.blocks == 3


def test_three_cells_overtake_each_other_in_turn():
    found = find_break_even(rows({"a": (1.0, 100.0), "b": (2.0, 50.0), "c": (30.0, 1.0), "never": (40.0, 60.0)}))
    assert found is not None
    assert [(method(item.early), method(item.late)) for item in found.overtakings] == [("a", "b"), ("b", "c")]
    assert found.overtakings[0].gradients < found.overtakings[1].gradients


def test_one_that_starts_first_and_runs_fastest_is_never_overtaken():
    found = find_break_even(rows({"a": (1.0, 1.0), "b": (2.0, 50.0)}))
    assert found is not None
    assert found.overtakings == ()
    assert {method(item.row) for item in found.best} == {"a"}


def test_those_that_are_the_same_are_named():
    found = find_break_even(rows({"a": (1.0, 100.0), "b": (1.01, 100.0)}))
    assert found is not None
    assert found.best[0].lead is Lead.SAME
    assert [method(item.row) for item in found.best[0].tied] == ["b"]
    lines = footnotes.best_choice(found)
    assert any("(the same within 5 %: diffrax b discrete jit)" in line for line in lines)


def test_three_blocks_do_not_tell_apart_what_is_30_percent_apart():
    """The least total is that of one of them, but fewer than five processes name no winner below a factor of two."""
    found = find_break_even(rows({"a": (1.0, 100.0), "b": (1.3, 130.0)}))
    assert found is not None
    assert {item.lead for item in found.best} == {Lead.UNDECIDED}
    assert [method(item.row) for item in found.best[0].tied] == ["b"]
    lines = list(footnotes.best_choice(found))
    assert lines[1].endswith("undecided: diffrax a discrete jit, or diffrax b discrete jit")


def test_one_block_decides_nothing():
    found = find_break_even(rows({"a": (1.0, 100.0), "b": (9.0, 1.0)}, blocks=1))
    assert found is not None
    assert {item.lead for item in found.best} == {Lead.UNDECIDED}
    (overtaking,) = found.overtakings
    assert (overtaking.low, overtaking.high, overtaking.decided) == (None, None, False)


def test_what_is_known_from_above_only_is_not_called_more_expensive():
    made = list(rows({"a": (1.0, 100.0), "b": (9.0, 300.0)}, blocks=5))
    clear = find_break_even(made)
    assert clear is not None
    assert clear.best[0].lead is Lead.CLEAR
    made[1] = replace(made[1], gradient=replace(made[1].gradient, at_most=True))
    found = find_break_even(made)
    assert found is not None
    assert {item.lead for item in found.best} == {Lead.UNDECIDED}


def test_cells_without_a_common_block_are_not_judged():
    made = list(rows({"a": (1.0, 100.0), "b": (9.0, 300.0)}, blocks=2))
    moved = [replace(process, block=process.block + 2) for process in made[1].summary.processes]
    elsewhere = replace(made[1].gradient, blocks={block + 2: s for block, s in made[1].gradient.blocks.items()})
    made[1] = replace(made[1], summary=replace(made[1].summary, processes=moved), gradient=elsewhere)
    found = find_break_even(made)
    assert found is not None
    assert {item.lead for item in found.best} == {Lead.UNDECIDED}
    assert found.best[0].tied[0].judgement is None
    assert found.family == 0


@pytest.mark.parametrize("costs", [{}, {"a": (1.0, 1.0)}])
def test_without_two_cells_there_is_no_choice(costs):
    assert find_break_even(rows(costs)) is None


def test_sentences():
    found = find_break_even(rows({"eager": (1.0, 100.0), "compiled": (11.0, 1.0)}))
    assert found is not None
    lines = list(footnotes.best_choice(found))
    assert lines[1] == "  for      10 gradients   1.99 s  diffrax eager discrete jit"
    assert lines[3] == "  for 100 000 gradients    2 min  diffrax compiled discrete jit"
    assert lines[4] == (
        "  diffrax compiled discrete jit overtakes diffrax eager discrete jit from 93 gradients on (95 %: 75 to 117)"
    )
