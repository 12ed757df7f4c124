"""Probes: what they find, what they are limited by, and what is kept of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.integrate import RK45, Radau

from sciml_bench.record.probe import Probed, factor
from sciml_bench.references.probe import DENSE, EXPLICIT, FACTORED, FILE, Span, _work, probe, probed
from sciml_bench.spec import catalog, load_problem

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


def test_what_cannot_be_evaluated_is_undecided(tmp_path, monkeypatch):
    def broken(_problem):
        raise ZeroDivisionError

    monkeypatch.setattr("sciml_bench.references.probe.spans", broken)
    assert probe(mine(tmp_path, "-k*y")) == Probed(None, None, 0, None)


def test_a_jump_is_stepped_to(tmp_path):
    """Without the stop the explicit method would need many more evaluations to get past the jump."""
    smooth = probe(mine(tmp_path, "-k*y"))
    jump = probe(mine(tmp_path, "where(t >= 0.5, 0, -k*y)", breakpoints="breakpoints = [0.5]"))
    assert smooth is not None
    assert jump is not None
    assert smooth.explicit is not None
    assert jump.explicit is not None
    assert jump.explicit <= 2 * smooth.explicit


def test_of_a_batch_the_hardest_trajectory_counts(tmp_path):
    """Rates that differ by decades: the first trajectory is gentle, another one is stiff."""
    path = tmp_path / "spread.toml"
    path.write_text(SPREAD, encoding="utf-8")
    problem = load_problem(path)
    assert probe(problem).suits_explicit is False
    assert probe(next(problem.trajectories())).suits_explicit is True


def test_the_implicit_work_of_a_large_field_is_counted_with_a_sparse_jacobian(tmp_path):
    """What a step costs with hundreds of states hangs on the library, so that this may stay undecided."""
    path = tmp_path / "field.toml"
    path.write_text(FIELD, encoding="utf-8")
    found = probe(load_problem(path))
    assert found.implicit is not None
    assert found.explicit is None
    assert found.suits_explicit is not True


def test_bdf_takes_over_where_radau_ends_early(tmp_path, monkeypatch):
    monkeypatch.setattr("sciml_bench.references.probe.IMPLICIT", 10)
    found = probe(mine(tmp_path, "-k*(y - cos(t))", k="1e6"))
    assert found.suits_explicit is False
    assert found.implicit is not None


SPREAD = """
spec = 1
name = "spread"
title = "Rates that differ by decades"
time = { t0 = 0, t1 = 10, save = { spacing = "linear", count = 10 } }
parameters = { k = 1 }
equations = { y = "-k*exp(lam)*(y - cos(t))", lam = "0" }
batch = { size = 8, spread = 1, drawn = ["lam"], seed = 3 }
[states]
y = { initial = 1, scale = 1 }
lam = { initial = 4, scale = 4 }
"""

FIELD = """
spec = 1
name = "field"
title = "Heat on 600 points"
time = { t0 = 0, t1 = 0.05, save = { spacing = "linear", count = 10 } }
parameters = { D = 1 }
equations = { y = "D*laplacian(y)" }
[grids.x]
points = 600
first = "1/601"
last = "600/601"
boundary = "dirichlet"
[states]
y = { grid = ["x"], initial = 1 }
"""


def test_a_finding_is_kept_and_a_changed_one_is_found_again(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    problem = mine(tmp_path, "-k*y", k="3")
    first = probed(problem)
    (kept,) = (tmp_path / "cache").rglob("*.json")
    calls = []
    monkeypatch.setattr("sciml_bench.references.probe.probe", lambda problem, _first: calls.append(problem))
    assert probed(problem) == first
    assert not calls
    for broken in ("", "[]", "{}", json.dumps({**json.loads(kept.read_text()), "suits_explicit": False})):
        kept.write_text(broken)
        probed(problem)
    assert len(calls) == 4


def test_the_catalogs_findings_belong_to_its_problems():
    kept = json.loads((catalog.folder() / FILE).read_text(encoding="utf-8"))
    assert list(kept) == [name for name in catalog.equation_names() if catalog.header(name).suite != "events"]
    for name in kept:
        assert kept[name]["spec_hash"] == catalog.load(name).spec_hash, (
            f"{name}: python -m sciml_bench.references.probe"
        )


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


def test_a_derivative_that_is_not_a_number_is_not_tried_forever():
    def rhs(_t, y):
        return np.full_like(y, np.nan)

    span = Span(rhs, None, 0.0, 1.0, np.ones(300), np.full(300, 1e-6))
    with pytest.raises(ValueError, match="not finite at t = 0"):
        _work(RK45, (span,), 1000)


def test_a_large_sparse_matrix_is_factored_a_bounded_number_of_times():
    n = DENSE + 1

    def rhs(t, y):
        return -1e3 * (y - np.cos(1e4 * t))

    def jacobian(_t, _y):
        return sparse.eye_array(n, format="csc") * -1e3

    span = Span(rhs, jacobian, 0.0, 1e3, np.ones(n), np.full(n, 1e-9))
    factored = []

    class Counted(Radau):
        def step(self):
            factored.append(self.nlu)
            return super().step()

    assert _work(Counted, (span,), 10**9, jacobian=True) is None
    assert n * factored[-1] <= FACTORED
