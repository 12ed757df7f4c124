# The temperatures of a room whose heater a relay switches, summed over 20 times, and the derivative by the `upper` bound.
using ForwardDiff, OrdinaryDiffEqRosenbrock, OrdinaryDiffEqTsit5, SciMLBase, StaticArrays

heating(u, p, t) = SVector(-(u[1] - 10) / 2 + 8 * u[2], zero(u[2]))

function heating!(du, u, p, t)
    du .= heating(u, p, t)
    return nothing
end

switched!(integrator, heater, ::SVector) = (integrator.u = oftype(integrator.u, SVector(integrator.u[1], heater)); nothing)
switched!(integrator, heater, _) = (integrator.u[2] = heater; nothing)

function temperature(upper, method, start, equation)
    off = SciMLBase.ContinuousCallback(
        (u, t, integrator) -> u[1] - integrator.p[1], integrator -> switched!(integrator, 0, integrator.u), nothing;
        save_positions = (false, false),
    )
    on = SciMLBase.ContinuousCallback(
        (u, t, integrator) -> u[1] - 18, nothing, integrator -> switched!(integrator, 1, integrator.u);
        save_positions = (false, false),
    )
    problem = SciMLBase.ODEProblem(equation, start * one(upper), (0.0, 10.0), [upper])
    callback = SciMLBase.CallbackSet(off, on)
    tolerances = (; reltol = 1e-8, abstol = 1e-8)
    return sum(first, SciMLBase.solve(problem, method; callback, saveat = 0.5:0.5:10, save_start = false, tolerances...).u)
end

for (name, method) in (("Tsit5", Tsit5()), ("Rodas5P", Rodas5P()))
    for (form, start, equation) in (("static", SVector(20.0, 1.0), heating), ("in place", [20.0, 1.0], heating!))
        gradient = ForwardDiff.derivative(upper -> temperature(upper, method, start, equation), 22.0)
        println(name, ", ", form, ": ", gradient)
    end
end
