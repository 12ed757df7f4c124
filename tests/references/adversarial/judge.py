"""Holds what is certified of an adversarial file against its truth."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from sciml_bench.errors import SciMLBenchError
from sciml_bench.references.batch_certificate import certified
from sciml_bench.references.store import StoredReference, stored_reference
from sciml_bench.spec import load_problem

FOLDER = Path(__file__).parent
TRUTHS: dict[str, dict[str, Any]] = json.loads((FOLDER / "truths.json").read_text())
_DPS = 60
#: Processor time after which a file is given up, which is a refusal.
LIMIT_S = 60.0


@dataclass(frozen=True)
class Verdict:
    """What the suite says of a file: certified, with digits that are wrong, or refused with a reason."""

    certified: bool
    refusal: str = ""
    wrong: tuple[str, ...] = ()
    #: Components of the gradient for which nothing is claimed.
    uncertified: tuple[str, ...] = ()


def judge(name: str, proof_s: float) -> Verdict:
    """Certify one file with its gradient, and hold every digit that is claimed against the truth.

    Proofs of enclosures may take ``proof_s``.

    Any exception that is none of the suite's own passes through: a refusal has a type and a text.
    """
    try:
        problem = load_problem(FOLDER / f"{name}.toml")
        stored = stored_reference(problem, certified(problem, limit_s=LIMIT_S, proof_s=proof_s))
    except SciMLBenchError as refusal:
        return Verdict(False, str(refusal))
    truth = TRUTHS[name]
    if "solution" not in truth:
        return Verdict(True, wrong=("it has no solution",))
    silent = tuple(label for label, digits in zip(stored.theta, stored.gradient_digits, strict=True) if not digits > 0)
    return Verdict(True, wrong=tuple(_wrong(stored, truth)), uncertified=silent)


def _wrong(stored: StoredReference, truth: dict[str, Any]) -> list[str]:
    found: list[str] = []
    with mp.workdps(_DPS):
        for time, row, true_row in zip(stored.times, stored.solution, truth["solution"], strict=True):
            columns = zip(stored.states, row, true_row, stored.solution_digits, stored.negligible, strict=True)
            for label, value, true, digits, negligible in columns:
                if not _right(value, true, digits, negligible):
                    found.append(f"{label}({time}) = {value} to {digits} digits; it is {true}")
        least = stored.gradient_negligible or [0.0] * len(stored.gradient)
        for label, value, true, digits, negligible in zip(
            stored.theta, stored.gradient, truth["gradient"], stored.gradient_digits, least, strict=True
        ):
            if digits > 0 and not _right(value, true, digits, negligible):
                found.append(f"d loss / d {label} = {value} to {digits} digits; it is {true}")
    return found


def _right(value: str, true: str, digits: float, negligible: float) -> bool:
    """Whether a number holds to the digits that are claimed; a zero says that the magnitude is negligible."""
    a, b = mpf(value), mpf(true)
    if a == 0:
        return abs(b) <= negligible
    return abs(a - b) <= mpf(10) ** -min(digits, 30.0) * max(abs(a), abs(b)) * mpf("1.01")
