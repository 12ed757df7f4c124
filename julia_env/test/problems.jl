# Emitted modules as sciml-bench's Julia emitter writes them, and the cells that are built of them.

const LOTKA_VOLTERRA = """
# lotka-volterra
using StaticArrays: SVector
const N_STATES = 2
const N_PARAMETERS = 4
const HAS_BRANCHES = false
const STENCILS = nothing
function rhs(y, p, t)
    a, b, c, d = p
    x, y_ = y
    return SVector(a*x - b*x*y_, -c*y_ + d*x*y_)
end
function rhs!(dy, y, p, t)
    a, b, c, d = p
    x, y_ = y
    dy[1] = a*x - b*x*y_
    dy[2] = -c*y_ + d*x*y_
    return nothing
end
loss(ys) = sum(y -> sum(abs2, y), ys)
"""

const ROBERTSON = """
# robertson
using StaticArrays: SVector
const N_STATES = 3
const N_PARAMETERS = 3
const HAS_BRANCHES = false
const STENCILS = nothing
function rhs(y, p, t)
    k1, k2, k3 = p
    y1, y2, y3 = y
    return SVector(-k1*y1 + k3*y2*y3, k1*y1 - k2*y2^2 - k3*y2*y3, k2*y2^2)
end
function rhs!(dy, y, p, t)
    dy .= rhs(y, p, t)
    return nothing
end
loss(ys) = sum(y -> sum(abs2, y ./ SVector(1.0, 1e-5, 1.0)), ys)
"""

# y' = -k y, and from t = 1 on y' = -k y + drive: a jump, with a closed form.
const SWITCHED = """
# switched
using StaticArrays: SVector
const N_STATES = 1
const N_PARAMETERS = 2
const HAS_BRANCHES = true
const STENCILS = nothing
function rhs(y, p, t)
    k, drive = p
    return SVector(-k*y[1] + (t >= 1.0)*drive)
end
function rhs!(dy, y, p, t)
    dy[1] = -p[1]*y[1] + (t >= 1.0)*p[2]
    return nothing
end
loss(ys) = sum(y -> sum(abs2, y), ys)
"""

# y' = y^2 is infinite at t = 1.
const BLOW_UP = """
# blow-up
using StaticArrays: SVector
const N_STATES = 1
const N_PARAMETERS = 1
const HAS_BRANCHES = false
const STENCILS = nothing
rhs(y, p, t) = SVector(p[1]*y[1]^2)
function rhs!(dy, y, p, t)
    dy[1] = p[1]*y[1]^2
    return nothing
end
loss(ys) = sum(y -> sum(abs2, y), ys)
"""

# Diffusion and decay on a ring of 40 places: a field without a static form, with a sparse Jacobian.
const RING = """
# ring
const N_STATES = 40
const N_PARAMETERS = 2
const HAS_BRANCHES = false
const STENCILS = (shape = (40,), wraps = (true,), blocks = [
    (row = 0, column = 0, offsets = [(-1,), (0,), (1,)]),
])
function rhs!(dy, y, p, t)
    @inbounds for i in 1:40
        ahead = y[i == 40 ? 1 : i + 1]
        behind = y[i == 1 ? 40 : i - 1]
        dy[i] = p[1]*(ahead - 2*y[i] + behind) - p[2]*y[i]^3
    end
    return nothing
end
loss(ys) = sum(y -> sum(abs2, y), ys)
"""

# One hidden layer beside a named parameter, as the emitter writes networks.
const NETWORK = """
# network
using ComponentArrays: ComponentVector, getaxes
using Lux: Chain, Dense, setup
using Random: Xoshiro
const N_STATES = 2
const N_PARAMETERS = 23
const HAS_BRANCHES = false
const STENCILS = nothing
const MODEL_f = Chain(Dense(2 => 4, tanh), Dense(4 => 2))
const WEIGHTS_f, STATES_f = setup(Xoshiro(0), MODEL_f)
const LAYOUT = getaxes(ComponentVector(k = 0.0, f = WEIGHTS_f))
named(p) = ComponentVector(p, LAYOUT)
f(x, weights) = first(MODEL_f(x, weights, STATES_f))
function rhs(y, p, t)
    k = p.k
    f_1 = f(y, p.f)
    return f_1 - k*y
end
loss(ys) = sum(y -> sum(abs2, y), ys)
"""

