"""Right-hand sides in array operations: right for every scalar problem, and never more operations than by numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from emit import apart
from needs import skip_without

from sciml_bench.emit import source
from sciml_bench.emit.arrays.array_writer import ArrayWriter
from sciml_bench.emit.arrays.operation_costs import operations
from sciml_bench.emit.arrays.scalar_problems import WORTH, by_numbers, has_arrays
from sciml_bench.emit.context import Context
from sciml_bench.emit.symbolic.elementary import in_elementary_functions
from sciml_bench.emit.symbolic.forms import NotArrays
from sciml_bench.emit.targets import TARGETS
from sciml_bench.spec import catalog, load_problem
from sciml_bench.spec.model import Problem

TARGET = "torch-arrays"
SCALAR = [name for name in catalog.equation_names() if has_arrays(catalog.load(name))]
HEAD = 'spec = 1\nname = "own"\ntitle = "Own"\n[time]\nt1 = 1\n'


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], Problem]:
    """Loads a problem from what follows its head."""

    def load_text(text: str) -> Problem:
        path = tmp_path / "own.toml"
        path.write_text(HEAD + text, encoding="utf-8")
        return load_problem(path)

    return load_text


@pytest.mark.parametrize("words", [SCALAR, ["random:0:16"]], ids=["catalog", "random"])
def test_arrays_and_their_derivatives_agree_with_numpy(words: list[str]) -> None:
    skip_without("torch")
    lines = apart.lines("check_arrays.py", *words)
    errors = {line[0]: float(line[2]) for line in lines}
    assert len(errors) == (16 if words[0].startswith("random") else len(SCALAR))
    assert all(error < 1e-12 for error in errors.values()), max(errors.items(), key=lambda item: item[1])
    assert sum(line[1] == "arrays" for line in lines) > 0.9 * len(lines)


@pytest.mark.parametrize("name", SCALAR)
def test_what_is_written_takes_the_fewest_operations(name: str) -> None:
    problem = in_elementary_functions(replace(catalog.load(name), events=()))
    context = Context.of(problem, TARGETS[TARGET])
    numbers = operations(by_numbers(context))
    try:
        arrays = operations(ArrayWriter(context).text())
    except NotArrays:
        # Functions such as exprel are written with a branch.
        assert "exprel" in Path(problem.path).read_text(encoding="utf-8")
        arrays = math.inf
    assert operations(source(problem, TARGET)) <= min(numbers, WORTH * arrays)


def operations_of(name: str) -> tuple[float, float]:
    """By numbers, and as written."""
    problem = catalog.load(name)
    return operations(by_numbers(Context.of(problem, TARGETS[TARGET]))), operations(source(problem, TARGET))


def test_known_systems_take_a_handful_of_operations() -> None:
    assert {name: (round(before), round(after)) for name, (before, after) in (
        (name, operations_of(name)) for name in ("lotka-volterra", "robertson", "hires", "pollution", "pendulum")
    )} == {"lotka-volterra": (10, 2), "robertson": (12, 4), "hires": (49, 4), "pollution": (117, 4),
           "pendulum": (5, 5)}  # fmt: skip


def test_lotka_volterra_reads_as_an_expert_writes_it() -> None:
    text = source(catalog.load("lotka-volterra"), TARGET)
    body = text[text.index("def prepared") : text.index("def loss")]
    assert body == (
        "def prepared(p):\n"
        "    a, b, c, d = p.unbind()\n"
        "    return (placed(torch.stack([-b, d]), ((0, 1), (1, 0)), (2, 2)), torch.stack([a, -c]))\n"
        "\n\n"
        "def rhs(t, y, given):\n"
        "    matrix, offsets = given\n"
        "    return y*torch.addmv(offsets, matrix, y)\n"
        "\n\n"
    )


def test_robertson_reads_as_products_and_rates() -> None:
    text = source(catalog.load("robertson"), TARGET)
    assert "# The products, one a column: y1, y2*y2, y2*y3.\nMATRIX = torch.tensor([\n    [-1, 0, 1],\n" in text
    assert "    return (MATRIX*p,)\n" in text
    assert "    return torch.mv(matrix, products)\n" in text


def test_conditions_are_written_by_numbers(load: Callable[[str], Problem]) -> None:
    problem = load('[states]\nx = 1\nz = 1\n[equations]\nx = "where(x < 1, z, -x)"\nz = "-x"\n')
    with pytest.raises(NotArrays):
        ArrayWriter(Context.of(problem, TARGETS[TARGET])).text()
    text = source(problem, TARGET)
    assert "torch.where(x < 1, z, c0)" in text
    assert "def prepared(p):\n    return ()\n" in text


def test_chains_of_products_do_not_grow_without_bound(load: Callable[[str], Problem]) -> None:
    definitions = ['d0 = "x*x + z*z"', *(f'd{i} = "(x + z*z)*d{i - 1} + d{i - 1}"' for i in range(1, 25))]
    problem = load(
        "[states]\nx = 1\nz = 1\n[definitions]\n" + "\n".join(definitions) + '\n[equations]\nx = "d24"\nz = "-x"\n'
    )
    assert len(source(problem, TARGET)) < 20_000


def test_a_large_network_of_reactions_takes_few_operations(load: Callable[[str], Problem]) -> None:
    n = 40
    states = "\n".join(f"s{i} = 1" for i in range(n))
    equations = "\n".join(f's{i} = "-k*s{i}*s{(i + 1) % n} + 2*k*s{(i + 7) % n} - s{(i + 3) % n}**2"' for i in range(n))
    problem = load(f"[parameters]\nk = 2\n[states]\n{states}\n[equations]\n{equations}\n")
    assert operations(source(problem, TARGET)) < 12 < 200 < operations(by_numbers(Context.of(problem, TARGETS[TARGET])))


def test_vectors_and_networks_stay_as_they_are() -> None:
    for name in ("pleiades", "spiral-node"):
        problem = catalog.load(name)
        assert source(problem, TARGET) == source(problem, "torch")


def test_a_parameter_that_is_a_whole_vector_is_prepared_whole(load: Callable[[str], Problem]) -> None:
    text = '[parameters]\nk = [1, 2, 3]\n[states]\nx = 1\nz = 2\n[equations]\nx = "-sum(k)*x*z"\nz = "x*z - k[1]*z"\n'
    emitted = source(load(text), TARGET)
    prepared = emitted[emitted.index("def prepared") : emitted.index("def rhs")]
    assert "    k = p\n" in prepared, emitted
    assert "    return (k,)\n" in prepared, emitted


def test_numbers_are_never_put_together_as_arrays(load: Callable[[str], Problem]) -> None:
    """A definition that is a number is one of Python's, which ``torch.stack`` refuses."""
    problem = load('[definitions]\nd = "2*3"\n[states]\nx = 1\nz = 2\n[equations]\nx = "d*x"\nz = "d"\n')
    emitted = source(problem, "torch")
    assert "d = " not in emitted[emitted.index("def rhs") :]
    assert "y.new_full((), 6.0)" in emitted
