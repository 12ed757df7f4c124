"""Comparisons of runs that were made by hand, with times known to the last digit."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

import pytest
from stubs import compared as stub
from stubs.reported import cell

from sciml_bench.analysis.comparison.compare import Comparison, compare_runs, compare_selections
from sciml_bench.analysis.comparison.requirements import changes, refusals
from sciml_bench.analysis.comparison.series import Quantity
from sciml_bench.analysis.comparison.sides import Side, read_side
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.run_folder import Run
from sciml_bench.render.comparison import HEADINGS, comparison_head, comparison_rows, comparison_table
from sciml_bench.render.comparison_document import comparison_document
from sciml_bench.stats.verdict import Verdict

FAST, SLOW = stub.CELLS


def side(run: Run) -> Side:
    def refuse(line: object) -> None:
        raise AssertionError(line)

    return read_side(run, refuse)


def compared(base: Run, new: Run, band: float = 0.05, **options: Any) -> Comparison:
    return compare_runs(side(base), side(new), band=band, **options)


def verdicts(comparison: Comparison) -> dict[tuple[str, str], Verdict]:
    return {(line.series.new_label, line.series.quantity): line.judgement.verdict for line in comparison.lines}


def whole(comparison: Comparison, width: int = 80) -> str:
    return "\n".join([*comparison_head(comparison, width), *comparison_table(comparison, width)])


def test_the_same_program_is_the_same(tmp_path: Path):
    comparison = compared(stub.run(tmp_path, "a"), stub.run(tmp_path, "b", seed=2))
    assert set(verdicts(comparison).values()) == {Verdict.SAME}
    assert not comparison.worse
    assert comparison.effect is None
    assert len(comparison.lines) == 2 * 4


def test_a_slower_cell_is_found_and_only_that_one(tmp_path: Path):
    comparison = compared(stub.run(tmp_path, "a"), stub.run(tmp_path, "b", seed=2, factors={FAST: 2.4}))
    found = verdicts(comparison)
    assert found[FAST.label, Quantity.GRADIENT] is Verdict.SLOWER
    assert found[FAST.label, Quantity.SOLVE] is Verdict.SLOWER
    assert found[SLOW.label, Quantity.GRADIENT] is Verdict.SAME
    assert comparison.worse
    line = next(line for line in comparison.lines if line.series.quantity is Quantity.SOLVE)
    assert line.judgement.ratio.estimate == pytest.approx(2.4, rel=0.02)
    assert line.judgement.ratio.n == 10
    assert line.series.at == "rtol 1e-4, 1e-6"


def test_faster_is_the_other_way_round(tmp_path: Path):
    comparison = compared(stub.run(tmp_path, "a", factors=2.4), stub.run(tmp_path, "b", seed=2))
    assert set(verdicts(comparison).values()) == {Verdict.FASTER}
    assert not comparison.worse


def test_the_family_is_stated(tmp_path: Path):
    comparison = compared(stub.run(tmp_path, "a"), stub.run(tmp_path, "b", seed=2))
    assert comparison.family == (
        "8 comparisons: 2 cells × 1st gradient from start, 1st gradient from built, solve, gradient"
    )
    assert "family: 8 comparisons: 2 cells" in whole(comparison)


def test_each_tolerance_can_have_its_own_line(tmp_path: Path):
    comparison = compared(stub.run(tmp_path, "a"), stub.run(tmp_path, "b", seed=2), each_tolerance=True)
    assert {line.series.at for line in comparison.lines if line.series.quantity is Quantity.SOLVE} == {
        "rtol 1e-4",
        "rtol 1e-6",
    }


def test_many_iterations_of_one_process_decide_nothing(tmp_path: Path):
    """Pooled iterations treated as independent find a difference between a program and itself."""
    comparison = compared(stub.run(tmp_path, "a", blocks=1), stub.run(tmp_path, "b", blocks=1, factors=3.0))
    assert set(verdicts(comparison).values()) == {Verdict.UNDECIDED}
    assert "a single process shows no spread" in whole(comparison)


def test_three_processes_name_no_winner_below_a_factor_of_two(tmp_path: Path):
    comparison = compared(stub.run(tmp_path, "a", blocks=3), stub.run(tmp_path, "b", blocks=3, factors=1.5))
    assert set(verdicts(comparison).values()) == {Verdict.UNDECIDED}
    assert set(
        verdicts(compared(stub.run(tmp_path, "c", blocks=3), stub.run(tmp_path, "d", blocks=3, factors=3.0))).values()
    ) == {Verdict.SLOWER}


def test_a_cell_that_no_longer_works_is_a_result_and_comes_first(tmp_path: Path):
    def broken(which: Any, block: int) -> list[Any]:
        return stub.failed_points() if which == SLOW else stub.points(random.Random(block), 1.0)

    comparison = compared(stub.run(tmp_path, "a"), stub.run(tmp_path, "b", make=broken))
    assert [(item.label, item.what) for item in comparison.lost] == [(SLOW.label, "timeout")]
    assert comparison.worse
    shown = whole(comparison)
    assert shown.index("LOST: worked in BASE") < shown.index("same")
    assert "timeout: timeout at 0.0001" in shown
    assert {(item.label, item.reason) for item in comparison.uncompared} == {(SLOW.label, "no time in NEW")}
    back = compared(stub.run(tmp_path, "c", make=broken), stub.run(tmp_path, "d"))
    assert [item.label for item in back.gained] == [SLOW.label]
    assert not back.worse


def test_a_tolerance_that_no_longer_works_is_a_result(tmp_path: Path):
    def broken(which: Any, block: int) -> list[Any]:
        good = stub.points(random.Random(block), 1.0)
        return [good[0], stub.failed_points(Outcome.MAX_STEPS)[1]]

    comparison = compared(stub.run(tmp_path, "a", cells=(FAST,)), stub.run(tmp_path, "b", cells=(FAST,), make=broken))
    assert [(item.what, item.reason) for item in comparison.lost] == [
        ("solve at rtol 1e-6", "max_steps at 1e-06"),
        ("gradient at rtol 1e-6", "max_steps at 1e-06"),
    ]
    assert {line.series.at for line in comparison.lines if line.series.quantity is Quantity.SOLVE} == {"rtol 1e-4"}


def test_cells_of_one_run_only_are_named(tmp_path: Path):
    comparison = compared(stub.run(tmp_path, "a"), stub.run(tmp_path, "b", cells=(FAST, cell("tsit5"))))
    assert comparison.only_base == (SLOW.label,)
    assert comparison.only_new == (cell("tsit5").label,)
    assert "only in BASE" in whole(comparison)


def test_where_errors_differ_times_are_compared_at_equal_error(tmp_path: Path):
    """A fifth faster at a digit less is no speed-up."""
    comparison = compared(
        stub.run(tmp_path, "a", cells=(FAST,)), stub.run(tmp_path, "b", cells=(FAST,), digits=-1.0, factors=0.8)
    )
    line = next(line for line in comparison.lines if line.series.quantity is Quantity.SOLVE)
    assert line.series.at == "mescd 4"
    assert line.judgement.ratio.estimate == pytest.approx(0.8 * 10**0.5, rel=0.03)
    assert line.judgement.verdict is Verdict.SLOWER
    assert "errors differ at rtol 1e-4: 3.0 → 2.0 digits, so compared at equal error" in line.series.notes


def test_equal_errors_and_other_counts_are_told(tmp_path: Path):
    comparison = compared(stub.run(tmp_path, "a", cells=(FAST,)), stub.run(tmp_path, "b", cells=(FAST,), steps=12.0))
    line = next(line for line in comparison.lines if line.series.quantity is Quantity.SOLVE)
    assert line.series.notes == ("counts differ at rtol 1e-4: steps 10 → 12",)
    assert line.series.at == "rtol 1e-4, 1e-6"


def test_equal_seeds_are_no_equal_blocks(tmp_path: Path):
    """A disturbance of block 3 in both runs pairs two that have nothing to do with each other."""
    comparison = compared(stub.run(tmp_path, "a"), stub.run(tmp_path, "b"))
    assert "not paired" in whole(comparison, 200)
    assert all(line.check is None for line in comparison.lines)
    assert all(line.judgement.ratio.serial is None for line in comparison.lines)


def test_a_block_without_a_time_is_left_out_and_named(tmp_path: Path):
    def missing(which: Any, block: int) -> list[Any]:
        return stub.failed_points() if block == 4 else stub.points(random.Random(block), 1.0)

    comparison = compared(stub.run(tmp_path, "a", cells=(FAST,)), stub.run(tmp_path, "b", cells=(FAST,), make=missing))
    line = next(line for line in comparison.lines if line.series.quantity is Quantity.SOLVE)
    assert line.left_out == (4,)
    assert line.judgement.ratio.n == 9
    assert "without block 4: no time on both sides" in whole(comparison)


@pytest.mark.parametrize(
    ("what", "environment", "changed", "record"),
    [
        (
            "cpu.model: Some processor in BASE, Another in NEW",
            {"cpu": {"model": "Another", "governor": "performance"}},
            {},
            {},
        ),
        (
            "cpu.governor: performance in BASE, powersave in NEW",
            {"cpu": {"model": "Some processor", "governor": "powersave"}},
            {},
            {},
        ),
        ("memory_gib: 16 in BASE, 8 in NEW", {"memory_gib": 8}, {}, {}),
        ("gpus: [] in BASE, ['H'] in NEW", {"gpus": ["H"]}, {}, {}),
        (
            "system.machine: x86_64 in BASE, aarch64 in NEW",
            {"system": {"name": "Linux", "machine": "aarch64", "kernel": "6.1"}},
            {},
            {},
        ),
        ("schema of the plan: 1 in BASE, 2 in NEW", {}, {"schema": 2}, {}),
        ("scoring rules of the records: 2 in BASE, 1 in NEW", {}, {}, {"scoring_rules": 1}),
        (
            "specification of robertson: spec of robe… in BASE, other… in NEW",
            {},
            {"problems": [{"name": "robertson", "title": "", "file": None, "spec_hash": "other"}]},
            {},
        ),
        ("threads: 1 in BASE, 2 in NEW", {"threads": 2}, {}, {}),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_difference(
    tmp_path: Path, what: str, environment: dict[str, Any], changed: dict[str, Any], record: dict[str, Any]
):
    base = stub.run(tmp_path, "a", blocks=1)
    new = stub.run(
        tmp_path, "b", blocks=1, environment={**stub.MACHINE, **environment}, changes=changed, record_changes=record
    )
    found = refusals(side(base), side(new))
    assert [str(item) for item in found] == [what]


def test_records_whose_rules_score_alike_are_compared(tmp_path: Path):
    base, new = (
        stub.run(tmp_path, "a", blocks=1),
        stub.run(tmp_path, "b", blocks=1, record_changes={"scoring_rules": 2}),
    )
    assert {record.scoring_rules for record in new.records()} == {2}
    assert refusals(side(base), side(new)) == []


def test_profiles_that_sample_differently_are_refused(tmp_path: Path):
    base, new = stub.run(tmp_path, "a", blocks=1), stub.run(tmp_path, "b", blocks=1, profile="quick")
    assert {item.what for item in refusals(side(base), side(new))} >= {"name of the profile", "sampling of the profile"}


def test_software_may_change_and_is_told(tmp_path: Path):
    newer = {**stub.MACHINE, "packages": {"diffrax": "0.8.0", "jax": "0.5"}}
    base, new = stub.run(tmp_path, "a"), stub.run(tmp_path, "b", environment=newer)
    assert refusals(side(base), side(new)) == []
    told = [str(item) for item in changes(side(base), side(new))]
    assert told == ["packages.diffrax: 0.7.0 in BASE, 0.8.0 in NEW", "packages.jax: nothing in BASE, 0.5 in NEW"]
    assert "  packages.diffrax: 0.7.0 → 0.8.0" in whole(compared(base, new))


def test_selections_of_one_run_are_compared_at_equal_error(tmp_path: Path):
    run = side(stub.run(tmp_path, "a", factors={SLOW: 3.0}))
    comparison = compare_selections(
        run.chosen(lambda label: "diffrax" in label), run.chosen(lambda label: "scipy" in label), band=0.05
    )
    assert not comparison.between_runs
    line = next(line for line in comparison.lines if line.series.quantity is Quantity.GRADIENT)
    assert (line.series.base_label, line.series.new_label) == (FAST.label, SLOW.label)
    assert line.series.at == "gradient error 1.0e-04"
    assert line.judgement.verdict is Verdict.SLOWER
    assert line.judgement.ratio.estimate == pytest.approx(3.0, rel=0.03)


def test_an_upper_bound_is_used_in_the_safe_direction_only(tmp_path: Path):
    """Where the loosest tolerance of a cell is already more accurate, its time at that error is at most its own."""

    def made(which: Any, block: int) -> list[Any]:
        generator = random.Random(f"{which}/{block}")
        return stub.points(generator, 0.2 if which == FAST else 1.0, digits=4.0 if which == FAST else 0.0)

    run = side(stub.run(tmp_path, "a", make=made))
    chosen = [run.chosen(lambda label: "scipy" in label), run.chosen(lambda label: "diffrax" in label)]
    forward = compare_selections(*chosen, band=0.05)
    (solve,) = [line for line in forward.lines if line.series.quantity is Quantity.SOLVE]
    assert (solve.series.bound, solve.judgement.verdict) == ("new", Verdict.FASTER)
    backward = compare_selections(*reversed(chosen), band=0.05)
    (solve,) = [line for line in backward.lines if line.series.quantity is Quantity.SOLVE]
    assert (solve.series.bound, solve.judgement.verdict) == ("base", Verdict.SLOWER)


def test_an_upper_bound_that_proves_nothing_is_undecided(tmp_path: Path):
    def made(which: Any, block: int) -> list[Any]:
        generator = random.Random(f"{which}/{block}")
        return stub.points(generator, 500.0 if which == FAST else 1.0, digits=4.0 if which == FAST else 0.0)

    run = side(stub.run(tmp_path, "a", make=made))
    comparison = compare_selections(
        run.chosen(lambda label: "scipy" in label), run.chosen(lambda label: "diffrax" in label), band=0.05
    )
    (solve,) = [line for line in comparison.lines if line.series.quantity is Quantity.SOLVE]
    assert solve.judgement.ratio.low > 1
    assert solve.judgement.verdict is Verdict.UNDECIDED
    assert "known from above only" in whole(comparison)


def test_without_a_reference_tolerances_are_equal_and_that_is_said(tmp_path: Path):
    run = side(stub.run(tmp_path, "a", reference=False))
    comparison = compare_selections(
        run.chosen(lambda label: "scipy" in label), run.chosen(lambda label: "diffrax" in label), band=0.05
    )
    (solve,) = [line for line in comparison.lines if line.series.quantity is Quantity.SOLVE]
    assert solve.series.at == "rtol 1e-6"
    assert "no reference: equal tolerance, not equal accuracy" in solve.series.notes


def test_the_second_attempt_of_a_noisy_group_counts(tmp_path: Path):
    base = stub.run(tmp_path, "a", cells=(FAST,))
    new = stub.run(tmp_path, "b", cells=(FAST,), seed=2)
    for record in list(new.records()):
        again = stub.points(random.Random(record.block), 2.5)
        new.append(dataclasses.replace(record, attempt=1, points=tuple(again), record_id=f"{record.record_id}-again"))
        new.append(dataclasses.replace(record, record_id=f"{record.record_id}-late"))
    found = verdicts(compared(base, new))
    assert found[FAST.label, Quantity.SOLVE] is Verdict.SLOWER


def test_a_bootstrap_that_disagrees_is_shown(tmp_path: Path):
    run = side(stub.run(tmp_path, "a", factors={SLOW: 1.2}))
    sides = (run.chosen(lambda label, own=which.label: label == own) for which in (FAST, SLOW))
    comparison = compare_selections(*sides, band=0.05)
    line = next(line for line in comparison.lines if line.check is not None)
    assert line.check is not None
    assert not line.disagrees
    other = dataclasses.replace(line, check=dataclasses.replace(line.check, low=0.9, high=1.4))
    assert other.disagrees
    told = whole(dataclasses.replace(comparison, lines=(other,)))
    assert "the bootstrap disagrees: [0.90, 1.40]" in told


def test_no_false_winner_among_many_runs_of_the_same_program(tmp_path: Path):
    """At 5 % over the family: of 40 comparisons of a run with another of the same program, hardly any names one."""
    runs = [side(stub.run(tmp_path, f"r{k}", seed=k, spread=0.03, blocks=5)) for k in range(8)]
    wrong = sum(
        verdict in (Verdict.FASTER, Verdict.SLOWER)
        for k in range(7)
        for verdict in verdicts(compare_runs(runs[k], runs[k + 1], band=0.05)).values()
    )
    assert wrong <= 1


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits(tmp_path: Path, width: int):
    comparison = compared(stub.run(tmp_path, "a"), stub.run(tmp_path, "b", seed=2, factors=300.0, blocks=3))
    assert all(len(line) <= width for line in whole(comparison, width).splitlines())


def test_cells_with_a_slower_line_come_first(tmp_path: Path):
    comparison = compared(stub.run(tmp_path, "a"), stub.run(tmp_path, "b", seed=2, factors={SLOW: 2.5}))
    shown = whole(comparison)
    assert shown.index(SLOW.label) < shown.index(FAST.label)


def test_the_plain_table_has_one_row_per_cell_and_quantity(tmp_path: Path):
    comparison = compared(stub.run(tmp_path, "a"), stub.run(tmp_path, "b", seed=2))
    rows = comparison_rows(comparison)
    assert len(rows) == 8
    assert all(len(row) == len(HEADINGS) for row in rows)


def test_the_document_is_plain_json(tmp_path: Path):
    comparison = compared(stub.run(tmp_path, "a", blocks=1), stub.run(tmp_path, "b", blocks=1))
    document = json.loads(json.dumps(comparison_document(comparison), allow_nan=False))
    first = document["comparisons"][0]
    assert first["ratio"]["high"] is None
    assert first["verdict"] == "undecided"
    assert document["counts"]["undecided"] == 8
