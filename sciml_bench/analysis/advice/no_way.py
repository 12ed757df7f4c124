"""Advice for a problem that no way solves: the finding in the failures, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from sciml_bench.record.outcome import Outcome

_SOLVE = tuple(outcome.value for outcome in (Outcome.STEP_UNDERFLOW, Outcome.MAX_STEPS, Outcome.NONFINITE))


def advice_without_a_way(reasons: Sequence[str]) -> str:
    """Return one or two sentences on the failures of all ways, given as ``outcome: message``."""
    if not reasons:
        return "None was looked at: give it more time, --within."
    if all(reason.startswith(Outcome.UNCHECKED.value) for reason in reasons):
        return "Nothing says whether the gradients are right: `sciml-bench reference compute` makes a reference."
    if 4 * sum("reaches only" in reason for reason in reasons) >= len(reasons):
        return "Some come near it: ask for less, --accuracy, or see below how close they get."
    if all(reason.startswith(Outcome.TIMEOUT.value) for reason in reasons):
        return (
            "Every way ran past the time limit of a phase: shorten the time span, ask for less, --accuracy, or measure "
            "with a longer limit, `sciml-bench run --timeout 300`."
        )
    if all(reason.startswith(_SOLVE) and "the gradient" not in reason for reason in reasons):
        return (
            "Every way stops before the end: the solution may blow up, or leave the domain of an equation. Shorten the "
            "time span, or check signs and units; `sciml-bench describe` shows how the problem was understood."
        )
    if 2 * sum("differences of the loss give" in reason for reason in reasons) > len(reasons):
        return (
            "The gradients contradict differences of the loss: over this time span small errors may grow beyond double "
            "precision. Shorten the time span, or fit the model piece by piece (multiple shooting)."
        )
    return "The reasons are below; `sciml-bench describe` shows how the problem was understood."
