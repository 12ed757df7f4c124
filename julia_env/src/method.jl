"""
The package of each method, and how the solver is made; `pattern` is the structure of a sparse Jacobian or `nothing`,
`options` are of implicit methods of OrdinaryDiffEq.
"""
const METHODS = Dict{String, Tuple{Symbol, Function}}(
    "tsit5" => (:OrdinaryDiffEqTsit5, (package, pattern) -> package.Tsit5()),
    "vern7" => (:OrdinaryDiffEqVerner, (package, pattern) -> package.Vern7()),
    "vern9" => (:OrdinaryDiffEqVerner, (package, pattern) -> package.Vern9()),
    "rosenbrock23" => (
        :OrdinaryDiffEqRosenbrock, (package, pattern; options...) -> package.Rosenbrock23(; options...),
    ),
    "rodas5p" => (:OrdinaryDiffEqRosenbrock, (package, pattern; options...) -> package.Rodas5P(; options...)),
    "kencarp47" => (:OrdinaryDiffEqSDIRK, (package, pattern; options...) -> package.KenCarp47(; options...)),
    "trbdf2" => (:OrdinaryDiffEqSDIRK, (package, pattern; options...) -> package.TRBDF2(; options...)),
    "fbdf" => (:OrdinaryDiffEqBDF, (package, pattern; options...) -> package.FBDF(; options...)),
    "qndf" => (:OrdinaryDiffEqBDF, (package, pattern; options...) -> package.QNDF(; options...)),
    "radauiia5" => (:OrdinaryDiffEqFIRK, (package, pattern; options...) -> package.RadauIIA5(; options...)),
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

const IMPLICIT = (:OrdinaryDiffEqRosenbrock, :OrdinaryDiffEqSDIRK, :OrdinaryDiffEqBDF, :OrdinaryDiffEqFIRK)

"""
Options of a method in the solve of an adjoint.

A Rosenbrock method takes the derivative of the adjoint equation by time, by default with dual numbers. Through Enzyme's
vector-Jacobian products they give the part by the seeds alone, and zero for the rest: the method falls to a low order,
and takes steps without end at tight tolerances. Differences give both parts. Mooncake's products take no dual numbers,
of which all implicit methods make their Jacobians.
"""
function options(package, sensitivity)
    by_enzyme = sensitivity == "enzyme" || endswith(sensitivity, "-enzyme")
    with_differences = endswith(sensitivity, "-mooncake") ? IMPLICIT : by_enzyme ? (:OrdinaryDiffEqRosenbrock,) : ()
    package in with_differences || return (;)
    return (; autodiff = Base.invokelatest(loaded(:ADTypes).AutoFiniteDiff))
end

"""A package of this one's dependencies, loaded now if it is not yet."""
loaded(package::Symbol) = Base.require(SciMLBench, package)
