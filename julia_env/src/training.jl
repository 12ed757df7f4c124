"""
Theta on its way: `rule` is one of Optimisers.jl, `update` its `update!`.

`theta` is in the form in which gradients are taken, but never static: optimisers write into it.
"""
mutable struct Trainer{C, O, W, U, S, T}
    const cell::C
    const objective::O
    const workspace::W
    const update::U
    state::S
    theta::T
end

"""
    trainer(cell, theta, optimiser, numbers, reltol, atol)

What [`trained`](@ref) takes steps of: `numbers` are those of the optimiser by name.
"""
function trainer(cell::Cell, theta, optimiser, numbers, reltol, atol)
    package = loaded(:Optimisers)
    rule = Base.invokelatest(rule_of, package, optimiser, numbers)
    return Base.invokelatest(trainer_of, cell, theta, package, rule, reltol, atol)
end

function trainer_of(cell, theta, package, rule, reltol, atol)
    values = arranged(cell.order, collect(Float64, theta))
    first_theta = cell.form isa Named ? gradient_theta(cell, values) : values
    objective = Objective(cell, gradient_settings(cell, reltol, atol))
    buffers = workspace(cell.sensitivity, gradient_theta(cell, first_theta))
    return Trainer(cell, objective, buffers, package.update!, package.setup(rule, first_theta), first_theta)
end

"""The loss and its gradient, and then a step of the optimiser, timed."""
trained(trainer::Trainer) = timed(run_step, trainer)

function run_step(trainer)
    theta = gradient_theta(trainer.cell, trainer.theta)
    loss, gradient = loss_and_gradient(trainer.cell.sensitivity, trainer.objective, theta, trainer.workspace)
    trainer.state, trainer.theta = trainer.update(trainer.state, trainer.theta, gradient)
    return loss, gradient
end

"""Theta after the steps so far, in sciml-bench's order."""
theta_vector(trainer::Trainer) = restored(trainer.cell.order, trainer.theta)
