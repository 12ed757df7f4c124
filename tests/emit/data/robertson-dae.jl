# robertson-dae for Julia, emitted from its neutral spec 156767123fcb.

using StaticArrays: SVector

const N_STATES = 3
const N_PARAMETERS = 3
const HAS_BRANCHES = false
const N_ALGEBRAIC = 1
const STENCILS = nothing

function rhs(y, p, t)
    k1, k2, k3 = p
    y1, y2, y3 = y
    c1 = k3*y2*y3
    c2 = k2*y2^2
    return SVector(c1 - k1*y1, -c1 - c2 + k1*y1, c2)
end

function rhs!(dy, y, p, t)
    k1, k2, k3 = p
    y1, y2, y3 = y
    c1 = k3*y2*y3
    c2 = k2*y2^2
    dy[1] = c1 - k1*y1
    dy[2] = -c1 - c2 + k1*y1
    dy[3] = c2
    return nothing
end

function dae(y, p, t)
    k1, k2, k3 = p
    y1, y2, y3 = y
    c1 = k3*y2*y3
    return SVector(c1 - k1*y1, -c1 + k1*y1 - k2*y2^2, y1 + y2 + y3 - 1)
end

function dae!(dy, y, p, t)
    k1, k2, k3 = p
    y1, y2, y3 = y
    c1 = k3*y2*y3
    dy[1] = c1 - k1*y1
    dy[2] = -c1 + k1*y1 - k2*y2^2
    dy[3] = y1 + y2 + y3 - 1
    return nothing
end

const LOSS_SCALE = SVector(1.0, 0.0001, 1.0)

loss(ys) = sum(y -> sum(abs2, y ./ LOSS_SCALE), ys)
