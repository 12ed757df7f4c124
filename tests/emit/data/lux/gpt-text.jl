# gpt-text for Lux, emitted from its neutral spec 275279d72242.

using Lux
using Lux.NNlib: dot_product_attention, gelu_erf, make_causal_mask
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
    q, _ = layer.q(x, ps.q, st.q)
    k, _ = layer.k(x, ps.k, st.k)
    v, _ = layer.v(x, ps.v, st.v)
    mask = layer.causal ? make_causal_mask(x) : nothing
    y, _ = dot_product_attention(q, k, v; nheads = layer.heads, mask)
    y, _ = layer.project(y, ps.project, st.project)
    return y, st
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
