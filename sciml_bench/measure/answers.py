"""Outputs of timed calls that are kept to be checked."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sciml_bench.adapters.program import FloatArray, Varied

KEPT = 4


@dataclass(frozen=True)
class Kept:
    """An input of a timed call and the numbers of its output."""

    varied: Varied
    output: FloatArray


@dataclass
class Answers:
    """A sample of a loop's outputs; which calls it holds cannot be known beforehand."""

    kept: list[Kept] = field(default_factory=list)
    _seen: int = 0
    _random: random.Random = field(default_factory=random.SystemRandom)

    def offer(self, varied: Varied, result: Any, numbers: Callable[[Any], FloatArray]) -> None:
        """Keep the numbers of an output, or not."""
        place = self._seen if self._seen < KEPT else self._random.randrange(self._seen + 1)
        self._seen += 1
        if place < KEPT:
            # Copied: an adapter may write the next result into the same memory.
            self.kept[place : place + 1] = [Kept(varied.copy(), np.array(numbers(result), dtype=np.float64).ravel())]
