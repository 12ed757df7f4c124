"""
A part of the time span in which the right-hand side is smooth.

`times` end with the segment; the first `n_saved` of them are saved times. The right-hand side of `problem` sees `t` inside
the segment's open ends, so that a jump at one of them is taken from the right side. `breaks`, the last of which is the
segment's end, part the interval of a quadrature; `nothing` where there is none. With `lands` as `Val(true)` steps end at
every one of the `times`.
"""
struct Segment{Q, B, L}
    problem::Q
    times::Vector{Float64}
    n_saved::Int
    breaks::B
    lands::L
end

"""What `solve` takes to end steps at the times of a segment; nothing where they are interpolated."""
stops(segment::Segment{Q, B, Val{true}}) where {Q, B} = (; tstops = segment.times)
stops(_) = (;)

# Gauss-Kronrod's first nodes lie at 0.4 % of an interval: what falls off within a hundredth of it is seen.
const BREAK_RATIO = 0.01
const BREAKS_EACH_SIDE = 5

"""
    breaks(start)

Break the interval from `start` to zero for `QuadratureAdjoint`, which gives QuadGK one part after the other. On a stiff
problem the adjoint solution falls off within the fastest time scale before each saved time, and the solution after the
start. In an interval that is very much longer QuadGK's first nodes miss that, and take the smooth rest for all. The
breaks come closer and closer to both ends, to 1e-10 of the interval.
"""
function breaks(start)
    closer = [BREAK_RATIO^k for k in 1:BREAKS_EACH_SIDE]
    return unique(sort([start * (1 .- closer); start * closer; 0.0]))
end

"""
    cut(segments, parts)

Segments from one saved time to the next, in each of which time is counted from its end; `parts` makes the breaks of each
from where it starts.

Before each saved time of a stiff problem the adjoint solution has a layer, which may last for no more than a few hundred
of the numbers that there are near that time. Adjoints that sum over differences of times round the steps in it; near zero
there are numbers enough.
"""
cut(segments, parts) = mapreduce(segment -> pieces(segment, parts), vcat, segments)
# Of each trajectory those that paths give it.
cut(segments::Vector{<:Vector}, parts) = map(each -> cut(each, parts), segments)

function pieces(segment::Segment, parts)
    whole, times = segment.problem, segment.times
    return map(eachindex(times), [whole.tspan[1]; times[1:(end - 1)]], times) do k, from, to
        problem = ODEProblem(counted_from(to, whole.f), whole.u0, (from - to, 0.0), whole.p)
        Segment(problem, [0.0], Int(k <= segment.n_saved), parts(from - to), Val(false))
    end
end

"""A right-hand side whose time is counted from `origin`."""
struct Shifted{F}
    right_hand_side::F
    origin::Float64
end

(s::Shifted)(y, p, t) = s.right_hand_side(y, p, t + s.origin)
(s::Shifted)(dy, y, p, t) = s.right_hand_side(dy, y, p, t + s.origin)

function counted_from(origin, f::ODEFunction{inplace}) where {inplace}
    return ODEFunction{inplace, FullSpecialize}(Shifted(f.f, origin); jac_prototype = f.jac_prototype)
end

"""When a segment's solve for a gradient is saved."""
gradient_times(segment::Segment) = segment.breaks === nothing ? segment.times : segment.breaks

"""Of the states at [`gradient_times`](@ref) those at the segment's own."""
at_times(::Nothing, states) = states
at_times(breaks, states) = states[end:end]

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
