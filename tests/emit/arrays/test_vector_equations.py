"""Equations of one form as vectors: right for every problem, and not used where numbers take less."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emit.evaluation import evaluate, sample
from needs import skip_without

from sciml_bench.emit import source
from sciml_bench.emit.arrays import vector_costs, vector_equations, vector_writer
from sciml_bench.emit.arrays.scalar_problems import has_arrays
from sciml_bench.emit.context import Context
from sciml_bench.emit.symbolic.elementary import in_elementary_functions
from sciml_bench.emit.targets import TARGETS
from sciml_bench.spec import catalog, load_problem
from sciml_bench.spec.model import Problem

HEAD = 'spec = 1\nname = "own"\ntitle = "Own"\n[time]\nt1 = 1\n'
SCALAR = [name for name in catalog.equation_names() if has_arrays(catalog.load(name))]
Load = Callable[[list[str], dict[str, str]], Problem]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads a problem with the states y0, y1, … from its equations and definitions of parameters a0, a1, …."""

    def loaded(equations: list[str], definitions: dict[str, str]) -> Problem:
        n = len(equations)
        for name in reversed(list(definitions)):
            if not re.search(rf"\b{name}\b", " ".join([*equations, *definitions.values()])):
                definitions = {key: text for key, text in definitions.items() if key != name}
        used = {int(number) for number in re.findall(r"\ba(\d+)\b", " ".join([*equations, *definitions.values()]))}
        tables = {
            "parameters": {f"a{i}": f"{0.5 + 0.1 * i:.2f}" for i in sorted(used)},
            "states": {f"y{i}": f"{0.3 + 0.05 * i:.3f}" for i in range(n)},
            "definitions": {name: f'"{text}"' for name, text in definitions.items()},
            "equations": {f"y{i}": f'"{text}"' for i, text in enumerate(equations)},
        }
        text = "".join(
            f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in table.items())
            for name, table in tables.items()
            if table
        )
        path = tmp_path / "own.toml"
        path.write_text(HEAD + text, encoding="utf-8")
        return in_elementary_functions(load_problem(path))

    return loaded


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors wherever they are possible."""
    rules = {
        name: replace(rule, fewest=0, share=np.inf, fewest_rows=2, long_sum=3)
        for name, rule in vector_costs.RULES.items()
    }
    monkeypatch.setattr(vector_costs, "RULES", rules)
    monkeypatch.setattr(vector_equations, "FEWEST_DEFINITIONS", 2)


def written(problem: Problem, target: str = "numpy") -> str:
    """The right-hand side as vectors."""
    context = Context.of(problem, TARGETS[target])
    text = vector_writer.vector_right_hand_side(context, "rhs", problem.equations)
    assert text is not None
    return text


def agrees(problem: Problem) -> str:
    """NumPy's code, whose value is that of the scalar form."""
    text, (t, y, p) = written(problem), sample(problem)
    names: dict[str, Any] = {"np": np, "math": math, "N_STATES": problem.n_states}
    exec(text, names)
    found = np.asarray(names["rhs"](t, y, tuple(p.tolist())), dtype=float)
    assert found == pytest.approx(evaluate(problem, t, y, p), rel=1e-12, abs=1e-13)
    return text.split("def rhs")[1]


def test_a_ring_is_one_line_of_shifted_vectors(load: Load, always: None) -> None:
    problem = load([f"a0*(y{(i - 1) % 9} - 2*y{i} + y{(i + 1) % 9}) + y{i}*(1 - y{i})" for i in range(9)], {})
    assert "return p_[" not in agrees(problem)
    jax = written(problem, "jax")
    assert "jnp.roll(y, 1)" in jax
    assert "jnp.roll(y, -1)" in jax
    assert "PICKED" not in jax


def test_the_ends_of_a_chain_are_equations_of_their_own(load: Load, always: None) -> None:
    inner = [f"a0*(y{i - 1} - 2*y{i} + y{i + 1})" for i in range(1, 8)]
    text = agrees(load(["a0*(y1 - y0)", *inner, "sin(y7) - y8"], {}))
    assert "dy[1:8] = " in text
    assert "y[0:7]" in text
    assert "dy[8] = " in text


