"""The loss in Julia: a sum over the saved times, whose states are vectors in a vector."""

from __future__ import annotations

from sciml_bench.emit.julia.constants import vector
from sciml_bench.spec.model import Loss

_EACH = {"sum_of_squares": "abs2", "sum_of_magnitudes": "abs", "sum": ""}


def loss_source(loss: Loss, static: bool) -> str:
    """``loss(ys)``: the declared loss of the states at the saved times, or of the last one."""
    lines: list[str] = []
    at_end, by_row = loss.at == "end", bool(loss.data) and loss.at == "saved"
    y = "ys[end]" if at_end else "ys[k]" if by_row else "y"
    if by_row:
        residual = less_data(loss, y, lines, "[k]", static)
    else:
        residual = residual_source(loss, y, lines, static)
    total = summed(loss.kind, residual)
    if by_row:
        total = f"sum(k -> {total}, eachindex(ys))"
    elif not at_end:
        total = f"sum(y -> {total}, ys)"
    return "\n".join([*lines, *([""] if lines else []), f"loss(ys) = {weighted(loss, total)}", ""])


def stacked_loss_source(loss: Loss) -> str:
    """Write the loss with array operations on all saved times at once, a column for each.

    Zygote differentiates that in a fraction of the time that a function of every saved state takes.
    """
    lines: list[str] = []
    seen = "ys[end]" if loss.at == "end" else "reduce(hcat, ys)"
    if loss.data and loss.at == "saved":
        residual = less_data(loss, seen, lines)
    else:
        residual = residual_source(loss, seen, lines)
    total = weighted(loss, summed(loss.kind, residual))
    return "\n".join([*lines, *([""] if lines else []), f"loss(ys) = {total}", ""])


def less_data(loss: Loss, seen: str, lines: list[str], place: str = "", static: bool = False) -> str:
    """``weights*(seen - data)/scale`` of the saved time at a ``place``, ``[k]``, or of all, a column for each."""
    for name, rows in (("LOSS_DATA", loss.data), ("LOSS_WEIGHTS", loss.weights)):
        if rows:
            text = _rows(rows, static)
            lines.append(f"const {name} = {text if place else f'reduce(hcat, {text})'}")
    residual = scaled(loss, f"({seen} .- LOSS_DATA{place})", lines, static)
    return f"({residual} .* LOSS_WEIGHTS{place})" if loss.weights else residual


def residual_source(loss: Loss, seen: str, lines: list[str], static: bool = False) -> str:
    """``(seen - target)/scale``; the constants that it reads are added to the lines."""
    target = loss.target_at(-1)
    if any(target):
        seen = f"({seen} .- {_constant('LOSS_TARGET', target, lines, static)})"
    return scaled(loss, seen, lines, static)


def scaled(loss: Loss, residual: str, lines: list[str], static: bool = False) -> str:
    """A residual over the scales of its components."""
    if all(scale == 1.0 for scale in loss.scale):
        return residual
    return f"{residual} ./ {_constant('LOSS_SCALE', loss.scale, lines, static)}"


def summed(kind: str, residual: str) -> str:
    """The terms of the loss of an array."""
    each = _EACH[kind]
    return f"sum({f'{each}, ' if each else ''}{_bare(residual)})"


def term(kind: str, residual: str) -> str:
    """The term of the loss of one number."""
    each = _EACH[kind]
    return f"{each}({_bare(residual)})" if each else residual


def weighted(loss: Loss, total: str) -> str:
    """The total times the weight of the loss."""
    return total if loss.weight == 1.0 else f"{loss.weight!r}*{total}"


def _bare(residual: str) -> str:
    return residual[1:-1] if residual.startswith("(") and residual.endswith(")") else residual


def _rows(values: tuple[tuple[float, ...], ...], static: bool) -> str:
    """A vector for each saved time."""
    rows = ",\n    ".join(_row(row, static) for row in values)
    return f"[\n    {rows},\n]"


def _row(values: tuple[float, ...], static: bool) -> str:
    literal = vector(list(values))
    return f"SVector({literal[1:-1]})" if static else literal


def _constant(name: str, values: tuple[float, ...], lines: list[str], static: bool) -> str:
    """A literal if all values are equal, otherwise the name of a constant of the module."""
    if len(set(values)) == 1:
        return repr(values[0])
    lines.append(f"const {name} = {_row(values, static)}")
    return name
