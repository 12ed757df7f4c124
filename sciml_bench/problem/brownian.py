"""Seeded Brownian motions as paths between fixed times: what drives a neural stochastic differential equation.

A path is its values at equal steps, joined by straight lines. E. Wong and M. Zakai, On the convergence of ordinary
integrals to stochastic integrals, Annals of Mathematical Statistics 36 (1965) 1560-1564: along such a path the
equation is an ordinary one, and as the steps get finer its solution goes to that of the Stratonovich equation. So
every solver can be held, path by path, against one certified solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sciml_bench.problem.given import Given
from sciml_bench.problem.reader import Reader

BROWNIAN_KEYS = ("channels", "steps", "seed")
MAX_CHANNELS = 1000
MAX_STEPS = 10_000
MAX_NUMBERS = 10_000_000
"""Most numbers that all paths of a batch may have together."""

_LARGEST_SEED = 2**32 - 1


@dataclass(frozen=True)
class Brownian:
    """Independent standard Brownian motions, one for each channel, from 0 over ``span`` in equal steps.

    The increments of one trajectory are drawn after those of another, so that a larger batch begins with the paths of a
    smaller one. Within a trajectory they are drawn step by step. Values are rounded to single precision, as weights
    are, which makes them the same numbers on every machine.
    """

    channels: int
    steps: int
    seed: int
    span: float

    def rows(self, size: int) -> tuple[tuple[float, ...], ...]:
        """The values of so many trajectories, each flat: steps + 1 times of the channels."""
        # NumPy is only loaded for problems that need it: listings must start fast.
        import numpy as np

        from sciml_bench.problem.weights import rounded

        draws = np.random.RandomState(self.seed).standard_normal((size, self.steps, self.channels))
        paths = np.zeros((size, self.steps + 1, self.channels))
        np.cumsum(draws * np.sqrt(self.span / self.steps), axis=1, out=paths[:, 1:])
        return tuple(map(tuple, rounded(paths).reshape(size, -1).tolist()))


def load_brownian(reader: Reader, data: dict[str, Any], table: str, span: float) -> Brownian:
    """The motion that ``brownian`` declares; a stated hash is that of the first trajectory's path."""
    document, given = reader.document, data["brownian"]
    for key in ("data", "times", "interpolation"):
        if key in data:
            cure = f"Remove '{key}': the motion is drawn at equal steps from t0 to t1 and joined by straight lines."
            raise document.error(f"a Brownian motion has no '{key}'.", table, key, cure)
    if not isinstance(given, dict):
        cure = "As in { channels = 2, steps = 64, seed = 3 }."
        raise document.error("'brownian' must be a table.", table, "brownian", cure)
    document.known_keys(given, BROWNIAN_KEYS, table)
    motion = Brownian(
        document.integer(given, "channels", table, 1, MAX_CHANNELS),
        document.integer(given, "steps", table, 2, MAX_STEPS),
        document.integer({"seed": 0, **given}, "seed", table, 0, _LARGEST_SEED),
        span,
    )
    _check_hash(reader, motion, document.string(data, "sha256", table, ""), table)
    return motion


def _check_hash(reader: Reader, motion: Brownian, stated: str, table: str) -> None:
    if not stated:
        return
    from sciml_bench.problem.weights import hash_of

    found = hash_of(motion.rows(1)[0])
    if stated != found:
        cure = "Where the steps, the channels, the span or the seed were changed on purpose, put in the new hash."
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