def test_states_in_turn_are_slices_with_a_step(load: Load, always: None) -> None:
    equations = [text for i in range(0, 16, 2) for text in (f"y{i + 1}", f"-a0*sin(y{i})")]
    text = agrees(load(equations, {}))
    assert "dy[0:15:2] = y[1:16:2]" in text
    jax = written(load(equations, {}), "jax")
    assert "dy[PICKED" in jax


def test_all_pairs_are_the_sum_of_a_table(load: Load, always: None) -> None:
    n = 11
    equations = ["a0*(" + " + ".join(f"sin(y{j} - y{i})" for j in range(n) if j != i) + ")" for i in range(n)]
    text = agrees(load(equations, {}))
    assert text.count("np.sin(") == 1
    assert "np.add.reduce(" in text


def test_a_matrix_is_a_product(load: Load, always: None) -> None:
    rows = [" + ".join(f"{0.1 * (i + 2 * j) + 0.05:.2f}*tanh(y{j})" for j in range(6)) for i in range(6)]
    text = agrees(load([f"{row} - a0*y{i}" for i, row in enumerate(rows)], {}))
    assert " @ (np.tanh(y))" in text


def test_a_matrix_of_parameters_is_a_reshaped_slice(load: Load, always: None) -> None:
    n = 5
    names = [f"a{i}" for i in range(20)] + [f"y{i}" for i in range(5)]
    equations = [" + ".join(f"{names[n * i + j]}*tanh(y{j})" for j in range(n)) for i in range(4)] + ["-y4"]
    text = agrees(load(equations, {}))
    assert "p[0:20].reshape((4, 5))" in text


def test_definitions_of_one_form_are_a_vector(load: Load, always: None) -> None:
    n = 12
    fluxes = {f"f{i}": f"a0*(y{i} - y{(i + 1) % n})*exp(-y{i}**2)" for i in range(n)}
    text = agrees(load([f"f{(i - 1) % n} - f{i}" for i in range(n)], fluxes))
    assert text.count("np.exp") == 1
    assert "PICKED" in text or "roll" in text


def test_conditions_and_extrema_are_elementwise(load: Load, always: None) -> None:
    n = 6
    equations = [
        f"where(y{i} > y{(i + 1) % n} and y{i} < a{i}, max(y{i}, a0), min(a{i}, y{(i + 2) % n})) + abs(y{i})"
        for i in range(n)
    ]
    assert "np.where(" in agrees(load(equations, {}))


def test_coefficients_and_powers_that_differ(load: Load, always: None) -> None:
    equations = [f"{i + 1}*y{i}**2 - sqrt(y{(i + 3) % 8})/({i}.5 + y{i}) + t*{(-1) ** i}*y{i}**1.5" for i in range(8)]
    assert "NUMBERS" in agrees(load(equations, {}))


def test_a_sum_in_every_equation_is_computed_once(load: Load, always: None) -> None:
    n = 9
    total = " + ".join(f"y{i}**2" for i in range(n))
    text = agrees(load([f"-y{i}*({total}) + a{i}" for i in range(n)], {}))
    assert text.count("(y @ y)") == 1


def test_equations_without_a_state_or_all_equal(load: Load, always: None) -> None:
    agrees(load(["a0", "a0", "a0", "a1", "2", "2", "0", "y0"], {}))
    agrees(load([f"y{i}" for i in range(8)], {}))
    agrees(load([f"a{i}" for i in range(8)], {}))


def test_a_result_is_never_the_state_itself(load: Load, always: None) -> None:
    problem = load([f"y{i}" for i in range(8)], {})
    y = np.arange(8.0)
    result: dict[str, Any] = {"np": np, "N_STATES": 8}
    exec(written(problem), result)
    assert not np.shares_memory(result["rhs"](0.0, y, tuple(range(20))), y)


