"""LeNet and a small GPT in Lux with the training loop of its tutorials, for `model_tax.py` to measure ours against."""
module LuxExperts

using Lux, Optimisers, Random, Zygote
using Lux.NNlib: dot_product_attention, gelu_erf, make_causal_mask

lenet() = Chain(
    Conv((3, 3), 1 => 16, relu; pad = 1, cross_correlation = true), MaxPool((2, 2)),
    Conv((3, 3), 16 => 32, relu; pad = 1, cross_correlation = true), MaxPool((2, 2)),
    FlattenLayer(), Dense(128 => 120, relu), Dense(120 => 84, relu), Dense(84 => 10),
)

struct CausalAttention{A, B} <: Lux.AbstractLuxContainerLayer{(:qkv, :out)}
    qkv::A
    out::B
    heads::Int
end

function (layer::CausalAttention)(x, ps, st)
    qkv, _ = layer.qkv(x, ps.qkv, st.qkv)
    width = size(x, 1)
    q, k, v = qkv[1:width, :, :], qkv[(width + 1):(2 * width), :, :], qkv[(2 * width + 1):end, :, :]
    y, _ = dot_product_attention(q, k, v; nheads = layer.heads, mask = make_causal_mask(x))
    y, _ = layer.out(y, ps.out, st.out)
    return y, st
end

struct PositionEmbedding <: Lux.AbstractLuxLayer
    width::Int
    context::Int
end

Lux.initialparameters(rng::AbstractRNG, e::PositionEmbedding) = (; weight = zeros32(rng, e.width, e.context))
(::PositionEmbedding)(x, ps, st) = x .+ ps.weight, st

norm(width) = LayerNorm((width, 1); dims = 1)

block(width, heads) = Chain(
    SkipConnection(
        Chain(norm(width), CausalAttention(Dense(width => 3 * width), Dense(width => width), heads)), +,
    ),
    SkipConnection(Chain(norm(width), Dense(width => 4 * width, gelu_erf), Dense(4 * width => width)), +),
)

gpt(; vocabulary = 88, context = 32, width = 48, heads = 3) = Chain(
    Embedding(vocabulary => width), PositionEmbedding(width, context),
    block(width, heads), block(width, heads),
    norm(width), Dense(width => vocabulary),
)

"""The parameters with the numbers of a flat vector in C's order."""
function filled(ps::NamedTuple, numbers)
    # Lux names bias and scale of a norm in the other order.
    names = haskey(ps, :scale) ? (:scale, :bias) : keys(ps)
    parts = (; (name => filled(ps[name], numbers) for name in names)...)
    return NamedTuple{keys(ps)}(parts)
end

function filled(array::AbstractArray, numbers)
    part = [popfirst!(numbers) for _ in eachindex(array)]
    return Float32.(reshape(part, size(array)))
end

# Matrices are (outputs, inputs), but for embeddings, which have a column for each.
transposed(model::Chain, ps) = map(transposed, values(model.layers), values(ps)) |> NamedTuple{keys(ps)}
transposed(layer::SkipConnection, ps) = transposed(layer.layers, ps)
transposed(layer::CausalAttention, ps) = (; qkv = transposed(layer.qkv, ps.qkv), out = transposed(layer.out, ps.out))
transposed(::Dense, ps) = (; weight = permutedims(reshape(ps.weight, reverse(size(ps.weight)))), ps.bias)
transposed(_, ps) = ps

one_hot(labels, classes) = Float32.(reshape(labels, 1, size(labels)...) .== 0:(classes - 1))

"""A function that takes one step on the batch and gives its loss."""
function training(problem, numbers, inputs, labels)
    text = problem == "gpt-text"
    model = text ? gpt() : lenet()
    ps, st = Lux.setup(Xoshiro(0), model)
    ps = transposed(model, filled(ps, collect(Float64, numbers)))
    x = text ? collect(Int, inputs) .+ 1 : collect(Float32, inputs)
    y = one_hot(collect(Int, labels), text ? 88 : 10)
    rule = text ? AdamW(0.004f0, (0.9f0, 0.999f0), 0.01f0; couple = true) : Adam(0.005f0)
    loss = CrossEntropyLoss(; logits = Val(true))
    state = Ref(Training.TrainState(model, ps, st, rule))
    return function ()
        _, found, _, state[] = Training.single_train_step!(AutoZygote(), loss, (x, y), state[])
        return found
    end
end

end
