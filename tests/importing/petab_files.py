"""PEtab problems of a decay in two doses, in version 1 and in version 2, whose likelihoods have closed forms."""

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


VERSION_1 = {
    "yaml": YAML, "parameters": PARAMETERS, "conditions": CONDITIONS, "observables": OBSERVABLES,
    "measurements": MEASUREMENTS,
}  # fmt: skip

# The supply of "low" begins at time 1; the start is at time 0.5.
VERSION_2 = {
    "yaml": """format_version: 2.0.0
parameter_files: [parameters.tsv]
model_files:
  decay: {location: model.xml, language: sbml}
measurement_files: [measurements.tsv]
condition_files: [conditions.tsv]
experiment_files: [experiments.tsv]
observable_files: [observables.tsv]
""",
    "parameters": "parameterId\tlowerBound\tupperBound\tnominalValue\testimate\tpriorDistribution"
    """\tpriorParameters
k	0	10	0.5	true	gamma	2;0.5
factor	0	5	2	true		
sd	0	1	0.2	true	log-normal	-1;0.5
offset			0.25	false		
""",
    "conditions": """conditionId	targetId	targetValue
small	A	1
small	feed	0
supplied	feed	0.5*factor
large	A	factor + 1
more	feed	0.125
""",
    "experiments": "experimentId\ttime\tconditionId\nlow\t0.5\tsmall\nlow\t1\tsupplied\n"
    "high\t0.5\tlarge\nhigh\t0.5\tmore\nunused\t9\tsmall\n",
    "observables": "observableId\tobservableFormula\tnoiseFormula\tnoiseDistribution\tobservablePlaceholders"
    "\tnoisePlaceholders\na\ttimes_a*A + offset\tspread_a\tnormal\ttimes_a\tspread_a\n"
    "b\tA + time\tsd*spread_b\tlog-laplace\t\tspread_b\n",
    "measurements": """observableId	experimentId	time	measurement	observableParameters	noiseParameters
a	low	0.5	1.3	1	sd
a	low	1	0.8	1	0.3
a	low	2	0.9	1	sd
a	high	2	3.5	factor	sd
b	low	1.5	2.4		2
b	high	1.5	4		1
""",
}


def objective_2(p: np.ndarray) -> float:
    """The negative log-likelihood with the priors, which have no density outside their bounds."""
    from scipy import stats

    k, factor, sd = p

    def solved(start: float, feed: float, span: float) -> float:
        return feed / k + (start - feed / k) * np.exp(-k * span)

    def low(t: float) -> float:
        return solved(1, 0, t - 0.5) if t <= 1 else solved(solved(1, 0, 0.5), 0.5 * factor, t - 1)

    def high(t: float) -> float:
        return solved(factor + 1, 0.125, t - 0.5)

    total = stats.norm.logpdf(1.3, low(0.5) + 0.25, sd) + stats.norm.logpdf(0.8, low(1) + 0.25, 0.3)
    total += stats.norm.logpdf(0.9, low(2) + 0.25, sd) + stats.norm.logpdf(3.5, factor * high(2) + 0.25, sd)
    total += stats.laplace.logpdf(np.log(2.4), np.log(low(1.5) + 1.5), 2 * sd) - np.log(2.4)
    total += stats.laplace.logpdf(np.log(4), np.log(high(1.5) + 1.5), sd) - np.log(4)
    of_k, of_sd = {"a": 2, "scale": 0.5}, {"s": 0.5, "scale": np.exp(-1)}
    total += stats.gamma.logpdf(k, **of_k) - stats.gamma.logcdf(10, **of_k)
    total += stats.lognorm.logpdf(sd, **of_sd) - stats.lognorm.logcdf(1, **of_sd) - np.log(5)
    return -float(total)


def written(folder: Path, problem: dict[str, str] | None = None, /, **changes: tuple[str, str]) -> Path:
    """The YAML file of a problem, version 1 by default; a change replaces a text in one of the files."""
    texts = dict(problem or VERSION_1)
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


def objective(p: np.ndarray, dose: float = 0.0) -> float:
    """The negative log-likelihood with the priors, from the solution A = feed/k + (A0 - feed/k) exp(-k t); in "high" a
    dose is added at time 1.5.
    """
    from scipy import stats

    k, factor, sd = p

    def solved(start: float, feed: float, t: float) -> float:
        return feed / k + (start - feed / k) * np.exp(-k * t)

    def low(t: float) -> float:
        return solved(1.0, 0.0, t)

    def high(t: float) -> float:
        return solved(factor, 0.125, t) + (dose * np.exp(-k * (t - 1.5)) if t > 1.5 else 0.0)

    total = stats.norm.logpdf(1.3, low(0) + 0.25, sd) + stats.norm.logpdf([0.8, 0.7], low(1) + 0.25, sd).sum()
    total += stats.norm.logpdf(3.5, factor * high(2) + 0.25, sd) + stats.norm.logpdf(2.5, factor * high(1) + 0.25, 0.3)
    total += stats.lognorm.logpdf(1.5, 2 * sd * np.log(10), scale=high(1) + 1)
    total += stats.laplace.logpdf(0.3, low(1) ** 2, 0.5) + stats.laplace.logpdf(1.2, high(2) ** 2, 0.25)
    total += stats.norm.logpdf(np.log10(k), -0.5, 0.2) + stats.laplace.logpdf(factor, 1.5, 0.5)
    return -float(total)
