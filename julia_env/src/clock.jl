"""
One call, timed: its value or its [`Failure`](@ref), nanoseconds in all, those of the garbage collector and of compiling
(again), and the bytes that it allocated.
"""
struct Clocked{V}
    value::V
    failure::Union{Nothing, Failure}
    ns::Int
    gc_ns::Int
    compile_ns::Int
    recompile_ns::Int
    allocated_bytes::Int
end

"""
Time one call.

Not specialised on what it calls: the compiler would else compile the call together with this function, before the clock
starts.
"""
function clocked(@nospecialize(call), @nospecialize(inputs))
    compiled_before = Base.cumulative_compile_time_ns()
    collected_before = Base.gc_num()
    start_ns = time_ns()
    value, failed = outcome_of(call, inputs)
    ns = time_ns() - start_ns
    collected = Base.GC_Diff(Base.gc_num(), collected_before)
    compile_ns, recompile_ns = Base.cumulative_compile_time_ns() .- compiled_before
    return Clocked(
        value, failed, Int(ns), Int(collected.total_time), Int(compile_ns), Int(recompile_ns), Int(collected.allocd),
    )
end

function outcome_of(@nospecialize(call), @nospecialize(inputs))
    try
        return Base.invokelatest(call, inputs), nothing
    catch error
        error isa InterruptException && rethrow()
        return nothing, failure(error)
    end
end

"""Julia counts its own compiling from here on; not before, because packages that precompile have switched it off."""
count_compiling() = Base.cumulative_compile_timing(true)
