"""Measurements of several conditions in one long file: each condition is a trajectory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import solve_ivp
from stubs.doses import CONDITIONS, MEASUREMENTS, TEXT, made

from sciml_bench.errors import ProblemError
from sciml_bench.references.batch_certificate import certified
from sciml_bench.spec import load_problem, variant
from sciml_bench.spec.model import to_double

P = np.array([0.5, 2.0, 0.2])


def likelihood(p: np.ndarray) -> float:
    """The negative log-likelihood, solved by SciPy, line by line of the file."""
    k, x0, sd = p
    total = 0.0
    doses, starts = {"low": 0, "high": 1.5, "other": 0.3}, {"low": x0, "high": 2 * x0, "other": 1.0}
    for line in MEASUREMENTS.split()[1:]:
        condition, observable, time, value, sigma = line.split(",")
        if value:
            dose = doses[condition]

            def rhs(t: float, y: np.ndarray, dose: float = dose) -> list[float]:
                return [-k * y[0] + dose, k * y[0] - 0.2 * y[1] * x0]

            y = np.array([starts[condition], 0.0])
            if float(time):
                y = solve_ivp(rhs, (0, float(time)), y, rtol=1e-12, atol=1e-14).y[:, -1]
            of = y[0] + y[1] * dose if observable == "a" else y[1]
            noise = float(sigma or (sd if observable == "a" else 0.3))
            total -= stats.norm.logpdf(float(value), of, noise)
    return float(total)


def test_each_condition_has_its_trajectory_and_its_measurements(tmp_path):
    problem = made(tmp_path)
    assert problem.conditions == ("low", "high", "other")
    assert problem.batch.size == 3
    assert [to_double(time) for time in problem.save_times] == [1, 2, 4]
    # The dose is a state that stays constant; initial values and quantities that never differ need none.
    assert problem.state_labels == ("x", "y", "dose")
    found = certified(problem)
    assert float(found.loss) == pytest.approx(likelihood(P), rel=1e-10)
    for i, value in enumerate(found.gradient):
        step = 1e-5 * np.eye(3)[i]
        assert float(value) == pytest.approx((likelihood(P + step) - likelihood(P - step)) / 2e-5, rel=1e-6)


def test_one_condition_needs_no_batch(tmp_path):
    conditions, measurements = (
        "".join(line for line in text.splitlines(keepends=True) if "low" not in line and "other" not in line)
        for text in (CONDITIONS, MEASUREMENTS)
    )
    problem = made(tmp_path, conditions=conditions, measurements=measurements)
    assert problem.batch.size == 1
    assert problem.state_labels == ("x", "y")


def test_the_first_conditions_are_a_smaller_batch(tmp_path):
    made(tmp_path)
    family = variant.family(tmp_path / "doses.toml", "batch", [2])
    (path,) = family.write(tmp_path / "variants")
    assert load_problem(path).batch.size == 2


def test_a_longer_span_has_no_measurements(tmp_path):
    made(tmp_path, TEXT + '[loss]\nkind = "negative_log_likelihood"\n')
    family = variant.family(tmp_path / "doses.toml", "span", [2])
    (path,) = family.write(tmp_path / "variants")
    with pytest.warns(match="'sd' in .parameters. is never used"):
        assert load_problem(path).loss.kind == "sum_of_squares"


def test_the_conditions_and_the_measurements_decide_the_hash(tmp_path):
    hashes = {
        made(tmp_path, conditions=conditions, measurements=measurements).spec_hash
        for conditions in (
            CONDITIONS, CONDITIONS.replace("2*x0", "3*x0"), CONDITIONS.replace("1.5", "1.6"),
            # The same in all conditions, so that it is a number of the equations.
            CONDITIONS.replace(",2\n", ",3\n"),
        )
        for measurements in (MEASUREMENTS, MEASUREMENTS.replace("3.3", "3.4"), MEASUREMENTS.replace("0,2.1", "0,2.2"))
    }  # fmt: skip
    assert len(hashes) == 12


def test_numbers_that_never_differ_decide_the_hash_too(tmp_path):
    hashes: set[str] = set()
    for value in ("1", "2"):
        (tmp_path / "b.csv").write_text(f"t,value,sigma\n1,{value},0.5\n2,{value},0.5\n", encoding="utf-8")
        text = TEXT.partition("[measurements]")[0].replace("sd = 0.2\n", "")
        observable = '[[observables]]\nof = "y*t"\ndata = "b.csv"\n'
        (tmp_path / "one.csv").write_text("condition,dose,start,same\nlow,1,x0,2\n", encoding="utf-8")
        path = tmp_path / "one.toml"
        path.write_text(text.replace("conditions.csv", "one.csv") + observable, encoding="utf-8")
        hashes.add(load_problem(path).spec_hash)
    assert len(hashes) == 2


Files = tuple[str, str, str]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t, c, m: (t, c, m.replace("low,b", "low,c")), "measurements.csv, line 4: 'c' is not an observable"),
        (lambda t, c, m: (t, c, m.replace("high,b,4", "wide,b,4")), "line 9: 'wide' is not a condition"),
        (lambda t, c, m: (t, c, m.replace("high,b,4", ",b,4")), "'low' is not a condition"),
        (lambda t, c, m: (t, c, m.replace("high,b,4,", "high,b,5,")), "line 9: the time 5 is not between t0 and t1"),
        (lambda t, c, m: (t, c, m.replace("3.3,", "3.3,1")), "line 5: 'a' has a formula of its sigma"),
        (lambda t, c, m: (t, c, m.replace("3.3", "x")), "line 5: 'value' is 'x', not a finite number"),
        (lambda t, c, m: (t, c, m.replace("3.3", "nan")), "line 5: 'value' is 'nan', not a finite number"),
        (lambda t, c, m: (t, c, m.replace("0.1\n", "-0.1\n")), "each sigma of 'y' must be positive"),
        (lambda t, c, m: (t, c, m.replace("3.3,", "3.3")), "line 5: 4 values for 5 columns"),
        (lambda t, c, m: (t, c, m.replace("condition,obs", "cond,obs")), "has no column 'condition'"),
        (lambda t, c, m: (t, c, m.replace("other,a,1,1,\nother,b,1,1,", "")), "'other' has no measurement"),
        (lambda t, c, m: (t, c.replace("other,", "low,"), m), "line 4: the condition 'low' must have a name"),
        (lambda t, c, m: (t, c.replace("2*x0", "2*z"), m), "conditions.csv, line 3: in 'start': unknown name 'z'"),
        (lambda t, c, m: (t, c.replace("1.5,", ","), m), "line 3: 'dose' has no value"),
        (lambda t, c, m: (t, c.replace("1.5,", ""), m), "line 3: 3 values for 4 columns"),
        (lambda t, c, m: (t, c.replace("dose,start", "start,start"), m), "each name is there once"),
        (lambda t, c, m: (t, c.partition("\n")[0], m), "has 0 conditions"),
        (lambda t, c, m: (t.replace("*same", ""), c, m), "'same' in [conditions] is never used"),
        (lambda t, c, m: (t.replace("x0 = 2", "dose = 2\nx0 = 2"), c, m), "'dose' is already declared"),
        (lambda t, c, m: (t.replace('name = "a"\n', "times = [1]\n"), c, m), "'name' is missing"),
        (lambda t, c, m: (t.replace("sigma = 0.3", "times = [1]"), c, m), "the measurements of 'b' are in"),
        (lambda t, c, m: (t.replace("sigma = 0.3", "sigma = [0.3, 1]"), c, m), "'sigma' must be one number or formula"),
        (lambda t, c, m: (t + '[data]\nfile = "x.csv"\n', c, m), "x.csv cannot be read"),
        (lambda t, c, m: (t.replace('file = "measurements.csv"', ""), c, m), "'file' is missing"),
    ],
)
def test_wrong_files_are_refused_with_their_line(
    tmp_path: Path, change: Callable[[str, str, str], Files], message: str
) -> None:
    with pytest.raises(ProblemError) as caught:
        made(tmp_path, *change(TEXT, CONDITIONS, MEASUREMENTS))
    assert message in str(caught.value)
