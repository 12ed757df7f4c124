"""Whether a change to the house changes a figure: all stored runs of this checkout, and of another one.

    git worktree add ../before COMMIT
    python benchmarks/same_figures.py ../before
    python benchmarks/same_figures.py ../before --smoke         a run of profile smoke by each, compared as well

Of every run below ``results/`` and ``results/claims/``, ``show --json``, ``export --to csv`` (every sample, and with
``--summary``) and ``verify --json`` are compared byte for byte, after the keys of ``RENAMED``; so is
``claims export``. The two runs of profile smoke have to agree in cells, outcomes, and the solvers' own counts, and in
their digits to a tenth. Both checkouts are run by this Python. Exit code 1 where something differs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

RENAMED: Mapping[str, str] = {}
"""Keys of JSON that have another name since, old to new."""

QUESTIONS = {
    "show --json": ("show", "{run}", "--json"),
    "export --to csv": ("export", "{run}", "--to", "csv"),
    "export --summary": ("export", "{run}", "--to", "csv", "--summary"),
    "verify --json": ("verify", "{run}", "--json"),
}
SMOKE = ("run", "--problem", "robertson,lotka-volterra,spiral-node", "--profile", "smoke", "--new", "--wait", "--json")
COUNTS = ("n_steps", "n_accepted", "n_rejected", "n_rhs_evaluations")
DIGITS = 0.1

HERE = Path(__file__).resolve().parents[1]


def main() -> int:
    """Compare, print what differs, and say it in the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="a checkout of the commit before")
    parser.add_argument("--smoke", action="store_true", help="measure a small run with each, too")
    options = parser.parse_args()
    other = options.other.resolve()
    runs = sorted(path.parent.relative_to(HERE) for path in (HERE / "results").glob("**/plan.json"))
    different = [line for run in runs for line in differences(other, run)]
    different += claims(other)
    print(f"{len(runs)} runs, {len(QUESTIONS)} outputs each: {len(different)} differ")
    if options.smoke:
        different += smoke(other)
    for line in different:
        print(f"  {line}")
    return 1 if different else 0


def output(checkout: Path, words: tuple[str, ...], folder: Path) -> str:
    """What a command of a checkout prints."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "sciml_bench", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout or f"exit code {done.returncode}: {done.stderr}"


def differences(other: Path, run: Path) -> Iterator[str]:
    """The outputs about a run that are not the same."""
    for name, words in QUESTIONS.items():
        asked = tuple(word.format(run=run.name) for word in words)
        before, after = (renamed(output(checkout, asked, checkout / run.parent)) for checkout in (other, HERE))
        if before != after:
            yield f"{run.name}: {name}"


def claims(other: Path) -> Iterator[str]:
    """Whether the table of claims is the same."""
    folder = Path("results/claims")
    names = tuple(sorted(path.parent.name for path in (HERE / folder).glob("*/plan.json")))
    for form in ("csv", "markdown"):
        words = ("claims", "export", *names, "--to", form)
        if output(other, words, other / folder) != output(HERE, words, HERE / folder):
            yield f"claims export --to {form}"


def renamed(text: str) -> str:
    """JSON with the keys of today; other text as it is."""
    try:
        data = json.loads(text)
    except ValueError:
        return text
    return json.dumps(_renamed(data), indent=1)


def _renamed(value: Any) -> Any:
    if isinstance(value, dict):
        return {RENAMED.get(key, key): _renamed(item) for key, item in value.items()}
    return [_renamed(item) for item in value] if isinstance(value, list) else value


def smoke(other: Path) -> Iterator[str]:
    """What two small runs, measured by each checkout, do not have in common."""
    with tempfile.TemporaryDirectory() as folder:
        found = [measured(checkout, Path(folder) / name) for name, checkout in (("before", other), ("after", HERE))]
    before, after = found
    print(f"profile smoke: {len(after)} points, {sum('counts' in item for item in after.values())} with counts")
    for key in sorted(before.keys() | after.keys()):
        a, b = before.get(key), after.get(key)
        if a is None or b is None:
            yield f"smoke: {key} only {'after' if a is None else 'before'}"
        elif a["outcome"] != b["outcome"] or a.get("counts") != b.get("counts"):
            yield f"smoke: {key}: {a} before, {b} after"
        elif a["digits"] is not None and abs(a["digits"] - b["digits"]) > DIGITS:
            yield f"smoke: {key}: {a['digits']:.2f} digits before, {b['digits']:.2f} after"


def measured(checkout: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """The points of a small run: outcome, digits and the solver's counts, by cell, tolerance and kind of call."""
    folder.mkdir()
    printed = output(checkout, (*SMOKE, "--out", str(folder)), folder)
    path = next(folder.glob("*/records.jsonl"), None)
    if path is None:
        raise SystemExit(f"{checkout} measured nothing: {printed}")
    found: dict[str, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        label = "/".join(record["cell"].values())
        for point in record["points"]:
            for call in ("solve", "gradient"):
                found[f"{label} rtol {point['rtol']:g} {call}"] = half(point, call)
    return found


def half(point: Mapping[str, Any], call: str) -> dict[str, Any]:
    """One half of a point."""
    own = point[call]
    scores, statistics = own.get("scores") or {}, own.get("statistics") or {}
    digits = scores.get("mescd") if call == "solve" else _digits(scores.get("error"))
    counts = {name: statistics[name] for name in COUNTS if name in statistics}
    return {"outcome": own["outcome"], "digits": digits} | ({"counts": counts} if counts else {})


def _digits(error: float | None) -> float | None:
    return None if not error else -math.log10(error)


if __name__ == "__main__":
    sys.exit(main())
