"""Reports of wrong gradients: each is complete, and the page shows what was measured."""

from __future__ import annotations

import ast
import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from sciml_bench.spec import load_problem

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = sorted(path.parent for path in (ROOT / "claims" / "gradients").glob("*/report.toml"))

pytestmark = pytest.mark.skipif(not FOLDERS, reason="the reports are in a checkout only")


@pytest.fixture
def wrong_gradients(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("wrong_gradients")


@pytest.fixture
def results(wrong_gradients: Any) -> Any:
    return json.loads(wrong_gradients.RESULTS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_report_has_a_problem_with_one_parameter_and_a_script(wrong_gradients, folder):
    report = wrong_gradients.load(folder)
    problem = load_problem(folder / "problem.toml")
    assert problem.name == folder.name
    assert len(problem.parameters) == 1, "its derivative is what the script prints"
    if report.script.suffix == ".py":
        ast.parse(report.script.read_text(encoding="utf-8"))


def test_the_page_shows_the_results(wrong_gradients, results):
    assert wrong_gradients.page(results) == wrong_gradients.PAGE.read_text(encoding="utf-8")


def test_results_are_judged_as_they_would_be_today(wrong_gradients, results):
    for run in results:
        within = wrong_gradients.load(wrong_gradients.REPORTS / run["report"]).within
        for way in run["ways"]:
            text = f"refused: {way['value']}" if way["verdict"] == "refused" else way["value"]
            assert wrong_gradients.verdict(text, run["exact"], within) == (way["verdict"], way["value"])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2.0000001", "right"),
        ("2.00001", "wrong by 5.0e-06"),
        ("-2.0", "wrong by 200 %"),
        ("0.0", "wrong by 100 %"),
        ("nan", "wrong: no finite number"),
        ("refused: it says why", "refused"),
    ],
)
def test_verdicts(wrong_gradients, value, expected):
    assert wrong_gradients.verdict(value, 2.0, 1e-6)[0] == expected


def test_lines_of_a_script_that_are_no_outcome_are_left_out(wrong_gradients):
    assert wrong_gradients.outcomes("a way: 1.0\nnoise\nanother: refused: why: so\n") == [
        ("a way", "1.0"),
        ("another", "refused: why: so"),
    ]
