"""`show` prints a run at once: what it needs of the statistics is light."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import sciml_bench.stats

MODULES = sorted(path.stem for path in Path(sciml_bench.stats.__file__).parent.glob("*.py") if path.stem != "__init__")
HEAVY = {"aggregate", "bootstrap", "error_rates"}


def loaded_by(modules):
    script = "import importlib, json, sys\n"
    script += "".join(f"importlib.import_module('sciml_bench.stats.{name}')\n" for name in modules)
    script += "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    return set(json.loads(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True).stdout))


def test_no_module_of_the_statistics_imports_scipy():
    assert len(MODULES) >= 14
    assert "scipy" not in loaded_by(MODULES)


def test_what_a_report_prints_does_not_take_numpy():
    assert "numpy" not in loaded_by(name for name in MODULES if name not in HEAVY)
