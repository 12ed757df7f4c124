"""What is advised where nothing works: reasons as real runs gave them."""

from __future__ import annotations

import pytest

from sciml_bench.analysis.advice.no_way import advice_without_a_way

BLOWS_UP = (
    "step_underflow: SciPy stopped in the segment from t = 0: Illegal input detected (internal error).",
    "max_steps: Diffrax stopped after 65536 steps: the maximum number of steps was reached",
    "nonfinite: TensorFlow Probability stopped: the step size became not-a-number",
)
CHAOS = (
    "inaccurate: d loss / d log sigma: 2.51e+20, differences of the loss give 7.86e+05",
    "inaccurate: d loss / d log sigma: 8.83e+19, differences of the loss give 4.69e+06",
    "unchecked: differences of the loss failed: they take longer than the limit of 14 s",
)


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        ((), "give it more time"),
        (BLOWS_UP, "the solution may blow up"),
        (CHAOS, "grow beyond double precision"),
        (("timeout: phase first_gradient ran past 4 s",) * 3, "Every way ran past the time limit"),
        (("unchecked: no reference",) * 2, "reference compute"),
        ((BLOWS_UP[0], "reaches only 4.2 digits"), "ask for less"),
        (("reaches only 0.1 digits", *BLOWS_UP, *BLOWS_UP), "The reasons are below"),
        ((*BLOWS_UP, "nonfinite: the gradient is not finite"), "The reasons are below"),
        ((BLOWS_UP[0], CHAOS[0], CHAOS[2]), "The reasons are below"),
    ],
)
def test_the_finding_is_named_with_what_to_do(reasons, said):
    assert said in advice_without_a_way(reasons)
