"""torchdiffeq by hand: dopri5, right-hand sides of few and large operations, back-propagation through the solver.

Every operation of eager PyTorch costs microseconds whatever its size, so an equation is written as a matrix, made once
a call of the parameters, times the state and what is nonlinear in it. There is no Robertson: no adaptive method of the
library is implicit, and an explicit one takes hundreds of millions of steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchdiffeq import odeint, odeint_adjoint

from best import Expert, Experts, Vector, computed
from best.numbers import (
    BRUSSELATOR_START,
    BRUSSELATOR_TIMES,
    HIDDEN,
    HIRES_SIZES,
    HIRES_START,
    HIRES_TIMES,
    LOTKA_VOLTERRA_START,
    LOTKA_VOLTERRA_TIMES,
    RING,
    SPIRAL_START,
    SPIRAL_TIMES,
    spiral_data,
)

torch.set_num_threads(1)

Equation = Callable[[Tensor, Tensor], Tensor]
HIRES_ATOL = torch.tensor([1e-3, 1e-4, 1e-4, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3], dtype=torch.float64)


def running(
    name: str,
    make: Callable[[tuple[Tensor, ...]], Equation],
    start: Vector,
    times: Vector,
    loss: Callable[[Tensor], Tensor],
    *,
    split: Callable[[Tensor], tuple[Tensor, ...]] = lambda theta: (theta,),
    atol: Tensor | float = 1.0,
    method: str = "dopri5",
    lands: bool = False,
) -> Expert:
    """One configuration; ``make`` gives the equation of the parameters, anew for each call.

    Steps end at the saved times if it ``lands``.
    """
    y0, grid = torch.tensor(start), torch.tensor(np.concatenate([[0.0], times]))

    def prepare(theta: Vector, rtol: float) -> tuple[tuple[Tensor, ...], dict[str, Any]]:
        leaves = tuple(part.clone().requires_grad_() for part in split(torch.tensor(theta)))
        landing = {"options": {"step_t": grid[1:]}} if lands else {}
        return leaves, {"rtol": rtol, "atol": rtol * atol, "method": method, **landing}

    def solve(inputs: tuple[tuple[Tensor, ...], dict[str, Any]]) -> Tensor:
        leaves, options = inputs
        with torch.no_grad():
            return odeint(make(leaves), y0, grid, **options)

    def gradient(inputs: tuple[tuple[Tensor, ...], dict[str, Any]]) -> tuple[Tensor, ...]:
        leaves, options = inputs
        return torch.autograd.grad(loss(odeint(make(leaves), y0, grid, **options)[1:]), leaves)

    return Expert(name, prepare, solve, gradient, computed, lambda ys: ys[1:].numpy(), _flat)


def _flat(parts: tuple[Tensor, ...]) -> Vector:
    return torch.cat([part.reshape(-1) for part in parts]).numpy()


def _squares(ys: Tensor) -> Tensor:
    return torch.sum(ys * ys)


def lotka_volterra(method: str, lands: bool = False) -> Callable[[], Expert]:
    """Lotka's form: z' = z (r + B z)."""
    place = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    sign = torch.tensor([1.0, -1.0], dtype=torch.float64)

    def equation(leaves: tuple[Tensor, ...]) -> Equation:
        a, b, c, d = leaves[0].unbind()
        growth = torch.stack((a, c)) * sign
        interaction = torch.stack((b, d)).unsqueeze(1) * place
        return lambda t, z: z * torch.addmv(growth, interaction, z)

    def make() -> Expert:
        return running(
            f"{method}, eager, z (r + B z){', step_t' * lands}", equation, LOTKA_VOLTERRA_START, LOTKA_VOLTERRA_TIMES,
            _squares, method=method, lands=lands,
        )  # fmt: skip

    return make


def lotka_volterra_monomials() -> Expert:
    """Stoichiometry times monomials."""
    places = torch.zeros(4, 2, 3, dtype=torch.float64)
    places[0, 0, 0], places[1, 0, 2], places[2, 1, 1], places[3, 1, 2] = 1.0, -1.0, -1.0, 1.0

    def equation(leaves: tuple[Tensor, ...]) -> Equation:
        matrix = torch.einsum("k,kij->ij", leaves[0], places)
        return lambda t, z: torch.mv(matrix, torch.cat((z, z.prod(0, keepdim=True))))

    return running(
        "dopri5, eager, stoichiometry times monomials", equation, LOTKA_VOLTERRA_START, LOTKA_VOLTERRA_TIMES, _squares
    )


def hires(method: str) -> Callable[[], Expert]:
    """Stoichiometry times the eight reactants and the one product."""
    places = torch.zeros(10, 8, 10, dtype=torch.float64)
    for rate, entries in enumerate((
        {(0, 0): -1, (1, 0): 1, (2, 2): -1, (3, 2): 1, (4, 4): -1, (5, 4): 1},
        {(0, 1): 1, (1, 1): -1, (2, 3): 1, (3, 3): -1, (4, 5): 1, (4, 6): 1, (5, 5): -1, (6, 6): -1, (7, 6): 1},
        {(1, 1): -1, (3, 1): 1},
        {(3, 3): -1, (5, 3): 1},
        {(2, 4): 1, (4, 4): -1},
        {(0, 2): 1, (2, 2): -1},
        {(5, 8): -1, (6, 8): 1, (7, 8): -1},
        {(5, 6): 1, (6, 6): -1, (7, 6): 1},
        {(6, 6): -1, (7, 6): 1},
        {(0, 9): 1},
    )):  # fmt: skip
        for (row, column), factor in entries.items():
            places[rate, row, column] = factor
    sizes = torch.tensor(HIRES_SIZES)

    def equation(leaves: tuple[Tensor, ...]) -> Equation:
        matrix = torch.einsum("k,kij->ij", leaves[0], places)
        source, matrix = matrix[:, 9], matrix[:, :9].contiguous()

        def rhs(t: Tensor, y: Tensor) -> Tensor:
            return torch.addmv(source, matrix, torch.cat((y, y[5:6] * y[7:8])))

        return rhs

    def make() -> Expert:
        return running(
            f"{method}, eager, stoichiometry times monomials", equation, HIRES_START, HIRES_TIMES,
            lambda ys: _squares(ys / sizes), atol=HIRES_ATOL, method=method,
        )  # fmt: skip

    return make


def brusselator(method: str, compiled: bool, lands: bool = False) -> Callable[[], Expert]:
    """All that is linear as one matrix, and the reaction."""
    ring = torch.roll(torch.eye(RING, dtype=torch.float64), 1, 0)
    ring = 1600.0 * (ring + ring.T - 2.0 * torch.eye(RING, dtype=torch.float64))
    one, nothing = torch.eye(RING, dtype=torch.float64), torch.zeros(RING, RING, dtype=torch.float64)
    spread = torch.block_diag(ring, ring)
    fed = torch.cat((torch.cat((-one, nothing), 1), torch.cat((one, nothing), 1)))
    decay = torch.block_diag(-one, nothing)
    source = torch.cat((torch.ones(RING, dtype=torch.float64), torch.zeros(RING, dtype=torch.float64)))

    def reacted(feed: Tensor, matrix: Tensor, z: Tensor) -> Tensor:
        u, v = z.chunk(2)
        reaction = u * u * v
        return torch.addmv(feed, matrix, z) + torch.cat((reaction, -reaction))

    def stencil(p: Tensor, z: Tensor) -> Tensor:
        feed, rate, alpha = p.unbind()
        u, v = z.chunk(2)
        reaction = u * u * v
        around_u = 1600.0 * (torch.roll(u, 1) - 2 * u + torch.roll(u, -1))
        around_v = 1600.0 * (torch.roll(v, 1) - 2 * v + torch.roll(v, -1))
        return torch.cat((feed + reaction - (rate + 1) * u + alpha * around_u, rate * u - reaction + alpha * around_v))

    fused = torch.compile(stencil, fullgraph=True, dynamic=False) if compiled else stencil

    def by_matrix(leaves: tuple[Tensor, ...]) -> Equation:
        feed, rate, alpha = leaves[0].unbind()
        matrix, constant = alpha * spread + rate * fed + decay, feed * source
        return lambda t, z: reacted(constant, matrix, z)

    def by_stencil(leaves: tuple[Tensor, ...]) -> Equation:
        return lambda t, z: fused(leaves[0], z)

    def make() -> Expert:
        return running(
            f"{method}, {'compiled, stencil' if compiled else 'eager, one matrix'}{', step_t' * lands}",
            by_stencil if compiled else by_matrix, BRUSSELATOR_START, BRUSSELATOR_TIMES, _squares, method=method,
            lands=lands,
        )  # fmt: skip

    return make


def _layers(theta: Tensor) -> tuple[Tensor, ...]:
    first, bias, second, shift = theta.split([2 * HIDDEN, HIDDEN, 2 * HIDDEN, 2])
    return first.reshape(HIDDEN, 2), bias, second.reshape(2, HIDDEN), shift


def _network(leaves: tuple[Tensor, ...]) -> Equation:
    first, bias, second, shift = leaves
    return lambda t, y: torch.addmv(shift, second, torch.tanh(torch.addmv(bias, first, y * y * y)))


def spiral_node(method: str, lands: bool = False) -> Callable[[], Expert]:
    """The network as two products of a matrix and a vector."""

    def make() -> Expert:
        data = torch.tensor(spiral_data())
        return running(
            f"{method}, eager{', step_t' * lands}", _network, SPIRAL_START, SPIRAL_TIMES,
            lambda ys: _squares(ys - data), split=_layers, method=method, lands=lands,
        )  # fmt: skip

    return make


def spiral_node_adjoint() -> Expert:
    """The adjoint equation with the seminorm, of Kidger, Chen and Lyons."""
    data = torch.tensor(spiral_data())
    back = spiral_node("dopri5")()
    y0, grid = torch.tensor(SPIRAL_START), torch.tensor(np.concatenate([[0.0], SPIRAL_TIMES]))

    def gradient(inputs: tuple[tuple[Tensor, ...], dict[str, Any]]) -> tuple[Tensor, ...]:
        leaves, options = inputs
        ys = odeint_adjoint(
            _network(leaves), y0, grid, adjoint_params=leaves, adjoint_options={"norm": "seminorm"}, **options
        )
        return torch.autograd.grad(_squares(ys[1:] - data), leaves)

    return back._replace(name="dopri5, eager, odeint_adjoint with seminorm", solve=None, gradient=gradient)


EXPERTS: Experts = {
    "lotka-volterra": (
        lotka_volterra("dopri5"),
        lotka_volterra_monomials,
        lotka_volterra("dopri8"),
        lotka_volterra("dopri8", True),
    ),
    "hires": (hires("dopri5"),),
    "brusselator-1d": (brusselator("dopri5", False), brusselator("dopri5", True), brusselator("dopri8", False, True)),
    "spiral-node": (spiral_node("dopri5"), spiral_node_adjoint, spiral_node("dopri8"), spiral_node("dopri8", True)),
}
