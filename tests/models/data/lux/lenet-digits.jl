# lenet-digits for Lux, emitted from its neutral spec bacfa97d5998.

using ChainRulesCore: ChainRulesCore, NoTangent, unthunk
using Lux
using Lux.NNlib: maxpool

# Lux's MaxPool except its gradient, which goes to the first pixel that is ≈ the maximum; here it has to be equal.
struct ExactMaxPool <: Lux.AbstractLuxLayer
    window::Int
end

(layer::ExactMaxPool)(x, ps, st) = window_maxima(x, layer.window), st

window_maxima(x, window) = maxpool(x, (window, window))

function ChainRulesCore.rrule(::typeof(window_maxima), x, window)
    y = window_maxima(x, window)
    function pullback(thunk)
        dy, dx = unthunk(thunk), zero(x)
        @inbounds for place in CartesianIndices(y)
            w, h, channel, sample = Tuple(place)
            for j in (window * (h - 1) + 1):(window * h), i in (window * (w - 1) + 1):(window * w)
                if x[i, j, channel, sample] == y[place]
                    dx[i, j, channel, sample] = dy[place]
                    break
                end
            end
        end
        return NoTangent(), dx, NoTangent()
    end
    return y, pullback
end

function build_model()
    return Chain(
        Conv((3, 3), 1 => 16, relu; pad = 1, cross_correlation = true),  # conv1
        ExactMaxPool(2),
        Conv((3, 3), 16 => 32, relu; pad = 1, cross_correlation = true),  # conv2
        ExactMaxPool(2),
        FlattenLayer(),
        Dense(128 => 120, relu),  # dense1
        Dense(120 => 84, relu),  # dense2
        Dense(84 => 10),  # dense3
    )
end

const loss = CrossEntropyLoss(; logits = Val(true))
