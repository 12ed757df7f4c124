"""The claims that travel with the suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from sciml_bench.claims.claim import Claim
from sciml_bench.claims.load import load_claim
from sciml_bench.errors import StoreError, UsageError
from sciml_bench.plan.claimed import claimed_sides

FOLDER = "claims"
"""Where a run keeps the files of its claims, so that its folder tells what they claim."""

_FILE = "claim.toml"
"""The file of a run's one claim, as earlier versions wrote it."""

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


def of_run(folder: Path, plan: Mapping[str, Any]) -> tuple[Claim, ...]:
    """The claims that a run tests, from the files in its folder, in the plan's order; empty where it tests none.

    Raises:
        ProblemError: the file of a claim is wrong.
    """
    names = list(claimed_sides(plan))
    paths = [folder / _FILE, *(folder / FOLDER).glob("*.toml")] if names else []
    found = {claim.id: claim for claim in map(load_claim, filter(Path.is_file, paths))}
    return tuple(found[name] for name in names if name in found)


def kept_file(folder: Path, plan: Mapping[str, Any], name: str) -> Path:
    """Where the folder of a run keeps the file of one of the claims of its plan."""
    return folder / _FILE if "claim" in plan["claimed"] else folder / FOLDER / f"{name}.toml"


def keep(claims: Iterable[Claim], folder: Path) -> None:
    """Put the files of the claims that a run tests into its folder."""
    (folder / FOLDER).mkdir()
    for claim in claims:
        (folder / FOLDER / f"{claim.id}.toml").write_bytes(claim.path.read_bytes())


def find(name: str) -> Claim:
    """A claim by its id or by the path of its file.

    Raises:
        UsageError: there is no such claim.
        ProblemError: the file is wrong.
    """
    if name.endswith(".toml") or Path(name).is_file():
        return load_claim(Path(name))
    known = {id_.lower(): claim for id_, claim in claims().items()}
    if name.lower() in known:
        return known[name.lower()]
    close = get_close_matches(name.lower(), known, n=1)
    hint = f"did you mean {known[close[0]].id}?" if close else "see `sciml-bench claims list`"
    raise UsageError(f"there is no claim '{name}'; {hint}")
