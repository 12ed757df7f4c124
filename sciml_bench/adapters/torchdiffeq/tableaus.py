"""Checks that the Runge-Kutta coefficients of the installed torchdiffeq are consistent."""

from __future__ import annotations

from typing import Any

from torchdiffeq._impl.odeint import SOLVERS

# Coefficients have 16 digits; wrong ones are off by far more.
TOLERANCE = 1e-10


def has_method(method: str) -> bool:
    """Return whether the installed torchdiffeq has this method."""
    return method in SOLVERS


def tells_of_steps(method: str) -> bool:
    """Return whether the solver has a callback for accepted steps: the adaptive Runge-Kutta methods do."""
    return "callback_accept_step" in SOLVERS[method].valid_callbacks()


def defect(tableau: Any) -> float:
    """The largest |c_i - sum_j a_ij| of a torchdiffeq tableau, explicit or implicit.

    Unless every node c_i is the sum of its row, stages are evaluated at times that do not belong to their states:
    the method keeps its order only on right-hand sides that do not depend on time (Hairer, Norsett and Wanner,
    Solving Ordinary Differential Equations I, section II.1).
    """
    nodes = tableau.alpha.tolist()
    rows = [row.sum().item() for row in tableau.beta]
    return max((abs(node - total) for node, total in zip(nodes, rows, strict=True)), default=0.0)


def inconsistency(method: str) -> float:
    """The defect of a method's tableau, or 0 when it is below rounding or the method has none."""
    tableau = getattr(SOLVERS[method], "tableau", None)
    found = 0.0 if tableau is None else defect(tableau)
    return found if found > TOLERANCE else 0.0
