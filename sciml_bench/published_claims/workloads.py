"""The problem files of claims: the catalog's, with what the claim sets to other values."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sciml_bench.errors import ProblemError, ProblemWarning
from sciml_bench.models.load_declared import load_declared
from sciml_bench.published_claims.claim import Claim, Workload
from sciml_bench.spec import catalog
from sciml_bench.spec.document import Document

if TYPE_CHECKING:
    from sciml_bench.models.model import Model
    from sciml_bench.spec.model import Problem


SETTINGS = ("published", "fair")

_LONGEST_NAME = 61

_OF_THE_BASE = ("training", "published", "published_gradient")


@dataclass(frozen=True)
class Written:
    """The problem of one setting of a claim, as it lies in a folder."""

    claim: Claim
    setting: str
    path: Path
    problem: Problem | Model


def write_workloads(claims: Sequence[Claim], folder: Path) -> tuple[Written, ...]:
    """Write the problems of the settings that claims have, and load them.

    Settings that differ only in their sides share a problem, so that a side of both is measured once. Several claims
    share one. A problem that is the base under another name brings the base's certified reference.

    Raises:
        ProblemError: what a claim sets makes no problem; the error names the line of the claim.
        ValueError: several claims are about different problems.
    """
    folder.mkdir(parents=True, exist_ok=True)
    settings = [(claim, name) for claim in claims for name in SETTINGS if getattr(claim, name) is not None]
    workloads = [getattr(claim, name).workload for claim, name in settings]
    shared = len(workloads) > 1 and same_workload(workloads)
    if len(claims) > 1 and not shared:
        raise ValueError(f"{', '.join(claim.id for claim in claims)} are about different problems")
    return tuple(
        _written(claim, name, workload, folder, _Naming(tuple(item.id for item in claims), "" if shared else name))
        for (claim, name), workload in zip(settings, workloads, strict=True)
    )


def same_workload(workloads: Sequence[Workload]) -> bool:
    """Return whether these are the same problem with the same values."""
    one, *others = workloads
    return all((it.problem, it.changes) == (one.problem, one.changes) for it in others)


@dataclass(frozen=True)
class _Naming:
    """The name of a problem gives the claims that share it, and its setting unless all settings share it."""

    ids: tuple[str, ...]
    setting: str

    def name(self, problem: str) -> str:
        one, *others = self.ids
        parts = [one.lower(), f"and-{len(others)}-more" if others else "", self.setting]
        suffix = "".join(f"-{part}" for part in parts if part)
        return f"{problem[: _LONGEST_NAME - len(suffix)].rstrip('-')}{suffix}"

    @property
    def title(self) -> str:
        return f"claim{'s' * (len(self.ids) > 1)} {', '.join(self.ids)}{_TOLD[self.setting]}"


def _written(claim: Claim, setting: str, workload: Workload, folder: Path, naming: _Naming) -> Written:
    base = catalog.path(workload.problem)
    path = folder / f"{naming.name(workload.problem)}.toml"
    try:
        path.write_text(_text(naming, workload, base), encoding="utf-8")
        for data in _data_beside(base):
            (folder / data.name).write_bytes(data.read_bytes())
        with warnings.catch_warnings():
            # A value that no equation reads changes nothing: it is a typing error.
            warnings.simplefilter("error", ProblemWarning)
            problem = load_declared(path)
    except (ProblemError, ProblemWarning) as raised:
        error = raised.error if isinstance(raised, ProblemWarning) else raised
        # The file goes with its folder: the user knows the claim.
        line = Document.read(claim.path).line(setting, "set")
        message = f"the problem of [{setting}] cannot be made from {workload.problem}: {error.message}"
        raise ProblemError(message, where=claim.path, line=line, cure=error.cure) from None
    reference = base.with_name(f"{base.stem}.reference.json")
    if reference.is_file() and _same_truth(problem, load_declared(base)):
        (folder / f"{path.stem}.reference.json").write_bytes(reference.read_bytes())
    return Written(claim, setting, path, problem)


def _same_truth(problem: Problem | Model, base: Problem | Model) -> bool:
    """Return whether the base's reference is the problem's; a model's reference ends at its largest batch."""
    return problem.spec_hash == base.spec_hash and _largest_batch(problem) <= _largest_batch(base)


def _largest_batch(problem: Problem | Model) -> int:
    # Only a model has sizes of batches.
    return max(getattr(problem, "batches", (0,)))


def _text(naming: _Naming, workload: Workload, base: Path) -> str:
    import tomlkit

    data: Any = tomlkit.parse(base.read_text(encoding="utf-8"))
    data["name"] = naming.name(workload.problem)
    data["title"] = f"{data.get('title') or workload.problem}; {naming.title}"
    for table in _OF_THE_BASE:
        data.pop(table, None)
    for name, value in workload.changes.items():
        _put(data, name.split("."), value)
    return tomlkit.dumps(data)


_TOLD = {"": "", "published": " as published", "fair": " when fair"}


def _put(data: Any, keys: list[str], value: object) -> None:
    """Set a key, and make the tables on the way that are not there."""
    import tomlkit

    place = data
    for key in keys[:-1]:
        if key not in place:
            place[key] = tomlkit.table()
        place = place[key]
        if not isinstance(place, dict):
            raise ProblemError(f"'{key}' of '{'.'.join(keys)}' must be a table.", cure="Set the key that holds it.")
    if keys[0] == "networks" and len(keys) > 2 and keys[2] != "sha256":
        # The weights are other numbers of the same draw.
        data["networks"][keys[1]].pop("sha256", None)
    place[keys[-1]] = _item(value)


def _item(value: object) -> object:
    """A value as it is written into a file: decimals to the last digit."""
    from tomlkit.items import Float, Trivia

    if isinstance(value, Decimal):
        return Float(float(value), Trivia(), str(value))
    if isinstance(value, list):
        return [_item(entry) for entry in value]
    if isinstance(value, Mapping):
        import tomlkit

        table = tomlkit.inline_table()
        for key, entry in value.items():
            table[key] = _item(entry)
        return table
    return value


def _data_beside(base: Path) -> tuple[Path, ...]:
    """The data that a problem's loss is compared with, in files next to its own."""
    loss = Document.read(base).data.get("loss", {})
    name = loss.get("data") if isinstance(loss, dict) else None
    return (base.with_name(name),) if isinstance(name, str) else ()
