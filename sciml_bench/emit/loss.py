"""The loss as source text: a sum over the saved times and the components."""

from __future__ import annotations

from sciml_bench.emit.targets import TARGETS, Target
from sciml_bench.spec.model import Loss, Problem


def loss_source(problem: Problem, target: Target) -> str:
    """``loss(ys)``, and for NumPy ``loss_gradient(ys)``, with the constants that they need."""
    lines: list[str] = []
    residual = residual_source(problem.loss, target, lines, "ys" if problem.loss.at == "saved" else "ys[-1]")
    weight = "" if problem.loss.weight == 1.0 else f"{problem.loss.weight!r}*"
    total = target.total.format(term_source(problem.loss.kind, residual, target))
    lines += [*([""] * (2 * bool(lines))), "def loss(ys):", f"    return {weight}{total}", ""]
    if not target.differentiates:
        lines += ["", *_gradient(problem.loss, residual)]
    return "\n".join(lines)


def term_source(kind: str, residual: str, target: Target) -> str:
    """The summed term of a residual."""
    return {
        "sum_of_squares": f"{residual}**2",
        "sum_of_magnitudes": f"{target.functions['abs']}({_bare(residual)})",
        "sum": _bare(residual),
    }[kind]


def residual_source(loss: Loss, target: Target, lines: list[str], ys: str) -> str:
    """``(ys - target)/scale``; the constants that it reads are added to the lines."""
    residual = ys
    if loss.data and loss.at == "end":
        residual = f"({ys} - {_constant('LOSS_DATA', loss.data[-1], target, lines)})"
    elif loss.data:
        lines.append(f"LOSS_DATA = {target.array.format(_rows(loss.data))}")
        residual = f"({ys} - LOSS_DATA)"
    elif any(loss.target):
        residual = f"({ys} - {_constant('LOSS_TARGET', loss.target, target, lines)})"
    if any(scale != 1.0 for scale in loss.scale):
        residual = f"({residual}/{_constant('LOSS_SCALE', loss.scale, target, lines)})"
    if loss.weights:
        lines.append(f"LOSS_WEIGHTS = {target.array.format(_rows(loss.weights))}")
        residual = f"({residual}*LOSS_WEIGHTS)"
    return residual


def _bare(residual: str) -> str:
    return residual[1:-1] if residual.startswith("(") else residual


def _constant(name: str, values: tuple[float, ...], target: Target, lines: list[str]) -> str:
    """A literal if all values are equal, otherwise the name of a module constant."""
    if len(set(values)) == 1:
        return repr(values[0])
    array = f"np.array([{', '.join(repr(value) for value in values)}])"
    lines.append(f"{name} = {target.array.format(array)}")
    return name


def _rows(rows: tuple[tuple[float, ...], ...]) -> str:
    text = "".join(f"    [{', '.join(map(repr, row))}],\n" for row in rows)
    return f"np.array([\n{text}])"


def _gradient(loss: Loss, residual: str) -> list[str]:
    if loss.kind == "sum_of_squares":
        value = f"{2 * loss.weight!r}*{residual}"
    elif loss.kind == "sum_of_magnitudes":
        value = f"{loss.weight!r}*np.sign({_bare(residual)})"
    else:
        value = f"{loss.weight!r}*np.ones_like({'ys' if loss.at == 'saved' else 'ys[-1]'})"
    if any(scale != 1.0 for scale in loss.scale):
        value += f"/{_constant('LOSS_SCALE', loss.scale, TARGETS['numpy'], [])}"
    value += "*LOSS_WEIGHTS" if loss.weights else ""
    if loss.at == "end":
        body = ["    gradient = np.zeros_like(ys)", f"    gradient[-1] = {value}", "    return gradient"]
    else:
        body = [f"    return {value}"]
    return ["def loss_gradient(ys):", *body, ""]
