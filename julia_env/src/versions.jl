# Packages whose versions a record names when they are loaded.
const NAMED = (
    :SciMLBase, :SciMLSensitivity, :ForwardDiff, :StaticArrays, :Zygote, :ReverseDiff, :Enzyme, :Sundials, :PythonCall,
    :Lux, :NNlib, :ComponentArrays, :Optimisers, :SimpleChains, :LoopVectorization,
    :OrdinaryDiffEqCore, :OrdinaryDiffEqTsit5, :OrdinaryDiffEqVerner, :OrdinaryDiffEqRosenbrock, :OrdinaryDiffEqSDIRK,
    :OrdinaryDiffEqBDF, :OrdinaryDiffEqFIRK, :LinearSolve,
)

"""Versions of Julia and of what is loaded, and the numbers of threads, as they are in this process."""
function versions()
    found = Dict(
        "julia" => string(VERSION),
        "threads_julia" => string(Threads.nthreads()),
        "threads_blas" => string(LinearAlgebra.BLAS.get_num_threads()),
    )
    for (id, package) in Base.loaded_modules
        Symbol(id.name) in NAMED && (found[id.name] = string(pkgversion(package)))
    end
    return found
end
