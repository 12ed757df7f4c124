"""Measure by which factor a difference from a source's conditions changes one side of a claim: `larger`, `smaller`.

    python benchmarks/claim_effects.py [--calls 20] [CLAIM]...

Each line solves one problem as the source did and as its claim file measures it, in turn, and prints the ratio of the
two processor times (source over ours), the median over the pairs and their extremes. Needs torch, torchdiffeq, numba,
CyRK.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from numba import njit
from scipy.integrate import odeint, solve_ivp

Solve = Callable[[], Any]

SPAN = 10.0
"""The span of the Lorenz system in the claims; the sources go to 100, with 1001 saved times."""


@dataclass(frozen=True)
class Effect:
    """One condition of a claim on one side, as in the source and as measured. ``work`` divides longer solves."""

    claim: str
    condition: str
    side: str
    source: Solve
    ours: Solve
    work: float = 1.0


def lorenz(t: float, y: Any) -> Any:
    """The Lorenz system, for SciPy."""
    return np.array([10.0 * (y[1] - y[0]), y[0] * (28.0 - y[2]) - y[1], y[0] * y[1] - 8.0 / 3.0 * y[2]])


def robertson(t: float, y: Any) -> Any:
    """Robertson's kinetics, for SciPy."""
    a, b, c = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return np.array([-a + b, a - b - c, c])


def robertson_jacobian(t: float, y: Any) -> Any:
    """The Jacobian of Robertson's kinetics."""
    return np.array([
        [-0.04, 1e4 * y[2], 1e4 * y[1]],
        [0.04, -1e4 * y[2] - 6e7 * y[1], -1e4 * y[1]],
        [0.0, 6e7 * y[1], 0.0],
    ])  # fmt: skip


FAST_LORENZ, FAST_ROBERTSON, FAST_JACOBIAN = njit(lorenz), njit(robertson), njit(robertson_jacobian)
TIGHT = {"rtol": 1e-8, "atol": 1e-8}
LOOSE = {"rtol": 1e-3, "atol": 1e-6}
START = np.array([1.0, 0.0, 0.0])
DECADES = np.array([1e-2, 0.1, 0.4, 1, 4, 10, 40, 100, 400, 1e3, 4e3, 1e4, 4e4, 1e5])
"""The saved times of the catalog's Robertson problem."""


def of_torchdiffeq() -> Iterator[Effect]:
    """C01 on the side of torchdiffeq."""
    import torch
    import torchdiffeq

    torch.set_num_threads(1)

    def solve(times: Any, dtype: Any = torch.float64) -> Solve:
        start, grid = torch.tensor(START, dtype=dtype), torch.tensor(times, dtype=dtype)

        def field(t: Any, y: Any) -> Any:
            x, v, z = y.unbind()
            return torch.stack((10.0 * (v - x), x * (28.0 - z) - v, x * v - 8.0 / 3.0 * z))

        def run() -> Any:
            with torch.no_grad():
                return torchdiffeq.odeint(field, start, grid, **TIGHT, method="dopri5")

        return run

    ends = solve([0.0, SPAN])
    yield Effect("C01", "saved", "slow", solve(np.linspace(0.0, SPAN, 101)), ends)
    yield Effect("C01", "precision", "slow", solve([0.0, SPAN], torch.float32), ends)


def of_lorenz() -> Iterator[Effect]:
    """The claims on SciPy and the Lorenz system."""

    def ivp(times: Any) -> Solve:
        return lambda: solve_ivp(FAST_LORENZ, (0.0, times[-1]), START, "RK45", t_eval=times, **TIGHT)

    def fortran(times: Any) -> Solve:
        return lambda: odeint(lorenz, START, times, tfirst=True, mxstep=10**6, **TIGHT)

    def steps(end: float) -> int:
        return solve_ivp(FAST_LORENZ, (0.0, end), START, "RK45", **TIGHT).nfev

    longer = steps(100.0) / steps(SPAN)
    end, whole = np.array([SPAN]), np.linspace(0.0, 100.0, 1001)
    yield Effect("C06-lorenz-julia", "saved", "slow", ivp(np.linspace(0.0, SPAN, 101)), ivp(end))
    yield Effect("C06-lorenz-julia", "span and saved", "slow", ivp(whole), ivp(end), longer)
    two = np.array([0.0, SPAN])
    yield Effect("C01-scipy", "span", "slow", fortran(np.array([0.0, 100.0])), fortran(two), longer)


