"""The loss of the ball at t = 2.5, after four impacts and two doses, of gravity, restitution and rate."""
function ball_loss((g, e, k))
    t, v = sqrt(2 / g), sqrt(2g)
    for _ in 1:4
        v *= e
        t += 2v / g
    end
    # The fourth impact is the last one before 2.5.
    v_up, since = v, 2.5 - (t - 2v / g)
    return v_up * since - g * since^2 / 2 + v_up - g * since + exp(-1.5k) + exp(-0.5k)
end

@testset "events" begin
    values = theta("ball")
    exact = map(eachindex(values)) do i
        h = 1e-5 * values[i]
        change = [j == i ? h : 0.0 for j in eachindex(values)]
        (ball_loss(values + change) - ball_loss(values - change)) / 2h
    end

    @testset "forward: $method, $mode" for (method, mode) in
        (("tsit5", "compiled"), ("tsit5", "in-place"), ("rodas5p", "compiled"), ("fbdf", "in-place"))
        loss, found = gradient("ball", method, "forward", 1e-10; mode)
        @test loss ≈ ball_loss(values) rtol = 1e-6
        @test error_of(found, exact, values) < 1e-5
    end

    @testset "adjoint: $sensitivity" for sensitivity in ("gauss-reversediff", "interpolating-reversediff")
        _, found = gradient("ball", "tsit5", sensitivity, 1e-10)
        @test error_of(found, exact, values) < 1e-6
    end
end

@testset "algebraic equations" begin
    truth = differences("robertson", "rodas5p")
    @testset "forward: $method, $mode" for (method, mode) in
        (("rodas5p", "compiled"), ("rodas5p", "in-place"), ("fbdf", "compiled"), ("radauiia5", "compiled"))
        _, found = gradient("robertson-dae", method, "forward", 1e-9; mode)
        @test error_of(found, truth, theta("robertson-dae")) < 1e-5
        @test build("robertson-dae", method, "forward", mode).options == (; initializealg = SciMLBench.NoInit())
    end
    @test build("robertson-dae", "tsit5").options == (;)
end
