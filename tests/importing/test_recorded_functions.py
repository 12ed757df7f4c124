"""Functions of JAX and PyTorch, read from the operations that the library itself records."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from sciml_bench.errors import ProblemError
from sciml_bench.importing.importer import of_source
from sciml_bench.spec.load import load_problem
from sciml_bench.spec.model import Problem
from tests.needs import imported

NUMBERS = "y0 = [1.0, 0.5, -0.2]\np = [0.5, 1.1, 0.7]\nt_span = (0, 4)\n"
HEADS = {
    "jax": "import jax\nimport jax.numpy as jnp\nfrom jax import lax\n" + NUMBERS,
    "torch": "import torch\nimport torch.nn.functional as F\n" + NUMBERS,
}

JAX = {
    "elementwise": "return jnp.exp2(y)*p - jnp.tan(0.1*y)/(1 + jnp.square(y)) + lax.rsqrt(2 + y**2) - jnp.expm1(y)**3",
    "moves": """
        z = jnp.concatenate([jnp.roll(y, 1), jnp.flip(y)]).reshape(2, 3).T
        z = jnp.pad(z, ((0, 0), (1, 0)), constant_values=2.0)[:, jnp.array([2, 0])]
        return z[:, 0]*p - jnp.diff(jnp.append(y, 1.0)) + z[1, 1]
    """,
    "scattered": """
        out = jnp.zeros(3).at[jnp.array([0, 0, 2])].add(y*p).at[1].set(-y[1])
        return out.at[0].multiply(2.0) + lax.dynamic_slice(y, (1,), (1,))
    """,
    "guards against what is no number": """
        return jnp.nan_to_num(-p*y) + jnp.where(jnp.isnan(y) | jnp.isinf(y), 1.0, 0.0) + jnp.isfinite(y)
    """,
    "loops": """
        def step(carry, k):
            return carry*0.5 + k, carry[0]*k
        last, each = lax.scan(step, y, p)
        return lax.fori_loop(0, 3, lambda i, z: z.at[i].add(p[i]*y[i]), last) - each
    """,
    "a loop that counts": """
        return lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] - 0.1*s[1]*p), (0, y))[1]
    """,
    "a branch of lax": "return lax.cond(y[0] > 0.9, lambda z: -z*p, lambda z: z*p[0], y)",
    "vmap": """
        pull = jax.vmap(jax.vmap(lambda a, b: jnp.sin(b - a), (None, 0)), (0, None))
        return p + pull(y, y).sum(1)/3
    """,
    "a gradient": """
        energy = lambda z: jnp.sum(z**4)/4 + jnp.prod(z) + jnp.sum(p*jnp.cos(z))
        return -jax.grad(energy)(y)
    """,
    "matrices": """
        K = jnp.array([[-1.0, 0.5, 0.0], [0.25, -2.0, 1.0], [0.0, 0.75, -3.0]])
        M = jnp.diag(1.0 + p)
        products = K @ y + jnp.einsum("ij,j->i", K, y**2) + jnp.dot(y, p)
        return products + jnp.linalg.solve(M, y) + jnp.linalg.solve(K, p*y)
    """,
    "a stencil": "return jnp.convolve(y, jnp.array([1.0, -2.0, 1.0]), mode='same')*p + jnp.cumsum(y) - jnp.cumprod(p)",
    "names of jnp": """
        a = jnp.clip(y, -1, 1) + jnp.mod(y, 0.7) + y//0.3 + jnp.sinc(y) + jnp.heaviside(y, 0.5) + jnp.hypot(y, p)
        return a + jnp.interp(t, jnp.array([0.0, 2.0, 4.0]), y) + jnp.interp(y, jnp.array([0.0, 1.0, 3.0]), p)
    """,
    "networks": """
        W = jnp.arange(12.0).reshape(4, 3)/10
        hidden = jax.nn.softplus(W @ y) + jax.nn.silu(W @ p) + jax.nn.elu(W @ y) + jax.nn.leaky_relu(W @ y)
        return W.T @ jax.nn.softmax(hidden) + jax.nn.relu(y) + jax.nn.gelu(y) + jax.nn.log_sigmoid(y)
    """,
    "conditions": """
        on = ((y > 0) & (t < 2)) | ~(p > 1)
        s = jnp.select([t < 1, t < 2], [p[0], p[1]], p[2])
        counted = on.astype(float) + jnp.any(y > 3)*1.0
        return jnp.where(on, y, -y)*s + counted + jnp.max(y) - jnp.min(p) + jnp.abs(y).sum()
    """,
    "inner functions": """
        @jax.jit
        def remainder(a, b):
            return a*b - b
        @jax.checkpoint
        def soft(a):
            return jnp.logaddexp(a, 0.3*a)
        return remainder(y, p) + soft(y) + jnp.linalg.norm(y) + jnp.stack([y.sum(), p.prod(), y.mean()])
    """,
    "a tuple of numbers": "a, b, c = y\nreturn -a*p[0], b*p[1] - a, jnp.asarray(c)",
}
TORCH = {
    "guards against what is no number": """
        return torch.nan_to_num(-p*y) + torch.where(torch.isnan(y) | torch.isinf(y), 1.0, 0.0) + torch.isfinite(y)
    """,
    "elementwise": """
        return torch.exp2(y)*p - torch.tan(0.1*y)/(1 + y.square()) + torch.rsqrt(2 + y**2) - torch.expm1(y)**3
    """,
    "moves": """
        z = torch.cat([torch.roll(y, 1), y.flip(0)]).reshape(2, 3).T
        z = F.pad(z, (1, 0), value=2.0)[:, torch.tensor([2, 0])]
        a, b, c = y.unbind()
        return z[:, 0]*p - torch.stack([a, b, c]).unsqueeze(0).expand(2, 3)[1] + z[1, 1]
    """,
    "written into": """
        out = torch.zeros_like(y)
        out[0] = -y[0]*p[0]
        out[1:] = y[:2]
        out[torch.tensor([0, 2])] += p[1]
        out[out < -3] = 0.0
        return out.index_add(0, torch.tensor([1, 1]), y[:2])
    """,
    "each derivative": """
        dy = torch.empty_like(y)
        dy[0] = p[0]*(y[1] - y[0])
        dy[1] = y[0]*(p[1] - y[2]) - y[1]
        dy[..., 2] = y[0]*y[1] - p[2]*y[2]
        return dy
    """,
    "along an axis": """
        z = torch.stack([y, 2*y + p])
        big = torch.where((z.abs() > 3).any(0), y, -y) + (z > 0).all(dim=0, keepdim=True)[0]*p
        return big + z.prod(0)
    """,
    "a ring": "return F.pad(y[None, None], (1, 1), mode='circular')[0, 0, 2:] - y + p/3",
    "a loop": """
        out = []
        for i in range(3):
            out.append(p[i]*(y[i - 1] - y[i]))
        return torch.stack(out)
    """,
    "a gradient": """
        energy = lambda z: (z**4).sum()/4 + z.prod() + (p*torch.cos(z)).sum()
        return -torch.func.grad(energy)(y)
    """,
    "vmap": "return p + torch.func.vmap(lambda a: torch.sin(y - a).sum())(y)/3",
    "matrices": """
        K = torch.tensor([[-1.0, 0.5, 0.0], [0.25, -2.0, 1.0], [0.0, 0.75, -3.0]], dtype=torch.float64)
        M = torch.diag(1.0 + p)
        products = K @ y + torch.einsum("ij,j->i", K, y**2) + y @ p
        return products + torch.linalg.solve(M, y) + torch.linalg.solve(K, p*y)
    """,
    "a stencil": """
        kernel = torch.tensor([[[1.0, -2.0, 1.0]]], dtype=torch.float64)
        return F.conv1d(y[None, None], kernel, padding=1)[0, 0]*p + torch.cumsum(y, 0) - torch.cumprod(p, 0)
    """,
    "names of torch": """
        a = torch.clamp(y, -1, 1) + torch.remainder(y, 0.7) + y//0.3 + torch.sinc(y) + torch.hypot(y, p)
        return a + torch.where(t > 2, y.amax(), y.min()) + y.mean() + torch.linalg.norm(y)
    """,
    "networks": """
        W = torch.arange(12.0, dtype=torch.float64).reshape(4, 3)/10
        hidden = F.softplus(W @ y) + F.silu(W @ p) + F.elu(W @ y) + F.leaky_relu(W @ y) + torch.sigmoid(W @ y)
        return W.T @ torch.softmax(hidden, 0) + torch.relu(y) + F.gelu(y, approximate="tanh") + F.logsigmoid(y)
    """,
    "conditions": """
        on = ((y > 0) & (t < 2)) | ~(p > 1)
        return torch.where(on, y, -y)*p + on.double() + torch.any(y > 3)*1.0 + y.max() - p.min() + y.abs().sum()
    """,
    "a module": """
        return NET(y)*p
    """,
    "a tuple of numbers": "a, b, c = y\nreturn -a*p[0], b*p[1] - a, c",
}  # fmt: skip
LAYERS = "torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3)"
MODULE = f"torch.manual_seed(3)\nNET = torch.nn.Sequential({LAYERS})\n"
CASES = [("jax", name) for name in JAX] + [("torch", name) for name in TORCH]


def written(tmp_path: Path, library: str, body: str, head: str = "") -> str:
    imported(library)
    path = tmp_path / "model.py"
    function = "def f(t, y, p):\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n"
    path.write_text(HEADS[library] + head + function)
    return f"{path}:f"


def loaded(tmp_path: Path, source: str) -> Problem:
    path = tmp_path / "problem.toml"
    path.write_text(of_source(source))
    return load_problem(path)


@pytest.mark.parametrize(("library", "name"), CASES)
def test_what_a_library_records_becomes_formulas(tmp_path: Path, library: str, name: str):
    """The import compares values and derivatives with the function's own."""
    body = {"jax": JAX, "torch": TORCH}[library][name]
    problem = loaded(tmp_path, written(tmp_path, library, body, MODULE if name == "a module" else ""))
    assert problem.n_states == 3


