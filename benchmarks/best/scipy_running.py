"""``odeint`` and ``solve_ivp`` as SciPy's experts call them, for a problem alone and with its sensitivities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import odeint, solve_ivp

from best import Expert, Unsolved, Vector, computed

System = tuple[Callable[..., Any], Callable[..., Any] | None, Vector, Callable[[Vector], Any]]
"""Right-hand side and Jacobian, of t, y and each parameter; the start; absolute tolerances of theta, over rtol."""

MAX_STEPS = 100_000


class Inputs(NamedTuple):
    """The parameters as Python's own floats, which are faster than NumPy's, and the tolerances of both systems."""

    parameters: tuple[Any, ...]
    rtol: float
    atol: Any
    augmented_atol: Any


def by_odeint(
    name: str,
    times: Vector,
    state: System,
    augmented: System,
    slopes: Callable[[Vector], Vector],
    *,
    band: int | None = None,
    unfold: Callable[[Vector], Vector] = lambda z: z,
    arguments: Callable[[Vector], tuple[Any, ...]] = lambda theta: tuple(theta.tolist()),
    documented: bool = True,
) -> Expert:
    """LSODA through ``odeint``. ``times`` begin with t0; a Jacobian with a ``band`` is given as its diagonals."""
    # Without a band, a Jacobian is given transposed, which is how LSODA has it.
    shape = {"ml": band, "mu": band} if band is not None else {"col_deriv": True}

    def run(system: System, inputs: Inputs, atol: Any) -> tuple[Vector, dict[str, Any]]:
        rhs, jacobian, start, _ = system
        return odeint(
            rhs, start, times, args=inputs.parameters, Dfun=jacobian, full_output=True, tfirst=True, rtol=inputs.rtol,
            atol=atol, mxstep=MAX_STEPS, **(shape if jacobian is not None else {}),
        )  # fmt: skip

    def checked(output: tuple[Vector, dict[str, Any]]) -> Vector:
        if output[1]["message"] != "Integration successful.":
            raise Unsolved(output[1]["message"])
        return unfold(output[0][1:])

    def gradient(inputs: Inputs) -> Vector:
        return slopes(checked(run(augmented, inputs, inputs.augmented_atol)))

    return Expert(
        name,
        _prepare(state, augmented, arguments),
        lambda inputs: run(state, inputs, inputs.atol),
        gradient,
        computed,
        checked,
        np.asarray,
        documented,
    )


def by_solve_ivp(
    name: str,
    method: str,
    times: Vector,
    state: System,
    augmented: System,
    slopes: Callable[[Vector], Vector],
    *,
    arguments: Callable[[Vector], tuple[Any, ...]] = lambda theta: tuple(theta.tolist()),
) -> Expert:
    """``solve_ivp`` from t = 0. Explicit methods have no Jacobian."""

    def run(system: System, inputs: Inputs, atol: Any) -> Any:
        rhs, jacobian, start, _ = system
        options = {} if jacobian is None else {"jac": jacobian}
        return solve_ivp(
            rhs, (0.0, times[-1]), start, method=method, t_eval=times, args=inputs.parameters, rtol=inputs.rtol,
            atol=atol, **options,
        )  # fmt: skip

    def checked(found: Any) -> Vector:
        if not found.success:
            raise Unsolved(found.message)
        return found.y.T

    def gradient(inputs: Inputs) -> Vector:
        return slopes(checked(run(augmented, inputs, inputs.augmented_atol)))

    return Expert(
        name,
        _prepare(state, augmented, arguments),
        lambda inputs: run(state, inputs, inputs.atol),
        gradient,
        computed,
        checked,
        np.asarray,
    )


def _prepare(
    state: System, augmented: System, arguments: Callable[[Vector], tuple[Any, ...]]
) -> Callable[[Vector, float], Inputs]:
    def prepare(theta: Vector, rtol: float) -> Inputs:
        return Inputs(arguments(theta), rtol, rtol * state[3](theta), rtol * augmented[3](theta))

    return prepare
