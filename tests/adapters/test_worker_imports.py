"""What a worker loads before and with its framework is part of what it measures: nothing more, and in this order."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cases import others_slow
from needs import skip_without

import sciml_bench

PACKAGE = Path(sciml_bench.__file__).parent
ADAPTERS = sorted((PACKAGE / "adapters").rglob("*.py"))

# What the programs of an adapter must not load when they are imported: only some of its cells need it.
UNUSED = {
    "torch": ("torch._dynamo", "torch._inductor"),
    "torchdiffeq": ("torch._dynamo", "torch._inductor"),
    "keras": ("tensorflow_probability",),
    "diffrax": ("optax",),
}


def loaded_with(statement: str, **variables: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a statement."""
    printed = f"import json, sys; {statement}; print(json.dumps(sorted(sys.modules)))"
    return set(json.loads(output_of(printed, **variables)))


def output_of(program: str, **variables: str) -> str:
    # What the variables of this process say of the frameworks must not decide.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("EQX_", "KERAS_", "TF_"))}
    environment = {**inherited, "PYTHONPATH": str(PACKAGE.parent), **variables}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def test_a_worker_leaves_numpy_to_the_import_of_its_framework():
    loaded = loaded_with("import sciml_bench.measure.worker")
    assert "sciml_bench.measure.protocol" in loaded
    assert not {"numpy", "sciml_bench.adapters.base", "sciml_bench.adapters.program", "sciml_bench.spec"} & loaded


@pytest.mark.parametrize("name", UNUSED)
def test_a_program_loads_nothing_that_only_some_of_its_cells_use(name: str):
    skip_without(name)
    loaded = loaded_with(f"import sciml_bench.adapters.{name}.program")
    assert f"sciml_bench.adapters.{name}.program" in loaded
    assert not set(UNUSED[name]) & loaded


def test_diffrax_runs_without_the_checks_that_call_back_into_python():
    skip_without("diffrax")
    program = "import sciml_bench.adapters.diffrax.program, equinox._config; print(equinox._config.EQX_ON_ERROR)"
    assert output_of(program) == "nan"


@pytest.mark.parametrize("module", others_slow(["keras.program", "tensorflow.training"], ["tensorflow.training"]))
def test_keras_runs_on_tensorflow_whatever_its_settings_name(module: str, tmp_path: Path):
    skip_without("keras", "tensorflow")
    settings = {"backend": "numpy", "floatx": "float32", "epsilon": 1e-7, "image_data_format": "channels_last"}
    (tmp_path / "keras.json").write_text(json.dumps(settings))
    program = f"import sciml_bench.adapters.{module}, keras; print(keras.backend.backend())"
    assert output_of(program, KERAS_HOME=str(tmp_path)) == "tensorflow"


def late_settings(text: str) -> list[int]:
    """The lines of a file that set a variable of the environment after an import of a framework or of our own."""
    late, after = list[int](), False
    for node in ast.parse(text).body:
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        after = after or any(name.split(".")[0] not in sys.stdlib_module_names for name in names if name)
        if after and "os.environ" in ast.unparse(node) and isinstance(node, ast.Assign | ast.Expr):
            late.append(node.lineno)
    return late


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "adapters").rglob("*.py")), ids=lambda path: "-".join(path.parts[-2:])
)
def test_variables_are_set_before_the_framework_that_reads_them(path: Path):
    assert late_settings(path.read_text(encoding="utf-8")) == []


def test_a_late_setting_is_found():
    assert late_settings("import os\nimport keras\nos.environ['KERAS_BACKEND'] = 'x'\n") == [3]
    assert late_settings("import os\nos.environ.setdefault('A', 'b')\nimport keras\n") == []
