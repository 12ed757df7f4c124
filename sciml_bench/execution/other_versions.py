"""The software in which two environments differ, whatever their machines are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sciml_bench.analysis.machine_hash import flat, is_machine

# Facts that differ between copies of one version, or that do not change a time.
_MAY_DIFFER = ("installed_hash", "lock_hashes.constraints.txt", "thread_settings", "blas", "system", "git.dirty")


def other_versions(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """The versions in ``theirs`` that are not the run's, ``mine``, each in a few words, in order.

    The plan does not need a framework of only one machine: a cell without its framework fails by name.
    """
    here, there = dict(_software(mine)), dict(_software(theirs))
    return sorted(
        f"{name} {there[name]}, the run's is {here[name]}"
        for name in here.keys() & there.keys()
        if here[name] != there[name]
    )


def _software(environment: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in flat(environment):
        if not is_machine(name) and not any(name == part or name.startswith(f"{part}.") for part in _MAY_DIFFER):
            yield name, value
