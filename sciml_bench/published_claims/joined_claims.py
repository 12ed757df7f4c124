"""The claims measured in one run: a cell that is a side of several is then measured once for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sciml_bench.planning.profiles import Profile
from sciml_bench.published_claims.claim import Claim, Setting, Side
from sciml_bench.published_claims.selection import measuring
from sciml_bench.published_claims.workloads import SETTINGS, same_workload


def together(claims: Iterable[Claim], profile: Profile) -> tuple[tuple[Claim, ...], ...]:
    """The claims in groups, each a run, in the order of their first ones.

    A claim joins others where all are about the same calls on the same problem, need the same of the profile, and one
    of its sides is the same cell as one of theirs.
    """
    groups: list[list[Claim]] = []
    for claim in claims:
        found = next((group for group in groups if joins(claim, group, profile)), None)
        if found is None:
            groups.append([claim])
        else:
            found.append(claim)
    return tuple(map(tuple, groups))


def joins(claim: Claim, group: Sequence[Claim], profile: Profile) -> bool:
    """Return whether a claim is measured in the run of these others."""
    one = group[0]
    return (
        claim.figure.calls == one.figure.calls
        and measuring(claim, profile) == measuring(one, profile)
        and same_workload([setting.workload for member in (claim, *group) for setting in _settings(member)])
        and bool(_cells([claim]) & _cells(group))
    )


def _settings(claim: Claim) -> list[Setting]:
    return [setting for name in SETTINGS if (setting := getattr(claim, name)) is not None]


def _cells(claims: Iterable[Claim]) -> set[tuple[str, ...]]:
    """The sides of claims on one problem, without their tolerances."""
    return {_cell(side) for claim in claims for side in claim.sides}


def _cell(side: Side) -> tuple[str, ...]:
    return side.adapter, side.method, side.sensitivity, side.mode, side.precision, side.device, side.saving
