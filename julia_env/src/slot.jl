"""Where one array of weights stands: sciml-bench's `Slot`, and its range in the flat vector."""
struct Slot
    layer::Symbol
    kind::String
    role::Symbol
    shape::Tuple{Vararg{Int}}
    range::UnitRange{Int}
end

"""The slots of a model from four lists, which come one after the other in the flat vector."""
function slots_of(layers, kinds, roles, shapes)
    stop = 0
    return map(layers, kinds, roles, shapes) do layer, kind, role, shape
        start = stop + 1
        stop += prod(shape)
        Slot(Symbol(layer), String(kind), Symbol(role), Tuple(Int.(shape)), start:stop)
    end
end

"""
    laid_out(slot, flat)

The array of a slot in Julia's layout: the one place where weights change it.

Arrays lie in C's order in the flat vector, so that they have their sizes reversed here. This is the layout of kernels of
convolutions in Lux and in SimpleChains, (width, height, inputs, outputs), and of embeddings, (width, count). Matrices of
dense layers are (outputs, inputs) on both sides and have to be transposed.
"""
function laid_out(slot::Slot, flat)
    array = reshape(flat[slot.range], reverse(slot.shape))
    return slot.kind in ("dense", "attention") && ndims(array) == 2 ? permutedims(array) : array
end
