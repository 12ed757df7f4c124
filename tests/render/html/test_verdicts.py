"""Who wins where, in words."""

from __future__ import annotations

import random

import pytest
from stubs.reported import cell, plan, point, record

from sciml_bench.analysis.ranking import standings
from sciml_bench.analysis.rows import compare, tables
from sciml_bench.analysis.summary import summarise
from sciml_bench.render.html.verdicts import standing_text, win


@pytest.mark.parametrize(
    ("factors", "told"),
    [
        ((1.0, 3.0), "faster than the other one, by a factor of 3.00"),
        ((1.0, 3.0, 5.0), "faster than all 2 others, by a factor of 3.00 or more"),
    ],
)
def test_the_factor_is_the_least_of_several_and_the_only_one_of_one(factors, told):
    generator = random.Random(3)
    cells = [cell(f"m{index}") for index in range(len(factors))]
    records = [
        record(which, [point(1e-4, gradient_ms=factor * generator.lognormvariate(0.0, 0.005))], block=block)
        for block in range(10)
        for which, factor in zip(cells, factors, strict=True)
    ]
    comparison = compare("robertson", summarise(plan(cells), records).of_problem("robertson"))
    (table,) = tables(comparison)
    won = win(table, standings([table]).of_table[0], comparison, comparable=True)
    assert won is not None
    assert standing_text(won) == told
