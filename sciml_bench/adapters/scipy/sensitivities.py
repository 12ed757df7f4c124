"""Forward sensitivity equations: y and S = dy/dtheta as one system."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np

from sciml_bench.adapters.scipy.callbacks import Vector
from sciml_bench.record.task import Numbers


def initial(y0: Vector, n_theta: int, wrt: str) -> Vector:
    """The flat Z at t0."""
    sensitivities = np.eye(len(y0)) if wrt == "initial_state" else np.zeros((n_theta, len(y0)))
    return np.concatenate([y0, sensitivities.ravel()])


def absolute_tolerance(atol: Vector, theta: Vector, numbers: Numbers) -> Vector:
    """The flat absolute tolerance of Z, from the tolerance of y.

    A sensitivity dy_i/dtheta_j is as large as y_i over a typical change of theta_j, so its tolerance is the tolerance
    of y_i over |theta_j|, the choice that CVODES makes. A zero parameter counts as 1, an initial value as its state's
    scale.
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
