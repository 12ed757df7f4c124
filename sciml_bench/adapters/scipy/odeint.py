"""SciPy's ``odeint``: LSODA with a compiled loop over steps and saved times, which calls Python for equations only."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.integrate import ODEintWarning, odeint

from sciml_bench.adapters.scipy.callbacks import Vector
from sciml_bench.adapters.scipy.solve_ivp import Result
from sciml_bench.adapters.segments import Segment

MAX_STEPS = 100_000
"""Steps between two saved times after which a solve has failed. SciPy's default of 500 is too few for stiff problems.
"""

MAX_STEPS_OPTION = "max_steps"
"""The option that sets another number of them."""

# The message of ``odeint`` after success.
_DONE = "Integration successful."


def integrate(
    rhs: Callable[..., Any],
    segment: Segment,
    times: Vector,
    start: Vector,
    rtol: float,
    atol: Vector,
    options: Mapping[str, Any],
    args: tuple[Any, ...],
    lands: bool = False,
) -> Result:
    """One segment. ``options`` are the options of ``solve_ivp`` with LSODA: ``jac``, and ``lband`` and ``uband`` of a
    band; and :data:`MAX_STEPS_OPTION`.

    Where the equation jumps at an end of the segment no step goes past it, nor past any time if steps land on them.
    """
    critical = times if lands else [segment.end] if segment.clipped else None
    grid = np.concatenate([[segment.start], times])
    with warnings.catch_warnings():
        # Its warnings are also in its message.
        warnings.simplefilter("ignore", ODEintWarning)
        found: Any = odeint(
            rhs, start, grid, args, tfirst=True, full_output=True, rtol=rtol, atol=atol,
            mxstep=options.get(MAX_STEPS_OPTION, MAX_STEPS),
            Dfun=options.get("jac"), ml=options.get("lband"), mu=options.get("uband"),
            tcrit=critical,
        )  # fmt: skip
    ys, told = found
    done = told["message"] == _DONE
    steps, evaluations, jacobians = (int(told[name][-1]) for name in ("nst", "nfe", "nje"))
    # Each Jacobian is factorised once.
    return Result(ys[1:].T, 0 if done else -1, told["message"], steps, evaluations, jacobians, jacobians)
