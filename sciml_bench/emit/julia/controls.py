"""Paths that drive an equation in Julia: the derivative of a path between two of its values, as a function of t."""

from __future__ import annotations

import numpy as np
from sympy import Symbol

from sciml_bench.emit.context import Context
from sciml_bench.emit.julia.constants import vector
from sciml_bench.spec.model import symbol, to_double
from sciml_bench.spec.tables.control import Control

_LINE = """\
# The derivative of {name} between its value k and the next one.
function {slope}({data}, k)
    line = ({data}[:, k + 1] - {data}[:, k])/({times}[k + 1] - {times}[k])
    return t -> line
end
"""

_CUBIC = """\
# The derivative of {name} between its value k and the next one: at each value it is the slope of the line before.
function {slope}({data}, k)
    line(i) = ({data}[:, i + 1] - {data}[:, i])/({times}[i + 1] - {times}[i])
    before, bend = line(max(k - 1, 1)), line(k) - line(max(k - 1, 1))
    start, width = {times}[k], {times}[k + 1] - {times}[k]
    return function (t)
        share = (t - start)/width
        return before + (share*(4 - 3*share))*bend
    end
end
"""


def slope_arguments(context: Context) -> list[str]:
    """The arguments of ``rhs`` after t: for each path a function of t that is its derivative."""
    return [slope_name(context, symbol(control.name)) for control in context.problem.controls]


def slope_name(context: Context, path: Symbol) -> str:
    """The name of a path's derivative inside ``rhs``."""
    return _free(context, f"ddt_{context.names[path]}")


def controls_source(context: Context, data_names: list[str]) -> str:
    """``controls(t, …)``: of the data of one trajectory what ``rhs`` takes on the interval that holds t."""
    texts, calls = list[str](), list[str]()
    for control in context.problem.controls:
        name, data = (context.names[symbol(word)] for word in (control.name, control.data))
        words = {"name": name, "data": data, "times": f"TIMES__{name}", "slope": _free(context, f"slope_{name}")}
        texts += [f"# When {name} has its values.\nconst TIMES__{name} = {_times(control)}\n"]
        texts += [(_LINE if control.interpolation == "linear" else _CUBIC).format(**words)]
        calls.append("{slope}({data}, searchsortedlast({times}, t))".format(**words))
    head = f"controls({', '.join(['t', *data_names])})"
    comment = "# What rhs takes of the paths of a trajectory, on the interval between two values that holds t.\n"
    return "\n".join([*texts, f"{comment}{head} = ({', '.join(calls)},)\n"])


def _times(control: Control) -> str:
    times = [to_double(time) for time in control.times]
    first, last, count = times[0], times[-1], len(times)
    if control.brownian is not None and np.linspace(first, last, count).tolist() == times:
        return f"range({first!r}, {last!r}, {count})"
    return vector(times)


def _free(context: Context, name: str) -> str:
    while name in context.names.values():
        name += "_"
    return name
