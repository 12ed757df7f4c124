@testset "what the bridge reads" begin
    SciMLBench.count_compiling()
    n = PROBLEMS["lotka-volterra"]
    # What other tests compiled does not serve a source that is not theirs.
    source = n.source * "# the bridge's own\n"
    cell = SciMLBench.build(
        source, "tsit5", "forward", "compiled", "parameters", n.y0, n.p, n.atol_scale, n.spans, n.times
    )
    first_call = SciMLBench.solved(inputs(cell, theta("lotka-volterra"), 1e-6))
    second_call = SciMLBench.solved(inputs(cell, 1.01 * theta("lotka-volterra"), 1e-6))
    @test first_call.compile_ns > 0
    @test second_call.compile_ns == 0
    @test 0 < second_call.ns < first_call.ns
    @test size(SciMLBench.states_matrix(second_call)) == (2, 2)
    @test SciMLBench.states_matrix(first_call) != SciMLBench.states_matrix(second_call)

    @testset "the same source serves every cell" begin
        same = SciMLBench.build(
            source, "tsit5", "forward", "compiled", "parameters", n.y0, n.p, n.atol_scale, n.spans, n.times
        )
        @test SciMLBench.solved(inputs(same, theta("lotka-volterra"), 1e-6)).compile_ns == 0
        @test same.counts !== cell.counts
    end

    counts = SciMLBench.statistics(second_call)
    @test counts["n_solves"] == 1
    @test counts["n_accepted"] + counts["n_rejected"] == counts["n_steps"] > 0

    gradient = SciMLBench.differentiated(inputs(cell, theta("lotka-volterra"), 1e-6))
    @test length(SciMLBench.gradient_vector(gradient)) == 4
    @test SciMLBench.statistics(gradient)["n_solves"] == 1
end
