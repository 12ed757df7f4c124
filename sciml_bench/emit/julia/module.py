"""Problem to Julia: the text of a module with ``rhs!``, for small systems ``rhs``, and ``loss``."""

from __future__ import annotations

from collections.abc import Sequence

import sympy

from sciml_bench.emit.context import Context
from sciml_bench.emit.julia.array_form import array_function
from sciml_bench.emit.julia.constants import constant_lines
from sciml_bench.emit.julia.events import event_functions
from sciml_bench.emit.julia.field import field_function
from sciml_bench.emit.julia.latent import latent_sources
from sciml_bench.emit.julia.loss import loss_source, stacked_loss_source
from sciml_bench.emit.julia.network import network_imports, network_sources
from sciml_bench.emit.julia.scalar_function import giving, writing
from sciml_bench.emit.julia.stencil import stencils, wraps
from sciml_bench.emit.targets import TARGETS
from sciml_bench.spec.language.operators import Node, TridiagonalSolve, Where
from sciml_bench.spec.model import Problem

LARGEST_STATIC = 20
"""StaticArrays' own advice is to stay below a hundred elements in all; a Jacobian of 20 has 400, and compiles long."""

_SOLVE_TRIDIAGONAL = """\
function solve_tridiagonal!(b, lower, diagonal, upper)
    n = length(b)
    @inbounds for i in 2:n
        factor = lower[i]/diagonal[i - 1]
        diagonal[i] -= factor*upper[i - 1]
        b[i] -= factor*b[i - 1]
    end
    @inbounds b[n] /= diagonal[n]
    @inbounds for i in (n - 1):-1:1
        b[i] = (b[i] - upper[i]*b[i + 1])/diagonal[i]
    end
    return b
end
"""


def is_static(problem: Problem) -> bool:
    """Return whether the problem is small enough for static arrays, and written in scalars."""
    return problem.all_scalar and not is_named(problem) and problem.n_states <= LARGEST_STATIC


def is_named(problem: Problem) -> bool:
    """Return whether the parameters are one ``ComponentVector`` whose parts have names."""
    return bool(problem.networks) or problem.latent


def julia_source(problem: Problem) -> str:
    """The module that a Julia worker evaluates.

    ``rhs!(dy, y, p, t)`` writes the right-hand side into ``dy``; small systems of scalars also have ``rhs(y, p, t)``,
    which gives it as a static vector. ``loss(ys)`` takes the states at the saved times. ``STENCILS`` holds the
    structure of a sparse Jacobian, and ``HAS_BRANCHES`` says whether the code branches on values. ``dae!`` and ``dae``
    have the residuals of the algebraic equations in the place of the derivatives of the last ``N_ALGEBRAIC`` states.
    ``EVENTS`` is described in :mod:`.events`.

    Of a problem with networks there is ``rhs(y, p, t)`` alone, which gives a vector; its ``p`` is what ``named`` makes
    of a flat vector, a ``ComponentVector``. Of a batch the functions are those of one trajectory. So are those of a
    problem that computes something around its solve, which also has ``initial_state`` and a loss of more arguments, see
    :mod:`.latent`.

    Raises:
        UsageError: the problem has networks or computes something around its solve, and has operators that no array
            operation of Julia stands for.
    """
    context = Context.of(problem, TARGETS["julia"])
    if is_named(problem):
        return _named_module(context)
    functions: list[str] = []
    if problem.all_scalar:
        functions += _right_hand_sides(context, "rhs", list(problem.equations.values()))
        if problem.algebraic:
            functions += _right_hand_sides(context, "dae", _with_residuals(problem))
        functions += event_functions(context, static=is_static(problem))
    else:
        functions.append(field_function(context))
    functions.append(loss_source(problem.loss, is_static(problem)))
    if any(expr.atoms(TridiagonalSolve) for expr in context.all_expressions()):
        functions.insert(0, _SOLVE_TRIDIAGONAL)
    if len(problem.grid_shape) == 2:
        functions.insert(0, f"@inline at(i, j) = {problem.grid_shape[1]}*(i - 1) + j\n")
    # The header comes last: the functions above have said which constants they need.
    return "\n".join([_header(context, functions), *functions])


def _right_hand_sides(context: Context, name: str, expressions: Sequence[Node]) -> list[str]:
    in_place = writing(context, f"{name}!", expressions)
    return [giving(context, name, expressions, static=True), in_place] if is_static(context.problem) else [in_place]


def _with_residuals(problem: Problem) -> list[Node]:
    residuals = list(problem.algebraic.values())
    return [*list(problem.equations.values())[: problem.n_states - len(residuals)], *residuals]


def _named_module(context: Context) -> str:
    problem = context.problem
    function, constants = array_function(context)
    around = latent_sources(context) if problem.latent else [stacked_loss_source(problem.loss)]
    functions = [*network_sources(context), function, *event_functions(context, static=False), *around]
    lines = [*_title(problem), *network_imports(context)]
    if any("NaNMath." in text for text in functions):
        lines.insert(2, "import NaNMath")
    lines += ["", *_facts(context), "const STENCILS = nothing", *constants]
    return "\n".join(["\n".join(lines) + "\n", *functions])


def _title(problem: Problem) -> list[str]:
    return [f"# {problem.name} for Julia, emitted from its neutral spec {problem.spec_hash[:12]}.", ""]


def _facts(context: Context) -> list[str]:
    # A path's right-hand side sees t as it is unless something in it may jump.
    jumps = (Where, sympy.sign, sympy.Abs) if context.problem.controls else (Where,)
    branches = any(expr.atoms(*jumps) for expr in context.all_expressions())
    return [
        f"const N_STATES = {context.problem.n_states}",
        f"const N_PARAMETERS = {context.problem.n_parameters}",
        f"const HAS_BRANCHES = {str(branches).lower()}",
    ]


def _header(context: Context, functions: list[str]) -> str:
    problem = context.problem
    lines = _title(problem)
    if any("NaNMath." in function for function in functions):
        lines.append("import NaNMath")
    if is_static(problem):
        lines.append("using StaticArrays: SVector")
    lines += [
        *([""] if lines[-1] else []),
        *_facts(context),
        *([f"const N_ALGEBRAIC = {len(problem.algebraic)}"] if problem.algebraic else []),
        *_structure(problem),
        *constant_lines(context),
    ]
    return "\n".join(lines) + "\n"


def _structure(problem: Problem) -> list[str]:
    """Rows of the first state's equations read ``column`` and so on: see ``stencil``."""
    found = stencils(problem)
    if not found:
        return ["const STENCILS = nothing"]
    shape = problem.states[0].shape
    rows = [
        f"    (row = {s.row}, column = {s.column}, offsets = [{', '.join(map(_tuple, s.offsets))}])," for s in found
    ]
    wrapped = _tuple(tuple(str(wrap).lower() for wrap in wraps(problem)))
    return [
        "# Which elements of the state the equations read, as places on the grid: the structure of the Jacobian.",
        f"const STENCILS = (shape = {_tuple(shape)}, wraps = {wrapped}, blocks = [",
        *rows,
        "])",
    ]


def _tuple(values: tuple[object, ...]) -> str:
    return f"({', '.join(map(str, values))},)" if len(values) == 1 else f"({', '.join(map(str, values))})"
