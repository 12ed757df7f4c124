"""Claims judged by records made by hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.analysis.loaded_run import LoadedRun
from sciml_bench.planning.purpose import Claimed
from sciml_bench.published_claims.claim import Claim, Figure
from sciml_bench.published_claims.collection import find, keep
from sciml_bench.published_claims.conditions import CONDITIONS, NO_CONDITIONS
from sciml_bench.published_claims.judging import Judged, Measurement, independent, judged, untested
from sciml_bench.published_claims.ruling import Ruling
from sciml_bench.record.outcome import Outcome
from sciml_bench.render.claims import (
    claim_remarks,
    claim_row,
    claims_csv,
    claims_latex,
    claims_markdown,
    ratio_text,
    ruling_document,
)
from sciml_bench.render.html.claim import claim_tables, under_test
from sciml_bench.render.html.table import Places
from sciml_bench.stats.ratio import Ratio

FAST, SLOW = cell("fast", "julia", "p-published"), cell("slow", "scipy", "p-published")
FAIR_FAST, FAIR_SLOW = cell("fast", "julia", "p-fair"), cell("slow", "scipy", "p-fair")
SIDES = {"published.fast": FAST, "published.slow": SLOW, "fair.fast": FAIR_FAST, "fair.slow": FAIR_SLOW}
NOISE = (1.0, 1.02, 0.99, 1.01, 0.98, 1.0)


def claim(**figure: Any) -> Claim:
    figure = {"says": "ten times", "quantity": "solve", "ratio": 10.0} | figure
    found = find("C05")
    assert found.fair is not None
    # Without its own differences from the source, so that rulings stand.
    fair = dataclasses.replace(found.fair, conditions=NO_CONDITIONS)
    return dataclasses.replace(found, figure=Figure(**figure), fair=fair)


def points(ms: float, digits: float, times: float = 10.0) -> list[Any]:
    """A ladder of two points, ten times as long and two digits better at the tighter one."""
    return [
        point(
            rtol, solve_ms=ms * times**i, gradient_ms=2 * ms * times**i, mescd=digits + 2 * i,
            gradient_error=10.0 ** -(digits + 2 * i),
            solve={"statistics": {"n_accepted": 100.0 * (1 + i) * ms}},
            gradient={"statistics": {"n_rhs_evaluations": 7.0, "n_backward_rhs_evaluations": 50.0 * (1 + i) * ms}},
        )
        for i, rtol in enumerate((1e-4, 1e-6))
    ]  # fmt: skip


def measured(
    which: Claim, slow_ms: float, *, blocks: int = 6, slow_digits: float = 4.0, fast_digits: float = 4.0,
    failed: str = "", profile: str = "quick", disturbed: str = "", slope: float = 1.0,
) -> Judged:  # fmt: skip
    """The claim judged from processes whose slow side takes so long; one side may fail throughout."""
    records = []
    for block in range(blocks):
        noise = NOISE[block]
        for name, where in SIDES.items():
            ms = slow_ms * noise if name.endswith("slow") else 1.0 / noise
            digits = slow_digits if name.endswith("slow") else fast_digits
            made = points(ms, digits, 10**slope if name.endswith("fast") else 10.0)
            made = made[:1] if name.startswith("published") else made
            if name == failed:
                made = [point(1e-4, outcome=Outcome.TIMEOUT)]
            noisy = ("load: others were busy",) if name == disturbed else ()
            records.append(dataclasses.replace(record(where, made, block=block), noisy=noisy))
    told = plan(list(SIDES.values()), profile=profile)
    told |= {"claimed": claimed([which])}
    (found,) = judged([Measurement(which, summarise(told, records), Path("results/run"))])
    return found


@pytest.mark.parametrize("quantity", ["solve", "gradient"])
def test_both_settings_are_judged_by_paired_ratios(quantity: str):
    found = measured(claim(quantity=quantity), 12.0)
    for finding in found.findings.values():
        assert finding.ruling is Ruling.CONFIRMED
        assert finding.ratio is not None
        assert finding.ratio.n == 6
        assert finding.ratio.low < 12.0 < finding.ratio.high
    assert found.profile == "quick"


def test_fair_is_at_equal_achieved_accuracy():
    """The slow side has two digits more at each tolerance, which are worth a factor of ten."""
    found = measured(claim(), 12.0, slow_digits=6.0, fast_digits=4.0)
    assert found.findings["published"].ratio is not None
    assert found.findings["fair"].ratio is not None
    assert found.findings["published"].ratio.estimate == pytest.approx(12.0, rel=0.05)
    assert found.findings["fair"].ratio.estimate == pytest.approx(1.2, rel=0.05)
    assert found.findings["fair"].ruling is Ruling.SMALLER
    assert list(found.curves["fair"]) == [6.0]
    assert "at 6 correct digits" in " ".join(claim_remarks(found))


def test_large_ratios_are_told_without_powers_of_ten():
    assert ratio_text(Ratio(2642.4, 2601.0, 2668.9, 0.01, 5)) == "2640× [2600, 2670]"
    assert ratio_text(Ratio(1.2349, 1.2, 1.3, 0.01, 5)) == "1.23× [1.2, 1.3]"


def test_a_table_keeps_the_whole_source_of_a_claim():
    found = measured(claim(), 12.0)
    assert found.claim.origin.version in claims_markdown([found])


def test_a_cell_of_both_settings_is_read_at_the_stated_tolerances_as_published():
    shared = dataclasses.replace(find("C03"), figure=Figure(says="ten times", quantity="gradient", ratio=10.0))
    assert shared.published is not None
    stated = shared.published.sides["fast"].tolerances
    records = []
    for block in range(6):
        own = [point(stated.rtol, gradient_ms=1.0 / NOISE[block], mescd=3.0, gradient_error=1e-3)]
        records.append(record(FAST, [*own, *points(5.0, 4.0)], block=block))
        records.append(record(SLOW, [*points(10.0 * NOISE[block], 4.0), point(1e-7, gradient_ms=30.0)], block=block))
    sides = {"published.fast": FAST, "published.slow": SLOW, "fair.fast": FAST, "fair.slow": SLOW}
    told = plan([FAST, SLOW])
    told |= {
        "claimed": {
            "claims": {"C03": {name: where.label for name, where in sides.items()}},
            "points": {
                FAST.label: [[stated.rtol, stated.atol], [1e-4, 1e-4], [1e-6, 1e-6]],
                SLOW.label: [[1e-4, 1e-4], [1e-6, 1e-6], [1e-7, 1e-9]],
            },
        }
    }
    (found,) = judged([Measurement(shared, summarise(told, records), Path("results/run"))])
    published, fair = found.findings["published"].ratio, found.findings["fair"].ratio
    assert published is not None
    assert fair is not None
    assert published.estimate == pytest.approx(30.0, rel=0.05)
    assert fair.estimate == pytest.approx(2.0, rel=0.05)


def test_a_side_that_is_known_from_above_only_bounds_the_ratio():
    ahead = measured(claim(), 2.0, slow_digits=9.0, fast_digits=4.0).findings["fair"]
    assert ahead.ruling is Ruling.REVERSED, "it would be further ahead still"
    assert "even at its loosest tolerance" in ahead.reason
    behind = measured(claim(), 2000.0, slow_digits=9.0, fast_digits=4.0).findings["fair"]
    assert behind.ruling is Ruling.UNDECIDED
    assert "10× is claimed; ours is an upper bound, which does not decide, as the slow side is" in behind.reason
    assert measured(claim(), 9.0, slow_digits=4.0, fast_digits=9.0).findings["fair"].ruling is Ruling.LARGER


@pytest.mark.parametrize("side", ["fast", "slow"])
def test_a_side_that_fails_is_a_result_and_said_as_such(side: str):
    found = measured(claim(), 12.0, failed=f"published.{side}")
    finding = found.findings["published"]
    assert finding.ruling is Ruling.NOT_TESTABLE
    assert finding.reason.startswith(f"the {side} side ended in timeout in gradient")
    assert "that is a result" in finding.reason
    assert found.findings["fair"].ruling is Ruling.CONFIRMED


def test_a_single_process_is_undecided_with_the_ratio_seen():
    found = measured(claim(), 12.0, blocks=1, profile="smoke")
    assert found.findings["published"].ruling is Ruling.UNDECIDED
    assert claim_row(found)[2] == "12×"
    assert ruling_document(found)["published"]["interval"] is None


@pytest.mark.parametrize("quantity", ["steps", "backward_evaluations"])
def test_counts_are_judged_without_an_interval(quantity: str):
    found = measured(claim(quantity=quantity, ratio=3.9), 4.0, blocks=1)
    assert found.findings["published"].ruling is Ruling.CONFIRMED
    assert found.findings["fair"].ruling is Ruling.CONFIRMED


def test_the_first_gradient_is_that_of_the_process():
    found = measured(claim(quantity="first_gradient", ratio=2.0), 12.0)
    assert found.findings["fair"].ruling in (Ruling.SMALLER, Ruling.UNDECIDED)
    assert found.findings["fair"].ratio is not None
    assert found.findings["fair"].ratio.estimate == pytest.approx(1.0)


@pytest.mark.parametrize("quantity", ["first_solve", "first_gradient"])
def test_a_first_call_is_held_against_later_ones_of_its_process(quantity: str):
    which = claim(quantity=quantity, ratio=25.0, against_later=True)
    told = plan([SLOW, FAIR_SLOW], profile="quick")
    assert which.fair is not None
    alone = dataclasses.replace(which.fair, sides={"cell": which.fair.sides["slow"]})
    which = dataclasses.replace(which, published=alone, fair=alone)
    told |= {"claimed": {"claims": {which.id: {"published.cell": SLOW.label, "fair.cell": FAIR_SLOW.label}}}}
    records = []
    for block, noise in enumerate(NOISE):
        # Twice as slow a process has first calls twice as long: what counts is the ratio inside each of them.
        first = {"first_ns": int(30e6 * noise)}
        good = point(1e-4, solve_ms=1.0 * noise, gradient_ms=1.0 * noise, solve=first, gradient=first)
        records += [record(SLOW, [good, point(1e-6, solve_ms=99.0, gradient_ms=99.0)], block=block)]
        records += [record(FAIR_SLOW, [point(1e-4, outcome=Outcome.TIMEOUT)], block=block)]
    (found,) = judged([Measurement(which, summarise(told, records), Path("results/run"))])
    assert found.findings["published"].ruling is Ruling.CONFIRMED
    assert found.findings["published"].reason.startswith("the first ")
    assert "times as long as later ones; 25× is claimed" in found.findings["published"].reason
    assert found.findings["published"].ratio is not None
    assert found.findings["published"].ratio.estimate == pytest.approx(30.0, rel=1e-3)
    assert found.findings["fair"].reason.startswith("the cell ended in timeout in gradient")
    assert ruling_document(found)["against_later"]
    assert claims_csv([found]).splitlines()[1].startswith(f"C05,{quantity}/later,25,")


def test_likeness_is_judged_too():
    assert measured(claim(ratio=None, within=1.3), 1.1).findings["fair"].ruling is Ruling.CONFIRMED
    apart = measured(claim(ratio=None, within=1.3), 3.0)
    assert apart.findings["fair"].ruling is Ruling.LARGER
    assert claim_row(apart)[4].endswith(", julia ahead"), "the table says who"


def test_an_interrupted_run_says_what_is_missing():
    found = measured(claim(), 12.0, blocks=0)
    assert found.findings["published"].reason == "the fast side was not measured; the slow side was not measured"


def test_a_side_that_the_plan_left_out_says_why():
    which, told = claim(), plan([SLOW])
    told |= {
        "claimed": {"claims": {which.id: {name: where.label for name, where in SIDES.items()}}},
        "skipped": [{"reason": "numba is not installed", "outcome": "unsupported", "cells": [FAST.label]}],
    }
    (found,) = judged([Measurement(which, summarise(told, [record(SLOW, points(1.0, 4.0))]), Path("results/run"))])
    assert found.findings["published"].reason == "the fast side was left out: numba is not installed"
    assert "was not measured" in found.findings["fair"].reason


def test_tables_have_the_source_and_no_markup_of_strangers():
    strange = dataclasses.replace(
        claim(), id="X1", origin=dataclasses.replace(find("C05").origin, citation="a|b & <i>c</i>")
    )
    found = [dataclasses.replace(measured(claim(), 12.0), claim=strange), untested(find("C10"), "it needs a GPU")]
    text = claims_markdown(found)
    assert len(text.splitlines()) == 4
    assert (
        "in the spirit of it: 1 differs (method), 2 unknown (machine, version); touching the ratio: method"
        in text.replace(r"\(", "(").replace(r"\)", ")")
    )
    assert "<i>" not in text
    assert r"a\|b" in text
    assert r"12$\times$ [11" in claims_latex(found)
    lines = claims_csv(found).splitlines()
    assert lines[0].startswith("claim,quantity,claimed")
    assert lines[1].startswith("X1,solve,10,,,11.998,11.6471,12.3595,confirmed,")
    assert ",in the spirit of it,method,method,machine version,quick," in lines[1]
    assert "not testable here" in lines[2]


def claimed(claims: list[Claim]) -> dict[str, Any]:
    """The part of a plan that says which cells are the sides of which claim."""
    sides = {name: (where.label,) for name, where in SIDES.items()}
    return Claimed({claim.id: sides for claim in claims}).to_dict()


def run_of(claims: list[Claim], folder: Path) -> tuple[LoadedRun, Places]:
    """A run whose slow sides take twice as long, and whose plan names its claims so."""
    told, records = plan(list(SIDES.values())), []
    for block in range(6):
        records += [
            record(where, points(1.0 + name.endswith("slow"), 4.0), block=block) for name, where in SIDES.items()
        ]
    told |= {"claimed": claimed(claims)}
    summary = summarise(told, records)
    return LoadedRun("run", str(folder), summary.plan, {}, summary), Places("r1-", summary.cells, {})


def test_the_page_of_a_run_shows_its_claim(tmp_path: Path):
    which = find("C13")
    loaded, places = run_of([which], tmp_path)
    assert under_test(loaded, "r1", places) == ()
    keep([which], tmp_path)
    overview, tables = claim_tables(under_test(loaded, "r1", places))
    assert overview is None
    (shown,) = tables["r1"]
    assert shown.caption.startswith("Claim C13: ")
    assert [entries[0].text for entries in shown.rows[:3]] == ["claimed", "in the spirit of it", "when fair"]
    assert [entries[2].text for entries in shown.rows[:3]] == ["", "undecided", "undecided"]
    assert [entries[0].text for entries in shown.rows[3:]] == [name.replace("_", " ") for name in CONDITIONS]
    assert {entries[2].text for entries in shown.rows[3:]} == {
        "same", "differs", "unknown",
        "differs: may make the ratio larger by an unknown factor or smaller by an unknown factor",
    }  # fmt: skip
    assert "49% slower" in shown.note
    assert "Corrections are welcome" in shown.note


def test_the_page_of_a_run_shows_each_of_its_claims(tmp_path: Path):
    claims = [find("C13"), find("C03")]
    loaded, places = run_of(claims, tmp_path)
    keep([*claims, find("C05")], tmp_path)
    overview, tables = claim_tables(under_test(loaded, "r1", places))
    assert overview is not None
    assert [entries[0].text for entries in overview.rows] == ["C03", "C13"]
    captions = [table.caption.partition(":")[0] for table in tables["r1"]]
    assert captions == ["Claim C13", "Claim C03"], "the plan tests these alone, and in this order"
    assert len({table.id for table in tables["r1"]}) == 2


@pytest.mark.parametrize("side", ["published.slow", "fair.fast"])
def test_a_ruling_from_disturbed_processes_is_marked_wherever_it_is_shown(side: str):
    found = measured(claim(), 12.0, disturbed=side)
    name = side.partition(".")[0]
    other = "fair" if name == "published" else "published"
    assert (found.findings[name].disturbed, found.findings[name].processes) == (6, 12)
    assert found.findings[other].disturbed == 0
    assert found.findings[name].ruling is Ruling.UNDECIDED
    assert "every process of a side was disturbed" in found.findings[name].reason
    assert found.findings[other].ruling is Ruling.CONFIRMED
    place = 3 if name == "published" else 5
    assert claim_row(found)[place].endswith(" †")
    assert "6 of 12 processes were disturbed" in " ".join(claim_remarks(found))
    assert ruling_document(found)[name]["disturbed_processes"] == 6
    assert claims_markdown([found]).count("†") == 1
    assert claims_csv([found]).count("†") == 1
    assert claims_csv([found]).count("6 of 12 processes were disturbed") == 1


def test_a_timeout_on_a_busy_machine_is_no_result_of_a_library():
    quiet = measured(claim(), 12.0, failed="published.slow").findings["published"].reason
    busy = measured(claim(), 12.0, failed="published.slow", disturbed="published.slow").findings["published"].reason
    assert quiet.endswith("that is a result")
    assert "does not count" in busy
    assert "repeat it" in busy


def test_fair_is_read_at_every_digit_and_says_where_the_ruling_changes():
    """The slow side needs ten times as long for two more digits, the fast side a hundred times."""
    found = measured(claim(ratio=30.0), 30.0, slope=2.0)
    assert list(found.curves["fair"]) == [4.0, 5.0, 6.0]
    assert [one.ruling for one in found.curves["fair"].values()] == [Ruling.CONFIRMED, Ruling.SMALLER, Ruling.SMALLER]
    assert found.findings["fair"].ruling is Ruling.UNDECIDED
    assert found.findings["fair"].reason == (
        "it depends on the accuracy: confirmed at 4 digits; smaller than claimed at 5 to 6 digits; the "
        "source's accuracy, if it were known, would decide"
    )
    assert claim_row(found)[4].endswith("× at 4–6 digits")


def test_an_accuracy_that_the_source_states_is_the_only_one():
    assert list(measured(claim(ratio=30.0, digits=4.0), 30.0, slope=2.0).curves["fair"]) == [4.0]
    beyond = measured(claim(ratio=30.0, digits=9.0), 30.0, slope=2.0).findings["fair"]
    assert beyond.ruling is Ruling.NOT_TESTABLE
    assert "cannot be read at 9 digits, as in the source" in beyond.reason


@pytest.mark.parametrize(
    ("side", "ratio", "slow_ms", "ruling"),
    [
        ("slow", 10.0, 40.0, Ruling.UNDECIDED),
        ("slow", 10.0, 0.2, Ruling.REVERSED),
        ("fast", 10.0, 40.0, Ruling.LARGER),
        ("fast", 10.0, 2.0, Ruling.UNDECIDED),
    ],
)
def test_a_side_that_stands_for_a_faster_one_bounds_the_ratio(side: str, ratio: float, slow_ms: float, ruling: Ruling):
    which = claim(ratio=ratio)
    assert which.fair is not None
    sides = {**which.fair.sides, side: dataclasses.replace(which.fair.sides[side], stands_for="the best of all")}
    which = dataclasses.replace(which, fair=dataclasses.replace(which.fair, sides=sides))
    finding = measured(which, slow_ms).findings["fair"]
    assert finding.ruling is ruling
    assert f"the {side} side represents the best of all" in finding.reason


def test_comparisons_of_one_group_of_cells_are_one_less_than_its_cells():
    a, b, c, d, e = (("run", name) for name in "abcde")
    assert independent([(a, b), (b, c), (a, c), (d, e)]) == 3
    assert independent([(a, b), (c, d), (b, c)]) == 3
    assert independent([]) == 0
