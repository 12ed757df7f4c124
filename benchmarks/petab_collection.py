"""Import the PEtab benchmark collection, and certify the objective and the gradient of each problem.

    python benchmarks/petab_collection.py Benchmark-Models-PEtab/Benchmark-Models --out petab --limit 240

prints a line for each problem, and writes problem files and certified gradients to the folder. Problems that have their
JSON file there are not certified again, so a run that was stopped continues.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

from sciml_bench.errors import ProblemError, SciMLBenchError
from sciml_bench.importing.importer import of_petab
from sciml_bench.references.build import make
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.references.statement import Statement, on_scales, read, statement_of
from sciml_bench.spec import load_problem


def main() -> None:
    """Import and certify all problems of a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--out", type=Path, default=Path("petab"))
    parser.add_argument("--limit", type=float, default=240.0, help="Processor seconds for each reference.")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for folder in sorted(path for path in options.collection.iterdir() if path.is_dir()):
        files = sorted(folder.glob("*.yaml"))
        named = [path for path in files if path.stem == folder.name]
        if files:
            print(folder.name, _row((named or files)[0], options.out, options.limit), sep="  ", flush=True)


def _row(path: Path, out: Path, limit_s: float) -> str:
    target = out / f"{path.parent.name.lower()}.toml"
    began = time.perf_counter()
    try:
        text, files, _ = of_petab(path, target.stem)
    except ProblemError as error:
        return f"not imported: {error.message}"
    for name, content in files.items():
        target.with_name(name).write_text(content, encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    import_s = time.perf_counter() - began
    problem = load_problem(target)
    sizes = f"{problem.n_states} states, {problem.n_parameters} parameters, {problem.batch.size} trajectories"
    try:
        found = _certified(target, limit_s)
    except (ReferenceFailure, SciMLBenchError) as error:
        return f"{sizes}, import {import_s:.1f} s, not certified: {error}"
    digits = [part.digits for part in found.gradient.values() if part.digits > 0]
    gradient = f"{len(digits)} of {len(found.gradient)} derivatives to {min(digits, default=0)} digits"
    return f"{sizes}, import {import_s:.1f} s, objective {found.objective.value[:18]}, {gradient}"


def _certified(path: Path, limit_s: float) -> Statement:
    kept = path.with_suffix(".json")
    if not kept.is_file():
        problem = load_problem(path)
        stored, _ = make(problem, lambda _: None, limit_s)
        kept.write_text(on_scales(statement_of(stored), problem).to_json(), encoding="utf-8")
    return read(kept)


if __name__ == "__main__":
    main()
