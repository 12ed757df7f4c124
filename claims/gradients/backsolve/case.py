"""The end of slow' = -rate fast, fast' = 1000 (slow - fast), and its derivative by ``rate``."""

import diffrax
import equinox
import jax
import jax.experimental.ode
import jax.numpy as jnp
import torch
import torchdiffeq

jax.config.update("jax_enable_x64", True)
torch.set_default_dtype(torch.float64)
START = [1.0, 0.0]


def by_diffrax(rate, adjoint):
    """With Kvaerno5."""
    return diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, rate: jnp.stack([-rate * y[1], 1000 * (y[0] - y[1])])),
        diffrax.Kvaerno5(),
        0.0,
        1.0,
        None,
        jnp.asarray(START),
        rate,
        stepsize_controller=diffrax.PIDController(rtol=1e-8, atol=1e-8),
        adjoint=adjoint,
    ).ys[-1, 0]


def by_jax(rate):
    """With the adjoint equation that JAX has."""
    return jax.experimental.ode.odeint(
        lambda y, t, rate: jnp.stack([-rate * y[1], 1000 * (y[0] - y[1])]),
        jnp.asarray(START),
        jnp.asarray([0.0, 1.0]),
        rate,
        rtol=1e-8,
        atol=1e-8,
        mxstep=100000,
    )[-1, 0]


def by_torchdiffeq(rate, interface):
    """With dopri5."""

    class Equation(torch.nn.Module):
        """With the parameter where odeint_adjoint looks for it."""

        def __init__(self):
            super().__init__()
            self.rate = rate

        def forward(self, t, y):
            """The derivative of both states."""
            return torch.stack([-self.rate * y[1], 1000 * (y[0] - y[1])])

    options = {"rtol": 1e-8, "atol": 1e-8, "options": {"max_num_steps": 100000}}
    return interface(Equation(), torch.tensor(START), torch.tensor([0.0, 1.0]), **options)[-1, 0]


def gradient_by_torchdiffeq(interface):
    """By PyTorch."""
    rate = torch.nn.Parameter(torch.tensor(2.0))
    return torch.autograd.grad(by_torchdiffeq(rate, interface), rate)[0]


ways = {
    f"diffrax, Kvaerno5, {adjoint.__name__}": lambda adjoint=adjoint: equinox.filter_jit(jax.grad(by_diffrax))(
        2.0, adjoint()
    )
    for adjoint in (diffrax.RecursiveCheckpointAdjoint, diffrax.BacksolveAdjoint)
}
ways["jax.experimental.ode"] = lambda: jax.grad(by_jax)(2.0)
for interface in (torchdiffeq.odeint, torchdiffeq.odeint_adjoint):
    ways[f"torchdiffeq, {interface.__name__}"] = lambda interface=interface: gradient_by_torchdiffeq(interface)
for way, gradient in ways.items():
    try:
        print(f"{way}: {float(gradient())!r}")
    except Exception as error:
        lines = str(error).strip().splitlines()
        print(f"{way}: refused: {next((line for line in lines if 'maximum number' in line), lines[0]).strip()}")
