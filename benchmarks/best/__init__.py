"""What the best user of each library would write by hand, which ``best_configuration.py`` sets against our cells.

One module a library and group of problems. They share no code with the package and none with each other but this page
and the problems' numbers: every equation, derivative and loss is written out, in the form that suits the library.
``EXPERTS`` of each module maps a problem to functions that build one configuration each. Which of them is the best is
measured, not declared: that of least time at the accuracy asked for counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Expert(NamedTuple):
    """One configuration of a library for one problem, with inputs and outputs as :class:`Program` of the suite has.

    ``prepare(theta, rtol)`` makes the library's own arrays of the parameters and the relative tolerance, from which the
    absolute ones follow; it is not timed. ``solve`` and ``gradient`` are timed together with ``wait``, which blocks
    until their output is computed; ``None`` for what a configuration is not for. ``states`` and ``slopes`` bring
    outputs back to NumPy, states as (n_times, n_states) in the problem's order and slopes as (n_theta,); they raise
    :class:`Unsolved` where the library says that it failed.

    ``documented`` is false for what the library's documentation does not show: it is measured and told, and does not
    count.
    """

    name: str
    prepare: Callable[[Vector, float], Any]
    solve: Callable[[Any], Any] | None
    gradient: Callable[[Any], Any] | None
    wait: Callable[[Any], None]
    states: Callable[[Any], Vector]
    slopes: Callable[[Any], Vector]
    documented: bool = True


Experts = dict[str, tuple[Callable[[], Expert], ...]]


class Unsolved(Exception):
    """The library reports that it failed."""


def computed(_output: object) -> None:
    """Nothing to wait for: the library computes before it returns."""
