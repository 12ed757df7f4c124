"""A Julia cell as a script: what the package SciMLBench does for it, written out; gradients by ForwardDiff."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sciml_bench.adapters import script
from sciml_bench.adapters.segments import split
from sciml_bench.errors import UsageError
from sciml_bench.record.task import LANDING, Point, Task

# As in julia_env/src/method.jl and cell.jl.
_SOLVERS = {
    "tsit5": ("OrdinaryDiffEqTsit5", "Tsit5"), "vern7": ("OrdinaryDiffEqVerner", "Vern7"),
    "vern9": ("OrdinaryDiffEqVerner", "Vern9"), "rodas5p": ("OrdinaryDiffEqRosenbrock", "Rodas5P"),
    "rosenbrock23": ("OrdinaryDiffEqRosenbrock", "Rosenbrock23"), "kencarp47": ("OrdinaryDiffEqSDIRK", "KenCarp47"),
    "trbdf2": ("OrdinaryDiffEqSDIRK", "TRBDF2"), "fbdf": ("OrdinaryDiffEqBDF", "FBDF"),
    "qndf": ("OrdinaryDiffEqBDF", "QNDF"), "radauiia5": ("OrdinaryDiffEqFIRK", "RadauIIA5"),
}  # fmt: skip
_EXPLICIT = ("tsit5", "vern7", "vern9")
_LARGEST_STATIC_JACOBIAN, _LARGEST_CHUNK = 7, 12
_PER_LINE = 5


def script_of(task: Task, point: Point) -> str:
    """The script of a cell at a tolerance.

    Raises:
        UsageError: there is none for this kind of problem or gradient.
    """
    cell, source = task.cell, task.source
    _refuse(task)
    package, solver = _SOLVERS[cell.method]
    static = cell.framework_mode == "compiled" and "\nfunction rhs(" in source
    static = static and (cell.method in _EXPLICIT or len(task.numbers.y0) <= _LARGEST_STATIC_JACOBIAN)
    model = source.partition("\n\n")[2].strip("\n")
    needed = [
        "DiffResults",
        "ForwardDiff",
        "SciMLBase",
        "StaticArrays",
        package,
        *(["NaNMath"] if "NaNMath" in model else []),
    ]
    parts = [
        f"# {cell.problem}: gradients of its loss with respect to its {_theta(task)}, by {cell.solver}.\n"
        f"# Needs {', '.join(sorted(needed))}.",
        "\n".join(_imports(package, solver, model)),
        "# The model, whose names are its own.",
        "\n\n".join(["module Model", *(["import NaNMath"] if "NaNMath" in model else []), model, "end"]),
        "# Its numbers, and how it is solved.",
        "\n".join(_numbers(task, point, static)),
        _functions(task, solver, static),
        _check(task),
    ]
    return "\n\n".join(parts) + "\n"


def _refuse(task: Task) -> None:
    cell, source = task.cell, task.source
    if cell.sensitivity != "forward" or cell.saving == LANDING or cell.method not in _SOLVERS:
        raise UsageError(f"there are scripts for julia of forward gradients alone yet, not of {cell.solver}")
    for mark, what in (
        ("const GIVEN", "computes something around the solve"),
        ("named(p) = ", "has networks"),
        ("const N_ALGEBRAIC", "has algebraic equations"),
    ):
        if mark in source:
            raise UsageError(f"{cell.problem} {what}, which scripts for julia do not write yet")
    if "const STENCILS = nothing" not in source or task.numbers.batch > 1:
        raise UsageError(f"{cell.problem} has fields or many trajectories, which scripts for julia do not write yet")


def _theta(task: Task) -> str:
    return "parameters" if task.numbers.wrt == "parameters" else "initial values"


def _imports(package: str, solver: str, model: str) -> list[str]:
    base = ["CallbackSet", "ContinuousCallback"] if _has_crossings(model) else []
    return [
        "import DiffResults",
        "import ForwardDiff",
        f"using {package}: {solver}",
        "using LinearAlgebra: norm",
        "using Printf: @printf",
        f"using SciMLBase: {', '.join([*base, 'FullSpecialize', 'ODEFunction', 'ODEProblem', 'solve'])}",
        "using SciMLBase: successful_retcode",
        "using StaticArrays: SVector",
        "using Statistics: median",
    ]


def _has_crossings(model: str) -> bool:
    return "(condition = when__" in model


def _vector(name: str, values: Sequence[float]) -> str:
    texts = [_number(float(value)) for value in values]
    if len(texts) <= _PER_LINE:
        return f"const {name} = Float64[{', '.join(texts)}]"
    rows = [", ".join(texts[k : k + _PER_LINE]) for k in range(0, len(texts), _PER_LINE)]
    return "\n".join([f"const {name} = [", *(f"    {row}," for row in rows), "]"])


def _number(value: float) -> str:
    return repr(value) if math.isfinite(value) else f"{'-' if value < 0 else ''}Inf"


def _numbers(task: Task, point: Point, static: bool) -> list[str]:
    values = task.numbers
    scale = values.atol_scale[: values.n_states]
    lines = [_vector("P", values.p), _vector("Y0", values.y0), f"const RTOL = {point.rtol!r}", _vector("SCALE", scale)]
    atol = f"{point.atol!r}*" + ("SVector{Model.N_STATES}(SCALE)" if static else "SCALE")
    # RadauIIA5 takes one number for vectors that are written into.
    one = len(set(scale)) == 1 or (task.cell.method == "radauiia5" and not static)
    lines.append(f"const ATOL = {f'{point.atol!r}*minimum(SCALE)' if one else atol}")
    lines += [
        "# Start, end, bounds of t and times of each smooth part, and the number of saved times.",
        "const PARTS = [",
    ]
    for part in split(values):
        times = ", ".join(map(_number, part.times))
        numbers = ", ".join(map(_number, (part.start, part.end, part.low, part.high)))
        lines.append(f"    ({numbers}, [{times}], {part.n_saved}),")
    return [*lines, "]"]


_CALLBACK = """\
function watching(event)
    condition(y, t, integrator) = event.condition(y, integrator.p, t)
    function happens!(integrator)
        new = event.reset(integrator.u, integrator.p, integrator.t)
        CHANGE
        return nothing
    end
    rises, falls = event.direction < 0 ? nothing : happens!, event.direction > 0 ? nothing : happens!
    return ContinuousCallback(condition, rises, falls; save_positions = (false, false))
