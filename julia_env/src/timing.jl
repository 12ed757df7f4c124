"""
One call, timed here: its value or its [`Failure`](@ref), nanoseconds in all, those of the garbage collector and of
compiling (again), and the bytes that it allocated.
"""
struct Output{V}
    value::V
    counts::Counts
    failure::Union{Nothing, Failure}
    ns::Int
    gc_ns::Int
    compile_ns::Int
    recompile_ns::Int
    allocated_bytes::Int
end

"""The inputs of calls at one theta and point, made before the clock starts."""
struct Inputs{C, T, O, G, F, W}
    cell::C
    theta::T
    solve_settings::O
    gradient_theta::G
    objective::F
    workspace::W
end

"""
    prepare(cell, theta, reltol, atol)

Inputs for [`solved`](@ref) and [`differentiated`](@ref).
"""
function prepare(cell::Cell, theta, reltol, atol)
    values = collect(Float64, theta)
    own = cell.of_parameters === Val(true) ? parameters(cell.form, values) : states(cell.form, values)
    objective = Objective(cell, gradient_settings(cell, reltol, atol))
    differentiated = gradient_theta(cell, values)
    buffers = workspace(cell.sensitivity, differentiated)
    return Inputs(cell, own, solve_settings(cell, reltol, atol), differentiated, objective, buffers)
end

"""The states at the saved times, timed."""
solved(inputs) = timed(run_solve, inputs)

"""The loss and its gradient, timed."""
differentiated(inputs) = timed(run_gradient, inputs)

run_solve(inputs) = trajectory(inputs.cell, inputs.theta, inputs.solve_settings)

run_gradient(inputs) =
    loss_and_gradient(inputs.cell.sensitivity, inputs.objective, inputs.gradient_theta, inputs.workspace)

"""
Not specialised on what it calls: the compiler would else compile the call together with this function, before the clock
starts.
"""
function timed(@nospecialize(call), @nospecialize(inputs))
    empty!(WARNINGS.words)
    reset!(inputs.cell.counts)
    compiled_before = Base.cumulative_compile_time_ns()
    collected_before = Base.gc_num()
    start_ns = time_ns()
    value, failed = outcome_of(call, inputs)
    ns = time_ns() - start_ns
    collected = Base.GC_Diff(Base.gc_num(), collected_before)
    compile_ns, recompile_ns = Base.cumulative_compile_time_ns() .- compiled_before
    counts = snapshot(inputs.cell.counts)
    return Output(value, counts, failed, Int(ns), Int(collected.total_time), Int(compile_ns), Int(recompile_ns), Int(collected.allocd))
end

function outcome_of(@nospecialize(call), @nospecialize(inputs))
    try
        return Base.invokelatest(call, inputs), nothing
    catch error
        error isa InterruptException && rethrow()
        return nothing, failure(error)
    end
end

"""The states of a solve as a matrix, a column for each saved time."""
states_matrix(output::Output) = reduce(hcat, (collect(Float64, y) for y in output.value))

"""The gradient of an output as a vector."""
gradient_vector(output::Output) = collect(Float64, output.value[2])

"""What the solvers counted, by name."""
statistics(output::Output) = Dict(string(name) => Float64(getfield(output.counts, name)) for name in fieldnames(Counts))

"""Julia counts its own compiling from here on; not before, because packages that precompile have switched it off."""
count_compiling() = Base.cumulative_compile_timing(true)
