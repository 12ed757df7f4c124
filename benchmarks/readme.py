"""Print README.md and pages of docs/ with their figures from stored runs, or write them.

A block between ``<!-- from results/NAME: PROBLEM -->`` and ``<!-- end -->`` holds the answer of that
problem in that run.

    python benchmarks/readme.py [--write]
"""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path

from sciml_bench import api
from sciml_bench.analysis.tables.recommendation import recommendation_table
from sciml_bench.render.markdown import escaped, table_lines

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = (ROOT / "README.md", *(ROOT / "docs" / name for name in ("stiff-gradients.md", "events.md", "dae.md")))
BLOCK = re.compile(r"(<!-- from (?P<run>\S+): (?P<problem>\S+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)
SHOWN = ("way", "first", "each gradient", "error", "total of 1 000", "against the first")
"""The columns of the table that fit beside each other on a page."""

EVERY = 100  # ways
_LONGEST_SENTENCE = 1000


def figures(folder: Path, name: str) -> str:
    """Return the answer of a problem, and its ways, the one to take first."""
    problem = next(problem for problem in api.load(folder).analysis.problems if problem.name == name)
    if problem.recommendation is None:
        raise SystemExit(f"{folder} has no answer for {name}")
    table = recommendation_table(problem.recommendation, EVERY)
    kept = [index for index, column in enumerate(table.columns) if " ".join(column.text.split()) in SHOWN]
    fitting = replace(
        table,
        columns=tuple(table.columns[index] for index in kept),
        rows=tuple(tuple(row[index] for index in kept) for row in table.rows),
    )
    _, blank, *rows = table_lines(problem.title, fitting)
    answer = escaped(next(iter(problem.sentences)), _LONGEST_SENTENCE)
    return "\n".join([f"**{escaped(problem.title)}.** {answer}", blank, *rows])


def filled(text: str) -> str:
    """Return ``text`` with every block made again from its run."""
    return BLOCK.sub(lambda block: f"{block[1]}{figures(ROOT / block['run'], block['problem'])}{block['end']}", text)


def main() -> None:
    """Print the documents with their figures made again, or write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the documents instead of printing them")
    write = parser.parse_args().write
    for document in DOCUMENTS:
        text = filled(document.read_text(encoding="utf-8"))
        if write:
            document.write_text(text, encoding="utf-8")
        else:
            print(text)


if __name__ == "__main__":
    main()
