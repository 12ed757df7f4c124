"""Duration of the calls before the measured ones: until they have settled, inside a box of time for the process."""

from __future__ import annotations

import math
from collections.abc import Callable

from sciml_bench.measure.sampling import Loop
from sciml_bench.measure.steady import FEWEST_SAMPLES, settled
from sciml_bench.record.task import Sampling

# The calls are looked at again when there are this many times as many: looking takes longer than a short call.
_LOOK_AGAIN = 1.25


class WarmUp:
    """Shares out a process's box of warm-up time among its loops.

    Compiled code and caches belong to the process, so the box does too: each loop may take an equal share of the rest,
    and later loops get the time that earlier ones did not need.
    """

    def __init__(self, sampling: Sampling, loops: int):
        self._sampling = sampling
        self._left_s = sampling.warm_up_s
        self._loops = loops

    def spend(self, seconds: float) -> None:
        """A loop is over, or will not be; ``seconds`` is how long it took."""
        self._left_s = max(0.0, self._left_s - seconds)
        self._loops -= 1

    def rule(self, loop: Loop) -> Callable[[int, float], bool]:
        """Return a rule that ends a loop after a number of calls and seconds.

        The fixed number of calls is made whatever the time; after it the loop ends when its calls have settled, when
        one more would pass its share of the box, or when there are as many as a measured loop may have.
        """
        share_s = self._left_s / max(self._loops, 1)
        look_at = FEWEST_SAMPLES

        def finished(calls: int, seconds: float) -> bool:
            nonlocal look_at
            if calls < self._sampling.warm_up_calls:
                return False
            full = share_s <= 0 or seconds + seconds / max(calls, 1) > share_s
            if full or calls >= self._sampling.max_steady_calls:
                return True
            if calls < look_at:
                return False
            look_at = math.ceil(_LOOK_AGAIN * calls)
            return settled(loop.ns)

        return finished
