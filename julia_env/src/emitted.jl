"""
    emitted_module(parent, source)

Evaluate emitted source as a module of its own inside another, whose packages it may use.

The text comes from our emitter, never from a problem file. It is written to a file for Julia's stack traces.
"""
function emitted_module(parent::Module, source::AbstractString)
    path = joinpath(mktempdir(), "emitted.jl")
    write(path, source)
    name = gensym("Emitted")
    # On one line with the source's first, so that line numbers are those of the file.
    return Base.include_string(parent, "module var\"$name\" $source\nend\n", path)
end
