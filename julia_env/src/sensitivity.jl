"""How gradients are taken: forward-mode dual numbers through the solver."""
struct Forward end

"""
By the adjoint equation: `zygote` differentiates the loss, SciMLSensitivity the solve.

`make(reltol, abstol)` gives the algorithm, the tolerances being those of a quadrature that has some. With `same_states`
the equation of the adjoint has as many states as the problem, and can take its absolute tolerances.
"""
struct Adjoint{W, M, S}
    withgradient::W
    make::M
    same_states::Val{S}
end

"""Enzyme through the loss; its rule for a solve is SciMLSensitivity's adjoint equation, as `make` has it."""
struct ByEnzyme{W, M}
    enzyme::W
    make::M
    same_states::Val{true}
end

# The others integrate the gradient, or the solution backwards, as further states; a quadrature takes one number, too.
const SAME_STATES = ("gauss",)

# No dependency of this package: a project has it where `sciml-bench julia setup --with mooncake` added it.
const MOONCAKE = Base.PkgId(Base.UUID("da2b9cff-9c12-43a0-ae48-6db2b0edb7d6"), "Mooncake")

const ADJOINTS = ("interpolating", "gauss", "quadrature", "backsolve")

"""The sensitivity of this name, with its packages loaded: `forward`, `enzyme`, or an adjoint and its product, `gauss-enzyme`."""
function sensitivity(name::AbstractString, has_branches::Bool, form)
    form isa Named && endswith(name, "-reversediff") && keep_component_vectors()
    name == "forward" && return Forward()
    name == "enzyme" && return by_enzyme()
    adjoint, product = split(name, '-')
    zygote = loaded(:Zygote)
    make = Base.invokelatest(adjoint_maker, loaded(:SciMLSensitivity), adjoint, product, has_branches)
    return Adjoint(Base.invokelatest(getproperty, zygote, :withgradient), make, Val(adjoint in SAME_STATES))
end

"""
Let ReverseDiff's tapes keep a `ComponentVector` of parameters whole.

SciMLSensitivity hands flat parameters through `ArrayInterface.restructure`, for which ComponentArrays has methods of its
own with Tracker and Reactant, but none with ReverseDiff. The fallback copies element by element: every weight becomes a
number of its own on the tape, and a gradient takes thirty times as long.

The method is for types of two other packages (piracy), in a process that runs one cell and nothing else. It belongs into an
extension of ComponentArrays for ReverseDiff (https://github.com/SciML/ComponentArrays.jl/issues/37), beside what
ArrayInterface does for templates that are tracked (https://github.com/JuliaArrays/ArrayInterface.jl/pull/498).
"""
function keep_component_vectors()
    arrays, tracked = loaded(:ArrayInterface), loaded(:ReverseDiff).TrackedArray
    component = loaded(:ComponentArrays).ComponentArray
    told = methods(arrays.restructure, Tuple{component{Float64, 1}, tracked})
    # What ComponentArrays may define some day wins.
    any(method -> nameof(method.module) === :ComponentArraysReverseDiffExt, told) && return nothing
    kept = tracked{V, D, 1, VA} where {V, D, VA <: component}
    @eval $(arrays).restructure(::$(component){<:Any, 1}, parameters::$(kept)) = parameters
    return nothing
end

function by_enzyme()
    package, enzyme = loaded(:SciMLSensitivity), loaded(:Enzyme)
    return ByEnzyme(enzyme, Base.invokelatest(adjoint_maker, package, "gauss", "enzyme", true), Val(true))
end

function adjoint_maker(package::Module, adjoint, product, has_branches)
    autojacvec = vector_jacobian_product(package, product, has_branches)
    adjoint == "interpolating" && return (_, _) -> package.InterpolatingAdjoint(; autojacvec)
    adjoint == "gauss" && return (_, _) -> package.GaussAdjoint(; autojacvec)
    adjoint == "quadrature" && return (reltol, abstol) -> package.QuadratureAdjoint(; autojacvec, reltol, abstol)
    adjoint == "backsolve" && return (_, _) -> package.BacksolveAdjoint(; autojacvec)
    throw(ArgumentError("there is no adjoint '$adjoint'; there are $(join(ADJOINTS, ", "))"))
end

function vector_jacobian_product(package::Module, product, has_branches)
    if product == "enzyme"
        loaded(:Enzyme)
        return Base.invokelatest(package.EnzymeVJP)
    elseif product == "reversediff"
        loaded(:ReverseDiff)
        # A compiled tape replays the branches of the call that made it.
        return Base.invokelatest(package.ReverseDiffVJP, !has_branches)
    elseif product == "zygote"
        return Base.invokelatest(package.ZygoteVJP)
    elseif product == "mooncake"
        Base.require(MOONCAKE)
        return Base.invokelatest(package.MooncakeVJP)
    end
    throw(ArgumentError("there is no vector-Jacobian product '$product'"))
end

"""Whether a sensitivity can differentiate only right-hand sides that write into nothing."""
needs_out_of_place(name) = endswith(name, "-zygote")
