"""Training by hand, as the guides of the libraries show it: ``training_tax.py`` measures our trainings against it.

Each function builds the training of the problem spiral-node from its first weights and its data, and returns what takes
one step and gives its loss. It is what an expert would write for this one problem, and nothing of this package.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

RTOL, ATOL = 1e-6, 1e-8
RATE, BETA1, BETA2, EPSILON = 0.01, 0.9, 0.999, 1e-8
T1, WIDTH = 1.5, 50

Step = Callable[[], Any]
"""One step; gives its loss as the framework's own number, without waiting for it."""


def diffrax(weights: np.ndarray, data: np.ndarray) -> Step:
    """After Diffrax's guide "Neural ODE": an Equinox module, Optax, and one compiled ``make_step``."""
    os.environ.setdefault("EQX_ON_ERROR", "nan")
    import diffrax
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import optax

    jax.config.update("jax_enable_x64", True)
    times = jnp.linspace(T1 / len(data), T1, len(data))
    optimiser = optax.adam(RATE, b1=BETA1, b2=BETA2, eps=EPSILON)

    def vector_field(t: Any, y: Any, model: Any) -> Any:
        return model(y**3)

    @eqx.filter_value_and_grad
    def loss_of(model: Any) -> Any:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(vector_field),
            diffrax.Tsit5(),
            t0=0.0,
            t1=T1,
            dt0=None,
            y0=jnp.array([2.0, 0.0]),
            args=model,
            stepsize_controller=diffrax.PIDController(rtol=RTOL, atol=ATOL),
            saveat=diffrax.SaveAt(ts=times),
            max_steps=2**16,
        )
        return jnp.sum((solution.ys - data) ** 2)

    @eqx.filter_jit
    def make_step(model: Any, state: Any) -> Any:
        loss, gradient = loss_of(model)
        updates, state = optimiser.update(gradient, state)
        return loss, eqx.apply_updates(model, updates), state

    first, second = weights[: 3 * WIDTH], weights[3 * WIDTH :]
    model = eqx.nn.MLP(2, 2, WIDTH, 1, activation=jnp.tanh, key=jax.random.key(0))
    parts = (first[: 2 * WIDTH].reshape(WIDTH, 2), first[2 * WIDTH :], second[:-2].reshape(2, WIDTH), second[-2:])
    model = eqx.tree_at(
        lambda m: (m.layers[0].weight, m.layers[0].bias, m.layers[1].weight, m.layers[1].bias),
        model,
        tuple(map(jnp.asarray, parts)),
    )
    state = optimiser.init(eqx.filter(model, eqx.is_inexact_array))

    def step() -> Any:
        nonlocal model, state
        loss, model, state = make_step(model, state)
        return loss

    return step


def torchdiffeq(weights: np.ndarray, data: np.ndarray) -> Step:
    """After torchdiffeq's example ``ode_demo.py``: a module, ``odeint``, and the usual loop."""
    import torch
    from torch import Tensor, nn
    from torchdiffeq import odeint

    torch.set_num_threads(1)

    class Equation(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 2)).double()

        def forward(self, t: Tensor, y: Tensor) -> Tensor:
            return self.net(y**3)

    equation = Equation()
    nn.utils.vector_to_parameters(torch.tensor(weights), equation.parameters())
    optimiser = torch.optim.Adam(equation.parameters(), lr=RATE, betas=(BETA1, BETA2), eps=EPSILON)
    start = torch.tensor([2.0, 0.0], dtype=torch.float64)
    times = torch.linspace(0.0, T1, len(data) + 1, dtype=torch.float64)
    target = torch.tensor(data)

    def step() -> Any:
        optimiser.zero_grad()
        ys: Any = odeint(equation, start, times, rtol=RTOL, atol=ATOL, method="dopri5")
        loss = torch.sum((ys[1:] - target) ** 2)
        loss.backward()
        optimiser.step()
        return loss

    return step


CASES = {
    "diffrax": ("tsit5", "checkpointed", "compiled", diffrax),
    "torchdiffeq": ("dopri5", "discrete", "eager", torchdiffeq),
}
"""For each framework the method, the sensitivity and the mode of our cell, and what builds the training by hand."""
