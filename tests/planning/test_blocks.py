"""Randomised complete blocks."""

from __future__ import annotations

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from sciml_bench.planning.blocks import blocks, input_seed
from sciml_bench.planning.cells import Planned
from sciml_bench.record.task import Cell


def cells(problems: int, per_problem: int) -> list[Planned]:
    return [
        Planned(Cell(f"p{problem}", f"a{k}", "m", "s", "eager"), "idiomatic")
        for k in range(per_problem)
        for problem in range(problems)
    ]


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 4), st.integers(0, 1000))
def test_every_block_runs_every_cell_once_and_a_problem_in_one_stretch(problems, per_problem, processes, seed):
    planned = cells(problems, per_problem)
    slots = list(blocks(planned, processes, seed))
    for block in range(processes):
        mine = [slot for slot in slots if slot.block == block]
        assert sorted(slot.index for slot in mine) == list(range(len(planned)))
        assert [slot.order for slot in mine] == list(range(len(planned)))
        stretches = [name for name, _ in groupby(planned[slot.index].cell.problem for slot in mine)]
        assert len(stretches) == problems


def test_the_seed_alone_decides_the_order():
    planned = cells(3, 4)
    assert list(blocks(planned, 3, 7)) == list(blocks(planned, 3, 7))
    assert list(blocks(planned, 3, 7)) != list(blocks(planned, 3, 8))


def test_never_all_of_one_adapter_and_then_all_of_another():
    """Mistake 9 of the methodology: over the blocks, each adapter comes first about as often."""
    planned = cells(1, 2)
    first = [slot.index for slot in blocks(planned, 200, 0) if slot.order == 0]
    assert 70 < sum(first) < 130


def test_inputs_vary_alike_for_all_cells_of_a_problem_and_differ_between_blocks():
    assert input_seed(1, "p", 0) == input_seed(1, "p", 0)
    assert len({input_seed(1, "p", 0), input_seed(1, "p", 1), input_seed(1, "q", 0), input_seed(2, "p", 0)}) == 4
