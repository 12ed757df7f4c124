"""z(1/2) + z(1) of x' = -rate z, 0 = x² - z, and its derivative by ``rate``."""

import casadi

x, z, rate = casadi.SX.sym("x"), casadi.SX.sym("z"), casadi.SX.sym("rate")
EQUATIONS = {"x": x, "z": z, "p": rate, "ode": -rate * z, "alg": x**2 - z}
TOLERANCES = {"reltol": 1e-10, "abstol": 1e-10}


def at_once(p):
    """One integrator with two times."""
    both = casadi.integrator("both", "idas", EQUATIONS, 0.0, [0.5, 1.0], TOLERANCES)
    return casadi.sum2(both(x0=1.0, z0=1.0, p=p)["zf"])


def in_turn(p):
    """An integrator from each time to the next."""
    half = casadi.integrator("half", "idas", EQUATIONS, 0.0, 0.5, TOLERANCES)
    first = half(x0=1.0, z0=1.0, p=p)
    second = half(x0=first["xf"], z0=first["zf"], p=p)
    return first["zf"] + second["zf"]


def with_roots(p):
    """As before, and z as the root of its equation."""
    half = casadi.integrator("half", "idas", EQUATIONS, 0.0, 0.5, TOLERANCES)
    root = casadi.rootfinder("root", "newton", {"x": z, "p": x, "g": EQUATIONS["alg"]})
    first = half(x0=1.0, z0=1.0, p=p)
    middle = root(x0=first["zf"], p=first["xf"])["x"]
    second = half(x0=first["xf"], z0=middle, p=p)
    return middle + root(x0=second["zf"], p=second["xf"])["x"]


p = casadi.MX.sym("p")
for total in (at_once, in_turn, with_roots):
    for reverse in (False, True):
        way = f"idas {total.__name__.replace('_', ' ')}, {'adjoint' if reverse else 'forward'}"
        try:
            gradient = casadi.Function("gradient", [p], [casadi.jtimes(total(p), p, 1, reverse)])(2.0)
            print(f"{way}: {float(gradient)!r}")
        except RuntimeError as error:
            lines = [line for line in str(error).splitlines() if "IDA_" in line]
            print(f"{way}: refused: {lines[0].rpartition(': ')[2] if lines else error}")
