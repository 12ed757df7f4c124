"""The tables of a sweep, from records whose times follow known laws."""

from __future__ import annotations

import dataclasses
import datetime
import io
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from stubs import reported
from stubs.points import changed
from stubs.reported import summarise

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.process_summary import PointSummary
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.analysis.sweep import SweepRow, SweepTable, axis_of, sweep_tables
from sciml_bench.analysis.tables.sweep import notes, size_text, value_text
from sciml_bench.charts.catalog import across
from sciml_bench.planning.purpose import Sweep
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record
from sciml_bench.record.run_folder import Run
from sciml_bench.record.task import Cell
from sciml_bench.render.document import run_document
from sciml_bench.render.html.page import report
from sciml_bench.render.terminal import console_for, print_run

SIZES = (10, 40, 160, 640)
RTOLS = (1e-4, 1e-6, 1e-8)
Law = Callable[[int], float]

FORWARD, ADJOINT = "forward", "checkpointed"


def problem(size: int) -> str:
    return f"net-width-{size}"


def cell(size: int, sensitivity: str, adapter: str = "diffrax") -> Cell:
    return Cell(problem(size), adapter, "tsit5", sensitivity, "compiled")


def points(size: int, gradient_ms: float, *, scored: bool = True, steps: int = 20):
    return [
        reported.point(
            rtol,
            solve_ms=2.0**place,
            gradient_ms=gradient_ms * 2.0**place,
            mescd=3.0 + 2 * place if scored else None,
            gradient_error=10.0 ** -(3 + 2 * place) if scored else None,
            gradient={"working_bytes": size * (place + 1) * 2**18},
            solve={"statistics": {"n_steps": float(steps), "n_steps_least": steps / 2, "n_steps_mean": steps * 0.75}},
        )
        for place, rtol in enumerate(RTOLS)
    ]


def plan(cells: list[Cell], *, profile: str = "quick", over: str = "parameters") -> dict:
    made = reported.plan(cells, profile=profile)
    made["profile"]["rtols"] = list(RTOLS)
    sizes = {problem(size): size for size in SIZES}
    for entry, which in zip(made["cells"], cells, strict=True):
        entry["division"] = "idiomatic" if which.sensitivity == ADJOINT else "other"
    return made | {"sweep": {"over": over, "of": "net", "unit": "parameters", "sizes": sizes}}


def records(laws: dict[str, Law], blocks: int, scored: bool = True) -> Iterator[Record]:
    """Every cell in every block; a block is slower than the one before, and each size has a little noise."""
    for block in range(blocks):
        for size in SIZES:
            for sensitivity, law in laws.items():
                ms = law(size) * (1 + 0.05 * block) * (1 + 0.002 * ((size + block) % 3))
                yield reported.record(cell(size, sensitivity), points(size, ms, scored=scored), block=block)


def summary(
    laws: dict[str, Law], *, blocks: int = 3, profile: str = "quick", scored: bool = True, over: str = "parameters"
) -> RunSummary:
    cells = [cell(size, sensitivity) for size in SIZES for sensitivity in laws]
    return summarise(plan(cells, profile=profile, over=over), records(laws, blocks, scored))


BOTH: dict[str, Law] = {FORWARD: lambda n: 0.01 * n, ADJOINT: lambda n: 1.0}


def only(made: RunSummary, quantity: str) -> SweepTable:
    (table,) = [table for table in sweep_tables(made) if table.quantity == quantity]
    return table


def row(table: SweepTable, sensitivity: str) -> SweepRow:
    return next(row for row in table.rows if row.solver.cell.sensitivity == sensitivity)


def printed(made: RunSummary) -> str:
    stream = io.StringIO()
    print_run(Analysis(made, Path("results/x")), console_for(stream))
    return stream.getvalue()


def test_kinds_of_gradient_of_one_method_stand_in_one_table():
    table = only(summary(BOTH), "gradient")
    assert table.contest.name == "kinds of gradient of diffrax tsit5 compiled"
    assert {item.solver.cell.sensitivity for item in table.rows} == {FORWARD, ADJOINT}


def test_exponents_are_those_of_the_laws():
    table = only(summary(BOTH), "gradient")
    forward, adjoint = row(table, FORWARD).power, row(table, ADJOINT).power
    assert forward is not None
    assert adjoint is not None
    assert forward.exponent == pytest.approx(1.0, abs=0.01)
    assert adjoint.exponent == pytest.approx(0.0, abs=0.01)
    assert forward.n == 3
    assert not forward.curved


def test_the_crossing_is_where_both_are_equal():
    """0.01 n = 1 at 100 parameters: forward wins below, the adjoint above."""
    table = only(summary(BOTH), "gradient")
    (meeting,) = table.meetings
    (crossing,) = meeting.crossings
    assert crossing.size == pytest.approx(100, rel=0.02)
    text = printed(summary(BOTH))
    assert "gradient: forward is faster below 100 parameters" in text
    assert "checkpointed above" in text


