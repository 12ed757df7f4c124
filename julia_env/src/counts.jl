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

"""Add what one solve counted; throws a [`Failure`](@ref) when it did not succeed."""
function note!(counts::Counts, solution)
    stats = solution.stats
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
    successful_retcode(solution) || throw(stopped(solution, WARNINGS.words))
    return nothing
end
