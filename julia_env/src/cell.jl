"""
Systems of up to this number of states are solved as static vectors by implicit methods. Of dual numbers the unrolled
factorisations of larger Jacobians take minutes to compile and gain nothing: with five states and nine parameters a
gradient is 1.6 times as fast as in place and its first call twice as long, with eight and ten it is as fast and the first
call 3.4 times as long. Explicit methods take what the emitter wrote as static.
"""
const LARGEST_STATIC_JACOBIAN = 7

const EXPLICIT = ("tsit5", "vern7", "vern9")

"""States and parameters are static vectors, and the right-hand side gives one."""
struct Static{N, P} end

"""States and parameters are vectors, and the right-hand side writes into one."""
struct InPlace end

"""States and parameters are vectors, and the right-hand side gives a new one."""
struct OutOfPlace end

states(::Static{N, P}, y) where {N, P} = SVector{N}(y)
states(_, y) = y
parameters(::Static{N, P}, p) where {N, P} = SVector{P}(p)
parameters(form::Named, p::Vector) = form.named(p)
parameters(_, p) = p

"""
One cell, built.

`theta`, with respect to which gradients are taken, is the parameters or, if `of_parameters` is `Val(false)`, the initial
state. `order` is that of its numbers, see [`places`](@ref). Of a batch, whose size is in `batch`, `y0` holds a state for
each trajectory, and so `theta` where it is the initial state; `counts` has an element for each. `scale` times the
absolute tolerance is that of each state; a number where all are equal. Where the initial states are computed `around` says
how, and `y0` holds zeros. `segments` are those of all trajectories, or see [`segments_of`](@ref); `adjoint_segments` are
those of the solve that an adjoint goes back through, as is `adjoint_algorithm`. `events` are an [`Events`](@ref) or
`nothing`, and `options` what each solve takes besides.
"""
struct Cell{F, S, G, L, R, A, J, D, W, B, Y, P, X, O, E, K}
    form::F
    segments::S
    adjoint_segments::G
    loss::L
    around::R
    algorithm::A
    adjoint_algorithm::J
    sensitivity::D
    of_parameters::W
    batch::B
    y0::Y
    p::P
    scale::X
    order::O
    events::E
    options::K
    counts::Vector{Counts}
    trajectory::Base.RefValue{Int}
end

"""
    build(source, method, sensitivity, mode, wrt, y0, p, atol_scale, spans, times, lands = false)

Build a cell from emitted source. A longer `y0` than the equations have states holds those of a batch. `spans` has a row
for each segment: start, stop, the bounds of `t`, and how many of its times are saved ones; `times` are all segments'
times, among them their stops. If it `lands`, steps of solves and forward sensitivities end at all of them.
"""
function build(source, method, sensitivity_name, mode, wrt, y0, p, atol_scale, spans, times, lands = false)
    collect_warnings()
    emitted = written(equations(source), method, sensitivity_name)
    form = chosen_form(emitted, method, sensitivity_name, mode)
    pattern = form isa InPlace ? prototype(emitted.stencils, emitted.n_states) : nothing
    solvers = (algorithm(method, pattern), algorithm(method, pattern, sensitivity_name))
    how = sensitivity(sensitivity_name, emitted.has_branches, form)
    divided = emitted.events === nothing ? division(sensitivity_name, method) : identity
    # The packages above were loaded after this method was compiled.
    numbers = (y0, p, atol_scale, spans, times)
    return Base.invokelatest(assemble, emitted, form, pattern, divided, solvers, how, wrt, numbers, Val(lands))
end

# Solvers that take a singular mass matrix, by OrdinaryDiffEq's list. Rosenbrock23 takes no absolute tolerance of each state
# beside it.
const WITH_MASS_MATRIX = ("rodas5p", "fbdf", "qndf", "radauiia5")

"""The equations as a method takes them: with algebraic ones where it can, else what follows from them for derivatives."""
function written(emitted::Equations, method, sensitivity_name)
    emitted.dae === nothing && return emitted
    return method in WITH_MASS_MATRIX && sensitivity_name == "forward" ? emitted.dae : emitted
end

"""
How the segments of a solve are divided for a gradient whose adjoint takes its integral by a quadrature. What an explicit
method solves has no layers to resolve.
"""
function division(sensitivity_name, method)
    method in EXPLICIT && return identity
    startswith(sensitivity_name, "quadrature-") && return segments -> cut(segments, breaks)
    by_gauss = sensitivity_name == "enzyme" || startswith(sensitivity_name, "gauss-")
    return by_gauss ? segments -> cut(segments, _ -> nothing) : identity
end

