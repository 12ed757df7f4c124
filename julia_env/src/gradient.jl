"""The loss as a function of theta."""
struct Objective{C, S}
    cell::C
    settings::S
end

(objective::Objective)(theta) = total_loss(objective.cell, theta, objective.settings)

# Dual numbers of the gradient carry this in their type, apart from those of a solver's own Jacobians.
struct Loss end

# ForwardDiff's own largest chunk: more partial derivatives at once no longer fit the registers and caches.
const LARGEST_CHUNK = ForwardDiff.DEFAULT_CHUNK_THRESHOLD

"""Theta in the form in which gradients of it are taken best: static where it is small and the states are."""
function gradient_theta(cell::Cell, theta)
    cell.form isa Named && cell.of_parameters === Val(false) && return theta
    return gradient_theta(cell.sensitivity, cell.form, theta)
end
gradient_theta(_, _, theta) = theta
gradient_theta(_, form::Named, theta) = parameters(form, theta)
function gradient_theta(::Forward, ::Static, theta)
    return length(theta) <= LARGEST_CHUNK ? SVector{length(theta)}(theta) : theta
end

"""
Settings of the solves of a gradient.

Where the equation of an adjoint has other states than the problem, it takes one absolute tolerance: the smallest.
An adjoint interpolates the whole solution, so that every step is kept.
"""
gradient_settings(cell::Cell, reltol, atol) = gradient_settings(cell.sensitivity, cell, reltol, atol)
gradient_settings(::Forward, cell, reltol, atol) = solve_settings(cell, reltol, atol)
function gradient_settings(how, cell, reltol, atol)
    smallest = atol * minimum(cell.scale)
    abstol = how.same_states === Val(true) ? atol * cell.scale : smallest
    settings = (; reltol, abstol, sensealg = how.make(reltol, smallest))
    # The solution that this adjoint gives would hold the initial state before the saved ones; those of the others do not.
    return nameof(typeof(settings.sensealg)) === :BacksolveAdjoint ? (; settings..., save_start = false) : settings
end

"""What a gradient needs and can be made before the clock starts: ForwardDiff's buffers, or nothing."""
workspace(::Forward, theta::SVector) = nothing
function workspace(::Forward, theta::AbstractVector)
    return ForwardDiff.GradientConfig(Loss(), theta, ForwardDiff.Chunk(theta), ForwardDiff.Tag(Loss(), Float64))
end
workspace(_, theta) = nothing

"""The loss and its gradient with respect to theta."""
function loss_and_gradient(::Forward, objective, theta::SVector, _)
    result = ForwardDiff.gradient!(DiffResults.GradientResult(theta), objective, theta)
    return DiffResults.value(result), DiffResults.gradient(result)
end

function loss_and_gradient(::Forward, objective, theta::AbstractVector, config)
    # The buffers were made for a tag that is not the objective's, hence no check that they belong together.
    result = ForwardDiff.gradient!(DiffResults.GradientResult(theta), objective, theta, config, Val(false))
    return DiffResults.value(result), DiffResults.gradient(result)
end

function loss_and_gradient(how::Adjoint, objective, theta, _)
    value, (gradient,) = how.withgradient(objective, theta)
    check_warnings(WARNINGS.words)
    gradient === nothing && throw(Failure("build_error", "Zygote found no path from theta to the loss"))
    return value, gradient
end

function loss_and_gradient(how::ByEnzyme, objective, theta, _)
    enzyme, shadow = how.enzyme, zero(theta)
    mode = enzyme.set_runtime_activity(enzyme.ReverseWithPrimal)
    result = enzyme.autodiff(mode, enzyme.Const(objective), enzyme.Active, enzyme.Duplicated(theta, shadow))
    check_warnings(WARNINGS.words)
    return result[end], shadow
end