def test_without_a_crossing_it_says_so():
    text = printed(summary({FORWARD: lambda n: 0.5 * n, ADJOINT: lambda n: 1.0}))
    assert "gradient: no crossing within the sweep: checkpointed is faster at 10, 40, 160, 640" in text


def test_sizes_at_which_nothing_is_sure_are_told_apart():
    """Both cost the same at the smallest size: the noise of a few tenths of a percent is all there is."""
    made = summary({FORWARD: lambda n: max(1.0, n / 40), ADJOINT: lambda n: 1.0})
    text = printed(made)
    assert "checkpointed is faster at 160, 640; undecided at 10, 40" in text


def test_cells_that_cannot_be_told_apart_are_not_said_to_cross():
    text = printed(summary(BOTH))
    assert "solve: forward and checkpointed cannot be distinguished at any size" in text
    assert "may cross" not in text


@pytest.mark.parametrize("blocks", [3, 10])
def test_equal_cells_are_not_told_apart_at_any_of_many_sizes(blocks: int):
    named = 0
    for seed in range(30):
        noise = random.Random(seed)

        def law(size: int, noise: random.Random = noise) -> float:
            return 0.01 * size * noise.lognormvariate(0, 0.02)

        tables = sweep_tables(summary({FORWARD: law, ADJOINT: law}, blocks=blocks))
        named += any("is faster" in line for table in tables for line in notes(table))
    assert named <= 3


def test_only_times_are_told_apart():
    tables = list(sweep_tables(summary(BOTH)))
    assert {table.quantity for table in tables if table.meetings} == {"gradient", "solve"}
    assert len({table.quantity for table in tables}) > 2


def test_a_disturbed_sweep_names_no_winner():
    cells = [cell(size, kind) for size in SIZES for kind in BOTH]
    made = summarise(plan(cells), (dataclasses.replace(one, noisy=("load: 9.0",)) for one in records(BOTH, 3)))
    assert not any(table.meetings for table in sweep_tables(made))
    assert "is faster" not in printed(made)


def test_a_smoke_run_names_no_crossing_and_no_interval():
    made = summary(BOTH, blocks=1, profile="smoke")
    table = only(made, "gradient")
    assert table.meetings == ()
    power = row(table, FORWARD).power
    assert power is not None
    assert power.low is None
    text = printed(made)
    assert "NOT COMPARABLE" in text
    assert "without an interval" in text


def test_times_are_told_at_equal_accuracy_where_all_errors_are_known():
    assert only(summary(BOTH), "gradient").target.digits is not None
    unscored = only(summary(BOTH, scored=False), "gradient")
    assert unscored.target.digits is None
    assert unscored.target.rtol == 1e-8
    assert "not at equal accuracy" in printed(summary(BOTH, scored=False))
    assert "not at equal accuracy" not in printed(summary(BOTH))


def test_what_failed_at_a_size_is_told_there_and_the_rest_is_fitted():
    made = summary(BOTH)
    dead = made.cells[reported.cell_id(cell(640, FORWARD))]
    dead.processes = [
        dataclasses.replace(process, outcome=Outcome.OUT_OF_MEMORY, points=()) for process in dead.processes
    ]
    for quantity in ("gradient", "memory", "steps"):
        found = row(only(made, quantity), FORWARD)
        assert found.values[640.0].reason == "out_of_memory"
        assert found.power is not None
        assert len(found.power.local) == 2


def test_memory_is_that_of_one_gradient_at_one_tolerance_and_not_told_where_the_kernel_cannot_count_it():
    table = only(summary(BOTH), "memory")
    found = row(table, ADJOINT)
    assert table.target.rtol in RTOLS
    held = {size: value.spread.median for size, value in found.values.items() if value.spread is not None}
    assert held == {size: size * (RTOLS.index(table.target.rtol) + 1) * 2**18 for size in SIZES}
    assert found.power is not None
    assert found.power.exponent == pytest.approx(1.0, abs=0.01)
    assert value_text(table, found.values[640.0]).endswith("MiB")
    tiny = summary(BOTH)
    for kept in tiny.cells.values():
        kept.processes = [dataclasses.replace(p, points=tuple(map(holding_little, p.points))) for p in kept.processes]
    assert not [table for table in sweep_tables(tiny) if table.quantity == "memory"]


def holding_little(point: PointSummary) -> PointSummary:
    kept = dataclasses.replace(point.gradient.kept, working_bytes=4096)
    return dataclasses.replace(point, gradient=dataclasses.replace(point.gradient, kept=kept))


def span(*of_sizes: tuple[int, int], kind: str = ADJOINT) -> RunSummary:
    """A sweep over the time span: bytes of a gradient, and steps of its solve, at each size."""
    made = []
    for size, (held, steps) in zip(SIZES, of_sizes, strict=False):
        (_, _, last) = points(size, 1.0, steps=steps)
        made.append(reported.record(cell(size, kind), [changed(last, gradient={"working_bytes": held})]))
    return summarise(plan([item.cell for item in made], over="span"), made)


