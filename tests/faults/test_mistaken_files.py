"""A problem file with mistakes loads, or is refused with its line; nothing else happens."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from faults.mistakes import mistaken

from sciml_bench.errors import ProblemError
from sciml_bench.spec.load import load_problem

CATALOG = Path(__file__).resolve().parents[2] / "problems"
# Grids take a second each, and weights are read.
SMALL = sorted(path for name in ("stiff", "nonstiff") for path in (CATALOG / name).glob("*.toml"))
EACH = 40


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(10))
def test_mistakes_are_refused_or_read(tmp_path: Path, seed: int):
    chance, refused = random.Random(seed), 0
    for _ in range(EACH):
        path = chance.choice(SMALL)
        text = path.read_text(encoding="utf-8")
        for _ in range(chance.randint(1, 4)):
            text = mistaken(text, chance)
        for data in path.parent.glob("*.csv"):
            if not (tmp_path / data.name).exists():
                shutil.copy(data, tmp_path)
        (tmp_path / "mistaken.toml").write_text(text, encoding="utf-8", errors="surrogateescape")
        try:
            load_problem(tmp_path / "mistaken.toml")
        except ProblemError:
            refused += 1
    assert EACH / 4 < refused < EACH
