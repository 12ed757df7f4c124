"""The rule of trainings: an untouched one passes, and each way to touch one up is found."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from stubs.verifiable import MadeRun, made_run

from sciml_bench.record.codec import encode
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import Training
from sciml_bench.record.training import Trained

SETTINGS = Training("sgd", 0.1, 4, 1e-6, 1e-6, target=2.0)
WHOLE = Trained(
    SETTINGS, Outcome.OK, build_ns=5, losses=(4.0, 3.0, 2.0, 1.0), step_ns=(40, 3, 2, 4), theta=(1.0, 2.0), theta_size=2
)
GONE = Trained(
    SETTINGS, Outcome.NONFINITE, "training", "the loss is not finite", 5, losses=(4.0, None), step_ns=(40, 3)
)
LATE = Trained(SETTINGS, Outcome.TIMEOUT, "training", "2 of 4", 5, (4.0, 3.0), (40, 3), (1.0,), 1)


def run_with(trained: Trained | None, planned: Training | None = SETTINGS) -> MadeRun:
    """The run of two cells, the first of which trains."""
    run = made_run()
    if planned is not None:
        run.plan["cells"][0]["training"] = dataclasses.asdict(planned)
    run.seal()
    for record in run.records:
        if record["cell_id"] == run.plan["cells"][0]["cell_id"] and trained is not None:
            record["training"] = encode(trained)
            record["phases_ns"] |= {"training_first_step": 41, "training": 10}
    return run


def broken(run: MadeRun, folder: Path) -> set[str]:
    return {breach.rule.id for breach in run.verified(folder).breaches if breach.invalid}


@pytest.mark.parametrize("trained", [WHOLE, GONE, LATE])
def test_an_untouched_training_is_valid(trained: Trained, tmp_path: Path):
    assert broken(run_with(trained), tmp_path) == set()


@pytest.mark.parametrize(
    ("trained", "changes"),
    [
        (WHOLE, {"losses": WHOLE.losses[:3], "step_ns": WHOLE.step_ns[:3]}),
        (WHOLE, {"step_ns": WHOLE.step_ns[:3]}),
        (WHOLE, {"step_ns": (40, 3, 0, 4)}),
        (WHOLE, {"step_ns": (40, 3, 2, 400)}),
        (WHOLE, {"losses": (4.0, None, 2.0, 1.0)}),
        (WHOLE, {"theta": (), "theta_size": 0}),
        (WHOLE, {"theta": (1.0,)}),
        (WHOLE, {"settings": dataclasses.replace(SETTINGS, learning_rate=0.2)}),
        (WHOLE, {"outcome": Outcome.TIMEOUT}),
        (GONE, {"outcome": Outcome.OK}),
        (GONE, {"outcome": Outcome.MAX_STEPS}),
        (LATE, {"outcome": Outcome.OK}),
    ],
)
def test_what_is_touched_up_is_found(trained: Trained, changes: dict[str, Any], tmp_path: Path):
    assert broken(run_with(dataclasses.replace(trained, **changes)), tmp_path) == {"training"}


def test_a_training_is_there_when_it_was_planned_and_only_then(tmp_path: Path):
    assert broken(run_with(None), tmp_path) == {"training"}
    assert broken(run_with(WHOLE, planned=None), tmp_path) == {"training"}
    assert broken(run_with(None, planned=None), tmp_path) == set()
