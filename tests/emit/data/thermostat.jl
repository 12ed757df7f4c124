# thermostat for Julia, emitted from its neutral spec 80add9f5a577.

using StaticArrays: SVector

const N_STATES = 2
const N_PARAMETERS = 4
const HAS_BRANCHES = false
const STENCILS = nothing

function rhs(y, p, t)
    cooling, heating, lower, upper = p
    temperature, heater = y
    return SVector(-cooling*(temperature - 10) + heater*heating, 0)
end

function rhs!(dy, y, p, t)
    cooling, heating, lower, upper = p
    temperature, heater = y
    dy[1] = -cooling*(temperature - 10) + heater*heating
    dy[2] = 0
    return nothing
end

function when__off(y, p, t)
    cooling, heating, lower, upper = p
    temperature, heater = y
    return temperature - upper
end

function when__on_again(y, p, t)
    cooling, heating, lower, upper = p
    temperature, heater = y
    return -lower + temperature
end

function reset__off(y, p, t)
    cooling, heating, lower, upper = p
    temperature, heater = y
    return SVector(temperature, 0)
end

function reset__on_again(y, p, t)
    cooling, heating, lower, upper = p
    temperature, heater = y
    return SVector(temperature, 1)
end

const EVENTS = (
    (condition = when__off, direction = 1, times = Float64[], reset = reset__off),
    (condition = when__on_again, direction = -1, times = Float64[], reset = reset__on_again),
)

loss(ys) = sum(y -> sum(abs2, y), ys)