REFUSED = {
    "a branch": ("jax", "if y[0] > 1:\n    return y\nreturn -y", "jnp.where", 8),
    "a branch of PyTorch": ("torch", "if y[0] > 1:\n    return y\nreturn -y", "torch.where", 7),
    "a number that is needed": ("torch", "return y*int(y[0])", "torch.where", 7),
    "an index": ("jax", "return y*p[t.astype(int)]", "whole number", 8),
    "an index of PyTorch": ("torch", "return y*p[t.long()]", "torch.where", 7),
    "a mask": ("torch", "return y*y[y > 0].sum()", "torch.where", 6),
    "a loop": ("jax", "return lax.while_loop(lambda z: z[0] < 9, lambda z: 2*z, y)", "jnp.where", 8),
    "an equality": ("jax", "return jnp.where(y == 1, p, y)", "==", 8),
    "a function without counterpart": ("jax", "return jax.lax.erf(y)*p", "'erf'", 8),
    "one of PyTorch": ("torch", "return torch.erf(y)*p", "'erf'", 6),
    "a solve with pivots": ("jax", "return jnp.linalg.solve(jnp.eye(4)*t, jnp.ones(4))[:3]*y", "more than 3 rows", 8),
    "another norm": ("torch", "return y*torch.linalg.norm(y, 1)", "root of the sum", 6),
    "numbers of NumPy": ("torch", "return y*p if y.detach().numpy()[0] > 100 else -y*p", "array of NumPy", 7),
    "a tensor of tensors": ("torch", "return torch.tensor([y[0], y[1], p[0]])", "torch", 7),
    "random numbers": ("torch", "return y + torch.randn(3)", "two calls", None),
    "a change of the state": ("torch", "y[0] = 2*y[0]\nreturn -y", "in place", None),
    "another number of derivatives": ("jax", "return y[:2]", "returns 2 numbers for 3", None),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_formula_is_refused_with_its_line(tmp_path: Path, name: str):
    library, body, message, line = REFUSED[name]
    source = written(tmp_path, library, body)
    with pytest.raises(ProblemError) as caught:
        of_source(source)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    if line is not None:
        assert caught.value.line == line


def test_a_function_of_numpy_in_a_file_with_jax(tmp_path: Path):
    imported("jax")
    path = tmp_path / "model.py"
    path.write_text(HEADS["jax"] + "import numpy as np\ndef f(t, y, p):\n    return -p*np.sin(y)\n")
    assert loaded(tmp_path, f"{path}:f").n_parameters == 3


DERIVATIVES = {
    "a stopped gradient": ("jax", "return -p*lax.stop_gradient(y)*y"),
    "a stopped gradient of a parameter": ("jax", "return -lax.stop_gradient(p)*y"),
    "a rule of its own": (
        "jax",
        "rate = jax.custom_jvp(lambda z: z**2)\nrate.defjvp(lambda z, d: (z[0]**2, 3*d[0]*z[0]))\nreturn -p*rate(y)",
    ),
    "a detached tensor": ("torch", "return -p*y.detach()*y"),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_that_are_not_those_of_the_values_are_refused(tmp_path: Path, name: str):
    with pytest.raises(ProblemError, match="by differences"):
        of_source(written(tmp_path, *DERIVATIVES[name]))


OBJECTS = {
    "a module of Equinox": """
        import equinox as eqx, jax
        p = ()
        class Field(eqx.Module):
            net: eqx.nn.MLP
            def __call__(self, t, y, args):
                return self.net(y)
        f = Field(eqx.nn.MLP(3, 3, 4, 1, activation=jax.nn.tanh, key=jax.random.PRNGKey(0)))
    """,
    "a module of PyTorch": """
        import torch
        class Field(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3))
            def forward(self, t, y):
                return self.net(y**3)
        f = Field()
    """,
    "a function that is imported": """
        from jax.numpy import sin, array
        def f(t, y, p):
            return array([-p[0]*sin(y[1]), y[0], y[2]])
    """,
    "a library inside of the function": """
        def f(t, y, p):
            import jax.numpy as jnp
            return -p[0]*jnp.sin(y)
    """,
    "a matrix of tensors": """
        import torch
        y0 = torch.ones(2, 3)
        def f(t, y, p):
            return -p[0]*y @ y.T @ y
    """,
}


@pytest.mark.parametrize("name", OBJECTS)
def test_functions_of_other_kinds(tmp_path: Path, name: str):
    for package in ("jax", "torch", "equinox"):
        imported(package)
    path = tmp_path / "model.py"
    path.write_text(NUMBERS + textwrap.dedent(OBJECTS[name]))
    assert loaded(tmp_path, f"{path}:f").n_states in (3, 6)


PARAMETERS = {
    "none": ("jax", "p = None\n", "return -y", 0),
    "scalar tensors": ("torch", "p = [torch.tensor(0.5), torch.tensor(1.5)]\n", "return -p[0]*y*p[1]", 2),
    "a trained tensor": ("torch", "p = torch.nn.Parameter(torch.tensor([0.5, 1.5]))\n", "return -p[0]*y*p[1]", 2),
    "a scalar array by name": ("jax", "p = {'a': jnp.array(0.5)}\n", "return -p['a']*y", 1),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_of_libraries(tmp_path: Path, name: str):
    library, head, body, count = PARAMETERS[name]
    assert loaded(tmp_path, written(tmp_path, library, body, head)).n_parameters == count


#: A library, lines before the function, its body, and the names of states and parameters.
NESTED = {
    "matrix and vector": (
        "jax", "p = (jnp.ones((3, 3)), jnp.ones(3))\n", "W, b = p\nreturn jnp.tanh(W @ y + b)", "y1 y2 y3",
        "W_1_1 W_1_2 W_1_3 W_2_1 W_2_2 W_2_3 W_3_1 W_3_2 W_3_3 b_1 b_2 b_3",
    ),
    "layers in a dict": (
        "torch", "p = {'layers': [(torch.ones(1, 3), torch.ones(1))], 'k': 0.5, 'act': torch.tanh, 'bias': True}\n",
        "W, b = p['layers'][0]\nreturn p['act'](W @ y + b) - p['k']*y", "y1 y2 y3",
        "layers_1_1_1_1 layers_1_1_1_2 layers_1_1_1_3 layers_1_2_1 k",
    ),
    "a module of Equinox": (
        "jax", "import equinox as eqx\np = eqx.nn.Linear(3, 3, use_bias=False, key=jax.random.PRNGKey(1))\n",
        "return p(y)", "y1 y2 y3",
        "weight_1_1 weight_1_2 weight_1_3 weight_2_1 weight_2_2 weight_2_3 weight_3_1 weight_3_2 weight_3_3",
    ),
    "a dataclass with an array": (
        "jax", "from dataclasses import dataclass\n@dataclass\nclass P:\n    k: float\n    x: object\n"
        "p = P(0.5, jnp.array([1.0, 2.0, 3.0]))\n", "return -p.k*y*p.x", "y1 y2 y3", "k x_1 x_2 x_3",
    ),
    "places beside numbers": (
        "jax", "p = {'of': jnp.array([2, 0, 1]), 'k': 0.5}\n", "return -p['k']*y[p['of']]", "y1 y2 y3", "k",
    ),
    "a state with names": (
        "jax", "y0 = {'x': 1.0, 'v': jnp.array([0.5, 0.25])}\np = 0.5\n",
        "return {'v': -p*y['v']*y['x'], 'x': y['v'].sum()}", "v_1 v_2 x", "p",
    ),
    "a state of two arrays": (
        "torch", "y0 = (torch.tensor([1.0, 0.5]), torch.tensor([0.0, 0.25]))\np = 0.5\n",
        "q, v = y\nreturn v, -p*q", "q_1 q_2 v_1 v_2", "p",
    ),
    "a named tuple": (
        "jax", "from typing import NamedTuple\nclass S(NamedTuple):\n    x: object\n    v: object\n"
        "y0 = S(1.0, jnp.array([0.5]))\np = 0.5\n", "return S(y.v[0], -p*y.v*y.x)", "x v_1", "p",
    ),
    "one number": ("jax", "y0 = 1.0\np = 0.5\n", "return lax.cond(y > p, lambda: -p*y, lambda: -y**2)", "y", "p"),
    "the slope of a number": ("jax", "y0 = 1.0\np = 0.5\n", "return -jax.grad(lambda x: p*x**4)(y)", "y", "p"),
    "one number in PyTorch": ("torch", "y0 = 1.0\np = 0.5\n", "return -p*y*torch.sin(y)", "y", "p"),
}  # fmt: skip


@pytest.mark.parametrize("name", NESTED)
def test_states_and_parameters_may_be_nested(tmp_path: Path, name: str):
    library, head, body, states, parameters = NESTED[name]
    problem = loaded(tmp_path, written(tmp_path, library, body, head))
    assert sorted(state.name for state in problem.states) == sorted(states.split())
    assert sorted(item.name for item in problem.parameters) == sorted(parameters.split())


@pytest.mark.parametrize(
    ("head", "body", "message"),
    [
        ("y0 = {'x': 1.0, 'v': 0.5}\n", "return {'x': y['v']}", "returns dict, and the state is dict"),
        ("y0 = {'x': 1.0, 'v': 0.5}\n", "return {'x': y['v'], 'w': y['x']}", "with other keys than the state"),
        (
            "y0 = {'x': 1.0, 'v': jnp.array([0.5, 1.0])}\n",
            "return {'x': y['x'], 'v': y['x']}",
            "2 numbers for 3 states",
        ),
        ("p = (jnp.ones(3), jnp.array([1.0, jnp.nan, 1.0]))\n", "return p[0]*y + p[1]", "'p_2_2' is nan"),
        ("p = {'a': ['x', 1.0]}\n", "return y*p['a'][1]", "'p_a' is not a number"),
        ("p = (jnp.ones((50, 50)), 1.0)\n", "return y*p[1]", "2501 parameters, and formulas take at most 2000"),
        ("p = []\np.append(p)\n", "return y", "without end"),
    ],
)
def test_nests_that_do_not_fit_are_refused(tmp_path: Path, head: str, body: str, message: str):
    with pytest.raises(ProblemError, match=message):
        of_source(written(tmp_path, "jax", body, head))


def test_an_error_that_equinox_raises_is_no_part_of_the_formula(tmp_path: Path) -> None:
    imported("equinox")
    path = tmp_path / "model.py"
    body = "    y = eqx.error_if(y, y[0] < -100, 'negative')\n    return -p*y\n"
    path.write_text(f"{HEADS['jax']}import equinox as eqx\ndef f(t, y, p):\n{body}", encoding="utf-8")
    assert "where" not in of_source(f"{path}:f")


def test_a_result_in_single_precision_is_compared_as_such(tmp_path: Path) -> None:
    imported("torch")
    path = tmp_path / "model.py"
    path.write_text(f"{HEADS['torch']}def f(t, y, p):\n    return (-p[0]*y).float()\n", encoding="utf-8")
    assert 'v1 = "-p1"' in of_source(f"{path}:f")
