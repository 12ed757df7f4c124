"""The time at which (y - level) (y - level - 1) first passes zero, where y' = 1, and its derivative by ``level``."""

import diffrax
import jax
import jax.numpy as jnp
import optimistix

jax.config.update("jax_enable_x64", True)


def time_of_event(level, longest_step):
    """The time at which the solve ends."""
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: jnp.ones_like(y)),
        diffrax.Tsit5(),
        0.0,
        100.0,
        None,
        jnp.asarray(0.0),
        stepsize_controller=diffrax.PIDController(rtol=1e-8, atol=1e-8, dtmax=longest_step),
        event=diffrax.Event(
            lambda t, y, args, **_: (y - level) * (y - level - 1), optimistix.Newton(rtol=1e-10, atol=1e-10)
        ),
    )
    return solution.ts[-1]


for longest_step in (None, 0.5):
    way = f"Tsit5, {'steps as long as the tolerances allow' if longest_step is None else f'dtmax={longest_step}'}"
    print(f"{way}: {float(jax.grad(time_of_event)(40.0, longest_step))!r}")
