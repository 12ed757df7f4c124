"""A certified objective and gradient as a small JSON file, for programs that know nothing of this suite."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sciml_bench.errors import StoreError

if TYPE_CHECKING:
    from sciml_bench.references.store import StoredReference
    from sciml_bench.spec.model import Problem

SCHEMA = 1
_KEY = "certified_gradient"


@dataclass(frozen=True)
class Component:
    """One number: its decimal digits as text, the count of certified ones, and the magnitude below which the value 0
    lies.
    """

    value: str
    digits: float
    negligible: float = 0.0


@dataclass(frozen=True)
class Statement:
    """The objective of a problem and its gradient by name. ``method`` is how they were certified."""

    problem: str
    spec_hash: str
    objective: Component
    gradient: dict[str, Component]
    method: str = ""

    @property
    def uncertified(self) -> tuple[str, ...]:
        """Names of the components without a certified digit."""
        return tuple(name for name, part in self.gradient.items() if part.digits <= 0)

    def to_json(self) -> str:
        """The text of a file, one line a component."""
        head = {_KEY: SCHEMA, "problem": self.problem, "spec_hash": self.spec_hash, "method": self.method}
        lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
        lines.append(f' "objective": {json.dumps(_entry(self.objective))}')
        parts = ",\n".join(f"  {json.dumps(name)}: {json.dumps(_entry(part))}" for name, part in self.gradient.items())
        return "{\n" + ",\n".join([*lines, f' "gradient": {{\n{parts}\n }}']) + "\n}\n"


def on_scales(statement: Statement, problem: Problem) -> Statement:
    """The statement with derivatives by the logarithms of the parameters that the problem estimates on such a scale.

    They are named ``log10(k)``: d/d log10(k) is k ln(10) d/dk, and the value of k is exact.
    """
    # Readers of statements need NumPy alone.
    import sympy

    gradient = dict[str, Component]()
    parameters = {item.name: item for item in problem.parameters if item.scale != "linear"}
    for name, part in statement.gradient.items():
        item = parameters.get(name)
        if item is None:
            gradient[name] = part
            continue
        factor = item.values[0] * (sympy.log(10) if item.scale == "log10" else 1)
        value = (sympy.Rational(part.value) * factor).evalf(max(int(part.digits) + 2, 1))
        gradient[f"{item.scale}({name})"] = Component(str(value), part.digits, part.negligible * float(factor))
    return replace(statement, gradient=gradient)


def _entry(part: Component) -> dict[str, Any]:
    entry: dict[str, Any] = {"value": part.value if part.digits > 0 else None, "digits": part.digits}
    return {**entry, "negligible": part.negligible} if part.negligible else entry


def statement_of(stored: StoredReference) -> Statement:
    """The statement of a reference that is kept."""
    certificate = stored.certificate
    second = certificate.get("second_method") or {}
    solution = f"solution: {certificate.get('proof', 'certified')}"
    if second:
        solution += f" (Radau IIA, and {second['method']} to {second['digits']} digits)"
    gradient = certificate.get("gradient") or {}
    method = f"{solution}; gradient: {gradient.get('method', 'not certified')}"
    return _statement(json.loads(json.dumps(vars(stored))), method)


def _statement(content: dict[str, Any], method: str) -> Statement:
    """A statement from the content of a reference file."""
    small = content.get("gradient_negligible") or [0.0] * len(content["gradient"])
    parts = zip(content["gradient"], content["gradient_digits"], small, strict=True)
    named = zip(content["theta"], parts, strict=True) if content["gradient"] else ()
    return Statement(
        content["problem"], content["spec_hash"], Component(content["loss"], content["loss_digits"]),
        {name: Component(*part) for name, part in named}, method,
    )  # fmt: skip


def read(path: Path) -> Statement:
    """The statement in a file of ``certify``, or in a reference of the catalog.

    Raises:
        StoreError: it is neither.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if _KEY not in content:
            return _statement(content, "")
        if content[_KEY] != SCHEMA:
            raise StoreError(f"{path}: its schema is {content[_KEY]}, this version reads {SCHEMA}.")
        return Statement(
            content["problem"], content["spec_hash"], _component(content["objective"]),
            {name: _component(entry) for name, entry in content["gradient"].items()}, content["method"],
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{path}: not a certified gradient ({type(error).__name__}: {error}).") from error


def _component(entry: dict[str, Any]) -> Component:
    digits, small = float(entry["digits"]), float(entry.get("negligible", 0.0))
    value = "0" if entry["value"] is None else str(entry["value"])
    if not all(map(math.isfinite, (digits, small, float(value)))):
        raise ValueError(f"a component is not finite: {entry}")
    return Component(value, digits if entry["value"] is not None else 0.0, small)
