"""A plan: every cell that will run, in which order, at what cost, and every cell that will not, with the reason."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sciml_bench import __version__
from sciml_bench.adapters.base import Adapter, Method, ProblemTraits
from sciml_bench.adapters.declared import Declared
from sciml_bench.adapters.recipes import takes_explicit
from sciml_bench.planning.blocks import Slot, blocks
from sciml_bench.planning.cells import Planned, Skipped, choose
from sciml_bench.planning.cost import estimate_s, hopeless
from sciml_bench.planning.labels import products
from sciml_bench.planning.problems import PlannedProblem, entries
from sciml_bench.planning.profiles import Profile
from sciml_bench.planning.purpose import SCREEN, Advised, Claimed, Sweep
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.planning.tasks import TaskFactory
from sciml_bench.record.codec import encode
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import CALLS, CONVENTIONAL, Task, Training

SCHEMA = 1

# Advice is wanted within minutes: the proof of its reference may cost this, as counted.
ADVICE_PROOF_S = 5.0


@dataclass(frozen=True)
class Plan:
    """The cells of a run and their order. Made by :func:`make_plan`; equal plans have equal hashes."""

    profile: Profile
    settings: Settings
    entries: tuple[PlannedProblem, ...]
    adapters: Mapping[str, Adapter]
    planned: tuple[Planned, ...]
    skipped: tuple[Skipped, ...]
    earlier: Mapping[str, float]
    sweep: Sweep | None = None
    claimed: Claimed | None = None
    advised: Advised | None = None

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Every process of the run, in order."""
        return tuple(blocks(self.planned, self.profile.processes, self.settings.seed))

    @cached_property
    def task_factory(self) -> TaskFactory:
        """Makes the tasks."""
        by_name = {entry.name: entry for entry in self.entries}
        task_factory = TaskFactory(by_name, self.adapters, self.profile, self.settings.seed, self.settings.threads)
        if self.claimed is not None:
            return dataclasses.replace(task_factory, points=self.claimed.points, wanted=self.claimed.calls)
        if self.advised is not None:
            return dataclasses.replace(
                task_factory,
                points=self.advised.points,
                wanted=(self.advised.call,),
                trained=False,
                proof_s=ADVICE_PROOF_S,
                enough_digits=self.advised.digits if self.advised.stage == SCREEN else None,
            )
        return task_factory

    @cached_property
    def cell_ids(self) -> tuple[str, ...]:
        """The identity of each planned cell; emits their sources."""
        return tuple(self.task_factory.cell_id(item.cell) for item in self.planned)

    @cached_property
    def index_of(self) -> Mapping[str, int]:
        """The planned cell of each identity."""
        return {cell_id: index for index, cell_id in enumerate(self.cell_ids)}

    def task(self, slot: Slot) -> Task:
        """The task of one process."""
        return self.task_factory.task(self.planned[slot.index].cell, slot.block)

    @cached_property
    def costs_s(self) -> tuple[float, ...]:
        """Estimated seconds of one process of each planned cell."""
        return tuple(
            estimate_s(
                item.cell,
                self._method(item),
                self._facts(item),
                self.adapters[item.cell.adapter].cost,
                profile=self.profile,
                timeout_s=self.settings.timeout_s,
                earlier=self.earlier,
                training_steps=0 if training is None else training.steps,
                calls=self.task_factory.calls(item.cell),
                n_points=len(self.task_factory.points_of(item.cell)),
            )
            for item, training in zip(self.planned, self.trainings, strict=True)
        )

    @cached_property
    def trainings(self) -> tuple[Training | None, ...]:
        """Return the training of theta in each planned cell, if any."""
        return tuple(self.task_factory.training(item.cell) for item in self.planned)

    def cost_s(self, slots: Iterable[Slot] | None = None) -> float:
        """Estimated seconds of these processes of the run, or of all."""
        chosen = self.slots if slots is None else slots
        return sum(self.costs_s[slot.index] for slot in chosen if slot.block == 0 or not self._hopeless(slot))

    def _hopeless(self, slot: Slot) -> bool:
        item = self.planned[slot.index]
        return hopeless(self._method(item), self._facts(item))

    def _facts(self, item: Planned) -> ProblemTraits:
        return self.task_factory.entries[item.cell.problem].facts

    def _method(self, item: Planned) -> Method:
        return self.adapters[item.cell.adapter].method(item.cell.method)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of everything that decides what is measured and in which order, without costs."""
        return plan_hash(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, as kept in ``plan.json`` (which also holds the hash) and printed by ``plan --json``."""
        used = {item.cell.problem for item in self.planned}
        return {
            "schema": SCHEMA,
            "version": __version__,
            "profile": {**dataclasses.asdict(self.profile), "rtols": list(self.profile.rtols)},
            "settings": dataclasses.asdict(self.settings),
            "problems": [_problem(entry) for entry in self.entries if entry.name in used],
            "cells": [
                {
                    "label": item.cell.label,
                    "cell": dataclasses.asdict(item.cell),
                    "cell_id": cell_id,
                    "division": item.division,
                    "group": item.group,
                    **({} if not item.role else {"role": item.role}),
                    **({} if not item.note else {"note": item.note}),
                    "estimated_s": round(cost_s, 1),
                    **({} if training is None else {"training": dataclasses.asdict(training)}),
                    **({} if (calls := self.task_factory.calls(item.cell)) == CALLS else {"calls": list(calls)}),
                }
                for item, cell_id, cost_s, training in zip(
                    self.planned, self.cell_ids, self.costs_s, self.trainings, strict=True
                )
            ],
            "adapters": self._declarations(),
            "skipped": _by_reason(self.skipped),
            **({} if self.sweep is None else {"sweep": self.sweep.to_dict()}),
            **({} if self.claimed is None else {"claimed": self.claimed.to_dict()}),
            **({} if self.advised is None else {"advised": self.advised.to_dict()}),
        }

    def _declarations(self) -> dict[str, Any]:
        """The declarations of the adapters of the planned cells, so that a stored run explains itself."""
        methods: dict[str, dict[str, Method]] = {}
        for item in self.planned:
            methods.setdefault(item.cell.adapter, {})[item.cell.method] = self._method(item)
        return {name: encode(Declared.of(self.adapters[name], used)) for name, used in methods.items()}

    def moved(self, folder: Path) -> Plan:
        """Return the plan with its problem files in another folder."""
        return dataclasses.replace(self, entries=tuple(entry.moved(folder) for entry in self.entries))


