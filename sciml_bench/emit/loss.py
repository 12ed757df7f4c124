"""The loss as source text: a weighted sum of squares over the saved times."""

from __future__ import annotations

from sciml_bench.emit.targets import TARGETS, Target
from sciml_bench.problem.model import Problem


def loss_source(problem: Problem, target: Target) -> str:
    """``loss(ys)``, and for NumPy ``loss_gradient(ys)``, with the constants that they need."""
    lines: list[str] = []
    residual = "ys"
    if any(problem.loss.target):
        residual = f"({residual} - {_constant('LOSS_TARGET', problem.loss.target, target, lines)})"
    if any(scale != 1.0 for scale in problem.loss.scale):
        residual = f"({residual}/{_constant('LOSS_SCALE', problem.loss.scale, target, lines)})"
    if problem.loss.at == "end":
        residual = residual.replace("ys", "ys[-1]")
    weight = "" if problem.loss.weight == 1.0 else f"{problem.loss.weight!r}*"
    total = target.total.format(f"{residual}**2")
    lines += [*([""] * (2 * bool(lines))), "def loss(ys):", f"    return {weight}{total}", ""]
    if target.name == "numpy":
        lines += ["", *_gradient(problem, residual)]
    return "\n".join(lines)


def _constant(name: str, values: tuple[float, ...], target: Target, lines: list[str]) -> str:
    """A literal where all values are equal, else the name of a module constant."""
    if len(set(values)) == 1:
        return repr(values[0])
    array = f"np.array([{', '.join(repr(value) for value in values)}])"
    lines.append(f"{name} = {target.array.format(array)}")
    return name


def _gradient(problem: Problem, residual: str) -> list[str]:
    value = f"{2 * problem.loss.weight!r}*{residual}"
    if any(scale != 1.0 for scale in problem.loss.scale):
        value += f"/{_constant('LOSS_SCALE', problem.loss.scale, TARGETS['numpy'], [])}"
    if problem.loss.at == "end":
        body = ["    gradient = np.zeros_like(ys)", f"    gradient[-1] = {value}", "    return gradient"]
    else:
        body = [f"    return {value}"]
    return ["def loss_gradient(ys):", *body, ""]
