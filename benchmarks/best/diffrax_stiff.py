"""Robertson and HIRES in Diffrax by hand: Kvaerno5 with full Newton, forward mode for a handful of parameters.

Diffrax's guide has Kvaerno5 for stiff problems and Tsit5 as the general method; HIRES is mild enough for both. Its page
on adjoints: ``ForwardMode`` "is useful when you have many more outputs than inputs". Between steps Kvaerno5 has values
of third order, so that steps which end at the saved times (``step_ts``) need fewer of them for the same accuracy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from diffrax import AbstractSolver, Tsit5

from best import Expert, Experts
from best.diffrax_running import FORWARD, chord_kvaerno5, compiled, easy_controller, newton_kvaerno5, stiff_controller
from best.numbers import HIRES_SIZES, HIRES_START, HIRES_TIMES, ROBERTSON_SIZES, ROBERTSON_START, ROBERTSON_TIMES

ROBERTSON_ATOL = np.array([1.0, 1e-6, 1.0])
HIRES_ATOL = np.array([1e-3, 1e-4, 1e-4, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3])
MAX_STEPS = 2**16


def species(t: Any, y: jax.Array, p: jax.Array) -> jax.Array:
    """Robertson's three."""
    y1, y2, y3 = y
    slow, fast, back = p[0] * y1, p[1] * y2 * y2, p[2] * y2 * y3
    return jnp.stack([back - slow, slow - back - fast, fast])


def reactants(t: Any, y: jax.Array, p: jax.Array) -> jax.Array:
    """The eight of HIRES."""
    y1, y2, y3, y4, y5, y6, y7, y8 = y
    k1, k2, k3, k4, k5, k6, kplus, kminus, kstar, oks = p
    binding, release = kplus * y6 * y8, (k2 + kminus + kstar) * y7
    return jnp.stack([
        -k1 * y1 + k2 * y2 + k6 * y3 + oks,
        k1 * y1 - (k2 + k3) * y2,
        -(k6 + k1) * y3 + k2 * y4 + k5 * y5,
        k3 * y2 + k1 * y3 - (k4 + k2) * y4,
        -(k1 + k5) * y5 + k2 * (y6 + y7),
        -binding + k4 * y4 + k1 * y5 - k2 * y6 + kminus * y7,
        binding - release,
        release - binding,
    ])  # fmt: skip


def scaled_squares(sizes: np.ndarray) -> Any:
    """The sum of squares over the sizes."""
    return lambda ys: jnp.sum((ys / sizes) ** 2)


def _kvaerno5(
    solver: Callable[[], AbstractSolver],
    name: str,
    equation: Any,
    start: np.ndarray,
    times: np.ndarray,
    sizes: np.ndarray,
    atol: np.ndarray,
) -> tuple[Callable[[], Expert], ...]:
    """With values between steps, and with steps that end at the saved times."""

    def make(lands: bool) -> Expert:
        return compiled(
            f"Kvaerno5, {name}, forward{', step_ts' * lands}", solver(), stiff_controller, equation, start, times,
            scaled_squares(sizes), FORWARD, MAX_STEPS, atol=atol, lands=lands,
        )  # fmt: skip

    return lambda: make(False), lambda: make(True)


def _both(*problem: Any) -> tuple[Callable[[], Expert], ...]:
    """Full Newton, and one Jacobian a stage."""
    return (*_kvaerno5(newton_kvaerno5, "Newton", *problem), *_kvaerno5(chord_kvaerno5, "Chord", *problem))


def hires_explicit() -> Expert:
    """The general method: many more steps, each far cheaper."""
    return compiled(
        "Tsit5, forward", Tsit5(), easy_controller, reactants, HIRES_START, HIRES_TIMES, scaled_squares(HIRES_SIZES),
        FORWARD, MAX_STEPS, atol=HIRES_ATOL,
    )  # fmt: skip


EXPERTS: Experts = {
    "robertson": _both(species, ROBERTSON_START, ROBERTSON_TIMES, ROBERTSON_SIZES, ROBERTSON_ATOL),
    "hires": (*_both(reactants, HIRES_START, HIRES_TIMES, HIRES_SIZES, HIRES_ATOL), hires_explicit),
}
