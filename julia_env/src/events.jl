"""
The events of a problem: `callback` looks for those that a condition decides, or is `nothing`; `scheduled` are the others,
each at an end of a segment.
"""
struct Events{C, S}
    callback::C
    scheduled::S
end

events(::Nothing, in_place, how) = nothing

function events(listed::Tuple, in_place, how)
    watched = filter(event -> event.condition !== nothing, listed)
    callback = isempty(watched) ? nothing : CallbackSet(map(event -> continuous(event, in_place, how), watched)...)
    return Events(callback, filter(event -> event.condition === nothing, listed))
end

"""What looks for the zeros of a condition in the direction of its event, and changes the state there."""
function continuous(event, in_place::Val, how)
    condition(y, t, integrator) = event.condition(y, integrator.p, t)
    happens!(integrator) = reset!(in_place, integrator, event.reset(integrator.u, integrator.p, integrator.t))
    # An adjoint interpolates the solution, so that it needs the states on both sides of an event: without them its gradient
    # is wrong. It fails where nothing happens.
    is_forward = how isa Forward
    stays = is_forward ? nothing : (integrator -> nothing)
    rises, falls = event.direction < 0 ? stays : happens!, event.direction > 0 ? stays : happens!
    return ContinuousCallback(condition, rises, falls; save_positions = (!is_forward, !is_forward))
end

reset!(::Val{true}, integrator, y) = (integrator.u .= y; nothing)
reset!(::Val{false}, integrator, y) = (integrator.u = convert(typeof(integrator.u), y); nothing)

"""The state after the events that are scheduled at the end of a segment, in the order of the file."""
after(::Nothing, segment, y, p) = y

after(events::Events, segment, y, p) = after_each(events.scheduled, segment.problem.tspan[2], y, p)

# A `foldl` of the same steps got wrong derivatives from Zygote.
after_each(::Tuple{}, t, y, p) = y
function after_each(events::Tuple, t, y, p)
    event = first(events)
    return after_each(Base.tail(events), t, t in event.times ? like(y, event.reset(y, p, t)) : y, p)
end

"""A state in the form of another one."""
like(y::SVector, new) = convert(typeof(y), new)
like(_, new) = collect(new)

"""What a solve takes for the events."""
watching(::Nothing) = (;)
watching(events::Events) = events.callback === nothing ? (;) : (; callback = events.callback)
