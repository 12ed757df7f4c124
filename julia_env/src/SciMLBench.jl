"""
The Julia side of sciml-bench: builds one cell of a benchmark from source that the Julia emitter wrote, solves it, and
takes gradients of its loss, with solvers of DifferentialEquations.jl.

Solvers and reverse-mode packages are loaded by the cell that needs them, so that `using SciMLBench` costs little.
"""
module SciMLBench

import ChainRulesCore
import DiffResults
import ForwardDiff
import LinearAlgebra
import Logging
# The emitted functions import it where values may leave a function's domain.
import NaNMath

using SciMLBase:
    CallbackSet, ContinuousCallback, FullSpecialize, NoInit, ODEFunction, ODEProblem, ReturnCode, solve,
    successful_retcode
using SparseArrays: SparseMatrixCSC, sparse
using StaticArrays: SMatrix, SVector

include("failure.jl")
include("clock.jl")
include("warning.jl")
include("emitted.jl")
include("equations.jl")
include("structure.jl")
include("segment.jl")
include("events.jl")
include("method.jl")
include("sensitivity.jl")
include("counts.jl")
include("parameters.jl")
include("around.jl")
include("driven.jl")
include("cell.jl")
include("trajectory.jl")
include("gradient.jl")
include("timing.jl")
include("optimiser.jl")
include("training.jl")
include("versions.jl")

end
