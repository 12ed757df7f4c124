"""Randomised complete blocks: every block runs each cell once, the cells of one problem next to each other in time."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sciml_bench.planning.cells import Planned


@dataclass(frozen=True)
class Slot:
    """One place in the order of a run: the cell's index in the plan, its block, its position inside the block.

    ``attempt`` is 1 where the same place is taken once more because it was disturbed.
    """

    block: int
    order: int
    index: int
    attempt: int = 0


def blocks(planned: Sequence[Planned], processes: int, seed: int) -> Iterator[Slot]:
    """The order in which ``processes`` blocks run the planned cells."""
    problems: dict[str, list[int]] = {}
    for index, item in enumerate(planned):
        problems.setdefault(item.cell.problem, []).append(index)
    for block in range(processes):
        # A string seed is hashed with SHA-512 by the standard library: the same on every machine and version.
        generator = random.Random(f"order/{seed}/{block}")
        names = list(problems)
        generator.shuffle(names)
        order = 0
        for name in names:
            indices = list(problems[name])
            generator.shuffle(indices)
            for index in indices:
                yield Slot(block=block, order=order, index=index)
                order += 1


def input_seed(seed: int, problem: str, block: int) -> int:
    """The seed of the small input changes: the same for every cell of a problem inside a block."""
    return random.Random(f"inputs/{seed}/{problem}/{block}").getrandbits(32)
