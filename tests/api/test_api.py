"""The Python API: its examples on the real catalog, and all of it on a small suite of stub problems."""

from __future__ import annotations

import dataclasses
import doctest
import json
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from needs import needs
from stubs import compared
from stubs.suite import problem_text

from sciml_bench import api
from sciml_bench.analysis.comparison.compare import Comparison
from sciml_bench.api import host_checks, published_claims, references, scaling
from sciml_bench.engine import local
from sciml_bench.execution import advising
from sciml_bench.execution.finished import Finished
from sciml_bench.host import lock
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import PointResult
from sciml_bench.record.task import Cell
from sciml_bench.stats.verdict import Verdict


def test_its_examples_are_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The module's own example makes the run that the others use."""
    monkeypatch.setattr(lock, "lock_path", lambda: tmp_path / "host.lock")
    names = {"folder": tmp_path, "api": api}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    finder = doctest.DocTestFinder()
    parts = (api, host_checks, published_claims, references, scaling)
    found = {test.name: test for part in parts for test in finder.find(part, part.__name__) if test.examples}
    for test in (found.pop("sciml_bench.api"), *(found[name] for name in sorted(found))):
        test.globs = names
        runner.run(test, clear_globs=False)
    assert len(found) >= 8
    assert runner.summarize().failed == 0


def test_a_notebook_of_ten_lines_plans_runs_loads_and_plots(small: Path):
    seen: list[Finished] = []
    plan = api.plan("stiff", profile="smoke")
    run = api.run(plan, progress=seen.append)
    again = api.load(run.folder)
    assert run.folder.parent == Path("results")
    assert [str(item).split("]")[0] for item in seen] == ["[1/2", "[2/2"]
    assert [item.record for item in seen] == list(again.records)
    assert again.plan["hash"] == plan.hash
    assert np.isfinite(again.cells["gradient_s"]).all()
    assert set(again.cells["adapter"]) == {"alpha", "beta"}
    assert set(again.samples["call"]) == {"solve", "gradient"}
    chart, *_ = again.charts("work-precision")
    chart.save(small / "chart.svg")
    assert (small / "chart.svg").read_text().startswith("<?xml")
    assert again.verify().valid
    html = again._repr_html_()
    assert "<table>" in html
    assert "Not comparable: profile smoke" in html


def test_without_progress_nothing_is_printed(small: Path, capfd: pytest.CaptureFixture[str]):
    api.run(api.plan("stiff", profile="smoke", adapters="alpha"))
    assert capfd.readouterr() == ("", "")


def test_names_of_suites_and_problems_and_files_select(small: Path):
    (small / "mine.toml").write_text(problem_text("mine"))
    assert {item.cell.problem for item in api.plan("calm", "mine.toml", profile="smoke").planned} == {"calm", "mine"}
    assert {item.cell.problem for item in api.plan(small / "mine.toml", profile="smoke").planned} == {"mine"}
    assert {item.cell.problem for item in api.plan("stiff", profile="smoke").planned} == {"decay"}
    chosen = api.plan("stiff", adapters=["alpha"], methods="fine", profile="smoke").planned
    assert {(item.cell.adapter, item.cell.method) for item in chosen} == {("alpha", "fine")}


def test_an_interrupted_run_is_continued_by_the_same_call(small: Path, monkeypatch: pytest.MonkeyPatch):
    plan = api.plan("stiff", profile="smoke")
    measure = local.measure_group

    def interrupted(*arguments, **options):
        yield next(measure(*arguments, **options))
        raise KeyboardInterrupt

    monkeypatch.setattr(local, "measure_group", interrupted)
    with pytest.raises(KeyboardInterrupt, match="the same call continues it"):
        api.run(plan)
    monkeypatch.setattr(local, "measure_group", measure)
    assert len(api.load().records) == 1
    run = api.run(plan)
    assert len(run.records) == 2
    assert len(list(Path("results").iterdir())) == 1
    assert api.run(plan, resume=False).folder != run.folder


