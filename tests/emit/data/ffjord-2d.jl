# ffjord-2d for Julia, emitted from its neutral spec 21997b1056cd.

using ComponentArrays: ComponentVector, getaxes
using Lux: Chain, Dense, setup
using Random: Xoshiro

const N_STATES = 3
const N_PARAMETERS = 1250
const HAS_BRANCHES = false
const STENCILS = nothing

const MODEL_f = Chain(Dense(3 => 32, tanh), Dense(32 => 32, tanh), Dense(32 => 2))
const WEIGHTS_f, STATES_f = setup(Xoshiro(0), MODEL_f)
# The parameters as they are differentiated and trained: one flat vector whose parts have names.
const LAYOUT = getaxes(ComponentVector(f = WEIGHTS_f))

named(p) = ComponentVector(p, LAYOUT)

f(x, weights) = first(MODEL_f(x, weights, STATES_f))

function divergence_f(x, weights)
    z1 = weights.layer_1.weight*x .+ weights.layer_1.bias
    x1 = tanh.(z1)
    z2 = weights.layer_2.weight*x1 .+ weights.layer_2.bias
    x2 = tanh.(z2)
    jacobian = @.(1 - x1^2) .* weights.layer_1.weight[:, 1:2]
    jacobian = @.(1 - x2^2) .* (weights.layer_2.weight*jacobian)
    return sum(weights.layer_3.weight .* jacobian')
end

function rhs(y, p, t)
    f_1 = f([y[1:2]; t], p.f)
    f_slope_1 = divergence_f([y[1:2]; t], p.f)
    return [f_1[1], f_1[2], -f_slope_1]
end

loss(ys) = sum(abs2, ys[end])
