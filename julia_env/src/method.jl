"""
The package of each method, and how the solver is made; `pattern` is the structure of a sparse Jacobian or `nothing`,
`options` are of Rosenbrock methods.
"""
const METHODS = Dict{String, Tuple{Symbol, Function}}(
    "tsit5" => (:OrdinaryDiffEqTsit5, (package, pattern) -> package.Tsit5()),
    "vern7" => (:OrdinaryDiffEqVerner, (package, pattern) -> package.Vern7()),
    "vern9" => (:OrdinaryDiffEqVerner, (package, pattern) -> package.Vern9()),
    "rosenbrock23" => (
        :OrdinaryDiffEqRosenbrock, (package, pattern; options...) -> package.Rosenbrock23(; options...),
    ),
    "rodas5p" => (:OrdinaryDiffEqRosenbrock, (package, pattern; options...) -> package.Rodas5P(; options...)),
    "kencarp47" => (:OrdinaryDiffEqSDIRK, (package, pattern) -> package.KenCarp47()),
    "trbdf2" => (:OrdinaryDiffEqSDIRK, (package, pattern) -> package.TRBDF2()),
    "fbdf" => (:OrdinaryDiffEqBDF, (package, pattern) -> package.FBDF()),
    "qndf" => (:OrdinaryDiffEqBDF, (package, pattern) -> package.QNDF()),
    "radauiia5" => (:OrdinaryDiffEqFIRK, (package, pattern) -> package.RadauIIA5()),
    # KLU wants an analytic Jacobian; for large sparse ones SciML's tutorial takes GMRES.
    "cvode_bdf" => (
        :Sundials,
        (package, pattern) -> package.CVODE_BDF(; linear_solver = pattern === nothing ? :Dense : :GMRES),
    ),
)

"""The solver of a method, in the solve of an adjoint if a `sensitivity` is named, with its package loaded."""
function algorithm(method::AbstractString, pattern, sensitivity::AbstractString = "")
    package, make = METHODS[method]
    return Base.invokelatest(make, loaded(package), pattern; options(package, sensitivity)...)
end

"""
Options of a method in the solve of an adjoint.

A Rosenbrock method takes the derivative of the adjoint equation by time, by default with dual numbers. Through Enzyme's
vector-Jacobian products they give the part by the seeds alone, and zero for the rest: the method falls to a low order,
and takes steps without end at tight tolerances. Differences give both parts.
"""
function options(package, sensitivity)
    by_enzyme = sensitivity == "enzyme" || endswith(sensitivity, "-enzyme")
    package === :OrdinaryDiffEqRosenbrock && by_enzyme || return (;)
    return (; autodiff = Base.invokelatest(loaded(:ADTypes).AutoFiniteDiff))
end

"""A package of this one's dependencies, loaded now if it is not yet."""
loaded(package::Symbol) = Base.require(SciMLBench, package)
