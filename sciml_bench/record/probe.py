"""The result of a problem's probe: whether an explicit method finishes with less work than an implicit one.

Whether a problem is stiff depends on its tolerances, its time span and what an implicit step costs, so a label cannot
say it. Work is counted in evaluations of the right-hand side, never in time: the same problem gives the same finding on
every machine.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

RTOL = 1e-6
"""The relative tolerance of a probe; absolute ones are that times the scale of each component."""


def factor(n_states: int) -> float:
    """An explicit method is the faster one up to this multiple of an implicit method's evaluations.

    An implicit step costs more than its evaluations: a Jacobian, a factorisation, and solves with it. With few states
    that is a constant; beyond some fifty the factorisation rules, whose cost over that of an evaluation grows with the
    square. Tsit5 over Kvaerno5 with Newton's method, solves in Diffrax on one core at 1e-6 and 1e-8, in milliseconds:

    ===================  ======  ===========  ==============  ==============
    problem              states  evaluations  1e-6            1e-8
    ===================  ======  ===========  ==============  ==============
    DETEST stiff A1           4  × 7.7        0.73 over 0.92  0.52 over 1.67
    DETEST stiff D3           4  × 10.8       1.74 over 2.11  0.96 over 3.21
    linear                    2  × 37         2.54 over 0.75  2.39 over 1.84
    HIRES                     8  × 75         23.7 over 5.94  21.4 over 15.9
    Brusselator 5 × 5        50  × 17         157 over 44.5   233 over 256
    Brusselator 1-D          80  × 2.3        2.21 over 85.5  2.20 over 121
    Brusselator 2-D         128  × 60         107 over 279    90 over 545
    heat                    127  × 236        23.8 over 6.82  26.9 over 11.6
    ===================  ======  ===========  ==============  ==============
    """
    return 10.0 * max(1.0, (n_states / 50) ** 2)


@dataclass(frozen=True)
class Probed:
    """Evaluations of an explicit method (RK45) and of an implicit one (Radau, without the evaluations for its
    Jacobians).

    ``explicit`` is ``None`` if it did not get to the end within ``limit`` evaluations, ``implicit`` if it took too
    many, or the problem is too large for dense Jacobians. ``suits_explicit`` says whether an explicit method gets to
    the end within ``factor`` times the work of the implicit one; it is ``None`` if that was not decided.
    """

    explicit: int | None
    implicit: int | None
    limit: int
    suits_explicit: bool | None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"rtol": RTOL, **asdict(self)}

    @property
    def told(self) -> str:
        """The work of both in words."""
        explicit = f"{self.explicit}" if self.explicit is not None else f"more than {self.limit}"
        implicit = "" if self.implicit is None else f", an implicit one {self.implicit} and Jacobians"
        return f"at rtol {RTOL:g} an explicit method takes {explicit} evaluations{implicit}"
