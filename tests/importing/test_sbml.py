"""Models in SBML as equations: what each element says, and what is refused."""

from __future__ import annotations

import math as mathematics
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from importing.sbml_models import (
    TIME,
    apply,
    compartment,
    math,
    of,
    parameter,
    reaction,
    rule,
    species,
    start,
    write,
)  # fmt: skip
from needs import skip_without

from sciml_bench.cli import exit_codes
from sciml_bench.cli.main import main
from sciml_bench.errors import ProblemError
from sciml_bench.importing.evaluation import Evaluation
from sciml_bench.importing.formula_text import text_of
from sciml_bench.importing.importer import of_sbml
from sciml_bench.importing.problem_text import written
from sciml_bench.importing.sbml.network import equations_of
from sciml_bench.spec import load_problem


@pytest.fixture(autouse=True)
def _libsbml() -> None:
    skip_without("libsbml")


C = of("Compartments", compartment("c", 2))
DECAY = (C, of("Species", species("A")), of("Parameters", parameter("k", 3)))
BREAKS = of("Reactions", reaction("r", "A", "", apply("times", "k", "A")))


def slopes(path: Path, t: float = 0.0, **values: float) -> dict[str, float]:
    """The derivatives at a time, with values for the states and the parameters of the file for the rest."""
    model, _ = equations_of(path, (0.0, 1.0))
    file = written(model)
    return dict(zip(model.states, file.value({"t": t, **model.parameters, **values}), strict=True))


def initial(path: Path, **parameters: float) -> dict[str, float]:
    """The initial values."""
    model, _ = equations_of(path, (0.0, 1.0))
    texts = {name: text_of(value, {})[0] for name, value in model.states.items()}
    return Evaluation(texts).value({**model.parameters, **parameters})


def test_a_concentration_changes_by_the_rate_over_the_size(tmp_path: Path):
    """SBML's rates are amounts per time: A' = -k A / 2 in a compartment of size 2."""
    path = write(tmp_path / "m.xml", *DECAY, BREAKS)
    assert slopes(path, A=5.0) == {"A": -3 * 5 / 2}


def test_an_amount_changes_by_the_rate_itself(tmp_path: Path):
    amount = of("Species", species("A", 'initialAmount="4"', 'hasOnlySubstanceUnits="true"'))
    path = write(tmp_path / "m.xml", C, amount, DECAY[2], BREAKS)
    assert slopes(path, A=5.0) == {"A": -15.0}
    assert initial(path) == {"A": 4.0}


def test_an_initial_amount_of_a_concentration_is_divided_by_the_size(tmp_path: Path):
    path = write(tmp_path / "m.xml", C, of("Species", species("A", 'initialAmount="4"')), DECAY[2], BREAKS)
    assert initial(path) == {"A": 2.0}


def test_stoichiometries_local_parameters_and_functions(tmp_path: Path):
    """2 A -> 3 B at f(A, k) = k A², with a k of the reaction's own."""
    arguments = "".join(f"<bvar><ci> {name} </ci></bvar>" for name in "xq")
    square = f"<lambda>{arguments}{apply('times', 'q', apply('power', 'x', 2))}</lambda>"
    square = f'<functionDefinition id="f">{math(square)}</functionDefinition>'
    local = of("LocalParameters", '<localParameter id="k" value="7"/>')
    law = "<apply><ci> f </ci><ci> A </ci><ci> k </ci></apply>"
    path = write(
        tmp_path / "m.xml", of("FunctionDefinitions", square), C, of("Species", species("A"), species("B")), DECAY[2],
        of("Reactions", reaction("r", "2 A", "3 B", law, local)),
    )  # fmt: skip
    assert slopes(path, A=5.0, B=0.0) == {"A": -2 * 7 * 25 / 2, "B": 3 * 7 * 25 / 2}
    assert list(equations_of(path, (0.0, 1.0))[0].parameters.values()) == [7.0]


