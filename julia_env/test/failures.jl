@testset "failures" begin
    @testset "a solution that is infinite: $method" for method in ("tsit5", "rodas5p", "fbdf")
        output = solved("blow-up", method, 1e-6)
        @test output.failure.outcome in ("max_steps", "step_underflow", "nonfinite")
        @test contains(output.failure.message, "Julia's solver returned")
        forward = SciMLBench.differentiated(inputs(build("blow-up", method), theta("blow-up"), 1e-6))
        @test forward.failure.outcome in ("max_steps", "step_underflow", "nonfinite")
    end

    @testset "ZygoteVJP wants a right-hand side that writes into nothing" begin
        raised = try
            build("ring", "tsit5", "gauss-zygote")
        catch error
            error
        end
        @test raised isa SciMLBench.Failure
        @test raised.outcome == "unsupported"
    end

    @testset "networks have no right-hand side that writes" begin
        @test_throws SciMLBench.Failure build("network", "tsit5", "forward", "in-place")
    end

    @testset "a fall-back is a failure" begin
        words = ["Reverse-Mode AD VJP choices all failed. Falling back to numerical VJPs"]
        @test_throws SciMLBench.Failure SciMLBench.check_warnings(words)
        @test SciMLBench.check_warnings(["something else"]) === nothing
    end

    @testset "what Julia warns is kept" begin
        SciMLBench.collect_warnings()
        empty!(SciMLBench.WARNINGS.words)
        @warn "a word"
        @info "no warning"
        @warn "Verbosity toggle: dt_epsilon \n At t=1.0, dt was forced below floating point epsilon"
        @test SciMLBench.WARNINGS.words == ["a word", "At t=1.0, dt was forced below floating point epsilon"]
    end

    @testset "an exception keeps Julia's words" begin
        found = SciMLBench.failure(DomainError(-1.0, "log of a negative number"))
        @test found.outcome == ""
        @test contains(found.message, "log of a negative number")
        @test SciMLBench.failure(OutOfMemoryError()).outcome == "out_of_memory"
        missing_package = try
            SciMLBench.equations("using NoSuchPackageAtAll")
        catch error
            SciMLBench.failure(error)
        end
        @test missing_package.outcome == "import_error"
        @test contains(missing_package.message, "NoSuchPackageAtAll")
        @test contains(missing_package.message, "julia setup")
    end
end
