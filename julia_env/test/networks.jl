"""The network of the problem by hand, with the flat parameters that have matrices in C's order."""
function by_hand(y, p)
    first_weight, first_bias = permutedims(reshape(p[2:9], 2, 4)), p[10:13]
    second_weight, second_bias = permutedims(reshape(p[14:21], 4, 2)), p[22:23]
    return second_weight * tanh.(first_weight * y .+ first_bias) .+ second_bias .- p[1] .* y
end

function batched(sensitivity)
    n = PROBLEMS["network"]
    starts = [n.y0; 2 .* n.y0; -n.y0]
    scale = repeat(n.atol_scale, 3)
    return SciMLBench.build(n.source, "tsit5", sensitivity, "compiled", "parameters", starts, n.p, scale, n.spans, n.times)
end

"""Steps of an optimiser from 1 with gradients 2, 4 and 6 by the formula, and by its rule."""
function stepped(name, numbers, formula)
    optimisers = SciMLBench.loaded(:Optimisers)
    return Base.invokelatest() do
        theta = [1.0]
        state = optimisers.setup(SciMLBench.rule_of(optimisers, name, numbers), theta)
        for gradient in (2.0, 4.0, 6.0)
            state, theta = optimisers.update!(state, theta, [gradient])
        end
        only(theta), formula()
    end
end

@testset "networks" begin
    values = theta("network")

    @testset "parameters lie where the flat vector has them" begin
        cell = build("network", "tsit5")
        right_hand_side = cell.segments[1].problem.f.f
        @test right_hand_side([0.3, -0.8], cell.p, 0.0) ≈ by_hand([0.3, -0.8], values) rtol = 1e-14
        @test sort(cell.order) == 1:23
        @test SciMLBench.restored(cell.order, SciMLBench.arranged(cell.order, values)) == values
    end

    @testset "gradients: $sensitivity" for sensitivity in ("forward", "gauss-reversediff", "gauss-zygote")
        loss, found = gradient("network", "tsit5", sensitivity, 1e-10)
        output = SciMLBench.differentiated(inputs(build("network", "tsit5", sensitivity), values, 1e-10))
        flat = SciMLBench.gradient_vector(output)
        @test flat ≈ differences("network", "tsit5") rtol = 1e-6
        @test SciMLBench.restored(output.order, found) == flat
        @test loss > 0
    end

    @testset "a tape has no single weights" begin
        SciMLBench.keep_component_vectors()
        cell, tracked = build("network", "tsit5"), SciMLBench.loaded(:ReverseDiff)
        length_of_tape = Base.invokelatest() do
            arrays = SciMLBench.loaded(:ArrayInterface)
            right_hand_side = cell.segments[1].problem.f.f
            kept(y, p) = right_hand_side(y, arrays.restructure(cell.p, p), 0.0)
            length(tracked.GradientTape(kept, (cell.y0, cell.p)).tape)
        end
        @test length_of_tape < 23
    end

    @testset "a batch is the sum of its trajectories" begin
        cell = batched("forward")
        loss, found = value(SciMLBench.differentiated(inputs(cell, values, 1e-8)))
        output = SciMLBench.solved(inputs(cell, values, 1e-8))
        @test size(SciMLBench.states_matrix(output)) == (6, 2)
        @test length(SciMLBench.steps_of_each(output)) == 3
        @test SciMLBench.statistics(output)["n_steps"] == maximum(SciMLBench.steps_of_each(output))
        @test loss ≈ sum(states -> Base.invokelatest(cell.loss, states), value(output)) rtol = 1e-6
        @test length(found) == 23
    end

    @testset "optimisers" begin
        rate = Dict("learning_rate" => 0.1)
        moved, by_formula = stepped("sgd", rate, () -> 1 - 0.1 * 12)
        @test moved ≈ by_formula rtol = 1e-14
        squares = (0.1 * 4, 0.09 * 4 + 0.1 * 16, 0.081 * 4 + 0.09 * 16 + 0.1 * 36)
        root_mean(epsilon) = 1 - 0.1 * sum(g / (sqrt(v) + epsilon) for (g, v) in zip((2, 4, 6), squares))
        found, expected = stepped("rmsprop", merge(rate, Dict("decay" => 0.9, "epsilon" => 0.5)), () -> root_mean(0.5))
        @test found ≈ expected rtol = 1e-14
    end

    @testset "training" begin
        trainer = SciMLBench.trainer(build("network", "tsit5"), values, "sgd", Dict("learning_rate" => 1e-3), 1e-8, 1e-10)
        first_step, second_step = SciMLBench.trained(trainer), SciMLBench.trained(trainer)
        moved = values - 1e-3 * (SciMLBench.gradient_vector(first_step) + SciMLBench.gradient_vector(second_step))
        @test SciMLBench.theta_vector(trainer) ≈ moved rtol = 1e-12
        @test second_step.value[1] < first_step.value[1]
    end
end
