"""Forward sensitivity equations: y and S = dy/dtheta as one system.

The state is the matrix Z of shape (1 + n_theta, n_states), flattened: row 0 is y, row 1 + j is dy/dtheta_j. It obeys
y' = f(t, y, p) and S' = J S + f_p, with S(0) = 0 for parameters, and S' = J S with S(0) = I for the initial state.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from sciml_bench.task import Numbers

Vector = NDArray[np.float64]


def initial(y0: Vector, n_theta: int, wrt: str) -> Vector:
    """The flat Z at t0."""
    sensitivities = np.eye(len(y0)) if wrt == "initial_state" else np.zeros((n_theta, len(y0)))
    return np.concatenate([y0, sensitivities.ravel()])


def absolute_tolerance(atol: Vector, theta: Vector, numbers: Numbers) -> Vector:
    """The flat absolute tolerance of Z, from that of y.

    A sensitivity dy_i/dtheta_j is as large as y_i over a typical change of theta_j, so its tolerance is that of y_i
    over |theta_j|, the choice that CVODES makes. A zero parameter counts as 1, an initial value as its state's scale.
    """
    least = np.asarray(numbers.atol_scale) if numbers.wrt == "initial_state" else (theta == 0).astype(float)
    typical = np.maximum(np.abs(theta), least)
    return np.concatenate([atol, (atol / typical[:, None]).ravel()])


def right_hand_side(
    source: ModuleType, p: list[float] | Vector, n_states: int, columns: slice, wrt: str
) -> Callable[..., Vector]:
    """The flat Z' as a function of t and the flat Z, which has the sensitivities to these components of theta."""
    rhs, jacobian, forcing = source.rhs, source.jacobian, source.parameter_jacobian
    n, n_columns = n_states, columns.stop - columns.start
    size, shape = n * (1 + n_columns), (n_columns, n)

    def initial_state(t: float, z: Vector) -> Vector:
        y = z[:n]
        out = np.empty(size)
        out[:n] = rhs(t, y, p)
        out[n:] = jacobian(t, y, p).dot(z[n:].reshape(shape).T).T.ravel()
        return out

    def parameters(t: float, z: Vector) -> Vector:
        y = z[:n]
        product = jacobian(t, y, p).dot(z[n:].reshape(shape).T)
        product += forcing(t, y, p)[:, columns]
        out = np.empty(size)
        out[:n] = rhs(t, y, p)
        out[n:] = product.T.ravel()
        return out

    def linearised(t: float, z: Vector) -> Vector:
        f, j, f_p = source.linearised(t, z[:n], p)
        sensitivities = z[n:].reshape(shape).dot(j)
        if f_p is not None:
            sensitivities += f_p[columns]
        out = np.empty(size)
        out[:n] = f
        out[n:] = sensitivities.ravel()
        return out

    if hasattr(source, "linearised"):
        return linearised
    return initial_state if wrt == "initial_state" else parameters
