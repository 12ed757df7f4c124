function gradient(name, method, sensitivity, reltol; mode = "compiled", wrt = "parameters")
    cell = build(name, method, sensitivity, mode, wrt)
    return value(SciMLBench.differentiated(inputs(cell, theta(name, wrt), reltol)))
end

"""How far a gradient is off, each derivative in units of its parameter."""
error_of(found, truth, values) = sqrt(sum(abs2, values .* (found .- truth)) / sum(abs2, values .* truth))

"""Central differences of the loss along each parameter, from solves at a tight tolerance."""
function differences(name, method; step = 1e-4)
    cell, values = build(name, method), theta(name)
    loss(at) = Base.invokelatest(cell.loss, value(SciMLBench.solved(inputs(cell, at, 1e-12))))
    return map(eachindex(values)) do k
        h = step * values[k]
        change = [i == k ? h : 0.0 for i in eachindex(values)]
        (8 * (loss(values + change) - loss(values - change)) - (loss(values + 2change) - loss(values - 2change))) / 12h
    end
end

@testset "gradients" begin
    @testset "forward: $name with $method" for (name, method) in
        (("lotka-volterra", "vern9"), ("robertson", "rodas5p"), ("ring", "vern9"))
        _, found = gradient(name, method, "forward", 1e-10)
        @test error_of(found, differences(name, method), theta(name)) < 1e-6
    end

    @testset "forward: in place and static give the same" begin
        for (name, method) in (("lotka-volterra", "tsit5"), ("robertson", "rodas5p"))
            static, in_place = (gradient(name, method, "forward", 1e-8; mode)[2] for mode in ("compiled", "in-place"))
            @test error_of(static, in_place, theta(name)) < 1e-5
        end
    end

    # Mooncake is there if somebody added it.
    mooncake = Base.locate_package(SciMLBench.MOONCAKE) === nothing ? () : ("mooncake",)
    products = ("reversediff", "zygote", mooncake...)

    @testset "$adjoint-$product" for adjoint in SciMLBench.ADJOINTS, product in products
        loss, found = gradient("lotka-volterra", "vern7", "$adjoint-$product", 1e-9)
        expected_loss, expected = gradient("lotka-volterra", "vern9", "forward", 1e-11)
        # A loss that counted the initial state would be larger by 2.
        @test loss ≈ expected_loss rtol = 1e-6
        @test error_of(found, expected, theta("lotka-volterra")) < 1e-5
    end

    @testset "gauss-$product with $method" for method in ("rodas5p", "kencarp47", "fbdf"), product in mooncake
        _, found = gradient("lotka-volterra", method, "gauss-$product", 1e-7)
        _, expected = gradient("lotka-volterra", "vern9", "forward", 1e-11)
        @test error_of(found, expected, theta("lotka-volterra")) < 1e-3
    end

    @testset "a quadrature sees the layers before saved times" begin
        _, found = gradient("robertson", "rodas5p", "quadrature-reversediff", 1e-8)
        _, expected = gradient("robertson", "rodas5p", "forward", 1e-10)
        @test error_of(found, expected, theta("robertson")) < 1e-6
    end

    @testset "intervals are broken closer and closer to both ends" begin
        parts = SciMLBench.breaks(-100.0)
        @test length(parts) == 11
        @test issorted(parts)
        @test parts[1] + 100 ≈ 1e-8 rtol = 1e-5
        @test parts[end - 1] ≈ -1e-8
        @test parts[end] == 0.0
        # Where doubles are too far apart for a break, there is none.
        @test allunique(SciMLBench.breaks(-1e-320))
    end

    @testset "the solve of a $sensitivity gradient is cut at saved times: $method" for (sensitivity, method, n) in (
            ("gauss-reversediff", "rodas5p", 2),
            ("quadrature-reversediff", "rodas5p", 2),
            ("interpolating-reversediff", "rodas5p", 1),
            ("gauss-reversediff", "tsit5", 1),
        )
        cell = build("lotka-volterra", method, sensitivity)
        n_saved = length(PROBLEMS["lotka-volterra"].times)
        @test length(cell.segments) == 1
        @test length(cell.adjoint_segments) == (n == 1 ? 1 : n_saved)
        @test sum(segment.n_saved for segment in cell.adjoint_segments) == n_saved
    end

    @testset "across a jump: $method $sensitivity" for (method, sensitivity) in (
            ("vern7", "forward"),
            ("vern7", "gauss-reversediff"),
            ("vern7", "interpolating-zygote"),
            ("rodas5p", "gauss-reversediff"),
            ("rodas5p", "quadrature-reversediff"),
        )
        _, found = gradient("switched", method, sensitivity, 1e-9)
        # The loss is y(0.5)^2 + y(2)^2 of the closed form.
        at_end, at_half = closed_form(2.0), closed_form(0.5)
        by_k = 2at_half * -0.5 * at_half + 2at_end * (-2exp(-4.0) - 25 * (1 - exp(-2.0)) + 50 * exp(-2.0))
        by_drive = 2at_end * (1 - exp(-2.0)) / 2
        @test found ≈ [by_k, by_drive] rtol = 1e-5
    end

    @testset "with respect to the initial state: $sensitivity" for sensitivity in ("forward", "gauss-reversediff")
        _, found = gradient("lotka-volterra", "vern9", sensitivity, 1e-10; wrt = "initial_state")
        h = 1e-5
        cell = build("lotka-volterra", "vern9", "forward", "compiled", "initial_state")
        loss(y0) = Base.invokelatest(cell.loss, value(SciMLBench.solved(inputs(cell, y0, 1e-12))))
        slope = (loss([1 + h, 1.0]) - loss([1 - h, 1.0])) / 2h
        @test found[1] ≈ slope rtol = 1e-5
    end
end
