"""
The right-hand side of an equation that paths drive, on an interval on which they are smooth: `slopes` are their
derivatives, each a function of t.
"""
struct Driven{F, S}
    right_hand_side::F
    slopes::S
end

(d::Driven)(y, p, t) = d.right_hand_side(y, p, t, d.slopes...)

"""
The right-hand side between two times for a trajectory with these data. What paths drive sees t as it is, unless something
in it may jump: a tape would keep the bound that it was made at.
"""
function driven(emitted::Equations, given, (start, stop), (low, high))
    right_hand_side = Driven(emitted.out_of_place, emitted.controls((start + stop) / 2, given...))
    return emitted.has_branches ? clipped(right_hand_side, low, high) : right_hand_side
end

"""The segments of a trajectory: those of all, or where paths drive the equation its own."""
segments_of(segments::Tuple, i) = segments
segments_of(segments::Vector{<:Segment}, i) = segments
segments_of(segments::Vector, i) = segments[i]
