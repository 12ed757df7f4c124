# lynx-hare-ude for Julia, emitted from its neutral spec 625a67de1e59.

using ComponentArrays: ComponentVector, getaxes
using Lux: Chain, Dense, setup
using Random: Xoshiro

const N_STATES = 2
const N_PARAMETERS = 89
const HAS_BRANCHES = false
const STENCILS = nothing

rbf(x) = exp(-x^2)

const MODEL_f = Chain(Dense(2 => 5, rbf), Dense(5 => 5, rbf), Dense(5 => 5, rbf), Dense(5 => 2))
const WEIGHTS_f, STATES_f = setup(Xoshiro(0), MODEL_f)
# The parameters as they are differentiated and trained: one flat vector whose parts have names.
const LAYOUT = getaxes(ComponentVector(growth = 0.0, decay = 0.0, f = WEIGHTS_f))

named(p) = ComponentVector(p, LAYOUT)

f(x, weights) = first(MODEL_f(x, weights, STATES_f))

function rhs(y, p, t)
    growth = p.growth
    decay = p.decay
    hare = y[1]
    lynx = y[2]
    f_1 = f([0.02*hare, 0.02*lynx], p.f)
    return [growth*hare*(1 - 0.005*hare) + 50*f_1[1], -decay*lynx + 50*f_1[2]]
end

const LOSS_DATA = reduce(hcat, [
    [47.2, 6.1],
    [70.2, 9.8],
    [77.4, 35.2],
    [36.3, 59.4],
    [20.6, 41.7],
    [18.1, 19.0],
    [21.4, 13.0],
    [22.0, 8.3],
    [25.4, 9.1],
    [27.1, 7.4],
    [40.3, 8.0],
    [57.0, 12.3],
    [76.6, 19.5],
    [52.3, 45.7],
    [19.5, 51.1],
    [11.2, 29.7],
    [7.6, 15.8],
    [14.6, 9.7],
    [16.2, 10.1],
    [24.7, 8.6],
])

loss(ys) = sum(abs2, (reduce(hcat, ys) .- LOSS_DATA) ./ 50.0)
