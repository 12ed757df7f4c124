# Makes a project ready for sciml-bench's workers. Run with the project active; the arguments are the folder of the
# package SciMLBench, names of packages that it does not depend on and that are wanted, too, and the version of
# PythonCall, which must be juliacall's.

using Pkg

const FOLDER, PYTHONCALL = first(ARGS), last(ARGS)
const WANTED = ARGS[2:(end - 1)]

# Everything is compiled at once below, where it is timed.
ENV["JULIA_PKG_PRECOMPILE_AUTO"] = "0"

"""The version that the active project resolves a package to; `nothing` when it has no such package."""
function resolved(name)
    for info in values(Pkg.dependencies())
        info.name == name && return info
    end
    return nothing
end

function develop(folder)
    known = resolved("SciMLBench")
    if known !== nothing && known.is_tracking_path && samefile(known.source, folder)
        # Another version of the package may have come to the folder, with other dependencies.
        Pkg.resolve()
    else
        Pkg.develop(path = folder)
    end
end

function add_pythoncall(version)
    known = resolved("PythonCall")
    known !== nothing && known.version == VersionNumber(version) && return
    Pkg.add(name = "PythonCall", version = version)
end

"""Add a package, in whatever version fits the others."""
add_wanted(name) = haskey(Pkg.project().dependencies, name) || Pkg.add(name)

develop(FOLDER)
add_pythoncall(PYTHONCALL)
foreach(add_wanted, WANTED)
Pkg.instantiate()

println("precompiling; the first time this takes minutes to tens of minutes")
seconds = @elapsed try
    Pkg.precompile(["SciMLBench", "PythonCall", WANTED...])
catch error
    # A package that some cells need may be broken while others work: what works is tried afterwards.
    println(stderr, "some packages could not be precompiled: ", sprint(showerror, error))
end
println("sciml-bench: precompiled in ", round(seconds; digits = 1), " s")
