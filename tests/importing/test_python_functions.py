"""Python functions in many styles become problem files that compute the same; what cannot is refused with its line."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest
from needs import imported

from sciml_bench.errors import ProblemError
from sciml_bench.importing.forms import is_python
from sciml_bench.importing.importer import of_source
from sciml_bench.spec.load import load_problem
from sciml_bench.spec.model import Problem

STYLES = {
    "an array": """
        import numpy as np
        def f(t, y, p):
            return np.array([p[0]*(y[1] - y[0]), y[0]*(p[1] - y[2]) - y[1], y[0]*y[1] - p[2]*y[2]])
    """,
    "a list and math": """
        import math
        def f(t, y, p):
            a, b, c = p
            return [-a*math.sin(y[0]), math.exp(-b*t) - y[1]**2, math.sqrt(1 + y[2]**2) - c*math.pi]
    """,
    "names imported on their own": """
        from numpy import array, cos, exp, maximum
        from math import tanh
        def f(t, y, p):
            return array([cos(y[0]*p[0]), maximum(y[1], 0)*tanh(p[1]), exp(-y[2])*p[2]])
    """,
    "zeros that are filled": """
        import numpy as np
        def f(t, y, p):
            dydt = np.zeros(3)
            dydt[0] = -p[0]*y[0]
            dydt[1] += p[0]*y[0] - p[1]*y[1]
            dydt[2] = p[1]*y[1] - p[2]
            return dydt
    """,
    "zeros like the state": """
        import numpy as np
        def f(t, y, p):
            out = np.zeros_like(y)
            for i in range(len(y)):
                out[i] = p[i]*y[i]*(1 - y[i]) + (y[i - 1] - y[i])
            return out
    """,
    "whole arrays": """
        import numpy as np
        K = np.array([[0.0, 1.0, 0.5], [-1.0, 0.0, 0.2], [0.3, 0.1, -2.0]])
        def f(t, y, p):
            return K @ y*p[0] - np.asarray(p)*np.tanh(y) + np.sum(y**2) + np.dot(y, y) + (np.roll(y, 1) - 2*y)
    """,
    "a helper and a global number": """
        import numpy as np
        RATE = 0.3
        def saturating(x, k):
            return RATE*x/(k + x)
        def f(t, y, p):
            return np.stack([saturating(y[0], p[0]), -saturating(y[1], p[1]), np.cos(p[2]*t)])
    """,
    "conditions": """
        import numpy as np
        def f(t, y, p):
            dose = np.where((t > 1) & (t < 2), p[0], 0.0)
            return [dose - y[0], np.clip(y[1], -0.5, p[1]), np.minimum(np.abs(y[2]), p[2])*np.sign(y[2])]
    """,
    "tables that are looked up": """
        import numpy as np
        TIMES, RATES = np.array([1.0, 2.0, 3.5]), np.array([0.5, 1.5, 0.2, 0.9])
        LEVELS = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
        def f(t, y, p):
            k = RATES[np.searchsorted(TIMES, t)]
            last = RATES[np.clip(np.digitize(y[0], TIMES[:2]) - 1, 0, 2)]
            return -k*y*p + last + LEVELS[np.searchsorted([0.25], y[1], side="right")] + RATES[1:]*0.1
    """,
    "guards against what is no number": """
        import numpy as np
        def f(t, y, p):
            safe = np.where(np.isnan(y) | np.isinf(y), 0.0, y)
            return np.nan_to_num(-p*safe) + np.isfinite(t)*1.0
    """,
    "a gradient of a vector": """
        import numpy as np
        def f(t, y, p):
            return -p[0]*np.gradient(y) + p[1]*np.gradient(y**2, 0.5)
    """,
    "remainders and powers": """
        import numpy as np
        def f(t, y, p):
            rest = t % p[1] - y[1] + p[1]//2
            return np.array([p[0]**2 - np.power(abs(y[0]), 1.5), rest, 2.0**y[2] - np.hypot(p[2], 1)])
    """,
    "a dict of parameters": """
        p = {"alpha": 0.4, "beta": 1.2, "gamma_rate": 0.7}
        def f(t, y, p):
            return [-p["alpha"]*y[0], p["alpha"]*y[0] - p["beta"]*y[1], p["gamma_rate"] - y[2]]
    """,
    "a dataclass of parameters": """
        from dataclasses import dataclass
        @dataclass(frozen=True)
        class Rates:
            a: float = 0.4
            b: float = 1.3
        p = Rates()
        def f(t, y, rates):
            return [-rates.a*y[0], rates.b - y[1], y[0]*y[2]]
    """,
    "a named tuple of parameters": """
        from collections import namedtuple
        Rates = namedtuple("Rates", "a b")
        p = Rates(0.4, 1.3)
        def f(t, y, rates):
            return (-rates.a*y[0], rates.b - y[1], y[0]*y[2])
    """,
    "arguments of their own, as solve_ivp takes them": """
        p = (0.4, 1.3)
        def f(t, y, a, b, c=0.2):
            x, v, w = y
            return [-a*x, b - v, c*w]
    """,
    "the order of odeint": """
        def f(y, t, a, b, c):
            return -a*y[0], b*t - y[1], c*y[0]
    """,
    "no parameters": """
        p = ()
        def f(t, y):
            return -y*(1 + 0.1*t)
    """,
    "a sum of many terms": """
        import numpy as np
        def f(t, y, p):
            total = 0.0
            for k in range(1, 200):
                total = total + np.sin(k*y[0])/k**2
            return [total*p[0], -y[1]*p[1], p[2]]
    """,
    "a table": """
        import numpy as np
        T, V = np.array([0.0, 1.0, 2.5]), [1.0, 3.0, 2.0]
        def f(t, y, p):
            inflow = np.interp(t, T, V)
            return [inflow - y[0], np.interp(t, T, p) - y[1], np.interp(y[2], T, V, left=0.0, right=p[2])]
    """,
    "small matrices": """
        import numpy as np
        from numpy.linalg import inv
        def f(t, y, p):
            M = np.array([[2 + p[0], np.sin(y[0]), 0.0], [np.sin(y[0]), 1.0, p[1]], [0.1, 0.0, 3.0]])
            a = np.linalg.solve(M, y)
            b = inv(M[:2, :2]) @ y[:2]
            return a + b[0] + np.linalg.det(M)*p[2] + np.linalg.solve(np.eye(4), np.ones(4))[0]
    """,
    "functions of SciPy": """
        from scipy.special import expit
        import scipy.special as special
        def f(t, y, p):
            return [p[0]*expit(y[0]), -special.expit(y[1])*p[1], p[2] - y[2]]
    """,
    "lambda": """
        import numpy as np
        f = lambda t, y, p: [p[0]*np.log1p(y[0]**2), -y[1], p[1]*np.expm1(-y[2]) + p[2]]
    """,
}
JAX = """
    import jax.numpy as jnp
    def f(t, y, p):
        return jnp.stack([p[0]*jnp.sin(y[0]), jnp.where(t > 1, p[1], -y[1]), jnp.maximum(y[2], 0.0) - p[2]])
