# y' = -k y + dX/dt from y(0) = a x, with X straight between its values at 0, 1 and 2.
const DRIVEN = """
# driven
using ComponentArrays: ComponentVector, getaxes
const N_STATES = 1
const N_PARAMETERS = 2
const HAS_BRANCHES = false
const STENCILS = nothing
const LAYOUT = getaxes(ComponentVector(k = 0.0, a = 0.0))
named(p) = ComponentVector(p, LAYOUT)
function rhs(y, p, t, ddt_X)
    k = p.k
    slope_1 = ddt_X(t)
    return slope_1 - k*y
end
const GIVEN = [
    (0.5, reshape([0.0, 1.0, 0.5], 1, 3)),
    (-2.0, reshape([1.0, -1.0, 0.0], 1, 3)),
]
const TIMES_X = [0.0, 1.0, 2.0]
function slope_X(values, k)
    line = (values[:, k + 1] - values[:, k])/(TIMES_X[k + 1] - TIMES_X[k])
    return t -> line
end
controls(t, x, values) = (slope_X(values, searchsortedlast(TIMES_X, t)),)
function initial_state(x, values, p)
    a = p.a
    penalty = 0.5*a^2
    return [a*x], penalty
end
loss(ys, x, values, p) = sum(abs2, p.a*reduce(hcat, ys) .- x)
"""

driven_cell(sensitivity, method = "vern7") = SciMLBench.build(
    DRIVEN, method, sensitivity, "compiled", "parameters", [0.0, 0.0], [2.0, 0.7], [1.0, 1.0],
    [0.0 1.0 -Inf prevfloat(1.0) 1; 1.0 2.0 nextfloat(1.0) Inf 1], [0.5, 1.0, 2.0],
)

"""The states of a trajectory at 0.5 and 2 in closed form."""
function driven_states((k, a), x, values)
    first_slope, second_slope = values[2] - values[1], values[3] - values[2]
    after(y, slope, t) = (y - slope / k) * exp(-k * t) + slope / k
    return [after(a * x, first_slope, 0.5), after(after(a * x, first_slope, 1.0), second_slope, 1.0)]
end

const DRIVEN_DATA = ((0.5, [0.0, 1.0, 0.5]), (-2.0, [1.0, -1.0, 0.0]))
driven_loss(p) = sum(data -> sum(abs2, p[2] .* driven_states(p, data...) .- data[1]) + p[2]^2 / 2, DRIVEN_DATA)

@testset "around a solve" begin
    p = [2.0, 0.7]

    @testset "each trajectory has its own path and initial state" begin
        output = SciMLBench.solved(inputs(driven_cell("forward"), p, 1e-10))
        expected = reduce(vcat, [permutedims(driven_states(p, data...)) for data in DRIVEN_DATA])
        @test SciMLBench.states_matrix(output) ≈ expected rtol = 1e-8
    end

    @testset "gradients: $sensitivity" for sensitivity in
        ("forward", "gauss-reversediff", "gauss-zygote", "interpolating-reversediff")
        loss, found = value(SciMLBench.differentiated(inputs(driven_cell(sensitivity), p, 1e-10)))
        @test loss ≈ driven_loss(p) rtol = 1e-8
        @test collect(found) ≈ SciMLBench.ForwardDiff.gradient(driven_loss, p) rtol = 1e-6
    end

    @testset "what is driven sees t as it is" begin
        smooth = SciMLBench.equations(DRIVEN)
        jumping = SciMLBench.equations(replace(DRIVEN, "HAS_BRANCHES = false" => "HAS_BRANCHES = true"))
        at_end(emitted) = Base.invokelatest(SciMLBench.driven, emitted, emitted.given[1], (0.0, 1.0), (-Inf, 0.9))
        @test at_end(smooth) isa SciMLBench.Driven
        @test at_end(jumping) isa SciMLBench.Clipped
    end
end
