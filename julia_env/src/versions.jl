# Packages whose versions a record names when they are loaded.
const NAMED = (
    :SciMLBase, :SciMLSensitivity, :ForwardDiff, :StaticArrays, :Zygote, :ReverseDiff, :Enzyme, :Mooncake, :Sundials,
    :PythonCall, :Lux, :NNlib, :ComponentArrays, :Optimisers, :SimpleChains, :LoopVectorization,
    :OrdinaryDiffEqCore, :OrdinaryDiffEqTsit5, :OrdinaryDiffEqVerner, :OrdinaryDiffEqRosenbrock, :OrdinaryDiffEqSDIRK,
    :OrdinaryDiffEqBDF, :OrdinaryDiffEqFIRK, :LinearSolve,
)

"""
Versions of Julia and of what is loaded, the numbers of threads, and, where there are any, the names of packages whose
library was replaced and of those compiled after `since` (seconds since 1970), as they are in this process.
"""
function versions(since::Float64)
    found = Dict(
        "julia" => string(VERSION),
        "threads_julia" => string(Threads.nthreads()),
        "threads_blas" => string(LinearAlgebra.BLAS.get_num_threads()),
    )
    for (id, package) in Base.loaded_modules
        Symbol(id.name) in NAMED && (found[id.name] = string(pkgversion(package)))
    end
    for (key, names) in ("replaced_libraries" => replaced_libraries(), "compiled_in_worker" => compiled_after(since))
        isempty(names) || (found[key] = join(names, ", "))
    end
    return found
end

"""
Packages whose compiled library is another one than the registry's: an entry of `Overrides.toml` or a preference put
one in its place. The version of such a package says nothing of the library.
"""
function replaced_libraries()
    libraries = ((id.name, package.artifact_dir) for (id, package) in Base.loaded_modules if
                 endswith(id.name, "_jll") && isdefined(package, :artifact_dir))
    return sort!([chopsuffix(name, "_jll") for (name, folder) in libraries if !registered(folder)])
end

# The folders of the registry's libraries, and of those that come with Julia.
registered(folder) = any(startswith(folder, joinpath(depot, "artifacts")) for depot in Base.DEPOT_PATH) ||
                     startswith(folder, dirname(Sys.BINDIR))

"""
Packages whose compiled code was written after `since`, as they were loaded and their cache did not fit. Its folder tells:
Julia touches each file that it loads.
"""
function compiled_after(since)
    caches = ((id.name, origin.cachepath) for (id, origin) in Base.pkgorigins if origin.cachepath !== nothing)
    return sort!([name for (name, path) in caches if mtime(dirname(path)) > since])
end
