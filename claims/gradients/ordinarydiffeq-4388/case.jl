# The time at which u' = 1 reaches `level`, and its derivative by `level`.
using ForwardDiff, OrdinaryDiffEqTsit5, OrdinaryDiffEqVerner, SciMLBase

function time_of_event(level, method)
    condition(u, t, integrator) = u[1] - level
    problem = SciMLBase.ODEProblem((u, p, t) -> [one(level)], [zero(level)], (zero(level), 10 * one(level)))
    callback = SciMLBase.ContinuousCallback(condition, SciMLBase.terminate!)
    return SciMLBase.solve(problem, method; callback, reltol = 1e-12, abstol = 1e-12).t[end]
end

for (name, method) in (("Tsit5", Tsit5()), ("Vern9", Vern9()))
    println(name, ": ", ForwardDiff.derivative(level -> time_of_event(level, method), 1.3))
end
