"""SBML files that tests make up, of level 3 version 2, from the parts that matter."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_MATH = "http://www.w3.org/1998/Math/MathML"
_TIME = 'encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/time"'
TIME = f"<csymbol {_TIME}>t</csymbol>"


def math(content: str) -> str:
    """A formula."""
    return f'<math xmlns="{_MATH}">{content}</math>'


def apply(operator: str, *arguments: object) -> str:
    """An operator with names, numbers and formulas."""
    return f"<apply><{operator}/>{''.join(map(_argument, arguments))}</apply>"


def _argument(value: object) -> str:
    if isinstance(value, (int, float)):
        return f"<cn> {value} </cn>"
    text = str(value)
    return text if text.startswith("<") else f"<ci> {text} </ci>"


def of(kind: str, *items: str) -> str:
    """A list of a model."""
    return f"<listOf{kind}>{''.join(items)}</listOf{kind}>" if items else ""


def compartment(name: str, size: float | None = 1, constant: bool = True) -> str:
    """A compartment of three dimensions."""
    given = "" if size is None else f'size="{size}"'
    return f'<compartment id="{name}" spatialDimensions="3" {given} constant="{str(constant).lower()}"/>'


def species(name: str, start: str = 'initialConcentration="1"', more: str = "") -> str:
    """A species in compartment c."""
    flags = {"hasOnlySubstanceUnits": "false", "boundaryCondition": "false", "constant": "false"}
    given = " ".join(f'{key}="{value}"' for key, value in flags.items() if key not in more)
    return f'<species id="{name}" compartment="c" {start} {given} {more}/>'


def parameter(name: str, value: float | None = None, constant: bool = True) -> str:
    """A parameter."""
    given = "" if value is None else f'value="{value}"'
    return f'<parameter id="{name}" {given} constant="{str(constant).lower()}"/>'


def reaction(name: str, reactants: str, products: str, rate: str, local: str = "") -> str:
    """A reaction; reactants and products are names with spaces between, a number before a name is its stoichiometry."""

    def side(kind: str, words: str) -> str:
        found: list[str] = []
        count = "1"
        for word in words.split():
            if word[0].isdigit():
                count = word
            else:
                found.append(f'<speciesReference species="{word}" stoichiometry="{count}" constant="true"/>')
                count = "1"
        return of(kind, *found)

    sides = side("Reactants", reactants) + side("Products", products)
    return f'<reaction id="{name}" reversible="false">{sides}<kineticLaw>{math(rate)}{local}</kineticLaw></reaction>'


def rule(kind: str, variable: str, formula: str) -> str:
    """An assignment or a rate rule."""
    return f'<{kind}Rule variable="{variable}">{math(formula)}</{kind}Rule>'


def start(symbol: str, formula: str) -> str:
    """An initial assignment."""
    return f'<initialAssignment symbol="{symbol}">{math(formula)}</initialAssignment>'


def event(
    name: str, trigger: str, values: Mapping[str, object], more: str = "", initial: str = "true",
    before: str = "true", persistent: str = "true",
) -> str:  # fmt: skip
    """An event that sets quantities to numbers, names and formulas; ``before``: to their values when triggered."""
    assignments = (
        f'<eventAssignment variable="{variable}">{math(_argument(value))}</eventAssignment>'
        for variable, value in values.items()
    )
    return (
        f'<event id="{name}" useValuesFromTriggerTime="{before}">'
        f'<trigger initialValue="{initial}" persistent="{persistent}">'
        f"{math(trigger)}</trigger>{more}{of('EventAssignments', *assignments)}</event>"
    )


def write(path: Path, *lists: str, before: str = "") -> Path:
    """Write a model of these lists."""
    path.write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>{before}\n'
        '<sbml xmlns="http://www.sbml.org/sbml/level3/version2/core" level="3" version="2">\n'
        f'<model id="made">\n{chr(10).join(lists)}\n</model>\n</sbml>\n',
        encoding="utf-8",
    )
    return path
