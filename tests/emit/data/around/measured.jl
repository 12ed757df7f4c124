# measured for Julia, emitted from its neutral spec 912d623f4ab0.

import NaNMath
using ComponentArrays: ComponentVector, getaxes

const N_STATES = 2
const N_PARAMETERS = 3
const HAS_BRANCHES = false
const STENCILS = nothing

# The parameters as they are differentiated and trained: one flat vector whose parts have names.
const LAYOUT = getaxes(ComponentVector(k = 0.0, x0 = 0.0, sd = 0.0))

named(p) = ComponentVector(p, LAYOUT)

function rhs(y, p, t)
    k_ = p.k
    x0 = p.x0
    x = y[1]
    y_ = y[2]
    c0 = k_*x
    return [-c0, c0 - 0.1*x0*y_]
end

# Data of each trajectory: measured, measured_at_start.
const GIVEN = [
    (reshape([1.0, 1.0, 1.2, 1.0, 0.0, 1.0, 1.0, 0.1, 0.0, 0.0, 2.5, 1.0, 0.6, 0.0, 0.0, 1.0, 0.3, 0.2, 1.0, 0.4054651081081644, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.22314355131420976, 4.0, 0.0, 0.0, 1.0, 0.11394335230683678, 1.0, 0.2, 0.3, 0.0, 0.0], 10, 4), [0.0, 1.0, 1.9, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0]),
]

function initial_state(measured, measured_at_start, p)
    x0 = p.x0
    sd = p.sd
    penalty = (NaNMath.log(sd) + 0.9189385332046728 + 0.5*(x0*(0.1*measured_at_start[1] + 1) - measured_at_start[3])^2/sd^2)*measured_at_start[2]
    return [x0, 0.0], penalty
end

function observed(y, measured_row, p)
    x0 = p.x0
    sd = p.sd
    x = y[1]
    y_ = y[2]
    c0 = measured_row[8]
    c1 = measured_row[9]
    c2 = measured_row[10]
    c4 = measured_row[5]
    c6 = measured_row[4]
    c7 = 1 - c6
    c8 = c6*sd*((2*x + 4*y_)^2 + 1) + c7
    return c1*(c2 + abs(2*c2 - 2*NaNMath.log(c1*(x^2 + 1) - c1 + 1))) + c6*(c4*2.302585092994046 + NaNMath.log(c8) + 0.8340324452479558 + 0.9189385332046728 + 0.5*(-c4 + NaNMath.log(c6*exp(x0*y_) + c7)/2.302585092994046)^2/c8^2) + (NaNMath.log(2*c0) + abs((x - measured_row[7])/c0))*measured_row[6] + (NaNMath.log(sd) + 0.9189385332046728 + 0.5*((x + 2*y_)*(0.1*measured_row[1] + 1) - measured_row[3])^2/sd^2)*measured_row[2]
end

function loss(ys, measured, measured_at_start, p)
    return sum(k -> observed(ys[k], measured[:, k], p), eachindex(ys))
end
