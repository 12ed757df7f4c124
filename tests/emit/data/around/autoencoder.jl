# around for Julia, emitted from its neutral spec ef27735e7c91.

using ComponentArrays: ComponentVector, getaxes
using Lux: Chain, Dense, setup
using Lux.NNlib: elu, softplus
using Random: Xoshiro

const N_STATES = 3
const N_PARAMETERS = 154
const HAS_BRANCHES = false
const STENCILS = nothing

const MODEL_encode = Dense(7 => 5, tanh)
const WEIGHTS_encode, STATES_encode = setup(Xoshiro(0), MODEL_encode)
const MODEL_ahead = Dense(5 => 3, softplus)
const WEIGHTS_ahead, STATES_ahead = setup(Xoshiro(0), MODEL_ahead)
const MODEL_mean = Chain(Dense(5 => 3))
const WEIGHTS_mean, STATES_mean = setup(Xoshiro(0), MODEL_mean)
const MODEL_f = Chain(Dense(4 => 6, tanh), Dense(6 => 3))
const WEIGHTS_f, STATES_f = setup(Xoshiro(0), MODEL_f)
const MODEL_decode = Chain(Dense(3 => 4, elu), Dense(4 => 2))
const WEIGHTS_decode, STATES_decode = setup(Xoshiro(0), MODEL_decode)
# The parameters as they are differentiated and trained: one flat vector whose parts have names.
const LAYOUT = getaxes(ComponentVector(
    k = 0.0,
    encode = WEIGHTS_encode,
    ahead = WEIGHTS_ahead,
    mean = WEIGHTS_mean,
    f = WEIGHTS_f,
    decode = WEIGHTS_decode,
))

named(p) = ComponentVector(p, LAYOUT)

mean(x, weights) = first(MODEL_mean(x, weights, STATES_mean))
f(x, weights) = first(MODEL_f(x, weights, STATES_f))
decode(x, weights) = first(MODEL_decode(x, weights, STATES_decode))

function encode(xs, weights)
    step(h, x) = first(MODEL_encode([x; h], weights, STATES_encode))
    return foldl(step, reverse(eachcol(xs)); init = zeros(5))
end

function ahead(xs, weights)
    step(h, x) = first(MODEL_ahead([x; h], weights, STATES_ahead))
    return foldl(step, eachcol(xs); init = zeros(3))
end

function rhs(y, p, t)
    k_ = p.k
    z = y
    f_1 = f([z; t], p.f)
    return f_1 - k_*z
end

# Data of each trajectory: x, w.
const GIVEN = [
    (reshape([0.5, -1.0, 0.25, 2.0, 1.0, 0.5], 2, 3), [0.5, -0.7, 1.5]),
    (reshape([-0.5, 1.5, 0.0, 1.0, -1.0, 0.25], 2, 3), [-0.3, 0.2, 0.1]),
]

function initial_state(x, w, p)
    k_ = p.k
    h = encode(x, p.encode)
    m = mean(h, p.mean)
    ahead_1 = ahead(x, p.ahead)
    total_1 = sum(@.(-m + exp(m) - 1))
    total_2 = sum(m .* w)
    penalty = k_^2 + 0.5*total_1 + total_2
    return @.(m + w*exp(0.5*ahead_1)), penalty
end

function loss(ys, x, w, p)
    return 0.5*sum(abs2, decode(reduce(hcat, ys), p.decode) .- x)
end
