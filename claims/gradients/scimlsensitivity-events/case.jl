# The end of y' = -y, which starts again from 1 where it reaches `level`, and its derivative by `level`.
using ForwardDiff, OrdinaryDiffEqTsit5, SciMLBase, SciMLSensitivity, Zygote

function decay!(du, u, p, t)
    du[1] = -u[1]
    length(u) == 2 && (du[2] = 0)
    return nothing
end

again!(integrator) = (integrator.u[1] = 1; nothing)

function last_value(level; sensealg = nothing, saves = true, state = false)
    condition(u, t, integrator) = u[1] - (state ? u[2] : integrator.p[1])
    callback = SciMLBase.ContinuousCallback(condition, again!; save_positions = (saves, saves))
    start = state ? [one(level), level] : [one(level)]
    problem = SciMLBase.ODEProblem(decay!, start, (0.0, 2.0), [level])
    how = sensealg === nothing ? (;) : (; sensealg)
    solution = SciMLBase.solve(problem, Tsit5(); callback, saveat = [2.0], reltol = 1e-10, abstol = 1e-10, how...)
    return solution.u[end][1]
end

println("ForwardDiff: ", ForwardDiff.derivative(last_value, 0.3))
for (name, adjoint) in (("GaussAdjoint", GaussAdjoint), ("InterpolatingAdjoint", InterpolatingAdjoint))
    sensealg = adjoint(autojacvec = ReverseDiffVJP())
    for (state, saves) in ((false, true), (true, true), (true, false))
        way = "$name, $(state ? "the level is a state" : "the condition reads the parameter")$(saves ? "" : ", save_positions = (false, false)")"
        try
            println(way, ": ", only(Zygote.gradient(level -> last_value(level; sensealg, saves, state), 0.3)))
        catch error
            println(way, ": refused: ", first(split(sprint(showerror, error), '\n')))
        end
    end
end
