using SciMLBench
using Test

include("problems.jl")

@testset "SciMLBench" begin
    include("structure.jl")
    include("solves.jl")
    include("gradients.jl")
    include("events.jl")
    include("failures.jl")
    include("networks.jl")
    include("around.jl")
    include("bridge.jl")
end
