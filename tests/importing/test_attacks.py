"""Functions that fool a tracer: what is written is right, or nothing is written."""

from __future__ import annotations

import contextlib
import textwrap
from pathlib import Path

import pytest

from sciml_bench.errors import ProblemError
from sciml_bench.importing.importer import of_source
from sciml_bench.spec.load import load_problem
from sciml_bench.spec.model import Problem

HEAD = "import numpy as np\nimport math\ny0 = [1.0, 0.5, -0.2]\np = [0.5, 1.1, 0.7]\nt_span = (0, 4)\n"


def source(tmp_path: Path, text: str) -> str:
    path = tmp_path / "model.py"
    path.write_text(HEAD + textwrap.dedent(text))
    return f"{path}:f"


def loaded(tmp_path: Path, text: str) -> Problem:
    path = tmp_path / "problem.toml"
    path.write_text(of_source(source(tmp_path, text)))
    return load_problem(path)


SILENT = {
    "a refusal that is caught": """
        def f(t, y, p):
            try:
                r = 0.0 if y[0] > 3 else p[0]
            except Exception:
                r = p[0]
            return -r*y
    """,
    "one that is suppressed": """
        import contextlib
        def f(t, y, p):
            r = p[0]
            with contextlib.suppress(TypeError):
                r = float(int(y[0]))
            return -r*y
    """,
    "a condition that is compared": """
        def f(t, y, p):
            return -y*(2.0 if (y[0] > 3) == True else p[0])
    """,
    "a condition that is looked up": """
        def f(t, y, p):
            return -y*{True: 2.0}.get(y[0] > 3, p[0])
    """,
    "a time that is looked up": """
        def f(t, y, p):
            return -y*(p[1] if t in (1.0, 2.0) else p[0])
    """,
    "a text": """
        def f(t, y, p):
            return -y*(p[1] if str(y[0]).startswith("-") else p[0])
    """,
    "a branch on a type": """
        def f(t, y, p):
            x = y[0]
            if isinstance(x, float):
                x = min(x, 3.0)
            return [-x*p[0], -y[1], y[2]]
    """,
    "a scalar by its type": """
        def f(t, y, p):
            rate = 2.0 if np.isscalar(t) and not hasattr(t, "op") and t >= 0 else p[0]
            return -rate*y
    """,
    "complex initial values": """
        y0 = [1 + 0j, 0.5j, 0]
        def f(t, y, p):
            return -y*p[0]
    """,
    "an order that is not clear": """
        def f(y, x, p):
            return -y + x
    """,
    "the order of Julia": """
        def f(u, p, t):
            return [-p[0]*u[0], u[1], u[2]]
    """,
    "a dict of derivatives with other names": """
        def f(t, y, p):
            return {"b": -y[0], "a": y[1]*p[0], "c": y[2]}
    """,
}


@pytest.mark.parametrize("name", SILENT)
def test_no_wrong_file_is_written(tmp_path: Path, name: str):
    with pytest.raises(ProblemError) as caught:
        of_source(source(tmp_path, SILENT[name]))
    assert len(str(caught.value).splitlines()) == 1
    assert "model.py" in str(caught.value)