def of_robertson() -> Iterator[Effect]:
    """The claims on SciPy and Robertson's kinetics."""

    def ivp(method: str, times: Any, jacobian: Any) -> Solve:
        return lambda: solve_ivp(FAST_ROBERTSON, (0.0, 1e5), START, method, t_eval=times, jac=jacobian, **TIGHT)

    def fortran(field: Any, jacobian: Any) -> Solve:
        return lambda: odeint(field, START, np.array([0.0, 1e5]), Dfun=jacobian, tfirst=True, mxstep=10**6, **LOOSE)

    even = np.linspace(0.0, 1e5, 100)
    ours = ivp("BDF", DECADES, FAST_JACOBIAN)
    yield Effect("C06-robertson-julia", "saved", "slow", ivp("BDF", even, FAST_JACOBIAN), ours)
    yield Effect("C06-robertson-julia", "method", "slow", ivp("BDF", DECADES, None), ours)
    yield Effect("C06-robertson", "method", "slow", ivp("LSODA", even, None), ivp("LSODA", even, FAST_JACOBIAN))
    yield Effect("C05", "method", "slow", fortran(robertson, None), fortran(robertson, robertson_jacobian))
    yield Effect("C05-numba", "method", "slow", fortran(FAST_ROBERTSON, None), fortran(FAST_ROBERTSON, FAST_JACOBIAN))


def of_predators() -> Iterator[Effect]:
    """The claim of CyRK: every step kept, or 100 saved times."""
    from CyRK import nbsolve2_ivp
    from CyRK.nb.numba_solver import cyjit_sig
    from numba import cfunc

    def field(t: float, y: Any) -> Any:
        return np.array([(1.0 - 0.01 * y[1]) * y[0], (0.02 * y[0] - 1.0) * y[1]])

    @cfunc(cyjit_sig)
    def rates(dy: Any, t: float, y: Any, p: Any) -> None:
        dy[0] = (1.0 - 0.01 * y[1]) * y[0]
        dy[1] = (0.02 * y[0] - 1.0) * y[1]

    start, end, times = np.array([20.0, 20.0]), 100.0, np.linspace(1.0, 100.0, 100)

    @njit
    def compiled(address: int, times: Any, repeats: int) -> None:
        for _ in range(repeats):
            nbsolve2_ivp(address, (0.0, end), start, method="RK45", t_eval=times, rtol=1e-7, atol=1e-8).free()

    def fast(times: Any) -> Solve:
        # Processor times are too coarse for one of them.
        return lambda: compiled(rates.address, times, 100)

    def slow(times: Any) -> Solve:
        return lambda: solve_ivp(field, (0.0, end), start, t_eval=times, rtol=1e-7, atol=1e-8)

    yield Effect("C38", "saved", "fast", fast(np.empty(0)), fast(times))
    yield Effect("C38", "saved", "slow", slow(None), slow(times))


def cpu_s(solve: Solve) -> float:
    """Processor time of one solve."""
    began = time.process_time()
    solve()
    return time.process_time() - began


def main() -> None:
    """Measure the effects of the chosen claims."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=20, help="pairs of solves for each effect")
    parser.add_argument("claims", nargs="*")
    options = parser.parse_args()
    for effects in (of_torchdiffeq, of_lorenz, of_robertson, of_predators):
        for effect in effects():
            if options.claims and effect.claim not in options.claims:
                continue
            effect.source(), effect.ours()
            ratios = [cpu_s(effect.source) / cpu_s(effect.ours) / effect.work for _ in range(options.calls)]
            told = f"{median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"
            print(f"{effect.claim:20} {effect.condition:15} {effect.side}: {told}", flush=True)


if __name__ == "__main__":
    main()
