"""Problem to readable source text: a Python module with ``rhs`` and ``loss`` in a target's own arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sciml_bench.emit.arrays.field_matrix import field_right_hand_side, has_field_matrix
from sciml_bench.emit.arrays.numpy_jacobian import array_jacobian_source
from sciml_bench.emit.arrays.scalar_jacobian import scalar_jacobian_source
from sciml_bench.emit.arrays.scalar_problems import has_arrays, right_hand_side
from sciml_bench.emit.arrays.vector_writer import vector_right_hand_side
from sciml_bench.emit.context import Context
from sciml_bench.emit.controls import diffusion_source
from sciml_bench.emit.diffsl import diffsl_functions
from sciml_bench.emit.events import TARGETS as EVENT_TARGETS
from sciml_bench.emit.events import event_sources
from sciml_bench.emit.in_place import in_place_function
from sciml_bench.emit.invariants import as_definitions, invariants_function
from sciml_bench.emit.julia import julia_source
from sciml_bench.emit.latent import latent_sources
from sciml_bench.emit.loss import loss_source
from sciml_bench.emit.networks import IMPORTS, network_arguments, network_sources
from sciml_bench.emit.numba.scalars import numba_functions, refuse_arrays
from sciml_bench.emit.operators import TRIDIAGONAL_IMPORTS, operator_sources
from sciml_bench.emit.symbolic.elementary import in_elementary_functions
from sciml_bench.emit.symbolic.statements import straight_line
from sciml_bench.emit.targets import TARGETS
from sciml_bench.emit.values import values_function
from sciml_bench.errors import UsageError
from sciml_bench.spec.language.noise import parts
from sciml_bench.spec.language.operators import Node, TridiagonalSolve
from sciml_bench.spec.model import Problem, symbol

# Targets whose scalar problems may be written as vectors; PyTorch's are with ``prepared``.
VECTOR_TARGETS = ("numpy", "jax")

# Frameworks that have implicit-explicit methods.
SPLIT_TARGETS = ("jax",)

# Targets with code of flat arrays only; Numba's code has loops over the points of others.
NUMBER_BY_NUMBER: Mapping[str, Callable[[Context], list[str]]] = {
    "numba": numba_functions,
    "python": lambda context: [in_place_function(context)],
    "casadi": lambda context: _casadi_functions(context),
    "diffsl": diffsl_functions,
}


def source(problem: Problem, target: str, *, gradients: bool = True) -> str:
    """The module that a worker runs.

    ``rhs(t, y, p)`` maps the flat state (n_states,) and the flat parameters (n_parameters,) to dy/dt (n_states,);
    ``loss(ys)`` maps states at the saved times (n_times, n_states) to a number. Of a batch, PyTorch's and TensorFlow's
    take y of shape (batch, n_states) and ys of shape (n_times, batch, n_states). Modules of problems that compute
    something around the solve have ``initial_state`` too, and a loss of more arguments, see :mod:`.latent`. NumPy
    modules also have ``jacobian(t, y, p)`` (n_states, n_states), ``parameter_jacobian(t, y, p)`` (n_states,
    n_parameters) and ``loss_gradient(ys)`` (n_times, n_states). Those of scalar problems give the right-hand side as a
    tuple of numbers, tell in ``ENTRIES`` the rows and columns where their Jacobian is not always zero, and have, in
    small systems, ``augmented(t, y, p)``, the same for the states followed by their sensitivities, with
    ``augmented_jacobian(t, y, p)``; in larger ones ``linearised(t, y, p)``, which gives at once the right-hand side and
    both Jacobians transposed, the second ``None`` without parameters, and ``second_derivatives(t, y, p)``. TensorFlow
    modules of scalar problems have ``jacobian``; JAX modules of problems with a split have ``explicit_terms(t, y, p)``
    and ``implicit_terms(t, y, p)``, whose sum is ``rhs``, and those of stochastic equations ``drift`` and
    ``diffusion``, see :mod:`.controls`. Numba's have functions that write into an array, see :mod:`.numba.scalars`:
    ``derivative(t, y, dy, p)``, ``jacobian``, ``augmented`` and ``augmented_jacobian``, or of vectors and fields those
    of :mod:`.numba.fields`; plain Python's have ``f(dy, y, p, t)``, in the place of all functions but the loss, and
    DiffSL's a text, see :mod:`.diffsl`. CasADi's take its symbols, and of
    algebraic equations have ``residual(t, y, p)``, which the last states make zero. Julia's is another kind of module:
    :func:`~sciml_bench.emit.julia.julia_source`. Without ``gradients`` NumPy's modules have no derivatives but
    ``jacobian``.

    Raises:
        KeyError: there is no such target.
        UsageError: the target has no way to write the problem.
    """
    problem = in_elementary_functions(problem)
    if problem.events and target not in EVENT_TARGETS:
        raise UsageError(f"events of '{problem.name}' are not emitted for {target}")
    if target == "julia":
        return julia_source(problem)
    if target == "casadi":
        problem = problem.at_numbers
    chosen = TARGETS[target]
    if problem.controls and target != "jax":
        raise UsageError(f"'{problem.name}' is driven by a path, which is emitted for JAX (Diffrax) only")
    if target in NUMBER_BY_NUMBER:
        refuse_arrays(problem, target)
    context = Context.of(problem, chosen.for_batch() if problem.batch.size > 1 else chosen)
    if target in NUMBER_BY_NUMBER:
        written = NUMBER_BY_NUMBER[target](context)
        plain = TARGETS["numpy"]
        around = latent_sources(Context.of(problem, plain)) if problem.latent else [loss_source(problem, plain)]
        functions = [*written, *around]
        return "\n\n".join([_header(context), *functions]).rstrip() + "\n"
    by_arrays = chosen.arrays and has_arrays(problem)
    by_matrix = field_right_hand_side(context) if chosen.arrays and has_field_matrix(problem) else None
    if by_arrays:
        functions = [right_hand_side(context)]
    else:
        functions = [by_matrix or _right_hand_side(context, "rhs", problem.equations)]
    if problem.implicit and target in SPLIT_TARGETS:
        functions.append(_right_hand_side(context, "explicit_terms", problem.explicit))
        functions.append(_right_hand_side(context, "implicit_terms", problem.implicit))
    stochastic = parts(problem)
    if stochastic is not None:
        functions.append(_right_hand_side(context, "drift", stochastic.drift))
        functions.append(diffusion_source(context, stochastic))
    functions += latent_sources(context, gradients) if problem.latent else [loss_source(problem, context.target)]
    if problem.networks:
        functions += network_sources(context)
    elif not chosen.differentiates:
        scalar = problem.all_scalar
        functions.append(scalar_jacobian_source(context, gradients) if scalar else array_jacobian_source(context))
    elif chosen.jacobian and problem.all_scalar and not context.target.batched:
        functions.append(scalar_jacobian_source(context))
    if problem.events:
        functions += event_sources(context)
    # The header comes last: the functions above have said which constants and imports they need.
    return "\n\n".join([_header(context), *_operators(context), *context.matrix_lines(), *functions]).rstrip() + "\n"


def _casadi_functions(context: Context) -> list[str]:
    functions = [_right_hand_side(context, "rhs", context.problem.equations)]
    if context.problem.algebraic:
        functions.append(values_function(context, "residual", list(context.problem.algebraic.values())))
    return functions + (event_sources(context) if context.problem.events else [])


def invariants_source(problem: Problem) -> str:
    """A NumPy module whose ``invariants(t, y, p)`` has the values of the problem's invariants at one state; ``ZERO``
    names the residuals of algebraic equations. Empty without invariants; others are left out if the initial state is
    computed.
    """
    kept = problem.residuals if problem.latent else problem.invariants
    if not kept:
        return ""
    reduced, names = as_definitions(in_elementary_functions(replace(problem, invariants=kept)))
    context = Context.of(reduced, TARGETS["numpy"])
    named = f"INVARIANTS = {tuple(kept)!r}\nZERO = {tuple(problem.residuals)!r}\n"
    functions = [named, invariants_function(context, names), *(network_sources(context) if problem.networks else [])]
    return "\n\n".join([_header(context), *_operators(context), *context.matrix_lines(), *functions]).rstrip() + "\n"


def _header(context: Context) -> str:
    problem = context.problem
    expressions = context.all_expressions()
    imports = list(context.target.imports)
    if context.target.name in TRIDIAGONAL_IMPORTS and any(e.atoms(TridiagonalSolve) for e in expressions):
        imports.append(TRIDIAGONAL_IMPORTS[context.target.name])
    if problem.networks:
        imports = sorted((*imports, *IMPORTS.get(context.target.name, ())), key=lambda line: (line[:4] == "from", line))
    imports += context.extra_imports
    if context.target.mapped and problem.latent:
        recurrent = any(network.recurrent for network in problem.networks)
        more = [
            "import jax",
            *(["import diffrax"] if problem.controls else []),
            *(["from collections.abc import Callable"] if recurrent else []),
        ]
        imports = sorted({*imports, *more}, key=lambda line: (line[:4] == "from", line))
    lines = [
        f'"""{problem.name} for {context.target.name}, emitted from its neutral spec {problem.spec_hash[:12]}."""',
        "",
        *imports,
        "",
        f"N_STATES = {problem.n_states}",
        f"N_PARAMETERS = {problem.n_parameters}",
        *context.constant_lines(),
    ]
    return "\n".join(lines) + "\n"


def _operators(context: Context) -> list[str]:
    return operator_sources(context.all_expressions(), context.problem.grids, context.target.name)


def _right_hand_side(context: Context, name: str, equations: Mapping[str, Node]) -> str:
    """The function of this name whose value is the right-hand sides of these equations."""
    if context.target.name in VECTOR_TARGETS and has_arrays(context.problem) and not context.target.batched:
        by_vectors = vector_right_hand_side(context, name, equations)
        if by_vectors is not None:
            return by_vectors
    named = [(symbol(definition.name), context.resolve(definition.expr)) for definition in context.problem.definitions]
    program = straight_line(named, [context.resolve(expr) for expr in equations.values()]).needed()
    context.declare_tables(program.pair_tables)
    used = program.symbols
    taken = [
        *network_arguments(context),
        *(context.names[symbol(control.name)] for control in context.problem.controls),
    ]
    lines = [
        f"def {name}({', '.join(['t', 'y', 'p', *taken])}):",
        *context.unpack_parameters(used),
        *context.unpack_state(used),
    ]
    printer = context.printer()
    for statement in program.statements:
        printer.shapes[statement.symbol] = printer.shape(statement.expr)
        code = printer.code(statement.expr)
        lines.append(f"    {printer.code(statement.symbol)} = {code}")
        printer.same_for_all |= {statement.symbol} if statement.expr.free_symbols <= printer.same_for_all else set()
    outputs = dict(zip(context.problem.equations, program.outputs, strict=True))
    lines += context.pack_state(outputs, printer)
    return "\n".join(lines) + "\n"
