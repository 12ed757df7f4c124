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
    length(collector.words) < MOST_WARNINGS && push!(collector.words, first(string(message), LONGEST_MESSAGE))
    return nothing
end

collect_warnings() = Logging.global_logger(WARNINGS)

# SciMLSensitivity's words when it computes a gradient in another way than the one that was asked for.
const FALL_BACKS = ("VJP choices all failed", "Falling back to numerical VJPs")

# What the solve backwards in time says when it does not get to its end; nothing else tells of it.
const UNFINISHED = (
    "Larger maxiters is needed" => "max_steps",
    "dt was forced below" => "step_underflow",
    "dt <= dtmin" => "step_underflow",
    "dt(" => "step_underflow",
    "Instability detected" => "nonfinite",
    "NaN dt detected" => "nonfinite",
    "Newton steps could not converge" => "step_underflow",
)

"""Throws when Julia's warnings say that a gradient is not what was asked for, or is one of an unfinished solve."""
function check_warnings(words::Vector{String})
    for word in words
        any(contains(word, sign) for sign in FALL_BACKS) && throw(Failure("build_error", word))
        for (sign, outcome) in UNFINISHED
            contains(word, sign) && throw(Failure(outcome, "the solve of the adjoint equation: $word"))
        end
    end
    return nothing
end
