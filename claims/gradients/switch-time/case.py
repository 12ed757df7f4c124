"""The end of y' = where(t < switch, 1, 0), and its derivative by ``switch``."""

import diffrax
import jax
import jax.experimental.ode
import jax.numpy as jnp
import torch
import torchdiffeq

jax.config.update("jax_enable_x64", True)
torch.set_default_dtype(torch.float64)


def by_diffrax(switch):
    """With the default adjoint."""
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: jnp.where(t < switch, 1.0, 0.0)),
        diffrax.Tsit5(),
        0.0,
        2.0,
        None,
        jnp.asarray(0.0),
        stepsize_controller=diffrax.PIDController(rtol=1e-8, atol=1e-8),
    )
    return solution.ys[-1]


def by_jax(switch):
    """With the adjoint equation that JAX has."""
    times = jnp.asarray([0.0, 2.0])
    return jax.experimental.ode.odeint(
        lambda y, t, switch: jnp.where(t < switch, 1.0, 0.0), jnp.asarray(0.0), times, switch, rtol=1e-8, atol=1e-8
    )[-1]


for name, end in (("diffrax, Tsit5", by_diffrax), ("jax.experimental.ode", by_jax)):
    print(f"{name}: {float(jax.grad(end)(0.98))!r}")
for interface in (torchdiffeq.odeint, torchdiffeq.odeint_adjoint):
    switch = torch.tensor(0.98, requires_grad=True)
    options = {"adjoint_params": (switch,)} if interface is torchdiffeq.odeint_adjoint else {}

    def equation(t, y, switch=switch):
        """With the parameter in the graph, as a product would have it."""
        return torch.where(t < switch, 1.0, 0.0) + 0 * switch

    end = interface(equation, torch.tensor(0.0), torch.tensor([0.0, 2.0]), rtol=1e-8, atol=1e-8, **options)[-1]
    (gradient,) = torch.autograd.grad(end, switch)
    print(f"torchdiffeq, {interface.__name__}: {float(gradient)!r}")
