"""References of batches: every trajectory certified separately, the gradients added up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb

from sciml_bench.references.certificate import ENCLOSED, Certified, certify
from sciml_bench.references.confirmation.proof import MOST_S
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.dynamics import FloatArray
from sciml_bench.references.engine.numbers import precision
from sciml_bench.references.engine.radau import BLOWS_UP
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.references.progress import Say
from sciml_bench.spec.model import Problem

_BITS = 256

_MOST_DIGITS = 32.0


def certified(
    problem: Problem,
    say: Say = lambda _: None,
    limit_s: float = float("inf"),
    gradients: bool = True,
    proof_s: float = MOST_S,
) -> Certified:
    """The certified reference of a problem, with all trajectories of its batch side by side.

    The gradient of every trajectory is compared with central differences: of the first along every component as a
    problem of one trajectory has it, of the others along one random direction. Proofs of enclosures may cost
    ``proof_s`` seconds together, as counted.

    Raises:
        ReferenceFailure: a trajectory cannot be certified.
    """
    try:
        return _certified(problem, say, limit_s, gradients, proof_s)
    except ReferenceFailure as failure:
        raise _explained(problem, failure) from None


def _explained(problem: Problem, failure: ReferenceFailure) -> ReferenceFailure:
    """A failure of a solution to get past a time, with the conditions of the file that may be the reason."""
    moving = "; ".join(str(moving) for moving in problem.switching.unsettled if moving.of_states)
    if failure.t is None or not moving or str(failure).endswith(BLOWS_UP):
        return failure
    return ReferenceFailure(
        f"{failure} A kink may be the reason: {moving}. A reference follows a kink only if its time is known from the"
        " file, or an event: write it with the time and parameters, declare it, or let an event set a state that the"
        " equation reads, as in problems/events/thermostat.toml.",
        failure.t,
    )


def _certified(problem: Problem, say: Say, limit_s: float, gradients: bool, proof_s: float) -> Certified:
    if problem.batch.size == 1:
        return certify(Case(problem), say, limit_s, gradients, proof_s=proof_s)
    parts: list[Certified] = []
    first: Case | None = None
    for index, trajectory in enumerate(problem.trajectories()):
        say(f"trajectory {index + 1} of {problem.batch.size}")
        case = Case(trajectory, like=first)
        first = first or case
        part_s = proof_s / problem.batch.size
        parts.append(certify(case, say, limit_s, gradients, every_component=index == 0, proof_s=part_s))
    return _together(parts)


def _together(parts: Sequence[Certified]) -> Certified:
    first = parts[0]
    with precision(_BITS):
        columns = zip(*(part.gradient for part in parts), strict=True)
        gradient = [sum(column, arb(0)).mid() for column in columns]
        negligible = np.sum([part.gradient_negligible for part in parts], axis=0)
        zero = np.array([abs(float(value)) <= least for value, least in zip(gradient, negligible, strict=True)])
        zero &= negligible > 0
        digits = _digits_of_sums([p.gradient for p in parts], [p.gradient_digits for p in parts], negligible)
        loss = sum((part.loss for part in parts), arb(0)).mid()
        return Certified(
            rows=[[y for part in parts for y in part.rows[k]] for k in range(len(first.rows))],
            row_digits=np.concatenate([part.row_digits for part in parts], axis=1),
            negligible=np.concatenate([part.negligible for part in parts]),
            loss=loss,
            loss_digits=float(
                _digits_of_sums([[part.loss] for part in parts], [[part.loss_digits] for part in parts], [0.0])[0]
            ),
            gradient=[arb(0) if none else value for none, value in zip(zero, gradient, strict=True)],
            gradient_digits=np.where(zero, _MOST_DIGITS, digits),
            gradient_negligible=np.where(zero, negligible, 0.0),
            evidence={**first.evidence, **_weakest(parts), **_events(parts), "trajectories": len(parts)},
            seconds={name: round(sum(part.seconds[name] for part in parts), 3) for name in first.seconds},
        )


def _weakest(parts: Sequence[Certified]) -> dict[str, object]:
    """The statement that holds for all trajectories: that all are enclosed, or the weakest one."""
    agreeing = [part.evidence for part in parts if part.evidence["proof"] != ENCLOSED]
    chosen = min(agreeing or [part.evidence for part in parts], key=_second_digits)
    return {key: chosen[key] for key in ("proof", "second_method")}


def _events(parts: Sequence[Certified]) -> dict[str, object]:
    """The digits that the times of all events have; of what happens when, the first trajectory is shown."""
    digits = [found for part in parts if isinstance(found := part.evidence.get("event_digits"), float)]
    return {"event_digits": min(digits)} if digits else {}


def _second_digits(evidence: dict[str, object]) -> float:
    second = evidence["second_method"]
    return float(second["digits"]) if isinstance(second, dict) else 0.0


def _digits_of_sums(
    values: Sequence[Sequence[arb]],
    digits: Sequence[Sequence[float] | FloatArray],
    negligible: Sequence[float] | FloatArray,
) -> FloatArray:
    """Digits of the sums of values whose digits are known, where terms may cancel and ``negligible`` was left out."""
    found: list[float] = []
    for column, known, less in zip(zip(*values, strict=True), zip(*digits, strict=True), negligible, strict=True):
        uncertain = less + sum(abs(float(value)) * 10.0**-good for value, good in zip(column, known, strict=True))
        total = abs(float(sum(column, arb(0))))
        # A term without digits may be anything, also if it is zero.
        none = min(known) == 0 or total == 0 < uncertain
        found.append(0.0 if none else -np.log10(uncertain / total) if uncertain else _MOST_DIGITS)
    return np.clip(found, 0.0, _MOST_DIGITS)
