"""Paths that drive an equation as source text for JAX: Diffrax's interpolations of data, or of Brownian motions."""

from __future__ import annotations

import numpy as np

from sciml_bench.emit.context import Context
from sciml_bench.emit.networks import network_arguments
from sciml_bench.emit.symbolic.statements import straight_line
from sciml_bench.spec.language.noise import Parts
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import symbol, to_double
from sciml_bench.spec.tables.brownian import Brownian
from sciml_bench.spec.tables.control import Control

_MOTIONS = """\
def brownian_motions(n_paths, n_steps, n_channels, span, seed):
    \"\"\"Values of Brownian motions at equal steps, (n_paths, n_steps + 1, n_channels), in single precision.\"\"\"
    increments = np.random.RandomState(seed).standard_normal((n_paths, n_steps, n_channels))*np.sqrt(span/n_steps)
    return np.pad(np.cumsum(increments, axis=1), ((0, 0), (1, 0), (0, 0))).astype(np.float32).astype(np.float64)
"""


def controls_source(context: Context, data_names: list[str]) -> str:
    """``controls(…)``: the paths of one trajectory through its data, which ``rhs`` takes after the networks."""
    lines, paths = list[str](), list[str]()
    for control in context.problem.controls:
        name, data = (context.names[symbol(word)] for word in (control.name, control.data))
        lines.append(f"TIMES__{name} = {context.target.array.format(_times(control))}")
        if control.interpolation == "linear":
            paths.append(f"diffrax.LinearInterpolation(TIMES__{name}, {data})")
        else:
            coefficients = f"diffrax.backward_hermite_coefficients(TIMES__{name}, {data})"
            paths.append(f"diffrax.CubicInterpolation(TIMES__{name}, {coefficients})")
    head = f"def controls({', '.join(data_names)}):"
    lines.insert(0, "# When the paths have their values.")
    return "\n".join([*lines, "", "", head, "    return (", *(f"        {path}," for path in paths), "    )", ""])


def _times(control: Control) -> str:
    times = [to_double(time) for time in control.times]
    first, last, count = times[0], times[-1], len(times)
    # Solvers stop at these very doubles.
    if control.brownian is not None and np.linspace(first, last, count).tolist() == times:
        return f"np.linspace({first!r}, {last!r}, {count})"
    return f"np.array([{', '.join(map(repr, times))}])"


def motions_source(context: Context) -> list[str]:
    """``brownian_motions(…)``, where a Brownian motion drives the equation."""
    return [_MOTIONS] if any(control.brownian for control in context.problem.controls) else []


def motion_values(context: Context, motion: Brownian) -> str:
    """The values of the paths of all trajectories; of a single one without an axis for them."""
    size = context.problem.batch.size
    call = f"brownian_motions({size}, {motion.steps}, {motion.channels}, {motion.span!r}, {motion.seed})"
    return call if size > 1 else f"{call}[0]"


def diffusion_source(context: Context, found: Parts) -> str:
    """``diffusion(…)``: the matrix, (n_states, channels), whose product with an increment of the motion is the noise.

    It takes what ``rhs`` takes.
    """
    problem = context.problem
    named = [(symbol(definition.name), context.resolve(definition.expr)) for definition in problem.definitions]
    program = straight_line(named, [context.resolve(expr) for expr in found.diffusion.values()]).needed()
    used = program.symbols
    motion = context.names[symbol(found.motion.name)]
    lines = [
        f"def diffusion({', '.join(['t', 'y', 'p', *network_arguments(context), motion])}):",
        *context.unpack_parameters(used),
        *context.unpack_state(used),
    ]
    printer = context.printer()
    for statement in program.statements:
        printer.shapes[statement.symbol] = printer.shape(statement.expr)
        lines.append(f"    {printer.code(statement.symbol)} = {printer.code(statement.expr)}")
    channels = found.motion.channels

    def rows(size: int, entries: Node) -> str:
        if entries == 0:
            return f"jnp.zeros(({size}, {channels}), y.dtype)"
        return f"jnp.reshape({printer.code(entries)}, ({size}, {channels}))"

    blocks = [rows(state.size, entries) for state, entries in zip(problem.states, program.outputs, strict=True)]
    matrix = blocks[0] if len(blocks) == 1 else f"jnp.concatenate([{', '.join(blocks)}])"
    return "\n".join([*lines, f"    return {matrix}", ""])
