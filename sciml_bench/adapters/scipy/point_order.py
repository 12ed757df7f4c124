"""The order in which the points of a compiled module's fields are stored, so that neighbours are near each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee

from sciml_bench.adapters.scipy.structure import Structure, own_band

IndexArray = NDArray[np.int64]


class Arrangement(NamedTuple):
    """State ``order[k]`` of the problem is stored k-th, the values of a point next to each other.

    ``points`` is what the module's functions take, ``shape`` the structure of the Jacobian in that order, each entry
    once, and ``entry[q]`` the entry that number q of the module's Jacobian is added to.
    """

    order: IndexArray
    points: IndexArray
    shape: Structure
    entry: IndexArray

    def order_of(self, blocks: int) -> IndexArray:
        """The order of the state with its sensitivities."""
        return (len(self.order) * np.arange(blocks)[:, None] + self.order).ravel()


def arrangement(at: IndexArray, coupled: IndexArray, species: int) -> Arrangement:
    """Points in the order of the narrowest band: their own, from both ends at once, which folds a ring flat, or the
    reversed order of Cuthill and McKee, which walks along the longer side of a rectangle.

    ``at`` and ``coupled`` are the tables of the module, for ``species`` fields.
    """
    own = np.arange(at.shape[1])
    graph = csr_matrix((np.ones(at.size), (np.tile(own, len(at)), at.ravel())), shape=(len(own), len(own)))
    found = reverse_cuthill_mckee((graph + graph.T).tocsr(), symmetric_mode=True)
    folded = np.minimum(own, own[::-1]) * 2 + (own > own[::-1])
    candidates = [in_order(at, coupled, species, order.astype(np.int64)) for order in (own, np.argsort(folded), found)]
    return min(candidates, key=lambda candidate: own_band(candidate.shape).width)


def in_order(at: IndexArray, coupled: IndexArray, species: int, order: IndexArray) -> Arrangement:
    """Points in this order."""
    n_points = len(order)
    n = species * n_points
    place = np.argsort(order)
    # (points, places): where the values of the point there begin.
    begin = species * place[at[:, order]].T
    points = np.ascontiguousarray(np.hstack([order[:, None], begin[:, 1:]]), dtype=np.int64)
    to, by, where = coupled.T
    rows = (species * np.arange(n_points)[:, None] + to).ravel()
    columns = (begin[:, where] + by).ravel()
    entries, entry = np.unique(columns * n + rows, return_inverse=True)
    states = (order[:, None] + n_points * np.arange(species)).ravel()
    return Arrangement(states, points, Structure(n, entries % n, entries // n), entry)
