"""The package of each method, and how the solver is made; `pattern` is the structure of a sparse Jacobian or `nothing`."""
const METHODS = Dict{String, Tuple{Symbol, Function}}(
    "tsit5" => (:OrdinaryDiffEqTsit5, (package, pattern) -> package.Tsit5()),
    "vern7" => (:OrdinaryDiffEqVerner, (package, pattern) -> package.Vern7()),
    "vern9" => (:OrdinaryDiffEqVerner, (package, pattern) -> package.Vern9()),
    "rosenbrock23" => (:OrdinaryDiffEqRosenbrock, (package, pattern) -> package.Rosenbrock23()),
    "rodas5p" => (:OrdinaryDiffEqRosenbrock, (package, pattern) -> package.Rodas5P()),
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

"""The solver of a method, with its package loaded."""
function algorithm(method::AbstractString, pattern)
    package, make = METHODS[method]
    return Base.invokelatest(make, loaded(package), pattern)
end

"""A package of this one's dependencies, loaded now if it is not yet."""
loaded(package::Symbol) = Base.require(SciMLBench, package)
