"""
Keeps what Julia warns, so that it becomes part of a result instead of a line on a terminal.

It is installed for the whole process: a logger for each call would be part of what is measured.
"""
struct Collector <: Logging.AbstractLogger
    words::Vector{String}
end

const WARNINGS = Collector(String[])

# A solver that warns in every step must not fill the memory.
const MOST_WARNINGS = 50

Logging.min_enabled_level(::Collector) = Logging.Warn
Logging.shouldlog(::Collector, level, _module, group, id) = true
Logging.catch_exceptions(::Collector) = true

function Logging.handle_message(collector::Collector, level, message, _module, group, id, file, line; kwargs...)
    length(collector.words) < MOST_WARNINGS && push!(collector.words, first(what_is_said(message), LONGEST_MESSAGE))
    return nothing
end

# The solvers' first line names the setting that would silence the warning, not what is wrong.
what_is_said(message) = strip(replace(string(message), r"^Verbosity toggle: \S+\s*" => ""))

collect_warnings() = Logging.global_logger(WARNINGS)

# SciMLSensitivity's words when it computes a gradient in another way than the one that was asked for.
const FALL_BACKS = ("VJP choices all failed", "Falling back to numerical VJPs")

# What a solver says when it does not get to its end. Of a solve backwards in time nothing else tells.
const UNFINISHED = (
    "Larger maxiters is needed" => "max_steps",
    "dt was forced below" => "step_underflow",
    "<= dtmin(" => "step_underflow",
    "Instability detected" => "nonfinite",
    "NaN dt detected" => "nonfinite",
    "Newton steps could not converge" => "step_underflow",
)

"""The outcome that a warning stands for; `nothing` where it tells of no unfinished solve."""
function outcome_of_warning(word::AbstractString)
    for (sign, outcome) in UNFINISHED
        contains(word, sign) && return outcome
    end
    return nothing
end

"""Throws when Julia's warnings say that a gradient is not what was asked for, or is one of an unfinished solve."""
function check_warnings(words::Vector{String})
    for word in words
        any(contains(word, sign) for sign in FALL_BACKS) && throw(Failure("build_error", word))
        outcome = outcome_of_warning(word)
        outcome === nothing || throw(Failure(outcome, "the solve of the adjoint equation: $word"))
    end
    return nothing
end
