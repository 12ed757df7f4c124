"""
What an emitted module holds.

`in_place(dy, y, p, t)` writes the right-hand side; `out_of_place(y, p, t)` gives it as a static vector. Either is
`nothing` where the emitter wrote none. `named` makes the `ComponentVector` of a flat vector of parameters, as equations
with networks take it, whose `out_of_place` gives a vector; else it is `nothing`. `initial_state` and `given`, the data of
each trajectory, are `nothing` unless something is computed around the solve, see [`Around`](@ref). `controls(t, given...)`
is what `out_of_place` takes after t of the paths that drive the equation, on the interval that holds t; `nothing` where
there are none. `stencils` is the structure of a sparse Jacobian or `nothing`. `events` has an entry for each event, see
[`Events`](@ref), or is `nothing`. `dae` are the same equations, in which the last `n_algebraic` are zero along a solution;
`nothing` where all are derivatives by nature.
"""
struct Equations{R, S, M, I, G, C, L, T, E, A}
    in_place::R
    out_of_place::S
    named::M
    initial_state::I
    given::G
    controls::C
    loss::L
    has_branches::Bool
    stencils::T
    n_states::Int
    n_parameters::Int
    n_algebraic::Int
    events::E
    dae::A
end

# What was evaluated in this process, by its source.
const EVALUATED = Dict{String, Equations}()

"""
    equations(source)

Evaluate emitted source inside this package, see [`emitted_module`](@ref). The same source is evaluated once in a process:
its functions, and what Julia has compiled for them, serve every cell that is built of it.
"""
equations(source::AbstractString) = get!(() -> evaluated(source), EVALUATED, String(source))

evaluated(source) = Base.invokelatest(equations, emitted_module(SciMLBench, source))

function equations(emitted::Module)
    n_algebraic = something(optional(emitted, :N_ALGEBRAIC), 0)
    dae = n_algebraic == 0 ? nothing : equations(emitted, :dae!, :dae, n_algebraic, nothing)
    return equations(emitted, :rhs!, :rhs, 0, dae)
end

function equations(emitted::Module, in_place, out_of_place, n_algebraic, dae)
    return Equations(
        optional(emitted, in_place),
        optional(emitted, out_of_place),
        optional(emitted, :named),
        optional(emitted, :initial_state),
        optional(emitted, :GIVEN),
        optional(emitted, :controls),
        getglobal(emitted, :loss),
        getglobal(emitted, :HAS_BRANCHES),
        getglobal(emitted, :STENCILS),
        getglobal(emitted, :N_STATES),
        getglobal(emitted, :N_PARAMETERS),
        n_algebraic,
        optional(emitted, :EVENTS),
        dae,
    )
end

optional(emitted::Module, name) = isdefined(emitted, name) ? getglobal(emitted, name) : nothing
