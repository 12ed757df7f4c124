# doses for Julia, emitted from its neutral spec e507686a8818.

import NaNMath
using ComponentArrays: ComponentVector, getaxes

const N_STATES = 3
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
    dose = y[3]
    c0 = k_*x
    return [-c0 + dose, c0 - 0.2*x0*y_, 0]
end

# Data of each trajectory: dose_given, start_given, start_is_1, start_is_2, measured, measured_at_start.
const GIVEN = [
    (0.0, 0.0, 1.0, 0.0, reshape([1.0, 1.0, 1.3, 1.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.9, 0.2, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], 7, 3), [0.0, 1.0, 2.1, 0.0, 1.0, 0.0, 1.0]),
    (1.5, 0.0, 0.0, 1.0, reshape([1.0, 1.0, 3.3, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 4.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.1], 7, 3), [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0]),
    (0.3, 1.0, 0.0, 0.0, reshape([1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.3, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], 7, 3), [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0]),
]

function initial_state(dose_given, start_given, start_is_1, start_is_2, measured, measured_at_start, p)
    x0 = p.x0
    sd = p.sd
    c0 = start_given + start_is_1*x0 + 2*start_is_2*x0
    c1 = 0.5/sd^2
    c2 = NaNMath.log(sd) + 0.9189385332046728
    penalty = (c1*(c0 - 1.2)^2 + c2)*measured_at_start[4] + (c1*(c0 - measured_at_start[3])^2 + c2)*measured_at_start[2]
    return [c0, 0.0, dose_given], penalty
end

function observed(y, measured_row, p)
    sd = p.sd
    x = y[1]
    y_ = y[2]
    dose = y[3]
    c0 = dose*y_ + x
    c1 = 0.5/sd^2
    c3 = NaNMath.log(sd) + 0.9189385332046728
    c4 = measured_row[7]
    return (c1*(c0 - 1.2)^2 + c3)*measured_row[4] + (c1*(c0 - measured_row[3])^2 + c3)*measured_row[2] + (NaNMath.log(c4) + 0.9189385332046728 + 0.5*(y_ - measured_row[6])^2/c4^2)*measured_row[5]
end

function loss(ys, dose_given, start_given, start_is_1, start_is_2, measured, measured_at_start, p)
    return sum(k -> observed(ys[k], measured[:, k], p), eachindex(ys))
end
