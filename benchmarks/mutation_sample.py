"""How many of a random sample of small mistakes the tests catch.

    python benchmarks/mutation_sample.py                        60 mistakes in record, stats and measure/scoring
    python benchmarks/mutation_sample.py --count 20 --seed 7 --folder spec

Each mistake changes one comparison, operator, number or condition of the package in a copy of the checkout, and runs
the tests of its module, then of its folder, then all other files of tests that name the module, until one fails. Files
that fail without a mistake are left out. Mistakes that no test sees are printed with their line; some of them change
nothing that can be seen. Exit code 1 if fewer than nine in ten are caught.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("record", "stats", "measure/scoring")
LEAST = 0.9
LIMIT_S = 600
_COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}


@dataclass(frozen=True)
class Mistake:
    """A mistake in a file: the text between two places on a line, and what stands there instead."""

    path: Path
    line: int
    start: int
    end: int
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Write the file with the mistake."""
        path = root / self.path
        lines = path.read_bytes().split(b"\n")
        text = lines[self.line - 1]
        lines[self.line - 1] = text[: self.start] + self.new.encode() + text[self.end :]
        path.write_bytes(b"\n".join(lines))


def mistakes(path: Path) -> Iterator[Mistake]:
    """All mistakes of one file, each inside one line."""
    source = (ROOT / path).read_text(encoding="utf-8")
    tree = ast.parse(source)
    hints = [
        node.returns if isinstance(node, ast.FunctionDef) else node.annotation
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign | ast.arg | ast.FunctionDef)
    ]
    # Whether a class is frozen is nothing that its users can see, as long as they do right.
    hints += [item for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for item in node.decorator_list]
    inert = {id(inner) for hint in hints if hint is not None for inner in ast.walk(hint)}
    for node in ast.walk(tree):
        new = None if id(node) in inert else _changed(node)
        if new is not None and isinstance(node, ast.expr) and node.lineno == node.end_lineno:
            assert node.end_col_offset is not None
            old = source.encode().split(b"\n")[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
            yield Mistake(path, node.lineno, node.col_offset, node.end_col_offset, old, f"({ast.unparse(new)})")


def _changed(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        return ast.Compare(node.left, [_COMPARISONS[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS and not _joins_texts(node):
        return ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    if isinstance(node, ast.IfExp):
        return ast.IfExp(node.test, node.orelse, node.body)
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool):
        return ast.Constant(not value)
    if isinstance(value, int | float):
        return ast.Constant(2 * value if value + 1 == value else value + 1)
    return None


def _joins_texts(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(
        isinstance(side, ast.JoinedStr | ast.List | ast.Tuple)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in sides
    )


class Tests:
    """The tests of a copy of the checkout; ``broken`` are the files that fail without a mistake."""

    def __init__(self, root: Path):
        self.root = root
        self.paths = sorted((root / "tests").rglob("test_*.py"))
        self.passing: set[Path] = set()
        self.broken: set[Path] = set()

    def stages(self, path: Path) -> Iterator[list[Path]]:
        """The files of tests for a module: its own, its folder's, and others that name it."""
        inside, module = path.relative_to("sciml_bench"), ".".join(path.with_suffix("").parts)
        folder = self.root / "tests" / inside.parts[0]
        own = self.root / "tests" / inside.parent / f"test_{inside.stem}.py"
        near = [test for test in self.paths if folder in test.parents and test != own]
        yield [own] if own in self.paths else []
        yield near
        yield [test for test in self.paths if test not in near and test != own and names(test, module)]

    def catch(self, mistake: Mistake) -> bool:
        """Return whether a test fails with a mistake, and passes without it."""
        whole = (self.root / mistake.path).read_bytes()
        for stage in self.stages(mistake.path):
            for test in stage:
                self.know(test)
            usable = [test for test in stage if test not in self.broken]
            mistake.apply(self.root)
            failed = bool(usable) and self.fails(usable)
            (self.root / mistake.path).write_bytes(whole)
            if failed:
                return True
        return False

    def know(self, test: Path) -> None:
        """Run a file of tests without a mistake, once."""
        if test not in self.passing | self.broken:
            (self.broken if self.fails([test]) else self.passing).add(test)

    def fails(self, tests: Sequence[Path]) -> bool:
        """Return whether a test fails or cannot be collected. None that runs past the limit does."""
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *map(str, tests)]
        environment = {**os.environ, "PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        with subprocess.Popen(
            command, cwd=self.root, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:  # fmt: skip
            try:
                return process.wait(LIMIT_S) in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return False


def names(path: Path, module: str) -> bool:
    """Return whether a file of tests names a module, whole or as a part of its package."""
    text, (package, _, name) = path.read_text(encoding="utf-8"), module.rpartition(".")
    return module in text or f"from {package} import {name}\n" in text


def main() -> int:
    """Print each mistake with its fate, then the share that was caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="how many mistakes")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--folder", action="append", help="a folder of the package; may be repeated")
    options = parser.parse_args()
    folders = [ROOT / "sciml_bench" / folder for folder in options.folder or FOLDERS]
    paths = sorted(path.relative_to(ROOT) for folder in folders for path in folder.rglob("*.py"))
    known = [mistake for path in paths for mistake in mistakes(path)]
    if not known or options.count < 1:
        parser.error("there is no mistake to make: check --folder and --count")
    sample = random.Random(options.seed).sample(known, min(options.count, len(known)))
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "checkout"
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(".git", "__pycache__", ".venv"))
        tests = Tests(root)
        for number, mistake in enumerate(sample, start=1):
            found = tests.catch(mistake)
            survivors += not found
            fate = "caught  " if found else "SURVIVED"
            print(f"{number:3} {fate} {mistake.path}:{mistake.line}: {mistake.old} -> {mistake.new}", flush=True)
        for test in sorted(tests.broken):
            print(f"left out, as it fails without a mistake: {test.relative_to(root)}")
    share = 1 - survivors / len(sample)
    print(f"{len(sample) - survivors} of {len(sample)} caught ({share:.0%}), out of {len(known)} possible mistakes")
    return 0 if share >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
