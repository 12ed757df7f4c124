"""
The events of a problem: `callback` looks for those that a condition decides, or is `nothing`; `scheduled` are the others,
each at an end of a segment.
"""
struct Events{C, S}
    callback::C
    scheduled::S
end

events(::Nothing, in_place) = nothing

function events(listed::Tuple, in_place)
    watched = filter(event -> event.condition !== nothing, listed)
    callback = isempty(watched) ? nothing : CallbackSet(map(event -> continuous(event, in_place), watched)...)
    return Events(callback, filter(event -> event.condition === nothing, listed))
end

"""What looks for the zeros of a condition in the direction of its event, and changes the state there."""
function continuous(event, in_place::Val)
    condition(y, t, integrator) = event.condition(y, integrator.p, t)
    happens!(integrator) = reset!(in_place, integrator, event.reset(integrator.u, integrator.p, integrator.t))
    rises, falls = event.direction < 0 ? nothing : happens!, event.direction > 0 ? nothing : happens!
    return ContinuousCallback(condition, rises, falls; save_positions = (false, false))
end

reset!(::Val{true}, integrator, y) = (integrator.u .= y; nothing)
reset!(::Val{false}, integrator, y) = (integrator.u = convert(typeof(integrator.u), y); nothing)

"""The state after the events that are scheduled at the end of a segment, in the order of the file."""
after(::Nothing, segment, y, p) = y

function after(events::Events, segment, y, p)
    t = segment.problem.tspan[2]
    return foldl((y, event) -> t in event.times ? convert(typeof(y), event.reset(y, p, t)) : y, events.scheduled; init = y)
end

"""What a solve takes for the events."""
watching(::Nothing) = (;)
watching(events::Events) = events.callback === nothing ? (;) : (; callback = events.callback)