STYLES = {
    "options of functions": """
        def f(t, y, p):
            safe = np.divide(y, y - 5, out=np.zeros_like(y), where=y < 4)
            return np.maximum(safe, -0.5)*p[0]
    """,
    "whole parameters and a default": """
        def f(t, y, p, scale=2.0):
            return -p*y*scale
    """,
    "a dict of derivatives": """
        def f(t, y, p):
            a, b, c = y
            return {"b": -a, "a": b*p[0], "c": c}
    """,
    "numbers of NumPy on the left": """
        W = np.array([[0.1, 0.2, 0.0], [0.3, 0.0, 0.1], [0.0, 0.5, 0.2]])
        def f(t, y, p):
            out = np.zeros(3)
            for i in range(3):
                for j in range(3):
                    out[i] += W[i, j]*y[j]*np.sqrt(2.0) - np.int64(2)*p[j]
            return out
    """,
    "doses at several times": """
        TIMES = np.array([0.5, 1.5, 2.5])
        def f(t, y, p):
            given = np.sum(np.where(t > TIMES, p[0]*np.exp(-(t - TIMES)), 0.0))
            return [given - y[0], np.sum((t > TIMES)*p[1]) - y[1], -y[2]]
    """,
    "indices of arrays": """
        def f(t, y, p):
            i = np.arange(3)
            swapped = y[np.array([1, 2, 0])]
            z = y.copy()
            z[z < 0] = 0
            return y[(i + 1) % 3]*p[0] - swapped + z
    """,
    "largest and smallest": """
        def f(t, y, p):
            return [max(y[0], 0)*p[0] - min(y), np.max(y) - y.min(), np.clip(y[2], 0, None) + y.clip(-1, 1)[1]]
    """,
    "names of parameters": """
        p = {"exp": 0.5, "α": 1.2, "_k": 0.7}
        def f(t, y, p):
            return [-p["exp"]*y[0], -p["α"]*y[1], -p["_k"]*y[2]]
    """,
    "one name for a state and a parameter": """
        p = {"v": 0.5, "x": 1.1}
        def f(t, y, p):
            x, v, w = y
            return [-p["v"]*x, -p["x"]*v, w]
    """,
    "parameters that no argument takes": """
        def f(t, y):
            return -2*y
    """,
    "any number of arguments": """
        def f(t, y, *args):
            a, b, c = args
            return [-a*y[0], b*y[1], c*y[2]]
    """,
    "an object": """
        class Model:
            k = 0.5
            def __call__(self, t, y, p):
                return np.array([-self.k*y[0], p[0]*y[1], np.zeros(1)[0] + y[2]])
        f = Model()
    """,
    "a method": """
        class Model:
            def rhs(self, t, y, p):
                return np.array([-p[0]*y[0], p[1]*y[1], y[2]])
        f = Model().rhs
    """,
    "a factory": """
        def make(k, lib=np):
            import numpy
            def rhs(t, y, p):
                return numpy.array([-k*y[0], numpy.tanh(p[0]*y[1]), lib.cos(y[2])])
            return rhs
        f = make(0.4)
    """,
    "a partial": """
        from functools import partial
        def general(t, y, p, k):
            return -k*y*p[0]
        f = partial(general, k=2.0)
    """,
    "a decorator": """
        import functools
        def logged(g):
            @functools.wraps(g)
            def inner(*args):
                return g(*args)
            return inner
        @logged
        def f(t, y, p):
            return -np.sin(y)*p[0]
    """,
    "conditions in sums": """
        def f(t, y, p):
            on = (t > 1) + 0.5*(t > 2)
            return [on*p[0] - y[0], float(t > 1) - y[1], np.sum((y > 0).astype(float)) - (1 - (t > 1))*y[2]]
    """,
    "choices": """
        def f(t, y, p):
            return [np.select([t < 1, t < 2], [p[0], p[1]], p[2]) - y[0], math.log(2.5, 10)*y[1], y[2]*math.ceil(2.5)]
    """,
    "a matrix of states": """
        y0 = np.array([[1.0, 0.5], [0.2, 0.1]])
        def f(t, y, p):
            return (p[0]*y @ y.T - y).ravel()
    """,
    "a spectral norm": """
        def f(t, y, p):
            r = np.linalg.norm(y)
            return -y/(1 + r**3)*p[0]
    """,
    "oscillators": """
        def f(t, y, p):
            return p + np.sum(np.sin(y[None, :] - y[:, None]), axis=1)/3
    """,
}


@pytest.mark.parametrize("name", STYLES)
def test_usual_styles_are_taken(tmp_path: Path, name: str):
    assert loaded(tmp_path, STYLES[name]).n_states in (3, 4)


def test_prints_do_not_reach_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    of_source(source(tmp_path, "print('loaded')\ndef f(t, y, p):\n    print('called')\n    return -y*p[0]\n"))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
        ("def f(t, y, p):\n    raise ValueError('first\\nsecond')\n", "first"),
        ("def f(t, y, p:\n    return y\n", "SyntaxError"),
        ("def f(t, y, p):\n    return [y[0], y[1], np.inf*y[2]]\n", ""),
        ("y0 = []\ndef f(t, y, p):\n    return y\n", "y0 has no number"),
    ],
)
def test_refusals_have_one_line(tmp_path: Path, text: str, message: str):
    with pytest.raises(ProblemError) as caught:
        of_source(source(tmp_path, text))
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert "model.py" in str(caught.value)


def test_a_neighbouring_file_can_be_imported(tmp_path: Path):
    (tmp_path / "rates_of_mine.py").write_text("import numpy as np\ndef rate(x, k):\n    return np.exp(-k*x)\n")
    problem = loaded(tmp_path, "from rates_of_mine import rate\ndef f(t, y, p):\n    return -rate(y, p[0])\n")
    assert problem.parameter_labels == ("p1",)


LONG = {
    "iterates": """
        def f(t, y, p):
            x = y[0]
            for _ in range(40):
                x = 3*x*(1 - x)
            return [x, -y[1], y[2]*p[0]]
    """,
    "forty oscillators": """
        y0 = np.linspace(0, 1, 40)
        def f(t, y, p):
            return p[0] + np.sum(np.sin(y[None, :] - y[:, None]), axis=1)/40
    """,
    "many terms": """
        def f(t, y, p):
            return [sum(np.sin(k*y[0])/(k + 1) for k in range(1500)), -y[1], y[2]*p[0]]
    """,
    "nested conditions": """
        def f(t, y, p):
            a, b, c = t > 1, t > 2, t > 3
            for _ in range(25):
                c = (c & a) | (~c & b)
            return [np.where(c, y[0], -y[0]), -y[1], y[2]*p[0]]
    """,
}


@pytest.mark.parametrize("name", LONG)
def test_long_computations_end(tmp_path: Path, name: str):
    # Which of the two it is depends on how large the numbers become.
    with contextlib.suppress(ProblemError):
        assert loaded(tmp_path, LONG[name]).n_states in (3, 40)


def test_nested_conditions_of_the_time_are_refused_in_time(tmp_path: Path):
    """Each definition holds the one before twice, so that written out they double."""
    with pytest.raises(ProblemError, match="written out it has more than"):
        loaded(tmp_path, LONG["nested conditions"])
