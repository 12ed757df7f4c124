"""Algebraic equations: the derivatives and initial values that follow from them, and every mistake with its line."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import sympy
from sympy import Rational

from sciml_bench.errors import ProblemError
from sciml_bench.references.store import find
from sciml_bench.spec import catalog
from sciml_bench.spec.model import Problem, symbol

Load = Callable[[str], Problem]
SQUARE = '\n[algebraic.z]\nequation = "z - k*a**2"\n'
LEVEL = '\n[algebraic.z]\nequation = "exp(z) + z - 1 - k*a"\nnear = 0.5\n'
PAIR = '\n[algebraic.z]\nequation = "w - a"\n[algebraic.w]\nequation = "z - w - k*b"\n'


def numbers(problem: Problem) -> dict[sympy.Symbol, sympy.Expr]:
    """The parameters."""
    return {symbol(item.name): item.values[0] for item in problem.parameters}


def starts(problem: Problem, **parameters: object) -> dict[str, sympy.Expr]:
    """The initial values at the parameters of the file, or at other ones."""
    known = numbers(problem) | {symbol(name): sympy.sympify(value) for name, value in parameters.items()}
    for item in problem.encoding:
        known[symbol(item.name)] = item.expr.xreplace(known).evalf(60)
    return {
        state.name: (state.initial[0] if state.start is None else state.start.xreplace(known))
        for state in problem.states
    }


def rates(problem: Problem, state: dict[str, object], t: object = 0) -> dict[str, sympy.Expr]:
    """The derivatives at a state."""
    known = numbers(problem) | {symbol("t"): sympy.sympify(t)}
    known |= {symbol(name): sympy.sympify(value) for name, value in state.items()}
    for item in problem.definitions:
        known[symbol(item.name)] = item.expr.xreplace(known)
    return {name: expr.xreplace(known) for name, expr in problem.equations.items()}


def test_a_variable_becomes_a_state_with_the_derivative_that_follows(load: Load, decay: str):
    problem = load(decay + SQUARE)
    assert problem.state_labels == ("a", "b", "z")
    assert problem.algebraic == {"z": symbol("z") - symbol("k") * symbol("a") ** 2}
    assert problem.invariants["z_residual"] == problem.algebraic["z"]
    found = rates(problem, {"a": 3, "b": 5, "z": 1})
    assert found["z"] == 2 * Rational(1, 10) * 3 * found["a"]
    assert problem.spec_hash not in {load(decay).spec_hash, load(decay + SQUARE.replace("k", "2*k")).spec_hash}


def test_linear_equations_give_exact_initial_values_for_all_parameters(load: Load, decay: str):
    problem = load(decay + SQUARE)
    a = starts(problem)["a"]
    assert starts(problem)["z"] == Rational(1, 10) * a**2
    assert starts(problem, k=Rational(7, 3))["z"] == Rational(7, 3) * a**2


def test_equations_may_name_each_others_variables(load: Load, decay: str):
    problem = load(decay + PAIR)
    found = starts(problem)
    assert found["w"] == found["a"]
    assert abs(found["z"] - found["a"] - Rational(1, 10) * found["b"]) < 1e-55
    slopes = rates(problem, {"a": 3, "b": 5, "z": 1, "w": 2})
    assert slopes["w"] == slopes["a"]
    assert sympy.simplify(slopes["z"] - slopes["a"] - slopes["b"] / 10) == 0


def test_newtons_method_gives_70_digits_and_the_slope_by_parameters(load: Load, decay: str):
    problem = load(decay + LEVEL)
    z, k, a = starts(problem)["z"], Rational(1, 10), starts(problem)["a"]
    assert abs((sympy.exp(z) + z - 1 - k * a).evalf(80)) < 1e-55
    h = Rational(1, 10**20)
    slope = (starts(problem, k=k + h)["z"] - starts(problem, k=k - h)["z"]) / (2 * h)
    assert abs(slope - a / (sympy.exp(z) + 1).evalf(60)) < 1e-25


def test_the_corrections_hold_far_from_the_parameters_of_the_file(load: Load, decay: str):
    problem = load(decay + LEVEL)
    z, a = starts(problem, k=Rational(3, 10))["z"], starts(problem)["a"]
    assert abs((sympy.exp(z) + z - 1 - Rational(3, 10) * a).evalf(60)) < 1e-11


def test_a_value_that_fits_for_all_parameters_is_taken_as_it_is(load: Load, decay: str):
    problem = load(decay + '\n[algebraic.z]\nequation = "k*(exp(z) - 1) + z*a"\nnear = 0\n')
    assert problem.states[-1].initial == (0,)
    assert not problem.latent


def test_the_root_is_the_one_near_the_value_of_the_file(load: Load, decay: str):
    text = decay + '\n[algebraic.z]\nequation = "z**2 - 4 - k*b*0"\nnear = NEAR\n'
    assert starts(load(text.replace("NEAR", "-1")))["z"] == -2
    assert starts(load(text.replace("NEAR", "3")))["z"] == 2


def test_equations_and_definitions_may_read_the_variables(load: Load, decay: str):
    text = decay.replace("[equations]", '[definitions]\nflow = "z/2"\n\n[equations]')
    name, _, rest = text.partition("[equations]\n")[2].partition("\n")[0].partition(" = ")
    text = text.replace(f"{name} = {rest}", f'{name} = "-k*flow"')
    problem = load(text + '\n[algebraic.z]\nequation = "z - 2*a - flow/4"\n')
    found = rates(problem, {"a": 1, "b": 1, "z": 16})
    assert found["a"] == Rational(-8, 10)
    assert sympy.simplify(found["z"] * (1 - Rational(1, 8)) - 2 * found["a"]) == 0


WRONG = {
    "no equation": ("[algebraic.z]\nnear = 1\n", "'z' needs an equation"),
    "no table": ('[algebraic]\nz = "z - a"\n', "'z' needs an equation"),
    "an unknown key": ('[algebraic.z]\nequation = "z - a"\nguess = 1\n', "unknown key 'guess'"),
    "an unknown name": ('[algebraic.z]\nequation = "z - q"\n', "q"),
    "a name twice": ('[algebraic.a]\nequation = "a - 1"\n', "'a' is already declared"),
    "an equation without its variable": ('[algebraic.z]\nequation = "a - b"\n', "do not determine 'z'"),
    "an index of 2": ('[algebraic.z]\nequation = "a + b - 3 + 0*z"\n', "do not determine 'z'"),
    "two equations that are one": (
        '[algebraic.z]\nequation = "z + w - a"\n[algebraic.w]\nequation = "2*z + 2*w - 2*a"\n', "do not determine",
    ),
    "a constant": ('[algebraic.z]\nequation = "1"\n', "do not determine 'z'"),
    "a branch": ('[algebraic.z]\nequation = "z - where(a > 1, a, 1)"\n', "is not smooth"),
    "a magnitude": ('[algebraic.z]\nequation = "z - abs(a - 1)"\n', "is not smooth"),
    "no root": ('[algebraic.z]\nequation = "z**2 + 1 + a**2"\nnear = 1\n', "no consistent initial values of z"),
    "a start at a pole": ('[algebraic.z]\nequation = "1/z - a"\n', "no consistent initial values of z"),
    "a double root": ('[algebraic.z]\nequation = "z**2 + 0*a"\nnear = 0\n', "do not determine 'z'"),
    "events beside it": (
        '[algebraic.z]\nequation = "z - a"\n[events.e]\nwhen = "a"\nreset = { a = 1 }\n', "and [events] cannot be",
    ),
    "a negative scale": ('[algebraic.z]\nequation = "z - a"\nscale = -1\n', "'scale' of 'z' must be positive"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_refused_with_its_line(name: str, load: Load, decay: str):
    text, message = WRONG[name]
    with pytest.raises(ProblemError, match=r":\d+: ") as error:
        load(decay + "\n" + text)
    assert message in str(error.value)


def test_an_equation_of_an_algebraic_variable_is_refused(load: Load, decay: str):
    with pytest.raises(ProblemError, match="'z' is not a state"):
        load(decay.replace("[equations]\n", '[equations]\nz = "a"\n') + SQUARE)


def test_a_problem_without_parameters_is_refused(load: Load, decay: str):
    text = decay.replace("[parameters]", "[constants]") + SQUARE
    with pytest.raises(ProblemError, match="algebraic equations need parameters"):
        load(text)


@pytest.mark.parametrize("name", [name for name in catalog.names() if catalog.header(name).suite == "dae"])
def test_each_reference_of_the_catalog_keeps_the_algebraic_equations(name: str):
    problem = catalog.load(name)
    stored = find(problem)
    assert stored is not None
    for t, row in zip(problem.save_times, stored.solution, strict=True):
        state = {symbol(name): sympy.Float(value, 40) for name, value in zip(problem.state_labels, row, strict=True)}
        known = numbers(problem) | state | {symbol("t"): t}
        for item in problem.definitions:
            known[symbol(item.name)] = item.expr.xreplace(known).evalf(40)
        for residual in problem.algebraic.values():
            sizes = [abs(term.xreplace(known).evalf(40)) for term in sympy.Add.make_args(residual.expand())]
            assert abs(residual.xreplace(known).evalf(40)) < 1e-15 * max(sizes)
