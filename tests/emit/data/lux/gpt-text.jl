# gpt-text for Lux, emitted from its neutral spec 275279d72242.

using Lux
using Lux.NNlib: gelu_erf
using Random: AbstractRNG

struct Positions <: Lux.AbstractLuxLayer
    width::Int
    count::Int
end

function Lux.initialparameters(rng::AbstractRNG, layer::Positions)
    return (; weight = zeros32(rng, layer.width, layer.count))
end

(::Positions)(x, ps, st) = x .+ ps.weight, st

function build_model()
    return Chain(;
        embedding1 = Embedding(88 => 48),
        positions1 = Positions(48, 32),
        residual1 = SkipConnection(
            Chain(;
                norm1 = LayerNorm((48, 1); dims = 1, epsilon = 1e-5),
                attention1 = MultiHeadAttention(48; nheads = 3, is_causal = true, dense_kwargs = (; use_bias = true)),
                output1 = WrappedFunction(first),
            ),
            +,
        ),
        residual2 = SkipConnection(
            Chain(;
                norm2 = LayerNorm((48, 1); dims = 1, epsilon = 1e-5),
                dense1 = Dense(48 => 192, gelu_erf),
                dense2 = Dense(192 => 48),
            ),
            +,
        ),
        residual3 = SkipConnection(
            Chain(;
                norm3 = LayerNorm((48, 1); dims = 1, epsilon = 1e-5),
                attention2 = MultiHeadAttention(48; nheads = 3, is_causal = true, dense_kwargs = (; use_bias = true)),
                output2 = WrappedFunction(first),
            ),
            +,
        ),
        residual4 = SkipConnection(
            Chain(;
                norm4 = LayerNorm((48, 1); dims = 1, epsilon = 1e-5),
                dense3 = Dense(48 => 192, gelu_erf),
                dense4 = Dense(192 => 48),
            ),
            +,
        ),
        norm5 = LayerNorm((48, 1); dims = 1, epsilon = 1e-5),
        dense5 = Dense(48 => 88),
    )
end

const loss = CrossEntropyLoss(; logits = Val(true))
