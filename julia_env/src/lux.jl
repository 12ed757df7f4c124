"""
The Julia side of the adapter of Lux: models, their gradients and their training.

It is no part of the package SciMLBench. A worker includes it, with that package's folder on `LOAD_PATH`: models need no
solver, so that what is loaded here is what a user of Lux waits for.
"""
module SciMLBenchLux

import LinearAlgebra
import Lux
import Optimisers
using Lux: Training
using Random: Xoshiro

include("failure.jl")
include("clock.jl")
include("emitted.jl")
include("slot.jl")
include("optimiser.jl")
include("versions.jl")

"""The loss as Lux's training takes it: with the states and what else is told."""
struct Objective{L}
    loss::L
end

function (objective::Objective)(model, parameters, states, (inputs, labels))
    outputs, after = model(inputs, parameters, states)
    return objective.loss(outputs, labels), after, (;)
end

"""
One model, built. `state` is Lux's own of a training: the model, its parameters and its states; no optimiser changes it.
`test_states` are those of inference; `backend` says who takes gradients.

`places` has the structure of the parameters, and says of each number where it lies in sciml-bench's flat vector, in which
there are `n_weights`.
"""
struct Network{S, I, L, B, Q, T <: AbstractFloat}
    state::S
    test_states::I
    objective::Objective{L}
    backend::B
    places::Q
    n_weights::Int
    classes::Int
    number::Type{T}
end

"""
    build(source, sensitivity, precision, slots, theta, classes, threads)

Build a model from emitted source and its flat weights. `slots` are four lists: layers, kinds, roles and shapes.
"""
function build(source, sensitivity, precision, slots, theta, classes, threads)
    LinearAlgebra.BLAS.set_num_threads(threads)
    backend = backend_of(sensitivity)
    emitted = emitted_module(SciMLBenchLux, source)
    number = precision == "float64" ? Float64 : Float32
    # What was evaluated and loaded just now is newer than this method.
    return Base.invokelatest(assemble, emitted, backend, slots_of(slots...), collect(Float64, theta), classes, number)
end

"""Who takes gradients, with its package loaded."""
function backend_of(sensitivity)
    sensitivity == "reverse" && return (loaded(:Zygote); Lux.AutoZygote())
    sensitivity == "reverse-enzyme" && return (loaded(:Enzyme); Lux.AutoEnzyme())
    throw(ArgumentError("there is no sensitivity '$sensitivity'"))
end

loaded(package::Symbol) = Base.require(SciMLBenchLux, package)

function assemble(emitted, backend, slots, theta, classes, number)
    model = emitted.build_model()
    drawn, states = Lux.setup(Xoshiro(0), model)
    parameters = arranged(drawn, of_layers(slots, number.(theta)))
    places = arranged(drawn, of_layers(slots, collect(eachindex(theta))))
    state = Training.TrainState(model, parameters, states, Optimisers.Descent(0.0))
    return Network(
        state, Lux.testmode(states), Objective(emitted.loss), backend, places, length(theta), Int(classes), number,
    )
end

"""
    of_layers(slots, flat)

The arrays of each layer by their roles, layers in order. Attention's three projections are one matrix in the flat vector.
"""
function of_layers(slots, flat)
    names, layers = Symbol[], Dict{Symbol, Any}[]
    for slot in slots
        slot.layer in names || (push!(names, slot.layer); push!(layers, Dict{Symbol, Any}()))
        layers[end][slot.role] = laid_out(slot, flat)
    end
    return map(layer -> haskey(layer, :qkv_weight) ? projections(layer) : layer, layers)
end

function projections(layer)
    weight, bias = layer[:qkv_weight], layer[:qkv_bias]
    width = size(weight, 2)
    part(k) = (; weight = weight[((k - 1) * width + 1):(k * width), :], bias = bias[((k - 1) * width + 1):(k * width)])
    return Dict{Symbol, Any}(
        :q => part(1), :k => part(2), :v => part(3), :project => (; weight = layer[:weight], bias = layer[:bias]),
    )
end

"""
Parameters of the structure of `drawn`, with the arrays of the layers, which have the same order in both.

Nothing here is compiled for the types of a model, of which each has its own.
"""
function arranged(@nospecialize(drawn), layers)
    waiting = copy(layers)
    tree = placed(drawn, waiting)
    isempty(waiting) || throw(DimensionMismatch("weights of layers that the model does not have: $(length(waiting))"))
    return tree