"""
TORCH = """
    import torch
    def f(t, y, p):
        return torch.stack((torch.sigmoid(y[0])*p[0], -torch.relu(y[1])*p[1], torch.exp(-y[2]*p[2])))
"""
JAX_NN = """
    import jax
    import jax.numpy as jnp
    from jax.nn import softplus
    @jax.jit
    def f(t, y, p):
        out = jnp.zeros(3).at[0].set(-p[0]*jax.nn.sigmoid(y[0])).at[1:].add(softplus(y[1:]))
        rise = jnp.interp(t, jnp.array([0.0, 2.0]), jnp.array([1.0, 2.0]))
        return out.at[2].multiply(p[2]) + p[1]*jax.nn.silu(y)*rise
"""
TORCH_NN = """
    import torch
    import torch.nn.functional as F
    def f(t, y, p):
        return torch.stack((F.softplus(y[0])*p[0], -F.silu(y[1])*p[1], F.elu(y[2]) + torch.linalg.norm(y)*p[2]))
"""
JAX_GLOBAL = """
    import jax.numpy as jnp
    K = jnp.array([[-1.0, 0.5, 0.0], [0.25, -2.0, 1.0], [0.0, 0.75, -3.0]])
    def f(t, y, p):
        return K @ y*p[0] + p[1]*jnp.sum(K)*y - K[0]*p[2]
"""
TORCH_SINGLE = """
    import torch
    K = torch.tensor([[-1.0, 0.5, 0.0], [0.25, -2.0, 1.0], [0.0, 0.75, -3.0]])
    def f(t, y, p):
        return p*torch.tanh(K @ y)
