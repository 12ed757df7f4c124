# gpt-text for Lux, emitted from its neutral spec 275279d72242.

using ChainRulesCore: ignore_derivatives
using Lux
using Lux.NNlib: batched_mul, batched_transpose, gelu_erf, make_causal_mask
using Random: AbstractRNG

struct Attention{Q, K, V, P} <: Lux.AbstractLuxContainerLayer{(:q, :k, :v, :project)}
    q::Q
    k::K
    v::V
    project::P
    heads::Int
    causal::Bool
end

Attention(width; heads, causal) = Attention(ntuple(_ -> Dense(width => width), 4)..., heads, causal)

function (layer::Attention)(x, ps, st)
    q = heads_apart(first(layer.q(x, ps.q, st.q)), layer.heads)
    k = heads_apart(first(layer.k(x, ps.k, st.k)), layer.heads)
    v = heads_apart(first(layer.v(x, ps.v, st.v)), layer.heads)
    scores = batched_mul(batched_transpose(k), q ./ sqrt(eltype(q)(size(q, 1))))
    scores = layer.causal ? scores .+ no_future(scores) : scores
    y = heads_together(batched_mul(v, softmax(scores; dims = 1)), size(x))
    return first(layer.project(y, ps.project, st.project)), st
end

# From (width, positions, batch) to (width of a head, positions, heads and batch), and back.
function heads_apart(x, heads)
    width, positions, batch = size(x)
    apart = permutedims(reshape(x, width ÷ heads, heads, positions, batch), (1, 3, 2, 4))
    return reshape(apart, width ÷ heads, positions, heads * batch)
end

function heads_together(x, (width, positions, batch))
    together = permutedims(reshape(x, size(x, 1), positions, :, batch), (1, 3, 2, 4))
    return reshape(together, width, positions, batch)
end

# Rows are keys, columns are queries.
function no_future(scores)
    ignore_derivatives() do
        ifelse.(make_causal_mask(scores), zero(eltype(scores)), typemin(eltype(scores)))
    end
end


struct Positions <: Lux.AbstractLuxLayer
    width::Int
    count::Int
end

function Lux.initialparameters(rng::AbstractRNG, layer::Positions)
    return (; weight = zeros32(rng, layer.width, layer.count))
end

(::Positions)(x, ps, st) = x .+ ps.weight, st

function build_model()
    return Chain(
        Embedding(88 => 48),  # embedding1
        Positions(48, 32),  # positions1
        SkipConnection(
            Chain(
                LayerNorm((48, 1); dims = 1, epsilon = 1e-5),  # norm1
                Attention(48; heads = 3, causal = true),  # attention1
            ),
            +,
        ),
        SkipConnection(
            Chain(
                LayerNorm((48, 1); dims = 1, epsilon = 1e-5),  # norm2
                Dense(48 => 192, gelu_erf),  # dense1
                Dense(192 => 48),  # dense2
            ),
            +,
        ),
        SkipConnection(
            Chain(
                LayerNorm((48, 1); dims = 1, epsilon = 1e-5),  # norm3
                Attention(48; heads = 3, causal = true),  # attention2
            ),
            +,
        ),
        SkipConnection(
            Chain(
                LayerNorm((48, 1); dims = 1, epsilon = 1e-5),  # norm4
                Dense(48 => 192, gelu_erf),  # dense3
                Dense(192 => 48),  # dense4
            ),
            +,
        ),
        LayerNorm((48, 1); dims = 1, epsilon = 1e-5),  # norm5
        Dense(48 => 88),  # dense5
    )
end

const loss = CrossEntropyLoss(; logits = Val(true))
