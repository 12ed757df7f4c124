"""The claims that travel with the suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from sciml_bench.errors import StoreError, UsageError
from sciml_bench.planning.purpose import FOLDER, kept_file
from sciml_bench.planning.written_plan import WrittenPlan
from sciml_bench.published_claims.claim import ONE_SIDE, SIDES, Claim, Side
from sciml_bench.published_claims.load import load_claim
from sciml_bench.published_claims.selection import recommended_cells
from sciml_bench.published_claims.workloads import SETTINGS
from sciml_bench.record.run_folder import PROBLEMS
from sciml_bench.spec.document import Document

_PACKAGE = Path(__file__).resolve().parents[1]


def folder() -> Path:
    """The folder of claims: inside an installed package, or at the top of a checkout.

    Raises:
        StoreError: neither exists, so the installation is broken.
    """
    for candidate in (_PACKAGE / "_data" / "claims", _PACKAGE.parent / "claims"):
        if candidate.is_dir():
            return candidate
    raise StoreError(f"the published claims are missing beside {_PACKAGE}; reinstall sciml-bench")


@cache
def claims() -> dict[str, Claim]:
    """Every claim by its id, in order of the files' names.

    Raises:
        ProblemError: a file is wrong.
    """
    loaded = [load_claim(path) for path in sorted(folder().glob("*.toml"), key=lambda path: path.stem)]
    return {claim.id: claim for claim in loaded}


@dataclass(frozen=True)
class Tested:
    """A claim that a run tests. ``changed`` are the settings that it measured as they are no longer."""

    claim: Claim
    changed: frozenset[str] = frozenset()


def of_run(folder: Path, plan: WrittenPlan) -> tuple[Tested, ...]:
    """The claims that a run tests, in the plan's order; empty if it tests none.

    A claim of the suite is judged in its current form, since knowledge of its source grows: the file in the run's
    folder only shows which of its settings have not changed since. Any other claim is that file.

    Raises:
        ProblemError: the file of a claim is wrong.
    """
    found: list[Tested] = []
    for name in plan.sides:
        path = kept_file(folder, name)
        if not path.is_file():
            continue
        if name in claims():
            claim = claims()[name]
            found.append(Tested(claim, changed(claim, path) | _without_recipes(claim, folder, plan)))
        else:
            found.append(Tested(load_claim(path, measured=True)))
    return tuple(found)


def changed(claim: Claim, kept: Path) -> frozenset[str]:
    """The settings of a claim that a file of an earlier version of it has otherwise, or not at all.

    Raises:
        ProblemError: the file is not TOML.
    """
    now, then = Document.read(claim.path).data, Document.read(kept).data
    return frozenset(
        name for name in SETTINGS if name in now and _measured(now[name]) != _given(now[name], then.get(name))
    )


def _given(now: Any, then: Any) -> Any:
    """The parts of an earlier setting that decide on the measurement, without the parts left to recipes now."""
    if not isinstance(then, dict):
        return then
    left = {key: {*_LEFT} - {*now[key]} for key in _SIDES if key in then and key in now}
    sides = {
        # A recipe also decides whether steps land on saved times.
        key: {part: value for part, value in then[key].items() if part not in parts | ({"saving"} if parts else set())}
        for key, parts in left.items()
    }
    return _measured({**then, **sides})


_LEFT = ("method", "sensitivity", "mode")
_SIDES = (*SIDES, *ONE_SIDE)


def _without_recipes(claim: Claim, folder: Path, plan: WrittenPlan) -> frozenset[str]:
    """The settings whose sides are left to recipes that a run did not ask for, and did not measure all the same."""
    measured = {item.label for item in plan.cells}
    names = plan.sides[claim.id]
    lacking: set[str] = set()
    for setting in SETTINGS:
        sides: Mapping[str, Side] = {} if (known := getattr(claim, setting)) is None else known.sides
        for name, side in sides.items():
            label = next(iter(names.get(f"{setting}.{name}", ())), "")
            path = folder / PROBLEMS / f"{label.partition('/')[0]}.toml"
            if side.recommended and label and not plan.by_recipes(claim.id, f"{setting}.{name}"):
                wanted = recommended_cells(path, side, claim.figure.calls) if path.is_file() else ()
                if not wanted or any(cell.label not in measured for cell in wanted):
                    lacking.add(setting)
    return frozenset(lacking)


_TOLD_ONLY = ("note", "notes", "stands_for", "conditions")


def _measured(setting: Any) -> Any:
    """The parts of a setting that decide on the measurement: all but its notes."""
    if not isinstance(setting, dict):
        return setting
    return {key: _measured(value) for key, value in setting.items() if key not in _TOLD_ONLY}


def keep(claims: Iterable[Claim], folder: Path) -> None:
    """Put the files of the claims that a run tests into its folder."""
    (folder / FOLDER).mkdir()
    for claim in claims:
        kept_file(folder, claim.id).write_bytes(claim.path.read_bytes())


def _settings_of(path: Path) -> Any:
    data = Document.read(path).data
    return {name: _measured(data.get(name)) for name in SETTINGS}


def find(name: str) -> Claim:
    """A claim by its id or by the path of its file.

    Raises:
        UsageError: there is no such claim, or a file has the id of another one.
        ProblemError: the file is wrong.
    """
    if name.endswith(".toml") or Path(name).is_file():
        claim = load_claim(Path(name))
        if claim.id in claims() and _settings_of(claims()[claim.id].path) != _settings_of(claim.path):
            raise UsageError(
                f"{name} has the id of the suite's claim {claim.id} and other settings; give it another id"
            )
        return claim
    known = {id_.lower(): claim for id_, claim in claims().items()}
    if name.lower() in known:
        return known[name.lower()]
    close = get_close_matches(name.lower(), known, n=1)
    hint = f"did you mean {known[close[0]].id}?" if close else "see `sciml-bench claims list`"
    raise UsageError(f"unknown claim '{name}'; {hint}")
