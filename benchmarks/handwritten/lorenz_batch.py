"""An ensemble of Lorenz systems by hand, on any device: what an expert would write for it in each framework.

Every function takes the numbers of the problem (initial states and saved times) and the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from handwritten import Handwritten

RTOL = ATOL = 1e-6
P = (10.0, 28.0, 8.0 / 3.0)
SCALE = 10.0


def torchdiffeq(numbers: Any, device: str) -> Handwritten:
    """One system of all trajectories; back-propagation through its steps."""
    import torch
    from torchdiffeq import odeint

    on = torch.device("cuda" if device == "gpu" else "cpu")
    p = torch.tensor(P, dtype=torch.float64, device=on, requires_grad=True)
    y0 = torch.tensor(numbers.y0, dtype=torch.float64, device=on).reshape(-1, 3)
    t = torch.tensor([numbers.t0, *numbers.save_times], dtype=torch.float64, device=on)

    def rhs(_t: Any, y: torch.Tensor) -> torch.Tensor:
        return lorenz(torch, y, p)

    def ys() -> torch.Tensor:
        atol = torch.full((3,), ATOL * SCALE, dtype=torch.float64, device=on)
        return odeint(rhs, y0, t, rtol=RTOL, atol=atol, method="dopri5")[1:]

    return _in_torch(torch, "dopri5", ys, p, on)


def torchode(numbers: Any, device: str) -> Handwritten:
    """Each trajectory with its own steps; back-propagation through them."""
    import torch
    import torchode as to

    on = torch.device("cuda" if device == "gpu" else "cpu")
    p = torch.tensor(P, dtype=torch.float64, device=on, requires_grad=True)
    y0 = torch.tensor(numbers.y0, dtype=torch.float64, device=on).reshape(-1, 3)
    batch = len(y0)
    times = torch.tensor(numbers.save_times, dtype=torch.float64, device=on).expand(batch, -1).contiguous()
    start = torch.full((batch,), numbers.t0, dtype=torch.float64, device=on)
    end = torch.full((batch,), numbers.t1, dtype=torch.float64, device=on)
    term: Any = to.ODETerm(lambda _t, y: lorenz(torch, y, p))
    controller: Any = to.IntegralController(atol=ATOL, rtol=RTOL, term=term)
    controller.atol = torch.full((3,), ATOL * SCALE, dtype=torch.float64, device=on)
    solver = to.AutoDiffAdjoint(to.Dopri5(term=term), controller)
    problem: Any = to.InitialValueProblem

    def ys() -> torch.Tensor:
        return solver.solve(problem(y0, start, end, times)).ys.transpose(0, 1)

    return _in_torch(torch, "dopri5", ys, p, on)


def lorenz(torch: Any, y: Any, p: Any) -> Any:
    """The right-hand side of all trajectories, (batch, 3)."""
    sigma, rho, beta = p.unbind()
    x, y_, z = y.unbind(-1)
    return torch.stack((sigma * (y_ - x), x * (rho - z) - y_, x * y_ - beta * z), dim=-1)


def _in_torch(torch: Any, method: str, ys: Any, p: Any, on: Any) -> Handwritten:
    def solve() -> Any:
        with torch.no_grad():
            return ys()

    def gradient() -> Any:
        loss = torch.sum((ys() / SCALE) ** 2)
        return loss.detach(), torch.autograd.grad(loss, p)[0]

    def wait(_output: Any) -> None:
        if on.type == "cuda":
            torch.cuda.synchronize()

    return Handwritten(method, "discrete", "eager", RTOL, ATOL, solve, gradient, wait)


def diffrax(numbers: Any, _device: str) -> Handwritten:
    """``jax.vmap`` over ``diffeqsolve``, all inside one ``jax.jit``; the default adjoint."""
    import os

    os.environ.setdefault("EQX_ON_ERROR", "nan")

    import diffrax as dfx
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    y0 = np.asarray(numbers.y0).reshape(-1, 3)
    times = np.asarray(numbers.save_times)

    def rhs(_t: Any, y: jax.Array, p: jax.Array) -> jax.Array:
        sigma, rho, beta = p
        x, y_, z = y
        return jnp.stack([sigma * (y_ - x), x * (rho - z) - y_, x * y_ - beta * z])

    def one(start: jax.Array, p: jax.Array) -> jax.Array:
        found = dfx.diffeqsolve(
            dfx.ODETerm(rhs),
            dfx.Dopri5(),
            t0=numbers.t0,
            t1=numbers.t1,
            dt0=None,
            y0=start,
            args=p,
            saveat=dfx.SaveAt(ts=times),
            stepsize_controller=dfx.PIDController(rtol=RTOL, atol=ATOL * SCALE),
            max_steps=2**16,
        )
        assert found.ys is not None
        return found.ys

    def all_of(p: jax.Array) -> jax.Array:
        return jax.vmap(one, in_axes=(0, None))(jnp.asarray(y0), p)

    solve = jax.jit(lambda p: jnp.swapaxes(all_of(p), 0, 1))
    gradient = jax.jit(jax.value_and_grad(lambda p: jnp.sum((all_of(p) / SCALE) ** 2)))
    p = jnp.asarray(P)
    return Handwritten(
        "dopri5", "checkpointed", "compiled", RTOL, ATOL, lambda: solve(p), lambda: gradient(p), jax.block_until_ready
    )
