closed_form(t; k = 2.0, drive = 100.0) = t <= 1 ? exp(-k * t) : exp(-k * t) + drive / k * (1 - exp(-k * (t - 1)))

@testset "solves" begin
    implicit = ("rosenbrock23", "rodas5p", "kencarp47", "trbdf2", "fbdf", "qndf", "radauiia5", "cvode_bdf")

    @testset "methods agree: $method" for method in (SciMLBench.EXPLICIT..., implicit...)
        reltol = method in ("rosenbrock23", "trbdf2") ? 1e-6 : 1e-8
        found = value(solved("lotka-volterra", method, reltol))
        truth = value(solved("lotka-volterra", "vern9", 1e-12))
        # The mixed error and the bound of the conformance suite.
        @test maximum(maximum(abs.(a .- b) ./ (1 .+ abs.(b))) for (a, b) in zip(found, truth)) < 1000 * reltol
    end

    @testset "stiff: $method, $mode" for method in implicit, mode in ("compiled", "in-place")
        reltol = method in ("rosenbrock23", "trbdf2") ? 1e-5 : 1e-7
        cell = build("robertson", method, "forward", mode)
        found = value(SciMLBench.solved(inputs(cell, theta("robertson"), reltol)))
        truth = value(solved("robertson", "rodas5p", 1e-11))
        scale = PROBLEMS["robertson"].atol_scale
        @test maximum(maximum(abs.(a .- b) ./ scale) for (a, b) in zip(found, truth)) < 2000 * reltol
    end

    @testset "a jump is met: $method" for method in ("tsit5", "rodas5p", "fbdf")
        found = first.(value(solved("switched", method, 1e-9)))
        @test found ≈ closed_form.([0.5, 2.0]) rtol = 1e-6
    end

    @testset "a sparse Jacobian gives the dense one's solution: $method" for method in ("rodas5p", "fbdf", "kencarp47")
        @test build("ring", method).segments[1].problem.f.jac_prototype !== nothing
        found = value(solved("ring", method, 1e-8))
        truth = value(solved("ring", "vern9", 1e-11))
        @test found ≈ truth rtol = 1e-5
    end

    @testset "the recommended form" begin
        @test build("robertson", "rodas5p").form isa SciMLBench.Static{3, 3}
        @test build("robertson", "rodas5p", "forward", "in-place").form isa SciMLBench.InPlace
        @test build("ring", "rodas5p").form isa SciMLBench.InPlace
    end
end
