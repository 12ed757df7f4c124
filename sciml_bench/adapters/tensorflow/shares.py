"""Sharing out sensitivities over solves, and their units. Imports nothing of TensorFlow."""

from __future__ import annotations

import math

import numpy as np

from sciml_bench.adapters.program import FloatArray
from sciml_bench.record.task import Numbers

TOGETHER = 32
"""BDF factorises a full matrix in every step, by an algorithm whose cost grows with the cube of the equations. Beyond
this many equations, sensitivities are solved for a share at a time, with the state each time.
"""

GROWTH = 1.5
"""Growth exponent of the cost of a system with its equations, up to ``TOGETHER``. HIRES (8 states, 10 parameters)
takes 383 ms in one system, 152 in shares of 5; at an error of 1e-5 50.4 ms in shares of 3, 47.2 in shares of 2,
51.0 in shares of 1.
"""


def sizes(numbers: Numbers) -> FloatArray:
    """Units of the components of theta, (n_theta,): a parameter's magnitude, or 1 if it is zero; for an initial value
    at least its state's scale.
    """
    if numbers.wrt == "parameters":
        return np.asarray(numbers.p_scale)
    return np.maximum(np.abs(numbers.theta), numbers.atol_scale)


def shares(n_states: int, n_theta: int) -> list[list[int]]:
    """The components of theta that each system has sensitivities to, equally many in each; the last ones may be there
    twice. ``n_states`` counts the states of all trajectories.
    """

    def cost(width: int) -> float:
        return math.ceil(n_theta / width) * (n_states * (1 + width)) ** GROWTH

    at_once = min(n_theta, max(1, TOGETHER // n_states - 1))
    width = min(range(1, at_once + 1), key=cost)
    parts = math.ceil(n_theta / width)
    return np.minimum(np.arange(parts * width), n_theta - 1).reshape(parts, width).tolist()
