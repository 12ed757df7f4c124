"""``python -m sciml_bench.references PROBLEM_FILE OUTPUT LIMIT_S [PROOF_S]``: certify a problem in its own process."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from sciml_bench.errors import ProblemWarning, SciMLBenchError
from sciml_bench.host.processes.parent import end_with_parent
from sciml_bench.references.build import make
from sciml_bench.references.confirmation.proof import MOST_S
from sciml_bench.references.store import write
from sciml_bench.spec import load_problem


def main(problem_file: str, output: str, limit_s: str, proof_s: str = str(MOST_S)) -> int:
    """Compute, certify, write; 1 and a message when that fails, 0 and a message where the gradient is missing."""
    # Whoever waits has read the file, too.
    warnings.simplefilter("ignore", ProblemWarning)
    try:
        stored, missing = make(load_problem(problem_file), _say, float(limit_s), proof_s=float(proof_s))
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
    end_with_parent()
    sys.exit(main(*sys.argv[1:5]))
