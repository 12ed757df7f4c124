"""Steps that Diffrax's Kvaerno5 takes on Robertson's problem with its default root finder and with others.

    python docs/verychord.py

Needs nothing but Diffrax. With Diffrax 0.7.2 and Optimistix 0.1.0 the default takes some twelve times as many steps as
any other root finder at 1e-8; with Diffrax 0.7.1 and Optimistix 0.0.11 all take the same.
"""

from __future__ import annotations

from importlib.metadata import version

import diffrax
import jax
import jax.numpy as jnp
import optimistix

jax.config.update("jax_enable_x64", True)


class Mended(diffrax.VeryChord):
    """VeryChord which calls only divergence divergence, as https://github.com/patrick-kidger/diffrax/pull/754 does."""

    def terminate(self, fn, y, args, options, state, tags):
        """Go on where the iteration has neither converged nor diverged."""
        terminate, result = super().terminate(fn, y, args, options, state, tags)
        undecided = jnp.invert(terminate) & (state.result == optimistix.RESULTS.successful)
        return terminate, optimistix.RESULTS.where(undecided, optimistix.RESULTS.successful, result)


def robertson(t, y, args):
    """Three reactions; rates from 0.04 to 3e7."""
    first, second, third = 0.04 * y[0], 3e7 * y[1] ** 2, 1e4 * y[1] * y[2]
    return jnp.stack([third - first, first - second - third, second])


def steps(root_finder, tolerance):
    """Accepted and rejected steps from 0 to 1e5, and the solution at the end."""
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(robertson),
        diffrax.Kvaerno5(root_finder=diffrax.with_stepsize_controller_tols(root_finder)()),
        t0=0.0,
        t1=1e5,
        dt0=None,
        y0=jnp.array([1.0, 0.0, 0.0]),
        stepsize_controller=diffrax.PIDController(
            rtol=tolerance, atol=tolerance * jnp.array([1.0, 1e-5, 1.0]), pcoeff=0.3, icoeff=0.4
        ),
        max_steps=2**17,
    )
    counts = (int(solution.stats[name]) for name in ("num_accepted_steps", "num_rejected_steps"))
    return *counts, solution.ys[-1]


if __name__ == "__main__":
    names = ("jax", "diffrax", "optimistix", "equinox", "lineax")
    print(", ".join(f"{name} {version(name)}" for name in names))
    finders = {
        "VeryChord (default)": diffrax.VeryChord,
        "VeryChord, mended": Mended,
        "Chord": optimistix.Chord,
        "Newton": optimistix.Newton,
    }
    for tolerance in (1e-6, 1e-8):
        for name, finder in finders.items():
            accepted, rejected, end = steps(finder, tolerance)
            print(f"{tolerance:.0e}  {name:<20} {accepted:>6} accepted {rejected:>6} rejected  y1 = {end[0]:.12g}")
