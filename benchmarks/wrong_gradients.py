"""Run the reports of wrong gradients in claims/gradients against certified ones; write the page that shows them.

Each folder holds a report, the problem as a problem file, from which the gradient is certified, and a script with the
library alone, which prints a line "WAY: GRADIENT" for each way, or "WAY: refused: REASON". Scripts run with the
packages of this environment, and those in Python with each release that the report names (by uv, with a network).

    python benchmarks/wrong_gradients.py [REPORT ...] [--releases] [--julia JULIA --project PROJECT]
    python benchmarks/wrong_gradients.py --write
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sciml_bench.references.statement import read
from sciml_bench.render.markdown import escaped

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "claims" / "gradients"
RESULTS = ROOT / "results" / "wrong-gradients" / "results.json"
PAGE = ROOT / "docs" / "wrong-gradients.md"
LIMIT_S = 600
LONGEST = 200  # characters of a reason
HEAD = """\
# Wrong gradients

Gradients that are silently wrong, or that a library refuses. Each is a case of a few lines next to its certified
gradient, run with the releases that its table names. *Right* means within the error that the tolerances of the script
allow; *refused* means that the library ends with an error, which is better than a wrong number.

Every case is a folder of [`claims/gradients`](../claims/gradients): a report, a problem file, of which
`sciml-bench certify problem.toml` gives the digits, and a script with the library alone.
`python benchmarks/wrong_gradients.py` runs them. If one is missing, or misrepresented, please open an issue.
"""


@dataclass(frozen=True)
class Report:
    """A report of a wrong gradient, and the script that shows it."""

    folder: Path
    title: str
    says: str
    source: str
    url: str
    read: str
    within: float
    cause: str
    releases: tuple[tuple[str, ...], ...]

    @property
    def script(self) -> Path:
        """The script, in Python or in Julia."""
        return next(path for path in sorted(self.folder.glob("case.*")) if path.suffix in (".py", ".jl"))


def load(folder: Path) -> Report:
    """The report of a folder."""
    with (folder / "report.toml").open("rb") as file:
        given = tomllib.load(file)
    releases = tuple(map(tuple, given.get("releases", ())))
    cause = " ".join(given.get("cause", "").split())
    return Report(
        folder, given["title"], given["says"], given["source"], given["url"], str(given["read"]), given["within"],
        cause, releases,
    )  # fmt: skip


def certified(report: Report) -> float:
    """The certified derivative by the parameter of the problem."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gradient.json"
        command = [sys.executable, "-m", "sciml_bench", "certify", str(report.folder / "problem.toml"), "-o", str(path)]
        subprocess.run(command, check=True, cwd=folder)
        statement = read(path)
    ((_, component),) = statement.gradient.items()
    if component.digits < 10:
        raise SystemExit(f"{report.folder.name}: only {component.digits} digits of the gradient are certified")
    return float(component.value)


def outcomes(output: str) -> list[tuple[str, str]]:
    """Way and gradient, or way and reason, of each line of a script's output."""
    lines = (line.partition(": ") for line in output.splitlines())
    return [(way, value) for way, colon, value in lines if colon]


def verdict(value: str, exact: float, within: float) -> tuple[str, str]:
    """What a line of a script comes to: the verdict, and the number or the reason."""
    kind, _, reason = value.partition(": ")
    if kind == "refused":
        return "refused", reason[:LONGEST]
    error = abs(float(value) - exact) / abs(exact)
    if error <= within:
        return "right", value
    if not math.isfinite(error):
        return "wrong: no finite number", value
    return f"wrong by {f'{100 * error:.3g} %' if error >= 1e-3 else f'{error:.1e}'}", value


