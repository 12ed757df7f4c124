"""Times of a self-test, drawn."""

from __future__ import annotations

import random
from collections.abc import Mapping

from sciml_bench.analysis.selftest.blocks import AGAIN, ROLES, SLOW_DOWNS


def drawn(
    spread: float = 0.02,
    blocks: int = 60,
    seed: int = 1,
    drift: float = 0.0,
    slow: Mapping[str, float] | None = None,
    ratio_drift: float = 0.0,
) -> dict[str, dict[int, float | None]]:
    """Times of all roles: a common drift, and the spread of each process.

    The second of the two equal roles becomes slower during the test by a share of ``ratio_drift``.
    """
    generator = random.Random(seed)
    by = {**dict.fromkeys(ROLES, 0.0), **SLOW_DOWNS, **(slow or {})}

    def seconds(role: str, block: int) -> float:
        at = block / blocks
        own = 1 + ratio_drift * at * (role == AGAIN)
        return 1e-3 * (1 + by[role]) * (1 + drift * at) * own * generator.lognormvariate(0.0, spread)

    return {role: {block: seconds(role, block) for block in range(blocks)} for role in ROLES}
