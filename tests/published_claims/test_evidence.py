"""The numbers of both sides of a claim."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import replace

import pytest
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.execution.claim_rulings import claims_of, newest_of_each
from sciml_bench.published_claims.claim import Claim
from sciml_bench.published_claims.collection import find, folder
from sciml_bench.published_claims.conditions import CALL_PATH, Conditions
from sciml_bench.published_claims.evidence import Evidence, evidence
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import PointResult


def test_a_step_is_a_solve_over_its_accepted_steps():
    sides = {"fair.fast": cell("fast", "torchode"), "fair.slow": cell("slow", "torchdiffeq")}
    told = plan(list(sides.values()))
    claim = find("C09-step")
    told |= {"claimed": {"claims": {claim.id: {name: which.label for name, which in sides.items()}}}}

    def ran(ms: float, steps: float) -> list[PointResult]:
        solve = {"statistics": {"n_accepted": steps}}
        return [point(1e-4, solve_ms=ms, mescd=4.0, solve=solve), point(1e-6, solve_ms=ms, mescd=6.0, solve=solve)]

    # Four times as long a solve, but twice as many steps: a step takes twice as long.
    records = [record(sides["fair.fast"], ran(10.0, 50.0)), record(sides["fair.slow"], ran(40.0, 100.0))]
    for found in evidence(claim, "fair", summarise(told, records)):
        assert found.ratio is not None
        assert found.ratio.estimate == pytest.approx(2.0)
        assert found.fast.blocks[0] == pytest.approx(10e-3 / 50)


def test_a_solve_without_counted_steps_has_no_time_of_a_step():
    sides = {"fair.fast": cell("fast", "torchode"), "fair.slow": cell("slow", "torchdiffeq")}
    claim = find("C09-step")
    told = plan(list(sides.values()))
    told |= {"claimed": {"claims": {claim.id: {name: which.label for name, which in sides.items()}}}}
    records = [record(which, [point(1e-4, solve_ms=1.0)]) for which in sides.values()]
    assert all(found.ratio is None for found in evidence(claim, "fair", summarise(told, records)))


RESULTS = folder().parent / "results" / "claims"
FAST, SLOW = cell("fast", "julia", "p-published"), cell("slow", "scipy", "p-published")


def published_ratio(claim: Claim, fast_ns: Sequence[int], slow_ns: Sequence[int], inside: Sequence[int] = ()) -> float:
    """The ratio at the source's settings, of one process on each side with these calls."""
    told = plan([FAST, SLOW])
    cells = {"published.fast": FAST.label, "published.slow": SLOW.label}
    told |= {"claimed": {"claims": {claim.id: cells}}}
    of_fast = {"ns": tuple(fast_ns), **({"inside": {"ns": tuple(inside)}} if inside else {})}
    records = [
        record(FAST, [point(1e-4, solve=of_fast)]),
        record(SLOW, [point(1e-4, solve={"ns": tuple(slow_ns)})]),
    ]
    (found,) = evidence(claim, "published", summarise(told, records))
    assert found.ratio is not None
    return found.ratio.estimate


def test_published_times_are_reduced_as_the_source_did():
    """C05's source has Julia's minimum and SciPy's mean."""
    assert published_ratio(find("C05"), [1000, 1000, 500], [5000, 5000, 20_000]) == pytest.approx(20.0)
    both = find("C06-lorenz")
    assert published_ratio(both, [1000, 1000, 400], [5000, 5000, 20_000]) == pytest.approx(10_000 / 800)


def test_a_library_that_was_called_from_its_own_language_is_read_inside_of_the_bridge():
    claim = find("C05")
    assert published_ratio(claim, [1000] * 3, [9000] * 3, inside=[900] * 3) == pytest.approx(10.0)
    path = dataclasses.replace(claim.conditions[CALL_PATH], sides={"fast": "bridge", "slow": "direct"})
    each = tuple(path if item.name == CALL_PATH else item for item in claim.conditions.each)
    across = dataclasses.replace(claim, conditions=Conditions(each))
    assert published_ratio(across, [1000] * 3, [9000] * 3, inside=[900] * 3) == pytest.approx(9.0)


_JULIA = cell("tsit5", "julia", "p-fair")
_EAGER, _COMPILED = (replace(cell("dopri5", "torchdiffeq", "p-fair"), mode=mode) for mode in ("eager", "compiled"))
Ladder = tuple[tuple[float, float], ...]


