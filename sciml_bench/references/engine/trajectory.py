"""One computation of a solution: its settings, the numbers at its start, its steps, and the states that it reached."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from flint import arb, arb_mat

from sciml_bench.references.engine.around import Around
from sciml_bench.references.engine.dynamics import FloatArray
from sciml_bench.references.engine.event_functions import Jump
from sciml_bench.references.engine.numbers import BITS_PER_DIGIT
from sciml_bench.references.engine.step import Place

_NEWTON_GUARD_DIGITS = 6


@dataclass(frozen=True)
class Settings:
    """The settings of one computation: ``digits`` of the arithmetic and the ``tail`` that a step may leave.

    The tail is relative to the size of each component over the step, or to ``floor`` times its declared size if that
    is larger; components are followed relatively down to ``negligible`` times the largest value that they have had.
    Below both, an error may be as large as the component. With ``push``, 1 or -1, it is as large as it may be: after
    each step such a component moves by the allowed tail, to a side that is its own and the other one for the other
    sign, so that two runs with opposite signs part where it matters later. With ``shaken`` any other component moves by
    what Newton's method may leave, to either side. ``resolved`` checks every step by
    :mod:`sciml_bench.references.engine.resolution`.

    No step is longer than its stages reproduce growth: the method damps what grows faster, and a deviation that is too
    small to be seen, of a component or from a fixed point, would vanish instead of growing.
    """

    stages: int
    tail: float
    digits: int = 38
    floor: float = 1e-32
    negligible: float = 1e-30
    push: int = 0
    shaken: bool = False
    resolved: bool = False
    max_steps: int = 200_000
    first_step: float = 1e-3

    @property
    def bits(self) -> int:
        """Working precision."""
        return int(self.digits * BITS_PER_DIGIT) + 1

    @property
    def newton_tolerance(self) -> float:
        """Bound on the error that Newton's method leaves, relative to the size of each component."""
        return 10.0 ** (_NEWTON_GUARD_DIGITS - self.digits)


@dataclass(frozen=True)
class Start:
    """The numbers of one trajectory: initial state, parameters, and the declared size of each component (n,).

    ``around`` where the initial state follows from the parameters.
    """

    y0: tuple[arb, ...]
    p: tuple[arb, ...]
    scale: FloatArray
    around: Around | None = None


@dataclass(frozen=True)
class Step:
    """One accepted step; ``saved`` is the index of the saved time at its end, or ``None``."""

    place: Place
    y: tuple[arb, ...]
    z: arb_mat
    scale: FloatArray
    saved: int | None


@dataclass
class Trajectory:
    """A computed solution: states at the saved times, the times stepped on with the states there in double precision,
    and the steps if requested. ``jumps`` are the events in order, each with the number of steps before it.
    """

    settings: Settings
    saved: list[tuple[arb, ...]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    mesh: list[float] = field(default_factory=list)
    path: list[FloatArray] = field(default_factory=list)
    n_steps: int = 0
    n_rejected: int = 0
    n_iterations: int = 0
    largest: FloatArray = field(default_factory=lambda: np.zeros(0))
    jumps: list[tuple[int, Jump]] = field(default_factory=list)
