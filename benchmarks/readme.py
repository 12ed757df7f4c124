"""Print the figures of README.md from the stored runs that they are read from, or write them into it.

A block of README between ``<!-- from results/NAME -->`` and ``<!-- end -->`` holds what this prints for that run.

    python benchmarks/readme.py [--write]
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from sciml_bench import api
from sciml_bench.analysis.tables.recommendation import FEW, recommendation_table
from sciml_bench.render.markdown import escaped, table_lines

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- from (?P<run>\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_LONGEST_SENTENCE = 1000


def figures(folder: Path) -> str:
    """Return the answer of each problem, and its ways, the one to take first."""
    lines: list[str] = []
    for problem in api.load(folder).analysis.problems:
        if problem.recommendation is None:
            continue
        heading, blank, *rows = table_lines(problem.title, recommendation_table(problem.recommendation, FEW))
        sentences = (escaped(text, _LONGEST_SENTENCE) for text in problem.sentences)
        lines += [heading, blank, *sentences, blank, *rows]
    return "\n".join(lines)


def filled(text: str) -> str:
    """Return ``text`` with every block made again from its run."""
    return BLOCK.sub(lambda block: f"{block[1]}{figures(ROOT / block['run'])}{block[3]}", text)


def main() -> None:
    """Print README.md with its figures made again, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write README.md instead of printing it")
    text = filled(README.read_text(encoding="utf-8"))
    if parser.parse_args().write:
        README.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
