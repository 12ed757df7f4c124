"""``benchmarks/same_figures.py`` sees what differs between two checkouts."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stubs.compared import points
from stubs.reported import cell, record

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

pytestmark = pytest.mark.skipif(not BENCHMARKS.exists(), reason="the benchmarks are in a checkout only")


@pytest.fixture
def same(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("same_figures")


def newest() -> dict[str, Any]:
    from random import Random

    data = json.loads(record(cell(), points(Random(1), 1.0)).to_json())
    for point in data["points"]:
        point["solve"]["statistics"] = {"n_steps": 10.0}
    return data


def test_half_of_a_point(same: Any):
    first = newest()["points"][0]
    assert same.half(first, "solve")["counts"] == {"n_steps": 10.0}
    assert same.half(first, "gradient")["digits"] == pytest.approx(2.0)


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], Any], int]] = {
    "nothing": (lambda point: None, 0),
    "a count": (lambda point: point["solve"]["statistics"].update(n_steps=11.0), 1),
    "an outcome": (lambda point: point["solve"].update(outcome="nonfinite"), 1),
    "a digit": (lambda point: point["gradient"]["scores"].update(error=0.02), 1),
    "a little noise": (lambda point: point["gradient"]["scores"].update(error=0.0101), 0),
    "a point": (lambda point: point.update(rtol=0.5), 4),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_differs_between_two_small_runs_is_seen(
    same: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    change, count = CHANGES[name]

    def output(checkout: Path, _words: tuple[str, ...], folder: Path) -> str:
        data = newest()
        if checkout == same.HERE:
            change(data["points"][0])
        (folder / "run").mkdir()
        (folder / "run" / "records.jsonl").write_text(json.dumps(data) + "\n")
        return ""

    monkeypatch.setattr(same, "output", output)
    assert len(list(same.smoke(tmp_path))) == count


def test_outputs_are_compared_whole(same: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    texts = {"export": "a,b", "show": '{"a": 1}', "verify": "{}"}
    monkeypatch.setattr(
        same,
        "output",
        lambda checkout, words, _: texts[words[0]] + ("x" if checkout != same.HERE and words[0] == "export" else ""),
    )
    assert len(list(same.differences(tmp_path, tmp_path / "run"))) == 2
    monkeypatch.setattr(same, "RENAMED", {"old": "a"})
    monkeypatch.setattr(same, "output", lambda checkout, *_: '{"a": 1}' if checkout == same.HERE else '{"old": 1}')
    assert list(same.differences(tmp_path, tmp_path / "run")) == []
