"""Sweeps on the whole way of the data: variants → plan → workers → records → tables, with stub programs."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest
from stubs.suite import labelled, problem_text, stub_adapter

from sciml_bench.adapters import registry
from sciml_bench.adapters.base import Method, Recipe
from sciml_bench.cli import exit_codes
from sciml_bench.engine import local
from sciml_bench.record.run_folder import Run
from sciml_bench.spec import load_problem

BATCH = ("scale", "decay", "--over", "batch", "--values", "1,4,16", "--profile", "smoke")


@pytest.fixture
def sweeping(cli, monkeypatch):
    """The command line with an adapter that solves batches; no truth is known."""
    methods = tuple(Method(name, "esdirk", order, True, stiff=True) for order, name in ((4, "modest"), (5, "hungry")))
    adapter = stub_adapter(
        "alpha", program="stubs.sweep_programs:build", methods=methods,
        recipes=labelled(Recipe("modest", "discrete", "eager")),
    )  # fmt: skip
    monkeypatch.setattr(registry, "_all", lambda: {"alpha": adapter})
    truth = types.ModuleType("truth")
    truth.__dict__["truth"] = lambda _problem, *_options, **_named: None
    monkeypatch.setitem(sys.modules, "sciml_bench.references.truth", truth)
    return cli


def only_run() -> Run:
    (path,) = Path("results").iterdir()
    return Run.open(path)


def test_a_sweep_over_batches_is_measured_and_told(sweeping):
    done = sweeping(*BATCH, "--method", "modest")
    assert done.code == exit_codes.OK, done.err
    assert "3 cells on 3 problems" in done.out
    assert "decay over batch: 3 sizes (1, 4, 16)" in done.out
    assert "time per gradient against trajectories, at a relative tolerance of 1e-8" in done.out
    assert "25 (9 least, 9.5 mean)" in done.out
    assert "NOT COMPARABLE" in done.out
    assert only_run().folder.name.endswith("_scale-decay-batch_smoke")


def test_the_run_holds_exactly_what_ran(sweeping):
    sweeping(*BATCH, "--method", "modest")
    run = only_run()
    for entry in run.plan["problems"]:
        problem = load_problem(entry["file"])
        assert Path(entry["file"]).parent == run.folder / "problems"
        assert problem.spec_hash == entry["spec_hash"]
        assert problem.batch.size == run.plan["sweep"]["sizes"][entry["name"]] == entry["batch"]


def test_the_time_grows_as_it_does(sweeping):
    """Calls sleep for each trajectory: nearly linear between 64 and 256."""
    words = ("--values", "16,64,256", "--method", "modest", "--profile", "quick", "--json")
    done = sweeping("scale", "decay", "--over", "batch", *words)
    tables = {table["quantity"]: table for table in done.json["sweep"]["tables"]}
    power = tables["gradient"]["cells"][0]["power"]
    assert power["n"] == 3
    assert 0.7 < power["exponent"] < 1.1
    assert power["low"] <= power["exponent"] <= power["high"]


def test_show_tells_the_same(sweeping):
    done = sweeping(*BATCH, "--method", "modest")
    again = sweeping("show")
    start = "decay over batch"
    assert again.out[again.out.index(start) :] == done.out[done.out.index(start) :]


def test_a_batch_too_large_for_memory_is_an_outcome_and_the_run_goes_on(sweeping):
    done = sweeping(*BATCH, "--method", "modest,hungry", "--memory-limit", "400M")
    assert done.code == exit_codes.BROKEN_CELLS
    assert "out_of_memory 1" in done.out
    assert "5 cells measured, 1 failed (out_of_memory 1)" in done.out
    rows = [line.split() for line in done.out.splitlines() if line.startswith("alpha")]
    hungry = [row for row in rows if row[1] == "hungry"]
    assert len(hungry) == 4, "gradient, solve, memory and steps"
    assert all(row[-2] == "out_of_memory" for row in hungry)


def test_an_interrupted_sweep_is_continued_by_the_same_command(sweeping, monkeypatch):
    measure, seen = local.measure_group, []

    def measured(*arguments, **options):
        for measurement in measure(*arguments, **options):
            if seen:
                raise KeyboardInterrupt
            seen.append(None)
            yield measurement

    with monkeypatch.context() as patch:
        patch.setattr(local, "measure_group", measured)
        done = sweeping(*BATCH, "--method", "modest")
    assert done.code == exit_codes.INTERRUPTED
    assert f"interrupted; resume with: sciml-bench {' '.join(BATCH)}" in done.err
    assert "not run yet" in done.out
    again = sweeping(*BATCH, "--method", "modest")
    assert "resuming" in again.err
    assert len(list(only_run().records())) == 3
    assert "not run yet" not in again.out


def test_a_sweep_over_tolerances_needs_no_variants(sweeping):
    words = ("--over", "tolerance", "--values", "1e-3,1e-5,1e-7", "--profile", "smoke", "--method", "modest")
    done = sweeping("scale", "decay", *words)
    assert done.code == exit_codes.OK, done.err
    assert "decay over tolerance: 3 sizes (1e-3, 1e-5, 1e-7)" in done.out
    assert "time per gradient against rtol" in done.out
    assert not (only_run().folder / "problems").exists()


def test_a_file_of_ones_own(sweeping):
    Path("mine.toml").write_text(problem_text("mine"), encoding="utf-8")
    for words in (("--over", "batch", "--values", "1,2,4"), ("--over", "tolerance")):
        done = sweeping("scale", "mine.toml", *words, "--profile", "smoke", "--method", "modest")
        assert done.code == exit_codes.OK, done.err
        assert f"mine over {words[1]}" in done.out


NETWORK = """
[networks.f]
inputs = 2
layers = [4, 2]
activation = "tanh"
"""


def test_over_parameters_every_kind_of_gradient_of_one_method_is_taken(sweeping):
    """The stub knows no network, so its cells fail; what is planned is what counts."""
    text = problem_text("mine").partition("[exact]")[0].replace("[states]", f"{NETWORK}\n[states]")
    Path("mine.toml").write_text(text.replace('"-a*y"', '"-a*y + f(y, z)[0]"'), encoding="utf-8")
    sweeping("scale", "mine.toml", "--over", "parameters", "--values", "12,32,102", "--profile", "smoke")
    plan = only_run().plan
    assert plan["sweep"]["over"] == "parameters"
    assert sorted(plan["sweep"]["sizes"].values()) == [14, 34, 104]
    assert {entry["name"]: entry["n_theta"] for entry in plan["problems"]} == plan["sweep"]["sizes"]
    cells = [entry["cell"] for entry in plan["cells"]]
    assert {cell["method"] for cell in cells} == {"modest"}
    assert {cell["sensitivity"] for cell in cells} == {"discrete", "backsolve"}
    # The mode is that of the recommended way, and nothing is taken twice.
    assert len(cells) == len({tuple(cell.values()) for cell in cells}) == 3 * 2
    assert len({cell["mode"] for cell in cells}) == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("decay", "--over", "batch", "--values", "1,2"), "takes 3 at least"),
        (("decay", "--over", "batch", "--values", "1,2,two"), "'two' is not a whole number"),
        (("decay", "--over", "batch", "--values", "0,1,2"), "'0' is not a whole number"),
        (("decay", "--over", "batch", "--values", "4,4,8"), "a value stands twice"),
        (("decay", "--over", "batch", "--values", "1,2,1000001"), "lies between 1 and 1000000"),
        (("decay", "--over", "tolerance", "--values", "1e-3,1e-5,2"), "'2' is not a tolerance"),
        (("decay", "--over", "tolerance", "--values", "1e-3,1e-5,nan"), "'nan' is not a tolerance"),
        (("decay", "--over", "width"), "decay has no network"),
        (("decay", "--over", "parameters"), "decay has no network"),
        (("decay", "--over", "points"), "decay has no grid"),
        (("decya", "--over", "batch"), "did you mean decay"),
        (("nowhere.toml", "--over", "batch"), "cannot be read"),
        (("decay",), "Missing option '--over'"),
        (("decay", "--over", "colour"), "'colour' is not one of"),
    ],
)
def test_what_cannot_be_swept_is_refused_before_anything_runs(sweeping, words, complaint):
    done = sweeping("scale", *words)
    assert done.code == exit_codes.USAGE
    assert complaint in done.err
    assert not Path("results").exists()


def test_a_variant_that_does_not_load_is_named_by_its_base(sweeping):
    text = problem_text("mine").replace("[parameters]\na = 0.5\nb = 2", "[constants]\na = 0.5\nb = 2")
    Path("mine.toml").write_text(text, encoding="utf-8")
    done = sweeping("scale", "mine.toml", "--over", "batch", "--values", "1,2,4")
    assert done.code == exit_codes.USAGE
    assert "mine.toml with batch 2: gradients of a batch are with respect to parameters" in done.err
