"""The places of the elements of vectors and fields: flat arrays, and indices with the values beyond the edges."""

from __future__ import annotations

from dataclasses import dataclass

from sciml_bench.spec.language.operators import MIRRORED, PERIODIC, Node
from sciml_bench.spec.language.shapes import Shape

AXES = ("i", "j")


@dataclass(frozen=True)
class FlatArray:
    """A quantity inside a flat Julia array: ``array[start + position]`` with positions from 1, in C order.

    ``axis`` belongs to a coordinate, which depends on only one index of a field.
    """

    array: str
    start: int
    shape: Shape
    axis: int | None = None

    def element(self, places: tuple[str, ...]) -> str:
        """The code of one element; ``places`` holds the code of each index, counted from 1."""
        if self.axis is not None:
            places = (places[self.axis],)
        position = places[0] if len(places) == 1 else f"at({', '.join(places)})"
        return f"{self.array}[{self.start} + {position}]" if self.start else f"{self.array}[{position}]"

    def fixed(self, indices: tuple[int, ...]) -> str:
        """The code of the element with these indices, counted from 0."""
        position = indices[0] if len(indices) == 1 else indices[0] * self.shape[1] + indices[1]
        return f"{self.array}[{self.start + position + 1}]"


@dataclass(frozen=True)
class Place:
    """One index of a loop, ``offset`` places further along its axis; ``edge`` says what lies beyond its ends."""

    axis: int
    size: int
    offset: int = 0
    edge: Node = PERIODIC

    @property
    def guarded(self) -> bool:
        """Return whether the elements beyond the ends are a value."""
        return bool(self.offset) and self.edge not in (PERIODIC, MIRRORED)

    @property
    def name(self) -> str:
        """The variable that holds this index."""
        return self._moved if self.guarded else self.label.removeprefix("_") or AXES[self.axis]

    @property
    def label(self) -> str:
        """The suffix of a variable that holds an element at this index; empty at the loop's own."""
        if not self.offset:
            return ""
        direction = "next" if self.offset > 0 else "last"
        steps = "" if abs(self.offset) == 1 else str(abs(self.offset))
        return f"_{AXES[self.axis]}_{direction}{steps}{'_mirrored' * (self.edge == MIRRORED)}"

    @property
    def code(self) -> str:
        """The value of the variable ``name``."""
        variable, n, k = AXES[self.axis], self.size, self.offset
        if self.edge == MIRRORED:
            return f"min({self._moved}, {n})" if k > 0 else f"max({self._moved}, 1)"
        if k == 1:
            return f"{variable} == {n} ? 1 : {variable} + 1"
        if k == -1:
            return f"{variable} == 1 ? {n} : {variable} - 1"
        return f"mod1({self._moved}, {n})"

    @property
    def _moved(self) -> str:
        return f"{AXES[self.axis]} {'+' if self.offset > 0 else '-'} {abs(self.offset)}"

    @property
    def inside(self) -> str:
        """The condition under which a guarded index lies inside the array."""
        variable, k = AXES[self.axis], self.offset
        return f"{variable} <= {self.size - k}" if k > 0 else f"{variable} > {-k}"
