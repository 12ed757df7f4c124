"""Algebraic equations: the derivatives and initial values that follow from them, and every mistake with its line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    assert abs(starts(load(text.replace("NEAR", "-1")))["z"] + 2) < 1e-60
    assert abs(starts(load(text.replace("NEAR", "3")))["z"] - 2) < 1e-60


@pytest.mark.parametrize(("equation", "root"), [("1e-60*(z - 20*k*a)", 2), ("6.6e-34**2*(exp(z) - 20*k*a)", "log(2)")])
def test_an_equation_of_tiny_numbers_is_not_taken_for_zero(equation: str, root: object, load: Load, decay: str):
    found = starts(load(f'{decay}\n[algebraic.z]\nequation = "{equation}"\nnear = 0\n'))
    assert abs(found["z"] - sympy.sympify(root)).evalf(80) < 1e-58


def test_a_tower_of_powers_in_an_equation_of_a_state_is_refused_at_once(load: Load, decay: str):
    text = decay.replace('a = "-k*a"', 'a = "-k*a*exp(exp(exp(exp(3*a))))"')
    with pytest.raises(ProblemError, match="no finite real value at t0"):
        load(text + SQUARE)


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
    "a double root from afar": ('[algebraic.z]\nequation = "(z - a)**2 + 0*b"\nnear = 0.5\n', "near a simple root"),
    "a root at infinity": ('[algebraic.z]\nequation = "z/(1 + z) - a"\nnear = 1\n', "goes to infinity"),
    "a small residual without a root": (
        '[algebraic.z]\nequation = "1e-45*(z**2 + k*a)"\nnear = 3\n', "no consistent initial values of z",
    ),
    "a complex value": ('[algebraic.z]\nequation = "z - sqrt(a - 2)"\n', "no finite real value at t0"),
    "an infinite value": ('[algebraic.z]\nequation = "z - k/(a - 1)"\n', "no finite real value at t0"),
    "a pole of the equation": ('[algebraic.z]\nequation = "z - 1/(a - 1)"\n', "no finite real value at t0"),
    "a value beyond doubles": ('[algebraic.z]\nequation = "z - a*1e300*k*1e300"\n', "no finite real value at t0"),
    "a tower of powers": ('[algebraic.z]\nequation = "exp(exp(exp(exp(z)))) - a"\nnear = 10\n', "no finite real value"),
    "the name of its residual": (
        '[algebraic.z]\nequation = "z - a"\n[invariants]\nz_residual = "z - 2*a"\n', "'z_residual' is the name",
    ),
    "a scale that is no number": ('[algebraic.z]\nequation = "z - a"\nscale = "q"\n', "in 'scale'"),
    "training": (
        '[algebraic.z]\nequation = "z - a"\n[training]\noptimiser = "adam"\n', "and [training] cannot be",
    ),
    "events beside it": (
        '[algebraic.z]\nequation = "z - a"\n[events.e]\nwhen = "a"\nreset = { a = 1 }\n', "and [events] cannot be",
    ),
    "a negative scale": ('[algebraic.z]\nequation = "z - a"\nscale = -1\n', "'scale' of 'z' must be positive"),
}  # fmt: skip


def test_elements_of_vectors_are_parameters_too(load: Load, decay: str):
    text = decay.replace("k = 0.1", "k = [0.1, 3]").replace("k*a", "k[0]*a")
    problem = load(text + '\n[algebraic.z]\nequation = "z**2 - a*k[1]"\nnear = 1\n')
    assert abs(problem.states[-1].initial[0] ** 2 - 3) < 1e-60
    problem = load(text + '\n[algebraic.z]\nequation = "k[1]*z - k[1]*a"\nnear = 1\n')
    assert problem.states[-1].initial == (1,)


def test_equations_of_very_different_sizes_are_not_singular(load: Load, decay: str):
    text = '\n[algebraic.z]\nequation = "1e-9*(z - a) + 1e-9*z*k"\n[algebraic.w]\nequation = "1e5*w - 1e5*k*b"\n'
    found = starts(load(decay + text))
    assert abs(found["z"] * Rational(11, 10) - found["a"]) < 1e-50


def test_three_equations_that_turn_stay_regular(load: Load, decay: str):
    """The Jacobian is a rotation: its first entry passes zero, which a fixed order of pivots would divide by."""
    turned = '\n[algebraic.z]\nequation = "cos(t)*z + sin(t)*w - a"\n'
    turned += '[algebraic.w]\nequation = "-sin(t)*z + cos(t)*w - k*b"\n'
    found = rates(load(decay + turned), {"a": 2, "b": 3, "z": Rational(3, 10), "w": 2}, sympy.pi / 2)
    assert all(value.is_finite for value in found.values())


def test_a_system_of_irrational_coefficients_stays_small(load: Load, decay: str):
    n = 7
    text = ""
    for i in range(n):
        terms = " + ".join(f"sin({(1 + i * n + j) ** 2})*z{j}" for j in range(n))
        text += f'\n[algebraic.z{i}]\nequation = "{terms} - k*a"\n'
    problem = load(decay + text)
    assert all(state.initial[0].is_Rational for state in problem.states)


def test_losses_and_observables_read_algebraic_variables(load: Load, decay: str):
    assert load(decay + SQUARE + '\n[loss]\nkind = "sum"\nof = "z"\n').loss.of == symbol("z")


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
        state: dict[sympy.Symbol, sympy.Expr] = {
            symbol(name): sympy.Float(value, 40) for name, value in zip(problem.state_labels, row, strict=True)
        }
        known = numbers(problem) | state | {symbol("t"): t}
        for item in problem.definitions:
            known[symbol(item.name)] = item.expr.xreplace(known).evalf(40)
        for residual in problem.algebraic.values():
            terms: Any = sympy.Add.make_args(residual.expand())
            sizes = [abs(term.xreplace(known).evalf(40)) for term in terms]
            assert abs(residual.xreplace(known).evalf(40)) < 1e-15 * max(sizes)
