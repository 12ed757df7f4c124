"""Fields with all that is linear as one matrix: the same right-hand side, where a stencil is linear and small."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from emit import apart
from needs import skip_without

from sciml_bench.emit import source
from sciml_bench.emit.arrays.field_matrix import LARGEST, has_field_matrix
from sciml_bench.spec import catalog, load_problem
from sciml_bench.spec.model import Problem

TARGET = "torch-arrays"
HEAD = 'spec = 1\nname = "own"\ntitle = "Own"\n[time]\nt1 = 1\n'
ONE = '[grids.x]\npoints = 7\nfirst = 0\nlast = 1\nboundary = "{}"\n'
FIELD = '[states]\nu = {{ grid = ["x"], initial = "sin(3*x)", scale = 1 }}\n[equations]\nu = "{}"\n'
SMALL = [
    name
    for name in catalog.equation_names()
    if has_field_matrix(problem := catalog.load(name)) and "prepared" in source(problem, TARGET)
]

OWN = {
    "a value outside that is a parameter": (
        "[parameters]\nD = 0.3\nedge = 2\n"
        '[grids.x]\npoints = 7\nfirst = 0\nlast = 1\nboundary = "dirichlet"\nboundary_value = "edge"\n'
        + FIELD.format("D*laplacian(u) - edge*u + D")
    ),
    "a shift and a slope": "[parameters]\nc = 0.5\n"
    + ONE.format("periodic")
    + FIELD.format("-c*gradient(u, x) + 2*c**2*(laplacian(u) - 3*u) + u**2"),
    "a mirrored edge and forcing": "[parameters]\nD = 0.1\nw = 3\n"
    + ONE.format("neumann")
    + FIELD.format("D*laplacian(u) + sin(w*t)*x + exp(-u)"),
    "definitions": "[parameters]\nD = 0.1\nk = 2\n"
    + ONE.format("periodic")
    + '[definitions]\nflow = "D*laplacian(u)"\nrate = "k*u"\n'
    + FIELD.format("flow - rate + flow*rate"),
    "names that the module would use": "[parameters]\nLAPLACIAN = 0.1\nmatrix = 2\nLINEAR = 3\nplaced = 1\n"
    + ONE.format("periodic")
    + FIELD.format("LAPLACIAN*laplacian(u) - matrix*u + LINEAR*u**2 + placed"),
    "a number beside a field": "[parameters]\nD = 0.1\n"
    + ONE.format("periodic")
    + '[states]\nu = { grid = ["x"], initial = "x", scale = 1 }\ns = { initial = 1, scale = 1 }\n'
    + '[equations]\nu = "D*laplacian(u) - s*u + D*s"\ns = "-D*s + sum(u)"\n',
    "no parameter": ONE.format("periodic") + FIELD.format("laplacian(u)/10 + 1"),
    "two axes with two values outside": "[parameters]\nD = 0.1\na = 2\n"
    '[grids.x]\npoints = 4\nfirst = 0\nlast = 1\nboundary = "dirichlet"\nboundary_value = "a"\n'
    '[grids.y]\npoints = 5\nfirst = 0\nlast = 1\nboundary = "dirichlet"\nboundary_value = 3\n'
    '[states]\nu = { grid = ["x", "y"], initial = "x*y", scale = 1 }\n'
    '[equations]\nu = "D*laplacian(u) - u**3"\n',
}


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], Problem]:
    """Loads a problem from what follows its head."""

    def load_text(text: str) -> Problem:
        path = tmp_path / "own.toml"
        path.write_text(HEAD + text, encoding="utf-8")
        return load_problem(path)

    return load_text


def test_right_hand_sides_and_derivatives_agree_with_numpy(tmp_path: Path) -> None:
    skip_without("torch")
    files: list[str] = []
    for i, text in enumerate(OWN.values()):
        path = tmp_path / f"own_{i}.toml"
        path.write_text(HEAD + text, encoding="utf-8")
        files.append(str(path))
    found = {word: float(error) for word, error in apart.lines("check_field_matrix.py", *SMALL, *files)}
    assert len(found) == len(SMALL) + len(OWN)
    assert len(SMALL) >= 3
    assert {word: error for word, error in found.items() if not error < 1e-12} == {}


def test_the_brusselator_is_one_product_and_its_reaction() -> None:
    text = source(catalog.load("brusselator-1d"), TARGET)
    rhs = text[text.index("def rhs") : text.index("def loss")]
    assert rhs.splitlines()[1:] == [
        "    matrix, offsets = given",
        "    u = y[0:40]",
        "    v = y[40:80]",
        "    c0 = (u*u)*v",
        "    return torch.addmv(offsets, matrix, y) + torch.cat([c0, -c0])",
        "",
        "",
    ]


def test_large_fields_keep_their_stencils(load: Callable[[str], Problem]) -> None:
    for points, written in ((LARGEST, True), (LARGEST + 1, False)):
        grid = ONE.format("periodic").replace("7", str(points))
        text = source(load("[parameters]\nD = 1\n" + grid + FIELD.format("D*laplacian(u)")), TARGET)
        assert ("def prepared(p):" in text) is written


def test_nothing_is_written_so_without_a_linear_stencil(load: Callable[[str], Problem]) -> None:
    for equation in ("D*u*laplacian(u)", "D*laplacian(u**2)", "D*t*laplacian(u)", "D*x*laplacian(u)", "-D*u"):
        text = source(load("[parameters]\nD = 1\n" + ONE.format("periodic") + FIELD.format(equation)), TARGET)
        assert "prepared" not in text, equation


def test_the_heat_equation_is_one_matrix_times_the_field() -> None:
    emitted = source(catalog.load("heat"), TARGET)
    body = emitted[emitted.index("def rhs") : emitted.index("def loss")]
    assert body == "def rhs(t, y, given):\n    matrix, = given\n    return torch.mv(matrix, y)\n\n\n"
