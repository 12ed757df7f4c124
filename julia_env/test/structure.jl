@testset "structure of the Jacobian" begin
    @testset "wraps around where the axis does" begin
        block = (row = 0, column = 0, offsets = [(-1,), (1,)])
        line = SciMLBench.prototype((shape = (4,), wraps = (false,), blocks = [block]), 4)
        ring = SciMLBench.prototype((shape = (4,), wraps = (true,), blocks = [block]), 4)
        @test (line .!= 0) == [1 1 0 0; 1 1 1 0; 0 1 1 1; 0 0 1 1]
        @test (ring .!= 0) == [1 1 0 1; 1 1 1 0; 0 1 1 1; 1 0 1 1]
    end

    @testset "elements of a grid lie in C's order" begin
        down = (row = 0, column = 6, offsets = [(1, 0)])
        found = SciMLBench.prototype((shape = (2, 3), wraps = (false, false), blocks = [down]), 12)
        off_diagonal = [(i, j) for (i, j) in Tuple.(findall(!iszero, found)) if i != j]
        @test sort(off_diagonal) == [(1, 10), (2, 11), (3, 12)]
    end

    @testset "no stencils, no sparse matrix" begin
        @test SciMLBench.prototype(nothing, 5) === nothing
    end
end
