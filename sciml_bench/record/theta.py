"""The differentiated quantities: names of the components, their sizes, and which are weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """The kernel or the bias of one layer: the components from ``start`` up to, but not including, ``stop``."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True)
class Theta:
    """The components of theta, in order, as gradients are scored by.

    ``labels`` name them. ``sizes`` are their units: for a parameter or an initial value its magnitude, or its declared
    scale if it is zero; for a network's weight the root mean square of all weights of the network. ``blocks`` are the
    weights of networks, layer by layer; components in no block are parameters or initial values.
    """

    labels: tuple[str, ...]
    sizes: tuple[float, ...]
    blocks: tuple[Block, ...] = ()

    @classmethod
    def unnamed(cls, values: Sequence[float]) -> Theta:
        """Components with known values only: their magnitudes are their sizes, and 1 replaces zeros."""
        return cls(tuple(f"theta[{i}]" for i in range(len(values))), tuple(abs(value) or 1.0 for value in values))
