"""Radau IIA collocation with any number of stages, at any precision.

E. Hairer and G. Wanner, Solving Ordinary Differential Equations II, sections IV.5 and IV.8. With s stages the order
is 2s − 1 and the stage order s; the method is L-stable and its last stage is the end of the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from flint import arb, arb_mat
from numpy.polynomial import legendre
from numpy.typing import NDArray

from sciml_bench.references.engine.numbers import precision

_GUARD_BITS = 64


@dataclass(frozen=True)
class Tableau:
    """``nodes`` c in (0, 1] and the matrix ``a`` at the requested precision, and in double precision.

    ``tail`` (1 × s) gives from stage derivatives the highest Legendre coefficient of the step's polynomial, divided
    by h; ``legendre_d`` (s × s) gives from stage increments all its coefficients 1 … s in double precision.
    """

    stages: int
    bits: int
    nodes: tuple[arb, ...]
    a: arb_mat
    tail: arb_mat
    nodes_d: NDArray[np.float64]
    a_d: NDArray[np.float64]
    legendre_d: NDArray[np.float64]

    def extrapolation(self, ratio: float, degree: int) -> NDArray[np.float64]:
        """Matrix (s × s) from a step's stage increments to guesses for the next step's, ``ratio`` times as long.

        Only Legendre coefficients up to ``degree`` are used: beyond the step they grow, and the high ones are noise.
        """
        points = 1.0 + 2.0 * ratio * self.nodes_d
        values = legendre.legvander(points, degree) - legendre.legvander(np.ones(1), degree)
        return values[:, 1:] @ self.legendre_d[:degree]


@cache
def radau(stages: int, bits: int) -> Tableau:
    """The s-stage Radau IIA method."""
    with precision(bits + _GUARD_BITS):
        nodes = _nodes(stages)
        polynomials = [_legendre(stages, 2 * c - 1) for c in nodes]
        vandermonde = arb_mat([values[:stages] for values in polynomials])
        inverse = vandermonde.inv().mid()
        integrals = [_integrals(stages, c, values) for c, values in zip(nodes, polynomials, strict=True)]
        a = (arb_mat(integrals) * inverse).mid()
        # The integral of P_{s-1}(2x - 1) over x holds P_s(2x - 1) with the coefficient 1 / (2 (2s - 1)).
        last = [inverse[stages - 1, j] / (2 * (2 * stages - 1)) for j in range(stages)]
    with precision(bits):
        nodes_d = np.array([float(c) for c in nodes])
        end = legendre.legvander(np.array([-1.0]), stages)
        increments = (legendre.legvander(2 * nodes_d - 1, stages) - end)[:, 1:]
        return Tableau(
            stages=stages, bits=bits, nodes=tuple((+c).mid() for c in nodes), a=_rounded(a),
            tail=_rounded(arb_mat([last])), nodes_d=nodes_d, a_d=_doubles(a),
            legendre_d=np.asarray(np.linalg.inv(increments), dtype=np.float64),
        )  # fmt: skip


def _nodes(stages: int) -> list[arb]:
    """Zeros of P_s − P_{s−1} on [−1, 1], moved to [0, 1]: from double precision by Newton's method."""
    coefficients = np.zeros(stages + 1)
    coefficients[stages], coefficients[stages - 1] = 1.0, -1.0
    nodes = []
    # All are real, but NumPy 2.5 returns complex numbers.
    for guess in sorted(legendre.legroots(coefficients).real)[:-1]:
        x = arb(float(guess))
        for _ in range(8):
            values = _legendre(stages, x)
            slope = stages * (x * values[stages] - values[stages - 1]) / (x * x - 1)
            slope -= (stages - 1) * (x * values[stages - 1] - values[stages - 2]) / (x * x - 1) if stages > 1 else 0
            x = (x - (values[stages] - values[stages - 1]) / slope).mid()
        nodes.append(((x + 1) / 2).mid())
    return [*nodes, arb(1)]


def _legendre(degree: int, x: arb) -> list[arb]:
    values = [arb(1), x]
    for k in range(1, degree):
        values.append(((2 * k + 1) * x * values[k] - k * values[k - 1]) / (k + 1))
    return values[: degree + 1]


def _integrals(stages: int, c: arb, values: list[arb]) -> list[arb]:
    """Integrals of P_k(2x − 1) from 0 to c, k = 0 … s − 1."""
    return [c] + [(values[k + 1] - values[k - 1]) / (2 * (2 * k + 1)) for k in range(1, stages)]


def _rounded(matrix: arb_mat) -> arb_mat:
    """The entries at the current precision."""
    return arb_mat([[(+entry).mid() for entry in row] for row in matrix.tolist()])


def _doubles(matrix: arb_mat) -> NDArray[np.float64]:
    return np.array([[float(entry) for entry in row] for row in matrix.tolist()])
