"""
States are vectors, and `named` makes of the flat parameters a `ComponentVector`, whose parts are named parameters and the
weights of Lux networks. The right-hand side gives a new vector.
"""
struct Named{F}
    named::F
end

"""
    places(form, n_parameters)

For each of the parameters in this form where it lies in sciml-bench's flat vector, which has matrices in C's order;
`nothing` where they lie in the same order.
"""
places(_, n_parameters) = nothing

function places(form::Named, n_parameters)
    order = form.named(collect(1:n_parameters))
    in_c_order!(order)
    return collect(order)
end

function in_c_order!(part)
    for name in propertynames(part)
        value = getproperty(part, name)
        if value isa AbstractMatrix
            value .= permutedims(reshape(vec(collect(value)), reverse(size(value))))
        elseif nameof(typeof(value)) === :ComponentArray
            in_c_order!(value)
        end
    end
    return nothing
end


"""A vector in the order of the form."""
arranged(::Nothing, values) = values
arranged(order, values) = values[order]

"""The inverse of [`arranged`](@ref), as a plain vector."""
restored(::Nothing, values) = collect(Float64, values)
function restored(order, values)
    flat = Vector{Float64}(undef, length(order))
    flat[order] .= values
    return flat
end
