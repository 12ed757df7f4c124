"""What a self-test finds: bias, a slow-down read wrong, and nothing where there is nothing.

    python benchmarks/selftest_power.py                  1000 self-tests a row, simulated
    python benchmarks/selftest_power.py --quick          100 a row
    python benchmarks/selftest_power.py --measure 10     besides, one that is measured here for 10 minutes with a bias

Times are drawn for each process and go through the code that makes a self-test's figures. A bias is put on a label, on
whoever is measured later in a block, or on the label in blocks of fixed order only. Exit code 1 when a bias of 8 % is
passed in more than 5 % of a row, when the slow-down of 10 % that is there lies outside its interval in more than 10 %,
or when the measured self-test passes in spite of its bias.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sciml_bench.analysis.selftest.blocks import AGAIN, BASE, JUDGED, ROLES, SLOW_DOWNS, Order, is_later, order_of
from sciml_bench.analysis.selftest.figures import Doubt, Figures, calibrated, figures

Floats = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Floats]
Biased = Callable[[str, int], float]
"""The factor on the time of a role in a block."""

BIAS = 1.08
BLOCKS = (24, 48)
FOUND, CALIBRATED = 0.95, 0.90


def gauss(sd: float) -> Noise:
    """Log-normal times."""
    return lambda random, blocks: random.normal(0, sd, blocks)


def heavy(sd: float) -> Noise:
    """Student's t with three degrees of freedom."""
    return lambda random, blocks: sd / math.sqrt(3) * random.standard_t(3, blocks)


def alike(sd: float, rho: float) -> Noise:
    """An autoregression along the blocks."""

    def noise(random: np.random.Generator, blocks: int) -> Floats:
        values = random.normal(0, sd, blocks)
        for block in range(1, blocks):
            values[block] = rho * values[block - 1] + math.sqrt(1 - rho**2) * values[block]
        return values

    return noise


NOISES = {
    "Gauss 1 %": gauss(0.01),
    "Gauss 3 %": gauss(0.03),
    "Gauss 6 %": gauss(0.06),
    "Gauss 20 %": gauss(0.20),
    "heavy tails 4 %": heavy(0.04),
    "AR(1) 0.5, 3 %": alike(0.03, 0.5),
    "AR(1) 0.9, 3 %": alike(0.03, 0.9),
}


def none(role: str, block: int) -> float:
    """No bias."""
    return 1.0


def of_label(role: str, block: int) -> float:
    """The second of the two equal roles is slower."""
    return BIAS if role == AGAIN else 1.0


def of_place(role: str, block: int) -> float:
    """Whichever of the two equal roles is measured later is slower."""
    return BIAS if role == (AGAIN if is_later(block, 0) else BASE) else 1.0


def of_fixed_order(role: str, block: int) -> float:
    """The second of the two equal roles is slower where the order is fixed."""
    return BIAS if role == AGAIN and order_of(block) is Order.FIXED else 1.0


BIASES: dict[str, Biased] = {"none": none, "label": of_label, "place": of_place, "fixed order": of_fixed_order}


def drawn(noise: Noise, biased: Biased, blocks: int, random: np.random.Generator) -> Figures:
    """The figures of one simulated self-test."""
    times = {
        role: {
            block: 1e-3 * (1 + SLOW_DOWNS.get(role, 0.0)) * biased(role, block) * math.exp(value)
            for block, value in enumerate(noise(random, blocks))
        }
        for role in ROLES
    }
    return figures({"simulated": times}, 0)


def row(noise: Noise, biased: Biased, blocks: int, count: int) -> tuple[float, float, dict[Doubt, float]]:
    """The share of self-tests that fail, that are calibrated, and that have each doubt."""
    random = np.random.default_rng(11)
    made = [drawn(noise, biased, blocks, random) for _ in range(count)]
    failed = sum(not one.passed for one in made) / count
    right = sum(all(map(calibrated, one.series)) for one in made) / count
    return failed, right, {doubt: sum(doubt in one.doubts for one in made) / count for doubt in Doubt}


def simulate(count: int) -> bool:
    """Print a row for each bias, noise and number of blocks; whether all are as good as they must be."""
    good = True
    print(f"{'bias of 8 %':<13}{'noise':<17}{'blocks':>7}{'failed':>8}{'10 % read right':>17}   doubts")
    for name, biased in BIASES.items():
        for noise_name, noise in NOISES.items():
            for blocks in BLOCKS:
                failed, right, doubts = row(noise, biased, blocks, count)
                ok = (biased is none or failed >= FOUND) and (biased is not none or right >= CALIBRATED)
                good = good and ok
                told = ", ".join(f"{doubt} {100 * share:.0f} %" for doubt, share in doubts.items() if share >= 0.005)
                wrong = "" if ok else "  TOO FEW"
                print(
                    f"{name:<13}{noise_name:<17}{blocks:>7}{100 * failed:>7.1f}%{100 * right:>16.1f}%   {told}{wrong}"
                )
    return good


def measure_biased(minutes: float) -> bool:
    """Measure a self-test whose second role is really slowed down by 8 %; whether it fails."""
    from datetime import datetime

    from sciml_bench.analysis.selftest.store import Writer
    from sciml_bench.execution.selftest import Measured, measure, workload
    from sciml_bench.host.environment import environment_facts
    from sciml_bench.render.selftest import lines

    with tempfile.TemporaryDirectory() as folder:
        measured = Measured()
        writer = Writer(Path(folder), environment_facts(), datetime.now())
        chosen = dataclasses.replace(workload(), slow_downs={**SLOW_DOWNS, AGAIN: BIAS - 1})
        measure(chosen, writer, measured, seconds=60 * minutes, seed=0, tell=lambda _measured, _share: None)
        found = figures(measured.series, 0)
        done = writer.finish(found, processes=measured.processes, noisy=measured.noisy, interrupted=False)
        print("\n".join(lines(done)))
    return not found.passed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100 self-tests a row")
    parser.add_argument("--measure", type=float, metavar="MINUTES", help="measure one with a bias, too")
    options = parser.parse_args()
    good = simulate(100 if options.quick else 1000)
    if options.measure:
        good = measure_biased(options.measure) and good
    print(f"{JUDGED} and bias: {'as good as they must be' if good else 'NOT as good as they must be'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
