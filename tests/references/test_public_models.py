"""Models that people asked about in public: what is certified is what independent methods give.

Values are closed forms (matrix exponentials, the exact triangular solution), or of SciPy at tolerances of 1e-13 by two
methods, to the digits that are shown; gradients are d loss / d log p, those of the triangular system d loss / dp.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from cases import others_slow

from sciml_bench.references.batch_certificate import certified
from sciml_bench.references.certificate import Certified
from sciml_bench.references.diagnostics import character
from sciml_bench.spec import Problem
from sciml_bench.spec.load import load_problem

FOLDER = Path(__file__).parent / "public"
RIGHT = {
    "fast-intermediate": (98.4124604751030289, (-1.56288445302, 2000 * 7.80199557853e-4, -3 * 0.487705160857), 1e-9),
    "toy-linear-gradient": (14320.6988440958207, (-77.0368489086973, 28718.4345371003), 1e-12),
    "sir-fit": (3.62319250811, (-18.8208645193, 7.47873219233), 1e-10),
    # As people write it: a parameter inside a matrix.
    "matrix-oscillator": (4950.71628826035174, (6927.69639860088888,), 1e-12),
    # 0/0 at the start, which only the formula has.
    "axon-singular": (91.6900628629, (4.1439250, 7.7018842, -2.0877963, -12.1378138), 3e-6),
    "two-layer-climate": (
        1580.43500243, (-39.0896401, -851.0896451, -2538.5659010, 267.8751814, 3160.8700049), 1e-8,
    ),
}  # fmt: skip


@cache
def made(name: str) -> tuple[Problem, Certified]:
    problem = load_problem(FOLDER / f"{name}.toml")
    return problem, certified(problem, proof_s=0.0)


@pytest.mark.parametrize("name", others_slow(RIGHT, set(RIGHT) - {"axon-singular"}))
def test_what_is_certified_is_what_others_found(name):
    problem, found = made(name)
    loss, gradient, tolerance = RIGHT[name]
    assert float(found.loss) == pytest.approx(loss, rel=1e-9)
    by_logarithm = [float(g) * float(p) for g, p in zip(found.gradient, problem.theta_sizes, strict=True)]
    assert by_logarithm == pytest.approx(gradient, rel=tolerance)


def test_a_quotient_of_nothing_by_nothing_is_named_with_its_cure():
    found = character(load_problem(FOLDER / "axon-singular.toml"))
    assert found.undefined == ("m",)
    (told, *_) = found.lines
    assert "the derivative of m is not finite there; 'am' is 0/0 there: write u/(exp(u) - 1) as 1/exprel(u)" in told
