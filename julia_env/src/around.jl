"""
What an emitted module computes around the solve of each trajectory: `initial_state(given..., p)` is its initial state, or
a tuple of that and of a penalty on the loss; `given` holds the data of each.
"""
struct Around{I, G}
    initial_state::I
    given::Vector{G}
end

"""What stands around the solves of a module; `nothing` where the initial states are numbers."""
around(emitted::Equations) = around(emitted.initial_state, emitted)
around(::Nothing, _) = nothing
around(initial_state, emitted) = Around(initial_state, emitted.given)

with_penalty(y0::AbstractVector) = (y0, false)
with_penalty(both::Tuple) = both

"""The initial states of all trajectories."""
computed(around::Around, p) = map(given -> first(with_penalty(around.initial_state(given..., p))), around.given)

"""A state whose numbers are of this type."""
of_type(::Type{T}, y::AbstractVector{T}) where {T} = y
of_type(::Type{T}, y) where {T} = convert.(T, y)

"""
    loss_of(around, cell, i, p, settings)

The loss of a trajectory: what is differentiated goes from its data through the initial state and the solve.
"""
function loss_of(around::Around, cell, i, p, settings)
    given = ChainRulesCore.@ignore_derivatives begin
        cell.trajectory[] = i
        around.given[i]
    end
    y0, penalty = with_penalty(around.initial_state(given..., p))
    ys = saved(cell, segments_of(cell, settings, i), of_type(eltype(p), y0), p, settings)
    return cell.loss(ys, given..., p) + penalty
end
