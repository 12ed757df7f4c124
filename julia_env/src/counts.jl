"""What solvers counted since the last call began; the solves of a gradient are added up."""
mutable struct Counts
    n_solves::Int
    n_steps::Int
    n_accepted::Int
    n_rejected::Int
    n_rhs::Int
    n_jacobians::Int
    n_factorisations::Int
    n_linear_solves::Int
end

Counts() = Counts(0, 0, 0, 0, 0, 0, 0, 0)

snapshot(counts::Counts) = Counts(ntuple(i -> getfield(counts, i), Val(fieldcount(Counts)))...)

function reset!(counts::Counts)
    for name in fieldnames(Counts)
        setfield!(counts, name, 0)
    end
    return nothing
end

"""Add what one solve counted to its trajectory's; throws a [`Failure`](@ref) when it did not succeed."""
function note!(cell, solution)
    stats, counts = solution.stats, cell.counts[cell.trajectory[]]
    counts.n_solves += 1
    if stats !== nothing
        counts.n_steps += stats.naccept + stats.nreject
        counts.n_accepted += stats.naccept
        counts.n_rejected += stats.nreject
        counts.n_rhs += stats.nf
        counts.n_jacobians += stats.njacs
        counts.n_factorisations += stats.nw
        counts.n_linear_solves += stats.nsolve
    end
    successful_retcode(solution) || throw(stopped(solution, WARNINGS.words, trajectory_name(cell)))
    return nothing
end

"""Which trajectory of a batch is solved now; empty where there is only one."""
function trajectory_name(cell)
    n = length(cell.counts)
    return n == 1 ? "" : " for trajectory $(cell.trajectory[]) of $n"
end

"""
What was counted, by name. Of a batch it is the trajectory that takes the most steps, and how many the others take;
`n_solves` is of all.
"""
function by_name(each::Vector{Counts})
    longest = argmax(counts -> counts.n_steps, each)
    named = Dict(string(name) => Float64(getfield(longest, name)) for name in fieldnames(Counts))
    length(each) == 1 && return named
    steps = [counts.n_steps for counts in each]
    named["n_solves"] = sum(counts.n_solves for counts in each)
    named["n_steps_least"] = minimum(steps)
    named["n_steps_mean"] = sum(steps) / length(steps)
    return named
end