# A ball that falls from a height of 1 and loses energy at each impact; doses at t = 1 and 2 of a substance that decays.
const BALL = """
# ball
using StaticArrays: SVector
const N_STATES = 3
const N_PARAMETERS = 3
const HAS_BRANCHES = false
const STENCILS = nothing
rhs(y, p, t) = SVector(y[2], -p[1], -p[3]*y[3])
function rhs!(dy, y, p, t)
    dy .= rhs(y, p, t)
    return nothing
end
when__impact(y, p, t) = y[1]
reset__impact(y, p, t) = SVector(y[1], -p[2]*y[2], y[3])
reset__dose(y, p, t) = SVector(y[1], y[2], y[3] + 1)
const EVENTS = (
    (condition = when__impact, direction = -1, times = Float64[], reset = reset__impact),
    (condition = nothing, direction = 0, times = Float64[1.0, 2.0], reset = reset__dose),
)
loss(ys) = sum(ys[end])
"""

# Robertson's kinetics with the sum of all species as an algebraic equation.
const ROBERTSON_DAE = replace(
    ROBERTSON, "const STENCILS" => "const N_ALGEBRAIC = 1\nconst STENCILS", "loss(ys)" => """
    dae(y, p, t) = SVector(rhs(y, p, t)[1], rhs(y, p, t)[2], sum(y) - 1)
    function dae!(dy, y, p, t)
        dy .= dae(y, p, t)
        return nothing
    end
    loss(ys)""",
)

"""A problem's numbers, as the Python side has them."""
struct Numbers
    source::String
    y0::Vector{Float64}
    p::Vector{Float64}
    atol_scale::Vector{Float64}
    spans::Matrix{Float64}
    times::Vector{Float64}
end

whole(stop, times) = ([0.0 stop -Inf Inf length(times)], times)

const PROBLEMS = Dict(
    "lotka-volterra" => Numbers(LOTKA_VOLTERRA, [1.0, 1.0], [1.5, 1.0, 3.0, 1.0], [1.0, 1.0], whole(5.0, [2.5, 5.0])...),
    "robertson" => Numbers(
        ROBERTSON, [1.0, 0.0, 0.0], [0.04, 3e7, 1e4], [1.0, 1e-5, 1.0], whole(1e4, [1.0, 100.0, 1e4])...
    ),
    "robertson-dae" => Numbers(
        ROBERTSON_DAE, [1.0, 0.0, 0.0], [0.04, 3e7, 1e4], [1.0, 1e-5, 1.0], whole(1e4, [1.0, 100.0, 1e4])...
    ),
    "ball" => Numbers(
        BALL, [1.0, 0.0, 0.0], [9.81, 0.8, 0.5], [1.0, 1.0, 1.0],
        [0.0 1.0 -Inf 1.0 1; 1.0 2.0 1.0 2.0 0; 2.0 2.5 2.0 Inf 1], [0.5, 1.0, 2.0, 2.5],
    ),
    "switched" => Numbers(
        SWITCHED, [1.0], [2.0, 100.0], [1.0],
        [0.0 1.0 -Inf prevfloat(1.0) 1; 1.0 2.0 nextfloat(1.0) Inf 1], [0.5, 1.0, 2.0],
    ),
    "blow-up" => Numbers(BLOW_UP, [1.0], [1.0], [1.0], whole(2.0, [2.0])...),
    "network" => Numbers(
        NETWORK, [1.0, -0.5], [0.5; 0.6 .* sin.(1:22)], [1.0, 1.0], whole(2.0, [1.0, 2.0])...
    ),
    "ring" => Numbers(RING, [1 + 0.5 * sin(i) for i in 1:40], [10.0, 0.5], ones(40), whole(1.0, [0.5, 1.0])...),
)

function build(name, method, sensitivity = "forward", mode = "compiled", wrt = "parameters")
    n = PROBLEMS[name]
    return SciMLBench.build(n.source, method, sensitivity, mode, wrt, n.y0, n.p, n.atol_scale, n.spans, n.times)
end

theta(name, wrt = "parameters") = wrt == "parameters" ? PROBLEMS[name].p : PROBLEMS[name].y0

function solved(name, method, reltol; options...)
    return SciMLBench.solved(inputs(build(name, method; options...), theta(name), reltol))
end

inputs(cell, values, reltol) = SciMLBench.prepare(cell, values, reltol, reltol / 100)

function value(output)
    output.failure === nothing || throw(output.failure)
    return output.value
end
