"""
One call, timed here: its value or its [`Failure`](@ref), nanoseconds in all, those of the garbage collector and of
compiling (again), and the bytes that it allocated. `order` is that of theta, see [`places`](@ref).
"""
struct Output{V, O}
    value::V
    order::O
    counts::Vector{Counts}
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
prepare(cell::Cell, theta, reltol, atol) = Base.invokelatest(inputs_of, cell, theta, reltol, atol)

# The equation may have been evaluated after the caller was compiled.
function inputs_of(cell, theta, reltol, atol)
    values = arranged(cell.order, collect(Float64, theta))
    own = theta_of(cell, values)
    objective = Objective(cell, gradient_settings(cell, reltol, atol))
    differentiated = gradient_theta(cell, values)
    buffers = workspace(cell.sensitivity, differentiated)
    return Inputs(cell, own, solve_settings(cell, reltol, atol), differentiated, objective, buffers)
end

"""Theta in the form in which solves take it."""
theta_of(cell::Cell, values) = theta_of(cell.of_parameters, cell.batch, cell.form, values)
theta_of(::Val{true}, _, form, values) = parameters(form, values)
theta_of(::Val{false}, ::Val{1}, form, values) = states(form, values)
theta_of(::Val{false}, _, form, values) = values

"""The states at the saved times, timed."""
solved(inputs) = timed(run_solve, inputs)

"""The loss and its gradient, timed."""
differentiated(inputs) = timed(run_gradient, inputs)

run_solve(inputs) = run_solve(inputs.cell.batch, inputs)
run_solve(::Val{1}, inputs) = trajectory(inputs.cell, inputs.theta, inputs.solve_settings)
run_solve(::Val, inputs) = every_trajectory(inputs.cell, inputs.theta, inputs.solve_settings)

run_gradient(inputs) =
    loss_and_gradient(inputs.cell.sensitivity, inputs.objective, inputs.gradient_theta, inputs.workspace)

"""One call at inputs of a cell, timed, with what the solvers counted meanwhile."""
function timed(@nospecialize(call), @nospecialize(inputs))
    empty!(WARNINGS.words)
    foreach(reset!, inputs.cell.counts)
    done = clocked(call, inputs)
    return Output(
        done.value, inputs.cell.order, map(snapshot, inputs.cell.counts), done.failure, done.ns, done.gc_ns,
        done.compile_ns, done.recompile_ns, done.allocated_bytes,
    )
end

"""The states of a solve as a matrix, a column for each saved time; trajectories of a batch lie below each other."""
states_matrix(output::Output) = states_matrix(output.value)
states_matrix(states::AbstractVector{<:AbstractVector{<:Real}}) = reduce(hcat, (collect(Float64, y) for y in states))
states_matrix(trajectories::AbstractVector) = reduce(vcat, map(states_matrix, trajectories))

"""The gradient of an output as a vector in sciml-bench's order."""
gradient_vector(output::Output) = restored(output.order, output.value[2])

"""What the solvers counted, by name."""
statistics(output::Output) = by_name(output.counts)

"""The number of steps of each trajectory."""
steps_of_each(output::Output) = [counts.n_steps for counts in output.counts]