def plan_hash(data: Mapping[str, Any]) -> str:
    """The hash of a plan as JSON values, as :meth:`Plan.to_dict` gives them and ``plan.json`` keeps them."""
    # A training is part of the measurement, but not of the cell: its gradients are the same with another one.
    cells = [
        [cell["cell_id"], cell["label"], *(cell[name] for name in ("training", "calls") if name in cell)]
        for cell in data["cells"]
    ]
    parts = [data["schema"], data["version"], data["profile"], data["settings"], cells]
    # The same cells are another run if they belong to a sweep over something else.
    parts += [data[name] for name in ("sweep", "claimed", "advised") if name in data]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def make_plan(
    selection: Selection,
    adapters: Mapping[str, Adapter],
    profile: Profile,
    settings: Settings,
    *,
    files: Sequence[Path] = (),
    earlier: Mapping[str, float] | None = None,
    sweep: Sweep | None = None,
    claimed: Claimed | None = None,
    advised: Advised | None = None,
    chosen: tuple[PlannedProblem, ...] = (),
) -> Plan:
    """The plan of a selection. A ``settings.timeout_s`` of 0 means the profile's own limit.

    ``sweep`` gives the sizes of the problems of a sweep, ``claimed`` the cells that are sides of a published claim,
    ``advised`` the question of advice. ``chosen`` are problems that were loaded before.

    Raises:
        UsageError: a name of the selection does not exist.
        ProblemError: a problem file is wrong.
    """
    selection.check(adapters)
    chosen = chosen or entries(selection, files)
    planned, skipped = choose(chosen, adapters, selection, profile)
    timeout_s = settings.timeout_s or profile.timeout_s
    return Plan(
        profile=profile,
        settings=dataclasses.replace(settings, timeout_s=timeout_s),
        entries=chosen,
        adapters=adapters,
        planned=planned,
        skipped=skipped,
        earlier=earlier or {},
        sweep=sweep,
        claimed=claimed,
        advised=advised,
    )


def _by_reason(skipped: Iterable[Skipped]) -> list[dict[str, Any]]:
    """Skipped cells share few reasons; each is written once, with its cells as products (see ``plan.products``)."""
    labels: dict[tuple[Outcome | None, str], list[str]] = {}
    for item in skipped:
        labels.setdefault((item.outcome, item.reason), []).append(item.cell.label)
    return [
        {"reason": reason, "outcome": outcome, "cells": products(cells)} for (outcome, reason), cells in labels.items()
    ]


def _problem(entry: PlannedProblem) -> dict[str, Any]:
    if entry.track == CONVENTIONAL:
        return _model(entry)
    return {
        "name": entry.name,
        "title": entry.title,
        "suite": entry.suite,
        "tier": entry.tier,
        "spec_hash": entry.problem.spec_hash,
        "n_states": entry.problem.n_states,
        "n_theta": entry.facts.n_theta,
        "wrt": entry.problem.wrt,
        "batch": entry.problem.batch.size,
        "stiff": not takes_explicit(entry.facts),
        "labelled_stiff": entry.stiff,
        "probe": None if entry.facts.probed is None else entry.facts.probed.to_dict(),
        "file": str(entry.path) if entry.loaded is not None else None,
    }


def _model(entry: PlannedProblem) -> dict[str, Any]:
    """Describe a model, with the facts that a fair comparison has to state (see ``report.conventional``)."""
    model = entry.model
    data = {key: value for key, value in dataclasses.asdict(model.data).items() if key != "path"}
    return {
        "name": entry.name,
        "title": entry.title,
        "suite": entry.suite,
        "tier": entry.tier,
        "stiff": False,
        "spec_hash": entry.spec_hash,
        "n_states": model.n_outputs,
        "n_theta": model.n_weights,
        "wrt": "parameters",
        "batch": model.batches[-1],
        "file": str(entry.path) if entry.loaded is not None else None,
        "loss": model.loss,
        "batches": list(model.batches),
        "data": data,
    }
