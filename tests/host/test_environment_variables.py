"""The environment of a worker."""

from __future__ import annotations

import os
from pathlib import Path

import sciml_bench
from sciml_bench.host.environment_variables import count_cache_files, make_caches, worker_variables

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


def variables_of(inherited: dict[str, str] = INHERITED, threads: int = 1, device: str = "cpu", warm: bool = False):
    return worker_variables(inherited, Path("/private"), threads, device, caches=Path("/caches"), warm=warm)


def test_only_what_a_worker_needs_is_kept():
    variables = variables_of(threads=2, device="cuda")
    for name in ("HOME", "PATH", "LC_ALL", "JULIA_DEPOT_PATH", "PYTHON_JULIACALL_EXE", "CUDA_VISIBLE_DEVICES"):
        assert variables[name] == INHERITED[name]
    assert "OPENAI_API_KEY" not in variables
    assert "XLA_FLAGS" not in variables
    assert variables["TMPDIR"] == "/private"


def test_every_thread_pool_is_limited():
    variables = variables_of(threads=2)
    names = "OMP MKL OPENBLAS NUMEXPR JULIA".split()
    assert {variables[f"{name}_NUM_THREADS"] for name in names} == {"2"}
    assert variables["TF_NUM_INTRAOP_THREADS"] == variables["TF_NUM_INTEROP_THREADS"] == "2"
    single = variables_of()
    assert single["XLA_FLAGS"] == "--xla_cpu_multi_thread_eigen=false"


def test_cells_on_the_cpu_see_no_gpu():
    variables = variables_of()
    assert (variables["CUDA_VISIBLE_DEVICES"], variables["JAX_PLATFORMS"]) == ("", "cpu")


def test_workers_on_a_gpu_leave_memory_to_each_other():
    variables = variables_of(device="gpu")
    assert variables["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert variables["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"


def test_package_comes_first_on_the_path_and_entries_are_absolute():
    entries = variables_of()["PYTHONPATH"].split(os.pathsep)
    assert entries == [str(Path(sciml_bench.__file__).parents[1]), str(Path("relative").absolute()), "/absolute"]


def test_length_of_the_environment_varies():
    lengths = {len(variables_of({})["SCIML_BENCH_PADDING"]) for _ in range(20)}
    assert len(lengths) > 1


def test_gpus_have_the_numbers_that_the_driver_gives_them():
    assert variables_of(device="cuda")["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_caches_that_must_be_asked_for_are_off_when_cold():
    cold = variables_of(INHERITED | {"JAX_COMPILATION_CACHE_DIR": "/the/users/own"})
    assert "JAX_COMPILATION_CACHE_DIR" not in cold
    assert "TF_XLA_FLAGS" not in cold
    assert cold["TORCHINDUCTOR_CACHE_DIR"] == "/caches/inductor"


def test_warm_caches_keep_every_program_however_small():
    warm = variables_of(warm=True)
    assert warm["JAX_COMPILATION_CACHE_DIR"] == "/caches/jax"
    assert warm["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] == "-1"
    assert warm["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] == "0"
    assert warm["TF_XLA_FLAGS"] == "--tf_xla_persistent_cache_directory=/caches/tensorflow"
    assert warm["TRITON_CACHE_DIR"] == "/caches/triton"


def test_caches_are_empty_folders(tmp_path: Path):
    make_caches(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["inductor", "jax", "tensorflow", "triton"]
    assert count_cache_files(tmp_path) == 0
    (tmp_path / "inductor" / "deep").mkdir()
    (tmp_path / "inductor" / "deep" / "kernel.so").touch()
    assert count_cache_files(tmp_path) == 1
