"""Self-tests on the disk: a folder each below ``selftest`` in the results folder, with every record and the figures."""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from sciml_bench import __version__
from sciml_bench.analysis.machine_hash import machine_hash
from sciml_bench.analysis.selftest.figures import Figures, Series
from sciml_bench.errors import StoreError
from sciml_bench.record.codec import decode
from sciml_bench.record.jsonl import append_line, store_error, write_whole
from sciml_bench.record.record import Record
from sciml_bench.record.run_folder import Run, environment_hash, made_at
from sciml_bench.stats.autocorrelation import Earlier

SCHEMA = 2

FOLDER = "selftest"
FIGURES = "figures.json"
RECORDS = "records.jsonl"
ENVIRONMENT = "environment.json"

OTHER_TIMES = 0.3
"""The standard error of a self-test's correlation as one of a run's: at other times a machine drifts otherwise."""

# A machine changes within this time: updates, dust, neighbours.
STALE_DAYS = 30


@dataclass(frozen=True)
class SelfTest:
    """A completed self-test: its time, machine, version, and results."""

    made_at: datetime.datetime
    machine: str
    version: str
    interrupted: bool
    noisy_processes: int
    processes: int
    figures: Figures
    folder: Path

    def age_days(self, now: datetime.datetime) -> float:
        """Return how old it is."""
        return (now - self.made_at).total_seconds() / 86_400.0


class Writer:
    """The folder of a self-test that is being made. Records reach the disk one by one."""

    def __init__(self, results: Path, environment: dict[str, Any], now: datetime.datetime):
        self._now = now
        self._environment = environment
        self.environment_hash = environment_hash(environment)
        self.folder = results / FOLDER / f"{now:%Y-%m-%dT%H-%M-%SZ}"
        try:
            self.folder.mkdir(parents=True)
        except OSError as error:
            raise store_error("create", self.folder, error) from error
        write_whole(self.folder / ENVIRONMENT, json.dumps(environment, indent=1, ensure_ascii=False) + "\n")

    def append(self, record: Record) -> None:
        """Add a record."""
        append_line(self.folder / RECORDS, record.to_json())

    def finish(self, found: Figures, *, processes: int, noisy: int, interrupted: bool) -> SelfTest:
        """Write the figures."""
        done = SelfTest(
            made_at=self._now.astimezone(),
            machine=machine_hash(self._environment),
            version=__version__,
            interrupted=interrupted,
            noisy_processes=noisy,
            processes=processes,
            figures=found,
            folder=self.folder,
        )
        write_whole(self.folder / FIGURES, json.dumps(document(done), indent=1, ensure_ascii=False) + "\n")
        return done


def document(test: SelfTest) -> dict[str, Any]:
    """A self-test as plain JSON values: the stored numbers, and the conclusions from them."""
    found = test.figures
    return {
        "schema": SCHEMA,
        "made_at": test.made_at.isoformat(timespec="seconds"),
        "machine": test.machine,
        "version": test.version,
        "interrupted": test.interrupted,
        "processes": test.processes,
        "noisy_processes": test.noisy_processes,
        "blocks_per_trial": found.blocks_per_trial,
        "series": [dataclasses.asdict(item) for item in found.series],
        "passed": found.passed,
        "doubts": [doubt.value for doubt in found.doubts],
        "false_positives": dataclasses.asdict(found.false_positives),
        "false_winners": dataclasses.asdict(found.false_winners),
        "labelled": dataclasses.asdict(found.labelled),
        "level": found.level,
        "found": {role: dataclasses.asdict(found.found(role)) for role in found.series[0].found},
        "named": {role: dataclasses.asdict(found.named(role)) for role in found.series[0].named},
        "sd_log": found.sd_log,
        "smallest_change": {str(n): change for n, change in found.smallest_change.items()},
        "processes_needed": {str(by): n for by, n in found.processes_needed.items()},
    }


def earlier(run: Run) -> Earlier | None:
    """The correlation of neighbouring blocks in the newest self-test of a run's machine, next to the run or to its
    folder; ``None`` without one, or if the machine of the run is not known.
    """
    try:
        machine, made = machine_hash(run.environment), made_at(run.folder)
    except (StoreError, ValueError):
        return None
    found = next((test for place in run.folder.parents[:2] for test in of_machine(place, machine)), None)
    if (
        found is None
        or made is None
        or found.interrupted
        or not found.figures.passed
        or abs(found.age_days(made)) > STALE_DAYS
    ):
        return None
    series = [item.bias.serial for item in found.figures.series]
    errors = [error for _, error in series]
    # Quantities of one self-test share its blocks, and are not independent of each other.
    return Earlier(max(0.0, fmean(rho for rho, _ in series)), max(OTHER_TIMES, *errors)) if errors else None


def newest(results: Path, machine: str = "") -> SelfTest | None:
    """The newest self-test of a machine in a results folder; without one the newest of any, or ``None``."""
    return next(of_machine(results, machine), None) or next(_tests(results), None)


def of_machine(results: Path, machine: str) -> Iterator[SelfTest]:
    """The self-tests of a machine in a results folder that can be read, newest first."""
    return (test for test in _tests(results) if test.machine == machine)


def _tests(results: Path) -> Iterator[SelfTest]:
    folder = results / FOLDER
    for path in sorted(folder.iterdir(), reverse=True) if folder.is_dir() else ():
        if (path / FIGURES).is_file():
            try:
                yield read(path)
            except StoreError:
                continue


def read(folder: Path) -> SelfTest:
    """A self-test that was stored.

    Raises:
        StoreError: its figures cannot be read.
    """
    path = folder / FIGURES
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return _from_dict(data, folder)
    except OSError as error:
        raise store_error("read", path, error) from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} holds no figures of a self-test: {error}. Repeat `sciml-bench selftest`.") from error


def _from_dict(data: Mapping[str, Any], folder: Path) -> SelfTest:
    if data["schema"] != SCHEMA:
        raise ValueError(f"schema {data['schema']}, known is {SCHEMA}")
    return SelfTest(
        made_at=datetime.datetime.fromisoformat(data["made_at"]),
        machine=data["machine"],
        version=data["version"],
        interrupted=data["interrupted"],
        noisy_processes=data["noisy_processes"],
        processes=data["processes"],
        figures=Figures(
            decode(tuple[Series, ...], data["series"]),
            data["blocks_per_trial"],
            {int(n): float(change) for n, change in data["smallest_change"].items()},
            {float(by): int(n) for by, n in data["processes_needed"].items()},
        ),
        folder=folder,
    )
