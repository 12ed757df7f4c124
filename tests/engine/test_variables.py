"""The environment of a worker."""

from __future__ import annotations

import os
from pathlib import Path

import sciml_bench
from sciml_bench.engine.variables import count_cache_files, make_folders, worker_variables

INHERITED = {
    "HOME": "/home/ada",
    "PATH": "/usr/bin",
    "LC_ALL": "C.UTF-8",
    "JULIA_DEPOT_PATH": "/depot",
    "PYTHON_JULIACALL_EXE": "/julia",
    "PYTHONPATH": os.pathsep.join(["relative", "", "/absolute"]),
    "CUDA_VISIBLE_DEVICES": "1",
    "XLA_FLAGS": "--xla_dump_to=/tmp",
    "TMPDIR": "/elsewhere",
    "JULIA_NUM_THREADS": "12",
    "OPENAI_API_KEY": "secret",
}


def test_only_what_a_worker_needs_is_kept():
    variables = worker_variables(INHERITED, Path("/private"), 2, "cuda")
    for name in ("HOME", "PATH", "LC_ALL", "JULIA_DEPOT_PATH", "PYTHON_JULIACALL_EXE", "CUDA_VISIBLE_DEVICES"):
        assert variables[name] == INHERITED[name]
    assert "OPENAI_API_KEY" not in variables
    assert "XLA_FLAGS" not in variables
    assert variables["TMPDIR"] == "/private"


def test_every_thread_pool_is_limited():
    variables = worker_variables(INHERITED, Path("/private"), 2, "cpu")
    names = "OMP MKL OPENBLAS NUMEXPR JULIA".split()
    assert {variables[f"{name}_NUM_THREADS"] for name in names} == {"2"}
    assert variables["TF_NUM_INTRAOP_THREADS"] == variables["TF_NUM_INTEROP_THREADS"] == "2"
    single = worker_variables(INHERITED, Path("/private"), 1, "cpu")
    assert single["XLA_FLAGS"] == "--xla_cpu_multi_thread_eigen=false"


def test_cells_on_the_cpu_see_no_gpu():
    variables = worker_variables(INHERITED, Path("/private"), 1, "cpu")
    assert (variables["CUDA_VISIBLE_DEVICES"], variables["JAX_PLATFORMS"]) == ("", "cpu")


def test_package_comes_first_on_the_path_and_entries_are_absolute():
    entries = worker_variables(INHERITED, Path("/private"), 1, "cpu")["PYTHONPATH"].split(os.pathsep)
    assert entries == [str(Path(sciml_bench.__file__).parents[1]), os.path.abspath("relative"), "/absolute"]


def test_length_of_the_environment_varies():
    lengths = {len(worker_variables({}, Path("/p"), 1, "cpu")["SCIML_BENCH_PADDING"]) for _ in range(20)}
    assert len(lengths) > 1


def test_caches_are_empty_folders(tmp_path: Path):
    make_folders(tmp_path)
    variables = worker_variables({}, tmp_path, 1, "cpu")
    inductor = Path(variables["TORCHINDUCTOR_CACHE_DIR"])
    assert inductor.is_dir()
    assert count_cache_files(tmp_path) == 0
    (inductor / "deep").mkdir()
    (inductor / "deep" / "kernel.so").touch()
    assert count_cache_files(tmp_path) == 1
