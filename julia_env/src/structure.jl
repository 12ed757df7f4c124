"""
    prototype(stencils, n_states)

A sparse matrix with an entry for each element that the Jacobian may have, or `nothing` where it is dense.

`stencils.blocks` say that the equations at place `row` of the state, counted from 0, read elements at `column`, so many
places away on the grid of `stencils.shape`, whose elements lie in C's order.
"""
prototype(::Nothing, n_states) = nothing

function prototype(stencils, n_states)
    (; shape, wraps, blocks) = stencils
    rows, columns = collect(1:n_states), collect(1:n_states)
    for block in blocks, place in CartesianIndices(shape), offset in block.offsets
        neighbour = moved(Tuple(place), offset, shape, wraps)
        neighbour === nothing && continue
        push!(rows, block.row + position(Tuple(place), shape))
        push!(columns, block.column + position(neighbour, shape))
    end
    return sparse(rows, columns, ones(length(rows)), n_states, n_states)
end

"""The place so many steps away; `nothing` when it leaves the grid along an axis that does not wrap around."""
function moved(place::NTuple{N, Int}, offset, shape, wraps) where {N}
    target = ntuple(axis -> wraps[axis] ? mod1(place[axis] + offset[axis], shape[axis]) : place[axis] + offset[axis], N)
    return all(1 .<= target .<= shape) ? target : nothing
end

"""The index of a place in C's order, counted from 1."""
position(place, shape) = foldl((index, axis) -> (index - 1) * shape[axis] + place[axis], 2:length(shape); init = place[1])
