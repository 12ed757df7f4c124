"""What is seen of a problem: against problems whose answers are known on paper."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sciml_bench.references.diagnostics import Character, character
from sciml_bench.spec import catalog
from sciml_bench.spec.load import load_problem

DECAY = """\
spec = 1
name = "two-rates"
title = "Two rates"

[source]
citation = "made up"

[time]
t0 = 0
t1 = 2
save = {{ spacing = "linear", count = 2 }}

[parameters]
k = {k}

[states]
x = {{ initial = 1, scale = 1 }}
y = {{ initial = 1, scale = 1 }}

[equations]
x = "{x}"
y = "{y}"
"""


def look(folder: Path, x: str, y: str, k: float = 3.0) -> Character:
    path = folder / "two-rates.toml"
    path.write_text(DECAY.format(x=x, y=y, k=k), encoding="utf-8")
    return character(load_problem(path))


def test_decay_times_span_and_structure_of_a_linear_problem(tmp_path):
    found = look(tmp_path, "-k*x", "-1000*y + k*x")
    assert found.stiffness == pytest.approx(2000.0, rel=1e-6)
    assert (found.nonzeros, found.n_states, found.n_theta) == (3, 2, 1)
    assert found.growth == pytest.approx(1.0, abs=1e-9), "nothing grows, and what decays had its largest size at first"
    assert found.digits == pytest.approx(15.95)


def test_growth_is_that_of_the_exact_tangent(tmp_path):
    found = look(tmp_path, "k*x", "k*y")
    assert found.growth == pytest.approx(math.exp(6.0), rel=1e-4)
    assert found.stiffness == 0.0, "what grows is not stiff"
    assert found.digits == pytest.approx(15.95 - 6.0 / math.log(10), abs=1e-3)


def test_the_band_is_that_of_the_best_order():
    """Two fields on a ring of 40 points: neighbours are 40 places apart as they are stored."""
    found = character(catalog.load("brusselator-1d"))
    assert (found.n_states, found.nonzeros) == (80, 320)
    assert found.band is not None
    assert found.band <= 6


def test_chaos_bounds_the_digits_and_is_said(tmp_path):
    path = tmp_path / "lorenz.toml"
    path.write_text((catalog.folder() / "nonstiff" / "lorenz.toml").read_text(encoding="utf-8"), encoding="utf-8")
    short = character(load_problem(path))
    assert short.growth is not None
    path.write_text(DECAY.format(x="k*x", y="k*y", k=12.0), encoding="utf-8")
    grown = character(load_problem(path))
    assert grown.digits == pytest.approx(15.95 - 24.0 / math.log(10), abs=1e-2)
    assert "at most 6 digits in double precision" in list(grown.lines)[1]
    assert "digits in double precision" not in list(short.lines)[1]


def test_a_state_that_stays_zero_has_a_growth_in_units_of_its_scale(tmp_path):
    """Its own size is none: a perturbation of it would have grown by 0 / 0."""
    path = tmp_path / "problem.toml"
    text = DECAY.format(x="-k*x", y="k*y", k=1.0)
    assert text.count("y = { initial = 1") == 1
    path.write_text(text.replace("y = { initial = 1", "y = { initial = 0"), encoding="utf-8")
    found = character(load_problem(path))
    assert found.growth is not None
    assert 1.0 < found.growth <= math.exp(2.0) * 1.001
    assert "all diagonal" in next(iter(found.lines))


def test_what_cannot_be_integrated_is_told_as_such(tmp_path):
    """A solution that ends before the span does."""
    found = look(tmp_path, "k*x^2".replace("^", "**"), "-y")
    assert found.growth is None
    assert (found.nonzeros, found.n_states) == (2, 2), "what it is like until then"
    assert next(iter(found.lines)).startswith("2 states, gradient of 1 component")


def test_an_equation_that_is_not_defined_at_the_start_is_named(tmp_path):
    """0/0 at a removable point, and a logarithm of a negative number."""
    found = look(tmp_path, "(1 - exp(x - 1))/(x - 1)", "-k*y")
    assert found.undefined == ("x",)
    first, *_ = found.lines
    assert first.startswith("NOT DEFINED at the start: the derivative of x is not finite there")
    assert "more than 0 evaluations" not in " ".join(found.lines)
    assert look(tmp_path, "-k*x", "log(y - 2)").undefined == ("y",)
    assert look(tmp_path, "-k*x", "-y").undefined == ()


@pytest.mark.parametrize("name", ["robertson", "hires", "heat", "kepler-e05", "spiral-node", "neural-cde"])
def test_problems_of_every_kind_can_be_looked_at(name):
    found = character(catalog.load(name))
    assert found.growth is not None
    assert len(list(found.lines)) == 2
