# around for Julia, emitted from its neutral spec c052f1eba752.

using ComponentArrays: ComponentVector, getaxes
using Lux: Chain, Dense, setup
using Random: Xoshiro

const N_STATES = 3
const N_PARAMETERS = 66
const HAS_BRANCHES = false
const STENCILS = nothing

const MODEL_f = Chain(Dense(2 => 5, tanh), Dense(5 => 2))
const WEIGHTS_f, STATES_f = setup(Xoshiro(0), MODEL_f)
const MODEL_g = Chain(Dense(2 => 5, tanh), Dense(5 => 4))
const WEIGHTS_g, STATES_g = setup(Xoshiro(0), MODEL_g)
# The parameters as they are differentiated and trained: one flat vector whose parts have names.
const LAYOUT = getaxes(ComponentVector(f = WEIGHTS_f, g = WEIGHTS_g))

named(p) = ComponentVector(p, LAYOUT)

f(x, weights) = first(MODEL_f(x, weights, STATES_f))
g(x, weights) = first(MODEL_g(x, weights, STATES_g))

function rhs(y, p, t, ddt_W)
    z = y[1:2]
    u = y[3:3]
    g_1 = g(z, p.g)
    slope_1 = ddt_W(t)
    product_1 = transpose(reshape(g_1, 2, 2))*slope_1
    f_1 = f(z, p.f)
    return [f_1 + product_1 - z; -u]
end

# Data of each trajectory: W_values.
const GIVEN = [
    (reshape([0.0, 0.0, 0.017876263707876205, 0.1767594963312149, -0.3342307209968567, 0.42198359966278076, -0.48212262988090515, -0.13824905455112457, -0.7111215591430664, 0.07337921857833862, -0.5936534404754639, -0.33231502771377563, -0.37492066621780396, -0.36342310905456543, -0.22463488578796387, -0.24595388770103455, -0.63363116979599, -0.121857650578022], 2, 9),),
    (reshape([0.0, 0.0, -0.21456705033779144, 0.5469397902488708, 0.0411728210747242, 0.5632511973381042, -0.3063672184944153, 0.5824960470199585, -0.2498365193605423, 0.15506833791732788, 0.5362400412559509, 0.29447275400161743, 1.134578824043274, -0.09896577149629593, 1.7129029035568237, -0.5801397562026978, 1.4826598167419434, -0.38835427165031433], 2, 9),),
]

# When W has its values.
const TIMES__W = range(0.0, 1.0, 9)

# The derivative of W between its value k and the next one.
function slope_W(W_values, k)
    line = (W_values[:, k + 1] - W_values[:, k])/(TIMES__W[k + 1] - TIMES__W[k])
    return t -> line
end

# What rhs takes of the paths of a trajectory, on the interval between two values that holds t.
controls(t, W_values) = (slope_W(W_values, searchsortedlast(TIMES__W, t)),)

function initial_state(W_values, p)
    return [[1.0, 0.0]; [0.5]]
end

function loss(ys, W_values, p)
    return sum(abs2, reduce(hcat, ys))
end
