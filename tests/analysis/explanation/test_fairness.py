"""The fairness checklist: every item from the records, and each can fail."""

from __future__ import annotations

from typing import Any

import pytest
from stubs import paged

from sciml_bench.analysis.explanation.fairness import Item, Side, State, checklist, tally
from sciml_bench.analysis.loaded_run import read_run
from sciml_bench.analysis.rows import compare
from sciml_bench.record.task import Cell

DIFFRAX, SCIPY = paged.CELLS[0], paged.CELLS[1]


def items(tmp_path, change=None, **options: Any) -> dict[str, Item]:
    """The checklist of the first two cells of Robertson; ``change`` is made to every record before it is read."""
    run = paged.run(tmp_path, cells=options.pop("cells", (DIFFRAX, SCIPY)), blocks=4, **options)
    paged.rewrite(run, lambda record: record | {"noisy": [], "waited_s": 1.5})
    if change is not None:
        paged.rewrite(run, change)
    loaded = read_run(run)
    comparison = compare("robertson", loaded.summary.of_problem("robertson"))
    traces = loaded.counting()
    a, b = (Side(row, traces.get(row.summary.cell_id, [])) for row in comparison.rows)
    found = checklist(a, b, comparison.gradient_target, "gradient")
    return {item.what: item for item in found}


def of_scipy(**changes: Any):
    """A change to the records of SciPy alone."""
    return lambda record: record | (changes if record["cell"]["adapter"] == "scipy" else {})


def test_a_fair_comparison_of_two_libraries_fails_only_in_what_they_choose(tmp_path):
    found = items(tmp_path)
    failing = {what for what, item in found.items() if item.state is not State.PASS}
    assert failing == {"same family and order of the method", "same sensitivity", "same compile mode"}
    assert found["same equations"].evidence.endswith("in all 8 records")
    assert found["equal accuracy reached"].evidence == "both times are read at 4.0 digits, between measured tolerances"
    assert found["same inputs"].evidence == "the same seed in each of 4 blocks"
    assert found["same compile mode"].evidence == "compiled against eager"


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("same equations", {"spec_hash": "another"}),
        ("same hardware and software", {"environment_hash": "another"}),
        ("same inputs", {"seed": 99}),
        ("steady loops in turns", {"waited_s": 0.0}),
        ("same number of threads, read back", {"threads": {"affinity": "0,1"}}),
        ("no process was disturbed", {"noisy": ["load: the load average was 9 before the start (limit 3)"]}),
        ("compile caches as stated", {"compile_cache_hits": 3}),
        ("errors measured against a trusted reference", {"reference_kind": "double"}),
    ],
)
def test_what_differs_fails_with_its_evidence(tmp_path, what, changes):
    item = items(tmp_path, of_scipy(**changes))[what]
    assert item.state is State.FAIL
    assert item.evidence


def test_blocks_may_lie_on_different_machines_but_not_the_two_sides_of_one(tmp_path):
    """What is paired is within a block."""
    apart = items(tmp_path / "a", lambda record: record | {"environment_hash": f"machine {record['block'] % 2}"})
    assert apart["same hardware and software"].state is State.PASS
    assert apart["same hardware and software"].evidence.endswith("2 environments over all blocks")
    mixed = items(tmp_path / "b", lambda record: record | ({"environment_hash": "x"} if _last_of_scipy(record) else {}))
    assert mixed["same hardware and software"].state is State.FAIL
    assert mixed["same hardware and software"].evidence.endswith("they differ within block 3")


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("same number of threads, read back", {"threads": {}}),
        ("same equations", {"spec_hash": ""}),
        ("errors measured against a trusted reference", {"reference_kind": None}),
    ],
)
def test_what_is_not_told_is_unknown_and_does_not_pass(tmp_path, what, changes):
    assert items(tmp_path, of_scipy(**changes))[what].state is State.UNKNOWN


def test_blocks_of_one_side_only(tmp_path):
    run = items(tmp_path, lambda record: record | ({"block": 9} if _last_of_scipy(record) else {}))
    assert run["measured in the same blocks"].state is State.FAIL
    assert run["measured in the same blocks"].evidence == "only one of them was measured in block 3, 9"


def _last_of_scipy(record: dict[str, Any]) -> bool:
    return record["cell"]["adapter"] == "scipy" and record["block"] == 3


def test_two_sources_of_one_cell(tmp_path):
    found = items(tmp_path, lambda record: record | ({"source_hash": "other"} if _last_of_scipy(record) else {}))
    assert found["one source for scipy radau"].state is State.FAIL
    assert found["one source for diffrax kvaerno5"].state is State.PASS


def test_a_time_that_is_a_bound_is_no_equal_accuracy(tmp_path):
    def more_accurate(record):
        if record["cell"]["adapter"] == "scipy":
            for point in record["points"]:
                point["gradient"]["scores"]["error"] *= 1e-3
        return record

    item = items(tmp_path, more_accurate)["equal accuracy reached"]
    assert item.state is State.FAIL
    assert "is more accurate than" in item.evidence


def test_without_reference_equal_accuracy_is_not_known(tmp_path):
    def bare(record):
        for point in record["points"]:
            point["gradient"]["scores"] = point["solve"]["scores"] = None
        return record

    assert items(tmp_path, bare)["equal accuracy reached"].state is State.UNKNOWN


def test_fixed_steps_are_no_equal_tolerances(tmp_path):
    fixed = Cell("robertson", "torchdiffeq", "rk4", "discrete", "eager")
    from stubs import compared

    def make(_cell, block):
        import random

        return compared.points(random.Random(block), 1.0)

    item = items(tmp_path, cells=(DIFFRAX, fixed), make=make)["same tolerances tried"]
    assert item.state is State.FAIL
    assert "rk4 takes fixed steps" in item.evidence


def test_unsettled_loops(tmp_path):
    def unsettled(record):
        record["points"][0]["gradient"]["steady"] = {"class": "none", "start": 0, "changepoints": []}
        return record

    assert items(tmp_path, unsettled)["timed loops settled"].state is State.FAIL


def test_cells_without_records_have_no_checklist(tmp_path):
    run = paged.run(tmp_path, cells=(DIFFRAX, SCIPY), blocks=2)
    comparison = compare("robertson", read_run(run).summary.of_problem("robertson"))
    found = checklist(
        Side(comparison.rows[0], []), Side(comparison.rows[1], []), comparison.gradient_target, "gradient"
    )
    assert [item.state for item in found] == [State.UNKNOWN]
    assert tally(found) == {State.PASS: 0, State.FAIL: 0, State.UNKNOWN: 1}
