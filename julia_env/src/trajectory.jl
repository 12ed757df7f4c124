# A solve that takes more steps than this has failed; SciML's default is 10^5 for adaptive solvers.
const MAX_STEPS = 10^6

"""The initial state, or those of a batch, and the parameters that belong to a theta."""
starting(cell::Cell, theta) = starting(cell.around, cell.of_parameters, cell, theta)
starting(::Nothing, ::Val{true}, cell, theta) = (cell.y0, parameters(cell.form, theta))
starting(::Nothing, ::Val{false}, cell, theta) = (split_states(cell.batch, cell.form, theta), cell.p)
function starting(around::Around, ::Val{true}, cell, theta)
    p = parameters(cell.form, theta)
    starts = computed(around, p)
    return cell.batch === Val(1) ? only(starts) : starts, p
end

"""The states at the saved times; of a batch, those of each trajectory."""
trajectory(cell::Cell, theta, settings) = trajectory(cell.batch, cell, theta, settings)

function trajectory(::Val{1}, cell, theta, settings)
    y0, p = starting(cell, theta)
    return saved(cell, segments_of(cell, settings, 1), convert.(eltype(theta), y0), p, settings)
end

"""
Each trajectory is a solve with steps of its own, one after the other: what an `EnsembleProblem` does with
`EnsembleSerial`. That takes one interval of time, which jumps of the equation may part, and its function of a problem and
a trajectory has other arguments in SciMLBase 2 and 3.
"""
function trajectory(::Val, cell, theta, settings)
    starts, p = starting(cell, theta)
    return map(eachindex(starts), starts) do i, y0
        ChainRulesCore.@ignore_derivatives cell.trajectory[] = i
        saved(cell, segments_of(cell, settings, i), convert.(eltype(theta), y0), p, settings)
    end
end

"""The states of every trajectory of a batch; one that fails does not keep those after it from being tried."""
function every_trajectory(cell, theta, settings)
    starts, p = starting(cell, theta)
    found = map(eachindex(starts), starts) do i, y0
        cell.trajectory[] = i
        try
            saved(cell, segments_of(cell, settings, i), y0, p, settings)
        catch error
            error isa Failure || rethrow()
            error
        end
    end
    failed = [(i - 1, states.outcome) for (i, states) in enumerate(found) if states isa Failure]
    isempty(failed) && return found
    first_one = found[first(failed)[1] + 1]
    throw(Failure(first_one.outcome, first_one.message, failed))
end

"""The loss as a function of theta: of a batch the sum over all trajectories."""
total_loss(cell::Cell, theta, settings) = total_loss(cell.around, cell.batch, cell, theta, settings)
total_loss(::Nothing, ::Val{1}, cell, theta, settings) = cell.loss(trajectory(cell, theta, settings))
total_loss(::Nothing, ::Val, cell, theta, settings) = sum(map(cell.loss, trajectory(cell, theta, settings)))
function total_loss(around::Around, ::Val{1}, cell, theta, settings)
    return loss_of(around, cell, 1, parameters(cell.form, theta), settings)
end
function total_loss(around::Around, ::Val, cell, theta, settings)
    p = parameters(cell.form, theta)
    return sum(map(i -> loss_of(around, cell, i, p, settings), eachindex(around.given)))
end

saved(cell, segments::Tuple{Segment}, y, p, settings) = integrated(cell, segments[1], y, p, settings)

function saved(cell, segments::Tuple, y, p, settings)
    states = integrated(cell, segments[1], y, p, settings)
    rest = saved(cell, Base.tail(segments), states[end], p, settings)
    return vcat(states[1:segments[1].n_saved], rest)
end

# Paths, cuts and scheduled events make many segments, all of one type: what is compiled for one serves them all.
function saved(cell, segments::Vector, y, p, settings)
    states = integrated(cell, segments[1], y, p, settings)
    kept = states[1:segments[1].n_saved]
    for k in 2:length(segments)
        last, segment = ChainRulesCore.@ignore_derivatives (segments[k - 1], segments[k])
        states = integrated(cell, segment, after(cell.events, last, states[end], p), p, settings)
        kept = vcat(kept, states[1:segment.n_saved])
    end
    return kept
end

"""The states at the times of a segment; throws a [`Failure`](@ref) when the solver did not get there."""
function integrated(cell, segment, y, p, settings)
    solution = solution_of(cell, segment, y, p, settings)
    ChainRulesCore.@ignore_derivatives note!(cell, solution)
    return states_at_times(cell.events, segment, solution, settings)
end

function solution_of(cell, segment, y, p, settings)
    problem = ODEProblem(segment.problem.f, y, segment.problem.tspan, p)
    return solve(
        problem, cell.algorithm;
        saveat = segment.times, maxiters = MAX_STEPS, stops(segment)..., cell.options..., settings...,
    )
end

segments_of(cell::Cell, _, i) = segments_of(cell.segments, i)

const ADJOINT_SETTINGS = (:reltol, :abstol, :sensealg)
const AdjointSettings = Union{NamedTuple{ADJOINT_SETTINGS}, NamedTuple{(ADJOINT_SETTINGS..., :save_start)}}

segments_of(cell::Cell, ::AdjointSettings, i) = segments_of(cell.adjoint_segments, i)

"""As SciML's guide has it for adjoints: what is differentiated goes to `solve`, by a problem that stays."""
function solution_of(cell, segment, y, p, settings::AdjointSettings)
    return solve(
        segment.problem, cell.adjoint_algorithm;
        u0 = y, p, saveat = gradient_times(segment), maxiters = MAX_STEPS, cell.options..., settings...,
    )
end

states_at_times(_, _, solution, _) = solution.u
states_at_times(::Nothing, segment, solution, ::AdjointSettings) = at_times(segment.breaks, solution.u)

"""An adjoint's solution has the states before and after each event, too."""
function states_at_times(::Events, segment, solution, ::AdjointSettings)
    places = ChainRulesCore.@ignore_derivatives findall(in(segment.times), solution.t)
    return solution.u[places]
end

"""Settings of a plain solve, which keeps nothing but the saved states; `scale` as in [`Cell`](@ref)."""
function solve_settings(cell::Cell, reltol, atol)
    return (; reltol, abstol = atol * cell.scale, save_everystep = false, dense = false)
end
