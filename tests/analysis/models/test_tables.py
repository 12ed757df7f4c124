"""Reports of models: parity above times, times only of what keeps it, and both tracks in one figure."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from stubs.points import changed
from stubs.reported import cell_id, plan, point, record, summarise

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.models import model_table
from sciml_bench.analysis.rows import compare
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.analysis.tables.models import parity_table, times_table
from sciml_bench.charts.catalog import KINDS, across, of_problem
from sciml_bench.record.model_task import Evaluation
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import PointResult
from sciml_bench.record.record import Record
from sciml_bench.record.task import Cell, Training
from sciml_bench.record.training import Trained
from sciml_bench.render.document import run_document
from sciml_bench.render.html.facts import unmeasured
from sciml_bench.render.html.model_facts import model_view
from sciml_bench.render.html.table import Places
from sciml_bench.render.terminal import print_run

TORCH = Cell("lenet", "torch", "network", "reverse", "eager", "float32")
JAX = Cell("lenet", "jax", "network", "reverse", "jit", "float32")
WRONG = Cell("lenet", "keras", "network", "reverse", "graph", "float32")
INFERS = Cell("lenet", "onnxruntime", "network", "inference", "graph", "float32")
SETTINGS = Training("adam", 0.002, 40, 0.0, 0.0, batch=64, batch_seed=1, every=10, accuracy=0.97)
DATA = {
    "name": "digits", "kind": "images", "sha256": "ab" * 32, "version": "v", "source": "s", "licence": "CC BY 4.0",
    "input_shape": [1, 8, 8], "classes": 10, "scale": 16.0, "size": 100, "held_out": 20, "seed": 1,
}  # fmt: skip


def at(batch: int, ms: float, error: float = 2e-7, **changes: Any) -> PointResult:
    """A point of a model."""
    made = point(0.0, solve_ms=ms, gradient_ms=3 * ms, mescd=None, gradient_error=None, **changes)
    return changed(
        made,
        batch=batch,
        solve={"scores": {"output_error": error}},
        gradient={"scores": {"loss_error": error, "slope_error": error, "gradient_norm": 1.5}},
    )


def trained(step: int) -> Trained:
    """A training that reaches its target after so many steps."""
    evaluations = tuple(Evaluation(k, 1.0 / k, 0.98 if k >= step else 0.5) for k in (1, 10, 20, 30, 40))
    return Trained(SETTINGS, Outcome.OK, losses=(1.0,) * 40, step_ns=(10**9, *(10**7,) * 39), evaluations=evaluations)


def records() -> list[Record]:
    inaccurate = {"outcome": Outcome.INACCURATE}
    wrong = changed(at(1, 0.1, 3e-3), outcome=Outcome.INACCURATE, solve=inaccurate, gradient=inaccurate)
    infers = changed(at(1, 0.05), gradient={"outcome": None, "ns": (), "scores": None})
    infers_64 = changed(infers, batch=64, solve={"ns": (500_000,) * 3})
    made: list[Record] = []
    for block in range(3):
        made += [
            record(TORCH, [at(1, 0.2), at(64, 2.0)], block=block, training=trained(20)),
            record(JAX, [at(1, 0.3), at(64, 1.0)], block=block, training=trained(30)),
            record(WRONG, [wrong, dataclasses.replace(wrong, batch=64)], block=block),
            record(INFERS, [infers, infers_64], block=block, time_to_first_gradient_ns={}),
        ]
    return made


def planned(cells: list[Cell]) -> dict[str, Any]:
    made = plan(cells)
    for entry in made["problems"]:
        if entry["name"].startswith("lenet"):
            entry |= {
                "suite": "conventional", "data": DATA, "loss": "cross_entropy", "n_theta": 31294, "batches": [1, 64],
            }  # fmt: skip
        else:
            entry |= {"suite": "stiff", "tier": "smoke"}
    return made


@pytest.fixture
def summary() -> RunSummary:
    return summarise(planned([TORCH, JAX, WRONG, INFERS]), records())


def test_parity_is_told_of_every_cell_and_times_of_those_that_keep_it(summary: RunSummary) -> None:
    table = model_table("lenet", summary.of_problem("lenet"))
    assert [(item.cell.cell.adapter, item.kept) for item in table.parity] == [
        ("torch", True), ("jax", True), ("keras", False), ("onnxruntime", True),
    ]  # fmt: skip
    assert [row.cell.cell.adapter for row in table.rows] == ["jax", "torch", "onnxruntime"]
    jax, torch, infers = table.rows
    assert jax.samples_per_s == pytest.approx(64_000)
    assert torch.latency is not None
    assert torch.latency.median == pytest.approx(2e-4)
    assert (infers.step, infers.first_gradient) == (None, None)


def test_time_to_target_is_that_of_the_evaluation_that_reached_it(summary: RunSummary) -> None:
    rows = {row.cell.cell.adapter: row for row in model_table("lenet", summary.of_problem("lenet")).rows}
    assert (rows["torch"].target_step, rows["jax"].target_step) == (20, 30)
    assert rows["torch"].to_target is not None
    assert rows["torch"].to_target.median == pytest.approx(1.0 + 19 * 0.01)
    assert rows["torch"].accuracy == 0.98


def test_parity_stands_above_the_times(summary: RunSummary) -> None:
    out = io.StringIO()
    print_run(Analysis(summary, Path("run")), Console(file=out, width=400, color_system=None))
    text = out.getvalue()
    assert 0 < text.index("parity: relative errors") < text.index("times (only of cells")
    assert "inaccurate" in text
    assert "SHA-256 " + "ab" * 32 in text
    assert "divide by 16" in text
    assert "batch 64" not in text.partition("parity")[0]
    assert "rtol" not in text.partition("where the time")[0]
    # How to read the tables of equations is no help here.
    assert "mescd" not in text


def test_tables_have_an_entry_for_every_column(summary: RunSummary) -> None:
    table = model_table("lenet", summary.of_problem("lenet"))
    for shown in (parity_table(table.parity), times_table(table)):
        assert all(len(row) == len(shown.columns) for row in shown.rows)
        assert shown.cell_ids


def test_the_document_and_the_page_have_the_same(summary: RunSummary) -> None:
    found = json.loads(json.dumps(run_document(Analysis(summary, Path("run")))))["problems"][0]["model"]
    assert [item["kept"] for item in found["parity"]] == [True, True, False, True]
    assert found["times"][0]["samples_per_s"] == pytest.approx(64_000)
    view = model_view("p", summary.plan.problems[0], summary.of_problem("lenet"), Places("", summary.cells, {}))
    assert view is not None
    assert view.times is not None
    assert (len(view.parity.rows), len(view.times.rows)) == (4, 3)


def test_models_are_compared_at_their_largest_batch(summary: RunSummary) -> None:
    found = compare("lenet", summary.of_problem("lenet"))
    assert (found.gradient_target.batch, found.gradient_target.digits, found.gradient_target.rtol) == (64, None, None)
    medians = {row.summary.cell.adapter: row.gradient.seconds for row in found.rows}
    assert medians["jax"] is not None
    assert medians["jax"].median == pytest.approx(3e-3)


def test_no_chart_of_accuracy_is_drawn_of_a_model(summary: RunSummary) -> None:
    kinds = {chart.kind for chart in of_problem(summary, "lenet")}
    assert "work-precision" not in kinds
    assert {"memory", "training"} <= kinds
    assert "lenet is a model; a model has no accuracy" in KINDS["work-precision"].reason(summary, "lenet")


class TestTracks:
    """Both tracks in one figure: ratios of ecosystems on models beside those on equations."""

    def run(self, with_models: bool = True, failing: str = "") -> RunSummary:
        """Two problems of each track, and a third equation, in the suite ``failing``, on which PyTorch times out."""
        cells: list[Cell] = []
        made: list[Record] = []
        for number in (1, 2):
            pairs = [
                (Cell(f"robertson{number}", "torchdiffeq", "dopri5", "discrete", "eager"), 40.0),
                (Cell(f"robertson{number}", "diffrax", "kvaerno5", "checkpointed", "compiled"), 2.0),
            ]
            if with_models:
                pairs += [
                    (dataclasses.replace(TORCH, problem=f"lenet{number}"), 1.0),
                    (dataclasses.replace(JAX, problem=f"lenet{number}"), 2.0 * number),
                ]
            for which, ms in pairs:
                cells.append(which)
                points = [at(1, ms)] if which.method == "network" else [point(1e-6, gradient_ms=3 * ms)]
                made += [record(which, points, block=block) for block in range(3)]
        if failing:
            fails, solves = (dataclasses.replace(pairs[i][0], problem="robertson3") for i in (0, 1))
            made.append(record(fails, [point(1e-6, outcome=Outcome.TIMEOUT)]))
            made += [record(solves, [point(1e-6, gradient_ms=6.0)], block=block) for block in range(3)]
            cells += [fails, solves]
        made_plan = planned(cells)
        for entry in made_plan["problems"]:
            if entry["name"] == "robertson3":
                entry["suite"] = failing
        return summarise(made_plan, made)

    def test_the_means_are_those_of_each_suite(self) -> None:
        (chart,) = across(self.run(), ("tracks",))
        ratios = {(row[0], row[1]): row[4] for row in chart.rows}
        assert ratios == {
            ("stiff", "robertson1"): pytest.approx(20),
            ("stiff", "robertson2"): pytest.approx(20),
            ("conventional", "lenet1"): pytest.approx(0.5),
            ("conventional", "lenet2"): pytest.approx(0.25),
        }
        assert "conventional: PyTorch 0.35 (" in chart.alt
        assert "stiff: PyTorch 20" in chart.alt
        assert all(cell_id(TORCH)[:5] in str(row[-1]) or "robertson" in str(row[-1]) for row in chart.rows)

    def test_where_an_ecosystem_has_no_gradient_is_told(self, tmp_path: Path) -> None:
        (chart,) = across(self.run(failing="stiff"), ("tracks",))
        assert "over 2 problems, no gradient by PyTorch on 1 of 3." in chart.alt
        (told,) = [row for row in chart.rows if row[1] == "robertson3"]
        assert told[:5] == ("stiff", "robertson3", "PyTorch", "JAX", None)
        (chart,) = across(self.run(failing="nonstiff"), ("tracks",))
        assert "nonstiff: PyTorch no gradient by PyTorch on 1 of 1." in chart.alt
        chart.save(tmp_path / "tracks.png")
        assert (tmp_path / "tracks.png").stat().st_size > 5_000

    def test_it_is_drawn(self, tmp_path: Path) -> None:
        (chart,) = across(self.run(), ("tracks",))
        chart.save(tmp_path / "tracks.png")
        assert (tmp_path / "tracks.png").stat().st_size > 5_000

    def test_equations_alone_have_none(self) -> None:
        assert list(across(self.run(with_models=False), ("tracks",))) == []


def test_a_page_does_not_say_that_a_model_lacks_a_reference(summary: RunSummary) -> None:
    trace: Any = SimpleNamespace(problem="lenet", reference_kind="extended", energy=None)
    reading: Any = SimpleNamespace(summary=summary, plan=summary.plan, traces=(trace,), damaged=(), unplanned=())
    assert not [text for text in unmeasured(reading) if "no reference" in text]
    trace.reference_kind = None
    assert [text for text in unmeasured(reading) if "no reference" in text]
