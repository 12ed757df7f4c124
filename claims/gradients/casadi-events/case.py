"""The height at t = 1.1 of a ball dropped from 1, which lands once, and its derivative by ``share``, of speed kept."""

import casadi
import numpy as np

x, v, share = casadi.SX.sym("x"), casadi.SX.sym("v"), casadi.SX.sym("share")
state, t, none = casadi.vertcat(x, v), casadi.SX.sym("t"), casadi.SX(0, 1)
# An event is where a "zero" becomes negative.
EQUATIONS = {"x": state, "t": t, "p": share, "ode": casadi.vertcat(v, -9.81), "zero": x}
AFTER = casadi.Function(
    "after", [casadi.SX.sym("index"), t, state, none, share, none], [casadi.vertcat(0, -share * v), none],
    ["index", "t", "x", "z", "p", "u"], ["post_x", "post_z"],
)  # fmt: skip
OPTIONS = {"transition": AFTER, "max_events": 10, "reltol": 1e-8, "abstol": 1e-8}

p = casadi.MX.sym("p")
for plugin in ("cvodes", "idas"):
    for many in (False, True):
        times = np.linspace(0.01, 1.1, 110) if many else [1.1]
        ball = casadi.integrator("ball", plugin, EQUATIONS, 0.0, times, OPTIONS)
        height = ball(x0=[1, 0], p=p)["xf"][0, -1]
        for reverse in (False, True):
            way = f"{plugin}, {len(times)} output times, {'adjoint' if reverse else 'forward'}"
            try:
                gradient = casadi.Function("gradient", [p], [casadi.jtimes(height, p, 1, reverse)])(0.8)
                print(f"{way}: {float(gradient)!r}")
            except RuntimeError as error:
                lines = [line for line in str(error).splitlines() if "CV_" in line or "IDA_" in line]
                print(f"{way}: refused: {lines[0].rpartition(': ')[2] if lines else error}")
