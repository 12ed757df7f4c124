"""Reference files: ``NAME.reference.json`` next to the problem's file, decimal strings with a certificate.

A file belongs to one specification (by hash) and carries a checksum of its content; a stale or edited file is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shlex
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import flint
import numpy as np

from sciml_bench import __version__
from sciml_bench.errors import StoreError
from sciml_bench.record.codec import parse
from sciml_bench.references.engine.numbers import decimal
from sciml_bench.spec import catalog
from sciml_bench.spec.model import Problem

if TYPE_CHECKING:
    from sciml_bench.references.certificate import Certified


SCHEMA = 1
_GUARD_DIGITS = 2
_MOST_DIGITS = 32
_CHECKSUM = "content_sha256"
_DECLARED = "declared"


@dataclass(frozen=True)
class StoredReference:
    """A reference as it is kept.

    ``solution`` (saved times × states) and ``gradient`` (theta) are decimal strings; ``"0"`` means a magnitude below
    ``negligible`` of that component, or its ``gradient_negligible`` (unless the list is empty). ``solution_digits``
    per component hold at every saved time.
    """

    schema: int
    problem: str
    spec_hash: str
    kind: str
    command: str
    versions: dict[str, str]
    times: list[str]
    states: list[str]
    solution: list[list[str]]
    solution_digits: list[float]
    negligible: list[float]
    loss: str
    loss_digits: float
    wrt: str
    theta: list[str]
    gradient: list[str]
    gradient_digits: list[float]
    gradient_negligible: list[float] = field(default_factory=list)
    certificate: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def proved_digits(self) -> float:
        """The digits of the whole solution: of two runs of the engine or of the second method, whichever is fewer."""
        second = self.certificate.get("second_method", {})
        return min(*self.solution_digits, second.get("digits", math.inf))

    def to_json(self) -> str:
        """The text of the file: one line for each saved time, and a checksum of everything else."""
        content = asdict(self)
        content[_CHECKSUM] = _checksum(content)
        lines = [f"  {json.dumps(key)}: {_value(value)}" for key, value in content.items()]
        return "{\n" + ",\n".join(lines) + "\n}\n"


def stored_reference(problem: Problem, certified: Certified) -> StoredReference:
    """A certified computation in the form in which it is kept: certified digits and two more."""
    rows = [
        [decimal(value, _printed(digits)) for value, digits in zip(row, row_digits, strict=True)]
        for row, row_digits in zip(certified.rows, certified.row_digits, strict=True)
    ]
    return StoredReference(
        schema=SCHEMA, problem=problem.name, spec_hash=problem.spec_hash, kind="certified",
        command=_command(problem, Path(problem.path).name),
        versions={"sciml-bench": __version__, "python-flint": flint.__version__, "flint": flint.__FLINT_VERSION__},
        times=[str(time) for time in problem.save_times], states=list(problem.batch_labels), solution=rows,
        solution_digits=[_claimed(value) for value in certified.row_digits.min(axis=0)],
        negligible=[float(f"{value:.1e}") for value in certified.negligible],
        loss=decimal(certified.loss, _printed(certified.loss_digits)), loss_digits=_claimed(certified.loss_digits),
        wrt=problem.wrt, theta=list(problem.theta_labels),
        gradient=[
            decimal(value, _printed(digits))
            for value, digits in zip(certified.gradient, certified.gradient_digits, strict=True)
        ],
        gradient_digits=[_claimed(value) for value in certified.gradient_digits],
        gradient_negligible=[float(f"{value:.1e}") for value in certified.gradient_negligible]
        if np.any(certified.gradient_negligible)
        else [],
        certificate={**certified.evidence, _DECLARED: problem.declared_hash}, seconds=certified.seconds,
    )  # fmt: skip


def _command(problem: Problem, file: str) -> str:
    """The command that computes the reference of a problem: by its name in the catalog, or by its file."""
    is_in_catalog = Path(problem.path) == catalog.paths().get(problem.name)
    return shlex.join(["sciml-bench", "reference", "compute", problem.name if is_in_catalog else file])


def _printed(digits: float) -> int:
    return math.ceil(min(digits, _MOST_DIGITS - _GUARD_DIGITS)) + _GUARD_DIGITS


def _claimed(digits: float) -> float:
    """Digits in whole tenths, rounded down."""
    return int(min(float(digits), _MOST_DIGITS) * 10) / 10


def reference_path(problem: Problem) -> Path:
    """Path of a problem's reference, next to its file."""
    path = Path(problem.path)
    return path.with_name(f"{path.stem}.reference.json")


def cache_path(problem: Problem) -> Path:
    """Path of a reference if the folder of the problem's file is read-only."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "sciml-bench" / "references" / f"{problem.name}-{problem.spec_hash[:12]}.reference.json"


def find(problem: Problem) -> StoredReference | None:
    """The stored reference of a problem, next to its file or in the cache; ``None`` if there is none.

    Raises:
        StoreError: there is one, but it is stale, changed or unreadable.
    """
    for path in (reference_path(problem), cache_path(problem)):
        if path.is_file():
            return read(path, problem)
    return None


def read(path: Path, problem: Problem) -> StoredReference:
    """Read a reference file and hold it against its problem and its own checksum.

    Raises:
        StoreError: the file is unreadable, was changed after it was written, or belongs to another specification.
    """
    again = f"Write it again with `{_command(problem, problem.path)}`."
    try:
        content = parse(path.read_text(encoding="utf-8"))
        checksum = content.pop(_CHECKSUM)
        schema = content["schema"]
        reference = StoredReference(**content) if schema == SCHEMA else None
        shape = None if reference is None else (reference.states, len(reference.solution))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{path}: not a readable reference ({type(error).__name__}: {error}). {again}") from error
    if reference is None:
        raise StoreError(f"{path}: its schema is {schema}, this version reads {SCHEMA}. {again}")
    if checksum != _checksum(content):
        raise StoreError(f"{path}: its content does not fit its checksum: it was changed after it was written. {again}")
    if reference.spec_hash != problem.spec_hash:
        raise StoreError(
            f"{path}: it is stale: it belongs to another version of '{problem.name}'"
            f" (spec {reference.spec_hash[:12]}, the file has {problem.spec_hash[:12]}). {again}"
        )
    if reference.certificate.get(_DECLARED, problem.declared_hash) != problem.declared_hash:
        raise StoreError(f"{path}: it is stale: its [invariants] or [exact] were others. {again}")
    if shape != (list(problem.batch_labels), len(problem.save_times)):
        raise StoreError(f"{path}: its shape does not fit '{problem.name}'. {again}")
    return reference


def write(reference: StoredReference, path: Path) -> Path:
    """Write a reference file in one piece.

    Raises:
        StoreError: the folder cannot be written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".partial")
        temporary.write_text(reference.to_json(), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror}); name another file with --output") from error
    return path


def keep(reference: StoredReference, problem: Problem) -> Path:
    """Write a reference next to its problem or, if that folder is read-only, in the cache."""
    try:
        return write(reference, reference_path(problem))
    except StoreError:
        return write(reference, cache_path(problem))


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[\n" + ",\n".join(f"    {json.dumps(row)}" for row in value) + "\n  ]"
    return json.dumps(value, ensure_ascii=False)
