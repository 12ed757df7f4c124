"""Seeded Brownian motions as paths between fixed times: what drives a neural stochastic differential equation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sciml_bench.spec.given import Given
from sciml_bench.spec.keys import Table, Whole, seed_key
from sciml_bench.spec.reader import Reader

CHANNELS, STEPS, SEED = Whole("channels", 1, 1000, required=True), Whole("steps", 2, 10_000, required=True), seed_key()

BROWNIAN = Table(CHANNELS, STEPS, SEED)

MAX_NUMBERS = 10_000_000
"""Most numbers that all paths of a batch may have together."""


@dataclass(frozen=True)
class Brownian:
    """Independent standard Brownian motions, one for each channel, from 0 over ``span`` in equal steps.

    The trajectories' increments are drawn one after the other, so that a larger batch begins with the paths of a
    smaller one. Within a trajectory they are drawn step by step. Values are rounded to single precision, as weights
    are, which makes them the same numbers on every machine.
    """

    channels: int
    steps: int
    seed: int
    span: float

    def rows(self, size: int) -> tuple[tuple[float, ...], ...]:
        """The values of ``size`` trajectories, each flat: steps + 1 times of the channels."""
        # NumPy is only loaded for problems that need it: listings must start fast.
        import numpy as np

        from sciml_bench.spec.initial_weights import rounded

        draws = np.random.RandomState(self.seed).standard_normal((size, self.steps, self.channels))
        paths = np.zeros((size, self.steps + 1, self.channels))
        np.cumsum(draws * np.sqrt(self.span / self.steps), axis=1, out=paths[:, 1:])
        return tuple(map(tuple, rounded(paths).reshape(size, -1).tolist()))


def load_brownian(reader: Reader, data: dict[str, Any], table: str, span: float) -> Brownian:
    """The motion that ``brownian`` declares; a stated hash belongs to the first trajectory's path."""
    document, given = reader.document, data["brownian"]
    for key in ("data", "times", "interpolation"):
        if key in data:
            cure = f"Remove '{key}': the motion is drawn at equal steps from t0 to t1 and joined by straight lines."
            raise document.error(f"a Brownian motion has no '{key}'.", table, key, cure)
    if not isinstance(given, dict):
        cure = "As in { channels = 2, steps = 64, seed = 3 }."
        raise document.error("'brownian' must be a table.", table, "brownian", cure)
    BROWNIAN.check(document, given, table)
    motion = Brownian(
        CHANNELS.read(document, given, table),
        STEPS.read(document, given, table),
        SEED.read(document, given, table),
        span,
    )
    _check_hash(reader, motion, document.string(data, "sha256", table, ""), table)
    return motion


def _check_hash(reader: Reader, motion: Brownian, stated: str, table: str) -> None:
    if not stated:
        return
    from sciml_bench.spec.initial_weights import hash_of

    found = hash_of(motion.rows(1)[0])
    if stated != found:
        cure = "If the steps, the channels, the span or the seed were changed on purpose, put in the new hash."
        message = f"the first path of '{table.partition('.')[2]}' has the hash {found}, not the one stated."
        raise reader.document.error(message, table, "sha256", cure)


def drawn(reader: Reader, motions: dict[str, Brownian], size: int) -> tuple[Given, ...]:
    """The paths of a batch as data of its trajectories, under the names that are given."""
    for motion in motions.values():
        if size * motion.steps * motion.channels > MAX_NUMBERS:
            message = f"the paths of {size} trajectories have more than {MAX_NUMBERS} numbers together."
            raise reader.document.error(message, "batch", "size", f"Take fewer, or fewer steps than {motion.steps}.")
    return tuple(
        Given(name, (motion.steps + 1, motion.channels), motion.rows(size)) for name, motion in motions.items()
    )
