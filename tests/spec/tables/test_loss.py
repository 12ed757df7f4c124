"""Losses of problem files, and the data that they are held against."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from sciml_bench.emit import source
from sciml_bench.errors import ProblemError
from sciml_bench.spec import load_problem
from sciml_bench.spec.model import symbol

DATA = "t,a,b\n1,0.5,0.25\n2, 0.75,1e-3\n"


@pytest.fixture
def with_data(decay, load, tmp_path: Path):
    """Loads the small problem, saved at two times, with this text as its data."""

    def load_with(data: str, loss: str = 'data = "d.csv"'):
        (tmp_path / "d.csv").write_text(data, encoding="utf-8")
        timed = decay.replace("t1 = 2", 't1 = 2\nsave = { spacing = "linear", count = 2 }')
        return load(f"{timed}\n[loss]\n{loss}\n")

    return load_with


def losses(problem, ys: np.ndarray) -> tuple[float, np.ndarray]:
    namespace: dict = {}
    exec(source(problem, "numpy"), namespace)
    return namespace["loss"](ys), namespace["loss_gradient"](ys)


YS = np.array([[1.0, 2.0], [3.0, -4.0]])
ROWS = np.array([[0.5, 0.25], [0.75, 1e-3]])
SCALE = np.array([1.0, 0.5])


@pytest.mark.parametrize(
    ("kind", "phi", "slope"),
    [
        ("sum_of_squares", np.square, lambda r: 2 * r),
        ("sum_of_magnitudes", np.abs, np.sign),
        ("sum", lambda r: r, np.ones_like),
    ],
)
@pytest.mark.parametrize("at", ["saved", "end"])
def test_a_loss_is_held_against_each_row(with_data, kind, phi, slope, at):
    problem = with_data(DATA, f'data = "d.csv"\nkind = "{kind}"\nat = "{at}"\nweight = 0.5')
    assert problem.loss.data == ((0.5, 0.25), (0.75, 1e-3))
    counted = np.array([[at == "saved"], [True]])
    residual = (YS - ROWS) / SCALE
    value, gradient = losses(problem, YS)
    assert value == pytest.approx(0.5 * np.sum(phi(residual) * counted), rel=1e-14)
    np.testing.assert_allclose(gradient, 0.5 * slope(residual) / SCALE * counted, rtol=1e-14)


def test_data_belong_to_the_specification(with_data):
    assert with_data(DATA).spec_hash != with_data(DATA.replace("0.25", "0.26")).spec_hash


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("", "d.csv is empty"),
        ("t,b,a\n", "the columns of d.csv are t, b, a; wanted: t, a, b"),
        ("t,a\n1,2\n2,3\n", "wanted: t, a, b"),
        ("t,a,b\n1,2,3\n", "d.csv has 1 rows for 2 saved times"),
        ("t,a,b\n1,2,3\n2,4\n", "d.csv, line 3: 2 values for 3 columns"),
        ("t,a,b\n1,2,3\n,2,4\n", "d.csv, line 3: 't' has no value"),
        ("t,a,b\n1,2,3\n2,x,4\n", "d.csv, line 3: 'a' is 'x', not a finite number"),
        ("t,a,b\n1,2,nan\n2,3,4\n", "d.csv, line 2: 'b' is 'nan', not a finite number"),
        ("t,a,b\n1,2,3\n2.5,3,4\n", "d.csv, line 3: t is 2.5, the saved time 2.0"),
    ],
)
def test_gaps_and_wrong_columns_are_told(with_data, data, told):
    with pytest.raises(ProblemError, match=re.escape(told)):
        with_data(data)


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        ('data = "../d.csv"', "cannot be a data file"),
        ('data = "/etc/passwd"', "cannot be a data file"),
        ('data = "none.csv"', "none.csv cannot be read: No such file"),
        ('data = "d.csv"\ntarget = 1', "a target or data, not both"),
        ('kind = "huber"', "'huber' is no kind of loss"),
    ],
)
def test_what_cannot_be_a_loss_is_refused(with_data, loss, told):
    with pytest.raises(ProblemError, match=re.escape(told)):
        with_data(DATA, loss)


def test_empty_cells_of_data_have_no_weight(tmp_path):
    (tmp_path / "gaps.csv").write_text("t,x,y\n0,,1\n1,0.5,\n2,,0.2\n", encoding="utf-8")
    path = tmp_path / "gaps.toml"
    path.write_text(
        'spec = 1\nname = "gaps"\ntitle = "Gaps"\n[time]\nt1 = 2\nsave = { times = [0, 1, 2] }\n[parameters]\nk = 1\n'
        '[states]\nx = { initial = "k", scale = 1 }\ny = { initial = "2*k", scale = 1 }\n'
        '[equations]\nx = "-k*x"\ny = "-k*y"\n[loss]\ndata = "gaps.csv"\n',
        encoding="utf-8",
    )
    loss = load_problem(path).loss
    assert loss.data == ((0.5, 0.0), (0.0, 0.2))
    assert loss.weights == ((1.0, 0.0), (0.0, 1.0))
    # At t0 only y was measured.
    assert loss.penalty == (2 * symbol("k") - 1) ** 2
    before = load_problem(path).spec_hash
    (tmp_path / "gaps.csv").write_text("t,x,y\n0,,3\n1,0.5,\n2,,0.2\n", encoding="utf-8")
    assert load_problem(path).spec_hash != before