def test_names_of_the_problem_are_free(tmp_path: Path, always: None) -> None:
    names = ["v", "y", "p", "dy", "np", "t_", "PICKED_0", "NUMBERS_0"]
    path = tmp_path / "own.toml"
    equations = "".join(f'{name} = "k*sin({names[i - 3]}) - {i + 2}*{name}"\n' for i, name in enumerate(names))
    states = "".join(f"{name} = 0.{i + 1}\n" for i, name in enumerate(names))
    path.write_text(f"{HEAD}[parameters]\nk = 1.5\n[states]\n{states}[equations]\n{equations}", encoding="utf-8")
    agrees(in_elementary_functions(load_problem(path)))


def test_a_long_chain_of_definitions_takes_no_recursion(load: Load, always: None) -> None:
    chain = {"d0": "y0 + y1"} | {f"d{i}": f"d{i - 1}*0.99 + y{i % 4}" for i in range(1, 400)}
    agrees(load([f"d399 - y{i}" for i in range(4)], chain))


def _random(seed: int) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Equations of a few forms, each with entries and numbers of its own."""
    chance = random.Random(seed)
    n = chance.randint(3, 11)

    def form(depth: int) -> Callable[[Callable[[], str]], str]:
        kind = chance.choice(["sum", "product", "function", "entry", "number", "quotient", "power", "where", "sum"])
        if depth == 0:
            kind = chance.choice(["entry", "entry", "number"])
        inner = [form(depth - 1) for _ in range(chance.choice([2, 2, 3, 5]))] if depth else []
        name = chance.choice(["sin", "exp", "tanh", "abs", "cos"])
        power = chance.choice(["2", "3", "-1"])
        return {
            "sum": lambda leaf: "(" + " + ".join(one(leaf) for one in inner) + ")",
            "product": lambda leaf: "*".join(f"({one(leaf)})" for one in inner[:2]),
            "function": lambda leaf: f"{name}(0.3*({inner[0](leaf)}))",
            "quotient": lambda leaf: f"({inner[0](leaf)})/(2 + ({inner[1](leaf)})**2)",
            "power": lambda leaf: f"(3.5 + sin({inner[0](leaf)}))**{power}",
            "where": lambda leaf: f"where({inner[0](leaf)} > 0.4, {inner[1](leaf)}, {inner[0](leaf)})",
            "entry": lambda leaf: leaf(),
            "number": lambda leaf: str(chance.choice([1, -1, 2, 0.5, chance.randint(1, 9)])),
        }[kind]  # fmt: skip

    forms = [form(3) for _ in range(chance.randint(1, 2))]
    strides = [chance.randint(0, n - 1) for _ in range(6)]
    definitions = {}
    if chance.random() < 0.5:
        definitions = {f"d{i}": f"sin(y{i} + {chance.choice([1, 2])}*a{i}) + y{(i + 1) % n}" for i in range(n)}

    def leaf_of(row: int) -> Callable[[], str]:
        def leaf() -> str:
            kind = chance.choice(["y"] * 4 + ["a", "a0", "t"] + (["d"] if definitions else []))
            place = (row + chance.choice(strides)) % n
            return {"y": f"y{place}", "a": f"a{place}", "a0": "a0", "t": "t", "d": f"d{place}"}[kind]

        return leaf

    def equation(row: int, regular: bool) -> str:
        state = chance.getstate()
        if regular:
            chance.seed(seed)
        text = chance.choice(forms)(leaf_of(row))
        if regular:
            chance.setstate(state)
        return text

    for regular in (True, False):
        first, *others = [equation(row, regular) for row in range(n)]
        yield [f"a0*y0 + {first}", *others], definitions


@pytest.mark.parametrize("seed", range(12))
def test_random_equations_agree_with_numbers(load: Load, always: None, seed: int) -> None:
    for equations, definitions in _random(seed):
        agrees(load(equations, definitions))


@pytest.mark.parametrize("name", [name for name in SCALAR if not catalog.load(name).events])
def test_problems_of_the_catalog_agree_with_numbers(always: None, name: str) -> None:
    problem = in_elementary_functions(catalog.load(name))
    if problem.batch.size == 1:
        agrees(problem)


def test_jax_and_pytorch_agree_and_differentiate(load: Load, always: None) -> None:
    skip_without("jax")
    skip_without("torch")
    import jax
    import jax.numpy as jnp
    import torch

    for seed in range(6):
        for equations, definitions in _random(seed):
            problem = load(equations, definitions)
            t, y, p = sample(problem)
            text = written(problem, "jax")
            with jax.enable_x64(True):
                names: dict[str, Any] = {"np": np, "jnp": jnp, "N_STATES": problem.n_states}
                exec(text, names)
                found = np.asarray(names["rhs"](t, jnp.asarray(y), jnp.asarray(p)))
                slopes = np.asarray(jax.jacobian(names["rhs"], 1)(t, jnp.asarray(y), jnp.asarray(p)))
            assert found == pytest.approx(evaluate(problem, t, y, p), rel=1e-12, abs=1e-13)
            context = Context.of(problem, TARGETS["torch-arrays"])
            code = vector_writer.vector_functions(context)
            scope: dict[str, Any] = {"torch": torch, "np": np}
            exec(code, scope)
            given = scope["prepared"](torch.tensor(p))
            moved = torch.tensor(y, requires_grad=True)
            time = torch.tensor(t, dtype=torch.float64)
            assert scope["rhs"](time, moved, given).detach().numpy() == pytest.approx(found, rel=1e-12, abs=1e-13)
            rhs = partial(scope["rhs"], time, given=given)
            by_torch = torch.autograd.functional.jacobian(rhs, moved)
            assert by_torch.numpy() == pytest.approx(slopes, rel=1e-10, abs=1e-11)


def test_small_systems_stay_numbers(load: Load) -> None:
    problem = load([f"a0*y{(i + 1) % 4} - y{i}**2" for i in range(4)], {})
    assert "y.tolist()" in source(problem, "numpy")
    assert "jnp.stack" in source(problem, "jax")


def test_large_ones_are_vectors_in_all_three(load: Load) -> None:
    problem = load([f"a0*(y{(i + 1) % 60} - y{i})**2 - sin(y{i})" for i in range(60)], {})
    assert "np.sin(y)" in source(problem, "numpy")
    assert "jnp.sin(y)" in source(problem, "jax")
    assert "torch.sin(y)" in source(problem, "torch-arrays")


def test_a_matrix_with_zeros_is_a_matrix(load: Load, always: None) -> None:
    rows = [
        " + ".join(f"{0.1 * (i + j) + 0.05:.2f}*tanh(y{j})" for j in range(12) if (i * 5 + j * 3) % 4)
        for i in range(12)
    ]
    text = agrees(load([f"a0*({row}) - y{i}**3" for i, row in enumerate(rows)], {}))
    assert text.count("np.tanh(y)") == 1
    assert "np.add.reduce" not in text


def test_sums_of_many_lengths_that_make_no_matrix(load: Load, always: None) -> None:
    rows = [" + ".join(f"sin(y{j} - y{i})*a{j}" for j in range(i + 4) if j != i) for i in range(8)]
    agrees(load([f"{row} - y{i}" for i, row in enumerate(rows)] + [f"-y{8 + i}" for i in range(4)], {}))


def test_two_long_rows_are_a_product(load: Load, always: None) -> None:
    hidden = {f"h{i}": f"tanh(a{i}*y0 + a{i + 8}*y1)" for i in reversed(range(8))}
    rows = [" + ".join(f"{0.1 * i + k + 0.5:.1f}*h{i}" for i in range(8)) for k in range(2)]
    text = agrees(load(rows, hidden))
    assert "p[0:8]*y[0]" in text
    assert " @ " in text


def test_a_stencil_of_five_points_is_added_entry_by_entry(load: Load, always: None) -> None:
    """A table of gathered entries takes seven times as long in JAX."""
    m = 6

    def at(i: int, j: int) -> str:
        return f"y{(i % m) * m + j % m}"

    equations = [
        f"a0*({at(i + 1, j)} + {at(i - 1, j)} + {at(i, j + 1)} + {at(i, j - 1)} - 4*{at(i, j)})"
        for i in range(m)
        for j in range(m)
    ]
    assert "np.add.reduce" not in agrees(load(equations, {}))
