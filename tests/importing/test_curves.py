"""Curves of scipy.interpolate and np.piecewise inside NumPy functions."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from sciml_bench.errors import ProblemError
from sciml_bench.importing.importer import of_source
from sciml_bench.spec.load import load_problem

HEAD = """\
import numpy as np
from scipy import interpolate
from scipy.interpolate import CubicSpline, interp1d
y0, p, t_span = [1.0, 0.5], [0.5], (0, 4)
ts, us = np.array([0.0, 1.0, 2.0, 4.0]), np.array([0.0, 1.0, 0.5, 0.2])
"""
#: A curve u of t, and a part of its formula.
CURVES = {
    "interp1d(ts, us)": "interp(t,",
    "interp1d(ts, us, fill_value='extrapolate')": "where(t < 1.0",
    "interp1d(ts, us, bounds_error=False, fill_value=(1.0, 2.0))": "where(t > 4.0, 2.0",
    "interp1d(ts, us, kind='nearest')": "where(t < 0.5, 0.0",
    "interp1d(ts, us, kind='previous')": "where(t < 1.0, 0.0",
    "interp1d(ts, us, kind='next')": "where(t < 0.0, 0.0",
    "interp1d(ts, us, kind='quadratic')": "where(t < 1.5",
    "interp1d(ts, us, kind='cubic')": "*t",
    "CubicSpline(ts, us)": "where(t < 2.0",
    "CubicSpline(ts, us).derivative()": "where(t < 2.0",
    "interpolate.PchipInterpolator(ts, us)": "where(t < 2.0",
    "interpolate.Akima1DInterpolator(ts, us)": "where(t < 2.0",
    "interpolate.make_interp_spline(ts, us, k=2)": "where(t < 1.5",
    "interpolate.UnivariateSpline(ts, us, s=0)": "*t",
    "interpolate.InterpolatedUnivariateSpline(ts, us, k=1)": "where(t < 1.0",
}


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "model.py"
    path.write_text(HEAD + textwrap.dedent(text))
    return f"{path}:f"


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("inside", [False, True])
def test_a_curve_of_the_time_becomes_a_formula(tmp_path: Path, curve: str, inside: bool):
    made = "    u = " if inside else "u = "
    line = f"{made}{curve}\n"
    text = of_source(written(
        tmp_path, ("" if inside else line) + "def f(t, y, p):\n" + (line if inside else "")
        + "    return [-p[0]*y[0] + u(t), y[0] - y[1]]\n",
    ))  # fmt: skip
    assert CURVES[curve] in text
    path = tmp_path / "problem.toml"
    path.write_text(text)
    load_problem(path)


@pytest.mark.parametrize(
    "body",
    [
        "u = CubicSpline(ts, us)\n    return [u(y[0], 1) - y[0], u(y)[1]]",
        "return np.piecewise(y, [y > 0.7, y < 0.2], [lambda v: -v, 0.5, lambda v: -p[0]*v])",
        "return [np.piecewise(t, [t < 1, t >= 1], [1.0, lambda s: s*p[0]]), -y[1]]",
    ],
)
def test_curves_and_pieces_of_states(tmp_path: Path, body: str):
    # Importing compares values at many points.
    assert "where(" in of_source(written(tmp_path, f"def f(t, y, p):\n    {body}\n"))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return [CubicSpline(ts, us*0, extrapolate='periodic')(t), y[0]]", "periodic"),
        ("return CubicSpline(ts, np.stack([us, us], 1))(t) - y", "several curves at once"),
        ("return interp1d(ts, np.stack([us, us]))(t) - y", "several curves at once"),
        ("return [CubicSpline(np.arange(200.0), np.sin(np.arange(200.0)))(t), y[0]]", "199 pieces is too long"),
        ("return [CubicSpline(ts, us)(t, extrapolate=False), y[0]]", "further arguments"),
        ("return np.piecewise(y, [y > 0.7], [1.0, 2.0, 3.0])", "a function for each condition"),
    ],
)  # fmt: skip
def test_curves_without_a_formula_are_refused(tmp_path: Path, body: str, message: str):
    with pytest.raises(ProblemError, match=message):
        of_source(written(tmp_path, f"def f(t, y, p):\n    {body}\n"))