def test_boundary_species_and_constant_ones_stay(tmp_path: Path):
    both = of("Species", species("A", more='boundaryCondition="true"'), species("B"))
    path = write(
        tmp_path / "m.xml", C, both, DECAY[2], of("Reactions", reaction("r", "A", "B", apply("times", "k", "A")))
    )
    assert slopes(path, B=0.0) == {"B": 3 * 1 / 2}


def test_initial_values_follow_from_parameters(tmp_path: Path):
    """A(0) = 2 s with s = k + 1: a formula of the parameter k, by which the gradient goes through it."""
    starts = of("InitialAssignments", start("A", apply("times", 2, "s")), start("s", apply("plus", "k", 1)))
    path = write(
        tmp_path / "m.xml", C, DECAY[1], of("Parameters", parameter("k", 3), parameter("s")), starts, BREAKS
    )  # fmt: skip
    assert initial(path) == {"A": 8.0}
    assert initial(path, k=10.0) == {"A": 22.0}


def test_rules_are_definitions_and_equations_in_any_order(tmp_path: Path):
    """v = w + 1 comes before w = 2 A in the file."""
    rules = of(
        "Rules", rule("assignment", "v", apply("plus", "w", 1)), rule("assignment", "w", apply("times", 2, "A")),
        rule("rate", "q", apply("minus", "v", "q")),
    )  # fmt: skip
    free = of("Parameters", parameter("k", 3), *(parameter(name, 0.5, False) for name in "vwq"))
    path = write(tmp_path / "m.xml", C, DECAY[1], free, rules, BREAKS)
    assert slopes(path, A=5.0, q=4.0) == {"A": -7.5, "q": 2 * 5 + 1 - 4}


def test_species_in_a_growing_compartment_are_kept_as_amounts(tmp_path: Path):
    """The amount n obeys n' = -k n/c, and c' = 1; a concentration would need the term -A c'/c as well."""
    growing = of("Compartments", compartment("c", 2, constant=False))
    path = write(tmp_path / "m.xml", growing, *DECAY[1:], of("Rules", rule("rate", "c", "<cn> 1 </cn>")), BREAKS)
    found = slopes(path, c=4.0, A_amount=10.0)
    assert found == {"c": 1.0, "A_amount": -3 * 10 / 4}
    assert initial(path) == {"c": 2.0, "A_amount": 2.0}


def test_piecewise_and_time(tmp_path: Path):
    step = (
        "<piecewise><piece><cn> 5 </cn>"
        + apply("lt", TIME, 2)
        + "</piece><otherwise><cn> 1 </cn></otherwise></piecewise>"
    )
    path = write(tmp_path / "m.xml", *DECAY, of("Reactions", reaction("r", "", "A", step)))
    assert (slopes(path, 1.0, A=0.0), slopes(path, 3.0, A=0.0)) == ({"A": 2.5}, {"A": 0.5})
    # Solvers stop at the known time of the switch.
    text, _ = of_sbml(path, (0.0, 4.0))
    (tmp_path / "m.toml").write_text(text)
    assert [float(time) for time in load_problem(tmp_path / "m.toml").numbers().breakpoints] == [2.0]


CASES = [
    (apply("root", "<degree><cn> 3 </cn></degree>", 27), 3.0),
    (apply("log", "<logbase><cn> 2 </cn></logbase>", 8), 3.0),
    (apply("log", 1000), 3.0),
    (apply("ln", apply("exp", 2)), 2.0),
    (apply("arcsinh", 0.5), mathematics.asinh(0.5)),
    (apply("arccosh", 1.5), mathematics.acosh(1.5)),
    (apply("arctanh", 0.5), mathematics.atanh(0.5)),
    (apply("arccot", 2), mathematics.atan(0.5)),
    (apply("arcsech", 0.5), mathematics.acosh(2)),
    (apply("arccsch", 2), mathematics.asinh(0.5)),
    (apply("sech", 1), 1 / mathematics.cosh(1)),
    (apply("factorial", 5), 120.0),
    (apply("quotient", -7, 2), -3.0),
    (apply("rem", -7, 2), -1.0),
    (apply("max", 1, 4, 2), 4.0),
    (apply("min", 1, -4, 2), -4.0),
    (apply("times", 2, apply("and", apply("lt", 1, 2, 3), apply("neq", 1, 2))), 2.0),
    (apply("xor", "<true/>", "<true/>"), 0.0),
    (apply("implies", "<false/>", "<false/>"), 1.0),
    ("<pi/>", mathematics.pi),
    ("<exponentiale/>", mathematics.e),
    ('<cn type="rational"> 1 <sep/> 4 </cn>', 0.25),
    ('<cn type="e-notation"> 1.5 <sep/> -3 </cn>', 0.0015),
]


