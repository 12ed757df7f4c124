"""Source of the array operators that a problem uses, specialised to its grid and printed for a target.

Every operator is one or a few array operations. ``{cat}`` is replaced by the target's concatenation along an axis.
"""

from __future__ import annotations

from collections.abc import Iterable

from sciml_bench.spec.language.operators import (
    MIRRORED,
    PERIODIC,
    Difference,
    Laplacian,
    Node,
    Shift,
    TridiagonalSolve,
)
from sciml_bench.spec.model import to_double
from sciml_bench.spec.quantities import Grid

_CONCATENATE = {
    "numpy": "np.concatenate(({}), axis={})",
    "jax": "jnp.concatenate(({}), axis={})",
    "torch": "torch.cat(({}), dim={})",
    "tensorflow": "tf.concat(({}), axis={})",
}
_FULL_LIKE = {
    "numpy": "np.full_like({0}, {1})",
    "jax": "jnp.full_like({0}, {1})",
    "torch": "({1}).expand({0}.shape)",
    "tensorflow": "tf.fill(tf.shape({0}), {1})",
}
_TRIDIAGONAL = {
    "numpy": """\
def solve_tridiagonal(lower, diagonal, upper, b):
    bands = np.array([np.append(0.0, upper[:-1]), diagonal, np.append(lower[1:], 0.0)])
    return solve_banded((1, 1), bands, b, check_finite=False)
""",
    "jax": """\
def solve_tridiagonal(lower, diagonal, upper, b):
    lower, upper = lower.at[0].set(0.0), upper.at[-1].set(0.0)
    return tridiagonal_solve(lower, diagonal, upper, b[:, None])[:, 0]
""",
    "torch": """\
def solve_tridiagonal(lower, diagonal, upper, b):
    matrix = torch.diag(diagonal) + torch.diag(lower[1:], -1) + torch.diag(upper[:-1], 1)
    return torch.linalg.solve(matrix, b)
""",
    "tensorflow": """\
def solve_tridiagonal(lower, diagonal, upper, b):
    return tf.linalg.tridiagonal_solve((upper, diagonal, lower), b, diagonals_format="sequence")
""",
}
TRIDIAGONAL_IMPORTS = {
    "numpy": "from scipy.linalg import solve_banded",
    "jax": "from jax.lax.linalg import tridiagonal_solve",
}


def operator_sources(expressions: Iterable[Node], grids: tuple[Grid, ...], target: str) -> list[str]:
    """Function definitions for all operators that occur in the expressions, each once."""
    found: dict[str, str] = {}
    for expression in expressions:
        for node in expression.atoms(Laplacian, Difference, Shift, TridiagonalSolve):
            name, text = _source(node, grids, target)
            found[name] = text
    return [found[name] for name in sorted(found)]


AS_MATRIX = {
    False: '''\
def as_matrix(operator, shape):
    """The matrix of a linear array operator, column by column."""
    size = math.prod(shape)
    return np.stack([operator(unit.reshape(shape)).ravel() for unit in np.eye(size)], axis=1)
''',
    True: '''\
def as_matrix(operator, shape):
    """The sparse matrix of a linear array operator, column by column."""
    size = math.prod(shape)
    columns = [sparse.csc_array(operator(unit.reshape(shape)).reshape(-1, 1)) for unit in np.eye(size)]
    return sparse.hstack(columns, format="csr")
''',
}
AS_TENSOR = '''\
def as_matrix(operator, shape):
    """The matrix of a linear array operator, column by column."""
    units = torch.eye(int(np.prod(shape)), dtype=torch.float64)
    return torch.stack([operator(unit.reshape(shape)).reshape(-1) for unit in units], dim=1)
'''
SPREAD = '''\
def spread(pairs, table):
    """The square matrix whose row i holds the pairs of row i in the columns that the table names."""
    n = table.shape[0]
    matrix = np.zeros((n, n))
    np.put_along_axis(matrix, table, np.broadcast_to(pairs, table.shape), axis=1)
    return matrix
'''


_NUMBERS = {
    "numpy": ("np.zeros({0})", "0.0", "1.0"),
    "torch": (
        "torch.zeros({0}, dtype=torch.float64)",
        "torch.zeros((), dtype=torch.float64)",
        "torch.ones((), dtype=torch.float64)",
    ),
}


def matrix_source(
    node: Node, shape: tuple[int, ...], target: str
) -> tuple[tuple[str, str], list[tuple[str, str, Node]]]:
    """A linear operator on arrays of this shape: its matrix, and the columns that the values outside are multiplied by.

    The matrix is a name and a definition; each column is too, a flat array, with the value that belongs to it.
    """
    name, call = _matrix_name(node), _call(node)
    nothing, zero, one = _NUMBERS[target]
    edges = [edge for edge in _edges(node) if edge not in (PERIODIC, MIRRORED)]
    columns: list[tuple[str, str, Node]] = []
    for i, edge in enumerate(edges):
        values = [one if k == i else zero for k in range(len(edges))]
        column = f"OUTSIDE_{i}_{name}" if len(edges) > 1 else f"OUTSIDE_{name}"
        columns.append((column, f"{call.format(nothing.format(shape), *values)}.reshape(-1)", edge))
    return (name, f"as_matrix(lambda u: {call.format('u', *[zero] * len(edges))}, {shape})"), columns


def _matrix_name(node: Node) -> str:
    places = f"_{int(node.args[1])}".replace("-", "minus_") if isinstance(node, Shift) else ""
    return f"{_call(node).split('(')[0].upper()}{places}"


