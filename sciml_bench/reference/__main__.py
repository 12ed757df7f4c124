"""``python -m sciml_bench.reference PROBLEM_FILE OUTPUT LIMIT_S``: certify one problem in a separate process."""

from __future__ import annotations

import sys
from pathlib import Path

from sciml_bench.errors import SciMLBenchError
from sciml_bench.problem import load_problem
from sciml_bench.reference.making import make
from sciml_bench.reference.store import write


def main(problem_file: str, output: str, limit_s: str) -> int:
    """Compute, certify, write; 1 and a message when that fails, 0 and a message where the gradient is missing."""
    try:
        stored, missing = make(load_problem(problem_file), _say, float(limit_s))
        write(stored, Path(output))
    except SciMLBenchError as error:
        print(error, file=sys.stderr)
        return 1
    if missing:
        print(missing, file=sys.stderr)
    return 0


def _say(line: str) -> None:
    """Report progress to the process that waits; the last line on standard error is a complaint."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
