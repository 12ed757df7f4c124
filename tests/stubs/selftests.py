"""Times of a self-test, drawn."""

from __future__ import annotations

import random
from collections.abc import Mapping

from sciml_bench.report.selftest.figures import ROLES, SLOW_DOWNS


def drawn(
    spread: float = 0.02,
    blocks: int = 60,
    seed: int = 1,
    drift: float = 0.0,
    slow: Mapping[str, float] | None = None,
) -> dict[str, dict[int, float | None]]:
    """Times of all roles: a common drift, and the spread of each process."""
    generator = random.Random(seed)
    by = {**dict.fromkeys(ROLES, 0.0), **SLOW_DOWNS, **(slow or {})}
    return {
        role: {
            block: 1e-3 * (1 + by[role]) * (1 + drift * block / blocks) * generator.lognormvariate(0.0, spread)
            for block in range(blocks)
        }
        for role in ROLES
    }
