"""A long file of lines, read by several processes at once: reading is most of what a large report takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from sciml_bench.analysis.process_pool import process_pool
from sciml_bench.record.jsonl import LONGEST_LINE_BYTES, bounded_lines, numbered_lines, store_error

Item = TypeVar("Item")

LONG_BYTES = 2**24
"""Shorter files are read sooner than a process is started."""

_PIECE_BYTES = 2**22


@dataclass(frozen=True)
class Piece:
    """Some whole lines of a file: first byte, number of bytes, and number of the first line."""

    start: int
    size: int
    first_line: int


def read(path: Path, of_line: Callable[[int, bytes], Item], processes: int = 1) -> Iterator[Item]:
    """The result of a function for every numbered line of a file, in order; long files are read in several processes.
    The function, and its results, must then be picklable.

    Raises:
        StoreError: the file is there, but cannot be read.
    """
    if processes < 2 or not path.is_file() or path.stat().st_size < LONG_BYTES:
        yield from (of_line(number, line) for number, line in numbered_lines(path))
        return
    with process_pool(processes) as pool:
        for found in pool.map(partial(_of_piece, path, of_line), tuple(pieces(path))):
            yield from found


def pieces(path: Path, size: int = _PIECE_BYTES) -> Iterator[Piece]:
    """A file in pieces of whole lines, each of about ``size`` bytes or one longer line."""
    start, line = 0, 1
    try:
        with path.open("rb") as file:
            while block := file.read(size):
                lines, rest = block.count(b"\n"), b""
                while not rest.endswith(b"\n") and (rest := file.readline(LONGEST_LINE_BYTES)):
                    lines += rest.endswith(b"\n")
                end = file.tell()
                yield Piece(start, end - start, line)
                start, line = end, line + lines
    except OSError as error:
        raise store_error("read", path, error) from error


def _of_piece(path: Path, of_line: Callable[[int, bytes], Item], piece: Piece) -> list[Item]:
    return [of_line(number, line) for number, line in _lines(path, piece)]


def _lines(path: Path, piece: Piece) -> Iterable[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            file.seek(piece.start)
            yield from enumerate(bounded_lines(file, piece.start + piece.size), start=piece.first_line)
    except OSError as error:
        raise store_error("read", path, error) from error