function chosen_form(emitted::Equations, method, sensitivity_name, mode)
    if emitted.named !== nothing
        mode == "compiled" && return Named(emitted.named)
        throw(Failure("unsupported", "it gives new arrays; there is no right-hand side that writes into one"))
    end
    if needs_out_of_place(sensitivity_name)
        emitted.out_of_place === nothing &&
            throw(Failure("unsupported", "ZygoteVJP differentiates no right-hand side that writes into arrays"))
        return OutOfPlace()
    end
    recommended = mode == "compiled" && sensitivity_name == "forward" && emitted.out_of_place !== nothing
    small = method in EXPLICIT || emitted.n_states <= LARGEST_STATIC_JACOBIAN
    recommended && small && method != "cvode_bdf" && return Static{emitted.n_states, emitted.n_parameters}()
    return InPlace()
end

function assemble(emitted, form, pattern, divided, solvers, how, wrt, numbers, lands)
    y0, p, atol_scale, spans, times = numbers
    of_parameters = wrt == "parameters"
    order = places(form, length(p))
    values = parameters(form, arranged(order, collect(Float64, p)))
    batch = length(y0) ÷ emitted.n_states
    starts = split_states(Val(batch), form, collect(Float64, y0))
    first_start = batch == 1 ? starts : starts[1]
    equation, initial = (form, emitted, pattern), (first_start, values)
    of_solves = segments(equation, initial, collect(Float64, spans), collect(Float64, times), lands)
    watched = events(emitted.events, Val(form isa InPlace), how)
    # Initial values are consistent.
    consistent = emitted.n_algebraic == 0 ? (;) : (; initializealg = NoInit())
    return Cell(
        form,
        of_solves,
        divided(of_solves),
        emitted.loss,
        around(emitted),
        solvers...,
        how,
        Val(of_parameters),
        Val(batch),
        starts,
        values,
        tolerance_scale(first(solvers), form, collect(Float64, atol_scale)[1:emitted.n_states]),
        of_parameters ? order : nothing,
        watched,
        (; watching(watched)..., consistent...),
        [Counts() for _ in 1:batch],
        Ref(1),
    )
end

"""The initial states in a flat vector: one state, or of a batch a vector of them."""
split_states(::Val{1}, form, y) = states(form, y)
function split_states(::Val{B}, form, y) where {B}
    n_states = length(y) ÷ B
    return [states(form, y[((i - 1) * n_states + 1):(i * n_states)]) for i in 1:B]
end

function tolerance_scale(solver, form, each)
    allequal(each) && return first(each)
    # In place RadauIIA5 takes one number; given vectors of both tolerances it solves, but no dual numbers pass.
    nameof(typeof(solver)) === :RadauIIA5 && form isa InPlace && return minimum(each)
    return states(form, each)
end

function segments(equation, (y0, p), spans, times, lands)
    _, emitted, _ = equation
    if emitted.controls !== nothing
        return map(emitted.given) do given
            along(span, bounds) = ODEFunction{false, FullSpecialize}(driven(emitted, given, span, bounds))
            segments(along, (y0, p), spans, times, lands)
        end
    end
    of_all(_, bounds) = right_hand_side(equation..., bounds...)
    found = segments(of_all, (y0, p), spans, times, lands)
    # Scheduled events make many segments, all of one type.
    return emitted.events === nothing ? Tuple(found) : found
end

function segments(make::Function, (y0, p), spans, times, lands)
    return map(eachrow(spans)) do (start, stop, low, high, n_saved)
        problem = ODEProblem(make((start, stop), (low, high)), y0, (start, stop), p)
        inside = filter(time -> start < time <= stop, times)
        Segment(problem, inside, Int(n_saved), nothing, lands)
    end
end

function right_hand_side(::Static{N}, emitted, pattern, low, high) where {N}
    made = bounded(emitted, emitted.out_of_place, low, high)
    return ODEFunction{false, FullSpecialize}(made; mass_matrix(emitted, SMatrix{N, N})...)
end

function right_hand_side(::InPlace, emitted, pattern, low, high)
    made = bounded(emitted, emitted.in_place, low, high)
    return ODEFunction{true, FullSpecialize}(made; jac_prototype = pattern, mass_matrix(emitted, identity)...)
end

function right_hand_side(::Named, emitted, pattern, low, high)
    return ODEFunction{false, FullSpecialize}(bounded(emitted, emitted.out_of_place, low, high))
end

function right_hand_side(::OutOfPlace, emitted, pattern, low, high)
    static = emitted.out_of_place
    return ODEFunction{false, FullSpecialize}(bounded(emitted, (y, p, t) -> Vector(static(y, p, t)), low, high))
end

"""A right-hand side within the bounds of a segment; with events the segments are all of one type."""
function bounded(emitted, right_hand_side, low, high)
    emitted.events === nothing && return clipped(right_hand_side, low, high)
    return Clipped(right_hand_side, low, high)
end

"""Ones for derivatives and zeros for algebraic equations; nothing where there are none."""
function mass_matrix(emitted, form)
    emitted.n_algebraic == 0 && return (;)
    diagonal = [Float64(i <= emitted.n_states - emitted.n_algebraic) for i in 1:(emitted.n_states)]
    return (; mass_matrix = form(LinearAlgebra.Diagonal(diagonal)))
end
