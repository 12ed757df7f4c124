"""Likelihoods of measurements, against SciPy's distributions, and their derivatives against differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stubs.measured import TEXT, measured, negative_log_likelihood, negative_log_likelihood_at_start

from sciml_bench.emit import source
from sciml_bench.errors import ProblemError
from sciml_bench.references import build
from sciml_bench.references.batch_certificate import certified
from sciml_bench.references.statement import on_scales, statement_of
from sciml_bench.spec.model import Problem, to_double

YS, P = np.array([[1.3, 0.6], [0.8, 0.9], [0.5, 1.1], [0.3, 1.2]]), np.array([0.5, 2.0, 0.2])

PLAIN = "".join(TEXT.partition("[[observables]]")[0].replace("sd = 0.2\n", "").partition("[definitions]")[::2]).replace(
    'total = "x + 2*y"\ntwice = "2*total"\n', ""
)
"""The problem without measurements, and without what only these use."""


def emitted(problem: Problem) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(compile(source(problem, "numpy"), "numpy", "exec"), namespace)
    return namespace


def test_the_loss_is_the_negative_log_likelihood(tmp_path):
    module = emitted(measured(tmp_path))
    assert float(module["loss"](YS, *module["GIVEN"], P)) == pytest.approx(negative_log_likelihood(YS, P), rel=1e-13)
    _, penalty = module["initial_state"](*module["GIVEN"], P)
    assert float(penalty) == pytest.approx(negative_log_likelihood_at_start(P), rel=1e-13)


def test_its_derivatives_are_those_of_differences(tmp_path):
    module = emitted(measured(tmp_path))
    by_state, by_parameter = module["loss_gradient"](YS, *module["GIVEN"], P)

    def total(ys: np.ndarray, p: np.ndarray) -> float:
        return negative_log_likelihood(ys, p) + negative_log_likelihood_at_start(p)

    for place in np.ndindex(YS.shape):
        step = np.zeros_like(YS)
        step[place] = 1e-6
        assert by_state[place] == pytest.approx((total(YS + step, P) - total(YS - step, P)) / 2e-6, rel=1e-6, abs=1e-6)
    for i in range(len(P)):
        step = 1e-6 * np.eye(3)[i]
        found = (total(YS, P + step) - total(YS, P - step)) / 2e-6
        assert by_parameter[i] == pytest.approx(found, rel=1e-6, abs=1e-6)


def test_its_gradient_is_certified(tmp_path):
    problem = measured(tmp_path)
    found = certified(problem)
    rows = np.array([[float(value) for value in row] for row in found.rows])
    total = negative_log_likelihood(rows, P) + negative_log_likelihood_at_start(P)
    assert float(found.loss) == pytest.approx(total, rel=1e-12)
    assert float(np.min(found.gradient_digits)) > 15


def test_a_likelihood_may_be_asked_for_where_sigmas_are_numbers(tmp_path):
    observable = '[[observables]]\nof = "x"\ntimes = [0, 1]\nvalues = [2, 1.2]\nsigma = 0.1\n'
    head = PLAIN.replace('"x0", ', "2, ")
    squares = measured(tmp_path, head + observable)
    assert squares.loss.kind == "sum_of_squares"
    assert squares.loss.weights
    likelihood = measured(tmp_path, head + '[loss]\nkind = "negative_log_likelihood"\n' + observable)
    module, ys = emitted(likelihood), YS[[0, 3]]
    _, penalty = module["initial_state"](*module["GIVEN"], P[:2])
    each = np.log(0.1) + np.log(2 * np.pi) / 2
    # A part that no parameter changes counts too: values can then be compared with other programs'.
    found = float(penalty) + float(module["loss"](ys, *module["GIVEN"], P[:2]))
    assert found == pytest.approx(2 * each + ((1.3 - 1.2) / 0.1) ** 2 / 2)


def test_the_time_may_be_observed_in_a_sum_of_squares(tmp_path):
    observable = '[[observables]]\nof = "x*t"\ntimes = [1, 2]\nvalues = [1, 1]\nsigma = [0.5, 0.25]\n'
    problem = measured(tmp_path, PLAIN + observable)
    assert [to_double(time) for time in problem.save_times] == [1, 2, 4]
    module = emitted(problem)
    right = ((1.3 - 1) / 0.5) ** 2 + ((0.8 * 2 - 1) / 0.25) ** 2
    assert float(module["loss"](YS[:3], *module["GIVEN"], P[:2])) == pytest.approx(right)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('sigma = "sd"', 'sigma = "se"'), "unknown name 'se'"),
        (("values = [1, 1.3]", "values = [1, 0]"), "must be positive to have a logarithm"),
        (('"laplace"', '"cauchy"'), "'cauchy' is no distribution"),
        (('of = "x"', 'of = "2*t"'), "depend on a state or a parameter"),
        (("[[observables]]", '[loss]\nkind = "sum"\n[[observables]]'), "sum of squares of [[observables]]"),
    ],
)
def test_wrong_noise_is_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        measured(tmp_path, TEXT.replace(change[0], change[1], 1))
    assert message in str(caught.value)


def test_a_likelihood_needs_measurements(tmp_path):
    text = TEXT.partition("[[observables]]")[0] + '[loss]\nkind = "negative_log_likelihood"\n'
    with pytest.raises(ProblemError, match="declare"):
        measured(tmp_path, text)


def test_a_parameter_may_be_estimated_by_its_logarithm(tmp_path):
    problem = measured(tmp_path, TEXT.replace("k = 0.5", 'k = { value = 0.5, scale = "log10" }'))
    plain = measured(tmp_path)
    assert problem.p == plain.p
    linear, scaled = (
        on_scales(statement_of(build.make(item, lambda _: None, float("inf"))[0]), item) for item in (plain, problem)
    )
    assert list(scaled.gradient) == ["log10(k)", "x0", "sd"]
    expected = float(linear.gradient["k"].value) * 0.5 * np.log(10)
    assert float(scaled.gradient["log10(k)"].value) == pytest.approx(expected, rel=1e-14)
    assert scaled.gradient["sd"] == linear.gradient["sd"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{ value = 0.5, scale = "log2" }', "'log2' is no scale of a parameter"),
        ('{ value = -0.5, scale = "log" }', "must be positive to have a logarithm"),
        ('{ scale = "log" }', "'k' has no value"),
        ("{ value = 0.5, unit = 1 }", "unknown key 'unit'"),
    ],
)
def test_wrong_scales_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        measured(tmp_path, TEXT.replace("k = 0.5", f"k = {text}"))
    assert message in str(caught.value)
