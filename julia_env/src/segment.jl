"""
A part of the time span in which the right-hand side is smooth.

`times` end with the segment; the first `n_saved` of them are saved times. The right-hand side of `problem` sees `t` inside
the segment's open ends, so that a jump at one of them is taken from the right side.
"""
struct Segment{Q}
    problem::Q
    times::Vector{Float64}
    n_saved::Int
end

"""A right-hand side that sees `t` between two bounds."""
struct Clipped{F}
    right_hand_side::F
    low::Float64
    high::Float64
end

(c::Clipped)(y, p, t) = c.right_hand_side(y, p, clamp(t, c.low, c.high))
(c::Clipped)(dy, y, p, t) = c.right_hand_side(dy, y, p, clamp(t, c.low, c.high))

function clipped(right_hand_side, low, high)
    return isfinite(low) || isfinite(high) ? Clipped(right_hand_side, low, high) : right_hand_side
end
