"""Probes: what they find, what they are limited by, and what is kept of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sciml_bench.problem import catalog, load_problem
from sciml_bench.record.probe import factor
from sciml_bench.reference import probe as probing
from sciml_bench.reference.probe import EXPLICIT, FILE, probe, probed

TEXT = """
spec = 1
name = "mine"
title = "Mine"
suite = "stiff"
tags = []
tier = "smoke"
description = "One state."
[source]
citation = "me"
[time]
t0 = 0
t1 = {t1}
save = {{ times = [{t1}] }}
{breakpoints}
[parameters]
k = {k}
[states]
y = 1
[equations]
y = "{equation}"
"""


def mine(tmp_path: Path, equation: str, k: str = "1", t1: str = "1", breakpoints: str = ""):
    path = tmp_path / "mine.toml"
    path.write_text(TEXT.format(equation=equation, k=k, t1=t1, breakpoints=breakpoints), encoding="utf-8")
    return load_problem(path)


def test_stiffness_is_work_not_a_label(tmp_path):
    gentle = probe(mine(tmp_path, "-k*(y - cos(t))", k="2"))
    harsh = probe(mine(tmp_path, "-k*(y - cos(t))", k="1e6"))
    assert gentle is not None
    assert harsh is not None
    assert (gentle.suits_explicit, harsh.suits_explicit) == (True, False)
    assert gentle.explicit is not None
    assert harsh.explicit is None
    assert harsh.implicit is not None
    assert harsh.limit == int(factor(1) * harsh.implicit)


def test_equal_problems_have_equal_findings(tmp_path):
    problem = mine(tmp_path, "-k*(y - cos(t))", k="30")
    assert probe(problem) == probe(problem)


def test_long_oscillations_are_decided_by_the_label(tmp_path):
    """Both methods run out of evaluations: neither says anything about the other."""
    found = probe(mine(tmp_path, "k*cos(50*t)", t1="2000"))
    assert found is not None
    assert (found.explicit, found.implicit, found.limit, found.suits_explicit) == (None, None, EXPLICIT, None)


def test_a_solution_without_an_end_is_undecided(tmp_path):
    found = probe(mine(tmp_path, "k*y**2", t1="2"))
    assert found is not None
    assert found.suits_explicit is None


def test_what_cannot_be_evaluated_is_not_probed(tmp_path, monkeypatch):
    def broken(_problem):
        raise ZeroDivisionError

    monkeypatch.setattr(probing, "spans", broken)
    assert probe(mine(tmp_path, "-k*y")) is None


def test_a_jump_is_stepped_to(tmp_path):
    """Without the stop the explicit method would need many more evaluations to get past the jump."""
    smooth = probe(mine(tmp_path, "-k*y"))
    jump = probe(mine(tmp_path, "where(t >= 0.5, 0, -k*y)", breakpoints="breakpoints = [0.5]"))
    assert smooth is not None
    assert jump is not None
    assert smooth.explicit is not None
    assert jump.explicit is not None
    assert jump.explicit <= 2 * smooth.explicit


def test_a_finding_is_kept_and_a_changed_one_is_found_again(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    problem = mine(tmp_path, "-k*y", k="3")
    first = probed(problem)
    (kept,) = (tmp_path / "cache").rglob("*.json")
    calls = []
    monkeypatch.setattr(probing, "probe", lambda problem: calls.append(problem))
    assert probed(problem) == first
    assert not calls
    for broken in ("", "[]", "{}", json.dumps({**json.loads(kept.read_text()), "suits_explicit": False})):
        kept.write_text(broken)
        probed(problem)
    assert len(calls) == 4


def test_the_catalogs_findings_belong_to_its_problems():
    kept = json.loads((catalog.folder() / FILE).read_text(encoding="utf-8"))
    assert list(kept) == list(catalog.equation_names())
    for name in kept:
        assert kept[name]["spec_hash"] == catalog.load(name).spec_hash, f"{name}: python -m sciml_bench.reference.probe"


@pytest.mark.parametrize(
    ("name", "explicit"),
    [("brusselator-1d", True), ("lotka-volterra", True), ("robertson", False), ("heat", False), ("spiral-node", True)],
)
def test_the_catalogs_findings_are_found_again(name, explicit):
    problem = catalog.load(name)
    found, kept = probe(problem), probed(problem)
    assert found is not None
    assert kept is not None
    assert found.suits_explicit is kept.suits_explicit is explicit
    # Counts differ a little between builds of BLAS.
    assert found.limit == pytest.approx(kept.limit, rel=0.05)
