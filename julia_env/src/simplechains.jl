"""
The Julia side of the adapter of SimpleChains: models, their gradients and their training.

It is no part of the package SciMLBench, as lux.jl is none, and SimpleChains is no dependency of that package: a project
has it where `sciml-bench julia setup --with simplechains` added it.
"""
module SciMLBenchSimpleChains

import LinearAlgebra
import Optimisers
import SimpleChains

include("failure.jl")
include("clock.jl")
include("emitted.jl")
include("slot.jl")
include("optimiser.jl")
include("versions.jl")

"""
One model, built: a chain without a loss, its parameters in one flat vector as SimpleChains lays them out, and of each of
them its place in sciml-bench's flat vector. `loss` makes the last layer of a chain from labels.
"""
struct Network{C, L, T <: AbstractFloat}
    chain::C
    loss::L
    parameters::Vector{T}
    places::Vector{Int}
    classes::Int
end

"""
    build(source, precision, slots, theta, classes)

Build a model from emitted source and its flat weights. `slots` are four lists: layers, kinds, roles and shapes.
"""
function build(source, precision, slots, theta, classes)
    emitted = emitted_module(SciMLBenchSimpleChains, source)
    number = precision == "float64" ? Float64 : Float32
    # What was evaluated just now is newer than this method.
    return Base.invokelatest(assemble, emitted, slots_of(slots...), collect(Float64, theta), classes, number)
end

function assemble(emitted, slots, theta, classes, number)
    chain = emitted.build_model()
    # SimpleChains' flat vector has the arrays of layers in their order, biases after their weights.
    places = mapreduce(slot -> vec(laid_out(slot, eachindex(theta))), vcat, slots)
    count = Int(SimpleChains.numparam(chain))
    count == length(places) ||
        throw(DimensionMismatch("the model takes $count parameters, and there are $(length(places)) weights"))
    return Network(chain, emitted.loss, number.(theta[places]), places, Int(classes))
end

"""
Samples with their labels in the chain's last layer, made before the clock starts.

`gradient` is filled by each call. The loss that SimpleChains gives with a gradient, and that gradient, are sums over the
batch; `factor` makes means of them.
"""
struct Batch{N, C, X, T}
    network::N
    chain::C
    inputs::X
    gradient::Vector{T}
    factor::T
end

"""
    prepare(network, inputs, labels)

A batch from arrays whose last axis is that of the samples. Labels count from 0; without classes the targets are zero.
"""
prepare(network::Network, inputs, labels) = Base.invokelatest(batch_of, network, inputs, labels)

function batch_of(network::Network{C, L, T}, inputs, labels) where {C, L, T}
    # A chain may take flattened what comes as an image.
    placed = reshape(collect(T, inputs), map(Int, network.chain.inputdim)..., :)
    count = size(placed)[end]
    targets = network.classes > 0 ? UInt32.(collect(labels) .+ 1) : zeros(T, outputs_of(network), count)
    chain = SimpleChains.add_loss(network.chain, network.loss(targets))
    # Of squares SimpleChains gives half of the sum.
    factor = network.classes > 0 ? T(1) / count : T(2) / (count * outputs_of(network))
    return Batch(network, chain, placed, similar(network.parameters), factor)
end

outputs_of(network) = Int(first(SimpleChains.outputdim(network.chain)))

"""The output of a batch, timed."""
solved(batch::Batch) = clocked(run_solve, batch)

run_solve(batch) = output_of(batch.network, batch.network.parameters, batch)

# What a chain returns lies in memory that its next call writes over.
output_of(network, parameters, batch) = Array(network.chain(batch.inputs, parameters))

"""The loss of a batch and its gradient, timed."""
differentiated(batch::Batch) = clocked(run_gradient, batch)

run_gradient(batch) = (loss_and_gradient!(batch, batch.network.parameters), batch.gradient)

function loss_and_gradient!(batch, parameters)
    loss = SimpleChains.valgrad!(batch.gradient, batch.chain, batch.inputs, parameters)
    batch.gradient .*= batch.factor
    return loss * batch.factor
end

"""Weights on their way, and the state of their optimiser."""
mutable struct Trainer{N, T, S}
    const network::N
    const parameters::Vector{T}
    state::S
end

"""
    trainer(network, optimiser, numbers)

What [`trained`](@ref) takes steps of: `numbers` are those of the optimiser by name.
"""
function trainer(network::Network, optimiser, numbers)
    parameters = copy(network.parameters)
    return Trainer(network, parameters, Optimisers.setup(rule_of(Optimisers, optimiser, numbers), parameters))
end

"""The loss and its gradient, and then a step of the optimiser, timed."""
trained(trainer::Trainer, batch::Batch) = clocked(run_step, (trainer, batch))

function run_step((trainer, batch))
    loss = loss_and_gradient!(batch, trainer.parameters)
    trainer.state, _ = Optimisers.update!(trainer.state, trainer.parameters, batch.gradient)
    return loss
end

"""The output for the weights as they stand in training."""
predicted(trainer::Trainer, batch::Batch) =
    Base.invokelatest(output_of, trainer.network, trainer.parameters, batch)

"""The gradient of a timed call as a vector in sciml-bench's order."""
gradient_vector(network::Network, done::Clocked) = scattered(network, done.value[2])

"""The weights after the steps so far, in sciml-bench's order."""
theta_vector(trainer::Trainer) = scattered(trainer.network, trainer.parameters)

function scattered(network, parameters)
    flat = zeros(Float64, length(network.places))
    flat[network.places] .= parameters
    return flat
end

end