end

const CALLBACK = CallbackSet(map(watching, filter(event -> event.condition !== nothing, Model.EVENTS))...)

"""
_SCHEDULED = """\
        for event in Model.EVENTS
            stop in event.times && (y = STATE(event.reset(y, p, stop)))
        end
"""
_SOLVED = """\
\"\"\"The states at the saved times.\"\"\"
function solved(y0, p)
    T = promote_type(eltype(y0), eltype(p))
    y, saved = STATE(T.(y0)), []
    for (start, stop, low, high, times, n_saved) in PARTS
        RHS
        problem = ODEProblem(ODEFunction{INPLACE, FullSpecialize}(f), y, (start, stop), p)
        solution = solve(
            problem, SOLVER();
            reltol = RTOL, abstol = ATOL, saveat = times, save_everystep = false, maxiters = 10^6,CALLED
        )
        successful_retcode(solution) || error("the solve failed: $(solution.retcode)")
        append!(saved, solution.u[1:n_saved])
        y = solution.u[end]
SCHEDULED    end
    return identity.(saved)
end

"""
_GRADIENT = """\
loss_of(theta) = Model.loss(solved(STARTS))

\"\"\"The loss at theta, and its gradient.\"\"\"
function value_and_gradient(theta)
    at = FORM(theta)
    result = ForwardDiff.gradient!(DiffResults.GradientResult(at), loss_of, at)
    return DiffResults.value(result), collect(DiffResults.gradient(result))
end
"""


def _functions(task: Task, solver: str, static: bool) -> str:
    has_events = "const EVENTS" in task.source
    parameters, n_theta = task.numbers.wrt == "parameters", len(task.numbers.theta)
    clipped = any(part.clipped for part in split(task.numbers))
    t = "clamp(t, low, high)" if clipped else "t"
    rhs = f"f = (y, p, t) -> Model.rhs(y, p, {t})" if static else f"f = (dy, y, p, t) -> Model.rhs!(dy, y, p, {t})"
    crossing = _has_crossings(task.source)
    scheduled = has_events and any(line.strip().startswith("(condition = nothing") for line in task.source.splitlines())
    text = (_CALLBACK if crossing else "") + _SOLVED + _GRADIENT
    return (
        text.replace("CHANGE", "integrator.u = convert(typeof(integrator.u), new)" if static else "integrator.u .= new")
        .replace("SCHEDULED", _SCHEDULED if scheduled else "")
        .replace("CALLED", " callback = CALLBACK," if crossing else "")
        .replace("INPLACE", "false" if static else "true")
        .replace("RHS", rhs)
        .replace("SOLVER", solver)
        .replace("STATE", "SVector{Model.N_STATES}" if static else "collect")
        .replace("STARTS", "Y0, theta" if parameters else "theta, P")
        .replace("FORM", f"SVector{{{n_theta}}}" if static and n_theta <= _LARGEST_CHUNK else "collect")
        .rstrip("\n")
    )


def _check(task: Task) -> str:
    """The printing part: the loss, the gradient, the time of a call, and the error against the reference."""
    reference = task.reference
    gradient, places, sizes = script.known_gradient(task)
    certain = [place + 1 for place in places]
    at = "[CERTAIN]" if len(certain) < len(gradient) else ""
    theta = "P" if task.numbers.wrt == "parameters" else "Y0"
    lines = [
        f"value, slopes = value_and_gradient({theta})",
        "times = Float64[]",
        "while length(times) < 20 || (sum(times) < 1 && length(times) < 1000)",
        f"    theta = {theta}*(1 + 1e-6*length(times))",
        "    push!(times, @elapsed value_and_gradient(theta))",
        "end",
        '@printf("loss %.12g\\n", value)',
        'println("gradient ", slopes)',
        '@printf("%.3g ms per gradient\\n", 1e3*median(times))',
    ]
    if certain and reference is not None:
        lines[:0] = [
            f"# The {reference.kind} gradient, and the sizes of the quantities it is taken with respect to.",
            _vector("REFERENCE", gradient),
            _vector("SIZES", sizes),
            *([f"const CERTAIN = {certain}  # the components that the reference has"] if at else []),
            "",
        ]
        lines += [
            f"error_ = norm((SIZES .* (slopes .- REFERENCE)){at})/norm((SIZES .* REFERENCE){at})",
            '@printf("relative error of the gradient %.1e\\n", error_)',
        ]
    return "\n".join(lines)