"""
TORCH_TIME = """
    import torch
    def f(t, y, p):
        t = torch.as_tensor(t)
        on = torch.where(y[0] > 0, p[0], -p[1])
        return p[2]*torch.stack([on - y[0], torch.cos(t), -y[2]*torch.exp(-t)])
"""
NUMBA = """
    from numba import njit
    @njit
    def f(t, y, p):
        return -p[0]*y[0], p[1]*y[0] - y[1], p[2]*y[2]**2
"""


def written(tmp_path: Path, text: str, head: str = "") -> str:
    path = tmp_path / "model.py"
    path.write_text("y0 = [1.0, 0.5, -0.2]\np = [0.5, 1.1, 0.7]\nt_span = (0, 4)\n" + head + textwrap.dedent(text))
    return f"{path}:f"


def loaded(tmp_path: Path, source: str) -> Problem:
    path = tmp_path / "problem.toml"
    path.write_text(of_source(source))
    return load_problem(path)


@pytest.mark.parametrize("style", STYLES)
def test_a_function_becomes_a_problem_that_computes_the_same(tmp_path: Path, style: str):
    """The comparison itself is a part of the import; here are the numbers around it."""
    problem = loaded(tmp_path, written(tmp_path, STYLES[style]))
    assert problem.numbers().y0 == (1.0, 0.5, -0.2)
    assert problem.numbers().t1 == 4.0
    assert problem.title == "f, from a Python function" or style == "lambda"


@pytest.mark.parametrize(
    ("library", "text"),
    [
        ("jax", JAX),
        ("jax", JAX_NN),
        ("torch", TORCH),
        ("torch", TORCH_NN),
        ("numba", NUMBA),
        ("jax", JAX_GLOBAL),
        ("torch", TORCH_SINGLE),
        ("torch", TORCH_TIME),
    ],
)
def test_functions_of_frameworks(tmp_path: Path, library: str, text: str):
    imported(library)
    source = written(tmp_path, text)
    assert loaded(tmp_path, source).n_parameters == 3


def test_names_come_from_the_function(tmp_path: Path):
    text = """
        def f(t, y, p):
            S, I, R = y
            beta, gamma = p[0], p[1]
            new = beta*S*I
            return [-new, new - gamma*I, gamma*I + p[2]]
    """
    problem = loaded(tmp_path, written(tmp_path, text))
    assert problem.state_labels == ("S", "I", "R")
    assert problem.parameter_labels == ("beta", "gamma", "p3")
    # What is used twice is written once.
    assert [item.name for item in problem.definitions] == ["v1"]


def test_parameters_that_are_not_used_are_left_out(tmp_path: Path):
    problem = loaded(tmp_path, written(tmp_path, "def f(t, y, p):\n    return -p[1]*y\n"))
    assert problem.parameter_labels == ("p2",)


def test_names_that_mean_something_get_others(tmp_path: Path):
    text = """
        def f(t, y, p):
            exp, t_, pi = y
            lambda_, min, __x = p
            return [-exp*lambda_, t_*min, pi*__x]
    """
    problem = loaded(tmp_path, written(tmp_path, text))
    assert problem.state_labels == ("v_exp", "t_", "v_pi")


def test_saved_times_of_the_file(tmp_path: Path):
    problem = loaded(tmp_path, written(tmp_path, STYLES["an array"], "t_eval = [0, 1, 4]\n"))
    assert problem.numbers().save_times == (1.0, 4.0)


REFUSED = {
    "a branch": ("def f(t, y, p):\n    if y[0] > 1:\n        return y\n    return -y\n", "np.where", 2),
    "a loop": ("def f(t, y, p):\n    while y[0] > 1:\n        y = y/2\n    return y\n", "np.where", 2),
    "an equality": ("def f(t, y, p):\n    return [y[0], y[1], 1.0*(y[2] == 1)]\n", "==", 2),
    "a function without counterpart": (
        "import numpy as np\ndef f(t, y, p):\n    return [y[0], y[1], np.arctan2(y[2], p[0])]\n", "arctan2", 3,
    ),
    "a solve with pivots": (
        "import numpy as np\ndef f(t, y, p):\n    return np.linalg.solve(np.eye(4)*p[0], np.ones(4))[:3]*y\n",
        "more than 3 rows", 3,
    ),
    "another norm": (
        "import numpy as np\ndef f(t, y, p):\n    return y*np.linalg.norm(y, 1)\n", "root of the sum", 3,
    ),
    "places of a table that move": (
        "import numpy as np\ndef f(t, y, p):\n    return y*np.interp(t, [0, p[0]], [1, 2])\n", "must be numbers", 3,
    ),
    "the error function": (
        "from math import erf\ndef f(t, y, p):\n    return [erf(y[0]), y[1], y[2]]\n", "", 3,
    ),
    "a number that is needed": ("def f(t, y, p):\n    return [y[0], y[1], int(y[2])]\n", "cannot become a number", 2),
    "an index": ("def f(t, y, p):\n    return [y[0], y[1], p[int(t)]]\n", "cannot become a number", 2),
    "another number of derivatives": ("def f(t, y, p):\n    return [y[0], y[1]]\n", "returns 2 numbers for 3", 1),
    "a key that is missing": ("def f(t, y, p):\n    return [y[0], y[1], p['k']]\n", "", 2),
    "random numbers": (
        "import numpy as np\ndef f(t, y, p):\n    return y*p + np.random.normal()\n", "two calls", None,
    ),
    "a counter": ("n = [0]\ndef f(t, y, p):\n    n[0] += 1\n    return [y[0]*n[0], y[1], y[2]]\n", "two calls", None),
    "a change of the state": ("def f(t, y, p):\n    y[0] = 2*y[0]\n    return -y\n", "in place", None),
    "too few arguments": ("def f(y):\n    return y\n", "fewer than two", 1),
    "complex numbers": ("def f(t, y, p):\n    return [y[0]*1j, y[1], y[2]]\n", "not a real number", 2),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_formula_is_refused_with_its_line(tmp_path: Path, name: str):
    text, message, line = REFUSED[name]
    source = written(tmp_path, text)
    with pytest.raises(ProblemError) as caught:
        of_source(source)
    assert message in str(caught.value)
    assert str(tmp_path / "model.py") in str(caught.value)
    if line is not None:
        assert caught.value.line == 3 + line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no function 'f'"),
        ("raise RuntimeError('no')\n", "RuntimeError: no"),
        ("def f(t, y, p):\n    return (\n", "SyntaxError"),
        ("del y0\ndef f(t, y, p):\n    return y\n", "y0 is missing"),
        ("del t_span\ndef f(t, y, p):\n    return y\n", "t_span is missing"),
        ("p = ['a']\ndef f(t, y, p):\n    return y*p[0]\n", "is not a number"),
        ("y0 = {'a': 'x'}\ndef f(t, y, p):\n    return y\n", "has no number"),
        ("t_span = 3\ndef f(t, y, p):\n    return y\n", "t_span"),
        ("y0 = 'abc'\ndef f(t, y, p):\n    return y\n", "y0"),
        ("p = (1, 2, 3, 4)\ndef f(t, y, a, b):\n    return y\n", "it takes a, b, and p has 4 numbers"),
    ],
)
def test_a_file_that_does_not_say_enough(tmp_path: Path, text: str, message: str):
    with pytest.raises(ProblemError) as caught:
        of_source(written(tmp_path, text))
    assert message in str(caught.value)


def test_options_replace_what_the_file_says(tmp_path: Path):
    source = written(tmp_path, "del y0, t_span\np = ()\ndef f(t, y, a):\n    return [-a*y[0], y[0]]\n")
    path = tmp_path / "problem.toml"
    path.write_text(of_source(source, y0=(2.0, 0.0), p=(3.0,), t_span=(1.0, 2.0)))
    numbers = load_problem(path).numbers()
    assert (numbers.y0, numbers.p, numbers.t0, numbers.t1) == ((2.0, 0.0), (3.0,), 1.0, 2.0)


def test_what_names_a_function():
    assert is_python("a/b.py:rhs")
    assert not any(map(is_python, ["robertson", "a.toml", "a.py", "a.py:", "a.py:x-y", "C:/a.toml"]))


def test_large_systems_are_written_in_time(tmp_path: Path):
    text = """
        import numpy as np
        y0 = np.linspace(0, 1, 400)
        p = [8.0]
        def f(t, y, p):
            return (np.roll(y, -1) - np.roll(y, 2))*np.roll(y, 1) - y + p[0]
    """
    problem = loaded(tmp_path, written(tmp_path, text))
    assert problem.n_states == 400
    assert np.allclose(problem.numbers().y0, np.linspace(0, 1, 400))
