"""A reference made from scratch: with its gradient, or, where only that cannot be certified, without."""

from __future__ import annotations

import time
from dataclasses import replace

from sciml_bench.references.batch_certificate import certified
from sciml_bench.references.confirmation.proof import MOST_S
from sciml_bench.references.failures import LimitReached, ReferenceFailure
from sciml_bench.references.progress import Say
from sciml_bench.references.store import StoredReference, stored_reference
from sciml_bench.spec.model import Problem

#: In a certificate: why there is no gradient.
NO_GRADIENT = "no_gradient"


#: The option of ``reference compute`` that leaves it out, and what a certificate says then.
SOLUTION_ONLY = "--solution-only"
_NOT_ASKED_FOR = f"it was computed with {SOLUTION_ONLY}"


def make(
    problem: Problem,
    say: Say = lambda _: None,
    limit_s: float = float("inf"),
    gradient: bool = True,
    proof_s: float = MOST_S,
) -> tuple[StoredReference, str]:
    """The reference of a problem as it is to be stored, and what is missing in it, empty if nothing is.

    Args:
        problem: the problem, with all trajectories of its batch.
        say: called with a line of progress now and then.
        limit_s: processor time after which it is given up.
        gradient: also certify the gradient.
        proof_s: seconds that proofs of enclosures may cost, as counted.

    Raises:
        ReferenceFailure: the solution cannot be certified.
    """
    began = time.process_time()
    if not gradient:
        alone = certified(problem, say, limit_s, False, proof_s)
        alone = replace(alone, evidence={**alone.evidence, NO_GRADIENT: _NOT_ASKED_FOR})
        stored = stored_reference(problem, alone)
        return replace(stored, command=f"{stored.command} {SOLUTION_ONLY}"), "its gradient is not certified"
    try:
        return stored_reference(problem, certified(problem, say, limit_s, True, proof_s)), ""
    except ReferenceFailure as failure:
        left_s = limit_s - (time.process_time() - began)
        # A limit that the gradient has used up leaves a little for the solution, which is the smaller part.
        left_s = max(left_s, limit_s / 2) if isinstance(failure, LimitReached) else left_s
        try:
            alone = certified(problem, say, left_s, False, proof_s)
        except ReferenceFailure:
            raise failure from None
        alone = replace(alone, evidence={**alone.evidence, NO_GRADIENT: str(failure)})
        return stored_reference(problem, alone), f"the solution is certified, its gradient is not: {failure}"
