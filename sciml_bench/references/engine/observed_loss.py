"""The loss of one trajectory that looks at more than its states: expressions of them and of theta, data, a label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flint import arb

from sciml_bench.references.engine.around import Around
from sciml_bench.references.engine.objective import Rows, factors, phi, phi_slope
from sciml_bench.spec.model import Loss, Problem


@dataclass(frozen=True)
class ObservedLoss:
    """The loss of a problem, see :class:`~sciml_bench.spec.model.Loss`; numbers are doubles, as adapters have them.

    ``targets`` are flat, saved time by saved time, if the trajectory has its own.
    """

    loss: Loss
    around: Around
    targets: tuple[float, ...]
    label: int

    @classmethod
    def of(cls, problem: Problem, around: Around) -> ObservedLoss:
        """The loss of a problem of one trajectory."""
        data = {given.name: given.rows[0] for given in problem.given}
        label = int(data[problem.loss.label][0]) if problem.loss.label else 0
        return cls(problem.loss, around, data.get(problem.loss.given, ()), label)

    def value(self, rows: Rows, p: Sequence[arb] = ()) -> arb:
        """The weighted sum over the saved times, and the penalty."""
        total = arb(0)
        for k, row in self._rows(rows):
            total += self._value(self.around.observed(row, p, k), k, len(rows) - 1)
        return (total * arb(self.loss.weight) + self.around.penalty(p)).mid()

    def slope(self, row: Sequence[arb], k: int, last: int, p: Sequence[arb] = ()) -> list[arb] | None:
        """Derivative of the loss with respect to one saved state."""
        if self.loss.at == "end" and k != last:
            return None
        return self.around.pull_observed(row, p, self._seed(row, k, last, p), k)[0]

    def direct(self, rows: Rows, p: Sequence[arb]) -> list[arb]:
        """Derivative with respect to the parameters, of the penalty and of what reads the states."""
        total = self.around.pull_start(p, [arb(0)] * len(rows[0]), penalty=1)
        for k, row in self._rows(rows):
            _, share = self.around.pull_observed(row, p, self._seed(row, k, len(rows) - 1, p), k)
            if share is not None:
                total = [(a + b).mid() for a, b in zip(total, share, strict=True)]
        return total

    def _rows(self, rows: Rows) -> Iterator[tuple[int, Sequence[arb]]]:
        first = 0 if self.loss.at == "saved" else len(rows) - 1
        yield from enumerate(rows[first:], start=first)

    def _residuals(self, seen: Sequence[arb], k: int, last: int) -> list[arb]:
        n = len(seen)
        if self.targets:
            start = k * n if self.loss.at == "saved" else 0
            targets: Sequence[float] = self.targets[start : start + n]
        else:
            targets = self.loss.target_at(k)
        return [(a - arb(b)) * factor for a, b, factor in zip(seen, targets, factors(self.loss, k), strict=True)]

    def _value(self, seen: Sequence[arb], k: int, last: int) -> arb:
        if self.loss.kind == "cross_entropy":
            return sum((score.exp() for score in seen), arb(0)).log() - seen[self.label]
        return sum((phi(self.loss.kind, residual) for residual in self._residuals(seen, k, last)), arb(0))

    def _seed(self, row: Sequence[arb], k: int, last: int, p: Sequence[arb]) -> list[arb]:
        """Derivative with respect to the observed values at one saved time."""
        seen, weight = self.around.observed(row, p, k), arb(self.loss.weight)
        if self.loss.kind == "cross_entropy":
            powers = [score.exp() for score in seen]
            total = sum(powers, arb(0))
            return [(weight * (power / total - int(i == self.label))).mid() for i, power in enumerate(powers)]
        residuals = self._residuals(seen, k, last)
        return [
            (weight * phi_slope(self.loss.kind, residual) * factor).mid()
            for residual, factor in zip(residuals, factors(self.loss, k), strict=True)
        ]