def with_a_name(formula: str) -> str:
    """The formula with its first number times a parameter that is 1; the same if there is none."""
    number = re.search(r"<cn>.*?</cn>", formula)
    if number is None or "factorial" in formula:
        return formula
    return formula.replace(number[0], f"<apply><times/><ci> one </ci>{number[0]}</apply>", 1)


WRITTEN_OUT = [(with_a_name(formula), value) for formula, value in CASES if with_a_name(formula) != formula]


@pytest.mark.parametrize(("formula", "value"), [*CASES, *WRITTEN_OUT])
def test_functions_of_mathml(tmp_path: Path, formula: str, value: float):
    """Folded where they hold numbers alone, and written out where they hold a name."""
    lists = (of("Parameters", parameter("x", 1, False), parameter("one", 1)), of("Rules", rule("rate", "x", formula)))
    path = write(tmp_path / "m.xml", *lists)
    assert slopes(path, x=1.0)["x"] == pytest.approx(value, rel=1e-14)


_DELAY = '<csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/delay">delay</csymbol>'
DELAY = f"<apply>{_DELAY}<ci> A </ci><cn> 1 </cn></apply>"
ALGEBRAIC = f"<algebraicRule>{math(apply('minus', 'A', 1))}</algebraicRule>"
BOMB = '<!DOCTYPE sbml [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'


def nested(depth: int) -> str:
    """A formula of this depth."""
    return "<apply><minus/>" * depth + "<cn> 1 </cn>" + "</apply>" * depth


