"""The sparsity of a Jacobian, and the order of the states in which it is a narrow band."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, eye_array, issparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from sciml_bench.adapters.program import Vector
from sciml_bench.record.task import Numbers

Indices = NDArray[np.intp]
Parameters = list[float] | Vector


class Structure(NamedTuple):
    """The entries of a Jacobian of n states: their ``rows`` and ``columns``; whether it is emitted as a sparse one."""

    n: int
    rows: Indices
    columns: Indices
    is_sparse: bool = False


class Band(NamedTuple):
    """A Jacobian as a band: state ``order[k]`` comes k-th, and state i in the place ``place[i]``; ``width`` is how many
    diagonals below and above the main one are used."""

    order: Indices
    place: Indices
    width: int


def structure(
    source: ModuleType, numbers: Numbers, of: Callable[[Vector], Parameters] = np.ndarray.tolist
) -> Structure:
    """The structure of the emitted Jacobian: declared by the module, or found by evaluating it; ``of`` makes its
    parameters.
    """
    n = len(numbers.y0)
    if hasattr(source, "ENTRIES"):
        # In the module's order, which its second derivatives follow.
        rows, columns = np.array(source.ENTRIES, dtype=np.intp).reshape(-1, 2).T
        return Structure(n, rows, columns)
    times = (numbers.t0, *numbers.breakpoints, numbers.t1)
    found = places_of_entries(source.jacobian, times, np.asarray(numbers.y0), np.asarray(numbers.p), of)
    places = np.unique(np.concatenate(list(found)))
    is_sparse = issparse(source.jacobian(numbers.t0, np.asarray(numbers.y0), of(np.asarray(numbers.p))))
    return Structure(n, places % n, places // n, is_sparse)


def narrowest(shape: Structure) -> Band:
    """The band, in the reversed order of Cuthill and McKee if that is narrower than the order of the states.

    Two fields on a line lie one after the other, which is half of a full matrix; point by point they are next to each
    other, and so are both ends of a ring when it is walked from both sides at once.
    """
    own = np.arange(shape.n)
    pattern = csc_matrix((np.ones(len(shape.rows)), (shape.rows, shape.columns)), shape=(shape.n, shape.n))
    found = reverse_cuthill_mckee((pattern + pattern.T).tocsr(), symmetric_mode=True).astype(np.intp)
    bands = [Band(order, place, _width(shape, place)) for order in (own, found) for place in (np.argsort(order),)]
    return min(bands, key=lambda candidate: candidate.width)


def own_band(shape: Structure) -> Band:
    """The band in the order that states have, which costs nothing to put them into."""
    own = np.arange(shape.n)
    return Band(own, own, _width(shape, own))


def _width(shape: Structure, place: Indices) -> int:
    return int(np.max(np.abs(place[shape.rows] - place[shape.columns]), initial=0))


def places_of_entries(
    jacobian: Callable[..., Any], times: Sequence[float], y: Vector, p: Vector, of: Callable[[Vector], Parameters]
) -> Iterator[Indices]:
    """Places (column * n + row) of entries that are not zero at these times.

    A sparse Jacobian stores its possible non-zeros. A dense one is evaluated in the initial state and at random states
    and parameters of its size, in which an entry that depends on them does not vanish by chance. An entry that lives
    only in an untaken branch of a ``where`` is missed, and slows Newton's iteration down there.
    """
    random = np.random.default_rng(0)
    n = len(y)
    size_of_p = np.where(p == 0, 1.0, p)
    probes = [(y, p)]
    for _ in range(3):
        state = y * random.uniform(0.5, 2.0, n) + random.uniform(0.0, 1.0, n)
        probes.append((state, size_of_p * random.uniform(0.9, 1.1, len(p))))
    with np.errstate(all="ignore"):
        for t in times:
            for state, parameters in probes:
                matrix = jacobian(t, state, of(parameters))
                if issparse(matrix):
                    rows, columns = matrix.tocoo().coords
                else:
                    rows, columns = np.nonzero(np.asarray(matrix))
                yield columns * n + rows


def groups(shape: Structure) -> tuple[Indices, int]:
    """A group for each column, greedily, so that columns of one group share no row; and the number of groups."""
    group = np.zeros(shape.n, dtype=np.intp)
    taken: list[NDArray[np.bool_]] = []
    for column in range(shape.n):
        used = shape.rows[shape.columns == column]
        free = (index for index, others in enumerate(taken) if not np.any(others[used]))
        index = next(free, len(taken))
        if index == len(taken):
            taken.append(np.zeros(shape.n, dtype=bool))
        taken[index][used] = True
        group[column] = index
    return group, len(taken)


def entries_of_factors(shape: Structure) -> int:
    """Return how many entries the sparse triangular factors of one block have."""
    random = np.random.default_rng(0)
    pattern = csc_matrix((random.uniform(size=len(shape.rows)), (shape.rows, shape.columns)), shape=(shape.n, shape.n))
    return int(splu(csc_matrix(shape.n * eye_array(shape.n) - pattern)).nnz)
