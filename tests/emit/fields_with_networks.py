"""Fields with a network, whose neighbours lie beyond each kind of end along each axis."""

from __future__ import annotations

from emit import networks

from sciml_bench.spec.model import Problem

LINE = """
[parameters]
D = 0.1
v = [0.5, -0.25]
[grids.x]
points = 6
first = 0
last = 1
{0}
[networks.f]
inputs = 2
layers = [3, 1]
activation = "tanh"
pointwise = true
[states]
u = {{ grid = ["x"], initial = "sin(3*x)", scale = 1 }}
w = 0.5
[definitions]
total = "sum(u)/6"
[equations]
u = "D*laplacian(u) + f(u, w) - v[0]*gradient(u, x) + where(u > total, 2*u, x) + shift(u, -2)"
w = "u[1]*w + v[1]*total"
"""
PLANE = """
[parameters]
D = 0.1
[grids.x]
points = 5
first = 0
last = 1
{0}
[grids.y]
points = 4
first = 0
last = 1
{1}
[networks.f]
inputs = 1
layers = [3, 1]
activation = "tanh"
pointwise = true
[states]
u = {{ grid = ["x", "y"], initial = "sin(3*x + y)", scale = 1 }}
v = {{ grid = ["x", "y"], initial = "x*y", scale = 1 }}
[equations]
u = "D*laplacian(u) + f(v) - gradient(v, y)*u[1, 2]"
v = "gradient(u, x) + x*sin(y)"
"""
ENDS = {
    "periodic": 'boundary = "periodic"',
    "neumann": 'boundary = "neumann"',
    "dirichlet": 'boundary = "dirichlet"\nboundary_value = 0.5',
}


def problems() -> dict[str, Problem]:
    """Every case by its name."""
    lines = {f"line-{name}": LINE.format(end) for name, end in ENDS.items()}
    pairs = (("neumann", "dirichlet"), ("dirichlet", "periodic"))
    planes = {f"plane-{a}-{b}": PLANE.format(ENDS[a], ENDS[b]) for a, b in pairs}
    return {name: networks.problem(text) for name, text in (lines | planes).items()}
