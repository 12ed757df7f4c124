# around for Julia, emitted from its neutral spec e3107e5d5b0f.

using ComponentArrays: ComponentVector, getaxes
using Lux: Chain, Dense, setup
using Lux.NNlib: logsumexp
using Random: Xoshiro

const N_STATES = 3
const N_PARAMETERS = 41
const HAS_BRANCHES = false
const STENCILS = nothing

const MODEL_encode = Chain(Dense(3 => 4, tanh), Dense(4 => 2))
const WEIGHTS_encode, STATES_encode = setup(Xoshiro(0), MODEL_encode)
const MODEL_head = Chain(Dense(2 => 4))
const WEIGHTS_head, STATES_head = setup(Xoshiro(0), MODEL_head)
# The parameters as they are differentiated and trained: one flat vector whose parts have names.
const LAYOUT = getaxes(ComponentVector(k = 0.0, v = zeros(2), encode = WEIGHTS_encode, head = WEIGHTS_head))

named(p) = ComponentVector(p, LAYOUT)

encode(x, weights) = first(MODEL_encode(x, weights, STATES_encode))
head(x, weights) = first(MODEL_head(x, weights, STATES_head))

function rhs(y, p, t)
    k_ = p.k
    v__1 = p.v[2]
    a = y[1]
    b = y[2]
    c = y[3]
    return [-a*k_ + c, a*b - c*v__1, -c]
end

# Data of each trajectory: u, label, w.
const GIVEN = [
    (0.5, 2, [0.5, -0.7, 1.5]),
    (-1.5, 0, [-0.3, 0.2, 0.1]),
    (0.75, 3, [0.9, 1.1, -0.4]),
]

function initial_state(u, label, w, p)
    k_ = p.k
    v__0 = p.v[1]
    v__1 = p.v[2]
    encode_1 = encode(w, p.encode)
    return [u*v__0 + encode_1[1], k_^2 + v__1, 0.25]
end

function observed(y, p)
    k_ = p.k
    a = y[1]
    b = y[2]
    c = y[3]
    return head([a + c*k_, b], p.head)
end

function loss(ys, u, label, w, p)
    scores = observed(ys[end], p)
    return 0.25*(logsumexp(scores) - scores[label + 1])
end
