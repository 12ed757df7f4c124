"""The adapter of Lux: what it refuses and, run with ``-m julia``, models in a real Julia in one process of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from adapters.findings import findings
from adapters.real_julia import LIMIT_S, NEEDED, QUICKLY_COMPILED
from adapters.trainings import OPTIMISERS, first_theta, gradients, pinned
from stubs.models import IMAGES, TEXTS

from sciml_bench.adapters import registry
from sciml_bench.adapters.julia import installation
from sciml_bench.planning.plan import make_plan
from sciml_bench.planning.profiles import profile_named
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.record.codec import decode
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.training import Trained

needs_julia = [pytest.mark.julia, *NEEDED[1:]]


@pytest.fixture
def _set_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Julia that seems to be there, in which Enzyme did not work."""
    project = tmp_path / "project"
    project.mkdir()
    packages = '[[deps.SciMLBench]]\nversion = "0.1.0"\n[[deps.PythonCall]]\nversion = "0.9.34"\n'
    (project / "Manifest.toml").write_text(packages, encoding="utf-8")
    monkeypatch.setattr(installation, "juliacall_version", lambda: "0.9.34")
    monkeypatch.setattr(registry.importlib.util, "find_spec", lambda _name: object())
    for name in ("PYTHON_JULIACALL_EXE", "PYTHON_JULIACALL_PROJECT", "JULIA_DEPOT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SCIML_BENCH_JULIA", str(tmp_path / "julia.json"))
    parts = {"zygote": "", "enzyme": "UndefRefError"}
    installation.write(installation.Installation("/bin/sh", str(project), parts=parts), tmp_path / "julia.json")


@pytest.mark.usefixtures("_set_up")
@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("reverse/compiled/float32/gpu", "on a GPU Lux needs LuxCUDA or Reactant"),
        ("reverse/compiled/bfloat16/cpu", "Lux has no mixed precision"),
        ("reverse-enzyme/compiled/float32/cpu", "enzyme did not work when this Julia was set up: UndefRefError"),
    ],
)
def test_what_it_cannot_do_is_said_before_anything_runs(cell: str, reason: str, tmp_path: Path) -> None:
    skipped = _plan(tmp_path, f"every-kind/lux/network/{cell}").skipped
    (told,) = [item for item in skipped if item.cell.label.endswith(cell)]
    assert told.outcome is Outcome.UNSUPPORTED
    assert told.reason.startswith(reason)


@pytest.mark.usefixtures("_set_up")
def test_zygote_in_both_precisions_is_planned(tmp_path: Path) -> None:
    cells = [f"every-kind/lux/network/reverse/compiled/{precision}/cpu" for precision in ("float32", "float64")]
    assert [item.cell.label for item in _plan(tmp_path, *cells).planned] == cells


def test_without_julia_one_line_says_how_to_add_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCIML_BENCH_JULIA", str(tmp_path / "none.json"))
    for name in ("PYTHON_JULIACALL_EXE", "PYTHON_JULIACALL_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(registry.importlib.util, "find_spec", lambda _name: object())
    missing = registry.missing(registry.adapter("lux"))
    assert missing is not None
    assert missing.reason == "no Julia is set up for sciml-bench; run: sciml-bench julia setup"


def _plan(folder: Path, *cells: str) -> Any:
    path = folder / "every-kind.toml"
    path.write_text(IMAGES.lstrip(), encoding="utf-8")
    selection = Selection(adapters=("lux",), cells=cells)
    lux = {"lux": registry.adapter("lux")}
    return make_plan(selection, lux, profile_named("quick"), Settings(), files=[path])


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The findings of :mod:`adapters.in_lux`."""
    return findings("in_lux.py", timeout_s=LIMIT_S, **(installation.variables(os.environ) | QUICKLY_COMPILED))


class TestInJulia:
    pytestmark = needs_julia

    @pytest.mark.parametrize("name", TEXTS)
    def test_every_kind_of_layer_keeps_parity(self, found: dict[str, Any], name: str) -> None:
        assert found[name]["end"]["outcome"] == "ok", found[name]["end"]["message"]
        for point in found[name]["points"]:
            assert (point["outcome"], point["message"]) == ("ok", "")
            scores = point["solve"]["scores"] | point["gradient"]["scores"]
            assert max(scores["output_error"], scores["loss_error"], scores["slope_error"]) < 1e-10

    def test_single_precision_keeps_it_too(self, found: dict[str, Any]) -> None:
        (point,) = found["single"]["points"]
        scores = point["solve"]["scores"] | point["gradient"]["scores"]
        assert point["outcome"] == "ok"
        assert 1e-10 < max(scores["output_error"], scores["slope_error"]) < 1e-5

    @pytest.mark.parametrize("name", ["every-kind", "text"])
    def test_it_trains_as_pytorch_does(self, found: dict[str, Any], name: str) -> None:
        ours = decode(Trained, found[name]["training"])
        theirs = decode(Trained, findings("in_models.py", MODELS_ADAPTER="torch")[name]["training"])
        assert (ours.outcome, ours.message) == (Outcome.OK, "")
        assert ours.losses == pytest.approx(theirs.losses, rel=1e-8)
        assert ours.theta == pytest.approx(theirs.theta, rel=1e-6, abs=1e-9)
        for mine, other in zip(ours.evaluations, theirs.evaluations, strict=True):
            assert mine.loss == pytest.approx(other.loss, rel=1e-8)
            assert (mine.step, mine.accuracy) == (other.step, other.accuracy)

    @pytest.mark.parametrize("optimiser", OPTIMISERS)
    def test_every_optimiser_is_of_the_pinned_formula(self, found: dict[str, Any], optimiser: str) -> None:
        expected = pinned(OPTIMISERS[optimiser], first_theta(), gradients())
        assert found["formulas"][optimiser] == pytest.approx(expected, rel=1e-12, abs=1e-12)

    def test_both_sides_of_the_bridge_are_timed(self, found: dict[str, Any]) -> None:
        for point in found["every-kind"]["points"]:
            for kind in ("solve", "gradient"):
                for outside, inside in zip(point[kind]["ns"], point[kind]["inside"]["ns"], strict=True):
                    assert 0 < inside < outside
                # What is compiled is compiled in the first call.
                assert point[kind]["inside"]["compile_ns"] == [0] * len(point[kind]["ns"])

    def test_versions_and_threads_are_read_back(self, found: dict[str, Any]) -> None:
        end = found["flat"]["end"]["worker"]
        assert {"julia", "juliacall", "Lux", "NNlib", "Optimisers", "Zygote"} <= set(end["versions"])
        assert (end["threads"]["threads_julia"], end["threads"]["threads_blas"]) == ("1", "1")
        # Its solvers would be part of what a user of Lux waits for.
        assert "SciMLBase" not in end["versions"]

    def test_the_gradient_of_a_maximum_goes_to_the_maximum(self, found: dict[str, Any]) -> None:
        assert found["maxima"] == [0.0, 0.0, 0.0, 3.0]

    def test_what_is_wrong_is_a_typed_outcome(self, found: dict[str, Any]) -> None:
        wrong = found["wrong"]
        assert wrong["reference"]["points"][0]["outcome"] == "inaccurate"
        assert (wrong["layers"]["end"]["outcome"], wrong["layers"]["end"]["phase"]) == ("build_error", "build")
        assert "weights of layers that the model does not have: 1" in wrong["layers"]["end"]["message"]
        assert (wrong["source"]["end"]["outcome"], wrong["source"]["end"]["phase"]) == ("build_error", "build")
