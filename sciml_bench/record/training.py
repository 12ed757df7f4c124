"""The result of a training: its loss and time, step by step, its end, and the final theta."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import accumulate

from sciml_bench.record.model_task import Evaluation
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import Training

BUILD, FIRST, STEPS = PHASES = ("training_build", "training_first_step", "training")
"""The phases of a training: the optimiser is made, the first step compiles, the others do not."""

MAX_STORED_THETA = 2000
"""A theta longer than this keeps only its leading components in the record."""


@dataclass(frozen=True)
class Trained:
    """One training. ``settings`` are the requested ones; with outcome ok all ``settings.steps`` were taken.

    ``losses`` holds the loss at the theta that each step started from, ``None`` if it is not finite, ``step_ns`` how
    long the step took; the first one compiles. A training that diverged, or that ran into its time limit, keeps the
    curve up to there; ``phase`` and ``message`` then describe its end. ``build_ns`` is the time to make the optimiser;
    the framework's library for it is imported then. ``theta`` is the theta after the last step, its leading components
    if it is long; ``theta_size`` is its number of components, 0 if the last step failed or was not seen.
    ``evaluations`` are a model's on held-out samples, in order of their steps.
    """

    settings: Training
    outcome: Outcome
    phase: str | None = None
    message: str = ""
    build_ns: int | None = None
    losses: tuple[float | None, ...] = ()
    step_ns: tuple[int, ...] = ()
    theta: tuple[float | None, ...] = ()
    theta_size: int = 0
    evaluations: tuple[Evaluation, ...] = ()

    @property
    def first_step_ns(self) -> int | None:
        """Return how long the first step took, compilation included."""
        return self.step_ns[0] if self.step_ns else None

    @property
    def later_ns(self) -> tuple[int, ...]:
        """Return how long the steps after the first took."""
        return self.step_ns[1:]

    @property
    def ended_ns(self) -> tuple[int, ...]:
        """The end of each step, counted from the start of the first, without the time between steps."""
        return tuple(accumulate(self.step_ns))

    @property
    def target_step(self) -> int | None:
        """The first step, counted from 0, whose loss is no larger than the target; ``None`` if there is none.

        Of a model, the step after which the held-out samples were first seen to reach the target.
        """
        if self.settings.every is not None:
            return next((item.step - 1 for item in self.evaluations if self._reaches(item)), None)
        target = self.settings.target
        if target is None:
            return None
        return next((k for k, loss in enumerate(self.losses) if loss is not None and loss <= target), None)

    def _reaches(self, item: Evaluation) -> bool:
        loss, accuracy = self.settings.target, self.settings.accuracy
        if loss is None and accuracy is None:
            return False
        low = loss is None or (item.loss is not None and item.loss <= loss)
        return low and (accuracy is None or (item.accuracy is not None and item.accuracy >= accuracy))

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Its outcome, as a point has several."""
        return (self.outcome,)

    def ended_by(self, outcome: Outcome, phase: str | None, message: str) -> Trained:
        """This training, when the worker was ended before it was over."""
        return dataclasses.replace(self, outcome=outcome, phase=phase, message=message)