WRONG = {
    "a name that is neither suite nor problem": (lambda: api.plan("decai"), api.UsageError, "did you mean decay"),
    "an adapter": (lambda: api.plan("stiff", adapters="alfa"), api.UsageError, "did you mean alpha"),
    "a file that is not there": (lambda: api.plan("no.toml"), api.ProblemError, r"no\.toml"),
    "nothing selected": (lambda: api.run(api.plan("stiff", keyword="nothing")), api.UsageError, "nothing is selected"),
    "nothing to resume": (
        lambda: api.run(api.plan("stiff", profile="smoke"), resume=True), api.UsageError, "nothing to resume",
    ),
    "no run yet": (lambda: api.load(), api.UsageError, "no run in results"),
    "not a run": (lambda: api.load("."), api.StoreError, "is not a run"),
    "a list": (lambda: api.list("cells"), api.UsageError, "unknown list 'cells'"),  # pyright: ignore[reportArgumentType]
    "a suite to list": (lambda: api.list("problems", suites="stif"), api.UsageError, "did you mean stiff"),
    "a problem": (lambda: api.problem("robertsen"), api.UsageError, "unknown problem 'robertsen'"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_by_a_typed_error(small: Path, case: str):
    call, error, match = WRONG[case]
    with pytest.raises(error, match=match):
        call()
    assert not Path("results").exists()


def test_lists_are_those_of_the_command_line(small: Path):
    assert [row["name"] for row in api.list("problems", suites=["stiff"])] == ["decay", "fade"]
    assert {row["suite"]: row["problems"] for row in api.list("suites")}["stiff"] == 2
    assert {row["adapter"] for row in api.list("adapters")} >= {"alpha", "beta"}
    assert api.list("runs") == []
    api.run(api.plan("stiff", profile="smoke"))
    (row,) = api.list("runs")
    assert (row["cells"], row["recorded"], row["command"]) == (2, 2, "sciml_bench.api.run")


@pytest.fixture
def two(tmp_path: Path) -> tuple[api.Run, api.Run]:
    """Two runs, the second of which takes half the time."""
    names = (("base", 1.0, 1), ("new", 0.25, 2))
    folders = [compared.run(tmp_path, name, factors=factor, seed=seed).folder for name, factor, seed in names]
    return api.load(folders[0]), api.load(folders[1])


def test_runs_are_compared(two: tuple[api.Run, api.Run]):
    base, new = two
    for comparison in (api.compare(base, new), api.compare(base.folder, str(new.folder))):
        assert isinstance(comparison, Comparison)
        assert {line.judgement.verdict for line in comparison.lines} == {Verdict.FASTER}
    within = api.compare(base, of="scipy", others="diffrax")
    assert within.lines


def test_comparisons_that_cannot_be_made_are_refused(two: tuple[api.Run, api.Run]):
    base, new = two
    for other, of, others in ((new, "a", "b"), (None, None, None), (None, "a", None), (new, "a", None)):
        with pytest.raises(api.UsageError, match="give two runs, or one run with both"):
            api.compare(base, other, of=of, others=others)
    with pytest.raises(api.UsageError, match="one is a copy of the other"):
        api.compare(base, base)
    with pytest.raises(api.UsageError, match="nothing to compare"):
        api.compare(base, new, keyword="nowhere")


def test_an_analysis_names_winners_as_show_does(two: tuple[api.Run, api.Run]):
    analysis = api.analyse(two[0])
    assert analysis.comparable
    (problem,) = analysis.problems
    assert problem.answer.rankings["gradient"].standings
    assert analysis.failures == []
    assert analysis.cell_tally.measured == 2
    (sentence,) = re.findall("<p>(Take .*? Fastest gradient .*?)</p>", two[0]._repr_html_())
    assert "the same within 5 %" in sentence


def test_a_report_is_written(two: tuple[api.Run, api.Run], tmp_path: Path):
    steps: list[str] = []
    path = api.report(two, tmp_path / "new folder" / "page.html", progress=steps.append)
    assert path.read_text().startswith("<!DOCTYPE html>")
    assert steps


def test_names_of_strangers_are_text_in_a_notebook(two: tuple[api.Run, api.Run], tmp_path: Path):
    folder = two[0].folder
    plan = json.loads((folder / "plan.json").read_text())
    plan["problems"][0]["title"] = "<script>alert(1)</script>"
    (folder / "plan.json").write_text(json.dumps(plan))
    html = api.load(folder)._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_frame_is_arrays_by_name(two: tuple[api.Run, api.Run]):
    cells = two[0].cells
    assert cells["gradient_s"].dtype == float
    assert cells["processes"].dtype == int
    assert cells["comparable"].dtype == bool
    assert cells["adapter"].dtype == object
    assert len(cells.where(adapter="scipy")) < len(cells)
    assert {row["adapter"] for row in cells.where(adapter="scipy")} == {"scipy"}
    assert np.isnan(cells["to_target_s"]).all()
    assert cells.meanings["gradient_s"] == "time per gradient, median over processes"
    assert "<td>scipy</td>" in cells._repr_html_()
    with pytest.raises(api.UsageError, match="unknown column 'gradient'; there are run"):
        cells["gradient"]


@pytest.mark.parametrize(
    "library", [pytest.param("pandas", marks=needs("pandas")), pytest.param("polars", marks=needs("polars"))]
)
def test_a_frame_is_one_of_a_library_that_is_there(two: tuple[api.Run, api.Run], library: str):
    cells = two[0].cells
    frame = cells.to_pandas() if library == "pandas" else cells.to_polars()
    assert list(frame.columns) == list(cells.columns)
    assert len(frame) == len(cells)
    assert np.allclose(np.asarray(frame["gradient_s"], dtype=float), cells["gradient_s"], equal_nan=True)
    assert list(frame["adapter"]) == list(cells["adapter"])


def test_a_library_that_is_missing_is_named(two: tuple[api.Run, api.Run], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(api.UsageError, match="pandas is not installed: `pip install pandas`"):
        two[0].cells.to_pandas()


def test_failures_stand_in_the_notebook(tmp_path: Path):
    def make(cell: Cell, block: int) -> list[PointResult]:
        return (
            compared.failed_points(Outcome.MAX_STEPS)
            if cell == compared.CELLS[1]
            else compared.points(Random(block), 1)
        )

    run = api.load(compared.run(tmp_path, "failed", make=make).folder)
    assert len(api.analyse(run).failures) == 1
    assert f"{compared.CELLS[1].label}: max_steps" in run._repr_html_()


def test_importing_it_loads_no_framework_and_no_numpy():
    heavy = ("numpy", "sympy", "click", "jinja2", "scipy")
    code = f"import sciml_bench.api, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_advice_says_what_to_take_and_writes_none_without_a_script(small: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(advising, "SCREENING", dataclasses.replace(advising.SCREENING, timeout_s=1.0))
    monkeypatch.setattr(advising, "RACING", dataclasses.replace(advising.RACING, timeout_s=1.0, processes=2))
    looked: list[Cell] = []

    class Looking(advising.Listener):
        def looked(self, cell: Cell, found: object, place: int, total: int) -> None:
            looked.append(cell)

    found = api.advise("decay", within_s=60, count=10, accuracy=1e-4, adapters="beta", listener=Looking())
    answer = found.recommendation
    assert next(iter(answer.sentences)).startswith("Take beta ")
    assert answer.ways[0].rtol is not None
    assert {way.cell for way in (*answer.ways, *answer.failed)} == set(looked)
    for run in found.runs:
        assert not list(api.load(run.folder).verify().breaches)
    with pytest.raises(api.UsageError, match="no scripts for beta"):
        found.script(answer.ways[0])
    with pytest.raises(api.UsageError, match="unknown problem 'none'"):
        api.advise("none")
