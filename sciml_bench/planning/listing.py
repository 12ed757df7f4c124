"""The available choices, as rows: problems, suites, adapters, and the runs of a folder.

The imports of a list happen on request: listings must start fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sciml_bench.spec import catalog
from sciml_bench.spec.tables.identity import TIERS

Row = dict[str, Any]


def list_problems(suites: Sequence[str] = ()) -> list[Row]:
    """The problems of the catalog; ``heavy`` says why one is in no profile and runs only when it is named.

    Raises:
        UsageError: there is no such suite.
    """
    headers = [catalog.header(name) for name in catalog.names()]
    if suites:
        from sciml_bench.planning.selection import check_names

        check_names("suite", suites, {header.suite for header in headers}, "sciml-bench list suites")
    return [
        {"name": h.name, "suite": h.suite, "tier": h.tier, "tags": list(h.tags), "title": h.title}
        | ({"heavy": h.heavy} if h.heavy else {})
        for h in headers
        if not suites or h.suite in suites
    ]


def list_suites() -> list[Row]:
    """The suites, and how many problems of each tier they hold."""
    counts: dict[str, dict[str, int]] = {}
    for header in map(catalog.header, catalog.names()):
        tiers = counts.setdefault(header.suite, dict.fromkeys(TIERS, 0))
        tiers[header.tier] += 1
    return [{"suite": suite, "problems": sum(tiers.values()), **tiers} for suite, tiers in counts.items()]


def list_adapters() -> list[Row]:
    """The adapters, whether they can run here, and their capabilities; including third-party ones that cannot be
    loaded.
    """
    from sciml_bench.adapters import registry

    rows: list[Row] = []
    for name, declared in registry.adapters().items():
        lacking = registry.missing(declared)
        rows.append(
            {
                "adapter": name,
                "here": "no" if lacking else "yes",
                "methods": [method.name for method in declared.methods],
                "sensitivities": list(declared.sensitivities),
                "modes": list(declared.cell_modes),
                "title": declared.title,
                "note": lacking.reason if lacking else "",
            }
        )
    for error in registry.load_errors():
        note = f"cannot be loaded from {error.origin}: {error.message}"
        rows.append({"adapter": error.name, "here": "no", "methods": [], "sensitivities": [], "modes": [],
                     "title": "", "note": note})  # fmt: skip
    return rows


def list_runs(folder: Path) -> list[Row]:
    """The runs in a folder, newest first, and how many of their cells have a record."""
    from sciml_bench.errors import StoreError
    from sciml_bench.planning.written_plan import written_plan
    from sciml_bench.record.run_folder import runs_in

    rows: list[Row] = []
    for run in runs_in(folder):
        try:
            plan = written_plan(run)
            cells = {item.cell_id for item in plan.cells}
            seen = {cell_id for cell_id, _ in run.done()}
            facts = (plan.profile.name, len(cells), len(cells & seen), plan.command)
        except StoreError:
            # Whoever opens it reads an error that names the line.
            facts = ("damaged", 0, 0, "")
        profile, planned, recorded, command = facts
        rows.append(
            {"run": run.folder.name, "profile": profile, "cells": planned, "recorded": recorded, "command": command}
        )
    return rows
