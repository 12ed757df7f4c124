"""A PEtab problem of a decay in two doses, whose likelihood has a closed form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from importing.sbml_models import apply, compartment, of, parameter, reaction, species, write

YAML = """format_version: 1
parameter_file: parameters.tsv
problems:
  - sbml_files: [model.xml]
    condition_files: [conditions.tsv]
    observable_files: [observables.tsv]
    measurement_files: [measurements.tsv]
"""
PARAMETERS = "\n".join([
    "parameterId\tparameterScale\tlowerBound\tupperBound\tnominalValue\testimate"
    "\tobjectivePriorType\tobjectivePriorParameters",
    "k\tlog10\t1e-5\t1e5\t0.5\t1\tparameterScaleNormal\t-0.5;0.2",
    "factor\tlin\t0\t10\t2\t1\tlaplace\t1.5;0.5",
    "sd\tlog\t1e-5\t1e5\t0.2\t1\t\t",
    "offset\tlin\t0\t10\t0.25\t0\t\t",
    "",
])  # fmt: skip
CONDITIONS = "conditionId\tconditionName\tA\tfeed\nlow\tLow\t1\t0\nhigh\tHigh\tfactor\t0.125\nunused\tNo\t9\t9\n"
OBSERVABLES = """observableId	observableFormula	noiseFormula	observableTransformation	noiseDistribution
a	observableParameter1_a*A + offset	noiseParameter1_a	lin	normal
b	A + time	sd*noiseParameter1_b	log10	normal
c	A^2	noiseParameter1_c	lin	laplace
"""
MEASUREMENTS = """observableId	simulationConditionId	measurement	time	observableParameters	noiseParameters
a	low	1.3	0	1	sd
a	low	0.8	1	1	sd
a	low	0.7	1	1	sd
a	high	3.5	2	factor	sd
a	high	2.5	1	factor	0.3
b	high	1.5	1		2
c	low	0.3	1		0.5
c	high	1.2	2		0.25
"""


def written(folder: Path, **changes: tuple[str, str]) -> Path:
    """The YAML file of the problem; a change replaces a text in one of the files."""
    texts = {
        "yaml": YAML, "parameters": PARAMETERS, "conditions": CONDITIONS, "observables": OBSERVABLES,
        "measurements": MEASUREMENTS,
    }  # fmt: skip
    for name, (old, new) in changes.items():
        if old not in texts[name]:
            raise ValueError(f"'{old}' is not in {name}")
        texts[name] = texts[name].replace(old, new)
    write(
        folder / "model.xml",
        of("Compartments", compartment("c", 2)),
        of("Species", species("A")),
        of("Parameters", parameter("k", 7), parameter("feed", 0), parameter("known", 1)),
        of("Reactions", reaction("decay", "A", "", apply("times", "c", "k", "A", "known")),
           reaction("supply", "", "A", apply("times", "c", "feed"))),
    )  # fmt: skip
    for name, text in texts.items():
        if name != "yaml":
            (folder / f"{name}.tsv").write_text(text, encoding="utf-8")
    path = folder / "problem.yaml"
    path.write_text(texts["yaml"], encoding="utf-8")
    return path


def objective(p: np.ndarray) -> float:
    """The negative log-likelihood with the priors, from the solution A = feed/k + (A0 - feed/k) exp(-k t)."""
    from scipy import stats

    k, factor, sd = p

    def solved(start: float, feed: float, t: float) -> float:
        return feed / k + (start - feed / k) * np.exp(-k * t)

    def low(t: float) -> float:
        return solved(1.0, 0.0, t)

    def high(t: float) -> float:
        return solved(factor, 0.125, t)

    total = stats.norm.logpdf(1.3, low(0) + 0.25, sd) + stats.norm.logpdf([0.8, 0.7], low(1) + 0.25, sd).sum()
    total += stats.norm.logpdf(3.5, factor * high(2) + 0.25, sd) + stats.norm.logpdf(2.5, factor * high(1) + 0.25, 0.3)
    total += stats.lognorm.logpdf(1.5, 2 * sd * np.log(10), scale=high(1) + 1)
    total += stats.laplace.logpdf(0.3, low(1) ** 2, 0.5) + stats.laplace.logpdf(1.2, high(2) ** 2, 0.25)
    total += stats.norm.logpdf(np.log10(k), -0.5, 0.2) + stats.laplace.logpdf(factor, 1.5, 0.5)
    return -float(total)
