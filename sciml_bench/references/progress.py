"""Progress of a computation, and its limit of processor time."""

from __future__ import annotations

import time
from collections.abc import Callable

from sciml_bench.references.failures import LimitReached

#: The engine factorises many small matrices, and more than one thread makes each of them slower. The libraries read
#: these variables when they are loaded, so they must be set before NumPy and SciPy are imported.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


Say = Callable[[str], object]


class Watch:
    """Says how far a computation is, and ends it at its limit.

    The limit is one of this process's own processor time, so that it does not depend on what else the machine does.
    """

    def __init__(self, say: Say, limit_s: float):
        self.say, self.limit_s = say, limit_s
        self._started_s, self._spoken_s = time.process_time(), time.monotonic()

    def during(self, what: str) -> Callable[..., None]:
        """A progress callback that speaks every two seconds and enforces the limit.

        Raises, when it is called: LimitReached.
        """

        def progress(at: float, steps: int = 0) -> None:
            if time.process_time() - self._started_s > self.limit_s:
                limit = f"its limit of {self.limit_s:.4g} s of processor time"
                raise LimitReached(f"the reference was given up at {limit} ({what} = {at:.6g})")
            now_s = time.monotonic()
            if now_s - self._spoken_s > 2.0:
                self._spoken_s = now_s
                self.say(f"{what} = {at:.6g}" + (f", {steps} steps" if steps else ""))

        return progress