def fair_of_c01(julia: Ladder, eager: Ladder, compiled: Ladder) -> tuple[Evidence, ...]:
    """The fair evidence on C01 from ladders of digits and milliseconds, beside a cell of another problem."""
    claim, other = find("C01"), replace(_EAGER, problem="p-other")
    told = plan([_JULIA, _EAGER, _COMPILED, other])
    sides = {"fair.fast": _JULIA.label, "fair.slow": [_EAGER.label, _COMPILED.label]}
    told |= {"claimed": {"claims": {claim.id: sides}, "points": {}}}
    ladders = {_JULIA: julia, _EAGER: eager, _COMPILED: compiled, other: ((4.0, 0.1), (9.0, 0.2))}
    records = [
        record(which, [point(10.0**-digits, solve_ms=ms, mescd=digits) for digits, ms in ladder])
        for which, ladder in ladders.items()
    ]
    return evidence(claim, "fair", summarise(told, records))


def test_a_side_left_to_its_library_counts_as_its_fastest_recipe_at_every_digit():
    """Eager is faster at 4 digits and compiled at 8."""
    found = fair_of_c01(((4.0, 1.0), (8.0, 2.0)), ((4.0, 10.0), (8.0, 90.0)), ((4.0, 40.0), (8.0, 41.0)))
    chosen = {read.digits: read.slow.cell for read in found}
    assert chosen == {4.0: _EAGER, 5.0: _EAGER, 6.0: _EAGER, 7.0: _COMPILED, 8.0: _COMPILED}
    assert found[0].ratio is not None
    assert found[0].ratio.estimate == pytest.approx(10.0)


def test_a_recipe_that_is_faster_and_more_accurate_counts():
    """Compiled is never as inaccurate as 4 digits, and takes less than eager at any."""
    eager, compiled = ((4.0, 300.0), (8.0, 900.0)), ((6.0, 5.0), (8.0, 6.0))
    found = fair_of_c01(((4.0, 1.0), (8.0, 2.0)), eager, compiled)
    assert [read.digits for read in found] == [6.0, 7.0, 8.0], "below that compiled is known from above only"
    assert all(read.slow.cell == _COMPILED and read.slow.typical <= 6e-3 for read in found)
    for read in fair_of_c01(((4.0, 1.0), (5.0, 2.0)), eager, compiled):
        assert read.slow.cell == _COMPILED
        assert read.slow.at_most


def test_where_the_fastest_recipe_was_not_measured_others_say_nothing():
    found = fair_of_c01(((4.0, 1.0), (9.0, 2.0)), ((4.0, 10.0), (7.0, 20.0)), ((4.0, 100.0), (9.0, 200.0)))
    assert [read.digits for read in found] == [4.0, 5.0, 6.0, 7.0]
    assert {read.slow.cell for read in found} == {_EAGER}


def test_a_recipe_that_failed_in_a_block_does_not_count_where_another_did_not():
    claim = find("C35")
    fast, eager = (cell("network", name, "m") for name in ("torch", "keras"))
    fast, eager = (replace(which, sensitivity="reverse", mode="eager", precision="float32") for which in (fast, eager))
    compiled = replace(eager, mode="xla")
    told = plan([fast, eager, compiled])
    sides = {"fair.fast": fast.label, "fair.slow": [eager.label, compiled.label]}
    told |= {"claimed": {"claims": {claim.id: sides}, "points": {}}}
    records = [record(which, [point(0.0, gradient_ms=ms, batch=64)], block=block)
        for block in range(3)
        for which, ms in ((fast, 1.0), (eager, 3.0), (compiled, 1.0))
        if which is not compiled or block == 0]  # fmt: skip
    records += [record(compiled, [point(0.0, outcome=Outcome.TIMEOUT, batch=64)], block=block) for block in (1, 2)]
    (read,) = evidence(claim, "fair", summarise(told, records))
    assert read.slow.cell == eager


def test_no_fair_side_is_slower_than_another_mode_of_its_library_in_the_same_run():
    """Held against the stored runs, also where a file gives the mode."""
    compared = 0
    for run in newest_of_each(RESULTS).values():
        summary = summarise(run.plan, run.records())
        for tested in claims_of(run):
            claim, fair = tested.claim, tested.claim.fair
            if fair is None or "fair" in tested.changed or claim.figure.is_count:
                continue
            chosen = evidence(claim, "fair", summary)
            for name in claim.figure.sides:
                for mode in {measured.cell.mode for measured in summary.cells.values()}:
                    side = replace(fair.sides[name], mode=mode)
                    other = replace(claim, fair=replace(fair, sides={**fair.sides, name: side}))
                    for ours, theirs in zip(chosen, evidence(other, "fair", summary), strict=False):
                        if ours.digits == theirs.digits:
                            compared += 1
                            fastest, slower = (read.slow if name == "slow" else read.fast for read in (ours, theirs))
                            assert fastest.typical <= slower.typical * 1.02, f"{run.folder.name}: {side.words}"
    assert compared > 20