def _edges(node: Node) -> tuple[Node, ...]:
    return node.args[1:] if isinstance(node, Laplacian) else node.args[-1:]


def _call(node: Node) -> str:
    match node:
        case Laplacian():
            edges = sum(edge not in (PERIODIC, MIRRORED) for edge in node.args[1:])
            return f"laplacian({', '.join(['{0}', '{1}', '{2}'][: 1 + edges])})"
        case Difference():
            filled = node.args[2] not in (PERIODIC, MIRRORED)
            return f"gradient__{int(node.args[1])}({'{0}, {1}' if filled else '{0}'})"
        case _:
            edge = node.args[3]
            kind = "wrapped" if edge == PERIODIC else "mirrored" if edge == MIRRORED else "filled"
            name = f"shift__{kind}" if int(node.args[2]) == 0 else f"shift__{kind}_1"
            return f"{name}({{0}}, {int(node.args[1])}{', {1}' if kind == 'filled' else ''})"


def _source(node: Node, grids: tuple[Grid, ...], target: str) -> tuple[str, str]:
    match node:
        case Laplacian():
            return "laplacian", _laplacian(node.args[1:], grids, target)
        case Difference():
            axis = int(node.args[1])
            return f"gradient__{axis}", _gradient(axis, node.args[2], grids, target)
        case Shift():
            return _shift(int(node.args[2]), node.args[3], target)
        case _:
            return "solve_tridiagonal", _TRIDIAGONAL[target]


def _slice(axis: int, text: str) -> str:
    return f"[{text}]" if axis == 0 else f"[:, {text}]"


def _padded(u: str, axis: int, edge: Node, target: str, outside: str) -> str:
    """The array with one more value at either end of an axis."""
    first, last = f"{u}{_slice(axis, ':1')}", f"{u}{_slice(axis, '-1:')}"
    if edge == PERIODIC:
        before, after = last, first
    elif edge == MIRRORED:
        before, after = first, last
    else:
        before = after = _FULL_LIKE[target].format(first, outside)
    return _CONCATENATE[target].format(f"{before}, {u}, {after}", axis)


def _neighbours(name: str, axis: int, edge: Node, target: str, outside: str) -> tuple[list[str], str, str]:
    """Lines that come first, and the arrays of each value's left and right neighbours."""
    if edge == PERIODIC and target == "tensorflow":
        # Along many directions at once XLA makes one loop of them, and five of slices that are joined.
        return [], f"tf.roll(u, 1, {axis})", f"tf.roll(u, -1, {axis})"
    line = f"    {name} = {_padded('u', axis, edge, target, outside)}"
    return [line], f"{name}{_slice(axis, ':-2')}", f"{name}{_slice(axis, '2:')}"


def _parameters(edges: tuple[Node, ...]) -> list[str]:
    inner = [edge not in (PERIODIC, MIRRORED) for edge in edges]
    return [f"outside_{axis}" if filled else "" for axis, filled in enumerate(inner)]


def _laplacian(edges: tuple[Node, ...], grids: tuple[Grid, ...], target: str) -> str:
    outside = _parameters(edges)
    lines = [f"def laplacian({', '.join(['u', *filter(None, outside)])}):"]
    terms: list[str] = []
    for axis, (edge, grid) in enumerate(zip(edges, grids, strict=True)):
        factor = to_double(1 / grid.step**2)
        first, left, right = _neighbours(f"padded_{grid.name}", axis, edge, target, outside[axis])
        lines += first
        terms.append(f"{factor!r}*({left} - 2*u + {right})")
    return "\n".join([*lines, f"    return {' + '.join(terms)}", ""])


def _gradient(axis: int, edge: Node, grids: tuple[Grid, ...], target: str) -> str:
    outside = "outside" if edge not in (PERIODIC, MIRRORED) else ""
    factor = to_double(1 / (2 * grids[axis].step))
    first, left, right = _neighbours("padded", axis, edge, target, outside)
    head = f"def gradient__{axis}({', '.join(filter(None, ['u', outside]))}):"
    return "\n".join([head, *first, f"    return {factor!r}*({right} - {left})", ""])


def _shift(axis: int, edge: Node, target: str) -> tuple[str, str]:
    kind = "wrapped" if edge == PERIODIC else "mirrored" if edge == MIRRORED else "filled"
    name = f"shift__{kind}" if axis == 0 else f"shift__{kind}_1"
    join = _CONCATENATE[target]
    forward, backward = _slice(axis, "k:"), _slice(axis, ":k")
    if kind == "wrapped":
        body = [f"    return {join.format(f'u{forward}, u{backward}', axis)}"]
        return name, "\n".join([f"def {name}(u, k):", *body, ""])
    signature = f"def {name}(u, k{', outside' if kind == 'filled' else ''}):"
    ahead_slice, behind_slice = _slice(axis, ":k"), _slice(axis, "k:")
    if kind == "filled":
        ahead = _FULL_LIKE[target].format(f"u{ahead_slice}", "outside")
        behind = _FULL_LIKE[target].format(f"u{behind_slice}", "outside")
    else:
        last, first = _slice(axis, "-1:"), _slice(axis, ":1")
        ahead = join.format(f"*(u{last},)*k,", axis)
        behind = join.format(f"*(u{first},)*(-k),", axis)
    return name, "\n".join([
        signature,
        "    if k > 0:",
        f"        return {join.format(f'u{forward}, {ahead}', axis)}",
        f"    return {join.format(f'{behind}, u{backward}', axis)}",
        "",
    ])  # fmt: skip
