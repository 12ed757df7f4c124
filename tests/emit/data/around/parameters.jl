# around for Julia, emitted from its neutral spec 6a5eec4f29ea.

using ComponentArrays: ComponentVector, getaxes

const N_STATES = 2
const N_PARAMETERS = 4
const HAS_BRANCHES = false
const STENCILS = nothing

# The parameters as they are differentiated and trained: one flat vector whose parts have names.
const LAYOUT = getaxes(ComponentVector(k = 0.0, a = zeros(2), s = 0.0))

named(p) = ComponentVector(p, LAYOUT)

function rhs(y, p, t)
    k_ = p.k
    a__1 = p.a[2]
    x = y[1]
    v = y[2]
    return [v, a__1*v - k_*x - x^3]
end

# Data of each trajectory: u, m.
const GIVEN = [
    (0.8, [1.0, 0.5, -0.25]),
]

function initial_state(u, m, p)
    a__0 = p.a[1]
    a__1 = p.a[2]
    s = p.s
    r = sqrt(a__0^2 + u^2)
    penalty = r*s^2
    return [a__1 + r, 0.5], penalty
end

function observed(y, p)
    s = p.s
    x = y[1]
    v = y[2]
    return s*v^2 + x
end

function loss(ys, u, m, p)
    return 2.0*sum(k -> abs2(observed(ys[k], p) - m[k]), eachindex(ys))
end