def test_memory_over_the_span_is_told_with_the_steps_and_by_step():
    made = span((2**20, 20), (2**21, 52), (2**22, 116))
    found = row(only(made, "memory"), ADJOINT)
    assert [found.values[float(size)].steps for size in SIZES[:3]] == [20, 52, 116]
    text = printed(made)
    assert "2.00 MiB (52)" in text
    # Three times 1 MiB over 96 steps.
    assert "diffrax tsit5 checkpointed compiled: 32.0 KiB more for each step, from 20 to 116 steps" in text
    told = run_document(Analysis(made, Path("results/x")))["sweep"]["tables"]
    (values,) = [cells["values"] for table in told if table["quantity"] == "memory" for cells in table["cells"]]
    assert values[0]["steps"] == 20


def test_memory_that_cannot_be_measured_is_told_up_to_the_most_steps():
    text = printed(span((2**14, 20), (2**15, 52)))
    assert "below 1.00 MiB (52)" in text
    assert "diffrax tsit5 checkpointed compiled: less than 1.00 MiB up to 52 steps" in text


def test_two_sizes_give_no_exponent():
    made = summary(BOTH)
    for size in (160, 640):
        made.cells[reported.cell_id(cell(size, FORWARD))].processes = []
    found = row(only(made, "gradient"), FORWARD)
    assert found.power is None
    assert found.values[160.0].reason == "not run yet"


def test_steps_of_a_batch_are_told_with_their_spread_over_trajectories():
    made = summary({ADJOINT: lambda n: 1.0}, over="batch")
    table = only(made, "steps")
    assert value_text(table, row(table, ADJOINT).values[10.0]) == "20 (10 least, 15 mean)"
    assert any("each trajectory takes its own steps" in note for note in notes(table))


def test_curved_costs_are_told_with_the_slopes_at_both_ends():
    table = only(summary({ADJOINT: lambda n: 50 + n}), "gradient")
    power = row(table, ADJOINT).power
    assert power is not None
    assert power.curved
    first, last = power.local[0], power.local[-1]
    assert f"curved: {first:.2f} first, {last:.2f} last" in printed(summary({ADJOINT: lambda n: 50 + n}))


def test_a_sweep_over_tolerances_takes_the_ladder():
    """Each tolerance a hundred times tighter takes twice as long: k = log 2 / log 100."""
    made = summary({ADJOINT: lambda n: 1.0})
    plan = dataclasses.replace(made.plan, sweep=Sweep("tolerance", problem(10), {}))
    table = only(RunSummary(plan, made.cells), "gradient")
    power = row(table, ADJOINT).power
    assert power is not None
    assert power.exponent == pytest.approx(0.1505, abs=1e-3)
    assert [size_text(table.axis, size) for size in table.axis.sizes] == ["1e-4", "1e-6", "1e-8"]


def test_json_has_it_unrounded():
    found = run_document(Analysis(summary(BOTH), Path("x")))["sweep"]
    json.dumps(found, allow_nan=False)
    assert found["over"] == "parameters"
    assert found["sizes"] == [10.0, 40.0, 160.0, 640.0]
    (gradient,) = [table for table in found["tables"] if table["quantity"] == "gradient"]
    assert gradient["crossings"][0]["found"][0]["size"] == pytest.approx(100, rel=0.02)


def test_figures_have_its_axis_and_its_numbers():
    charts = list(across(summary(BOTH), ("scaling",)))
    (gradient,) = [chart for chart in charts if "gradient" in chart.name]
    assert "against parameters" in gradient.title
    assert {entry[gradient.columns.index("size")] for entry in gradient.rows} == set(SIZES)
    assert "forward is faster below" in gradient.alt
    assert all(str(entry[-1]).split("/")[-1] == "0" for entry in gradient.rows)


def test_figures_can_be_drawn(tmp_path):
    for number, chart in enumerate(across(summary(BOTH), ("scaling",))):
        chart.save(tmp_path / f"{number}.svg")
        assert chart.rows[0][1] in (tmp_path / f"{number}.svg").read_text()


def test_the_page_has_it_with_links_to_the_records(tmp_path):
    cells = [cell(size, sensitivity) for size in SIZES for sensitivity in BOTH]
    made = Run.create(tmp_path, "sweep", plan=plan(cells), environment={})
    made.records_path.write_text("".join(f"{found.to_json()}\n" for found in records(BOTH, 3)), encoding="utf-8")
    text = report([made], datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC))
    start = text.index('<section id="r1-sweep"')
    section = text[start : text.index("</section>", start)]
    assert "Time per gradient against parameters" in section
    assert "gradient: forward is faster below 100 parameters" in section
    links = re.findall(r'href="#(r1-c\d+)"', section)
    assert len(set(links)) == len(cells)
    assert all(f'id="{link}"' in text for link in links)


@pytest.mark.parametrize("sweep", [None, Sweep("colour", "x", {"x": 1})])
def test_a_run_that_is_no_sweep_has_no_axis(sweep):
    made = summary(BOTH)
    plan = dataclasses.replace(made.plan, sweep=sweep)
    assert axis_of(plan) is None
    assert list(sweep_tables(RunSummary(plan, made.cells))) == []
