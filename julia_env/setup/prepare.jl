# Makes a project ready for sciml-bench's workers. Run with the project active; the arguments are the folder of the
# package SciMLBench, the file that takes the seconds that compiling took, names of packages that it does not depend on
# and that are wanted, too, and the version of PythonCall, which must be juliacall's.

using Pkg

const FOLDER, RESULT, PYTHONCALL = ARGS[1], ARGS[2], last(ARGS)
const WANTED = ARGS[3:(end - 1)]

# Everything is compiled at once below, where it is timed.
ENV["JULIA_PKG_PRECOMPILE_AUTO"] = "0"

"""The version that the active project resolves a package to; `nothing` when it has no such package, or no manifest."""
function resolved(name)
    project = Base.active_project()
    # The folder of a new project is empty.
    isfile(project) && Base.project_file_manifest_path(project) !== nothing || return nothing
    for info in values(Pkg.dependencies())
        info.name == name && return info
    end
    return nothing
end

# Pkg prints a line for each of some 200 packages; its errors come as exceptions.
function develop(folder)
    known = resolved("SciMLBench")
    if known !== nothing && known.is_tracking_path && samefile(known.source, folder)
        # Another version of the package may have come to the folder, with other dependencies.
        Pkg.resolve(io = devnull)
    else
        Pkg.develop(path = folder, io = devnull)
    end
end

function add_pythoncall(version)
    known = resolved("PythonCall")
    known !== nothing && known.version == VersionNumber(version) && return
    Pkg.add(name = "PythonCall", version = version, io = devnull)
end

"""Add a package, in whatever version fits the others."""
add_wanted(name) = haskey(Pkg.project().dependencies, name) || Pkg.add(name, io = devnull)

println("choosing versions of packages; this may take a minute")
develop(FOLDER)
add_pythoncall(PYTHONCALL)
foreach(add_wanted, WANTED)
println("installing ", length(Pkg.dependencies()), " packages")
Pkg.instantiate(io = devnull)

println("compiling them; the first time this takes minutes to tens of minutes")
seconds = @elapsed try
    Pkg.precompile(["SciMLBench", "PythonCall", WANTED...], io = stdout)
catch error
    # A package that some cells need may be broken while others work: what works is tried afterwards.
    println("some packages could not be compiled: ", first(split(sprint(showerror, error), "\n\n\n")))
end
write(RESULT, string(seconds))
