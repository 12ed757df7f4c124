"""The accuracy that a configuration achieves at each tolerance, and between which tolerances it achieves another."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from best import Expert, Vector

DIGITS = {"solve": (4.0, 6.0, 8.0), "gradient": (3.0, 5.0, 7.0)}
"""Where times are compared: mescd of a solve, −log10 of the error of a gradient."""

RTOLS = tuple(10.0 ** (-half / 2) for half in range(4, 24))
"""Nobody asks for less than two digits; at a tenth, TensorFlow Probability's compiled DormandPrince loops for ever."""

# The error at one tolerance is a matter of luck: that of a rung is the mean, in digits, over some around it.
_AROUND = (1.0, 0.8, 1.25, 0.9, 1.1)
_UNHURRIED_S, _SLOW_S = 0.05, 0.4
# Past the last accuracy that is asked for by so many digits, the ladder ends.
_MARGIN = 0.5
_HOPELESS = 3.0


class Rung(NamedTuple):
    """A tolerance, the digits that it gives, and roughly how long a call takes, in seconds of processor time."""

    rtol: float
    digits: float
    seconds: float


class Between(NamedTuple):
    """Two tolerances and the weight of the second; time is read off between them, its logarithm linear in digits."""

    loose: Rung
    tight: Rung
    weight: float

    def time(self, of: Callable[[float], float]) -> float:
        """The time between two, each given by its tolerance."""
        if self.weight in (0.0, 1.0):
            return of((self.loose, self.tight)[round(self.weight)].rtol)
        return math.exp((1 - self.weight) * math.log(of(self.loose.rtol)) + self.weight * math.log(of(self.tight.rtol)))

    @property
    def rtols(self) -> tuple[float, ...]:
        """The tolerances that have to be timed."""
        if self.weight in (0.0, 1.0):
            return ((self.loose, self.tight)[round(self.weight)].rtol,)
        return (self.loose.rtol, self.tight.rtol)


def climb(
    side: Expert, kind: str, digits_of: Callable[[Any], float], theta: Vector, rival: list[Rung] | None = None
) -> tuple[list[Rung], str]:
    """The ladder of a side for ``solve`` or ``gradient``, loosest first, and why it ended early where it did.

    It ends, too, where the side is hopelessly behind a rival's ladder.
    """
    run = getattr(side, kind)
    rungs: list[Rung] = []
    told = ""
    warm = False
    for rtol in RTOLS:
        found, took = [], []
        try:
            for factor in _AROUND:
                if took and len(took) >= (1 if min(took) > _SLOW_S else 3 if min(took) > _UNHURRIED_S else 5):
                    break
                inputs = side.prepare(theta, rtol * factor)
                if not warm:
                    side.wait(run(inputs))
                    warm = True
                start = time.process_time()
                output = run(inputs)
                side.wait(output)
                took.append(time.process_time() - start)
                found.append(digits_of(output))
        except Exception as error:
            # A loose tolerance may be too loose, a tight one too tight; what lies between counts.
            told = f"at rtol {rtol:.0e}: {type(error).__name__}: {str(error)[:200]}"
            if rungs:
                break
            continue
        rungs.append(Rung(rtol, float(np.mean(found)), float(np.median(took))))
        if rungs[-1].digits > DIGITS[kind][-1] + _MARGIN:
            break
        ahead = between(rival or [], max(rungs[-1].digits, DIGITS[kind][0]))
        if ahead is not None and rungs[-1].seconds > _HOPELESS * max(ahead.loose.seconds, ahead.tight.seconds):
            told = f"at rtol {rtol:.0e} it takes {_HOPELESS:g} times as long as another"
            break
    return rungs, told


def loosest(ladders: Iterable[list[Rung]]) -> float:
    """The fewest digits that any of these ladders has; −∞ where none has a rung."""
    return min((front[0].digits for rungs in ladders if (front := _front(rungs))), default=-math.inf)


def between(rungs: list[Rung], digits: float) -> Between | None:
    """Where a ladder achieves so many digits in the least time; ``None`` where it does not get there.

    Only rungs that no other beats in digits and time count. Nothing is extrapolated: where the fastest is already more
    accurate, it stands for itself.
    """
    front = _front(rungs)
    for index, rung in enumerate(front):
        if rung.digits >= digits:
            if index == 0:
                return Between(rung, rung, 0.0)
            before = front[index - 1]
            return Between(before, rung, (digits - before.digits) / (rung.digits - before.digits))
    return None


def _front(rungs: list[Rung]) -> list[Rung]:
    """The rungs that no other beats in digits and time, loosest first."""
    front: list[Rung] = []
    for rung in sorted(rungs, key=lambda rung: (rung.seconds, -rung.digits)):
        if math.isfinite(rung.digits) and (not front or rung.digits > front[-1].digits):
            front.append(rung)
    return front
