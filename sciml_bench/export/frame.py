"""A table as columns: NumPy arrays by name, and a frame of pandas or Polars where these are installed."""

from __future__ import annotations

import html
import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sciml_bench.errors import UsageError
from sciml_bench.export.column import Column, Kind, Row, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SHOWN_ROWS = 50
"""The number of rows that a notebook shows."""


class Frame:
    """Rows of named columns.

    ``frame["gradient_s"]`` is a NumPy array with an entry for each row: floats with NaN for missing numbers, text and
    whole numbers as objects with ``None``, truths as objects too if some are missing.
    """

    def __init__(self, columns: Sequence[Column], rows: Iterable[Row]):
        self._columns = {column.name: column for column in columns}
        self._rows = tuple(rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; units end a name (``_s``, ``_bytes``)."""
        return tuple(self._columns)

    @property
    def meanings(self) -> Mapping[str, str]:
        """The meaning of each column."""
        return {name: column.meaning for name, column in self._columns.items()}

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Value]]:
        """The rows, as dictionaries."""
        return (dict(zip(self._columns, row, strict=True)) for row in self._rows)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A column as an array.

        Raises:
            UsageError: the name is unknown.
        """
        import numpy as np

        if name not in self._columns:
            raise UsageError(f"unknown column '{name}'; there are {', '.join(self._columns)}")
        place = list(self._columns).index(name)
        values = [row[place] for row in self._rows]
        if self._columns[name].kind is Kind.NUMBER:
            return np.array([np.nan if value is None else value for value in values], dtype=float)
        kinds = {type(value) for value in values}
        whole = {Kind.INTEGER: ({int}, int), Kind.TRUTH: ({bool}, bool)}.get(self._columns[name].kind)
        return np.array(values, dtype=whole[1] if whole and kinds == whole[0] else object)

    def where(self, **values: Value) -> Frame:
        """The rows that have these values: ``frame.where(problem="robertson", adapter="diffrax")``.

        Raises:
            UsageError: there is no such column.
        """
        keep = [True] * len(self)
        for name, value in values.items():
            keep = [kept and bool(found == value) for kept, found in zip(keep, self[name], strict=True)]
        return Frame(tuple(self._columns.values()), (row for row, kept in zip(self._rows, keep, strict=True) if kept))

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``. :class:`UsageError` where pandas is not installed."""
        pandas = _library("pandas")
        return pandas.DataFrame({name: self[name] for name in self._columns})

    def to_polars(self) -> Any:
        """A ``polars.DataFrame``. :class:`UsageError` where Polars is not installed."""
        polars = _library("polars")
        types = {
            Kind.TEXT: polars.String, Kind.INTEGER: polars.Int64, Kind.NUMBER: polars.Float64,
            Kind.TRUTH: polars.Boolean,
        }  # fmt: skip
        schema = {name: types[column.kind] for name, column in self._columns.items()}
        return polars.DataFrame(list(self._rows), schema=schema, orient="row")

    def __repr__(self) -> str:
        return f"Frame of {len(self)} rows: {', '.join(self._columns)}"

    def _repr_html_(self) -> str:
        """A table for notebooks; of a long one its first rows."""
        heads = "".join(
            f'<th title="{html.escape(column.meaning)}">{html.escape(name)}</th>'
            for name, column in self._columns.items()
        )
        body = "".join(
            f"<tr>{''.join(f'<td>{html.escape(_text(value))}</td>' for value in row)}</tr>"
            for row in self._rows[:_SHOWN_ROWS]
        )
        more = len(self) - _SHOWN_ROWS
        rest = f"<p>and {more} more rows</p>" if more > 0 else ""
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _text(value: Value) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UsageError(f"{name} is not installed: `pip install {name}`, or use the arrays of the frame") from None
