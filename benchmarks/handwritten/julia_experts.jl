# What an expert in DifferentialEquations.jl writes by hand for three problems, and how long calls take inside Julia, by
# BenchmarkTools. Included by `julia_bridge.py`.

module Experts

using BenchmarkTools, ForwardDiff, OrdinaryDiffEqRosenbrock, OrdinaryDiffEqTsit5, SparseArrays, StaticArrays
using SciMLBase: FullSpecialize, ODEFunction, ODEProblem, solve

"""A problem as the expert holds it. `tstops` are times at which the equation jumps."""
struct Problem{F, Y, A, T, L}
    f::F
    y0::Y
    times::Vector{Float64}
    tstops::Vector{Float64}
    algorithm::A
    abstol::T
    loss::L
end

lotka_volterra(u, p, t) = SVector(p[1] * u[1] - p[2] * u[1] * u[2], -p[3] * u[2] + p[4] * u[1] * u[2])

function robertson(u, p, t)
    slow, fast, back = p[1] * u[1], p[2] * u[2]^2, p[3] * u[2] * u[3]
    return SVector(-slow + back, slow - back - fast, fast)
end

# As in SciML's tutorial "Solving Large Stiff Equations", on a grid of N × N places; u[j, i, species].
const N = 8
const PLACES = range(0, 1, N)
limit(a) = a == N + 1 ? 1 : a == 0 ? N : a
hot(x, y, t) = ((x - 0.3)^2 + (y - 0.6)^2 <= 0.1^2) && t >= 1.1

function brusselator!(du, u, p, t)
    A, B, alpha, strength = p
    rate = alpha / step(PLACES)^2
    @inbounds for i in 1:N, j in 1:N
        inext, ilast, jnext, jlast = limit(i + 1), limit(i - 1), limit(j + 1), limit(j - 1)
        U, V = u[j, i, 1], u[j, i, 2]
        force = hot(PLACES[i], PLACES[j], t) ? strength : zero(strength)
        du[j, i, 1] = rate * (u[j, ilast, 1] + u[j, inext, 1] + u[jnext, i, 1] + u[jlast, i, 1] - 4U) +
            B + U^2 * V - (A + 1) * U + force
        du[j, i, 2] = rate * (u[j, ilast, 2] + u[j, inext, 2] + u[jnext, i, 2] + u[jlast, i, 2] - 4V) + A * U - U^2 * V
    end
    return nothing
end

"""The Jacobian's structure, from one at a point where nothing cancels."""
function structure(y0, p)
    jacobian = ForwardDiff.jacobian(y0 .+ 0.1) do y
        dy = similar(y)
        brusselator!(dy, y, p, 0.0)
        dy
    end
    return sparse(Float64.(jacobian .!= 0))
end

static(f) = ODEFunction{false, FullSpecialize}(f)
squares(us) = sum(u -> sum(abs2, u), us)

"""The expert's version of a problem, with the absolute tolerance of each component."""
function problem(name, y0, p, times, tstops, atol)
    y, ts, stops = collect(Float64, y0), collect(Float64, times), collect(Float64, tstops)
    if name == "lotka-volterra"
        return Problem(static(lotka_volterra), SVector{2}(y), ts, stops, Tsit5(), atol[1], squares)
    elseif name == "robertson"
        loss(us) = sum(u -> sum(abs2, u ./ SVector(1.0, 1e-5, 1.0)), us)
        return Problem(static(robertson), SVector{3}(y), ts, stops, Rodas5P(), SVector{3}(atol), loss)
    end
    name == "brusselator-2d" || error("no expert wrote $name")
    start = reshape(y, N, N, 2)
    f = ODEFunction{true, FullSpecialize}(brusselator!; jac_prototype = structure(start, collect(Float64, p)))
    return Problem(f, start, ts, stops, Rodas5P(), atol[1], squares)
end

function states(problem, p, reltol)
    y0 = convert.(eltype(p), problem.y0)
    ode = ODEProblem(problem.f, y0, (0.0, problem.times[end]), p)
    settings = (; reltol, problem.abstol, saveat = problem.times, tstops = problem.tstops, maxiters = 10^6)
    return solve(ode, problem.algorithm; settings..., save_everystep = false, dense = false).u
end

struct Loss{P}
    problem::P
    reltol::Float64
end

(l::Loss)(p) = l.problem.loss(states(l.problem, p, l.reltol))

gradient(loss, p) = ForwardDiff.gradient(loss, p)

parameters(problem, p) = problem.y0 isa SVector ? SVector{length(p)}(p) : collect(Float64, p)

"""Calls without arguments: the expert's solve and gradient."""
solve_call(problem, p, reltol) = let p = parameters(problem, p)
    () -> states(problem, p, reltol)
end
gradient_call(problem, p, reltol) = let p = parameters(problem, p), loss = Loss(problem, reltol)
    () -> gradient(loss, p)
end

"""The same for a cell of ours: what `SciMLBench` times, without its clock."""
own_call(run, inputs) = () -> run(inputs)

"""What BenchmarkTools needs to time a call; made once, because it compiles."""
timer(call) = @benchmarkable $call() evals = 1 samples = 100_000

"""Median nanoseconds of a call within so many seconds; a collection of all rubbish before each would take longer."""
median_ns(timer, seconds) = BenchmarkTools.median(run(timer; seconds, gctrial = false)).time

flat(us) = reduce(hcat, (vec(collect(u)) for u in us))
end