end

function placed(@nospecialize(drawn), waiting)
    # Of all layers attention alone has layers of its own that are no parts of the model.
    own = haskey(drawn, :q) || any(part -> part isa AbstractArray, values(drawn))
    own && isempty(waiting) && throw(DimensionMismatch("the model has more layers than there are weights for"))
    own && return shaped(drawn, popfirst!(waiting))
    return NamedTuple{keys(drawn)}(Tuple([placed(part, waiting) for part in values(drawn)]))
end

function shaped(@nospecialize(drawn), arrays)
    drawn isa AbstractArray && return reshape(arrays, size(drawn))
    return NamedTuple{keys(drawn)}(Tuple([shaped(part, arrays[name]) for (name, part) in pairs(drawn)]))
end

"""Samples as Lux takes them, with their labels, made before the clock starts."""
struct Batch{N, X, Y}
    network::N
    inputs::X
    labels::Y
end

"""
    prepare(network, inputs, labels)

A batch from arrays whose last axis is that of the samples. Whole numbers, counted from 0, are places in a vocabulary.
"""
prepare(network::Network, inputs, labels) = Base.invokelatest(batch_of, network, inputs, labels)

function batch_of(network, inputs, labels)
    of_samples = eltype(inputs) <: Integer ? collect(Int, inputs) .+ 1 : collect(network.number, inputs)
    return Batch(network, of_samples, one_hot(collect(Int, labels), network.classes))
end

"""Of each label a column with one `true`, as losses of Lux take them."""
function one_hot(labels, classes)
    columns = zeros(Bool, classes, size(labels)...)
    classes == 0 && return columns
    for place in CartesianIndices(labels)
        columns[labels[place] + 1, place] = true
    end
    return columns
end

"""The output of a batch, timed."""
solved(batch::Batch) = clocked(run_solve, batch)

run_solve(batch) = output_of(batch.network, batch.network.state.parameters, batch)

output_of(network, parameters, batch) = first(network.state.model(batch.inputs, parameters, network.test_states))

"""The loss of a batch and its gradient, timed."""
differentiated(batch::Batch) = clocked(run_gradient, batch)

function run_gradient(batch)
    network = batch.network
    gradient, loss, _, _ = Training.compute_gradients(
        network.backend, network.objective, (batch.inputs, batch.labels), network.state,
    )
    return loss, gradient
end

"""Weights on their way, in Lux's own state of training."""
mutable struct Trainer{N}
    const network::N
    state::Training.TrainState
end

"""
    trainer(network, optimiser, numbers)

What [`trained`](@ref) takes steps of: `numbers` are those of the optimiser by name.
"""
function trainer(network::Network, optimiser, numbers)
    return Base.invokelatest(trainer_of, network, rule_of(Optimisers, optimiser, numbers))
end

function trainer_of(network, rule)
    # Optimisers write into the weights; the network keeps its own.
    own = deepcopy(network.state.parameters)
    return Trainer(network, Training.TrainState(network.state.model, own, network.state.states, rule))
end

"""The loss and its gradient, and then a step of the optimiser, timed."""
trained(trainer::Trainer, batch::Batch) = clocked(run_step, (trainer, batch))

function run_step((trainer, batch))
    network = trainer.network
    _, loss, _, trainer.state = Training.single_train_step!(
        network.backend, network.objective, (batch.inputs, batch.labels), trainer.state,
    )
    return loss
end

"""The output for the weights as they stand in training."""
predicted(trainer::Trainer, batch::Batch) =
    Base.invokelatest(output_of, trainer.network, trainer.state.parameters, batch)

"""The gradient of a timed call as a vector in sciml-bench's order."""
gradient_vector(network::Network, done::Clocked) = scattered(network, done.value[2])

"""The weights after the steps so far, in sciml-bench's order."""
theta_vector(trainer::Trainer) = scattered(trainer.network, trainer.state.parameters)

function scattered(network, tree)
    flat = zeros(Float64, network.n_weights)
    scatter!(flat, network.places, tree)
    return flat
end

function scatter!(flat, @nospecialize(places), @nospecialize(tree))
    # The gradient of what has no weights.
    tree === nothing && return nothing
    if places isa AbstractArray
        flat[places] .= tree
    else
        foreach(name -> scatter!(flat, places[name], tree[name]), keys(places))
    end
    return nothing
end

end
