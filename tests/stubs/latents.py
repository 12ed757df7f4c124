"""Small problems that compute something around their solve, with the data beside them."""

from __future__ import annotations

from pathlib import Path

from sciml_bench.spec import load_problem
from sciml_bench.spec.model import Problem

HEAD = 'spec = 1\nname = "around"\ntitle = "Around a solve"\n[time]\nt1 = 1\nsave = { times = [0.25, 0.75, 1] }\n'
DRAWN = 'weights = { draw = "normal", size = 0.6 }\nbiases = { draw = "uniform", size = 0.5 }\n'
AUTOENCODER = """
[data]
file = "around.csv"
columns = ["x", "w"]
[parameters]
k = 0.3
[networks.encode]
kind = "recurrent"
inputs = 2
layers = [5]
{draw}
reverse = true
[networks.ahead]
kind = "recurrent"
inputs = 2
layers = [3]
activation = "softplus"
{draw}
[networks.mean]
inputs = 5
layers = [3]
{draw}
[networks.f]
inputs = 4
layers = [6, 3]
activation = "tanh"
{draw}
[networks.decode]
inputs = 3
layers = [4, 2]
activation = "elu"
{draw}
[encoding]
h = "encode(x)"
m = "mean(h)"
[states]
z = {{ initial = "m + exp(0.5*ahead(x))*w", scale = 1 }}
[equations]
z = "f(z, t) - k*z"
[loss]
of = "decode(z)"
target = "x"
weight = 0.5
penalty = "0.5*sum(exp(m) - m - 1) + k**2 + dot(m, w)"
"""
CLASSIFIER = """
[data]
file = "around.csv"
[parameters]
k = 0.3
v = [1, 2]
[networks.encode]
inputs = 3
layers = [4, 2]
activation = "tanh"
{draw}
[networks.head]
inputs = 2
layers = [4]
{draw}
[states]
a = {{ initial = "encode(w)[0] + v[0]*u", scale = 1 }}
b = {{ initial = "k**2 + v[1]", scale = 1 }}
c = 0.25
[equations]
a = "-k*a + c"
b = "a*b - v[1]*c"
c = "-c"
[loss]
kind = "cross_entropy"
of = "head(a + k*c, b)"
label = "label"
at = "end"
weight = 0.25
"""
PARAMETERS = """
[data]
file = "around.csv"
[parameters]
k = 0.7
a = [1.5, -0.4]
s = 0.3
[encoding]
r = "sqrt(a[0]**2 + u**2)"
[states]
x = {{ initial = "r + a[1]", scale = 1 }}
v = {{ initial = 0.5, scale = 1 }}
[equations]
x = "v"
v = "-k*x - x**3 + a[1]*v"
[loss]
of = "x + s*v**2"
target = "m"
penalty = "s**2*r"
weight = 2
"""
CONTROLLED = """
[data]
file = "around.csv"
[networks.f]
inputs = 2
layers = [5, 4]
activation = "tanh"
{draw}
[control.X]
data = "x"
times = [0, 0.25, 0.625, 1]
interpolation = "{interpolation}"
[states]
z = {{ initial = "first", scale = 1 }}
[equations]
z = "apply(f(z), ddt(X)) - z"
"""
TABLES = {
    "controlled": "x[0,0],x[0,1],x[1,0],x[1,1],x[2,0],x[2,1],x[3,0],x[3,1],first[0],first[1]\n"
    "0,1,0.5,-1,0.25,2,1,0.5,0.5,-0.7\n1,0,-0.5,1.5,0,1,-1,0.25,-0.3,0.2\n",
    "autoencoder": '"x[0,0]","x[0,1]","x[1,0]","x[1,1]","x[2,0]","x[2,1]",w[0],w[1],w[2]\n'
    "0.5,-1,0.25,2,1,0.5,0.5,-0.7,1.5\n-0.5,1.5,0,1,-1,0.25,-0.3,0.2,0.1\n1,1,2,-2,0.5,0.5,0.9,1.1,-0.4\n",
    "classifier": "u,label,w[0],w[1],w[2]\n0.5,2,0.5,-0.7,1.5\n-1.5,0,-0.3,0.2,0.1\n0.75,3,0.9,1.1,-0.4\n",
    "parameters": "u,m[0],m[1],m[2]\n0.8,1,0.5,-0.25\n",
}
TEXTS = {"autoencoder": AUTOENCODER, "classifier": CLASSIFIER, "parameters": PARAMETERS}


def controlled(folder: Path, interpolation: str, size: int = 1) -> Problem:
    """A problem that a path through data drives."""
    (folder / "around.csv").write_text(TABLES["controlled"], encoding="utf-8")
    path = folder / "controlled.toml"
    text = CONTROLLED.format(draw=DRAWN, interpolation=interpolation)
    path.write_text(HEAD + text + f"[batch]\nsize = {size}\n", encoding="utf-8")
    return load_problem(path)


def latent(folder: Path, name: str, size: int = 1) -> Problem:
    """A problem by its name, with so many trajectories; the files are written into the folder."""
    (folder / "around.csv").write_text(TABLES[name], encoding="utf-8")
    path = folder / f"{name}.toml"
    path.write_text(HEAD + TEXTS[name].format(draw=DRAWN) + f"[batch]\nsize = {size}\n", encoding="utf-8")
    return load_problem(path)


STOCHASTIC = """
[networks.f]
inputs = 2
layers = [5, 2]
activation = "tanh"
{draw}
[networks.g]
inputs = 2
layers = [5, 4]
activation = "tanh"
{draw}
[control.W]
brownian = {{ channels = 2, steps = 8, seed = 4 }}
[states]
z = {{ initial = [1, 0], scale = 1 }}
u = {{ initial = [0.5], scale = 1 }}
[equations]
z = "f(z) + apply(g(z), ddt(W)) - z"
u = "-u"
"""


def stochastic(folder: Path, size: int = 1) -> Problem:
    """A problem that a Brownian motion drives."""
    path = folder / "stochastic.toml"
    path.write_text(HEAD + STOCHASTIC.format(draw=DRAWN) + f"[batch]\nsize = {size}\n", encoding="utf-8")
    return load_problem(path)
