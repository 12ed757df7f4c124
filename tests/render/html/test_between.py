"""Runs of one page against each other, where one of them lacks what a comparison needs."""

from __future__ import annotations

import json

import pytest
from stubs import compared

from sciml_bench.analysis.comparison.sides import read_side
from sciml_bench.errors import StoreError
from sciml_bench.planning.purpose import Claimed
from sciml_bench.record.run_folder import Run
from sciml_bench.render.html.run_comparison import between


def without(run: Run, key: str) -> Run:
    path = run.folder / "plan.json"
    plan = json.loads(path.read_text(encoding="utf-8"))
    del plan[key]
    path.write_text(json.dumps(plan), encoding="utf-8")
    return Run.open(run.folder)


def test_what_cannot_be_compared_is_named_and_the_others_are_compared(tmp_path):
    good, other = compared.run(tmp_path, "good", blocks=3), compared.run(tmp_path, "other", blocks=3)
    bare = compared.run(tmp_path, "bare", blocks=3)
    (bare.folder / "environment.json").unlink()
    damaged = without(compared.run(tmp_path, "damaged", blocks=3), "schema")
    found = list(between([good, Run.open(bare.folder), damaged, other]))
    assert [item.id for item in found] == ["between-2", "between-3", "between-4"]
    assert found[0].refused == (f"the plan or the environment of {bare.folder.name} cannot be read",)
    assert found[1].refused == (f"the plan or the environment of {damaged.folder.name} cannot be read",)
    assert (found[0].table, found[1].table) == (None, None)
    assert found[2].table is not None
    assert [item.refused for item in between([damaged, good])] == [found[1].refused]


@pytest.mark.parametrize("key", ["schema", "settings", "profile", "cells", "problems"])
def test_a_plan_that_lacks_what_a_comparison_needs_is_told_in_one_line(tmp_path, key):
    run = without(compared.run(tmp_path, "run", blocks=1), key)
    with pytest.raises(StoreError, match=rf"plan\.json is not a plan of this version: '{key}' is missing\. Restore"):
        read_side(run, lambda _line: None)


def of_claim(run: Run, claim: str) -> Run:
    """The same run, as one that tests a claim."""
    path = run.folder / "plan.json"
    plan = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**plan, "claimed": Claimed({claim: {}}).to_dict()}), encoding="utf-8")
    return Run.open(run.folder)


def test_runs_of_different_claims_are_left_alone_and_all_others_compared(tmp_path):
    one, other, again = (compared.run(tmp_path, name, blocks=3) for name in ("one", "other", "again"))
    one, other, again = of_claim(one, "C01"), of_claim(other, "C02"), of_claim(again, "C01")
    plain = compared.run(tmp_path, "plain", blocks=3)
    assert [item.new for item in between([one, other, again, plain])] == [again.folder.name, plain.folder.name]
    assert [item.new for item in between([plain, one])] == [one.folder.name]
    assert list(between([one, other])) == []


def test_records_of_runs_that_are_left_alone_are_not_read(tmp_path, monkeypatch):
    runs = [of_claim(compared.run(tmp_path, name, blocks=1), name) for name in ("C01", "C02", "C03")]

    def read(*_: object) -> None:
        raise AssertionError("records were read")

    monkeypatch.setattr(Run, "records", read)
    assert list(between(runs)) == []
