"""A run whose units were handed over, for tests of shards."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sciml_bench.engine.unit import Unit
from sciml_bench.errors import StoreError
from sciml_bench.execution.merge import merge
from sciml_bench.execution.shard import Shard, carry_out
from sciml_bench.planning.plan import Plan
from sciml_bench.record.run_folder import Run

HERE = {"sciml_bench": "1", "packages": {"numpy": "2.3.0", "torch": "2.13.0"}, "cpu": {"model": "small"}}
NODE = {**HERE, "packages": {"numpy": "2.3.0"}, "cpu": {"model": "large"}}


@dataclass
class Study:
    """A run whose units were handed over, and a folder for shards."""

    plan: Plan
    run: Run
    shards: Path
    units: list[Path]

    def shard(self, number: int, host: str = "node", environment: dict[str, Any] | None = None) -> Path:
        """Carry out one of its units on a machine."""
        unit = Unit.read(self.units[number])
        shard = Shard.begin(unit, self.shards / f"{host}-{unit.id}", environment or NODE)
        carry_out(shard, host)
        return shard.folder

    def lines(self) -> list[str]:
        """The lines of the run's records."""
        return self.run.records_path.read_text().splitlines() if self.run.records_path.exists() else []

    def refuses(self, match: str, *shards: Path) -> None:
        """Merging these is refused for this reason, and changes nothing."""
        before = self.lines()
        with pytest.raises(StoreError, match=match):
            merge(self.run, shards)
        assert self.lines() == before
