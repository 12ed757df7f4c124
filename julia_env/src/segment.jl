"""
A part of the time span in which the right-hand side is smooth.

`times` end with the segment; the first `n_saved` of them are saved times. The right-hand side of `problem` sees `t` inside
the segment's open ends, so that a jump at one of them is taken from the right side. `breaks` are the [`Breaks`](@ref) of
a quadrature or `nothing`.
"""
struct Segment{Q, B}
    problem::Q
    times::Vector{Float64}
    n_saved::Int
    breaks::B
end

"""Times at which the solve of a quadrature is saved; those of its segment are at `places`."""
struct Breaks
    times::Vector{Float64}
    places::Vector{Int}
end

# Gauss-Kronrod's first nodes lie at 0.4 % of an interval: what falls off within a hundredth of it is seen.
const BREAK_RATIO = 0.01
const BREAKS_EACH_SIDE = 5

"""
    breaks(times, start)

Break the intervals between saved times for `QuadratureAdjoint`, which gives QuadGK one after the other. On a stiff problem
the adjoint solution falls off within the fastest time scale before each saved time, and the solution after the start. In
an interval that is very much longer QuadGK's first nodes miss that, and take the smooth rest for all. The breaks come
closer and closer to both ends, to 1e-10 of the interval.
"""
function breaks(times, start)
    closer = [BREAK_RATIO^k for k in 1:BREAKS_EACH_SIDE]
    inside = map([start; times[1:(end - 1)]], times) do low, high
        [[low + ratio * (high - low) for ratio in closer]; [high - ratio * (high - low) for ratio in closer]; high]
    end
    all_times = unique(sort(reduce(vcat, inside)))
    return Breaks(all_times, [searchsortedfirst(all_times, time) for time in times])
end

"""When a segment's solve for a gradient is saved."""
gradient_times(segment::Segment) = segment.breaks === nothing ? segment.times : segment.breaks.times

"""Of the states at [`gradient_times`](@ref) those at the segment's own."""
at_times(::Nothing, states) = states
at_times(breaks::Breaks, states) = [states[place] for place in breaks.places]

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
