"""The adapter of SimpleChains: what it refuses and, run with ``-m julia`` where it is installed, models in Julia."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from adapters.findings import findings
from adapters.real_julia import LIMIT_S, NEEDED, QUICKLY_COMPILED
from stubs.models import FLAT, PERCEPTRON, SMALL

from sciml_bench.adapters import registry
from sciml_bench.adapters.julia import installation
from sciml_bench.adapters.julia.optional_parts import lacking_part
from sciml_bench.planning.plan import make_plan
from sciml_bench.planning.profiles import profile_named
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.record.codec import decode
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.training import Trained

PART = "simplechains"
needs_simplechains = [
    pytest.mark.julia,
    *NEEDED[1:],
    pytest.mark.skipif(lacking_part(PART) is not None, reason=str(lacking_part(PART))),
]


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The manifest of a Julia that seems to be there, without SimpleChains."""
    manifest = tmp_path / "project" / "Manifest.toml"
    manifest.parent.mkdir()
    packages = '[[deps.SciMLBench]]\nversion = "0.1.0"\n[[deps.PythonCall]]\nversion = "0.9.34"\n'
    manifest.write_text(packages, encoding="utf-8")
    monkeypatch.setattr(installation, "juliacall_version", lambda: "0.9.34")
    monkeypatch.setattr(registry.importlib.util, "find_spec", lambda _name: object())
    for name in ("PYTHON_JULIACALL_EXE", "PYTHON_JULIACALL_PROJECT", "JULIA_DEPOT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SCIML_BENCH_JULIA", str(tmp_path / "julia.json"))
    _record(manifest, {})
    return manifest


def _record(manifest: Path, parts: dict[str, str]) -> None:
    found = installation.Installation("/bin/sh", str(manifest.parent), parts=parts)
    installation.write(found, manifest.parents[1] / "julia.json")


def _add(manifest: Path) -> None:
    added = '[[deps.SimpleChains]]\nversion = "0.4.8"\n'
    manifest.write_text(manifest.read_text(encoding="utf-8") + added, encoding="utf-8")


def test_without_it_one_line_says_how_to_add_it(project: Path) -> None:
    missing = registry.missing(registry.adapter(PART))
    assert missing is not None
    assert missing.reason == (
        "SimpleChains is not in Julia's project; run: sciml-bench julia setup --with simplechains"
    )
    _add(project)
    assert registry.missing(registry.adapter(PART)) is None


def test_without_julia_julia_is_what_lacks(monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    monkeypatch.setenv("SCIML_BENCH_JULIA", str(project.parent / "none.json"))
    missing = registry.missing(registry.adapter(PART))
    assert missing is not None
    assert missing.reason == "no Julia is set up for sciml-bench; run: sciml-bench julia setup"


@pytest.mark.parametrize(
    ("text", "cell", "reason"),
    [
        (PERCEPTRON, "float32/gpu", "SimpleChains computes on the CPU only"),
        (PERCEPTRON, "bfloat16/cpu", "SimpleChains has no mixed precision"),
        (FLAT, "float32/cpu", "SimpleChains has no padding, and conv1 pads by 1"),
    ],
)
def test_what_it_cannot_do_is_said_before_anything_runs(
    text: str, cell: str, reason: str, project: Path, tmp_path: Path
) -> None:
    _add(project)
    skipped = _plan(tmp_path, text, cell).skipped
    (told,) = [item for item in skipped if item.cell.label.endswith(cell)]
    assert told.outcome is Outcome.UNSUPPORTED
    assert told.reason.startswith(reason)


def test_what_did_not_work_when_it_was_added_is_refused(project: Path, tmp_path: Path) -> None:
    _add(project)
    _record(project, {PART: "UndefVarError"})
    (told,) = [one for one in _plan(tmp_path, PERCEPTRON, "float32/cpu").skipped if one.cell.label.endswith("32/cpu")]
    assert told.reason == "simplechains did not work when this Julia was set up: UndefVarError"


def test_both_precisions_are_planned(project: Path, tmp_path: Path) -> None:
    _add(project)
    planned = _plan(tmp_path, PERCEPTRON, "float32/cpu", "float64/cpu").planned
    assert [item.cell.precision for item in planned] == ["float32", "float64"]


def _plan(folder: Path, text: str, *cells: str) -> Any:
    name = "flat" if text is FLAT else "perceptron"
    path = folder / f"{name}.toml"
    path.write_text(text.lstrip(), encoding="utf-8")
    labels = tuple(f"{name}/{PART}/network/reverse/compiled/{cell}" for cell in cells)
    selection = Selection(adapters=(PART,), cells=labels)
    return make_plan(selection, {PART: registry.adapter(PART)}, profile_named("quick"), Settings(), files=[path])


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The findings of :mod:`adapters.in_simplechains`."""
    variables = installation.variables(os.environ) | QUICKLY_COMPILED
    return findings("in_simplechains.py", timeout_s=LIMIT_S, **variables)


class TestInJulia:
    pytestmark = needs_simplechains

    @pytest.mark.parametrize("name", SMALL)
    def test_models_keep_parity(self, found: dict[str, Any], name: str) -> None:
        assert found[name]["end"]["outcome"] == "ok", found[name]["end"]["message"]
        assert found[name]["points"]
        for point in found[name]["points"]:
            assert (point["outcome"], point["message"]) == ("ok", "")
            scores = point["solve"]["scores"] | point["gradient"]["scores"]
            assert max(scores["output_error"], scores["loss_error"], scores["slope_error"]) < 1e-11

    def test_single_precision_keeps_it_too(self, found: dict[str, Any]) -> None:
        (point,) = found["single"]["points"]
        scores = point["solve"]["scores"] | point["gradient"]["scores"]
        assert point["outcome"] == "ok"
        assert 1e-11 < max(scores["output_error"], scores["slope_error"]) < 1e-6

    def test_it_trains_as_pytorch_does(self, found: dict[str, Any]) -> None:
        ours = decode(Trained, found["small-images"]["training"])
        theirs = decode(Trained, findings("in_models.py", MODELS_ADAPTER="torch")["small-images"]["training"])
        assert (ours.outcome, ours.message) == (Outcome.OK, "")
        assert ours.losses == pytest.approx(theirs.losses, rel=1e-8)
        assert ours.theta == pytest.approx(theirs.theta, rel=1e-6, abs=1e-9)
        for mine, other in zip(ours.evaluations, theirs.evaluations, strict=True):
            assert mine.loss == pytest.approx(other.loss, rel=1e-8)
            assert (mine.step, mine.accuracy) == (other.step, other.accuracy)

    def test_outputs_are_not_written_over(self, found: dict[str, Any]) -> None:
        assert found["held"]["after"] == found["held"]["alone"]

    def test_versions_and_threads_are_read_back(self, found: dict[str, Any]) -> None:
        end = found["perceptron"]["end"]["worker"]
        assert {"julia", "juliacall", "LoopVectorization", "Optimisers", "SimpleChains"} <= set(end["versions"])
        assert end["threads"]["threads_julia"] == "1"
        assert "Lux" not in end["versions"]

    def test_what_is_wrong_is_a_typed_outcome(self, found: dict[str, Any]) -> None:
        wrong = found["wrong"]
        assert wrong["reference"]["points"][0]["outcome"] == "inaccurate"
        assert (wrong["layers"]["end"]["outcome"], wrong["layers"]["end"]["phase"]) == ("build_error", "build")
        assert "the model takes 58 parameters, and there are 51 weights" in wrong["layers"]["end"]["message"]
        assert (wrong["source"]["end"]["outcome"], wrong["source"]["end"]["phase"]) == ("build_error", "build")
