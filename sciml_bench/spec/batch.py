"""Batches: many trajectories of one equation, which differ in their initial states only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sciml_bench.spec.quantities import State


MAX_BATCH = 1_000_000


@dataclass(frozen=True)
class Batch:
    """``size`` trajectories: the first starts in the problem's initial state, each other in one drawn around it.

    Component i of a drawn state is normal with mean ``y0[i]`` and deviation ``spread`` times the scale of i. If
    ``drawn`` names states, the others all start at the same value. A larger batch of the same seed begins with the
    trajectories of a smaller one. If the problem has data of each trajectory, nothing is drawn and ``spread`` is 0.
    """

    size: int
    spread: float = 0.0
    seed: int = 0
    drawn: tuple[str, ...] = ()

    def initial_states(self, y0: tuple[float, ...], states: tuple[State, ...]) -> tuple[float, ...]:
        """All initial states, flat, trajectory by trajectory."""
        if self.size == 1 or self.spread == 0:
            return y0 * self.size
        import numpy as np

        from sciml_bench.spec.initial_weights import rounded

        chosen = [state.name in self.drawn or not self.drawn for state in states]
        scale = np.array([value * yes for state, yes in zip(states, chosen, strict=True) for value in state.scale])
        draws = np.random.RandomState(self.seed).standard_normal((self.size - 1, len(y0)))
        drawn = rounded(np.array(y0) + self.spread * scale * draws)
        return (*y0, *np.where(scale > 0, drawn, y0).ravel().tolist())


#: A problem of one trajectory, as most are.
ONE = Batch(1)
