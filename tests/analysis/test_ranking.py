"""Verdicts between the rows of a table."""

from __future__ import annotations

import dataclasses
import random

import pytest
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.analysis.advice.break_even import find_break_even
from sciml_bench.analysis.ranking import QUANTITIES, Judged, Lead, ranking
from sciml_bench.analysis.row_tables import tables
from sciml_bench.analysis.rows import compare
from sciml_bench.analysis.tables import footnotes
from sciml_bench.stats.verdict import Verdict


def ladder(generator, factor, **changes):
    process = factor * generator.lognormvariate(0.0, 0.01)
    return [
        point(1e-4, solve_ms=process, gradient_ms=2 * process, mescd=4.0, gradient_error=1e-3, **changes),
        point(1e-8, solve_ms=100 * process, gradient_ms=200 * process, mescd=8.0, gradient_error=1e-7, **changes),
    ]


def made_tables(factors, blocks=10, groups=None):
    """The tables of a run whose cells take these times as long."""
    generator = random.Random(3)
    cells = [cell(f"m{index}") for index in range(len(factors))]
    records = [
        record(which, ladder(generator, factor), block=block)
        for block in range(blocks)
        for which, factor in zip(cells, factors, strict=True)
    ]
    made = plan(cells)
    for index, group in (groups or {}).items():
        made["cells"][index]["group"] = group
    return tuple(tables(compare("robertson", summarise(made, records).of_problem("robertson"))))


def standings(table):
    """How the rows of a table stand against its fastest, judged among all pairs of its rows."""
    judged = judged_of(table)
    rankings = [ranking(table.rows, quantity, judged) for quantity in QUANTITIES]
    return [item for found in rankings if found is not None for item in found.standings]


def judged_of(table):
    comparison = compare("robertson", [row.summary for row in table.rows])
    return Judged({"robertson": dataclasses.replace(comparison, rows=table.rows)})


def verdicts(table, found):
    return {(item.quantity, item.row.summary.cell.method): item.judgement.verdict for item in found}


def test_every_row_is_set_against_the_fastest():
    (table,) = made_tables([2.0, 1.0, 1.001])
    found = standings(table)
    assert {item.fastest.summary.cell.method for item in found} <= {"m1", "m2"}
    told = verdicts(table, found)
    assert told["gradient", "m0"] is Verdict.SLOWER
    assert Verdict.SAME in told.values()
    assert Verdict.FASTER not in told.values()
    assert len(found) == 4
    assert judged_of(table).family == 6


def test_the_family_are_all_pairs_of_a_problem():
    """The fastest is chosen by looking, so its comparisons alone would not be a family stated in advance."""
    shown = made_tables([1.0, 1.5, 2.0, 2.5], groups={0: "one", 1: "one"})
    assert [len(table.rows) for table in shown] == [4, 2]
    assert judged_of(shown[0]).family == 2 * 6


def test_one_process_decides_nothing():
    (table,) = made_tables([1.0, 3.0], blocks=1)
    assert {item.judgement.verdict for item in standings(table)} == {Verdict.UNDECIDED}
    assert judged_of(table).family == 0


def test_the_only_row_with_a_time_is_no_winner_of_a_comparison():
    (table,) = made_tables([1.0])
    found = ranking(table.rows, "gradient", judged_of(table))
    assert found is not None
    assert found.lead is Lead.ALONE
    assert found.verdict(table.rows[0]) == ""


def test_no_time_no_ranking():
    assert ranking((), "gradient", None) is None


def provisional(factors, spread=0.05, blocks=3):
    """The word on a run that other work disturbed: times of these factors, scattered by so much."""
    generator = random.Random(3)
    cells = [cell(f"m{index}") for index in range(len(factors))]
    records = [
        record(which, [point(1e-4, gradient_ms=factor * generator.lognormvariate(0.0, spread))], block=block)
        for block in range(blocks)
        for which, factor in zip(cells, factors, strict=True)
    ]
    rows = compare("robertson", summarise(plan(cells), records).of_problem("robertson")).rows
    found = ranking(rows, "gradient", None, disturbed=True)
    assert found is not None
    return found.lead


def test_a_provisional_winner_is_apart_from_all_others_in_every_block():
    assert provisional([1.0, 3.5, 9.0]) is Lead.PROVISIONAL
    assert provisional([1.0, 1.5, 9.0]) is Lead.SHOWN
    assert provisional([1.0, 3.5], spread=1.0) is Lead.SHOWN
    assert provisional([1.0, 3.5], blocks=2) is Lead.SHOWN
    assert provisional([1.0]) is Lead.SHOWN


def test_a_run_that_is_not_compared_has_no_provisional_winner():
    (table,) = made_tables([1.0, 9.0])
    found = ranking(table.rows, "gradient", None)
    assert found is not None
    assert found.lead is Lead.SHOWN


