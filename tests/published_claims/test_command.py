"""The commands on published claims."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sciml_bench.cli.exit_codes import NOTHING_SELECTED
from sciml_bench.cli.main import main
from sciml_bench.published_claims.collection import claims

STORED = Path(__file__).parents[2] / "results" / "claims"

WorkerReported = Callable[..., tuple[int, str, str]]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> WorkerReported:
    def run(*words: str) -> tuple[int, str, str]:
        code = main(["claims", *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_claims_are_listed_with_what_is_claimed(told: WorkerReported):
    code, out, _ = told("list")
    assert code == 0
    assert "C05" in out
    assert "53×" in out
    assert {row["id"] for row in json.loads(told("list", "--json")[1])} >= {"C05"}


def test_one_claim_fits_one_screen(told: WorkerReported, tmp_path: Path):
    code, out, _ = told("show", "c05", "--out", str(tmp_path))
    assert code == 0
    assert len(out.splitlines()) < 20
    whole = told("show", "c05", "--all", "--out", str(tmp_path))[1]
    for words in ("said:", "where:", "of what:", "conditions:"):
        assert words in out
    for words in ("timed:", "mind:", "nearest to the source: problem", "when fair: problem"):
        assert words not in out
        assert words in whole
    out = whole
    assert "method (differs: may make the ratio smaller by up to 1.2×): SciPy's odeint" in out
    assert "nothing measured here yet; `sciml-bench claims run C05`" in out
    assert json.loads(told("show", "C05", "--json")[1])["figure"]["ratio"] == 53


@pytest.mark.skipif(not STORED.is_dir(), reason="an installed package has no stored runs")
def test_a_claim_shows_what_its_newest_run_says_as_the_report_does(told: WorkerReported):
    code, out, _ = told("show", "C05", "--out", str(STORED.parent))
    assert code == 0
    rows = json.loads(told("report", "--out", str(STORED), "--json")[1])
    known = next(row for row in rows if row["id"] == "C05")
    flat = " ".join(out.split())
    for name in ("published", "fair"):
        assert known[name]["ruling"] in flat
        assert known[name]["reason"] in flat
    assert len(out.splitlines()) < 25
    assert out.index("found when fair:") < out.index("where:"), "the ruling comes first"


@pytest.mark.parametrize("name", sorted(claims()))
def test_every_claim_can_be_shown(told: WorkerReported, tmp_path: Path, name: str):
    code, out, _ = told("show", name, "--out", str(tmp_path))
    assert code == 0
    assert len(out.splitlines()) <= 24
    code, out, _ = told("show", name, "--all", "--out", str(tmp_path))
    assert code == 0
    assert len(out.splitlines()) < 75
    assert max(map(len, out.splitlines())) <= 120
    assert json.loads(told("show", name, "--json")[1])["conditions"]["each"][0]["name"] == "problem"


def test_all_claims_can_be_reported_with_those_that_have_no_run(told: WorkerReported):
    if not STORED.is_dir():
        pytest.skip("an installed package has no stored runs")
    rows = {row["id"]: row for row in json.loads(told("report", "--all", "--out", str(STORED), "--json")[1])}
    assert rows.keys() == claims().keys()
    assert rows["C34"]["published"]["ruling"] == "not testable here"
    assert rows["C34"]["published"]["reason"] == claims()["C34"].needs.missing


@pytest.mark.slow
@pytest.mark.skipif(not STORED.is_dir(), reason="an installed package has no stored runs")
def test_the_stored_table_is_what_the_records_say(told: WorkerReported):
    out = told("export", "--to", "markdown", "--all", "--out", str(STORED))[1]
    assert out == (STORED / "claims.md").read_text(encoding="utf-8")


def test_unknown_claims_are_told_with_the_nearest(told: WorkerReported):
    code, _, err = told("show", "C5")
    assert code == 2
    assert "did you mean" in err


@pytest.mark.skipif(not STORED.is_dir(), reason="an installed package has no stored runs")
def test_a_claim_that_cannot_run_here_shows_its_stored_ruling(told: WorkerReported, monkeypatch, tmp_path):
    monkeypatch.setenv("SCIML_BENCH_JULIA", str(tmp_path / "no-julia.json"))
    code, out, _ = told("run", "C14-pollution", "--out", str(STORED.parent))
    assert code == NOTHING_SELECTED
    assert "not run: C14-pollution: " in out
    assert "× at 7–11 digits" in " ".join(out.split())