REFUSED: dict[str, tuple[Any, str]] = {
    "delay": ((*DECAY, of("Reactions", reaction("r", "A", "", DELAY))), "'delay' has no counterpart"),
    "algebraic rule": ((*DECAY, of("Rules", ALGEBRAIC)), "algebraic"),
    "nothing changes": (DECAY, "nothing in the model changes"),
    "no value": ((C, DECAY[1], of("Parameters", parameter("k")), BREAKS), "'k' has no value"),
    "circle": (
        (C, DECAY[1], of("Parameters", parameter("k", 1, False), parameter("m", 1, False)),
         of("Rules", rule("assignment", "k", "<ci> m </ci>"), rule("assignment", "m", "<ci> k </ci>")), BREAKS),
        "depend",
    ),
    "empty compartment": ((of("Compartments", compartment("c", 0)), *DECAY[1:], BREAKS), "has the size 0"),
    "division by 0": ((*DECAY, of("Reactions", reaction("r", "A", "", apply("divide", 1, 0)))), "divides by 0"),
    "a huge power": ((*DECAY, of("Reactions", reaction("r", "A", "", apply("power", 10, 999999999)))), "a power fails"),
    "nesting within the limit": (
        (*DECAY, of("Reactions", reaction("r", "A", "", nested(380)))),
        "nested too deeply",
    ),
    "nesting": ((*DECAY, of("Reactions", reaction("r", "A", "", nested(1000)))), "nested more than 400 deep"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_equation_is_refused(tmp_path: Path, name: str):
    lists, message = REFUSED[name]
    path = write(tmp_path / "m.xml", *lists)
    with pytest.raises(ProblemError, match=message) as caught:
        of_sbml(path, (0.0, 1.0))
    assert str(path) in str(caught.value)


def called(name: str, *arguments: str) -> str:
    """A call of a function of the model."""
    return f"<apply><ci> {name} </ci>{''.join(f'<ci> {argument} </ci>' for argument in arguments)}</apply>"


def function(name: str, body: str) -> str:
    """A function of x."""
    content = math(f"<lambda><bvar><ci> x </ci></bvar>{body}</lambda>")
    return f'<functionDefinition id="{name}">{content}</functionDefinition>'


def test_functions_that_call_each_other_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """fn(x) = f(n-1)(x) + f(n-1)(x), and f0(x) = x: 2^n parts."""
    monkeypatch.setattr("sciml_bench.importing.sbml.mathematics.MOST_PARTS", 10_000)

    def model(count: int) -> Path:
        bodies = [function("f0", "<ci> x </ci>")]
        bodies += [function(f"f{i}", apply("plus", *[called(f"f{i - 1}", "x")] * 2)) for i in range(1, count + 1)]
        rate = of("Reactions", reaction("r", "", "A", called(f"f{count}", "A")))
        return write(tmp_path / "m.xml", of("FunctionDefinitions", *bodies), *DECAY, rate)

    assert slopes(model(6), A=3.0) == {"A": 2**6 * 3 / 2}
    with pytest.raises(ProblemError, match="call each other"):
        equations_of(model(40), (0.0, 1.0))


def test_initial_values_that_double_are_not_written_out(tmp_path: Path):
    """a1 = a0 + a0, a2 = a1 + a1, …: sixty of them are 2^60 terms without names."""
    names = [f"a{i}" for i in range(60)]
    starts = [start(b, apply("plus", a, a)) for a, b in pairwise(names)]
    path = write(
        tmp_path / "m.xml", C, DECAY[1],
        of("Parameters", parameter("k", 3), parameter("a0", 1), *map(parameter, names[1:])),
        of("InitialAssignments", *starts, start("A", "<ci> a59 </ci>")), BREAKS,
    )  # fmt: skip
    with pytest.raises(ProblemError, match="more than 10000 parts"):
        of_sbml(path, (0.0, 1.0))


def test_models_that_double_are_not_flattened(tmp_path: Path):
    """m1 holds two m0, m2 two m1, …: thirty levels are a billion models."""

    def definition(name: str, inner: str) -> str:
        parts = "".join(f'<comp:submodel comp:id="{part}" comp:modelRef="{inner}"/>' for part in ("x", "y"))
        parts = f"<comp:listOfSubmodels>{parts}</comp:listOfSubmodels>"
        return f'<comp:modelDefinition id="{name}">{parts}</comp:modelDefinition>'

    names = [f"m{i}" for i in range(30)]
    chain = [f'<comp:modelDefinition id="m0">{"".join((*DECAY, BREAKS))}</comp:modelDefinition>']
    chain += [definition(b, a) for a, b in pairwise(names)] + [definition("inner", "m29")]
    listed = f"<comp:listOfModelDefinitions>{''.join(chain)}</comp:listOfModelDefinitions>"
    with pytest.raises(ProblemError, match="models; more than 1000"):
        of_sbml(composed(tmp_path / "m.xml", listed), (0.0, 1.0))


def test_declared_entities_are_refused_before_they_are_expanded(tmp_path: Path):
    path = write(tmp_path / "m.xml", *DECAY, BREAKS, before=BOMB)
    with pytest.raises(ProblemError, match="declares a document type"):
        of_sbml(path, (0.0, 1.0))


@pytest.mark.parametrize("text", ["", "no XML", "<a></b>", "<a/>", "<sbml/>", "\0\1"])
def test_other_files_are_refused(tmp_path: Path, text: str):
    path = tmp_path / "m.xml"
    path.write_text(text)
    with pytest.raises(ProblemError):
        of_sbml(path, (0.0, 1.0))


LAYOUT = """<?xml version="1.0" encoding="UTF-8"?>
<sbml xmlns="http://www.sbml.org/sbml/level2/version4" level="2" version="4"><model id="made">
<annotation><listOfLayouts xmlns="http://projects.eml.org/bcb/sbml/level2"><layout id="l"/></listOfLayouts></annotation>
<listOfCompartments><compartment id="c" size="2"/></listOfCompartments>
<listOfSpecies><species id="A" compartment="c" initialConcentration="1"/></listOfSpecies>
<listOfReactions><reaction id="r"><listOfReactants><speciesReference species="A"/></listOfReactants>
<kineticLaw><math xmlns="http://www.w3.org/1998/Math/MathML"><apply><times/><ci>k</ci><ci>A</ci></apply></math>
<listOfParameters><parameter id="k" value="3"/></listOfParameters></kineticLaw></reaction></listOfReactions>
</model></sbml>
"""


def test_level_2_with_a_picture_of_itself(tmp_path: Path):
    path = tmp_path / "m.xml"
    path.write_text(LAYOUT)
    assert slopes(path, A=5.0) == {"A": -7.5}


COMP = "http://www.sbml.org/sbml/level3/version1/comp/version1"


def composed(path: Path, definitions: str) -> Path:
    """A model that contains model ``inner`` of these definitions twice."""
    write(path, *DECAY, BREAKS)
    text = path.read_text()
    inside = "".join(f'<comp:submodel comp:id="{name}" comp:modelRef="inner"/>' for name in ("one", "two"))
    text = text.replace(' level="3"', f' xmlns:comp="{COMP}" comp:required="true" level="3"')
    text = text.replace("</model>", f"<comp:listOfSubmodels>{inside}</comp:listOfSubmodels></model>\n{definitions}")
    path.write_text(text)
    return path


def test_models_within_models_are_flattened(tmp_path: Path):
    inner = "".join((*DECAY, BREAKS))
    definition = f'<comp:modelDefinition id="inner">{inner}</comp:modelDefinition>'
    listed = f"<comp:listOfModelDefinitions>{definition}</comp:listOfModelDefinitions>"
    path = composed(tmp_path / "m.xml", listed)
    assert slopes(path, A=5.0, one_A=1.0, two_A=2.0) == {"A": -7.5, "one_A": -1.5, "two_A": -3.0}


def test_models_in_other_files_are_not_read(tmp_path: Path):
    (tmp_path / "other.xml").write_text(LAYOUT)
    outside = '<comp:externalModelDefinition comp:id="inner" comp:source="other.xml" comp:modelRef="made"/>'
    listed = f"<comp:listOfExternalModelDefinitions>{outside}</comp:listOfExternalModelDefinitions>"
    with pytest.raises(ProblemError, match="other files"):
        of_sbml(composed(tmp_path / "m.xml", listed), (0.0, 1.0))


def test_names_of_the_language_are_renamed(tmp_path: Path):
    """t, pi and lambda are names in SBML like others."""
    free = of("Parameters", parameter("lambda", 2), parameter("t", 3), parameter("pi", 5))
    law = apply("times", "lambda", "t", "pi", "A")
    path = write(tmp_path / "m.xml", C, DECAY[1], free, of("Reactions", reaction("r", "A", "", law)))
    assert slopes(path, A=1.0) == {"A": -15.0}
    of_sbml(path, (0.0, 1.0))


def test_scales_are_the_sizes_that_states_reach(tmp_path: Path):
    """B starts at 0 and ends near 4e-9, the whole of A."""
    tiny = of("Species", species("A", 'initialConcentration="4e-9"'), species("B", 'initialConcentration="0"'))
    path = write(
        tmp_path / "m.xml", C, tiny, DECAY[2], of("Reactions", reaction("r", "A", "B", apply("times", "k", "A")))
    )
    (tmp_path / "m.toml").write_text(of_sbml(path, (0.0, 50.0))[0])
    scales = [state.scale[0] for state in load_problem(tmp_path / "m.toml").states]
    assert scales == [4e-9, 4e-9]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = write(tmp_path / "m.xml", *DECAY, BREAKS)
    target = tmp_path / "m.toml"
    assert main(["import", str(path), "--t-span", "0,5", "-o", str(target)]) == exit_codes.OK
    assert main(["describe", str(target)]) == exit_codes.OK
    assert "made, from SBML" in capsys.readouterr().out
    for words, message in (
        (["import", str(path)], "add --t-span"),
        (["import", str(path), "--t-span", "0,5", "--p", "1"], "own numbers"),
        (["advise", str(path)], "add --t-span 0,100"),
    ):
        assert main(words) == exit_codes.USAGE
        assert message in capsys.readouterr().err
