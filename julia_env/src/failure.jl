"""
A solve or a gradient that the library says failed. `outcome` is one of sciml-bench's typed outcomes. `trajectories` are
those of a batch that failed, counted from 0, with the outcome of each; empty where they were not all tried.
"""
struct Failure <: Exception
    outcome::String
    message::String
    trajectories::Vector{Tuple{Int, String}}
end

Failure(outcome, message) = Failure(outcome, message, Tuple{Int, String}[])

Base.showerror(io::IO, failure::Failure) = print(io, failure.message)

# What a return code of SciMLBase stands for; a code that is not here is a failed step.
const OUTCOMES = Dict(
    :MaxIters => "max_steps",
    :DtNaN => "nonfinite",
    :Unstable => "nonfinite",
    :DtLessThanMin => "step_underflow",
    :ConvergenceFailure => "step_underflow",
    :InitialFailure => "step_underflow",
    :Failure => "step_underflow",
)

const LONGEST_MESSAGE = 1500

"""The failure of a solve that ended early, with what Julia warned meanwhile."""
function stopped(solution, words::Vector{String}, whose = "")
    code = Symbol(solution.retcode)
    at = isempty(solution.t) ? "" : " after t = $(solution.t[end])"
    said = isempty(words) ? "" : ": " * join(unique(words), "; ")
    # The code is `Unstable` also for steps that became too small; the words tell.
    told = filter(!isnothing, outcome_of_warning.(words))
    outcome = isempty(told) ? get(OUTCOMES, code, "step_underflow") : last(told)
    return Failure(outcome, "Julia's solver returned $code$whose$at$said")
end

"""The typed failure behind an exception. Exceptions of no known kind keep Julia's own message, and `""` as outcome."""
function failure(error)
    error isa Failure && return error
    # Of the emitted source.
    error isa LoadError && return failure(error.error)
    error isa OutOfMemoryError && return Failure("out_of_memory", "OutOfMemoryError()")
    message = first(sprint(showerror, error), LONGEST_MESSAGE)
    error isa LinearAlgebra.SingularException &&
        return Failure("step_underflow", "the matrix of the nonlinear solve is singular: $message")
    # LAPACK's check that a matrix is finite.
    error isa ArgumentError && contains(message, "Infs or NaNs") &&
        return Failure("nonfinite", "the matrix of the nonlinear solve is not finite: $message")
    # A project from before the package had this dependency.
    error isa ArgumentError && contains(message, r"Package \S+ (not found|does not have)") &&
        return Failure("import_error", "$(first(split(message, '\n'))) Run: sciml-bench julia setup")
    return Failure("", message)
end