@pytest.mark.parametrize("ways", [2, 5, 12])
def test_disturbed_equals_have_hardly_ever_a_provisional_winner(ways):
    """One process in three is held up threefold: equal ways are called apart in at most 5 % of runs."""
    generator = random.Random(ways)
    named = 0
    for _ in range(200):
        cells = [cell(f"m{index}") for index in range(ways)]
        records = [
            record(which, [point(1e-4, gradient_ms=3.0 if generator.random() < 1 / 3 else 1.0)], block=block)
            for block in range(3)
            for which in cells
        ]
        rows = compare("robertson", summarise(plan(cells), records).of_problem("robertson")).rows
        found = ranking(rows, "gradient", None, disturbed=True)
        named += found is not None and found.lead is Lead.PROVISIONAL
    assert named <= 10


def test_a_row_that_is_known_from_above_only_is_not_called_slower():
    generator = random.Random(1)
    cells = [cell("a"), cell("b")]
    records = [
        record(which, points, block=block)
        for block in range(10)
        for which, points in (
            (cells[0], ladder(generator, 1.0)),
            (cells[1], [point(1e-4, solve_ms=900 + block, gradient_ms=900 + block, mescd=9.0, gradient_error=1e-9)]),
        )
    ]
    shown = tuple(tables(compare("robertson", summarise(plan(cells), records).of_problem("robertson"))))
    found = standings(shown[0])
    (gradient,) = [item for item in found if item.quantity == "gradient"]
    assert gradient.row.gradient.at_most
    assert gradient.judgement.verdict is Verdict.UNDECIDED
    ranked = ranking(shown[0].rows, "gradient", judged_of(shown[0]))
    assert ranked is not None
    assert any("(known from above only)" in line for line in footnotes.verdicts([ranked]))


def test_sentences():
    (table,) = made_tables([1.0, 2.0])
    ranked = ranking(table.rows, "gradient", judged_of(table))
    assert ranked is not None
    lines = list(footnotes.verdicts([ranked]))
    assert lines[0] == "gradient: fastest is diffrax m0 discrete jit; against it"
    assert lines[1].startswith("  slower     ")
    assert lines[1].endswith("diffrax m1 discrete jit")


@pytest.mark.parametrize("seed", range(5))
def test_equal_rows_have_no_winner(seed):
    """Ten rows of one program: the fastest of them by chance is not called faster than the slowest."""
    generator = random.Random(seed)
    cells = [cell(f"m{index}") for index in range(10)]
    records = [record(which, ladder(generator, 1.0), block=block) for block in range(10) for which in cells]
    shown = tuple(tables(compare("robertson", summarise(plan(cells), records).of_problem("robertson"))))
    found = standings(shown[0])
    assert not {Verdict.FASTER, Verdict.SLOWER} & {item.judgement.verdict for item in found}


def shifted(generator, factor, digits):
    """A ladder whose tolerances achieve so many digits more, at what these cost on the same front."""
    process = factor * generator.lognormvariate(0.0, 0.002)
    return [
        point(
            rtol, solve_ms=process * 10 ** ((have + digits) / 2), gradient_ms=2 * process * 10 ** ((have + digits) / 2),
            mescd=have + digits, gradient_error=10 ** -(have + digits - 1),
        )
        for rtol, have in ((1e-4, 4.0), (1e-6, 6.0), (1e-8, 8.0))
    ]  # fmt: skip


def shifted_table(factor, digits):
    generator = random.Random(7)
    cells = [cell("m0"), cell("m1")]
    records = [
        record(which, shifted(generator, by, more), block=block)
        for block in range(10)
        for which, by, more in zip(cells, (1.0, factor), (0.0, digits), strict=True)
    ]
    (table,) = tables(compare("robertson", summarise(plan(cells), records).of_problem("robertson")))
    return table


def test_a_small_gap_at_equal_accuracy_is_no_verdict_where_other_tolerances_could_turn_it():
    """8 % between fronts of different digits is what a shifted ladder may make; between equal steps it is a fact."""
    apart, alike = shifted_table(1.08, 0.3), shifted_table(1.08, 0.0)
    found, equal = standings(apart), standings(alike)
    assert set(verdicts(apart, found).values()) == {Verdict.UNDECIDED}
    assert set(verdicts(alike, equal).values()) == {Verdict.SLOWER}
    for item in found:
        assert item.judgement.ratio.fixed_sd > 0.03
        assert item.judgement.more_processes is None, "more processes would not decide it"
    assert {item.judgement.ratio.fixed_sd for item in equal} == {0.0}


def test_a_large_gap_is_a_verdict_also_there():
    table = shifted_table(1.5, 0.3)
    found = standings(table)
    assert set(verdicts(table, found).values()) == {Verdict.SLOWER}


def test_the_cheapest_is_undecided_only_where_its_gradients_count():
    """For few gradients the start decides, which is read off no front."""
    found = find_break_even(shifted_table(1.08, 0.3).rows)
    assert found is not None
    assert found.best[-1].lead is Lead.UNDECIDED
    equal = find_break_even(shifted_table(1.08, 0.0).rows)
    assert equal is not None
    assert equal.best[-1].lead is Lead.CLEAR
