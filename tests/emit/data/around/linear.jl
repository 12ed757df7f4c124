# around for Julia, emitted from its neutral spec a372bb82cc1f.

using ComponentArrays: ComponentVector, getaxes
using Lux: Chain, Dense, setup
using Random: Xoshiro

const N_STATES = 2
const N_PARAMETERS = 39
const HAS_BRANCHES = false
const STENCILS = nothing

const MODEL_f = Chain(Dense(2 => 5, tanh), Dense(5 => 4))
const WEIGHTS_f, STATES_f = setup(Xoshiro(0), MODEL_f)
# The parameters as they are differentiated and trained: one flat vector whose parts have names.
const LAYOUT = getaxes(ComponentVector(f = WEIGHTS_f))

named(p) = ComponentVector(p, LAYOUT)

f(x, weights) = first(MODEL_f(x, weights, STATES_f))

function rhs(y, p, t, ddt_X)
    z = y
    f_1 = f(z, p.f)
    slope_1 = ddt_X(t)
    product_1 = transpose(reshape(f_1, 2, 2))*slope_1
    return product_1 - z
end

# Data of each trajectory: x, first.
const GIVEN = [
    (reshape([0.0, 1.0, 0.5, -1.0, 0.25, 2.0, 1.0, 0.5], 2, 4), [0.5, -0.7]),
    (reshape([1.0, 0.0, -0.5, 1.5, 0.0, 1.0, -1.0, 0.25], 2, 4), [-0.3, 0.2]),
]

# When X has its values.
const TIMES__X = [0.0, 0.25, 0.625, 1.0]

# The derivative of X between its value k and the next one.
function slope_X(x, k)
    line = (x[:, k + 1] - x[:, k])/(TIMES__X[k + 1] - TIMES__X[k])
    return t -> line
end

# What rhs takes of the paths of a trajectory, on the interval between two values that holds t.
controls(t, x, first_) = (slope_X(x, searchsortedlast(TIMES__X, t)),)

function initial_state(x, first_, p)
    return first_
end

function loss(ys, x, first_, p)
    return sum(abs2, reduce(hcat, ys))
end
