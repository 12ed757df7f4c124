# Neural ODEs as SciML's tutorial "Neural Ordinary Differential Equations" writes them: a Lux chain, its parameters in one
# ComponentArray, an adjoint with a compiled ReverseDiff tape. Included by `julia_bridge.py` after `julia_experts.jl`.

module NeuralExperts

using ComponentArrays: ComponentArray, getaxes
using Lux: Chain, Dense, setup
using Lux.NNlib: softplus
using OrdinaryDiffEqTsit5: Tsit5
using Random: Xoshiro
using SciMLBase: ODEProblem, solve
using SciMLSensitivity: GaussAdjoint, ReverseDiffVJP
using Zygote: withgradient

struct Problem{M, P, L}
    ode::M
    parameters::P
    times::Vector{Float64}
    loss::L
end

"""The expert's version of a problem; `p` are the weights in the order of Lux's arrays."""
function problem(name, y0, p, times, data)
    layers = name == "spiral-node" ? (x -> x .^ 3, Dense(2 => 50, tanh), Dense(50 => 2)) :
        name == "small-node" ? (Dense(4 => 32, softplus), Dense(32 => 4, tanh)) : error("no expert wrote $name")
    model = Chain(layers...)
    made, state = setup(Xoshiro(0), model)
    parameters = ComponentArray(collect(Float64, p), getaxes(ComponentArray(made)))
    dudt(u, p, t) = first(model(u, p, state))
    ts, target = collect(Float64, times), permutedims(collect(Float64, data))
    loss = name == "spiral-node" ? us -> sum(abs2, us .- target) : sum
    return Problem(ODEProblem(dudt, collect(Float64, y0), (0.0, ts[end]), parameters), parameters, ts, loss)
end

states(problem, p; settings...) = solve(problem.ode, Tsit5(); p, saveat = problem.times, settings...)

"""Calls without arguments: the expert's solve and gradient."""
function solve_call(problem, reltol, abstol)
    return () -> states(problem, problem.parameters; reltol, abstol, save_everystep = false, dense = false).u
end

function gradient_call(problem, reltol, abstol)
    sensealg = GaussAdjoint(; autojacvec = ReverseDiffVJP(true))
    loss(p) = problem.loss(Array(states(problem, p; reltol, abstol, sensealg)))
    return () -> only(withgradient(loss, problem.parameters).grad)
end
end