def measured(report: Report, command: list[str], packages: str, exact: float) -> dict[str, Any]:
    """The outcome of one script with one set of releases."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT_S, env={**os.environ, "JAX_PLATFORMS": "cpu"}
    )
    rows = outcomes(done.stdout)
    if done.returncode or not rows:
        raise SystemExit(f"{report.folder.name} with {packages} failed:\n{done.stderr[-2000:]}")
    ways = [
        {"way": way, "verdict": judged, "value": shown}
        for way, value in rows
        for judged, shown in [verdict(value, exact, report.within)]
    ]
    return {"report": report.folder.name, "packages": packages, "exact": exact, "ways": ways}


def installed(script: Path) -> str:
    """Names and versions of the packages that a script in Python imports."""
    text = script.read_text(encoding="utf-8")
    names = [name for name in ("casadi", "diffrax", "jax", "torch", "torchdiffeq") if f"import {name}\n" in text]
    return ", ".join(f"{name} {version(name)}" for name in names)


def runs_of(report: Report, arguments: argparse.Namespace) -> list[tuple[list[str], str]]:
    """Command and packages of each run of a report."""
    script = str(report.script)
    if report.script.suffix == ".jl":
        return [_of_julia(script, arguments)] if arguments.julia else []
    runs = [([sys.executable, script], installed(report.script))]
    if arguments.releases:
        for packages in report.releases:
            options = [part for package in packages for part in ("--with", package)]
            command = [
                "uv",
                "run",
                "--no-project",
                "--isolated",
                "--python",
                sys.executable,
                *options,
                "python",
                script,
            ]
            runs.append((command, ", ".join(package.replace("==", " ") for package in packages)))
    return runs


def _of_julia(script: str, arguments: argparse.Namespace) -> tuple[list[str], str]:
    julia = [arguments.julia, "--startup-file=no", f"--project={arguments.project}"]
    asked = 'import Pkg; for (_, p) in Pkg.dependencies() if p.name in ARGS println(p.name, " ", p.version) end end'
    names = (
        "OrdinaryDiffEqTsit5",
        "OrdinaryDiffEqVerner",
        "OrdinaryDiffEqRosenbrock",
        "SciMLSensitivity",
        "ForwardDiff",
        "StaticArrays",
    )
    # The others may have the defect without being named.
    always = ("OrdinaryDiffEqCore", "DiffEqBase", "BracketingNonlinearSolve")
    used = [*always, *(name for name in names if name in Path(script).read_text(encoding="utf-8"))]
    told = subprocess.run([*julia, "-e", asked, *used], capture_output=True, text=True, check=True)
    return [*julia, script], ", ".join(sorted(told.stdout.split("\n"))).strip(", ")


def page(results: list[dict[str, Any]]) -> str:
    """The page, in Markdown."""
    parts = [HEAD]
    for folder in sorted(path.parent for path in REPORTS.glob("*/report.toml")):
        report = load(folder)
        runs = [run for run in results if run["report"] == folder.name]
        source = f"[{escaped(report.source, LONGEST)}]({report.url}), read {report.read}"
        parts += [
            f'<a id="{folder.name}"></a>\n\n## {escaped(report.title, LONGEST)}\n',
            f"{source}: {escaped(report.says, 500)}\n",
        ]
        if report.cause:
            parts.append(f"{escaped(report.cause, 1000)}\n")
        parts.append(_table(report, runs) if runs else "Not run yet.\n")
    return "\n".join(parts)


def _table(report: Report, runs: list[dict[str, Any]]) -> str:
    """A row for each way, a column for each set of releases."""
    ways = list(dict.fromkeys(row["way"] for run in runs for row in run["ways"]))
    lines = [f"| way | {' | '.join(escaped(run['packages'], LONGEST) for run in runs)} |", f"|---|{'---|' * len(runs)}"]
    for way in ways:
        found = [next((row for row in run["ways"] if row["way"] == way), None) for run in runs]
        lines.append(f"| {escaped(way, LONGEST)} | {' | '.join('' if row is None else _cell(row) for row in found)} |")
    return "\n".join([*lines, "", f"Certified: {runs[0]['exact']:.15g}; right is within {report.within:g}.\n"])


def _cell(row: dict[str, str]) -> str:
    if row["verdict"] == "refused":
        return escaped(f"refused: {row['value']}", LONGEST)
    return f"{row['verdict']} ({float(row['value']):.6g})"


def keep(results: list[dict[str, Any]]) -> None:
    """Write the results."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    ordered = sorted(results, key=lambda run: (run["report"], run["packages"]))
    RESULTS.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Run reports, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="*", help="folders of claims/gradients; all without one")
    parser.add_argument("--releases", action="store_true", help="run the releases that reports name, too")
    parser.add_argument("--julia", help="the Julia executable; scripts in Julia are left out without it")
    parser.add_argument("--project", help="the Julia project")
    parser.add_argument("--write", action="store_true", help="write the page from the results that are there")
    arguments = parser.parse_args()
    results: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else []
    if not arguments.write:
        names = arguments.reports or sorted(path.parent.name for path in REPORTS.glob("*/report.toml"))
        for report in map(load, (REPORTS / name for name in names)):
            runs = runs_of(report, arguments)
            exact = certified(report) if runs else 0.0
            for command, packages in runs:
                found = measured(report, command, packages, exact)
                key = (found["report"], packages)
                results = [run for run in results if (run["report"], run["packages"]) != key] + [found]
                print(
                    f"{report.folder.name} ({packages}): {', '.join(way['verdict'] for way in found['ways'])}",
                    flush=True,
                )
            keep(results)
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(page(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
