"""The end of y' = 1 until an event at t = switch, y' = 0 after it, and its derivative by ``switch``."""

import diffrax
import jax
import jax.numpy as jnp
import optimistix

jax.config.update("jax_enable_x64", True)


def end(switch, before, after, solver, clips):
    """y(2): solved to the event, and from there on."""
    control = diffrax.PIDController(rtol=1e-8, atol=1e-8)
    control = diffrax.ClipStepSizeController(control, jump_ts=[0.98]) if clips else control
    event = diffrax.Event(lambda t, y, args, **_: switch - t, optimistix.Newton(rtol=1e-10, atol=1e-10))

    def solve(equation, t0, y0, event=None):
        term = diffrax.ODETerm(lambda t, y, args: equation(t, switch))
        return diffrax.diffeqsolve(term, solver, t0, 2.0, None, y0, stepsize_controller=control, event=event)

    first = solve(before, 0.0, jnp.asarray(0.0), event)
    return solve(after, first.ts[-1], first.ys[-1]).ys[-1]


def jumping(t, switch):
    """The slope as one equation."""
    return jnp.where(t < switch, 1.0, 0.0)


for solver in (diffrax.Heun(), diffrax.Tsit5()):
    for clips in (False, True):
        for equations in ((jumping, jumping), (lambda t, _: 1.0, lambda t, _: 0.0)):
            way = f"{type(solver).__name__}, {'one equation' if equations[0] is jumping else 'two equations'}"
            gradient = jax.grad(end)(0.98, *equations, solver, clips)
            print(f"{way}{', jump_ts' if clips else ''}: {float(gradient)!r}")
